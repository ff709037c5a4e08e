//! Reads the answers of blocking hooks, and completes the results that hooks return.

use drawbridge_jsonrpc::json::{self, Json, RawObject};
use serde_json::value::RawValue;

/// The longest reason for a denial that is passed on, in characters.
const MAX_REASON: usize = 500;

/// The answer of a hook on `tool_requested`.
#[derive(Debug)]
pub(super) enum RequestAnswer {
    Continue,
    Deny { reason: String },
    Change { arguments: Box<RawValue> },
}

/// The answer of a hook on `tool_executed`.
#[derive(Debug)]
pub(super) enum ResultAnswer {
    Continue,
    Change { result: Json },
}

/// Why an answer is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AnswerError {
    #[error("it did not answer with UTF-8 text")]
    NotUtf8,
    #[error("its answer is nested deeper than {} levels", json::MAX_DEPTH)]
    TooDeep,
    #[error("its answer is not a JSON object with distinct keys: {0}")]
    Malformed(String),
    #[error("its answer has the action '{0}', which this event does not support")]
    UnknownAction(String),
    #[error("its answer has the action 'change' without an object '{0}'")]
    NothingChanged(&'static str),
    #[error("its answer has a 'result' that is no result of a tool: {0}")]
    BadResult(&'static str),
}

/// Parses the answer of a hook on `tool_requested`. An empty answer continues the call.
///
/// # Errors
/// Returns an error if the output is not a valid answer to this event.
pub(super) fn parse_request_answer(output: &[u8]) -> Result<RequestAnswer, AnswerError> {
    let Some(text) = read_text(output)? else {
        return Ok(RequestAnswer::Continue);
    };
    let object = parse_object(&text)?;
    match read_action(&object)?.as_str() {
        "continue" => Ok(RequestAnswer::Continue),
        "deny" => {
            let reason = object.get_string("reason").unwrap_or_default();
            let readable = |c: char| if c.is_control() { ' ' } else { c };
            Ok(RequestAnswer::Deny {
                reason: reason.chars().take(MAX_REASON).map(readable).collect(),
            })
        }
        "change" => {
            let arguments = read_object_member(&object, "arguments")?;
            Ok(RequestAnswer::Change { arguments })
        }
        other => Err(AnswerError::UnknownAction(other.chars().take(40).collect())),
    }
}

/// Parses the answer of a hook on `tool_executed`. An empty answer leaves the result as it is.
///
/// # Errors
/// Returns an error if the output is not a valid answer to this event, or if its `result` is not a
/// valid result of `tools/call`.
pub(super) fn parse_result_answer(output: &[u8]) -> Result<ResultAnswer, AnswerError> {
    let Some(text) = read_text(output)? else {
        return Ok(ResultAnswer::Continue);
    };
    let object = parse_object(&text)?;
    match read_action(&object)?.as_str() {
        "continue" => Ok(ResultAnswer::Continue),
        "change" => {
            let result = read_object_member(&object, "result")?;
            check_result(&result)?;
            Ok(ResultAnswer::Change {
                result: Json::from(result),
            })
        }
        other => Err(AnswerError::UnknownAction(other.chars().take(40).collect())),
    }
}

/// Returns a hook's result, completed with the members of the server's result that the hook did not
/// set. `content`, `structuredContent`, `isError` and `_meta` are not taken from the server's
/// result.
pub(super) fn complete_result(of_hook: &Json, of_server: &Json) -> Json {
    const REPLACED: [&str; 4] = ["content", "structuredContent", "isError", "_meta"];
    let (Ok(mut result), Ok(original)) = (RawObject::parse(of_hook), RawObject::parse(of_server))
    else {
        return of_hook.clone();
    };
    let kept: Vec<_> = original
        .iter()
        .filter(|(key, _)| !REPLACED.contains(key) && result.get(key).is_none())
        .collect();
    for (key, value) in kept {
        result.set(key, value.to_owned());
    }
    Json::from(result.to_raw())
}

fn read_text(output: &[u8]) -> Result<Option<Json>, AnswerError> {
    if output.trim_ascii().is_empty() {
        return Ok(None);
    }
    if json::depth_exceeds(output, json::MAX_DEPTH) {
        return Err(AnswerError::TooDeep);
    }
    let text = std::str::from_utf8(output).map_err(|_| AnswerError::NotUtf8)?;
    Ok(Some(Json::new(text)))
}

fn parse_object(text: &Json) -> Result<RawObject<'_>, AnswerError> {
    RawObject::parse(text).map_err(malformed)
}

/// Returns an error with the position of the fault only, because the text may contain secrets.
fn malformed(error: serde_json::Error) -> AnswerError {
    let (line, column) = (error.line(), error.column());
    AnswerError::Malformed(format!("line {line}, column {column}"))
}

/// Returns the action of an answer, or `continue` if the answer names no action.
fn read_action(object: &RawObject<'_>) -> Result<String, AnswerError> {
    match object.get("action") {
        None => Ok("continue".to_owned()),
        Some(value) => object
            .get_string("action")
            .ok_or_else(|| AnswerError::UnknownAction(value.get().chars().take(40).collect())),
    }
}

fn read_object_member(
    object: &RawObject<'_>,
    key: &'static str,
) -> Result<Box<RawValue>, AnswerError> {
    let value = object.get(key).ok_or(AnswerError::NothingChanged(key))?;
    if !value.get().starts_with('{') {
        return Err(AnswerError::NothingChanged(key));
    }
    RawObject::parse(value).map_err(malformed)?;
    Ok(value.to_owned())
}

fn check_result(result: &RawValue) -> Result<(), AnswerError> {
    let bad = AnswerError::BadResult;
    let value: serde_json::Value = serde_json::from_str(result.get()).map_err(malformed)?;
    let blocks = value["content"]
        .as_array()
        .ok_or(bad("'content' must be an array"))?;
    if !blocks.iter().all(|block| block["type"].is_string()) {
        return Err(bad("each block of 'content' needs a 'type'"));
    }
    let structured = value.get("structuredContent");
    if structured.is_some_and(|structured| !structured.is_object()) {
        return Err(bad("'structuredContent' must be an object"));
    }
    let is_error = value.get("isError");
    if is_error.is_some_and(|is_error| !is_error.is_boolean()) {
        return Err(bad("'isError' must be true or false"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_empty_or_has_no_action_continues() {
        for text in ["", " \n", "{}", r#"{"action":"continue"}"#, r#"{"note":1}"#] {
            let answer = parse_request_answer(text.as_bytes());
            assert!(matches!(answer, Ok(RequestAnswer::Continue)), "{text}");
            let answer = parse_result_answer(text.as_bytes());
            assert!(matches!(answer, Ok(ResultAnswer::Continue)), "{text}");
        }
    }

    #[test]
    fn arguments_keep_the_text_of_their_numbers() {
        let answer = parse_request_answer(br#"{"action":"change","arguments":{"n":1.0e400}}"#);
        let Ok(RequestAnswer::Change { arguments }) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(arguments.get(), r#"{"n":1.0e400}"#);
    }

    #[test]
    fn invalid_answers_are_rejected() {
        let deep = format!(r#"{{"action":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
        let invalid: [&[u8]; 10] = [
            b"oops",
            b"[]",
            b"\xff\xfe",
            br#"{"action":"allow"}"#,
            br#"{"action":1}"#,
            br#"{"action":"change"}"#,
            br#"{"action":"change","arguments":[]}"#,
            br#"{"action":"change","arguments":{"a":1,"a":2}}"#,
            br#"{"action":"deny","action":"continue"}"#,
            deep.as_bytes(),
        ];
        for text in invalid {
            let shown = String::from_utf8_lossy(text);
            assert!(parse_request_answer(text).is_err(), "{shown}");
        }
        let results = [
            r#"{"action":"deny"}"#,
            r#"{"action":"change","result":"text"}"#,
            r#"{"action":"change","result":{}}"#,
            r#"{"action":"change","result":{"content":[1]}}"#,
            r#"{"action":"change","result":{"content":[],"structuredContent":[]}}"#,
            r#"{"action":"change","result":{"content":[],"isError":"no"}}"#,
        ];
        for text in results {
            assert!(parse_result_answer(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_replaced_result_keeps_the_members_that_the_protocol_needs() {
        let server = Json::new(r#"{"content":[],"isError":true,"resultType":"complete"}"#);
        let hook = Json::new(r#"{"content":[{"type":"text","text":"x"}]}"#);
        assert_eq!(
            complete_result(&hook, &server).get(),
            r#"{"content":[{"type":"text","text":"x"}],"resultType":"complete"}"#
        );
    }
}
