use drawbridge_jsonrpc::json;
use drawbridge_store::settings::SettingsValues;
use serde_json::{Value, json};

use super::{
    Provider, SamplingBudget, SamplingError,
    completion::Completion,
    conversion::{ChatRequest, SamplingRequest, suggested_model},
    *,
};

fn provider(change: impl FnOnce(&mut SettingsValues)) -> Provider {
    let mut values = SettingsValues {
        sampling_url: "https://models.example/v1".into(),
        ..SettingsValues::default()
    };
    change(&mut values);
    Provider::new(&values, "small".into()).expect("a provider")
}

fn chat(params: &Value) -> Result<ChatRequest, SamplingError> {
    SamplingRequest::read(&json::to_raw(params))?.to_chat(&provider(|_| ()))
}

fn weather_tools() -> Value {
    json!([{
        "name": "city.weather",
        "description": "The weather",
        "inputSchema": {"$schema": "https://json-schema.org/x", "type": "object", "properties": {}},
    }])
}

/// Returns the result for an answer that is streamed in these chunks.
fn result(chat: &ChatRequest, chunks: &[Value]) -> Result<Value, SamplingError> {
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
    let completion = Completion::from_chunks(chunks.iter().map(String::as_bytes))?;
    let result = chat.to_result(completion)?;
    Ok(serde_json::from_str(result.get()).expect("JSON"))
}

fn chunk(delta: Value, finish_reason: Value) -> Value {
    json!({"model": "small-1", "choices": [{"delta": delta, "finish_reason": finish_reason}]})
}

#[test]
fn every_kind_of_content_is_converted_or_becomes_a_placeholder() {
    let params = json!({
        "systemPrompt": "Be brief",
        "temperature": 0.5,
        "maxTokens": 100,
        "stopSequences": ["END"],
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Hello"}},
            {"role": "user", "content": [
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
                {"type": "resource_link", "uri": "file:///b", "name": "b"},
                {"type": "hologram"},
            ]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Looking"},
                {"type": "tool_use", "id": "c1", "name": "city.weather", "input": {"city": "Bonn"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "rain"}]},
                {"type": "tool_result", "toolUseId": "c2", "content": [], "structuredContent": {"a": 1}, "isError": true},
                {"type": "text", "text": "And now?"},
            ]},
        ],
        "tools": weather_tools(),
    });
    let chat = chat(&params).expect("converted");
    assert_eq!(
        chat.body,
        json!({
            "model": "small",
            "stream": true,
            "stream_options": {"include_usage": true},
            "temperature": 0.5,
            "max_tokens": 100,
            "stop": ["END"],
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Hello"},
                {"role": "user", "content": "[image of type image/png, left out]\n[audio of type audio/wav, left out]\n\
                    [resource file:///a, left out]\n[resource file:///b, left out]\n[content of an unknown type, left out]"},
                {"role": "assistant", "content": "Looking", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "city-weather", "arguments": "{\"city\":\"Bonn\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "rain"},
                {"role": "tool", "tool_call_id": "c2", "content": "[the tool failed]\n{\"a\":1}"},
                {"role": "user", "content": "And now?"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "city-weather", "description": "The weather",
                "parameters": {"type": "object", "properties": {}},
            }}],
            "tool_choice": "auto",
        })
    );
}

#[test]
fn a_provider_that_sees_images_gets_images() {
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let params = json!({"messages": [{"role": "user", "content": image}]});
    let seeing = provider(|values| values.sampling_images = true);
    let request = SamplingRequest::read(&json::to_raw(&params)).expect("read");
    let chat = request.to_chat(&seeing).expect("converted");
    assert_eq!(
        chat.body["messages"][0]["content"][0]["image_url"]["url"],
        "data:image/png;base64,AAAA"
    );
}

#[test]
fn the_tool_choice_is_sent_and_enforced_and_invalid_tool_calls_are_errors() {
    let params = |mode: &str, tools: Value| json!({"messages": [], "tools": tools, "toolChoice": {"mode": mode}});
    let call = chunk(
        json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "city-weather", "arguments": "{\"a\""}}]}),
        Value::Null,
    );
    let rest = chunk(
        json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        json!("tool_calls"),
    );
    let text = chunk(json!({"content": "No."}), json!("stop"));

    for mode in ["auto", "required"] {
        let chat = chat(&params(mode, weather_tools())).expect("converted");
        assert_eq!(chat.body["tool_choice"], mode);
        let actual = result(&chat, &[call.clone(), rest.clone()]).expect("a result");
        assert_eq!(
            actual,
            json!({"role": "assistant", "model": "small-1", "stopReason": "toolUse", "content":
                {"type": "tool_use", "id": "c1", "name": "city.weather", "input": {"a": 1}}})
        );
    }
    let required = chat(&params("required", weather_tools())).expect("converted");
    let error = result(&required, std::slice::from_ref(&text)).expect_err("no call");
    assert!(matches!(error, SamplingError::NoToolCall));
    let error = error.to_rpc_error();
    assert!(
        error.message.contains("called no tool"),
        "{}",
        error.message
    );
    assert!(matches!(
        chat(&params("required", json!([]))),
        Err(SamplingError::NoTools)
    ));

    let none = chat(&params("none", weather_tools())).expect("converted");
    assert_eq!(none.body["tool_choice"], "none");
    let actual = result(&none, &[call.clone(), rest, text]).expect("a result");
    assert_eq!(
        actual["content"],
        json!({"type": "text", "text": "No."}),
        "{actual}"
    );

    let auto = chat(&params("auto", weather_tools())).expect("converted");
    let unknown = chunk(
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "rm", "arguments": "{}"}}]}),
        json!("tool_calls"),
    );
    assert!(matches!(
        result(&auto, &[unknown]),
        Err(SamplingError::UnknownTool)
    ));
    let broken = result(&auto, &[call, chunk(json!({}), json!("tool_calls"))]);
    assert!(matches!(broken, Err(SamplingError::ToolArguments)));
}

#[test]
fn tools_whose_names_the_api_does_not_allow_get_distinct_names_of_valid_length() {
    let tools = ["a.b", "a/b", "a-b", "ä", &"x".repeat(80), &"x".repeat(81)]
        .map(|name| json!({"name": name}));
    let chat = chat(&json!({"messages": [], "tools": tools})).expect("converted");
    let functions = chat.body["tools"].as_array().expect("a list");
    let names: std::collections::BTreeSet<&str> = functions
        .iter()
        .map(|tool| tool["function"]["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
}

#[test]
fn the_finish_reason_becomes_the_stop_reason() {
    let chat = chat(&json!({"messages": []})).expect("converted");
    for (finish, stop) in [("stop", "endTurn"), ("length", "maxTokens")] {
        let first = chunk(json!({"role": "assistant", "content": "Hel"}), Value::Null);
        let usage = json!({"choices": [], "usage": {"total_tokens": 9}});
        let actual = result(
            &chat,
            &[first, chunk(json!({"content": "lo"}), json!(finish)), usage],
        );
        assert_eq!(
            actual.expect("a result"),
            json!({"role": "assistant", "model": "small-1", "stopReason": stop,
                "content": {"type": "text", "text": "Hello"}})
        );
    }
}

#[test]
fn an_answer_that_is_not_streamed_is_read() {
    let chat = chat(&json!({"messages": []})).expect("converted");
    let whole = json!({"choices": [{"message": {"content": "Hi", "tool_calls": null}, "finish_reason": "stop"}]});
    assert_eq!(
        result(&chat, &[whole]).expect("a result")["content"]["text"],
        "Hi"
    );
}

#[test]
fn tool_calls_without_an_index_or_id_stay_apart() {
    let chat = chat(&json!({"messages": [], "tools": weather_tools()})).expect("converted");
    let call = |city: u8| json!({"function": {"name": "city-weather", "arguments": json!({"city": city}).to_string()}});
    let whole = json!({"choices": [{"message": {"tool_calls": [call(1), call(2)]}, "finish_reason": "stop"}]});
    let actual = result(&chat, &[whole]).expect("a result");
    let call = |city: u8| json!({"type": "tool_use", "id": format!("call-{city}"), "name": "city.weather", "input": {"city": city}});
    assert_eq!(actual["content"], json!([call(1), call(2)]));
}

#[test]
fn an_error_or_a_malformed_answer_is_reported() {
    let chat = chat(&json!({"messages": []})).expect("converted");
    let error = json!({"error": {"message": "overloaded"}});
    assert!(
        matches!(result(&chat, &[error]), Err(SamplingError::Failed(text)) if text == "overloaded")
    );
    for malformed in [
        json!({}),
        json!([1]),
        chunk(json!({"content": "Hel"}), Value::Null),
    ] {
        let actual = result(&chat, std::slice::from_ref(&malformed));
        assert!(
            matches!(actual, Err(SamplingError::Malformed(_))),
            "{malformed}"
        );
    }
}

#[test]
fn hints_choose_among_the_allowed_models_only() {
    let allowed = ["gpt-5-mini", "claude-sonnet-5"].map(str::to_owned);
    let suggested = |hints: Value| {
        let params = json::to_raw(&json!({"modelPreferences": {"hints": hints}}));
        suggested_model(&params, &allowed).cloned()
    };
    let sonnet = Some("claude-sonnet-5".to_owned());
    assert_eq!(
        suggested(json!([{"name": "opus"}, {"name": "sonnet"}])),
        sonnet
    );
    assert_eq!(suggested(json!([{"name": "opus"}, {"name": ""}, {}])), None);
    assert_eq!(suggested(Value::Null), None);
}

#[test]
fn the_key_goes_only_to_its_own_provider_over_https_or_on_this_computer() {
    for allowed in [
        "https://api.openai.com/v1",
        "http://localhost:1234/v1",
        "http://127.0.0.1:11434/v1/",
        "http://[::1]:8080",
    ] {
        check_provider_url(allowed).expect(allowed);
    }
    for refused in [
        "http://192.168.1.5/v1",
        "http://localhost.example/v1",
        "https://user:pass@example.com",
        "https://example.com/?key=1",
        "ftp://localhost/",
        "example.com",
    ] {
        assert_eq!(
            check_provider_url(refused),
            Err(InvalidProvider::Url),
            "{refused}"
        );
    }
    assert!(is_same_provider(
        "https://a.example/v1",
        "https://a.example/v2"
    ));
    for other in ["https://b.example/v1", "https://a.example:8443/v1", ""] {
        assert!(!is_same_provider("https://a.example/v1", other), "{other}");
    }
}

#[test]
fn a_budget_is_spent_when_either_limit_is_reached_and_caps_max_tokens() {
    let budget = |requests, tokens| SamplingBudget {
        used: SamplingUsage { requests, tokens },
        requests_per_day: 2,
        tokens_per_day: 100,
    };
    assert!(!budget(1, 99).is_spent());
    assert!(budget(2, 0).is_spent() && budget(0, 100).is_spent());
    let unlimited = SamplingBudget {
        requests_per_day: 0,
        tokens_per_day: 0,
        ..budget(9, 900)
    };
    assert!(!unlimited.is_spent());
    let mut body = json!({"max_tokens": 80});
    budget(0, 50).limit_tokens(&mut body, "max_tokens");
    assert_eq!(body, json!({"max_tokens": 50}));
    let mut body = json!({});
    assert_eq!(unlimited.limit_tokens(&mut body, "max_tokens"), 0);
    assert_eq!(body, json!({}));
    assert_eq!(budget(0, 60).limit_tokens(&mut body, "max_tokens"), 40);
    assert_eq!(
        body,
        json!({"max_tokens": 40}),
        "the answer is limited to the tokens that are left today"
    );
    let error = SamplingError::BudgetSpent(budget(2, 7))
        .to_rpc_error()
        .message;
    assert!(
        error.contains("2 of 2 requests, 7 of 100 tokens"),
        "{error}"
    );
}

#[test]
fn the_charge_depends_on_how_the_request_ended() {
    // A token is estimated as four bytes, so the request alone costs 100 tokens.
    let (sent_bytes, reserved_tokens) = (400, 150);
    let charged = |answer| charged_tokens(&answer, sent_bytes, reserved_tokens);
    let counted = Completion {
        tokens: Some(7),
        ..Completion::default()
    };
    assert_eq!(charged(Ok(counted)), 7);
    assert_eq!(charged(Ok(Completion::default())), 100);
    assert_eq!(charged(Err(SamplingError::IdleTimeout(60))), 100);
    for unusable in [
        SamplingError::AnswerTooLarge(9),
        SamplingError::Malformed("it ends early"),
        SamplingError::Failed("overloaded".into()),
    ] {
        assert_eq!(charged(Err(unusable)), reserved_tokens);
    }
    let unsent = SamplingError::Unreachable("no route".into());
    assert_eq!(charged(Err(unsent)), 0);
}

#[test]
fn a_model_with_control_characters_is_refused_with_a_reason() {
    let error = check_models(&["small\nlarge".to_owned()]).expect_err("refused");
    assert!(error.to_string().contains("control characters"), "{error}");
}
