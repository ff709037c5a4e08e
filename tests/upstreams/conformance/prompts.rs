//! The prompts.

use rmcp::{
    ErrorData,
    model::{GetPromptResponse, GetPromptResult, Prompt},
};
use serde_json::{Value, json};

use crate::{
    client_input::{Call, ClientInput, form_request, from_json},
    samples::PNG,
};

/// Returns all prompts, with `test_added_prompt` only if `with_extra` is true.
pub(crate) fn list(with_extra: bool) -> Vec<Prompt> {
    let argument =
        |name: &str| json!({"name": name, "description": "The text to insert", "required": true});
    let mut prompts = vec![
        json!({"name": "test_simple_prompt", "description": "A prompt without arguments"}),
        json!({
            "name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments",
            "arguments": [argument("arg1"), argument("arg2")]
        }),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt with a resource in it",
            "arguments": [argument("resourceUri")]
        }),
        json!({"name": "test_prompt_with_image", "description": "A prompt with a picture in it"}),
        json!({"name": "test_input_required_result_prompt", "description": "A prompt that asks first"}),
    ];
    if with_extra {
        prompts.push(
            json!({"name": "test_added_prompt", "description": "A prompt that comes and goes"}),
        );
    }
    serde_json::from_value(Value::Array(prompts)).expect("the JSON above is valid")
}

/// Answers `prompts/get`.
pub(crate) async fn get(name: &str, call: &Call<'_>) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| call.arguments[name].as_str().unwrap_or_default();
    match name {
        "test_simple_prompt" => user_messages(&[text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            user_messages(&[text(&format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))])
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({"uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."});
            user_messages(&[
                json!({"type": "resource", "resource": resource}),
                text("Please process the embedded resource above."),
            ])
        }
        "test_prompt_with_image" => user_messages(&[
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ]),
        "test_input_required_result_prompt" => prompt_with_context(call).await,
        "test_added_prompt" => user_messages(&[text("It was added.")]),
        other => Err(ErrorData::invalid_params(
            format!("no prompt {other}"),
            None,
        )),
    }
}

async fn prompt_with_context(call: &Call<'_>) -> Result<GetPromptResponse, ErrorData> {
    let properties = json!({"context": {"type": "string"}});
    let question = form_request(
        "What context should the prompt use?",
        properties,
        &["context"],
    )?;
    match call
        .request_input([("user_context".to_owned(), question)].into(), None)
        .await?
    {
        ClientInput::Required(required) => Ok(required.into()),
        ClientInput::Answered(answers) => {
            user_messages(&[text(&format!("With context: {}", answers["user_context"]))])
        }
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns a response with one user message for each content.
fn user_messages(contents: &[Value]) -> Result<GetPromptResponse, ErrorData> {
    let messages: Vec<Value> = contents
        .iter()
        .map(|content| json!({"role": "user", "content": content}))
        .collect();
    Ok(GetPromptResult::new(from_json(Value::Array(messages))?).into())
}
