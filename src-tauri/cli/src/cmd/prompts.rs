//! `drawbridge prompts`: lists the prompts of a server, and gets a prompt.

use clap::Subcommand;
use drawbridge_hub::api::{
    prompts::GetPrompt,
    servers::{CapabilityView, ShowCapabilities},
    tools::result_text,
};
use drawbridge_model::{capability::CapabilityKind, ids::ServerId};
use serde_json::{Value, json};

use super::tools::parse_arguments;
use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, escape_lines},
};

#[derive(Subcommand)]
pub(crate) enum Prompts {
    /// List the prompts of a server
    List {
        /// The server's id, as shown by `servers list`
        #[arg(value_name = "ID")]
        server: String,
    },
    /// Get a prompt as the client `command-line`, subject to the policy
    Get {
        /// The prompt's exposed name, as shown by `prompts list`
        name: String,
        /// The arguments, a JSON object whose values are texts
        #[arg(long, default_value = "{}", value_name = "JSON", value_parser = parse_arguments)]
        args: Value,
    },
}

impl Prompts {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { server } => {
                let prompts = list_entries(context, server, &[CapabilityKind::Prompts]).await?;
                output::print_answer(context.json, &prompts, |prompts| format_prompts(prompts))
            }
            Self::Get { name, args } => {
                let verb = GetPrompt {
                    name,
                    arguments: args,
                };
                context.run_and_print(verb, format_prompt).await
            }
        }
    }
}

/// Returns the entries of the given kinds in a server's lists.
pub(super) async fn list_entries(
    context: &Context,
    server: String,
    kinds: &[CapabilityKind],
) -> Result<Vec<CapabilityView>, Failure> {
    let id = ServerId::new(server);
    let mut entries = context.run(ShowCapabilities { id }).await?.entries;
    entries.retain(|entry| kinds.contains(&entry.kind));
    Ok(entries)
}

/// Returns the name or URI that clients use, and the first line of the description. If the entry is
/// hidden, returns the server's own name and the reason.
pub(super) fn describe_entry(entry: &CapabilityView) -> (&str, String) {
    if !entry.hidden.is_empty() {
        return (entry.name.as_str(), format!("hidden: {}", entry.hidden));
    }
    let description = entry.definition["description"].as_str();
    let first_line = description.and_then(|text| text.lines().next());
    (
        entry.exposed_name.as_str(),
        first_line.unwrap_or_default().to_owned(),
    )
}

fn format_prompts(prompts: &[CapabilityView]) -> String {
    let mut table = Table::new(["NAME", "POLICY", "ARGUMENTS", "DESCRIPTION"]);
    for prompt in prompts {
        let (name, description) = describe_entry(prompt);
        let arguments = format_arguments(&prompt.definition);
        table.add_row([name, prompt.effect.label(), &arguments, &description]);
    }
    table.format_or("This server has no prompts.")
}

/// Returns the names of a prompt's arguments. Names of optional arguments are in brackets.
fn format_arguments(definition: &Value) -> String {
    let arguments = definition["arguments"].as_array();
    let names = arguments.into_iter().flatten().map(|argument| {
        let name = argument["name"].as_str().unwrap_or_default();
        if argument["required"] == true {
            name.to_owned()
        } else {
            format!("[{name}]")
        }
    });
    names.collect::<Vec<_>>().join(" ")
}

/// Returns the messages of a result of `prompts/get`, each below its role.
fn format_prompt(prompt: &Value) -> String {
    let messages = prompt["messages"].as_array();
    let texts: Vec<_> = messages
        .into_iter()
        .flatten()
        .map(|message| {
            let role = message["role"].as_str().unwrap_or_default();
            let text = result_text(&json!({ "content": [message["content"]] }));
            format!("{}:\n{}", escape(role), escape_lines(&text))
        })
        .collect();
    if texts.is_empty() {
        return "The prompt has no messages.".into();
    }
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_shown_message_by_message() {
        let prompt = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "Review\nthis.\u{202e}"}},
            {"role": "assistant", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
        ]});
        assert_eq!(
            format_prompt(&prompt),
            "user:\nReview\nthis.\\u{202e}\n\nassistant:\n(image)"
        );
        assert_eq!(
            format_prompt(&json!({"messages": []})),
            "The prompt has no messages."
        );
    }

    #[test]
    fn optional_arguments_are_in_brackets() {
        let definition =
            json!({"arguments": [{"name": "who", "required": true}, {"name": "tone"}]});
        assert_eq!(format_arguments(&definition), "who [tone]");
        assert_eq!(format_arguments(&json!({})), "");
    }
}
