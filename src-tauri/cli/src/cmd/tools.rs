//! `drawbridge tools`: lists the tools of all accepted, enabled servers, and calls a tool.

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::tools::{
    CallTool, ExportTools, FunctionTool, ListTools, ListedTool, ResultFormat, result_text,
};
use drawbridge_model::ids::ClientName;
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
        #[arg(long, default_value = "{}", value_name = "JSON", value_parser = parse_arguments)]
        args: Value,
        /// With --json: the shape of the result
        #[arg(long, value_enum, value_name = "SHAPE", requires = "json")]
        result: Option<ResultArg>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ListFormat {
    /// Function tools of the OpenAI API
    Openai,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ResultArg {
    /// The result as the server sent it
    Mcp,
    /// The same shape for every server, as hooks get it
    Unified,
}

impl From<ResultArg> for ResultFormat {
    fn from(result: ResultArg) -> Self {
        match result {
            ResultArg::Mcp => Self::Mcp,
            ResultArg::Unified => Self::Unified,
        }
    }
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
                // The document is JSON already, so `--json` changes nothing.
                output::print_answer(true, &exported, |_: &Vec<FunctionTool>| String::new())
            }
            Self::Call { name, args, result } => {
                let verb = CallTool {
                    name,
                    arguments: args,
                    format: result.map(ResultFormat::from).unwrap_or_default(),
                };
                let result = context.run(verb).await?;
                output::print_answer(context.json, &result, format_result)?;
                // A failure is `isError` in the shape of MCP, and `success` in the unified shape.
                if result["isError"] == true || result["success"] == false {
                    Err(Failure::ToolFailed)
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// The error if the arguments of a call or a prompt are not a JSON object.
#[derive(Debug, thiserror::Error)]
#[error("expected a JSON object, such as '{{\"path\": \"/tmp\"}}'")]
pub(super) struct ParseArgumentsError {
    /// `None` if the text is JSON, but not an object.
    source: Option<serde_json::Error>,
}

pub(super) fn parse_arguments(text: &str) -> Result<Value, ParseArgumentsError> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(ParseArgumentsError { source: None }),
        Err(error) => Err(ParseArgumentsError {
            source: Some(error),
        }),
    }
}

fn format_tools(tools: &[ListedTool]) -> String {
    let mut table = Table::new(["NAME", "POLICY", "TOKENS", "DESCRIPTION"]);
    for ListedTool { tool, .. } in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.add_row([
            &tool.exposed_name,
            tool.effect.label(),
            &tool.tokens.to_string(),
            first_line,
        ]);
    }
    table.format_or(
        "No tools. Add a server with `drawbridge servers add`, or see `drawbridge servers list`.",
    )
}

fn format_result(result: &Value) -> String {
    let text = result_text(result);
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_must_be_a_json_object() {
        assert!(parse_arguments(r#"{"path":"/tmp"}"#).is_ok());
        for wrong in ["", "path=/tmp", "[]", "1"] {
            assert_eq!(
                parse_arguments(wrong).expect_err(wrong).to_string(),
                r#"expected a JSON object, such as '{"path": "/tmp"}'"#
            );
        }
    }
}
