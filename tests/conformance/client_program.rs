//! The program that the client side of the official conformance suite starts for each scenario. The
//! program adds the suite's server to Drawbridge, signs in if the server requires it, and uses
//! everything that the server offers, or only the tools that the suite names. Finally, it removes
//! the server.
//!
//! Usage: `conformance-client DATA_DIR ENDPOINT TOKEN URL`, with the URL of the suite's server. The
//! suite passes the name of the scenario and its context in the environment.

#![expect(
    clippy::print_stderr,
    reason = "the suite records the output of its client"
)]

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use drawbridge_tests::{
    http::{Request, Response, Url},
    hub::try_verb,
    mcp::{Answer, Events},
    paths,
    wait::try_until_within,
};
use serde_json::{Map, Value, json};

/// The revision of this client. Drawbridge negotiates its own revision with the server.
const REVISION: &str = "2025-11-25";

/// The variable with the scenarios that Drawbridge does not support. This program fails them at
/// once, because trying each of them would take long.
const UNSUPPORTED: &str = "CONFORMANCE_UNSUPPORTED";

/// The longest time until Drawbridge has read the tools of a server.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// The server may require more scopes after the first sign-in, so a second sign-in may follow.
const MAX_SIGN_INS: usize = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let [data_dir, endpoint, token, url] =
        <[String; 4]>::try_from(env::args().skip(1).collect::<Vec<_>>())
            .map_err(|arguments| format!("expected four arguments, not {arguments:?}"))?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")
        .map_err(|e| format!("MCP_CONFORMANCE_SCENARIO: {e}"))?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value =
        serde_json::from_str(&context).map_err(|e| format!("MCP_CONFORMANCE_CONTEXT: {e}"))?;
    if env::var(UNSUPPORTED).is_ok_and(|names| names.split(' ').any(|name| name == scenario)) {
        return Err(format!("Drawbridge does not support {scenario}"));
    }
    let id = scenario.replace(['/', '_'], "-").to_lowercase();
    let mut person = Person {
        data_dir,
        endpoint,
        token,
        id,
        scenario,
        sign_ins: 0,
    };
    person.add_server(&url, &context)?;
    let outcome = person
        .wait_until_ready()
        .and_then(|()| person.use_everything(&context));
    person
        .run_command(&["servers", "remove", &person.id])
        .and(outcome)
}

/// The person who adds the suite's server to Drawbridge and uses it.
struct Person {
    data_dir: String,
    /// The endpoint for all servers.
    endpoint: String,
    token: String,
    /// The server's id in Drawbridge.
    id: String,
    scenario: String,
    sign_ins: usize,
}

impl Person {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(paths::built_binary("drawbridge"));
        command
            .args(arguments)
            .args(["--data-dir", &self.data_dir])
            .stdin(Stdio::null());
        command
    }

    fn run_command(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self
            .command(arguments)
            .output()
            .map_err(|e| format!("drawbridge: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "drawbridge {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn add_server(&self, url: &str, context: &Value) -> Result<(), String> {
        let mut arguments = vec!["servers", "add", &self.id, "--url", url];
        if let Some(id) = context["client_id"].as_str() {
            arguments.extend(["--oauth-client-id", id]);
        }
        if let Some(secret) = context["client_secret"].as_str() {
            arguments.extend(["--oauth-client-secret", secret]);
        }
        self.run_command(&arguments)?;
        self.run_command(&["policy", "set", &self.id, "allow"])
    }

    fn show_server(&self) -> Result<Value, String> {
        let (status, text) = try_verb(&self.endpoint, "servers.show", &json!({"id": self.id}));
        if status == 200 {
            serde_json::from_str(&text).map_err(|e| e.to_string())
        } else {
            Err(text)
        }
    }

    /// Waits until Drawbridge has read the server's tools, and signs in if the server requires it.
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let outcome = try_until_within(READY_TIMEOUT, || self.sign_in_if_required().transpose());
        outcome.unwrap_or_else(|| Err(format!("the server is not ready: {}", self.show_server()?)))
    }

    /// Signs in if the server requires it. Returns `None` if Drawbridge has not read the server's
    /// tools yet.
    fn sign_in_if_required(&mut self) -> Result<Option<()>, String> {
        let server = self.show_server()?;
        if server["sync_status"] == "SYNCED" {
            return Ok(Some(()));
        }
        if server["sign_in"]["kind"] == "needed" {
            if self.sign_ins >= MAX_SIGN_INS {
                return Err(format!("the server still requires a sign-in: {server}"));
            }
            self.sign_in()?;
        }
        Ok(None)
    }

    /// Signs in. This program itself follows the link and its redirects, as a browser does.
    fn sign_in(&mut self) -> Result<(), String> {
        self.sign_ins += 1;
        let mut command = self.command(&["servers", "sign-in", &self.id, "--no-open"]);
        let mut process = command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("drawbridge: {e}"))?;
        let stdout = process
            .stdout
            .take()
            .ok_or("the sign-in command has no stdout")?;
        let link = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .find(|line| line.starts_with("http"));
        if let Some(link) = link {
            let callback =
                fetch_redirect(&link)?.ok_or_else(|| format!("{link} does not redirect"))?;
            fetch_redirect(&callback)?;
        }
        let status = process.wait().map_err(|e| format!("drawbridge: {e}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`drawbridge servers sign-in` failed: {status}"))
        }
    }

    /// Calls every tool, or only the tools that the suite names. Reads every resource and gets
    /// every prompt.
    fn use_everything(&mut self, context: &Value) -> Result<(), String> {
        let client = Client::connect(&format!("{}/{}", self.endpoint, self.id), &self.token)?;
        let tools = client.request("tools/list", &json!({}))?.result();
        let calls = match context["toolCalls"].as_array() {
            Some(calls) => calls.clone(),
            None => items(&tools, "tools")
                .map(|tool| example_call(tool, &tools))
                .collect(),
        };
        for call in calls {
            let answer = client.request("tools/call", &call)?;
            eprintln!("{call}: {}", answer.raw);
            let has_failed = answer.error().is_some() || answer.is_error();
            // After a refused call the program signs in again, because the server may require more
            // scopes.
            if has_failed && self.scenario.starts_with("auth/") && self.sign_ins < MAX_SIGN_INS {
                self.sign_in()?;
                self.wait_until_ready()?;
                eprintln!(
                    "{call} after signing in again: {}",
                    client.request("tools/call", &call)?.raw
                );
            }
        }
        for (list_method, key, read_method, member) in [
            ("resources/list", "resources", "resources/read", "uri"),
            ("prompts/list", "prompts", "prompts/get", "name"),
        ] {
            let list = client.request(list_method, &json!({}))?;
            if list.error().is_none() {
                for item in items(&list.result(), key) {
                    client.request(read_method, &json!({member: item[member]}))?;
                }
            }
        }
        Ok(())
    }
}

/// A session with Drawbridge's endpoint for the server. Accepts each form elicitation.
struct Client {
    url: Url,
    bearer: String,
    session: String,
}

impl Client {
    fn connect(url: &str, token: &str) -> Result<Self, String> {
        let mut client = Self {
            url: Url::parse(url),
            bearer: format!("Bearer {token}"),
            session: String::new(),
        };
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "conformance-client", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = client.post(&message)?;
        client.session = response
            .header("Mcp-Session-Id")
            .ok_or("initialize opened no session")?
            .to_owned();
        Answer::read_from(response, 0).map_err(|e| format!("initialize: {e}"))?;
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn post(&self, message: &Value) -> Result<Response, String> {
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", self.bearer.as_str()),
        ];
        if !self.session.is_empty() {
            headers.extend([
                ("Mcp-Session-Id", self.session.as_str()),
                ("MCP-Protocol-Version", REVISION),
            ]);
        }
        let body = message.to_string();
        let request = Request {
            method: "POST",
            url: &self.url,
            headers: &headers,
            body: body.as_bytes(),
        };
        request.send().map_err(|e| format!("{message}: {e}"))
    }

    /// Sends a request and returns its response. Accepts the elicitations that arrive before the
    /// response.
    fn request(&self, method: &str, params: &Value) -> Result<Answer, String> {
        const ID: u64 = 1;
        let response =
            self.post(&json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params}))?;
        let is_stream = response
            .header("Content-Type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !is_stream {
            return Answer::read_from(response, ID).map_err(|e| format!("{method}: {e}"));
        }
        for event in Events::new(response).filter(|event| !event.data.is_empty()) {
            let message: Value =
                serde_json::from_str(&event.data).map_err(|e| format!("{}: {e}", event.data))?;
            if message["method"] == "elicitation/create" {
                self.post(
                    &json!({"jsonrpc": "2.0", "id": message["id"], "result": accept_elicitation(&message)}),
                )?;
            } else if message.get("method").is_none() {
                return Ok(Answer::parse(event.data));
            }
        }
        Err(format!("{method}: the stream ended without an answer"))
    }
}

fn items<'a>(result: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    result[key].as_array().into_iter().flatten()
}

/// Returns a call of a tool with valid arguments.
fn example_call(tool: &Value, tools: &Value) -> Value {
    let name = tool["name"].as_str().unwrap_or_default();
    let properties = tool["inputSchema"]["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let required = tool["inputSchema"]["required"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is_required = |name: &String| required.iter().any(|required_name| required_name == name);
    let arguments =
        properties
            .iter()
            .filter(|(name, _)| is_required(name))
            .map(|(name, schema)| {
                let value = match (name.as_str(), schema["type"].as_str()) {
                    // The suite compares this argument with the schema of its first tool.
                    ("schema", _) => tools["tools"][0]["inputSchema"].clone(),
                    (_, Some("number" | "integer")) => 3.into(),
                    (_, Some("boolean")) => true.into(),
                    _ => "x".into(),
                };
                (name.clone(), value)
            });
    json!({"name": name, "arguments": arguments.collect::<Map<_, _>>()})
}

/// Returns a result that accepts the form with the default of each field.
fn accept_elicitation(request: &Value) -> Value {
    let properties = request["params"]["requestedSchema"]["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let fields = properties
        .into_iter()
        .filter_map(|(name, field)| Some((name, field.get("default")?.clone())));
    json!({"action": "accept", "content": fields.collect::<Map<_, _>>()})
}

/// Fetches a page. Returns the URL to which the page redirects, or `None`.
fn fetch_redirect(url: &str) -> Result<Option<String>, String> {
    let request = Request {
        method: "GET",
        url: &Url::parse(url),
        headers: &[],
        body: &[],
    };
    let response = request.send().map_err(|e| format!("{url}: {e}"))?;
    Ok(response.header("Location").map(str::to_owned))
}
