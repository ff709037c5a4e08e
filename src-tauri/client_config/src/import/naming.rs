//! Names for servers that have none, from the package, image, script or host that they use.

use drawbridge_model::{names, spec::ServerSpec};

/// The name of a server if nothing better can be found.
pub(super) const FALLBACK: &str = "server";

/// The options of package runners and container engines that are followed by a value.
const OPTIONS_WITH_VALUE: [&str; 34] = [
    "-e",
    "-v",
    "-p",
    "-w",
    "-u",
    "-l",
    "-m",
    "--env",
    "--env-file",
    "--volume",
    "--mount",
    "--network",
    "--net",
    "--name",
    "--publish",
    "--workdir",
    "--user",
    "--label",
    "--entrypoint",
    "--platform",
    "--add-host",
    "--memory",
    "--cpus",
    "--pull",
    "--with",
    "--python",
    "--directory",
    "--project",
    "--from",
    "--package",
    "--index-url",
    "--extra-index-url",
    "--cache",
    "--prefix",
];

/// Parts of names that say nothing about the server.
const GENERIC: [&str; 14] = [
    "mcp", "server", "servers", "index", "main", "cli", "dist", "build", "src", "bin", "api",
    "www", "app", "stdio",
];

/// Returns a name for a server.
pub(super) fn infer_name(spec: &ServerSpec) -> String {
    let name = match (&spec.command, &spec.url) {
        (Some(command), _) => {
            let subject = find_subject(command, &spec.args);
            name_of_program(subject.unwrap_or(command))
        }
        (None, Some(url)) => name_of_url(url),
        (None, None) => String::new(),
    };
    if names::server_id_from_name(&name).is_some() {
        name
    } else {
        FALLBACK.to_owned()
    }
}

pub(super) fn is_container_engine(command: &str) -> bool {
    ["docker", "podman", "nerdctl"].contains(&program_name(command).as_str())
}

/// Returns the name of a program in lower case, without its folder and a file extension of Windows.
pub(super) fn program_name(command: &str) -> String {
    let name = command
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(command)
        .to_ascii_lowercase();
    let extensions = [".exe", ".cmd", ".bat"];
    let stem = extensions
        .iter()
        .find_map(|extension| name.strip_suffix(extension));
    stem.unwrap_or(&name).to_owned()
}

/// Returns the argument that names the package, image or script.
fn find_subject<'a>(command: &str, args: &'a [String]) -> Option<&'a str> {
    let program = program_name(command);
    let is_runner = is_container_engine(command)
        || [
            "npx", "bunx", "uvx", "pnpx", "uv", "pipx", "pnpm", "npm", "yarn", "bun", "cmd",
        ]
        .contains(&program.as_str());
    let is_interpreter = [
        "node", "deno", "tsx", "ts-node", "java", "ruby", "php", "bash", "sh",
    ]
    .contains(&program.as_str())
        || program.starts_with("python");
    if !is_runner && !is_interpreter {
        return None;
    }
    let takes_package = ["npx", "bunx", "uvx", "pnpx"].contains(&program.as_str());
    let subcommands = [
        "run",
        "dlx",
        "exec",
        "x",
        "tool",
        "/c",
        "npx",
        "uvx",
        "container",
    ];
    let mut follows_option = false;
    args.iter().map(String::as_str).find(|arg| {
        let is_value = std::mem::replace(
            &mut follows_option,
            is_runner && OPTIONS_WITH_VALUE.contains(arg),
        );
        !is_value && !arg.starts_with('-') && (takes_package || !subcommands.contains(arg))
    })
}

/// Returns `name` for a program, package or image such as `@scope/server-name@1.2`,
/// `host/owner/name-mcp:tag` or `path/name.js`.
fn name_of_program(subject: &str) -> String {
    let mut parts = subject
        .split(['/', '\\'])
        .filter(|part| !part.is_empty())
        .rev();
    let last = parts.next().unwrap_or(subject);
    let specific = [last]
        .into_iter()
        .chain(parts)
        .map(strip_details)
        .find(|part| {
            let is_specific = |word: &str| !word.is_empty() && !GENERIC.contains(&word);
            part.split(['-', '_', '.']).any(is_specific)
        });
    let name = specific.unwrap_or_else(|| strip_details(last));
    strip_generic(&name)
}

/// Removes a version, a tag, and a file extension.
fn strip_details(part: &str) -> String {
    let part = part.trim_start_matches('@');
    let name = part.split(['@', ':']).next().unwrap_or(part);
    let extensions = [
        ".js", ".mjs", ".cjs", ".ts", ".py", ".exe", ".cmd", ".bat", ".jar", ".git", ".sh",
    ];
    let stem = extensions
        .iter()
        .find_map(|extension| name.strip_suffix(extension));
    stem.unwrap_or(name).to_owned()
}

/// Removes words such as `mcp` and `server` from both ends.
fn strip_generic(name: &str) -> String {
    let words: Vec<&str> = name.split('-').collect();
    let is_generic = |word: &&&str| ["mcp", "server", "servers"].contains(*word);
    let before = words.iter().take_while(is_generic).count();
    let after = words[before..].iter().rev().take_while(is_generic).count();
    let kept = words[before..words.len() - after].join("-");
    if kept.is_empty() {
        name.to_owned()
    } else {
        kept
    }
}

fn name_of_url(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let Some(url::Host::Domain(host)) = parsed.as_ref().and_then(url::Url::host) else {
        return "remote".to_owned();
    };
    let labels = host.rsplit_once('.').map_or(host, |(labels, _)| labels);
    let specific = labels.split('.').find(|label| !GENERIC.contains(label));
    strip_generic(specific.unwrap_or(host))
}
