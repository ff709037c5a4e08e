//! A budget for the check of arguments. With references, a schema of a few hundred bytes can demand
//! any number of steps, so each subschema counts the steps that it takes.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use jsonschema::{Keyword, ValidationError};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The keyword that counts the steps of its subschema. Drawbridge adds the keyword to every
/// subschema.
pub(super) const KEYWORD: &str = "x-drawbridge-steps";
/// The steps of a subschema with a pattern, which may backtrack.
const PATTERN_STEPS: u32 = 100;
/// The number of steps between two checks of the deadline.
const CLOCK_INTERVAL: u32 = 1_000;
/// The most steps of a search for errors.
const MAX_ERROR_STEPS: u32 = 100_000;
/// The maximum number of subschemas in a schema, each counted as often as it is referred to.
const MAX_EXPANDED: u64 = 100_000;
/// The longest chain of subschemas and references.
const MAX_DEPTH: usize = 500;

/// The steps and the time that a check may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    steps: u32,
    deadline: Instant,
}

impl Budget {
    /// Returns a budget of steps and of time from now on.
    pub(crate) fn new((steps, time): (u32, Duration)) -> Self {
        Self {
            steps,
            deadline: Instant::now() + time,
        }
    }

    /// Returns the budget of a search for errors.
    pub(super) fn for_errors(self) -> Self {
        Self {
            steps: self.steps.min(MAX_ERROR_STEPS),
            ..self
        }
    }
}

/// The error if the check of arguments against a schema could take too many steps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "its schema is too complex: with its references, it has more than {MAX_EXPANDED} parts, or more than {MAX_DEPTH} \
     inside each other"
)]
pub struct TooComplex;

thread_local! {
    /// The budget of the check that runs on this thread.
    static REMAINING: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// The payload of the unwinding that ends a check.
struct UsedUp;

/// Runs a check. Returns `None` if it used up the budget.
pub(super) fn run<T>(budget: Budget, check: impl FnOnce() -> T) -> Option<T> {
    REMAINING.set(Some(budget));
    let result = catch_unwind(AssertUnwindSafe(check));
    REMAINING.set(None);
    match result {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<UsedUp>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Spends steps of this thread's budget. If too few steps are left or the deadline has passed,
/// unwinds to [`run`], because the validator has no other way to end a check.
fn spend(steps: u32) {
    let Some(mut budget) = REMAINING.get() else {
        return;
    };
    let before = budget.steps;
    let Some(rest) = before.checked_sub(steps) else {
        resume_unwind(Box::new(UsedUp));
    };
    let is_clock_due = before / CLOCK_INTERVAL != rest / CLOCK_INTERVAL;
    if is_clock_due && Instant::now() > budget.deadline {
        resume_unwind(Box::new(UsedUp));
    }
    budget.steps = rest;
    REMAINING.set(Some(budget));
}

/// The keyword, with the steps of its subschema.
struct Steps(u32);

impl<'i> Keyword<'i> for Steps {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        spend(self.0);
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        spend(self.0);
        true
    }
}

/// Builds the keyword's validator from the keyword's value in a schema.
pub(super) fn build_keyword(value: &Value) -> Box<dyn for<'i> Keyword<'i>> {
    let steps = value.as_u64().and_then(|steps| u32::try_from(steps).ok());
    Box::new(Steps(steps.unwrap_or(1)))
}

/// The subschemas in the value of a keyword.
enum SubschemaKind {
    /// Named subschemas.
    Map,
    /// No subschema.
    Data,
    /// A subschema, a list of subschemas, or an unknown value to which a reference may lead.
    Other,
}

fn subschema_kind(keyword: &str) -> SubschemaKind {
    match keyword {
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => SubschemaKind::Map,
        "const" | "enum" | "default" | "examples" | "required" | "dependentRequired" | "type"
        | "$vocabulary" => SubschemaKind::Data,
        _ => SubschemaKind::Other,
    }
}

/// Returns the subschemas directly inside a schema, except the subschemas of the keywords in
/// `except`.
fn children<'a>(
    members: &'a Map<String, Value>,
    except: &[&str],
) -> impl Iterator<Item = &'a Value> {
    members
        .iter()
        .filter(|(key, _)| !except.contains(&key.as_str()))
        .flat_map(|(key, value)| match (subschema_kind(key), value) {
            (SubschemaKind::Data, _) => Vec::new(),
            (SubschemaKind::Map, Value::Object(named)) => named.values().collect(),
            (SubschemaKind::Map | SubschemaKind::Other, value) => vec![value],
        })
}

/// Returns the schema with [`KEYWORD`] in every subschema. Returns `None` if a reference leads to a
/// value that is not a subschema, because nothing would count the steps of this value.
pub(super) fn with_step_keyword(schema: &Value) -> Option<Value> {
    let mut counted = schema.clone();
    add_step_keyword(&mut counted).then_some(counted)
}

/// Adds [`KEYWORD`] to a schema and its subschemas. Returns false, with the work unfinished, if a
/// reference leads to a value that is not a subschema.
fn add_step_keyword(schema: &mut Value) -> bool {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter_mut().all(add_step_keyword),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return true,
    };
    if reference_pointer(members).is_some_and(|pointer| !leads_to_subschema(&pointer)) {
        return false;
    }
    let is_added = members
        .iter_mut()
        .all(|(key, value)| match (subschema_kind(key), value) {
            (SubschemaKind::Data, _) => true,
            (SubschemaKind::Map, Value::Object(named)) => named.values_mut().all(add_step_keyword),
            (SubschemaKind::Map | SubschemaKind::Other, value) => add_step_keyword(value),
        });
    let has_pattern = members.contains_key("pattern") || members.contains_key("patternProperties");
    let steps = if has_pattern { PATTERN_STEPS } else { 1 };
    members.insert(KEYWORD.to_owned(), steps.into());
    is_added
}

/// Returns a part of a schema without [`KEYWORD`], for people.
pub(super) fn without_step_keyword(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| *key != KEYWORD)
            .map(|(key, value)| (key.clone(), without_step_keyword(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_step_keyword).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Returns the JSON pointer in the fragment of a schema's reference, if it has one.
fn reference_pointer(members: &Map<String, Value>) -> Option<String> {
    let references = ["$ref", "$dynamicRef", "$recursiveRef"];
    let reference = references
        .iter()
        .find_map(|keyword| members.get(*keyword)?.as_str())?;
    let (_, fragment) = reference.split_once('#')?;
    let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
    (fragment.is_empty() || fragment.starts_with('/')).then(|| fragment.into_owned())
}

/// Returns whether [`add_step_keyword`] reaches the value at this pointer.
fn leads_to_subschema(pointer: &str) -> bool {
    let mut tokens = pointer.split('/').skip(1);
    while let Some(token) = tokens.next() {
        match subschema_kind(token) {
            SubschemaKind::Data => return false,
            SubschemaKind::Map if tokens.next().is_none() => return false,
            SubschemaKind::Map | SubschemaKind::Other => {}
        }
    }
    true
}

/// Rejects a schema with too many subschemas, each counted as often as it is referred to, or with
/// subschemas that are nested too deeply. A reference to a subschema that contains the reference
/// counts once, because the depth of the arguments limits this recursion.
pub(crate) fn check_complexity(schema: &Value) -> Result<(), TooComplex> {
    let mut counter = PartCounter {
        root: schema,
        known: HashMap::new(),
        open: HashSet::new(),
    };
    match counter.count(schema) {
        Some(parts) if parts <= MAX_EXPANDED => Ok(()),
        _ => Err(TooComplex),
    }
}

/// Counts the parts of a schema: its subschemas, and the subschemas to which they refer.
struct PartCounter<'a> {
    root: &'a Value,
    /// The number of parts of each schema that is counted already.
    known: HashMap<*const Value, u64>,
    /// The schemas that are being counted.
    open: HashSet<*const Value>,
}

impl<'a> PartCounter<'a> {
    /// Returns the number of parts, or `None` if they are nested too deeply.
    fn count(&mut self, schema: &'a Value) -> Option<u64> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => return self.sum(items.iter()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Some(0),
        };
        let key = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        if !self.open.insert(key) {
            return Some(1);
        }
        let target = reference_pointer(members).and_then(|pointer| self.root.pointer(&pointer));
        // Definitions count at each reference to them.
        let parts = children(members, &["$defs", "definitions"]);
        let total = self.sum(parts.chain(target))?.saturating_add(1);
        self.open.remove(&key);
        self.known.insert(key, total);
        Some(total)
    }

    fn sum(&mut self, mut schemas: impl Iterator<Item = &'a Value>) -> Option<u64> {
        schemas.try_fold(0_u64, |total, schema| {
            Some(total.saturating_add(self.count(schema)?))
        })
    }
}
