//! The manifest of a bundle, versions 0.3 and 0.4. Unknown members are rejected, as in the
//! published schema, because a misspelled member would otherwise be ignored silently.

use std::collections::BTreeMap;

use drawbridge_model::manifest::InputFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::BundleError;

/// The versions of the format that Drawbridge reads.
const VERSIONS: [&str; 2] = ["0.3", "0.4"];

/// The manifest of a bundle. The members that Drawbridge does not use are only checked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    manifest_version: Option<String>,
    /// The earlier name of `manifest_version`.
    dxt_version: Option<String>,
    pub name: String,
    #[serde(default)]
    pub display_name: String,
    pub version: String,
    pub description: String,
    #[serde(default)]
    pub long_description: String,
    pub author: Author,
    #[serde(rename = "repository")]
    _repository: Option<Repository>,
    #[serde(default)]
    pub homepage: String,
    #[serde(rename = "documentation")]
    _documentation: Option<String>,
    #[serde(rename = "support")]
    _support: Option<String>,
    #[serde(rename = "icon")]
    _icon: Option<String>,
    #[serde(rename = "icons")]
    _icons: Option<Vec<Map<String, Value>>>,
    #[serde(rename = "screenshots")]
    _screenshots: Option<Vec<String>>,
    #[serde(rename = "localization")]
    _localization: Option<Map<String, Value>>,
    pub(super) server: BundleServer,
    #[serde(default)]
    pub tools: Vec<Tool>,
    #[serde(default)]
    pub tools_generated: bool,
    #[serde(rename = "prompts")]
    _prompts: Option<Vec<Prompt>>,
    #[serde(rename = "prompts_generated")]
    _prompts_generated: Option<bool>,
    #[serde(rename = "keywords")]
    _keywords: Option<Vec<String>>,
    #[serde(default)]
    pub license: String,
    #[serde(rename = "privacy_policies")]
    _privacy_policies: Option<Vec<String>>,
    #[serde(default)]
    pub(super) compatibility: Compatibility,
    #[serde(default)]
    pub user_config: BTreeMap<String, UserConfig>,
    #[serde(rename = "_meta")]
    _meta: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Author {
    pub name: String,
    #[serde(rename = "email")]
    _email: Option<String>,
    #[serde(rename = "url")]
    _url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repository {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "url")]
    _url: String,
}

/// A tool that the manifest announces.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    #[serde(default)]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(rename = "arguments")]
    _arguments: Option<Vec<String>>,
    #[serde(rename = "text")]
    _text: String,
}

/// The platforms and runtimes that the bundle needs. Drawbridge ignores further members, which name
/// the versions of clients that the bundle needs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Compatibility {
    pub(super) platforms: Vec<String>,
    pub(super) runtimes: Runtimes,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Runtimes {
    pub(super) python: String,
    pub(super) node: String,
}

/// The kind of a bundle's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum BundleServerType {
    /// A program for Node.js.
    Node,
    /// A program for Python, with its packages in the bundle.
    Python,
    /// A compiled program.
    Binary,
    /// A program for Python, whose packages uv downloads at its first start.
    Uv,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BundleServer {
    #[serde(rename = "type")]
    pub(super) kind: BundleServerType,
    pub(super) entry_point: String,
    pub(super) mcp_config: Option<McpConfig>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpConfig {
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) platform_overrides: BTreeMap<String, PlatformOverride>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlatformOverride {
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<String>>,
    pub(super) env: BTreeMap<String, String>,
}

/// The declaration of a value that a person enters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    #[serde(rename = "type")]
    pub kind: UserConfigType,
    pub title: String,
    pub description: String,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub default: Option<UserConfigValue>,
    #[serde(default)]
    pub multiple: bool,
    #[serde(default)]
    pub sensitive: bool,
    pub min: Option<Number>,
    pub max: Option<Number>,
}

/// The type of a value that a person enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum UserConfigType {
    String,
    Number,
    Boolean,
    Directory,
    File,
}

/// The default of a value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum UserConfigValue {
    Boolean(bool),
    Number(Number),
    Text(String),
    Texts(Vec<String>),
}

impl UserConfigValue {
    /// Returns the values as texts, as they are put into arguments.
    pub fn to_texts(&self) -> Vec<String> {
        match self {
            Self::Boolean(value) => vec![value.to_string()],
            Self::Number(value) => vec![value.to_string()],
            Self::Text(value) => vec![value.clone()],
            Self::Texts(values) => values.clone(),
        }
    }
}

impl From<UserConfigType> for InputFormat {
    fn from(kind: UserConfigType) -> Self {
        match kind {
            UserConfigType::String => Self::Text,
            UserConfigType::Number => Self::Number,
            UserConfigType::Boolean => Self::Boolean,
            UserConfigType::Directory | UserConfigType::File => Self::Path,
        }
    }
}

impl BundleManifest {
    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// Returns an error that names the member at fault.
    pub(super) fn parse(text: &str) -> Result<Self, BundleError> {
        let text = text.trim_start_matches('\u{feff}');
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let manifest: Self =
            serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
                let field = error.path().to_string();
                let field = if field == "." { "the file" } else { &field };
                invalid(field, error.inner().to_string())
            })?;
        deserializer
            .end()
            .map_err(|error| invalid("the file", error.to_string()))?;
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), BundleError> {
        let version = self.format_version().ok_or_else(|| {
            invalid(
                "manifest_version",
                "it is missing; Drawbridge reads 0.3 and 0.4",
            )
        })?;
        if !VERSIONS.contains(&version) {
            return Err(invalid(
                "manifest_version",
                format!(
                    "it is '{}', and Drawbridge reads 0.3 and 0.4",
                    version.escape_debug()
                ),
            ));
        }
        for (field, value) in [("name", &self.name), ("version", &self.version)] {
            if value.trim().is_empty() {
                return Err(invalid(field, "it is empty"));
            }
        }
        match (self.server.kind, &self.server.mcp_config) {
            (BundleServerType::Uv, _) if version == "0.3" => {
                return Err(invalid(
                    "server.type",
                    "'uv' exists only from version 0.4 on",
                ));
            }
            (BundleServerType::Uv, _) | (_, Some(_)) => {}
            (_, None) => return Err(invalid("server.mcp_config", "it is missing")),
        }
        for (name, declared) in &self.user_config {
            declared
                .check()
                .map_err(|message| invalid(&format!("user_config.{name}"), message))?;
        }
        Ok(())
    }

    /// Returns the version of the format.
    pub fn format_version(&self) -> Option<&str> {
        self.manifest_version
            .as_deref()
            .or(self.dxt_version.as_deref())
    }

    /// Returns the name for people.
    pub fn title(&self) -> &str {
        if self.display_name.trim().is_empty() {
            &self.name
        } else {
            &self.display_name
        }
    }

    pub fn server_type(&self) -> BundleServerType {
        self.server.kind
    }

    /// Returns the version constraint of the bundle's runtime; empty if there is none.
    pub fn runtime_version(&self) -> &str {
        match self.server.kind {
            BundleServerType::Node => &self.compatibility.runtimes.node,
            BundleServerType::Python | BundleServerType::Uv => &self.compatibility.runtimes.python,
            BundleServerType::Binary => "",
        }
    }

    /// Returns the files without which the server cannot start.
    pub(super) fn needed_files(&self) -> Vec<String> {
        let mut files = vec![to_archive_path(&self.server.entry_point)];
        if self.server.kind == BundleServerType::Uv {
            files.push("pyproject.toml".to_owned());
        }
        files
    }

    /// Returns the files of a compiled program that may be executed: the entry point, and the
    /// program that the manifest names for this system. Other servers have no such files.
    pub(super) fn executable_files(&self) -> Vec<String> {
        if self.server.kind != BundleServerType::Binary {
            return Vec::new();
        }
        let command = self.launch().command;
        let own = command.strip_prefix("${__dirname}").unwrap_or(&command);
        let own = own.replace("${/}", "/").replace("${pathSeparator}", "/");
        vec![
            to_archive_path(&self.server.entry_point),
            to_archive_path(own.trim_start_matches('/')),
        ]
    }
}

/// Returns a path as the archive has it.
fn to_archive_path(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

impl UserConfig {
    /// Returns the title and the description, or only one of them if they are the same or the other
    /// is empty.
    pub(super) fn purpose(&self) -> String {
        match (self.title.trim(), self.description.trim()) {
            (title, "") => title.to_owned(),
            (title, description) if title.is_empty() || title == description => {
                description.to_owned()
            }
            (title, description) => format!("{title}: {description}"),
        }
    }

    fn check(&self) -> Result<(), String> {
        let is_path = matches!(self.kind, UserConfigType::Directory | UserConfigType::File);
        if self.multiple && !is_path {
            return Err("'multiple' is only for the types directory and file".into());
        }
        if self.sensitive && self.kind != UserConfigType::String {
            return Err("'sensitive' is only for the type string".into());
        }
        if let Some(default) = &self.default {
            let fits = match (self.kind, default) {
                (UserConfigType::Number, UserConfigValue::Number(_))
                | (UserConfigType::Boolean, UserConfigValue::Boolean(_)) => true,
                (
                    UserConfigType::String | UserConfigType::Directory | UserConfigType::File,
                    UserConfigValue::Text(_),
                ) => true,
                (_, UserConfigValue::Texts(_)) => self.multiple,
                _ => false,
            };
            if !fits {
                return Err("its 'default' is of another type".into());
            }
        }
        match (&self.min, &self.max) {
            (Some(min), Some(max)) if min.as_f64() > max.as_f64() => {
                Err("its 'min' is larger than its 'max'".into())
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn invalid(field: &str, message: impl Into<String>) -> BundleError {
    BundleError::Manifest {
        field: field.escape_debug().to_string(),
        message: message.into(),
    }
}
