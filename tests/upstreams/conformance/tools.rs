//! The list of all tools, and most of the tools that need no input from the client.

mod extra_tools;
mod input_tools;
mod task_tools;

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, JsonObject, ProgressNotificationParam, Tool},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    changes::Change,
    client_input::{Call, from_json},
    conformance_server::ConformanceServer,
    samples::{PNG, WAV},
};

/// A pause that is long enough that messages before and after it arrive separately.
const MOMENT: Duration = Duration::from_millis(50);

/// Returns all tools, with `test_added_tool` only if `with_extra` is true.
pub(crate) fn list(with_extra: bool) -> Vec<Tool> {
    let plain = [
        ("test_simple_text", "Answers with a text"),
        ("test_image_content", "Answers with a picture"),
        ("test_audio_content", "Answers with a sound"),
        ("test_embedded_resource", "Answers with a resource"),
        (
            "test_multiple_content_types",
            "Answers with a text, a picture and a resource",
        ),
        (
            "test_tool_with_logging",
            "Sends three log messages while it works",
        ),
        ("test_logging_tool", "Sends a log message while it works"),
        (
            "test_tool_with_progress",
            "Reports its progress while it works",
        ),
        ("test_error_handling", "Always fails"),
        ("test_reconnection", "Its stream ends before its result"),
        (
            "test_missing_capability",
            "Needs a client that offers sampling",
        ),
        ("test_trigger_tool_change", "Changes the list of tools"),
        ("test_trigger_prompt_change", "Changes the list of prompts"),
    ];
    let mut tools: Vec<Tool> = plain
        .into_iter()
        .map(|(name, description)| tool(name, description, json!({})))
        .collect();
    tools.extend(input_tools::list());
    tools.extend(task_tools::list());
    tools.extend(extra_tools::list());
    let header = json!({"region": {"type": "string", "description": "Comes in a header too", "x-mcp-header": "Region"}});
    tools.push(tool(
        "test_custom_header",
        "Takes an argument that is also in a header",
        header,
    ));
    tools.push(with_schema(
        "json_schema_2020_12_tool",
        "Its schema uses JSON Schema 2020-12",
        json_schema_2020_12(),
    ));
    if with_extra {
        tools.push(tool(
            "test_added_tool",
            "A tool that comes and goes",
            json!({}),
        ));
    }
    tools
}

/// Returns a tool with these properties, all optional.
fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    with_schema(
        name,
        description,
        json!({"type": "object", "properties": properties}),
    )
}

fn with_schema(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema: JsonObject = serde_json::from_value(schema).expect("a schema is an object");
    Tool::new(name, description, Arc::new(schema))
}

/// Returns an input schema with keywords that an intermediary easily loses.
fn json_schema_2020_12() -> Value {
    let text = json!({"type": "string"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": text, "city": text}}},
        "properties": {
            "name": text,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": text,
            "email": text
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

/// Answers `tools/call`.
pub(crate) async fn call(
    server: &ConformanceServer,
    name: &str,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    match name {
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => content_result(json!([image_block()])),
        "test_audio_content" => {
            content_result(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            content_result(json!([resource_block(
                "test://embedded-resource",
                "text/plain",
                text
            )]))
        }
        "test_multiple_content_types" => {
            let data = json!({"test": "data", "value": 123}).to_string();
            let resource =
                resource_block("test://mixed-content-resource", "application/json", &data);
            content_result(
                json!([{"type": "text", "text": "Multiple content types test:"}, image_block(), resource]),
            )
        }
        "test_error_handling" => {
            error_result("This tool intentionally returns an error for testing")
        }
        "test_missing_capability" => {
            call.require_capability("sampling")?;
            text_result("The client offers sampling.")
        }
        "test_tool_with_logging" => {
            let steps = [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ];
            call_with_logs(server, call, &steps).await
        }
        "test_logging_tool" => call_with_logs(server, call, &["Tool was called"]).await,
        "test_tool_with_progress" => call_with_progress(call).await,
        "test_reconnection" => {
            sleep(2 * MOMENT).await;
            text_result("The client came back.")
        }
        "test_trigger_tool_change" => toggle_list(server, Change::Tools),
        "test_trigger_prompt_change" => toggle_list(server, Change::Prompts),
        "test_custom_header" | "json_schema_2020_12_tool" => {
            text_result(&call.arguments.to_string())
        }
        "test_added_tool" => text_result("It was added."),
        other => input_tools::call(server, other, call).await,
    }
}

async fn call_with_logs(
    server: &ConformanceServer,
    call: &Call<'_>,
    steps: &[&str],
) -> Result<CallToolResponse, ErrorData> {
    for step in steps {
        server.level.log_info(call.context, step).await;
        sleep(MOMENT).await;
    }
    text_result("It was logged.")
}

async fn call_with_progress(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let token = call.context.meta.get_progress_token();
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = token.clone() {
            let progress = ProgressNotificationParam::new(token, progress).with_total(100.0);
            drop(call.context.peer.notify_progress(progress).await);
        }
        sleep(MOMENT).await;
    }
    text_result("It is done.")
}

fn toggle_list(server: &ConformanceServer, change: Change) -> Result<CallToolResponse, ErrorData> {
    server.changes.toggle(change);
    text_result("The list changed.")
}

fn image_block() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource_block(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

fn content_result(blocks: Value) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(from_json(blocks)?).into())
}

fn text_result(text: &str) -> Result<CallToolResponse, ErrorData> {
    content_result(json!([{"type": "text", "text": text}]))
}

fn error_result(text: &str) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::error(from_json(json!([{"type": "text", "text": text}]))?).into())
}
