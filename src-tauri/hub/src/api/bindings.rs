//! Writes `ui/src/ipc/bindings.ts`: the types of verbs, events and errors for the UI, and the
//! labels of states and other values.
//!
//! The test `the_bindings_of_the_ui_are_up_to_date` writes the file if `DRAWBRIDGE_WRITE_BINDINGS`
//! is set, as `cargo xtask bindings` sets it. Otherwise the test fails if the file is stale.

use std::{
    any::TypeId,
    collections::{BTreeMap, HashSet},
    fmt::Write,
    path::Path,
};

use drawbridge_model::{
    acceptance::AcceptanceState,
    call::{DecidedBy, Decision, Outcome},
    content::FlagKind,
    event::Event,
    policy::{Effect, RequestKind, ResultEffect},
    server::ServerState,
};
use serde::Serialize;
use ts_rs::{Config, TS, TypeVisitor};

use super::{ApiError, Verb};

pub(super) trait VerbVisitor {
    fn visit_verb<V: Verb + TS + 'static>(&mut self)
    where
        V::Answer: TS + 'static;
}

#[derive(Default)]
struct Bindings {
    config: Config,
    visited: HashSet<TypeId>,
    types: BTreeMap<String, String>,
    verbs: BTreeMap<&'static str, (String, String)>,
}

impl TypeVisitor for Bindings {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if !self.visited.insert(TypeId::of::<T>()) {
            return;
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
        if T::output_path().is_some() {
            let mut text = String::new();
            if let Some(docs) = T::docs() {
                text.push_str(docs.trim_end());
                text.push('\n');
            }
            let _ = writeln!(text, "export {}", T::decl(&self.config));
            self.types.insert(T::ident(&self.config), text);
        }
    }
}

impl VerbVisitor for Bindings {
    fn visit_verb<V: Verb + TS + 'static>(&mut self)
    where
        V::Answer: TS + 'static,
    {
        self.visit::<V>();
        self.visit::<V::Answer>();
        self.verbs.insert(
            V::NAME,
            (V::name(&self.config), V::Answer::name(&self.config)),
        );
    }
}

impl Bindings {
    fn text(&self) -> String {
        let mut text = String::from(
            "// Written by `cargo xtask bindings` from src-tauri/hub/src/api. Do not edit.\n\n",
        );
        for declaration in self.types.values() {
            text.push_str(declaration);
            text.push('\n');
        }
        text.push_str(
            "/** Every verb: its parameters and its answer. */\nexport interface Verbs {\n",
        );
        for (name, (params, answer)) in &self.verbs {
            let _ = writeln!(
                text,
                "  \"{name}\": {{ params: {params}; answer: {answer} }};"
            );
        }
        text.push_str("}\n");
        text.push_str(&all_labels());
        text
    }
}

/// Returns the labels of states and other values, as constants in TypeScript.
fn all_labels() -> String {
    [
        labels("SERVER_STATE_LABELS", ServerState::ALL, ServerState::label),
        labels(
            "ACCEPTANCE_STATE_LABELS",
            AcceptanceState::ALL,
            AcceptanceState::label,
        ),
        labels("DECISION_LABELS", Decision::ALL, Decision::label),
        labels("DECIDED_BY_LABELS", DecidedBy::ALL, DecidedBy::label),
        labels("OUTCOME_LABELS", Outcome::ALL, Outcome::label),
        labels("EFFECT_LABELS", Effect::ALL, Effect::label),
        labels("KIND_LABELS", RequestKind::ALL, RequestKind::label),
        labels(
            "RESULT_EFFECT_LABELS",
            ResultEffect::ALL,
            ResultEffect::label,
        ),
        labels("FLAG_KIND_LABELS", FlagKind::ALL, FlagKind::label),
    ]
    .concat()
}

/// Returns the labels of one type as a constant. TypeScript rejects the constant if it has no
/// label for a variant.
fn labels<T: TS + Serialize + Copy>(
    constant: &str,
    all: &[T],
    label: fn(T) -> &'static str,
) -> String {
    let mut text = format!(
        "\nexport const {constant}: Record<{}, string> = {{\n",
        T::name(&Config::default())
    );
    for variant in all {
        let name = serde_json::to_value(variant).expect("a variant without fields is a string");
        let name = name.as_str().expect("a variant without fields is a string");
        let _ = writeln!(text, "  {name}: {:?},", label(*variant));
    }
    text.push_str("};\n");
    text
}

#[test]
fn the_bindings_of_the_ui_are_up_to_date() {
    let mut bindings = Bindings::default();
    super::for_each_verb(&mut bindings);
    bindings.visit::<Event>();
    bindings.visit::<ApiError>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/ipc/bindings.ts");
    if std::env::var_os("DRAWBRIDGE_WRITE_BINDINGS").is_some() {
        std::fs::write(&path, bindings.text()).expect("write the bindings");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == bindings.text(),
        "ui/src/ipc/bindings.ts is stale: run `cargo xtask bindings`"
    );
}

#[test]
fn the_bindings_have_labels_for_states_and_other_values() {
    let labels = all_labels();
    for line in [
        "export const SERVER_STATE_LABELS: Record<ServerState, string> = {",
        "  needs_sign_in: \"Needs sign-in\",",
        "  changed: \"Changed\",",
        "  timed_out: \"Timed out\",",
        "  hub: \"by Drawbridge\",",
        "  withheld: \"Withheld\",",
        "  deny: \"Deny\",",
        "  hold: \"Hold\",",
    ] {
        assert!(
            labels.lines().any(|label| label == line),
            "{line:?} is missing"
        );
    }
}
