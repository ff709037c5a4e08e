//! A way to start or to reach a server, with placeholders for a person's values.

use drawbridge_model::{
    manifest::{InputKind, ManifestInput},
    runtime::Runtime,
    spec::{Lifecycle, ServerSpec, TransportKind},
};

use super::{
    declaration::InputDeclaration,
    template::{Part, Template, split_placeholders},
};

/// A package or a remote of a manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// A short description: `npx @scope/server@1.2.3`, or a URL.
    pub label: String,
    /// The reason why the choice cannot be used, or `None` if it can.
    pub problem: Option<Problem>,
    /// The runtime that starts the server, if Drawbridge knows it.
    pub runtime: Option<Runtime>,
    /// The package without its version, if the choice is a package of a `server.json`.
    pub package: Option<String>,
    /// The inputs whose values a person enters.
    pub inputs: Vec<ManifestInput>,
    pub(super) command: Option<String>,
    pub(super) args: Vec<Argument>,
    pub(super) env: Vec<(String, Template)>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<Template>,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) transport: Option<TransportKind>,
    pub(super) lifecycle: Lifecycle,
    /// The inputs whose values are known already, so that no person has to enter them.
    pub(super) given: Vec<(ManifestInput, String)>,
}

/// A part of the command line that is present as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    Words(Vec<Template>),
    /// Words that are repeated for each line of their inputs' values.
    Repeated(Vec<Template>),
    /// A flag, and the name of the input that has to be `true` for the flag to be present.
    Switch(String, String),
}

/// The reason why a choice cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it refers to a secret, a variable or a command of yours, which a manifest may not do")]
    SecretReference,
    #[error("{0} in it has no 'name'")]
    NoName(&'static str),
    #[error("it puts the secret '{0}' in its URL, which is shown and logged")]
    SecretInUrl(String),
    #[error(
        "it puts the secret '{0}' on its command line, which every program on this computer can read"
    )]
    SecretInArguments(String),
    #[error(
        "it listens on {url} after its start ({transport}), but Drawbridge starts packages of a server.json only over \
         stdio; start it yourself, then add that URL"
    )]
    ListensOnUrl { url: String, transport: String },
    #[error("its transport '{0}' is unknown")]
    UnknownTransport(String),
    #[error("its 'command' is empty")]
    EmptyCommand,
    #[error("its runtime '{0}' is unknown")]
    UnknownRuntime(String),
    #[error(
        "it is an MCP bundle (.mcpb), which Drawbridge does not download; download it, then run `drawbridge servers \
         add --bundle FILE`"
    )]
    Bundle,
    #[error("Drawbridge cannot start packages of '{0}'; install it, then add its command")]
    UnknownPackageType(String),
    #[error(
        "it comes from the registry {0}, which Drawbridge does not use; install it, then add its command"
    )]
    OtherRegistry(String),
    #[error("its 'identifier' is not the name of a package: '{0}'")]
    InvalidIdentifier(String),
    #[error("its 'version' is not a version: '{0}'")]
    InvalidVersion(String),
}

impl Choice {
    /// Returns the command line or the URL, with `<name>` for each value, and `[--flag]` for each
    /// flag that a person can choose.
    pub fn preview(&self) -> String {
        if let (None, Some(url)) = (&self.command, &self.url) {
            return url.preview();
        }
        let words = self.args.iter().flat_map(|argument| match argument {
            Argument::Words(words) | Argument::Repeated(words) => {
                words.iter().map(Template::preview).collect()
            }
            Argument::Switch(flag, _) => vec![format!("[{flag}]")],
        });
        self.command
            .iter()
            .cloned()
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns whether a spec starts the same package, in any version, or connects to the same URL.
    pub fn is_used_by(&self, spec: &ServerSpec) -> bool {
        if let (None, Some(url)) = (&self.command, &self.url) {
            return spec.url.as_deref() == Some(url.preview().as_str());
        }
        let (Some(package), Some(command)) = (&self.package, &spec.command) else {
            return false;
        };
        let is_package = |word: &String| {
            word.strip_prefix(package.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', ':', '=']))
        };
        Runtime::from_command(command) == self.runtime && spec.args.iter().any(is_package)
    }

    pub(super) fn unusable(label: String, problem: Problem) -> Self {
        Self {
            label,
            problem: Some(problem),
            ..Self::default()
        }
    }

    pub(super) fn add_words(&mut self, words: impl IntoIterator<Item = impl Into<String>>) {
        self.args.extend(
            words
                .into_iter()
                .map(|word| Argument::Words(vec![Template::from_text(word)])),
        );
    }

    pub(super) fn add_env(&mut self, declared: &InputDeclaration) -> Result<(), Problem> {
        let name = require_name("an environment variable", declared)?;
        let template = self.build_template(&name, declared, InputKind::Env)?;
        self.env.extend(template.map(|template| (name, template)));
        Ok(())
    }

    pub(super) fn add_header(&mut self, declared: &InputDeclaration) -> Result<(), Problem> {
        let name = require_name("a header", declared)?;
        let template = self.build_template(&name, declared, InputKind::Header)?;
        self.headers
            .extend(template.map(|template| (name, template)));
        Ok(())
    }

    /// Sets the URL, with the variables of `declared`. A placeholder without a declaration becomes
    /// a required input, because its braces cannot be a part of a URL.
    pub(super) fn set_url(&mut self, declared: &InputDeclaration) -> Result<(), Problem> {
        let mut declared = declared.clone();
        for part in split_placeholders(declared.value.as_deref().unwrap_or_default()) {
            if let Part::Placeholder(name) = part {
                let unknown = || InputDeclaration {
                    is_required: true,
                    ..InputDeclaration::default()
                };
                declared
                    .variables
                    .entry(name.to_owned())
                    .or_insert_with(unknown);
            }
        }
        declared.is_required = true;
        self.url = self.build_template("url", &declared, InputKind::Url)?;
        Ok(())
    }

    pub(super) fn add_argument(&mut self, declared: &InputDeclaration) -> Result<(), Problem> {
        if !declared.is_named() {
            let numbered = format!("argument {}", self.args.len() + 1);
            let owner = if declared.value_hint.is_empty() {
                numbered
            } else {
                declared.value_hint.clone()
            };
            let template = self.build_template(&owner, declared, InputKind::Argument)?;
            self.args
                .extend(template.map(|template| to_argument(declared, vec![template])));
            return Ok(());
        }
        let flag = require_name("an argument", declared)?;
        if declared.format == "boolean" {
            return self.add_switch(flag, declared);
        }
        let Some(template) = self.build_template(&flag, declared, InputKind::Argument)? else {
            return Ok(());
        };
        let words = match declared.value.as_deref() {
            Some("") => vec![Template::from_text(flag)],
            _ if flag.ends_with('=') => vec![template.prefixed_with(flag)],
            _ => vec![Template::from_text(flag), template],
        };
        self.args.push(to_argument(declared, words));
        Ok(())
    }

    fn add_switch(&mut self, flag: String, declared: &InputDeclaration) -> Result<(), Problem> {
        match declared.value.as_deref() {
            Some("false") => {}
            Some(_) => self.add_words([flag]),
            None => {
                let template = self.build_template(&flag, declared, InputKind::Argument)?;
                let input =
                    template.and_then(|template| template.inputs().next().map(str::to_owned));
                self.args
                    .extend(input.map(|input| Argument::Switch(flag, input)));
            }
        }
        Ok(())
    }
}

fn require_name(noun: &'static str, declared: &InputDeclaration) -> Result<String, Problem> {
    if declared.name.is_empty() {
        Err(Problem::NoName(noun))
    } else {
        Ok(declared.name.clone())
    }
}

fn to_argument(declared: &InputDeclaration, words: Vec<Template>) -> Argument {
    if declared.is_repeated {
        Argument::Repeated(words)
    } else {
        Argument::Words(words)
    }
}
