//! Calls that a server answers with a task: experimental in 2025-11-25, an extension in the modern
//! era.

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::RpcError,
};
use serde_json::value::RawValue;

use super::{extensions::TASKS_EXTENSION, hello::ClientHello, meta::MISSING_CAPABILITY};

/// Checks that a client may send requests about tasks.
///
/// # Errors
/// Returns an error (`-32021`) if a modern client did not name the extension.
pub fn check_allowed(client: &ClientHello) -> Result<(), RpcError> {
    if !client.era.is_modern() || names_extension(client) {
        return Ok(());
    }
    let data =
        serde_json::json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
    let reason = "the client did not name the extension for tasks in its capabilities";
    Err(RpcError {
        data: Some(json::to_raw(&data)),
        ..RpcError::new(MISSING_CAPABILITY, reason)
    })
}

/// Returns whether a call may become a task. A modern client must have named the extension. The
/// params of a legacy call must mention `task`; `extra` are the params without the name and the
/// arguments.
pub fn may_become_task(client: &ClientHello, extra: Option<&RawValue>) -> bool {
    if client.era.is_modern() {
        names_extension(client)
    } else {
        extra.is_some_and(|extra| json::mentions(extra, "task"))
    }
}

fn names_extension(client: &ClientHello) -> bool {
    client.capabilities.raw().get().contains(TASKS_EXTENSION)
}

/// Returns the id of the task that a call has become, or `None` if the result is final.
pub fn created_task_id(result: &Json) -> Option<String> {
    if !json::mentions(result, "taskId") {
        return None;
    }
    let result = RawObject::parse(result).ok()?;
    if result.get_string("resultType").as_deref() == Some("task") {
        return result.get_string("taskId");
    }
    let task = result.get("task")?.to_owned();
    RawObject::parse(&task).ok()?.get_string("taskId")
}

/// Returns whether the params of a notification about a task may contain the result of the call, and
/// not only the status of the task.
pub fn may_contain_result(params: &RawValue) -> bool {
    json::mentions(params, "result") && !is_status_only(&Json::new(params.get()))
}

/// Returns whether an answer only describes a task: it contains neither the result of the call nor
/// anything else that a server could return instead.
pub fn is_status_only(answer: &Json) -> bool {
    const STATUS: [&str; 10] = [
        "taskId",
        "status",
        "statusMessage",
        "createdAt",
        "lastUpdatedAt",
        "ttl",
        "ttlMs",
        "pollInterval",
        "pollIntervalMs",
        "resultType",
    ];
    let has_only = |object: &RawObject<'_>, more: &[&str]| {
        object
            .keys()
            .all(|key| STATUS.contains(&key) || more.contains(&key))
    };
    let is_task =
        |object: &RawObject<'_>| object.get("taskId").is_some() && has_only(object, &["_meta"]);
    let Ok(answer) = RawObject::parse(answer) else {
        return false;
    };
    match answer.get("task").map(RawObject::parse) {
        Some(task) => {
            has_only(&answer, &["task", "_meta"]) && task.is_ok_and(|task| is_task(&task))
        }
        None => is_task(&answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_more_than_a_status_is_not_only_a_status() {
        for (text, expected) in [
            (
                r#"{"task":{"taskId":"a","status":"working","ttl":null}}"#,
                true,
            ),
            (
                r#"{"resultType":"task","taskId":"b","status":"working"}"#,
                true,
            ),
            (
                r#"{"taskId":"b","status":"completed","result":{"content":[]}}"#,
                false,
            ),
            (
                r#"{"task":{"taskId":"a","status":"working"},"content":[]}"#,
                false,
            ),
            (r#"{"task":{"taskId":"a","structuredContent":{}}}"#, false),
            (r#"{"content":[]}"#, false),
            ("{}", false),
        ] {
            assert_eq!(is_status_only(&Json::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_created_task_is_found_in_the_formats_of_both_eras() {
        for (text, id) in [
            (r#"{"task":{"taskId":"a","status":"working"}}"#, Some("a")),
            (
                r#"{"resultType":"task","taskId":"b","status":"working"}"#,
                Some("b"),
            ),
            (r#"{"content":[{"text":"taskId"}]}"#, None),
            (
                r#"{"structuredContent":{"task":{"taskId":"c"}},"taskId":"d"}"#,
                None,
            ),
        ] {
            assert_eq!(created_task_id(&Json::new(text)).as_deref(), id, "{text}");
        }
    }
}
