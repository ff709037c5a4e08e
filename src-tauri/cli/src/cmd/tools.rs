//! `drawbridge tools`: lists the catalog as clients see it, and calls a tool.

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::{
    api::tools::{CallTool, ExportTools, FunctionTool, ListTools, ToolView},
    model::ids::ClientName,
};
use serde_json::Value;

use crate::{
    connection::Context,
    exit::Failure,
    output,
    text::{Table, enum_text, escape},
};

#[derive(Subcommand)]
pub(crate) enum Tools {
    /// List the tools of all accepted, enabled servers
    List {
        /// Print one JSON document in this format
        #[arg(long, value_enum)]
        format: Option<ListFormat>,
        /// With --format: only what this client sees
        #[arg(long, requires = "format")]
        client: Option<String>,
    },
    /// Call a tool as the client `command-line`, subject to the policy
    Call {
        /// The tool's exposed name, as shown by `tools list`
        name: String,
        /// The arguments, a JSON object
        #[arg(long, default_value = "{}", value_name = "JSON")]
        args: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ListFormat {
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
                let arguments = serde_json::from_str(&args)
                    .map_err(|e| Failure::new(format!("--args: {e}")))?;
                let result = context.run(CallTool { name, arguments }).await?;
                output::print_answer(context.json, &result, format_result)?;
                if result["isError"] == true {
                    Err(Failure::new("the tool says that it failed"))
                } else {
                    Ok(())
                }
            }
        }
    }
}

fn format_tools(tools: &[ToolView]) -> String {
    let mut table = Table::new(["NAME", "POLICY", "TOKENS", "DESCRIPTION"]);
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row([
            &tool.exposed_name,
            &enum_text(tool.policy),
            &tool.tokens.to_string(),
            first_line,
        ]);
    }
    table.lines_or("no tools")
}

/// Returns the text blocks of a result. Other blocks are named by their type.
fn format_result(result: &Value) -> String {
    let block = |block: &Value| match block["text"].as_str() {
        Some(text) => text.lines().map(escape).collect::<Vec<_>>().join("\n"),
        None => format!(
            "({})",
            escape(block["type"].as_str().unwrap_or("something"))
        ),
    };
    result["content"]
        .as_array()
        .map(|blocks| blocks.iter().map(block).collect::<Vec<_>>().join("\n"))
        .unwrap_or_default()
}
