//! An OpenAI-compatible provider that records its requests and gives the answers that a test
//! chooses.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use serde_json::{Value, json};

/// How the provider answers.
#[derive(Debug, Clone)]
pub enum ProviderAnswer {
    /// Streams a text, in two pieces.
    Text(String),
    /// Streams a call of a tool.
    ToolCall { name: String, arguments: String },
    /// Answers with a status and a body.
    Status(u16, String),
    /// Answers with a redirect to this URL.
    Redirect(String),
    /// Streams an event that is no completion.
    Garbage,
    /// Never answers.
    Silence,
    /// Streams an endless text.
    Flood,
}

/// A request that the provider has received.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// The request line and the headers.
    pub head: String,
    pub body: Value,
}

/// The provider, which ends with the test's process.
pub struct Provider {
    /// The base URL.
    pub url: String,
    answer: Arc<Mutex<ProviderAnswer>>,
    requests: Arc<Mutex<Vec<ProviderRequest>>>,
}

impl Provider {
    #[track_caller]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let address = listener.local_addr().expect("an address");
        let provider = Self {
            url: format!("http://{address}/v1"),
            answer: Arc::new(Mutex::new(ProviderAnswer::Text("Hello".into()))),
            requests: Arc::default(),
        };
        let (answer, requests) = (provider.answer.clone(), provider.requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, requests) = (answer.clone(), requests.clone());
                // A client that disconnects is no failure of the provider.
                thread::spawn(move || serve(stream, &answer, &requests));
            }
        });
        provider
    }

    pub fn answer_with(&self, answer: ProviderAnswer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<ProviderRequest> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &Mutex<ProviderAnswer>,
    requests: &Mutex<Vec<ProviderRequest>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    requests
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(ProviderRequest { head, body });
    let answer = answer
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let delta = |delta: Value, finish: Value| json!({"model": "served-model", "choices": [{"delta": delta, "finish_reason": finish}]});
    let usage = json!({"choices": [], "usage": {"total_tokens": 42}});
    match answer {
        ProviderAnswer::Text(text) => {
            let (first, rest) = text.split_at(text.len() / 2);
            let pieces = [
                delta(json!({"role": "assistant", "content": first}), Value::Null),
                delta(json!({"content": rest}), json!("stop")),
                usage,
            ];
            write_stream(&mut stream, &pieces)
        }
        ProviderAnswer::ToolCall { name, arguments } => {
            let call = json!({"index": 0, "id": "call-7", "type": "function",
                "function": {"name": name, "arguments": arguments}});
            let pieces = [
                delta(json!({"tool_calls": [call]}), Value::Null),
                delta(json!({}), json!("tool_calls")),
                usage,
            ];
            write_stream(&mut stream, &pieces)
        }
        ProviderAnswer::Status(status, body) => write!(
            stream,
            "HTTP/1.1 {status} No\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
        ProviderAnswer::Redirect(url) => write!(
            stream,
            "HTTP/1.1 307 Elsewhere\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        ProviderAnswer::Garbage => {
            write_head(&mut stream)?;
            stream.write_all(b"data: <html>\n\n")
        }
        ProviderAnswer::Silence => {
            // Wait until the client gives up.
            let mut rest = [0; 1];
            stream.read(&mut rest).map(drop)
        }
        ProviderAnswer::Flood => {
            write_head(&mut stream)?;
            let piece = delta(json!({"content": "x".repeat(60_000)}), Value::Null);
            loop {
                write!(stream, "data: {piece}\n\n")?;
            }
        }
    }
}

fn write_head(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )
}

fn write_stream(stream: &mut TcpStream, pieces: &[Value]) -> io::Result<()> {
    write_head(stream)?;
    for piece in pieces {
        write!(stream, "data: {piece}\n\n")?;
    }
    stream.write_all(b"data: [DONE]\n\n")
}
