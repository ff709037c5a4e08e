//! A way to start or to reach a server, with placeholders for a person's values.

use super::{
    declared::Declared,
    template::{Part, Template, parts},
};
use crate::model::{
    manifest::{InputKind, ManifestInput},
    runtime::Runtime,
    spec::TransportKind,
};

/// A package or a remote of a manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// A short description: `npx @scope/server@1.2.3`, or a URL.
    pub label: String,
    /// The reason why the choice cannot be used, for people. Empty if it can.
    pub problem: String,
    /// The program that starts the server, if it is a known one.
    pub runtime: Option<Runtime>,
    /// The values that a person is asked for.
    pub inputs: Vec<ManifestInput>,
    pub(super) command: Option<String>,
    pub(super) args: Vec<Argument>,
    pub(super) env: Vec<(String, Template)>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<Template>,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) transport: Option<TransportKind>,
}

/// A part of the command line that is present as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    Words(Vec<Template>),
    /// The same words, once for each line of their values.
    Each(Vec<Template>),
    /// A flag that is present if the input with this name is true.
    Switch(String, String),
}

/// The beginning of a reference to the keyring in a spec.
pub(super) const OF_THE_KEYRING: &str = "${keyring:";
pub(super) const NAMES_THE_KEYRING: &str = "it names an entry of the keyring, which only you may";

/// The reason why a choice cannot be used, for people.
pub(super) type Problem = String;

impl Choice {
    /// Returns the command line or the URL, with `<name>` for each value.
    pub fn preview(&self) -> String {
        if let Some(url) = &self.url {
            return url.shown();
        }
        let words = self.args.iter().flat_map(|argument| match argument {
            Argument::Words(words) | Argument::Each(words) => {
                words.iter().map(Template::shown).collect()
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

    pub(super) fn unusable(label: String, problem: Problem) -> Self {
        Self {
            label,
            problem,
            ..Self::default()
        }
    }

    pub(super) fn words(&mut self, words: impl IntoIterator<Item = impl Into<String>>) {
        self.args.extend(
            words
                .into_iter()
                .map(|word| Argument::Words(vec![Template::text(word)])),
        );
    }

    pub(super) fn add_env(&mut self, declared: &Declared) -> Result<(), Problem> {
        let name = named("an environment variable", declared)?;
        let template = self.template(&name, declared, InputKind::Env)?;
        self.env.extend(template.map(|template| (name, template)));
        Ok(())
    }

    pub(super) fn add_header(&mut self, declared: &Declared) -> Result<(), Problem> {
        let name = named("a header", declared)?;
        let template = self.template(&name, declared, InputKind::Header)?;
        self.headers
            .extend(template.map(|template| (name, template)));
        Ok(())
    }

    /// Sets the URL, with the variables of `declared`. A placeholder without a declaration is
    /// required too, because no URL contains braces.
    pub(super) fn set_url(&mut self, declared: &Declared) -> Result<(), Problem> {
        let mut declared = declared.clone();
        for part in parts(declared.value.as_deref().unwrap_or_default()) {
            if let Part::Name(name) = part {
                let unknown = || Declared {
                    is_required: true,
                    ..Declared::default()
                };
                declared
                    .variables
                    .entry(name.to_owned())
                    .or_insert_with(unknown);
            }
        }
        declared.is_required = true;
        self.url = self.template("url", &declared, InputKind::Url)?;
        Ok(())
    }

    pub(super) fn add_argument(&mut self, declared: &Declared) -> Result<(), Problem> {
        if !declared.is_named() {
            let numbered = format!("argument {}", self.args.len() + 1);
            let owner = if declared.value_hint.is_empty() {
                numbered
            } else {
                declared.value_hint.clone()
            };
            let template = self.template(&owner, declared, InputKind::Argument)?;
            self.args
                .extend(template.map(|template| repeated(declared, vec![template])));
            return Ok(());
        }
        let flag = named("an argument", declared)?;
        if declared.format == "boolean" {
            return self.add_switch(flag, declared);
        }
        let Some(template) = self.template(&flag, declared, InputKind::Argument)? else {
            return Ok(());
        };
        let words = match declared.value.as_deref() {
            Some("") => vec![Template::text(flag)],
            _ if flag.ends_with('=') => vec![template.after(flag)],
            _ => vec![Template::text(flag), template],
        };
        self.args.push(repeated(declared, words));
        Ok(())
    }

    fn add_switch(&mut self, flag: String, declared: &Declared) -> Result<(), Problem> {
        match declared.value.as_deref() {
            Some("false") => {}
            Some(_) => self.words([flag]),
            None => {
                let template = self.template(&flag, declared, InputKind::Argument)?;
                let input =
                    template.and_then(|template| template.inputs().next().map(str::to_owned));
                self.args
                    .extend(input.map(|input| Argument::Switch(flag, input)));
            }
        }
        Ok(())
    }
}

fn named(what: &str, declared: &Declared) -> Result<String, Problem> {
    if declared.name.is_empty() {
        Err(format!("{what} of it has no 'name'"))
    } else {
        Ok(declared.name.clone())
    }
}

fn repeated(declared: &Declared, words: Vec<Template>) -> Argument {
    if declared.is_repeated {
        Argument::Each(words)
    } else {
        Argument::Words(words)
    }
}
