//! Checks of the properties that hold for any input, for the targets in `fuzz/`. Release builds do
//! not contain this module.

use crate::{catalog, content, policy, registry};

/// Checks a server's JSON, which has texts that a model reads.
pub fn content(json: &str) {
    content::properties::flags_do_not_depend_on_spelling(json);
    content::properties::a_notice_changes_nothing_else(json);
}

/// Checks a manifest of a server.
pub fn manifest(text: &str) {
    registry::manifest::properties::a_manifest_has_only_its_own_secrets(text);
}

/// Checks an answer of the official registry.
pub fn registry_page(answer: &[u8]) {
    registry::official::properties::a_page_has_only_manifests(answer);
}

/// Checks the folder of a rule, and a path in the arguments of a call.
pub fn path(folder: &str, path: &str) {
    policy::conditions::properties::a_path_that_must_be_inside_may_be_inside(folder, path);
}

/// Checks the conditions of a rule, and the arguments of a call.
pub fn rule(conditions: &str, arguments: &str) {
    policy::conditions::properties::spellings_of_arguments_match_alike(conditions, arguments);
}

/// Checks the schema of a tool, and the arguments of a call.
pub fn schema(schema: &str, arguments: &str) {
    catalog::schema::properties::arguments_are_checked_within_the_budget(schema, arguments);
}
