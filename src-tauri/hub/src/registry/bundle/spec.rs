//! Makes a spec from the manifest of a bundle and a person's values.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use directories::UserDirs;
use drawbridge_model::{
    manifest::{InputKind, ManifestInput},
    reference::begins_reference,
    runtime::Runtime,
    spec::ServerSpec,
};
use serde_json::Number;

use super::{
    Bundle, BundleError, BundleManifest, BundleServerType, UserConfig, UserConfigType,
    manifest::invalid,
};
use crate::registry::manifest::FilledSpec;

/// The entered values, by their names in `user_config`. A value without an entry gets its default;
/// a value with an empty list is not set.
pub type BundleValues = BTreeMap<String, Vec<String>>;

/// How the server is started on this system, with the manifest's placeholders.
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// The values of all placeholders.
struct Placeholders<'a> {
    manifest: &'a BundleManifest,
    folder: &'a Path,
    dirs: Option<UserDirs>,
    values: BTreeMap<&'a str, Vec<String>>,
}

/// A text in which the placeholders were replaced.
enum Filled {
    Text(String),
    /// The text refers to a value that is not set.
    Unset,
}

impl BundleManifest {
    /// Returns how the server is started on this system.
    pub(super) fn launch(&self) -> Launch {
        let Some(config) = &self.server.mcp_config else {
            return self.uv_launch();
        };
        let mut launch = Launch {
            command: config.command.clone(),
            args: config.args.clone(),
            env: config.env.clone(),
        };
        if let Some(overrides) = config.platform_overrides.get(platform()) {
            if let Some(command) = &overrides.command {
                launch.command.clone_from(command);
            }
            if let Some(args) = &overrides.args {
                launch.args.clone_from(args);
            }
            launch.env.extend(overrides.env.clone());
        }
        launch
    }

    /// Returns how uv starts the entry point. uv creates the Python environment in the folder of
    /// the bundle.
    fn uv_launch(&self) -> Launch {
        let args = [
            "run",
            "--directory",
            "${__dirname}",
            &self.server.entry_point,
        ];
        Launch {
            command: "uv".to_owned(),
            args: args.map(str::to_owned).into(),
            env: BTreeMap::new(),
        }
    }

    /// Returns the command line for people, with `<name>` in place of each placeholder.
    pub fn preview(&self) -> String {
        let launch = self.launch();
        let words = std::iter::once(launch.command).chain(launch.args);
        words
            .map(|word| {
                word.replace("${user_config.", "<")
                    .replace("${", "<")
                    .replace('}', ">")
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the inputs for the values that a person enters.
    ///
    /// # Errors
    /// Returns an error if a default has an unknown or unclosed placeholder, or refers to another
    /// value.
    pub fn inputs(&self) -> Result<Vec<ManifestInput>, BundleError> {
        let launch = self.launch();
        // No value is entered yet, and the folder of the bundle is not known.
        let placeholders = Placeholders {
            manifest: self,
            folder: Path::new("${__dirname}"),
            dirs: UserDirs::new(),
            values: BTreeMap::new(),
        };
        let input = |(name, declared): (&String, &UserConfig)| {
            let defaults = placeholders.default_values(name, declared)?;
            let placeholder = format!("${{user_config.{name}}}");
            let is_argument = launch.args.iter().any(|arg| arg.contains(&placeholder));
            Ok(ManifestInput {
                name: name.clone(),
                kind: if is_argument {
                    InputKind::Argument
                } else {
                    InputKind::Env
                },
                description: declared.purpose(),
                required: declared.required,
                secret: declared.sensitive,
                repeated: declared.multiple,
                default: (!defaults.is_empty()).then(|| defaults.join("\n")),
                choices: Vec::new(),
                placeholder: String::new(),
                format: declared.kind.into(),
                min: declared.min.clone(),
                max: declared.max.clone(),
            })
        };
        self.user_config.iter().map(input).collect()
    }

    /// Returns the runtime that starts the server, if Drawbridge knows it.
    pub fn runtime(&self) -> Option<Runtime> {
        Runtime::from_command(&self.launch().command)
    }

    /// Checks that the bundle is meant for this system.
    ///
    /// # Errors
    /// Returns an error if the manifest names other systems only.
    pub fn check_platform(&self) -> Result<(), BundleError> {
        let platforms = &self.compatibility.platforms;
        if platforms.is_empty() || platforms.iter().any(|name| name == platform()) {
            return Ok(());
        }
        Err(BundleError::Platform {
            supported: platforms.join(", "),
            here: platform(),
        })
    }
}

impl Bundle {
    /// Makes the spec of a server whose files are in `folder`. Variables that contain a value that
    /// the manifest marks as sensitive are not in the spec: they are returned separately, as
    /// secrets.
    ///
    /// # Errors
    /// Returns an error if the bundle is not for this system, if a value is missing, unknown or
    /// invalid, if a sensitive value would be part of the command line, which other programs can
    /// read, or if the manifest has an unknown placeholder or a reference to a secret.
    pub fn fill(
        &self,
        name: &str,
        folder: &Path,
        entered: &BundleValues,
    ) -> Result<FilledSpec, BundleError> {
        let manifest = &self.manifest;
        manifest.check_platform()?;
        let placeholders = Placeholders::new(manifest, folder, entered)?;
        let launch = manifest.launch();
        let field = "server.mcp_config.command";
        placeholders.check_has_no_secret(&launch.command)?;
        let Filled::Text(command) = placeholders.fill(&launch.command, field)? else {
            return Err(invalid(
                field,
                "it refers to a value of user_config that is not set",
            ));
        };
        let mut filled = FilledSpec {
            spec: ServerSpec {
                name: name.to_owned(),
                command: Some(own_program(manifest, folder, command)),
                ..ServerSpec::default()
            },
            secret_env: BTreeMap::new(),
            secret_headers: BTreeMap::new(),
        };
        for arg in &launch.args {
            filled.spec.args.extend(placeholders.fill_argument(arg)?);
        }
        for (key, template) in &launch.env {
            let names = placeholders.used_values(template);
            let value = placeholders.fill(template, &format!("server.mcp_config.env.{key}"))?;
            let Filled::Text(value) = value else { continue };
            if names
                .iter()
                .any(|name| manifest.user_config[*name].sensitive)
            {
                filled.secret_env.insert(key.clone(), value);
            } else {
                filled.spec.env.insert(key.clone(), value);
            }
            if names
                .iter()
                .any(|name| manifest.user_config[*name].required)
            {
                filled.spec.required_env.push(key.clone());
            }
        }
        filled.spec.check()?;
        // Harmless parts of the manifest can form a reference to a secret when they are joined.
        // Only the person may write such a reference.
        let has_reference = |value: &String| begins_reference(value);
        if filled.spec.values_with_references().any(has_reference)
            && !entered.values().flatten().any(has_reference)
        {
            return Err(BundleError::SecretReference);
        }
        Ok(filled)
    }
}

/// Returns the command of a compiled program as an absolute path if the manifest names a file of
/// the bundle without `${__dirname}`. Returns any other command unchanged.
fn own_program(manifest: &BundleManifest, folder: &Path, command: String) -> String {
    let path = PathBuf::from(&command);
    if manifest.server_type() == BundleServerType::Binary
        && path.is_relative()
        && command.contains('/')
    {
        folder
            .join(path.strip_prefix(".").unwrap_or(&path))
            .display()
            .to_string()
    } else {
        command
    }
}

impl<'a> Placeholders<'a> {
    fn new(
        manifest: &'a BundleManifest,
        folder: &'a Path,
        entered: &BundleValues,
    ) -> Result<Self, BundleError> {
        let known = &manifest.user_config;
        if let Some(name) = entered.keys().find(|name| !known.contains_key(*name)) {
            let names: Vec<_> = known.keys().map(String::as_str).collect();
            return Err(BundleError::UnknownValue {
                name: name.clone(),
                known: if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                },
            });
        }
        let mut placeholders = Self {
            manifest,
            folder,
            dirs: UserDirs::new(),
            values: BTreeMap::new(),
        };
        let mut missing = Vec::new();
        for (name, declared) in known {
            let mut values = match entered.get(name) {
                Some(values) => values
                    .iter()
                    .map(|value| placeholders.expand_home(declared.kind, value))
                    .collect(),
                None => placeholders.default_values(name, declared)?,
            };
            values.retain(|value| !value.trim().is_empty());
            if !values.is_empty() {
                check_values(name, declared, &values)?;
                placeholders.values.insert(name, values);
            } else if declared.required {
                missing.push(format!("{} ({name})", declared.title));
            }
        }
        if missing.is_empty() {
            Ok(placeholders)
        } else {
            Err(BundleError::Missing(missing.join(", ")))
        }
    }

    /// Replaces a leading `~/` of an entered path by the user's home folder.
    fn expand_home(&self, kind: UserConfigType, value: &str) -> String {
        let home = self.dirs.as_ref().map(UserDirs::home_dir);
        match (kind, value.trim_start().strip_prefix("~/"), home) {
            (UserConfigType::Directory | UserConfigType::File, Some(rest), Some(home)) => {
                home.join(rest).display().to_string()
            }
            _ => value.to_owned(),
        }
    }

    /// Returns the default of a value. A default may name folders of the user, but no other value.
    fn default_values(
        &self,
        name: &str,
        declared: &UserConfig,
    ) -> Result<Vec<String>, BundleError> {
        let field = format!("user_config.{name}.default");
        let texts = declared.default.as_ref().map(|value| value.to_texts());
        let mut values = Vec::new();
        for text in texts.unwrap_or_default() {
            // A default that refers to another value could copy a secret to a value that is not
            // marked as sensitive.
            if let Some(other) = self.used_values(&text).first() {
                let message = format!("it refers to the value '{}'", other.escape_debug());
                return Err(invalid(&field, message));
            }
            if let Filled::Text(value) = self.fill(&text, &field)? {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Returns the words of an argument: none if one of its values is not set, and one word for each
    /// entry of a list if the argument is only the placeholder of this list.
    fn fill_argument(&self, template: &str) -> Result<Vec<String>, BundleError> {
        self.check_has_no_secret(template)?;
        let whole = template
            .strip_prefix("${user_config.")
            .and_then(|rest| rest.strip_suffix('}'));
        if let Some(values) = whole.and_then(|name| self.values.get(name)) {
            return Ok(values.clone());
        }
        Ok(match self.fill(template, "server.mcp_config.args")? {
            Filled::Text(text) => vec![text],
            Filled::Unset => Vec::new(),
        })
    }

    /// Checks that a part of the command line contains no value that the manifest marks as
    /// sensitive.
    fn check_has_no_secret(&self, template: &str) -> Result<(), BundleError> {
        let used = self.used_values(template);
        let secret = used.iter().find(|name| {
            self.manifest.user_config[**name].sensitive && self.values.contains_key(**name)
        });
        match secret {
            Some(name) => Err(BundleError::ExposedSecret((*name).to_owned())),
            None => Ok(()),
        }
    }

    /// Returns the names of the values to which a text refers.
    fn used_values(&self, template: &str) -> BTreeSet<&'a str> {
        let known = self.manifest.user_config.keys();
        known
            .map(String::as_str)
            .filter(|name| template.contains(&format!("${{user_config.{name}}}")))
            .collect()
    }

    /// Replaces all placeholders of a text in one pass, so that a value is never read as a
    /// placeholder.
    fn fill(&self, template: &str, field: &str) -> Result<Filled, BundleError> {
        let (mut text, mut rest) = (String::new(), template);
        while let Some(open) = rest.find("${") {
            text.push_str(&rest[..open]);
            let (name, after) = rest[open + 2..]
                .split_once('}')
                .ok_or_else(|| invalid(field, "a '${' has no '}'"))?;
            match self.value(name) {
                Some(value) => text.push_str(&value),
                None if self.is_declared(name) => return Ok(Filled::Unset),
                None => {
                    return Err(invalid(
                        field,
                        format!(
                            "it has the unknown placeholder '${{{}}}'",
                            name.escape_debug()
                        ),
                    ));
                }
            }
            rest = after;
        }
        text.push_str(rest);
        Ok(Filled::Text(text))
    }

    fn is_declared(&self, placeholder: &str) -> bool {
        placeholder
            .strip_prefix("user_config.")
            .is_some_and(|name| self.manifest.user_config.contains_key(name))
    }

    fn value(&self, placeholder: &str) -> Option<String> {
        let dirs = self.dirs.as_ref();
        let shown = |path: &Path| path.display().to_string();
        match placeholder {
            "__dirname" => Some(shown(self.folder)),
            "/" | "pathSeparator" => Some(std::path::MAIN_SEPARATOR.to_string()),
            "HOME" => dirs.map(|dirs| shown(dirs.home_dir())),
            // If the system does not name the folder, the usual path is used.
            "DESKTOP" | "DOCUMENTS" | "DOWNLOADS" => dirs.map(|dirs| {
                let (found, usual) = match placeholder {
                    "DESKTOP" => (dirs.desktop_dir(), "Desktop"),
                    "DOCUMENTS" => (dirs.document_dir(), "Documents"),
                    _ => (dirs.download_dir(), "Downloads"),
                };
                found.map_or_else(|| shown(&dirs.home_dir().join(usual)), shown)
            }),
            _ => {
                let values = self.values.get(placeholder.strip_prefix("user_config.")?)?;
                Some(values.join(","))
            }
        }
    }
}

fn check_values(name: &str, declared: &UserConfig, values: &[String]) -> Result<(), BundleError> {
    let refuse = |rule: String| {
        Err(BundleError::InvalidValue {
            name: name.to_owned(),
            rule,
        })
    };
    if values.len() > 1 && !declared.multiple {
        return refuse("one value".into());
    }
    for value in values {
        match declared.kind {
            UserConfigType::Number => {
                let number = value
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite());
                let Some(number) = number else {
                    return refuse("a number".into());
                };
                let limit = |limit: &Option<Number>| limit.as_ref().and_then(Number::as_f64);
                if let Some(min) = limit(&declared.min).filter(|min| number < *min) {
                    return refuse(format!("at least {min}"));
                }
                if let Some(max) = limit(&declared.max).filter(|max| number > *max) {
                    return refuse(format!("at most {max}"));
                }
            }
            UserConfigType::Boolean if !matches!(value.as_str(), "true" | "false") => {
                return refuse("true or false".into());
            }
            UserConfigType::Directory | UserConfigType::File if !Path::new(value).is_absolute() => {
                return refuse("an absolute path".into());
            }
            UserConfigType::String
            | UserConfigType::Boolean
            | UserConfigType::Directory
            | UserConfigType::File => {}
        }
    }
    Ok(())
}

/// Returns the name of this system in a manifest.
fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}
