//! A small client without sessions (MCP 2026-07-28), which identifies itself in each request.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::{
    http::{Request, Response, Url},
    mcp::{Answer, Events, read_message},
};

const REVISION: &str = "2026-07-28";

/// A stateless client.
pub struct StatelessClient {
    url: Url,
    token: String,
    capabilities: Value,
    next_id: AtomicU64,
}

impl StatelessClient {
    pub fn new(url: &str, token: &str, capabilities: Value) -> Self {
        Self {
            url: Url::parse(url),
            token: token.to_owned(),
            capabilities,
            next_id: AtomicU64::new(1),
        }
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub fn request(&self, method: &str, params: &Value) -> Answer {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        read_message(self.post(id, method, params), id).unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// Sends `tools/call`.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Repeats a call that was answered with `input_required`, with these answers to the server's
    /// requests.
    #[track_caller]
    pub fn retry_call(
        &self,
        tool: &str,
        arguments: &Value,
        required: &Value,
        answers: &Value,
    ) -> Answer {
        let params = json!({"name": tool, "arguments": arguments,
            "requestState": required["requestState"], "inputResponses": answers});
        self.request("tools/call", &params)
    }

    /// Sends `subscriptions/listen` and returns the stream, from the acknowledgement on.
    #[track_caller]
    pub fn listen(&self, notifications: &Value) -> Events {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        Events::new(self.post(
            id,
            "subscriptions/listen",
            &json!({"notifications": notifications}),
        ))
    }

    #[track_caller]
    fn post(&self, id: u64, method: &str, params: &Value) -> Response {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "drawbridge-tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let body =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", REVISION),
            ("Mcp-Method", method),
        ];
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        let request = Request {
            method: "POST",
            url: &self.url,
            headers: &headers,
            body: body.as_bytes(),
        };
        request.send().unwrap_or_else(|e| panic!("{method}: {e}"))
    }
}
