//! The tools: their list, and those that need no input from the client.

mod asking;
mod jobs;
mod more;

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, JsonObject, ProgressNotificationParam, Tool},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    changes::Change,
    fixture::Fixture,
    questions::{Call, read},
    samples::{PNG, WAV},
};

/// Long enough that messages sent before and after it arrive separately.
const MOMENT: Duration = Duration::from_millis(50);

/// Returns all tools; `more` adds the extra one.
pub(crate) fn list(more: bool) -> Vec<Tool> {
    let plain = [
        ("test_simple_text", "Answers a text"),
        ("test_image_content", "Answers a picture"),
        ("test_audio_content", "Answers a sound"),
        ("test_embedded_resource", "Answers a resource"),
        (
            "test_multiple_content_types",
            "Answers a text, a picture and a resource",
        ),
        (
            "test_tool_with_logging",
            "Sends three log messages while it works",
        ),
        ("test_logging_tool", "Sends a log message while it works"),
        (
            "test_tool_with_progress",
            "Says how far it is while it works",
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
        .map(|(name, what)| tool(name, what, json!({})))
        .collect();
    tools.extend(asking::list());
    tools.extend(jobs::list());
    tools.extend(more::list());
    let header = json!({"region": {"type": "string", "description": "Comes in a header too", "x-mcp-header": "Region"}});
    tools.push(tool(
        "test_custom_header",
        "Takes an argument that stands in a header too",
        header,
    ));
    tools.push(with_schema(
        "json_schema_2020_12_tool",
        "Its schema uses JSON Schema 2020-12",
        json_schema_2020_12(),
    ));
    if more {
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

/// Returns a tool with schema keywords that an intermediary easily loses.
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
    fixture: &Fixture,
    name: &str,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    match name {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => content(json!([picture()])),
        "test_audio_content" => {
            content(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            content(json!([resource(
                "test://embedded-resource",
                "text/plain",
                text
            )]))
        }
        "test_multiple_content_types" => {
            let data = json!({"test": "data", "value": 123}).to_string();
            let resource = resource("test://mixed-content-resource", "application/json", &data);
            content(
                json!([{"type": "text", "text": "Multiple content types test:"}, picture(), resource]),
            )
        }
        "test_error_handling" => failed("This tool intentionally returns an error for testing"),
        "test_missing_capability" => {
            call.require("sampling")?;
            said("The client offers sampling.")
        }
        "test_tool_with_logging" => {
            let steps = [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ];
            logged(fixture, call, &steps).await
        }
        "test_logging_tool" => logged(fixture, call, &["Tool was called"]).await,
        "test_tool_with_progress" => progressed(call).await,
        "test_reconnection" => {
            sleep(2 * MOMENT).await;
            said("The client came back.")
        }
        "test_trigger_tool_change" => changed(fixture, Change::Tools),
        "test_trigger_prompt_change" => changed(fixture, Change::Prompts),
        "test_custom_header" | "json_schema_2020_12_tool" => said(&call.arguments.to_string()),
        "test_added_tool" => said("It was added."),
        other => asking::call(fixture, other, call).await,
    }
}

async fn logged(
    fixture: &Fixture,
    call: &Call<'_>,
    steps: &[&str],
) -> Result<CallToolResponse, ErrorData> {
    for step in steps {
        fixture.level.info(call.context, step).await;
        sleep(MOMENT).await;
    }
    said("It was logged.")
}

async fn progressed(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let token = call.context.meta.get_progress_token();
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = token.clone() {
            let progress = ProgressNotificationParam::new(token, progress).with_total(100.0);
            drop(call.context.peer.notify_progress(progress).await);
        }
        sleep(MOMENT).await;
    }
    said("It is done.")
}

fn changed(fixture: &Fixture, change: Change) -> Result<CallToolResponse, ErrorData> {
    fixture.changes.make(change);
    said("The list changed.")
}

fn picture() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}

fn content(blocks: Value) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(read(blocks)?).into())
}

fn said(text: &str) -> Result<CallToolResponse, ErrorData> {
    content(json!([{"type": "text", "text": text}]))
}

fn failed(text: &str) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::error(read(json!([{"type": "text", "text": text}]))?).into())
}
