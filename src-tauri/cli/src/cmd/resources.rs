//! `drawbridge resources`: lists the resources and resource templates of a server, and reads a
//! resource.

use clap::Subcommand;
use drawbridge_hub::api::{resources::ReadResource, servers::CapabilityView};
use drawbridge_model::capability::CapabilityKind;
use serde_json::Value;

use super::prompts::{describe_entry, list_entries};
use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, escape_lines},
};

#[derive(Subcommand)]
pub(crate) enum Resources {
    /// List the resources and resource templates of a server
    List {
        /// The server's id, as shown by `servers list`
        #[arg(value_name = "ID")]
        server: String,
    },
    /// Read a resource as the client `command-line`, subject to the policy
    Read {
        /// The URI of a resource, as shown by `resources list`, or a URI that matches a template
        uri: String,
    },
}

impl Resources {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { server } => {
                let kinds = [CapabilityKind::Resources, CapabilityKind::Templates];
                let entries = list_entries(context, server, &kinds).await?;
                output::print_answer(context.json, &entries, |entries| format_resources(entries))
            }
            Self::Read { uri } => {
                context
                    .run_and_print(ReadResource { uri }, format_resource)
                    .await
            }
        }
    }
}

fn format_resources(resources: &[CapabilityView]) -> String {
    let mut table = Table::new(["URI", "POLICY", "DESCRIPTION"]);
    for resource in resources {
        let (uri, description) = describe_entry(resource);
        table.add_row([uri, resource.effect.label(), &description]);
    }
    table.format_or("This server has no resources.")
}

/// Returns the texts of a result of `resources/read`, and the types and lengths of all other
/// contents.
fn format_resource(result: &Value) -> String {
    let contents = result["contents"].as_array();
    let texts: Vec<_> = contents
        .into_iter()
        .flatten()
        .map(|content| match content["text"].as_str() {
            Some(text) => escape_lines(text),
            None => format!(
                "({}, {} characters of Base64; `--json` prints them)",
                escape(content["mimeType"].as_str().unwrap_or("unknown type")),
                content["blob"].as_str().map_or(0, str::len)
            ),
        })
        .collect();
    if texts.is_empty() {
        return "The resource is empty.".into();
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_is_shown_as_text_and_a_blob_by_its_type() {
        let result = json!({"contents": [
            {"uri": "book://1", "text": "Once\nupon\u{1b}"},
            {"uri": "book://1/cover", "blob": "AAAA", "mimeType": "image/png"},
        ]});
        assert_eq!(
            format_resource(&result),
            "Once\nupon\\u{1b}\n(image/png, 4 characters of Base64; `--json` prints them)"
        );
        assert_eq!(
            format_resource(&json!({"contents": []})),
            "The resource is empty."
        );
    }
}
