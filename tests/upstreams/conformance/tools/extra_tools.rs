//! The tools that the suites do not require: structured content, cancellation, a link to a
//! resource, and changes of a resource.

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ProgressNotificationParam, Tool},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{content_result, task_tools, text_result, toggle_list, tool};
use crate::{
    changes::Change, client_input::Call, conformance_server::ConformanceServer, resources,
};

pub(crate) fn list() -> Vec<Tool> {
    let properties = json!({"city": {"type": "string"}, "degrees": {"type": "number"}});
    let schema =
        json!({"type": "object", "properties": properties, "required": ["city", "degrees"]});
    let structured = tool(
        "test_structured_content",
        "Returns an object that matches its output schema",
        json!({}),
    );
    let schema = serde_json::from_value(schema).expect("a schema is an object");
    vec![
        structured.with_raw_output_schema(schema),
        tool(
            "test_cancellable",
            "Sends progress, then waits until it is cancelled",
            json!({}),
        ),
        tool(
            "test_was_cancelled",
            "Waits until a call was cancelled",
            json!({}),
        ),
        tool(
            "test_resource_link",
            "Links to a resource that is in no list",
            json!({}),
        ),
        tool(
            "test_resource_update",
            "Updates the resource that can be subscribed to",
            json!({}),
        ),
    ]
}

pub(crate) async fn call(
    server: &ConformanceServer,
    name: &str,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    match name {
        "test_structured_content" => structured_result(json!({"city": "Oslo", "degrees": 21.50})),
        "test_cancellable" => wait_until_cancelled(server, call).await,
        "test_was_cancelled" => {
            server.cancelled.notified().await;
            text_result("It was cancelled.")
        }
        "test_resource_link" => {
            let uri = resources::unlisted_uri(&server.scheme);
            content_result(json!([{"type": "resource_link", "uri": uri, "name": "report"}]))
        }
        "test_resource_update" => toggle_list(server, Change::WatchedResource),
        other => task_tools::call(&server.tasks, other, call).await,
    }
}

fn structured_result(object: Value) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::structured(object).into())
}

/// Sends a first progress notification, so that the client knows that there is a call to cancel,
/// and waits for the cancellation.
async fn wait_until_cancelled(
    server: &ConformanceServer,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let token = call.context.meta.get_progress_token();
    let token =
        token.ok_or_else(|| ErrorData::invalid_params("a progress token is needed", None))?;
    // The guard covers both kinds of cancellation: a notification, and a dropped future.
    let _cancelled = NotifyOnDrop(&server.cancelled);
    drop(
        call.context
            .peer
            .notify_progress(ProgressNotificationParam::new(token, 1.0))
            .await,
    );
    call.context.ct.cancelled().await;
    text_result("Nobody waits for this.")
}

/// Notifies the waiting task when the guard is dropped.
struct NotifyOnDrop<'a>(&'a Notify);

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
