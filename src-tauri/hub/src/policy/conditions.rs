//! Conditions on arguments, compiled once.
//!
//! Servers differ in how they read unusual input: duplicate keys or keys in another case, paths
//! through symbolic links, URLs with user names. Many servers also read `"2"` as a number, or a
//! string that contains JSON as the JSON value. A condition therefore has two answers: whether it
//! surely holds (for an allow), and whether it may hold (for a deny, an ask or an effect on
//! results).

mod canonical;
mod coercions;
mod number;
mod paths;
mod pointer;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use drawbridge_model::{
    policy::{Condition, Effect, Literal, Predicate},
    sandbox::SandboxFiles,
    spec::RegisteredServer,
};
use regex::{Regex, RegexBuilder};
use serde_json::value::RawValue;
use url::Url;

pub use canonical::canonical_text;

use number::Number;
use paths::Folder;
use pointer::EmbeddedJson;

/// The largest size of a compiled regular expression, in bytes.
const MAX_REGEX: usize = 256 * 1024;
/// The most conditions of a rule.
const MAX_CONDITIONS: usize = 20;
/// The most values of a condition.
const MAX_VALUES: usize = 1_000;

/// A condition that cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("condition {number} (on '{pointer}'): {source}")]
pub struct ConditionError {
    /// The number of the condition in its rule, from 1.
    number: usize,
    pointer: String,
    source: ConditionFault,
}

/// The reason why a condition cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum ConditionFault {
    #[error("a rule can have at most {MAX_CONDITIONS} conditions")]
    TooManyConditions,
    #[error("a JSON pointer begins with '/', as in '/{0}'")]
    InvalidPointer(String),
    #[error("it must list at least one value")]
    NoValues,
    #[error("it can list at most {MAX_VALUES} values")]
    TooManyValues,
    #[error(
        "'{0}' is not valid JSON, has a duplicate key or a lone surrogate, or is nested too deeply"
    )]
    InvalidValue(Literal),
    #[error("'{0}' is neither an absolute path, nor in `~`, nor in `$project`")]
    RelativePath(String),
    #[error("'{host}' is not a valid host: {source}")]
    InvalidHost {
        host: String,
        source: url::ParseError,
    },
    #[error("'{0}' is not a number")]
    NotANumber(Literal),
    #[error("the minimum is greater than the maximum")]
    EmptyRange,
    #[error("the regular expression is invalid: {}", last_line(&.0.to_string()))]
    InvalidRegex(#[source] regex::Error),
}

/// How certain a match has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchMode {
    /// The condition holds, however the server reads the arguments.
    Must,
    /// The condition holds in at least one way of reading the arguments.
    May,
}

impl MatchMode {
    /// Returns how certain a match has to be for a rule with this effect. `None` stands for
    /// a rule's effect on results.
    pub(super) fn for_effect(effect: Option<Effect>) -> Self {
        match effect {
            Some(Effect::Allow) => Self::Must,
            Some(Effect::Deny | Effect::Ask) | None => Self::May,
        }
    }
}

/// The folders to which paths and conditions refer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Folders<'a> {
    /// The working folder of the server, for relative paths, or `None` if it is unknown, as for a
    /// remote server.
    pub(super) cwd: Option<&'a Path>,
    /// The project folder for `$project`, or `None` if the client works in no project.
    pub(super) project: Option<&'a Path>,
}

/// The conditions of a rule.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<CompiledCondition>);

#[derive(Debug)]
struct CompiledCondition {
    /// The keys of the pointer.
    pointer: Vec<String>,
    predicate: CompiledPredicate,
}

#[derive(Debug)]
enum CompiledPredicate {
    Equals(ExpectedValue),
    /// The values, and the canonical texts of all of them.
    OneOf(Vec<ExpectedValue>, HashSet<String>),
    PathWithin(Folder),
    Host {
        name: String,
        is_wildcard: bool,
    },
    Between(Option<Number>, Option<Number>),
    Matches(Regex),
}

/// A value that a condition names, and its canonical text.
#[derive(Debug)]
struct ExpectedValue {
    value: Box<RawValue>,
    canonical: String,
}

impl Conditions {
    /// Compiles the conditions of a rule.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid. The error has the number of the first invalid
    /// condition, and the reason.
    pub(super) fn compile(conditions: &[Condition]) -> Result<Self, ConditionError> {
        conditions
            .iter()
            .enumerate()
            .map(|(at, condition)| {
                compile(at, condition).map_err(|source| ConditionError {
                    number: at + 1,
                    pointer: condition.pointer.clone(),
                    source,
                })
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns whether all conditions hold for these arguments, with the certainty that a rule of
    /// this effect demands.
    pub(super) fn matches(
        &self,
        effect: Option<Effect>,
        arguments: &RawValue,
        server: &RegisteredServer,
        project: Option<&Path>,
    ) -> bool {
        let cwd = working_dir(server);
        let folders = Folders {
            cwd: cwd.as_deref(),
            project,
        };
        self.all_hold(arguments, folders, MatchMode::for_effect(effect))
    }

    /// Returns whether all conditions hold for these arguments, as [`Self::matches`] does, if the
    /// project folder is not known. Returns `None` if this depends on the project folder.
    pub(super) fn matches_in_unknown_project(
        &self,
        effect: Option<Effect>,
        arguments: &RawValue,
        server: &RegisteredServer,
    ) -> Option<bool> {
        let cwd = working_dir(server);
        let folders = Folders {
            cwd: cwd.as_deref(),
            project: None,
        };
        let mode = MatchMode::for_effect(effect);
        let mut is_known = true;
        for condition in &self.0 {
            if condition.depends_on_project(arguments, folders, mode) {
                is_known = false;
            } else if !condition.holds(arguments, folders, mode) {
                return Some(false);
            }
        }
        is_known.then_some(true)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether all conditions hold for these arguments.
    pub(super) fn all_hold(
        &self,
        arguments: &RawValue,
        folders: Folders<'_>,
        mode: MatchMode,
    ) -> bool {
        self.0
            .iter()
            .all(|condition| condition.holds(arguments, folders, mode))
    }
}

impl CompiledCondition {
    fn holds(&self, arguments: &RawValue, folders: Folders<'_>, mode: MatchMode) -> bool {
        let Self { pointer, predicate } = self;
        let found = pointer::resolve(pointer, arguments);
        match mode {
            MatchMode::Must => {
                found.is_unambiguous
                    && found
                        .values
                        .first()
                        .is_some_and(|value| predicate.holds(value, folders, mode))
            }
            MatchMode::May => {
                found.is_unreadable
                    || found
                        .values
                        .iter()
                        .any(|value| predicate.holds(value, folders, mode))
            }
        }
    }

    /// Returns whether the condition does not hold without a project, but may hold in one.
    fn depends_on_project(
        &self,
        arguments: &RawValue,
        folders: Folders<'_>,
        mode: MatchMode,
    ) -> bool {
        let CompiledPredicate::PathWithin(folder) = &self.predicate else {
            return false;
        };
        if !folder.is_in_project() || self.holds(arguments, folders, mode) {
            return false;
        }
        let found = pointer::resolve(&self.pointer, arguments);
        !found.values.is_empty() && (mode == MatchMode::May || found.is_unambiguous)
    }
}

/// Compiles the condition at this index.
fn compile(at: usize, condition: &Condition) -> Result<CompiledCondition, ConditionFault> {
    if at >= MAX_CONDITIONS {
        return Err(ConditionFault::TooManyConditions);
    }
    Ok(CompiledCondition {
        pointer: pointer::parse(&condition.pointer)?,
        predicate: CompiledPredicate::new(&condition.is)?,
    })
}

impl CompiledPredicate {
    fn new(predicate: &Predicate) -> Result<Self, ConditionFault> {
        Ok(match predicate {
            Predicate::Equals(value) => Self::Equals(ExpectedValue::new(value)?),
            Predicate::OneOf(values) if values.is_empty() => {
                return Err(ConditionFault::NoValues);
            }
            Predicate::OneOf(values) if values.len() > MAX_VALUES => {
                return Err(ConditionFault::TooManyValues);
            }
            Predicate::OneOf(values) => {
                let expected = values
                    .iter()
                    .map(ExpectedValue::new)
                    .collect::<Result<Vec<_>, _>>()?;
                let canonical = expected
                    .iter()
                    .map(|literal| literal.canonical.clone())
                    .collect();
                Self::OneOf(expected, canonical)
            }
            Predicate::PathWithin(folder) => Self::PathWithin(Folder::new(folder)?),
            Predicate::Host(host) => {
                let (name, is_wildcard) = host
                    .strip_prefix("*.")
                    .map_or((host.as_str(), false), |name| (name, true));
                let name = url::Host::parse(name)
                    .map_err(|source| ConditionFault::InvalidHost {
                        host: host.clone(),
                        source,
                    })?
                    .to_string();
                Self::Host { name, is_wildcard }
            }
            Predicate::Between { min, max } => {
                let bound = |bound: &Option<Literal>| {
                    let bound = bound.as_ref().filter(|bound| bound.0 != "null");
                    bound
                        .map(|bound| {
                            Number::parse(&bound.0)
                                .ok_or_else(|| ConditionFault::NotANumber(bound.clone()))
                        })
                        .transpose()
                };
                let (min, max) = (bound(min)?, bound(max)?);
                if let (Some(min), Some(max)) = (&min, &max)
                    && min > max
                {
                    return Err(ConditionFault::EmptyRange);
                }
                Self::Between(min, max)
            }
            Predicate::Matches(text) => {
                let whole = format!(r"\A(?:{text})\z");
                // Compile the text on its own first, so that its parentheses cannot close the
                // surrounding group.
                Regex::new(text).map_err(ConditionFault::InvalidRegex)?;
                let regex = RegexBuilder::new(&whole)
                    .dot_matches_new_line(true)
                    .size_limit(MAX_REGEX)
                    .build();
                Self::Matches(regex.map_err(ConditionFault::InvalidRegex)?)
            }
        })
    }

    /// Returns whether the predicate holds for a value, with the certainty of `mode`. Predicates
    /// other than `Equals` look at the entries of a list: with [`MatchMode::Must`] there have to be
    /// entries, and each has to match; with [`MatchMode::May`] one entry has to match.
    fn holds(&self, value: &RawValue, folders: Folders<'_>, mode: MatchMode) -> bool {
        let items = pointer::items(value).filter(|_| !matches!(self, Self::Equals(_)));
        let as_sent = match (items, mode) {
            (None, _) => self.holds_for_value(value, folders, mode),
            (Some(items), MatchMode::Must) => {
                !items.is_empty()
                    && items
                        .iter()
                        .all(|item| self.holds_for_item(item, folders, mode))
            }
            (Some(items), MatchMode::May) => items
                .iter()
                .any(|item| self.holds_for_item(item, folders, mode)),
        };
        self.holds_with_embedded(as_sent, value, folders, mode)
    }

    fn holds_for_item(&self, item: &RawValue, folders: Folders<'_>, mode: MatchMode) -> bool {
        self.holds_with_embedded(
            self.holds_for_value(item, folders, mode),
            item,
            folders,
            mode,
        )
    }

    /// Also tests the object or list that a string contains as JSON text. `as_sent` says whether
    /// the predicate holds for the string itself. With [`MatchMode::Must`], the predicate has to
    /// hold for both, unless it names the exact string. With [`MatchMode::May`], the predicate has
    /// to hold for one of the two.
    fn holds_with_embedded(
        &self,
        as_sent: bool,
        value: &RawValue,
        folders: Folders<'_>,
        mode: MatchMode,
    ) -> bool {
        // The rule names exactly this value, so the way in which the server reads the value does
        // not matter.
        let is_named = matches!(self, Self::Equals(_) | Self::OneOf(..));
        match mode {
            MatchMode::Must if !as_sent || is_named => as_sent,
            MatchMode::Must => match pointer::embedded_json(value) {
                EmbeddedJson::Nothing => true,
                EmbeddedJson::Value(value) => self.holds(&value, folders, mode),
                EmbeddedJson::Unreadable => false,
            },
            MatchMode::May => {
                as_sent
                    || match pointer::embedded_json(value) {
                        EmbeddedJson::Nothing => false,
                        EmbeddedJson::Value(value) => self.holds(&value, folders, mode),
                        EmbeddedJson::Unreadable => true,
                    }
            }
        }
    }

    fn holds_for_value(&self, value: &RawValue, folders: Folders<'_>, mode: MatchMode) -> bool {
        match self {
            // A value with a duplicate key, for example, has no canonical text.
            Self::Equals(expected) => match (canonical_text(value), mode) {
                (None, _) => mode == MatchMode::May,
                (Some(canonical), _) if expected.canonical == canonical => true,
                (Some(_), MatchMode::Must) => false,
                (Some(_), MatchMode::May) => coercions::may_equal(&expected.value, value),
            },
            Self::OneOf(all, expected) => match (canonical_text(value), mode) {
                (None, _) => mode == MatchMode::May,
                (Some(canonical), _) if expected.contains(&canonical) => true,
                (Some(_), MatchMode::Must) => false,
                (Some(_), MatchMode::May) => all
                    .iter()
                    .any(|literal| coercions::may_equal(&literal.value, value)),
            },
            Self::PathWithin(folder) => holds_for_text(value, mode, |path| match mode {
                MatchMode::Must => folder.must_contain(path, folders),
                MatchMode::May => folder.may_contain(path, folders),
            }),
            Self::Host { name, is_wildcard } => {
                holds_for_text(value, mode, |text| is_host(text, name, *is_wildcard, mode))
            }
            Self::Between(min, max) => {
                let is_between = |number: &Number| {
                    min.as_ref().is_none_or(|min| min <= number)
                        && max.as_ref().is_none_or(|max| number <= max)
                };
                match mode {
                    MatchMode::Must => {
                        Number::parse(value.get()).is_some_and(|number| is_between(&number))
                    }
                    MatchMode::May => coercions::may_be_number(value, is_between),
                }
            }
            Self::Matches(regex) => holds_for_text(value, mode, |text| regex.is_match(text)),
        }
    }
}

/// Returns whether `holds` is true for a string or, with [`MatchMode::May`], for a text that
/// servers make of another value.
fn holds_for_text(value: &RawValue, mode: MatchMode, holds: impl Fn(&str) -> bool) -> bool {
    match mode {
        MatchMode::Must => {
            serde_json::from_str::<String>(value.get()).is_ok_and(|text| holds(&text))
        }
        MatchMode::May => coercions::coerce_to_texts(value)
            .is_none_or(|texts| texts.iter().any(|text| holds(text))),
    }
}

impl ExpectedValue {
    /// Parses a literal.
    ///
    /// # Errors
    /// Returns an error if the literal is not valid JSON, or has no canonical text.
    fn new(literal: &Literal) -> Result<Self, ConditionFault> {
        let wrong = || ConditionFault::InvalidValue(literal.clone());
        let value = RawValue::from_string(literal.0.clone()).map_err(|_| wrong())?;
        let canonical = canonical_text(&value).ok_or_else(wrong)?;
        Ok(Self { value, canonical })
    }
}

fn is_host(text: &str, name: &str, is_wildcard: bool, mode: MatchMode) -> bool {
    let fits = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        let host = if mode == MatchMode::May {
            host.trim_end_matches('.')
        } else {
            host
        };
        if is_wildcard {
            host.strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
        } else {
            host == name
        }
    };
    match mode {
        // URL parsers differ in how they read these characters.
        MatchMode::Must
            if text.contains(['\\', '@'])
                || text.contains(|c: char| c.is_whitespace() || c.is_control()) =>
        {
            false
        }
        MatchMode::Must => Url::parse(text).is_ok_and(|url| url.has_host() && fits(&url)),
        MatchMode::May => {
            let readings = [
                text.to_owned(),
                format!("http://{text}"),
                text.replace('\\', "/"),
                text.replace('\\', "@"),
            ];
            readings
                .iter()
                .any(|reading| Url::parse(reading.trim()).is_ok_and(|url| fits(&url)))
                || text
                    .split('@')
                    .skip(1)
                    .any(|rest| Url::parse(&format!("http://{rest}")).is_ok_and(|url| fits(&url)))
        }
    }
}

/// Returns the last line, which names the cause if an error has several lines.
fn last_line(text: &str) -> &str {
    text.lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
}

/// Returns the working folder of a local server, against which the server resolves relative paths.
/// Without a folder in the spec, this is the home folder. Returns `None` if the folder is not
/// known: for a remote server, if there is no home folder, and for a sandboxed server that works in
/// a folder of its own.
pub(super) fn working_dir(server: &RegisteredServer) -> Option<PathBuf> {
    let spec = &server.spec;
    spec.command.as_ref()?;
    if let Some(cwd) = &spec.cwd {
        return Some(cwd.into());
    }
    let has_own_folder = spec
        .sandbox
        .as_ref()
        .is_some_and(|sandbox| sandbox.files == SandboxFiles::Listed);
    if has_own_folder {
        return None;
    }
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
