//! Converts sampling requests to requests of the chat completions API, and completions to results.
//!
//! Content that the provider cannot get becomes a text in brackets: audio, resources, content of
//! unknown types, and images, except images in a user's message if the model sees images. The
//! provider does not get `includeContext`, `metadata`, or the priorities among the model
//! preferences.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::json::{self, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Provider, SamplingError,
    completion::{ChatToolCall, Completion},
};

/// The longest name of a function in OpenAI's API, in characters.
const MAX_FUNCTION_NAME: usize = 64;

/// The params of a `sampling/createMessage`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SamplingRequest {
    messages: Vec<SamplingMessage>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    stop_sequences: Option<Vec<String>>,
    #[serde(default)]
    tools: Option<Vec<SamplingTool>>,
    #[serde(default)]
    tool_choice: Option<ToolChoice>,
}

#[derive(Deserialize)]
struct SamplingMessage {
    role: Role,
    content: Content,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Many(Vec<Block>),
    One(Block),
}

#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum Block {
    Text {
        text: String,
    },
    Image {
        data: String,
        mime_type: String,
    },
    Audio {
        mime_type: String,
    },
    Resource {
        resource: EmbeddedResource,
    },
    ResourceLink {
        uri: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        content: Vec<Block>,
        #[serde(default)]
        structured_content: Option<Value>,
        #[serde(default)]
        is_error: Option<bool>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct EmbeddedResource {
    uri: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SamplingTool {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Value>,
}

#[derive(Deserialize, Clone, Copy)]
struct ToolChoice {
    #[serde(default)]
    mode: ToolMode,
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum ToolMode {
    #[default]
    Auto,
    Required,
    None,
}

/// A request to the provider.
#[derive(Default)]
pub(super) struct ChatRequest {
    pub(super) body: Value,
    tools: FunctionNames,
    mode: ToolMode,
    /// The model that was asked.
    model: String,
}

/// Maps the names of tools to names of functions and back. The API allows fewer names than MCP.
#[derive(Default)]
struct FunctionNames {
    by_function: BTreeMap<String, String>,
    by_tool: BTreeMap<String, String>,
    /// The tools that the request offers to the model. Other tools occur only in earlier messages.
    offered: Vec<String>,
}

/// Returns the first allowed model that matches a hint of the server. Earlier hints take
/// precedence. A hint matches each model whose name contains the hint.
pub(super) fn suggested_model<'a>(params: &RawValue, allowed: &'a [String]) -> Option<&'a String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        #[serde(default)]
        model_preferences: Preferences,
    }
    #[derive(Deserialize, Default)]
    struct Preferences {
        #[serde(default)]
        hints: Vec<Hint>,
    }
    #[derive(Deserialize)]
    struct Hint {
        #[serde(default)]
        name: String,
    }
    let params: Params = serde_json::from_str(params.get()).ok()?;
    let hints = params.model_preferences.hints;
    let mut hints = hints.iter().filter(|hint| !hint.name.is_empty());
    hints.find_map(|hint| allowed.iter().find(|model| model.contains(&hint.name)))
}

/// Returns the tiny request with which a person tests the provider.
pub(super) fn build_check_request(provider: &Provider) -> ChatRequest {
    let mut body = base_body(provider);
    body["messages"] = json!([{ "role": "user", "content": "Answer with the word OK." }]);
    body[provider.max_tokens_name()] = json!(64);
    ChatRequest {
        body,
        ..ChatRequest::default()
    }
}

fn base_body(provider: &Provider) -> Value {
    json!({
        "model": provider.model,
        "stream": true,
        "stream_options": { "include_usage": true },
    })
}

impl SamplingRequest {
    /// Reads the params of a request.
    ///
    /// # Errors
    /// Returns an error if the params are malformed.
    pub(super) fn read(params: &RawValue) -> Result<Self, SamplingError> {
        Ok(serde_json::from_str(params.get())?)
    }

    /// Converts the request for a provider.
    ///
    /// # Errors
    /// Returns an error if the request has tools but the user does not let the provider get tools,
    /// or if the request requires a tool call but has no tools.
    pub(super) fn to_chat(&self, provider: &Provider) -> Result<ChatRequest, SamplingError> {
        let tools = self.tools.as_deref().unwrap_or_default();
        let mode = self
            .tool_choice
            .map(|choice| choice.mode)
            .unwrap_or_default();
        if !tools.is_empty() && !provider.uses_tools {
            return Err(SamplingError::ToolsOff);
        }
        if tools.is_empty() && mode == ToolMode::Required {
            return Err(SamplingError::NoTools);
        }
        let mut names = FunctionNames::default();
        let functions: Vec<Value> = tools.iter().map(|tool| names.offer(tool)).collect();
        let mut messages = Vec::new();
        if let Some(prompt) = self
            .system_prompt
            .as_deref()
            .filter(|prompt| !prompt.is_empty())
        {
            messages.push(json!({ "role": "system", "content": prompt }));
        }
        for message in &self.messages {
            message.add_to(&mut messages, &mut names, provider.sees_images);
        }
        let mut body = base_body(provider);
        body["messages"] = messages.into();
        if let Some(temperature) = self.temperature {
            body["temperature"] = json!(temperature);
        }
        if let Some(max) = self.max_tokens {
            body[provider.max_tokens_name()] = json!(max);
        }
        if let Some(stop) = self.stop_sequences.as_ref().filter(|stop| !stop.is_empty()) {
            body["stop"] = json!(stop);
        }
        if !functions.is_empty() {
            body["tools"] = functions.into();
            body["tool_choice"] = mode.name().into();
        }
        Ok(ChatRequest {
            body,
            tools: names,
            mode,
            model: provider.model.clone(),
        })
    }
}

impl ToolMode {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::None => "none",
        }
    }
}

impl SamplingMessage {
    /// Adds the message to `messages` in the form of the API. There, each result of a tool is a
    /// message of its own, which must directly follow the assistant's message with the call.
    fn add_to(&self, messages: &mut Vec<Value>, names: &mut FunctionNames, sees_images: bool) {
        let blocks = match &self.content {
            Content::Many(blocks) => blocks.as_slice(),
            Content::One(block) => std::slice::from_ref(block),
        };
        let mut parts = Vec::new();
        let mut calls = Vec::new();
        for block in blocks {
            match block {
                Block::ToolUse { id, name, input } => calls.push(json!({
                    "id": id,
                    "type": "function",
                    "function": {
                        "name": names.function_of(name),
                        "arguments": Value::Object(input.clone()).to_string(),
                    },
                })),
                Block::ToolResult {
                    tool_use_id,
                    content,
                    structured_content,
                    is_error,
                } => messages.push(json!({
                    "role": "tool",
                    "tool_call_id": tool_use_id,
                    "content": result_text(content, structured_content.as_ref(), *is_error),
                })),
                Block::Image { data, mime_type } if sees_images && self.role == Role::User => {
                    let url = format!("data:{mime_type};base64,{data}");
                    parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
                }
                Block::Text { .. }
                | Block::Image { .. }
                | Block::Audio { .. }
                | Block::Resource { .. }
                | Block::ResourceLink { .. }
                | Block::Unknown => {
                    parts.push(json!({ "type": "text", "text": block.text() }));
                }
            }
        }
        match self.role {
            Role::User if !parts.is_empty() => {
                messages.push(json!({ "role": "user", "content": merge_texts(parts) }));
            }
            Role::Assistant if !parts.is_empty() || !calls.is_empty() => {
                let mut message = json!({ "role": "assistant" });
                message["content"] = if parts.is_empty() {
                    Value::Null
                } else {
                    joined_text(&parts).into()
                };
                if !calls.is_empty() {
                    message["tool_calls"] = calls.into();
                }
                messages.push(message);
            }
            Role::User | Role::Assistant => {}
        }
    }
}

impl Block {
    /// Returns the text of a block, or a placeholder for content that cannot be passed on.
    fn text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Image { mime_type, .. } => format!("[image of type {mime_type}, left out]"),
            Self::Audio { mime_type } => format!("[audio of type {mime_type}, left out]"),
            Self::Resource {
                resource: EmbeddedResource { uri },
            }
            | Self::ResourceLink { uri } => format!("[resource {uri}, left out]"),
            Self::ToolUse { name, .. } => format!("[call of the tool {name}, left out]"),
            Self::ToolResult { .. } => "[result of a tool, left out]".to_owned(),
            Self::Unknown => "[content of an unknown type, left out]".to_owned(),
        }
    }
}

/// Returns a tool's result as text: its content or, if that is empty, its structured content.
fn result_text(content: &[Block], structured: Option<&Value>, is_error: Option<bool>) -> String {
    let mut text = content
        .iter()
        .map(Block::text)
        .collect::<Vec<_>>()
        .join("\n");
    if let (true, Some(structured)) = (text.is_empty(), structured) {
        text = structured.to_string();
    }
    match is_error {
        Some(true) => format!("[the tool failed]\n{text}"),
        Some(false) | None => text,
    }
}

/// Returns the parts as one string, which every provider understands, if all of them are texts.
fn merge_texts(parts: Vec<Value>) -> Value {
    if parts.iter().all(|part| part["type"] == "text") {
        joined_text(&parts).into()
    } else {
        parts.into()
    }
}

fn joined_text(parts: &[Value]) -> String {
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

impl FunctionNames {
    /// Adds a tool that the request offers. Returns its function in the form of the API.
    fn offer(&mut self, tool: &SamplingTool) -> Value {
        self.offered.push(tool.name.clone());
        let mut function = json!({ "name": self.function_of(&tool.name) });
        if let Some(description) = &tool.description {
            function["description"] = description.as_str().into();
        }
        function["parameters"] = match &tool.input_schema {
            Some(Value::Object(schema)) => {
                let mut schema = schema.clone();
                schema.remove("$schema");
                schema.into()
            }
            _ => json!({ "type": "object", "properties": {} }),
        };
        json!({ "type": "function", "function": function })
    }

    /// Returns the name of a tool's function. This is the tool's own name if the API allows the
    /// name, and if no other function has it.
    fn function_of(&mut self, tool: &str) -> String {
        if let Some(known) = self.by_tool.get(tool) {
            return known.clone();
        }
        let to_allowed = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        };
        let mut function: String = tool
            .chars()
            .take(MAX_FUNCTION_NAME)
            .map(to_allowed)
            .collect();
        let mut number = 1;
        while function.is_empty() || self.by_function.contains_key(&function) {
            number += 1;
            let suffix = format!("-{number}");
            function.truncate(MAX_FUNCTION_NAME - suffix.len());
            function = format!(
                "{}{suffix}",
                function.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit())
            );
        }
        self.by_function.insert(function.clone(), tool.to_owned());
        self.by_tool.insert(tool.to_owned(), function.clone());
        function
    }

    /// Returns the tool of a function, if the request offers it.
    fn offered_tool(&self, function: &str) -> Option<&str> {
        let tool = self.by_function.get(function)?;
        self.offered.contains(tool).then_some(tool)
    }
}

impl ChatRequest {
    /// Converts the provider's answer to the result of the sampling request.
    ///
    /// # Errors
    /// Returns an error if a tool call is required and there is none, or if a tool call names a
    /// tool that was not offered or has arguments that are not a JSON object.
    pub(super) fn to_result(&self, completion: Completion) -> Result<Json, SamplingError> {
        let Completion {
            model,
            text,
            tool_calls,
            finish_reason,
            ..
        } = completion;
        let wants_calls = self.mode != ToolMode::None && !self.tools.offered.is_empty();
        let mut blocks = Vec::new();
        if wants_calls {
            let calls = tool_calls.iter().enumerate();
            for (index, call) in calls {
                blocks.push(self.tool_use(index, call)?);
            }
        }
        if blocks.is_empty() && self.mode == ToolMode::Required {
            return Err(SamplingError::NoToolCall);
        }
        let stop_reason = match finish_reason.as_deref() {
            _ if !blocks.is_empty() => "toolUse",
            Some("length") => "maxTokens",
            Some("content_filter") => "contentFilter",
            _ => "endTurn",
        };
        if !text.is_empty() || blocks.is_empty() {
            blocks.insert(0, json!({ "type": "text", "text": text }));
        }
        // A server that does not know arrays of content, which came with tools, expects one block.
        let content = match blocks.len() {
            1 => blocks.remove(0),
            _ => blocks.into(),
        };
        Ok(json::to_raw(&json!({
            "role": "assistant",
            "content": content,
            "model": model.unwrap_or_else(|| self.model.clone()),
            "stopReason": stop_reason,
        }))
        .into())
    }

    fn tool_use(&self, index: usize, call: &ChatToolCall) -> Result<Value, SamplingError> {
        let tool = self.tools.offered_tool(&call.name);
        let tool = tool.ok_or(SamplingError::UnknownTool)?;
        let arguments = match call.arguments.trim() {
            "" => "{}",
            arguments => arguments,
        };
        let input: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|_| SamplingError::ToolArguments)?;
        let id = match call.id.as_str() {
            "" => format!("call-{}", index + 1),
            id => id.to_owned(),
        };
        Ok(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }))
    }
}
