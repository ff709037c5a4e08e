//! Questions before a rule is saved that allows everything, or that names an unknown server or
//! tool.

use std::io::{self, IsTerminal};

use drawbridge_hub::api::policy::{CheckRule, RuleWarning};
use drawbridge_model::policy::{Effect, RequestKind, RuleSpec};

use crate::{
    confirm::confirm,
    context::Context,
    exit::{Failure, print_stderr},
    text::escape,
};

/// Shows the warnings about a rule, if there are any, and asks whether to save it.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there are warnings but no terminal. With `yes`,
/// nothing is checked.
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

/// Asks before the default allows the calls of all tools.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there is no terminal.
pub(super) fn confirm_default(kind: RequestKind, effect: Effect, yes: bool) -> Result<(), Failure> {
    if yes || kind != RequestKind::Tools || effect != Effect::Allow {
        return Ok(());
    }
    confirm_text(
        "With this default, calls of all tools of all servers run without asking, unless a rule denies them or asks.",
        "Set this default?",
    )
}

/// Shows a text, also if there is no terminal to ask at, and asks a question.
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
            suggest(similar.as_ref().map(|server| server.as_str()))
        ),
        RuleWarning::UnknownTool {
            server,
            tool,
            similar,
        } => format!(
            "The server '{server}' has no tool '{tool}'.{}",
            suggest(similar.as_deref())
        ),
    }
}

fn suggest(similar: Option<&str>) -> String {
    similar.map_or_else(String::new, |name| format!(" Did you mean '{name}'?"))
}
