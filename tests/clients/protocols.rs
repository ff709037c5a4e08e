//! The protocols between client programs and models, as far as one tool call needs them.

use serde_json::{Value, json};

use crate::model::OfferedTool;

const DONE: &str = "Done.";

/// A protocol between a program and its model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    /// OpenAI's chat completions, which most providers speak.
    ChatCompletions,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's content generation.
    GenerateContent,
}

/// The answer of the model.
pub(crate) enum Turn {
    Call {
        tool: OfferedTool,
        /// A JSON object.
        arguments: String,
    },
    End,
}

impl Protocol {
    /// Returns the protocol of a request with this path, or `None` if the request asks for anything
    /// but an answer.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::ChatCompletions)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.contains("enerateContent") {
            // The path ends with `:generateContent` or `:streamGenerateContent`.
            Some(Self::GenerateContent)
        } else {
            None
        }
    }

    /// Returns the answer as one JSON document.
    pub(crate) fn whole(self, turn: &Turn) -> Value {
        match self {
            Self::ChatCompletions => chat_completion(turn, "chat.completion", "message"),
            Self::Responses => response(turn),
            Self::Messages => message(turn),
            Self::GenerateContent => content(turn),
        }
    }

    /// Returns the answer as server-sent events.
    pub(crate) fn stream(self, turn: &Turn) -> String {
        match self {
            Self::ChatCompletions => {
                let mut chunk = chat_completion(turn, "chat.completion.chunk", "delta");
                let mut end = chunk.clone();
                end["choices"][0]["delta"] = json!({});
                chunk["choices"][0]["finish_reason"] = Value::Null;
                // Only the last chunk, whose delta is empty, has the usage, because some programs
                // ignore the choices of a chunk with usage.
                chunk["usage"] = Value::Null;
                format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n")
            }
            Self::Responses => {
                let whole = response(turn);
                let item = &whole["output"][0];
                typed_events(&[
                    json!({"type": "response.created", "response": {"id": "response"}}),
                    json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                    json!({"type": "response.completed", "response": whole}),
                ])
            }
            Self::Messages => stream_message(turn),
            Self::GenerateContent => format!("data: {}\n\n", content(turn)),
        }
    }
}

fn typed_events(events: &[Value]) -> String {
    let format = |event: &Value| {
        let kind = event["type"].as_str().expect("each event has a type");
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(format).collect()
}

fn chat_completion(turn: &Turn, object: &str, member: &str) -> Value {
    let (reply, reason) = match turn {
        Turn::Call { tool, arguments } => {
            let function = json!({"name": tool.name, "arguments": arguments});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            let reply = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (reply, "tool_calls")
        }
        Turn::End => (json!({"role": "assistant", "content": DONE}), "stop"),
    };
    let mut choice = json!({"index": 0, "finish_reason": reason});
    choice[member] = reply;
    json!({
        "id": "completion", "object": object, "created": 1, "model": "model", "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    })
}

fn response(turn: &Turn) -> Value {
    let item = match turn {
        Turn::Call { tool, arguments } => {
            let mut call = json!({
                "type": "function_call", "id": "item", "call_id": "call_1", "status": "completed",
                "name": tool.name, "arguments": arguments
            });
            if let Some(namespace) = &tool.namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
        Turn::End => json!({
            "type": "message", "id": "item", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": DONE, "annotations": []}]
        }),
    };
    json!({
        "id": "response", "object": "response", "created_at": 1, "status": "completed",
        "model": "model", "output": [item],
        "usage": {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2
        }
    })
}

/// Returns the only block of a message, and the reason why the message ends.
fn message_block(turn: &Turn) -> (Value, &'static str) {
    match turn {
        Turn::Call { tool, arguments } => {
            let block = json!({
                "type": "tool_use", "id": "toolu_1", "name": tool.name, "input": parse(arguments)
            });
            (block, "tool_use")
        }
        Turn::End => (json!({"type": "text", "text": DONE}), "end_turn"),
    }
}

fn message(turn: &Turn) -> Value {
    let (block, reason) = message_block(turn);
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model", "content": [block],
        "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}
    })
}

fn stream_message(turn: &Turn) -> String {
    let (mut block, reason) = message_block(turn);
    let mut start = message(turn);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let delta = match turn {
        Turn::Call { arguments, .. } => {
            block["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": arguments})
        }
        Turn::End => {
            block["text"] = json!("");
            json!({"type": "text_delta", "text": DONE})
        }
    };
    typed_events(&[
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 1}
        }),
        json!({"type": "message_stop"}),
    ])
}

fn content(turn: &Turn) -> Value {
    let part = match turn {
        Turn::Call { tool, arguments } => {
            json!({"functionCall": {"name": tool.name, "args": parse(arguments)}})
        }
        Turn::End => json!({"text": DONE}),
    };
    json!({
        "candidates": [{
            "index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}
        }],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    })
}

fn parse(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("the arguments are JSON")
}
