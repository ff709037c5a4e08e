//! Asks before a command saves a rule, a default, a preset or a policy file that allows calls of
//! all tools, or a rule that names an unknown server or tool.

use std::io::{self, IsTerminal};

use drawbridge_hub::api::policy::{CheckRule, ImportPolicy, PolicyPreset, RuleWarning};
use drawbridge_model::policy::{DefaultEffects, Effect, RequestKind, RuleSpec};
use serde::Deserialize;

use crate::{
    confirm::confirm,
    context::Context,
    exit::{Failure, print_stderr},
    text::escape,
};

/// Shows the warnings about a rule, if there are any, and asks whether to save the rule. Does
/// nothing if `yes` is set.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there are warnings but no terminal.
pub(super) async fn confirm_rule(
    context: &Context,
    rule: &RuleSpec,
    yes: bool,
) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let warnings = context.run(CheckRule { rule: rule.clone() }).await?;
    if warnings.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = warnings
        .iter()
        .map(|warning| escape(&format_warning(warning)))
        .collect();
    confirm_text(&lines.join("\n"), "Save this rule?")
}

/// Asks before the default allows the calls of all tools, unless `yes` is set.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there is no terminal for the question.
pub(super) fn confirm_default(kind: RequestKind, effect: Effect, yes: bool) -> Result<(), Failure> {
    if yes || kind != RequestKind::Tools || effect != Effect::Allow {
        return Ok(());
    }
    confirm_text(
        "With this default, calls of all tools of all servers run without asking, unless a rule denies them or asks.",
        "Set this default?",
    )
}

/// Asks before a preset allows the calls of all tools of the servers that it does not name, unless
/// `yes` is set.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there is no terminal for the question.
pub(super) fn confirm_preset(preset: &PolicyPreset, yes: bool) -> Result<(), Failure> {
    if yes || !matches!(preset, PolicyPreset::AskListed { .. }) {
        return Ok(());
    }
    confirm_text(
        "With this preset, calls of all tools of all other servers run without asking, unless a rule denies them or asks.",
        "Apply this preset?",
    )
}

/// Asks before a policy file allows the calls of all tools of all servers, by a rule or by its
/// default. The file's default counts only if the import replaces the policy. Does not ask if `yes`
/// is set. A file that cannot be parsed is left to the hub, whose error says why.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there is no terminal for the question.
pub(super) async fn confirm_import(
    context: &Context,
    verb: &ImportPolicy,
    yes: bool,
) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let Ok(file) = serde_json::from_str::<ImportedPolicy>(&verb.text) else {
        return Ok(());
    };
    let mut allows_all = verb.replace
        && file
            .defaults
            .is_some_and(|defaults| defaults.get(RequestKind::Tools) == Effect::Allow);
    for rule in file.rules {
        let is_wide =
            rule.effect == Some(Effect::Allow) && rule.scope.server.is_none() && !rule.disabled;
        allows_all |= is_wide
            && context
                .run(CheckRule { rule })
                .await?
                .contains(&RuleWarning::AllowsAllTools);
    }
    if !allows_all {
        return Ok(());
    }
    confirm_text(
        "This file lets calls of all tools of all servers run without asking, unless a rule denies them or asks.",
        "Import the file?",
    )
}

/// The parts of a policy file that can allow calls.
#[derive(Deserialize)]
struct ImportedPolicy {
    defaults: Option<DefaultEffects>,
    rules: Vec<RuleSpec>,
}

/// Shows a text, even if there is no terminal, and asks a question.
fn confirm_text(text: &str, question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        print_stderr(text);
    }
    confirm(text, question)
}

fn format_warning(warning: &RuleWarning) -> String {
    match warning {
        RuleWarning::AllowsAllTools => {
            "This rule lets calls of all tools of all servers run without asking.".to_owned()
        }
        RuleWarning::UnknownServer { server, similar } => format!(
            "There is no server with the id '{server}'.{} The rule applies to a server that is added with this id.",
            format_suggestion(similar.as_ref().map(|server| server.as_str()))
        ),
        RuleWarning::UnknownTool {
            server,
            tool,
            similar,
        } => format!(
            "The server '{server}' has no tool '{tool}'.{}",
            format_suggestion(similar.as_deref())
        ),
    }
}

fn format_suggestion(similar: Option<&str>) -> String {
    similar.map_or_else(String::new, |name| format!(" Did you mean '{name}'?"))
}
