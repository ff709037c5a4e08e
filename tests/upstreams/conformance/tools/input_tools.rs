//! The tools that need input from the client.

use rmcp::{
    ErrorData,
    model::{CallToolResponse, InputRequest, InputResponses, RequestStateCodec, Tool},
};
use serde_json::{Value, json};

use super::{extra_tools, text_result, tool};
use crate::{
    client_input::{Call, ClientInput, form_request, roots_request, sampling_request, seal_state},
    conformance_server::ConformanceServer,
};

pub(crate) fn list() -> Vec<Tool> {
    let plain = [
        (
            "test_elicitation_sep1034_defaults",
            "Asks a person, with a default for each field",
        ),
        (
            "test_elicitation_sep1330_enums",
            "Asks a person to choose, in each form there is",
        ),
        (
            "test_streaming_elicitation",
            "Asks a person while its stream is open",
        ),
        (
            "test_input_required_result_elicitation",
            "Asks a person for a name",
        ),
        (
            "test_input_required_result_sampling",
            "Asks a model for a capital",
        ),
        (
            "test_input_required_result_list_roots",
            "Asks for the client's roots",
        ),
        (
            "test_input_required_result_request_state",
            "Asks a person, and wants its state back",
        ),
        (
            "test_input_required_result_multiple_inputs",
            "Asks a person, a model and for the roots at once",
        ),
        (
            "test_input_required_result_multi_round",
            "Asks a person twice",
        ),
        (
            "test_input_required_result_tampered_state",
            "Asks a person, and refuses a state that is not its own",
        ),
        (
            "test_input_required_result_capabilities",
            "Asks only what the client can answer",
        ),
    ];
    let text = |description: &str| json!({"type": "string", "description": description});
    let mut tools: Vec<Tool> = plain
        .into_iter()
        .map(|(name, description)| tool(name, description, json!({})))
        .collect();
    tools.push(tool(
        "test_sampling",
        "Asks a model",
        json!({"prompt": text("The question")}),
    ));
    tools.push(tool(
        "test_elicitation",
        "Asks a person",
        json!({"message": text("The question")}),
    ));
    tools
}

pub(crate) async fn call(
    server: &ConformanceServer,
    name: &str,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let codec = &server.codec;
    let argument = |name: &str| call.arguments[name].as_str().unwrap_or_default();
    match name {
        "test_sampling" => {
            let question = sampling_request(argument("prompt"), 100)?;
            request_one(call, "sampling", question, |answer| {
                format!("LLM response: {}", answer["content"]["text"])
            })
            .await
        }
        "test_elicitation" => {
            let properties = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"}
            });
            let question = form_request(argument("message"), properties, &["username", "email"])?;
            request_one(call, "elicitation", question, |answer| {
                format!("User response: {answer}")
            })
            .await
        }
        "test_elicitation_sep1034_defaults" => {
            let question = form_request("Please check your details", defaults_schema(), &[])?;
            request_one(call, "elicitation", question, |answer| {
                format!("Elicitation completed: {answer}")
            })
            .await
        }
        "test_elicitation_sep1330_enums" => {
            let question = form_request("Please choose", choices_schema(), &[])?;
            request_one(call, "elicitation", question, |answer| {
                format!("Elicitation completed: {answer}")
            })
            .await
        }
        "test_streaming_elicitation" => {
            request_one(call, "confirm", confirmation_form()?, |answer| {
                format!("User response: {answer}")
            })
            .await
        }
        "test_input_required_result_elicitation" => {
            request_one(
                call,
                "user_name",
                name_form("What is your name?")?,
                |answer| format!("Hello, {}!", read_name(answer)),
            )
            .await
        }
        "test_input_required_result_sampling" => {
            let question = sampling_request("What is the capital of France?", 100)?;
            request_one(call, "capital_question", question, |answer| {
                answer["content"]["text"].to_string()
            })
            .await
        }
        "test_input_required_result_list_roots" => {
            request_one(call, "client_roots", roots_request(), |answer| {
                format!("The roots are {}", answer["roots"])
            })
            .await
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            let questions = [("confirm".to_owned(), confirmation_form()?)];
            let state = seal_state(codec, &json!({"tool": name}))?;
            let input = call.request_input(questions.into(), Some(state)).await?;
            answer(input, |_| "state-ok".to_owned())
        }
        "test_input_required_result_multiple_inputs" => request_all_at_once(codec, call).await,
        "test_input_required_result_multi_round" => request_in_turn(codec, call).await,
        "test_input_required_result_capabilities" => request_supported(call).await,
        other => extra_tools::call(server, other, call).await,
    }
}

/// Requests a single input, and returns the text that `describe` makes of the answer.
async fn request_one(
    call: &Call<'_>,
    key: &str,
    question: InputRequest,
    describe: impl FnOnce(&Value) -> String,
) -> Result<CallToolResponse, ErrorData> {
    let input = call
        .request_input([(key.to_owned(), question)].into(), None)
        .await?;
    answer(input, |answers| describe(&answers[key]))
}

/// Returns the text that `describe` makes of the client's answers, or the `input_required` result.
pub(super) fn answer(
    input: ClientInput,
    describe: impl FnOnce(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    match input {
        ClientInput::Answered(answers) => text_result(&describe(&answers)),
        ClientInput::Required(required) => Ok(required.into()),
    }
}

async fn request_all_at_once(
    codec: &RequestStateCodec,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let questions = [
        ("user_name".to_owned(), name_form("What is your name?")?),
        (
            "greeting".to_owned(),
            sampling_request("Generate a greeting", 50)?,
        ),
        ("client_roots".to_owned(), roots_request()),
    ];
    let state = seal_state(codec, &json!({"asked": 3}))?;
    answer(
        call.request_input(questions.into(), Some(state)).await?,
        |answers| json!(answers).to_string(),
    )
}

/// Requests the name first, and keeps it in the state while it requests the color.
async fn request_in_turn(
    codec: &RequestStateCodec,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let known_name = call.state.as_ref().and_then(|state| state["name"].as_str());
    let name = match known_name {
        Some(name) => name.to_owned(),
        None => {
            let questions = [("step1".to_owned(), name_form("Step 1: What is your name?")?)];
            let state = seal_state(codec, &json!({"name": null}))?;
            match call.request_input(questions.into(), Some(state)).await? {
                ClientInput::Answered(answers) => read_name(&answers["step1"]),
                ClientInput::Required(required) => return Ok(required.into()),
            }
        }
    };
    let color = form_request(
        "Step 2: What is your favorite color?",
        json!({"color": {"type": "string"}}),
        &["color"],
    )?;
    let state = seal_state(codec, &json!({"name": name}))?;
    let input = call
        .request_input([("step2".to_owned(), color)].into(), Some(state))
        .await?;
    answer(input, |answers| {
        format!("{name} likes {}", answers["step2"]["content"]["color"])
    })
}

async fn request_supported(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let mut questions = vec![];
    if call.has_capability("sampling") {
        questions.push((
            "greeting".to_owned(),
            sampling_request("Generate a greeting", 50)?,
        ));
    }
    if call.has_capability("elicitation") {
        questions.push(("user_name".to_owned(), name_form("What is your name?")?));
    }
    if call.has_capability("roots") {
        questions.push(("client_roots".to_owned(), roots_request()));
    }
    if questions.is_empty() {
        return text_result("The client can answer nothing.");
    }
    let input = call
        .request_input(questions.into_iter().collect(), None)
        .await?;
    answer(input, |answers| json!(answers).to_string())
}

pub(super) fn name_form(message: &str) -> Result<InputRequest, ErrorData> {
    form_request(message, json!({"name": {"type": "string"}}), &["name"])
}

pub(super) fn read_name(answer: &Value) -> String {
    answer["content"]["name"]
        .as_str()
        .unwrap_or("whoever you are")
        .to_owned()
}

fn confirmation_form() -> Result<InputRequest, ErrorData> {
    form_request(
        "Please confirm",
        json!({"ok": {"type": "boolean"}}),
        &["ok"],
    )
}

fn defaults_schema() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}
    })
}

fn choices_schema() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |noun: &str| {
        let title = |number: &str, place: &str| json!({"const": format!("value{number}"), "title": format!("{place} {noun}")});
        json!([
            title("1", "First"),
            title("2", "Second"),
            title("3", "Third")
        ])
    };
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
    })
}
