//! A package of a `server.json`: the command line that downloads and starts it.

use super::{Choice, InputDeclaration, Package, Problem, Runtime};

pub(super) fn package_choice(package: &Package) -> Choice {
    let label = format!("{} {}", package.registry_type, package.identifier);
    to_choice(package).unwrap_or_else(|problem| Choice::unusable(label.trim().to_owned(), problem))
}

fn to_choice(package: &Package) -> Result<Choice, Problem> {
    require_stdio(package)?;
    let runtime = choose_runtime(package)?;
    let package_spec = package_spec(package, runtime)?;
    let mut choice = Choice {
        label: format!("{} {package_spec}", runtime.command()),
        runtime: Some(runtime),
        package: Some(without_version(package, runtime)),
        command: Some(runtime.command().to_owned()),
        ..Choice::default()
    };
    choice.add_words(default_flags(runtime).iter().copied());
    for variable in &package.environment_variables {
        add_env(&mut choice, variable, runtime)?;
    }
    let is_redundant = |argument: &&InputDeclaration| {
        default_flags(runtime)
            .iter()
            .chain(redundant_flags(runtime))
            .any(|word| argument.matches(word))
            || (!argument.is_named()
                && (argument.matches(&package.identifier)
                    || argument.matches(repository(&package_spec))))
    };
    for argument in package
        .runtime_arguments
        .iter()
        .filter(|argument| !is_redundant(argument))
    {
        match docker_env_variable(argument).filter(|_| runtime == Runtime::Docker) {
            Some(variable) => add_env(&mut choice, &variable, runtime)?,
            None => choice.add_argument(argument)?,
        }
    }
    choice.add_words([package_spec]);
    if runtime == Runtime::Dnx {
        // Without `--yes`, dnx asks for a confirmation, and nobody can answer.
        choice.add_words(
            ["--yes"]
                .into_iter()
                .chain((!package.package_arguments.is_empty()).then_some("--")),
        );
    }
    package
        .package_arguments
        .iter()
        .try_for_each(|argument| choice.add_argument(argument))?;
    Ok(choice)
}

fn require_stdio(package: &Package) -> Result<(), Problem> {
    match package.transport.kind.as_str() {
        "stdio" | "" => Ok(()),
        other => Err(Problem::ListensOnUrl {
            url: package.transport.url.clone(),
            transport: other.to_owned(),
        }),
    }
}

fn choose_runtime(package: &Package) -> Result<Runtime, Problem> {
    let (runtime, host) = match package.registry_type.as_str() {
        "npm" => (Runtime::Npx, "npmjs."),
        "pypi" => (Runtime::Uvx, "pypi.org"),
        "nuget" => (Runtime::Dnx, "nuget.org"),
        "oci" | "docker" => return Ok(Runtime::Docker),
        "mcpb" | "dxt" => {
            return Err(Problem::Bundle);
        }
        "" => {
            let hint = &package.runtime_hint;
            return Runtime::from_name(hint).ok_or_else(|| Problem::UnknownRuntime(hint.clone()));
        }
        other => {
            return Err(Problem::UnknownPackageType(other.to_owned()));
        }
    };
    // Another registry may have a different package with the same name.
    let base = &package.registry_base_url;
    if base.is_empty() || base.contains(host) {
        Ok(runtime)
    } else {
        Err(Problem::OtherRegistry(base.clone()))
    }
}

/// Returns the package and its version in the notation of its runtime.
fn package_spec(package: &Package, runtime: Runtime) -> Result<String, Problem> {
    let (id, version) = (package.identifier.trim(), package.version.trim());
    let is_malformed = |text: &str| text.starts_with('-') || text.contains(char::is_whitespace);
    if id.is_empty() || is_malformed(id) {
        return Err(Problem::InvalidIdentifier(id.to_owned()));
    }
    if is_malformed(version) {
        return Err(Problem::InvalidVersion(version.to_owned()));
    }
    let last = package.runtime_arguments.last();
    Ok(match runtime {
        Runtime::Docker => image_reference(package, id, version),
        Runtime::Node | Runtime::Python => id.to_owned(),
        _ if version.is_empty() || id.chars().skip(1).any(|c| matches!(c, '@' | '=')) => {
            id.to_owned()
        }
        // `--from` takes a requirement; the next argument names the program to start.
        Runtime::Uvx if last.is_some_and(|last| last.matches("--from")) => {
            format!("{id}=={version}")
        }
        Runtime::Npx | Runtime::Uvx | Runtime::Dnx => format!("{id}@{version}"),
    })
}

/// Returns the package as [`package_spec`] does, without its version.
fn without_version(package: &Package, runtime: Runtime) -> String {
    let id = package.identifier.trim();
    match runtime {
        Runtime::Docker => repository(&image_reference(package, id, "")).to_owned(),
        Runtime::Npx | Runtime::Uvx | Runtime::Dnx | Runtime::Node | Runtime::Python => {
            let end = id
                .char_indices()
                .skip(1)
                .find(|(_, c)| matches!(c, '@' | '='));
            end.map_or(id, |(end, _)| &id[..end]).to_owned()
        }
    }
}

fn image_reference(package: &Package, id: &str, version: &str) -> String {
    let base = package
        .registry_base_url
        .trim_start_matches("https://")
        .trim_end_matches('/');
    let has_host = id
        .split_once('/')
        .is_some_and(|(host, _)| host.contains(['.', ':']));
    let id = if has_host || base.is_empty() || base.contains("docker.io") {
        id.to_owned()
    } else {
        format!("{base}/{id}")
    };
    let has_tag = id
        .rsplit('/')
        .next()
        .is_some_and(|last| last.contains([':', '@']));
    match version {
        "" => id,
        _ if has_tag => id,
        digest if digest.starts_with("sha256:") => format!("{id}@{digest}"),
        tag => format!("{id}:{tag}"),
    }
}

/// Returns an image without its tag and its digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    let tag = image
        .rfind(':')
        .filter(|position| !image[*position..].contains('/'));
    tag.map_or(image, |position| &image[..position])
}

/// Returns the words that every command line of the runtime has before the package.
fn default_flags(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Npx => &["-y"],
        Runtime::Docker => &["run", "-i", "--rm"],
        Runtime::Uvx | Runtime::Node | Runtime::Python | Runtime::Dnx => &[],
    }
}

/// Returns further spellings of the flags that [`to_choice`] adds itself.
fn redundant_flags(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Npx | Runtime::Dnx => &["--yes", "-y"],
        Runtime::Docker => &["--interactive"],
        Runtime::Uvx | Runtime::Node | Runtime::Python => &[],
    }
}

/// Adds an environment variable. A container gets a variable only if `-e` names it; the value stays
/// off the command line.
fn add_env(
    choice: &mut Choice,
    variable: &InputDeclaration,
    runtime: Runtime,
) -> Result<(), Problem> {
    choice.add_env(variable)?;
    if runtime == Runtime::Docker {
        choice.add_words(["-e", &variable.name]);
    }
    Ok(())
}

/// Returns the variable if the argument is `-e NAME=value` for Docker.
fn docker_env_variable(argument: &InputDeclaration) -> Option<InputDeclaration> {
    let (name, value) = argument.value.as_deref()?.split_once('=')?;
    let is_env = argument.is_named() && matches!(argument.name.as_str(), "-e" | "--env");
    let variable = || InputDeclaration {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..argument.clone()
    };
    (is_env && !name.is_empty()).then(variable)
}
