//! `drawbridge approvals fill-in`: answers a server's request for input. The values come from
//! stdin, never from arguments, which the shell's history keeps and other programs can read.

use std::io::{self, IsTerminal, Read, Write};

use drawbridge_endpoint::ApiClient;
use drawbridge_hub::api::approvals::{DecideApproval, OpenApprovalUrl, ShowApproval};
use drawbridge_model::{
    approval::{ApprovalRequest, FormContent, Verdict},
    ids::CallId,
};
use serde_json::{Map, Value};

use super::format_decision;
use crate::{
    context::Context,
    exit::{Failure, print_stderr},
    output,
    text::escape,
};

pub(super) async fn run(context: &Context, hub: &ApiClient, id: String) -> Result<(), Failure> {
    let id = CallId::new(id);
    let request = hub.call(ShowApproval { id }).await?;
    let params: Value = serde_json::from_str(&request.arguments)?;
    if request.is_filled_in_by_person && params["mode"] == "url" {
        let ApprovalRequest { id, digest, .. } = request;
        let answer = hub.call(OpenApprovalUrl { id, digest }).await?;
        return output::print_answer(context.json, &answer, |answer| {
            format!("Open this URL in your browser:\n{}", escape(&answer.url))
        });
    }
    let content = if io::stdin().is_terminal() {
        print_stderr(&escape(params["message"].as_str().unwrap_or_default()));
        ask_for_fields(&params["requestedSchema"])?
    } else {
        let mut content = String::new();
        io::stdin().read_to_string(&mut content)?;
        content
    };
    let verb = DecideApproval {
        id: request.id,
        digest: request.digest,
        verdict: Verdict::FillIn {
            content: Some(FormContent::new(content)),
        },
    };
    output::print_answer(context.json, &hub.call(verb).await?, format_decision)
}

/// Asks for each field of a form in turn, and returns the values as a JSON object. The hub checks
/// the values. An empty line stands for the default, if there is one, or else for no value.
fn ask_for_fields(schema: &Value) -> Result<String, Failure> {
    let mut values = Map::new();
    let required = schema["required"].as_array();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|all| all.iter().any(|entry| entry == name));
        let mut prompt = escape(field["title"].as_str().unwrap_or(name));
        if let Some(hint) = find_hint(field) {
            prompt.push_str(&format!(" ({})", escape(&hint)));
        }
        if !is_required {
            prompt.push_str(", optional");
        }
        eprint_prompt(&format!("{prompt}: "))?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let line = line.trim_end_matches(['\r', '\n']);
        let value = match (line, field.get("default")) {
            ("", Some(default)) => Some(default.clone()),
            ("", None) => None,
            (line, _) => Some(parse_value(field, line)),
        };
        values.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(Value::Object(values).to_string())
}

fn eprint_prompt(prompt: &str) -> Result<(), Failure> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(prompt.as_bytes())?;
    Ok(stderr.flush()?)
}

/// Returns a hint for a field: its choices, or else its format or type. Returns `None` for a string
/// that has neither choices nor a format, and for a field that has neither choices nor a type.
fn find_hint(field: &Value) -> Option<String> {
    let items = if field["type"] == "array" {
        &field["items"]
    } else {
        field
    };
    let plain = items["enum"].as_array().into_iter().flatten();
    let titled = ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|key| items[key].as_array())
        .flatten()
        .map(|choice| &choice["const"]);
    let choices: Vec<&str> = plain.chain(titled).filter_map(Value::as_str).collect();
    if !choices.is_empty() {
        let how_many = if field["type"] == "array" {
            "any of"
        } else {
            "one of"
        };
        return Some(format!("{how_many} {}", choices.join(", ")));
    }
    let text = match field["type"].as_str()? {
        "boolean" => "true or false",
        "string" => field["format"].as_str()?,
        other => other,
    };
    Some(text.to_owned())
}

/// Parses a line as the value of a field. For a number or a boolean, a line that is not JSON stays
/// a text. The hub refuses values of the wrong type.
fn parse_value(field: &Value, line: &str) -> Value {
    match field["type"].as_str() {
        Some("number" | "integer" | "boolean") => {
            serde_json::from_str(line).unwrap_or_else(|_| line.into())
        }
        Some("array") => line.split(',').map(str::trim).map(Value::from).collect(),
        _ => line.into(),
    }
}
