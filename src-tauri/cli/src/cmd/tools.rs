//! `drawbridge tools`: lists the catalog as clients see it, and calls a tool.

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::{
    api::tools::{CallTool, ExportTools, FunctionTool, ListTools, ToolView},
    model::ids::ClientName,
};
use serde_json::Value;

use crate::{context::Context, exit::Failure, output, table::Table, text::escape};

#[derive(Subcommand)]
pub(crate) enum Tools {
    /// List the tools of all accepted, enabled servers
    List {
        /// Print one JSON document in this format
        #[arg(long, value_enum)]
        format: Option<ListFormat>,
        /// With --format: only tools that this client sees
        #[arg(long, value_name = "NAME", requires = "format")]
        client: Option<String>,
    },
    /// Call a tool as the client `command-line`, subject to the policy
    Call {
        /// The tool's exposed name, as shown by `tools list`
        name: String,
        /// The arguments, a JSON object
        #[arg(long, default_value = "{}", value_name = "JSON", value_parser = parse_json)]
        args: Value,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ListFormat {
    /// Function tools of the OpenAI API
    Openai,
}

impl Tools {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { format: None, .. } => {
                context
                    .run_and_print(ListTools {}, |tools| format_tools(tools))
                    .await
            }
            Self::List {
                format: Some(ListFormat::Openai),
                client,
            } => {
                let exported = context
                    .run(ExportTools {
                        client: client.map(ClientName::new),
                    })
                    .await?;
                output::print_answer(true, &exported, |_: &Vec<FunctionTool>| String::new())
            }
            Self::Call { name, args } => {
                let verb = CallTool {
                    name,
                    arguments: args,
                };
                let result = context.run(verb).await?;
                output::print_answer(context.json, &result, format_result)?;
                if result["isError"] == true {
                    Err(Failure::ToolFailed)
                } else {
                    Ok(())
                }
            }
        }
    }
}

fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text)
}

fn format_tools(tools: &[ToolView]) -> String {
    let mut table = Table::new(["NAME", "POLICY", "TOKENS", "DESCRIPTION"]);
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.add_row([
            &tool.exposed_name,
            tool.policy.label(),
            &tool.tokens.to_string(),
            first_line,
        ]);
    }
    table.format_or("No tools.")
}

/// Returns the text blocks of a result. Other blocks are named by their type.
fn format_result(result: &Value) -> String {
    let block = |block: &Value| match block["text"].as_str() {
        Some(text) => text.lines().map(escape).collect::<Vec<_>>().join("\n"),
        None => format!(
            "({})",
            escape(block["type"].as_str().unwrap_or("unknown content"))
        ),
    };
    result["content"]
        .as_array()
        .map(|blocks| blocks.iter().map(block).collect::<Vec<_>>().join("\n"))
        .unwrap_or_default()
}
