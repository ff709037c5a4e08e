//! The packages and images that a spec starts by name, and whether it fixes their versions.

use super::ServerSpec;

/// A package or image that a spec names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package<'a> {
    pub kind: PackageKind,
    /// The package with its version, as the spec names it.
    pub text: &'a str,
    /// The package without its version or tag.
    pub name: &'a str,
    /// The command that runs the package, such as `npx`.
    pub program: &'a str,
    /// The subcommands and options of the program: all arguments before the first argument that is
    /// neither.
    pub options: &'a [String],
    /// Whether one of `options` names the package, as in `--from name`.
    pub is_option: bool,
    /// The index of the argument that contains `text`.
    arg_index: usize,
    /// The number of bytes that follow `text` in that argument.
    bytes_after: usize,
}

/// Where a package comes from, and which program runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageKind {
    /// A package of an npm registry, run by npx or `npm exec`.
    Npx,
    /// A package of an npm registry, run by another program.
    OtherNpm,
    /// A package of a Python index, run by uv.
    Uv,
    /// A package of a Python index, run by another program.
    OtherPython,
    /// An image, run by Docker or Podman.
    Image,
}

/// One way in which a program runs packages: the subcommand, and the options that matter.
struct Launcher {
    kind: PackageKind,
    /// The first arguments; empty if the program does nothing but run packages.
    subcommand: &'static [&'static str],
    /// The options that name the package to run. The next argument after the options is then a
    /// program of the package.
    from: &'static [&'static str],
    /// The options that name another package to install.
    with: &'static [&'static str],
    /// The other options that are followed by a value.
    valued: &'static [&'static str],
    /// Whether the first argument that is no option names a package, unless an option of `from`
    /// does.
    runs_first: bool,
}

const NPX_OPTIONS: &[&str] = &[
    "-c",
    "--call",
    "-w",
    "--workspace",
    "--registry",
    "--cache",
    "--prefix",
    "--userconfig",
    "--loglevel",
];
const UV_OPTIONS: &[&str] = &[
    "-p",
    "--python",
    "-i",
    "--index-url",
    "--index",
    "--default-index",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--cache-dir",
    "--directory",
    "--project",
    "--config-file",
    "-c",
    "--constraints",
    "--overrides",
    "--env-file",
    "--with-requirements",
    "--with-editable",
    "--refresh-package",
    "--upgrade-package",
    "-P",
    "--resolution",
    "--prerelease",
    "--extra",
    "--group",
    "--exclude-newer",
];
const DOCKER_OPTIONS: &[&str] = &[
    "-a",
    "--attach",
    "--add-host",
    "--cap-add",
    "--cap-drop",
    "--cidfile",
    "-c",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--device",
    "--dns",
    "--dns-search",
    "-e",
    "--env",
    "--entrypoint",
    "--env-file",
    "--expose",
    "--gpus",
    "--group-add",
    "-h",
    "--hostname",
    "--ip",
    "--ipc",
    "-l",
    "--label",
    "--link",
    "--log-driver",
    "--log-opt",
    "-m",
    "--memory",
    "--mount",
    "--name",
    "--net",
    "--network",
    "-p",
    "--pid",
    "--pids-limit",
    "--platform",
    "--publish",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--tmpfs",
    "-u",
    "--ulimit",
    "--user",
    "--userns",
    "-v",
    "--volume",
    "--volumes-from",
    "-w",
    "--workdir",
];

/// Returns the ways in which a program runs packages.
fn launchers(program: &str) -> Vec<Launcher> {
    let npm = |kind, subcommand, valued| Launcher {
        kind,
        subcommand,
        from: &["-p", "--package"],
        with: &[],
        valued,
        runs_first: true,
    };
    let uv = |subcommand, runs_first| Launcher {
        kind: PackageKind::Uv,
        subcommand,
        from: if runs_first { &["--from"] } else { &[] },
        with: &["--with", "-w"],
        valued: UV_OPTIONS,
        runs_first,
    };
    let image = |subcommand| Launcher {
        kind: PackageKind::Image,
        subcommand,
        from: &[],
        with: &[],
        valued: DOCKER_OPTIONS,
        runs_first: true,
    };
    match program {
        "npx" => vec![npm(PackageKind::Npx, &[], NPX_OPTIONS)],
        "npm" => vec![
            npm(PackageKind::Npx, &["exec"], NPX_OPTIONS),
            npm(PackageKind::Npx, &["x"], NPX_OPTIONS),
        ],
        "bunx" | "pnpx" => vec![npm(PackageKind::OtherNpm, &[], &[])],
        "bun" => vec![npm(PackageKind::OtherNpm, &["x"], &[])],
        "pnpm" | "yarn" => vec![npm(PackageKind::OtherNpm, &["dlx"], &[])],
        "uvx" => vec![uv(&[], true)],
        "uv" => vec![uv(&["tool", "run"], true), uv(&["run"], false)],
        "pipx" => vec![Launcher {
            kind: PackageKind::OtherPython,
            subcommand: &["run"],
            from: &["--spec"],
            with: &["--with"],
            valued: &["--python", "--pip-args", "-i", "--index-url"],
            runs_first: true,
        }],
        "docker" | "podman" => vec![image(&["run"]), image(&["container", "run"])],
        _ => Vec::new(),
    }
}

/// Returns the packages and images whose version is not fixed, so that another version may run at
/// the next start.
pub fn floating_packages(spec: &ServerSpec) -> Vec<Package<'_>> {
    let mut packages = list_packages(spec);
    packages.retain(|package| !package.is_fixed());
    packages
}

/// Returns the packages and images that a spec names.
fn list_packages(spec: &ServerSpec) -> Vec<Package<'_>> {
    let Some(command) = &spec.command else {
        return Vec::new();
    };
    // As in `cmd /c npx name`.
    let is_shell = program_name(command) == "cmd"
        && spec
            .args
            .first()
            .is_some_and(|arg| arg.eq_ignore_ascii_case("/c"));
    let (program, first) = match spec.args.get(1) {
        Some(program) if is_shell => (program, 2),
        _ => (command, 0),
    };
    let begins_with = |subcommand: &[&str]| {
        let args = &spec.args[first..];
        args.len() >= subcommand.len() && args.iter().zip(subcommand).all(|(arg, word)| arg == word)
    };
    launchers(&program_name(program))
        .iter()
        .find(|launcher| begins_with(launcher.subcommand))
        .map(|launcher| launcher.read_packages(program, &spec.args, first))
        .unwrap_or_default()
}

/// Returns the name of a program in lower case, without its folder and file extension.
fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let name = name.to_lowercase();
    let name = [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(&name);
    name.to_owned()
}

impl Launcher {
    /// Returns the packages that the arguments of a program name. The arguments begin at the index
    /// `first` of `args`.
    fn read_packages<'a>(
        &self,
        program: &'a str,
        args: &'a [String],
        first: usize,
    ) -> Vec<Package<'a>> {
        let mut named = Vec::new();
        let mut has_from = false;
        let mut index = first + self.subcommand.len();
        while let Some(arg) = args.get(index) {
            let (option, inline) = match arg.split_once('=') {
                Some((option, value)) if arg.starts_with("--") => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            let is_value_next = inline.is_none();
            let is_from = self.from.contains(&option);
            has_from |= is_from;
            if is_from || self.with.contains(&option) {
                index += usize::from(is_value_next);
                let value = inline.or_else(|| args.get(index).map(String::as_str));
                named.extend(
                    value
                        .into_iter()
                        .flat_map(split_list)
                        .map(|(text, bytes_after)| (text, index, bytes_after, true)),
                );
            } else if self.valued.contains(&option) {
                index += usize::from(is_value_next);
            } else if !arg.starts_with('-') || arg == "--" {
                break;
            }
            index += 1;
        }
        let end = index.min(args.len());
        if self.runs_first && !has_from {
            index += usize::from(args.get(index).is_some_and(|arg| arg == "--"));
            named.extend(args.get(index).map(|text| (text.as_str(), index, 0, false)));
        }
        let packages = named
            .into_iter()
            .map(|(text, arg_index, bytes_after, is_option)| Package {
                kind: self.kind,
                text,
                name: package_name(self.kind, text),
                program,
                options: &args[first..end],
                is_option,
                arg_index,
                bytes_after,
            });
        packages.filter(|package| !package.is_local()).collect()
    }
}

/// Splits a list such as `a,b>=1,<2` into its packages, each with the number of bytes that follow
/// the package.
fn split_list(list: &str) -> Vec<(&str, usize)> {
    let mut packages = Vec::new();
    let mut start = 0;
    for (at, _) in list.match_indices(',') {
        // Otherwise the comma is part of a range such as `>=1,<2` or of extras such as `[a,b]`.
        let is_end = list[at + 1..].starts_with(|c: char| c.is_alphabetic())
            && list[start..at]
                .rsplit_once('[')
                .is_none_or(|(_, extras)| extras.contains(']'));
        if is_end {
            packages.push((&list[start..at], list.len() - at));
            start = at + 1;
        }
    }
    packages.push((&list[start..], 0));
    packages
}

/// Returns the package without its version or tag.
fn package_name(kind: PackageKind, text: &str) -> &str {
    let end = match kind {
        // The first `@` may begin a scope, as in `@scope/name`.
        PackageKind::Npx | PackageKind::OtherNpm => text
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '@')
            .map(|(at, _)| at),
        PackageKind::Uv | PackageKind::OtherPython => {
            text.find(['=', '@', '<', '>', '~', '!', ';', ' ', ','])
        }
        PackageKind::Image => {
            let digest = text.find('@').unwrap_or(text.len());
            let tag = text[..digest]
                .rfind(':')
                .filter(|at| !text[*at..digest].contains('/'));
            Some(tag.unwrap_or(digest))
        }
    };
    end.map_or(text, |end| &text[..end])
}

impl Package<'_> {
    /// Returns whether the text fixes the version, so that the same package runs at each start.
    fn is_fixed(&self) -> bool {
        let version = &self.text[self.name.len()..];
        if self.is_address() {
            // Of all addresses, only a commit of a repository is fixed.
            return self
                .text
                .rsplit(['@', '#'])
                .next()
                .is_some_and(|commit| commit.len() == 40 && is_hex(commit));
        }
        match self.kind {
            PackageKind::Npx | PackageKind::OtherNpm => {
                version.strip_prefix('@').is_some_and(is_exact_npm_version)
            }
            PackageKind::Uv | PackageKind::OtherPython => version
                .strip_prefix("===")
                .or_else(|| version.strip_prefix("=="))
                .or_else(|| version.strip_prefix('@'))
                .is_some_and(|version| {
                    version.starts_with(|c: char| c.is_ascii_digit())
                        && !version.contains(['*', ',', ' '])
                }),
            // A tag can be moved to another image.
            PackageKind::Image => [self.text, version]
                .iter()
                .filter_map(|text| text.rsplit_once("sha256:"))
                .any(|(_, digest)| digest.len() == 64 && is_hex(digest)),
        }
    }

    /// Returns whether the text is the address of a repository or a file.
    fn is_address(&self) -> bool {
        match self.kind {
            PackageKind::Npx | PackageKind::OtherNpm => {
                self.text.contains(':') || self.text.contains('/') && !self.text.starts_with('@')
            }
            PackageKind::Uv | PackageKind::OtherPython => self.text.contains("://"),
            PackageKind::Image => false,
        }
    }

    /// Returns whether the text is a path on this computer.
    fn is_local(&self) -> bool {
        self.kind != PackageKind::Image
            && (self.text.starts_with(['.', '/', '~', '\\'])
                || self.text.starts_with("file:")
                || self.text.get(1..3) == Some(":\\"))
    }

    /// Returns the text with which a spec names this version of the package. The version of an
    /// image is its digest. Returns `None` for an address, to which no version can be added.
    pub fn with_version(&self, version: &str) -> Option<String> {
        if self.is_address() {
            return None;
        }
        let name = self.name;
        // uv takes `name@version` only as the program to run, and without extras.
        let is_requirement = match self.kind {
            PackageKind::Uv => self.is_option || name.ends_with(']'),
            PackageKind::OtherPython => true,
            PackageKind::Npx | PackageKind::OtherNpm | PackageKind::Image => false,
        };
        let separator = if is_requirement { "==" } else { "@" };
        Some(format!("{name}{separator}{version}"))
    }

    /// Returns the spec's arguments with `pinned` instead of this package. If an argument contains
    /// several packages, the caller has to replace them in their order.
    pub fn replace_in(&self, args: &[String], pinned: &str) -> Vec<String> {
        let mut args = args.to_vec();
        let arg = &mut args[self.arg_index];
        let end = arg.len() - self.bytes_after;
        arg.replace_range(end - self.text.len()..end, pinned);
        args
    }

    /// Returns the name of the package in its package index, without extras such as `[cli]`.
    pub fn index_name(&self) -> &str {
        self.name.split('[').next().unwrap_or(self.name)
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a version is neither a tag such as `latest` nor a range such as `^1.2.0` or `1`.
fn is_exact_npm_version(version: &str) -> bool {
    let numbers = version.split(['-', '+']).next().unwrap_or(version);
    let numbers: Vec<_> = numbers.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    numbers.len() == 3 && numbers.iter().all(is_number) && !version.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(line: &str) -> ServerSpec {
        let mut words = line.split(' ').map(str::to_owned);
        ServerSpec {
            command: words.next(),
            args: words.collect(),
            ..ServerSpec::default()
        }
    }

    #[test]
    fn a_package_without_an_exact_version_floats() {
        let digest = "00112233".repeat(8);
        let commit = "0011223344".repeat(4);
        let cases: &[(&str, &[&str])] = &[
            ("npx -y @scope/name", &["@scope/name"]),
            ("npx -y name@latest --x", &["name@latest"]),
            ("npx -y name@^1.2.3", &["name@^1.2.3"]),
            ("npx -y name@1.2", &["name@1.2"]),
            ("npx -y user/repo", &["user/repo"]),
            ("npx --registry https://x name", &["name"]),
            ("npx -y @scope/name@1.2.3 other", &[]),
            ("npx name@1.2.3-beta.1", &[]),
            ("npx --package=name@1.2.3 bin", &[]),
            ("npx -p a -p b@1.2.3 bin", &["a"]),
            ("npx ./local", &[]),
            ("npm exec -- name", &["name"]),
            ("npm start", &[]),
            ("cmd /c npx -y name", &["name"]),
            ("C:\\node\\npx.cmd name", &["name"]),
            ("pnpm dlx name", &["name"]),
            ("/usr/bin/uvx mcp-server", &["mcp-server"]),
            ("uvx --python 3.12 mcp-server", &["mcp-server"]),
            ("uvx --from name[extra]==1.2.3 server", &[]),
            ("uvx --from name==1.* server", &["name==1.*"]),
            ("uvx --with other name@1.2.3", &["other"]),
            ("uvx --with a[x,y]>=1,<2,b,c==1 n@1", &["a[x,y]>=1,<2", "b"]),
            ("uvx name@latest", &["name@latest"]),
            ("uvx --from git+https://h/r server", &["git+https://h/r"]),
            ("uv tool run name", &["name"]),
            ("uv run --with mcp server.py", &["mcp"]),
            ("uv run server.py", &[]),
            ("pipx run name", &["name"]),
            ("docker run -i --rm -e TOKEN mcp/github", &["mcp/github"]),
            (
                "docker run -i h:5000/image:latest",
                &["h:5000/image:latest"],
            ),
            ("docker run image:1.2", &["image:1.2"]),
            ("docker pull image", &[]),
            ("node server.js", &[]),
        ];
        for (line, floating) in cases {
            let spec = spec(line);
            let found: Vec<_> = floating_packages(&spec).iter().map(|p| p.text).collect();
            assert_eq!(found, *floating, "{line}");
        }
        for line in [
            format!("podman run image@sha256:{digest}"),
            format!("docker run sha256:{digest}"),
            format!("uvx --from git+https://h/r@{commit} server"),
            format!("npx user/repo#{commit}"),
        ] {
            assert_eq!(floating_packages(&spec(&line)), [], "{line}");
        }
    }

    #[test]
    fn a_package_with_an_added_version_does_not_float() {
        let digest = format!("sha256:{}", "00112233".repeat(8));
        for (line, version, pinned) in [
            (
                "npx -y @s/name@latest /x",
                "1.2.3",
                "npx -y @s/name@1.2.3 /x",
            ),
            (
                "npx --package=name bin",
                "1.2.3",
                "npx --package=name@1.2.3 bin",
            ),
            ("uvx name", "2026.1", "uvx name@2026.1"),
            ("uvx name[x]", "1", "uvx name[x]==1"),
            ("uvx --from name>=1 bin", "1.2", "uvx --from name==1.2 bin"),
            ("pipx run name", "1.2", "pipx run name==1.2"),
            (
                "uv run --with=a>=1,<2,bc x.py",
                "1",
                "uv run --with=a==1,bc==1 x.py",
            ),
            (
                "docker run -i h:5000/a:1 stdio",
                &digest,
                &format!("docker run -i h:5000/a@{digest} stdio"),
            ),
        ] {
            let mut pinned_spec = spec(line);
            for package in floating_packages(&spec(line)) {
                let text = package.with_version(version).expect("a version");
                pinned_spec.args = package.replace_in(&pinned_spec.args, &text);
            }
            let line = [
                vec![pinned_spec.command.clone().expect("a command")],
                pinned_spec.args.clone(),
            ];
            assert_eq!(line.concat().join(" "), pinned);
            assert_eq!(floating_packages(&pinned_spec), []);
        }
    }
}
