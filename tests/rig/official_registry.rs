//! A stand-in for the official registry, and for a website with files, such as the releases of a
//! publisher. The answers of the registry have the published schema, unless a test chooses another
//! answer.

use std::{
    fmt::Write as _,
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use serde_json::{Value, json};

/// The schema of an answer.
const SCHEMA: &str = include_str!("official_registry/server_list.schema.json");
/// The member of an entry's `_meta` in which the registry describes the entry.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// How the registry answers.
#[derive(Debug, Clone)]
pub enum RegistryAnswer {
    /// The servers of the list, a page at a time.
    Servers,
    /// A status and a body.
    Raw(u16, String),
    /// Empty pages, each with the cursor of another page.
    EndlessPages,
    /// An endless page.
    Flood,
}

struct State {
    answer: RegistryAnswer,
    /// The entries of the list, as the API returns them.
    entries: Vec<Value>,
    page_size: usize,
    /// The path and the content of each file.
    files: Vec<(String, Vec<u8>)>,
    /// The path and the query of each request.
    requests: Vec<String>,
}

/// The registry, which ends with the test's process.
pub struct OfficialRegistryServer {
    /// The base URL.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl OfficialRegistryServer {
    #[track_caller]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State {
            answer: RegistryAnswer::Servers,
            entries: Vec::new(),
            page_size: 2,
            files: Vec::new(),
            requests: Vec::new(),
        }));
        let served = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = served.clone();
                // A client that disconnects is no failure of the registry.
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self {
            url: format!("http://{address}"),
            state,
        }
    }

    pub fn answer_with(&self, answer: RegistryAnswer) {
        self.lock().answer = answer;
    }

    /// Replaces the entries of the list.
    pub fn set_entries(&self, entries: Vec<Value>) {
        self.lock().entries = entries;
    }

    /// Serves a file at `/files/NAME`, instead of an earlier file of that name. Returns its URL.
    pub fn serve_file(&self, name: &str, content: Vec<u8>) -> String {
        let path = format!("/files/{name}");
        let mut state = self.lock();
        state.files.retain(|(served, _)| *served != path);
        state.files.push((path.clone(), content));
        format!("{}{path}", self.url)
    }

    /// Returns the paths and queries of the requests so far, oldest first.
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an entry of the list for a server with these members. The entry changed last at
/// `updated_at`.
pub fn entry(name: &str, members: Value, updated_at: &str) -> Value {
    entry_with_status(name, members, updated_at, "active")
}

/// Returns an entry with a status: `active`, `deprecated` or `deleted`.
pub fn entry_with_status(name: &str, members: Value, updated_at: &str, status: &str) -> Value {
    let mut server = json!({"name": name, "description": "A server.", "version": "1.0.0"});
    if let (Some(server), Value::Object(members)) = (server.as_object_mut(), members) {
        server.extend(members);
    }
    let official = json!({"status": status, "updatedAt": updated_at, "isLatest": true});
    json!({"server": server, "_meta": {OFFICIAL: official}})
}

/// Panics if an answer does not have the published schema.
#[track_caller]
fn assert_valid(answer: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is valid");
    let mut faults = String::new();
    for fault in validator.iter_errors(answer) {
        let _ = writeln!(faults, "{fault} at {}", fault.instance_path());
    }
    assert!(faults.is_empty(), "the registry's answer: {faults}");
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let (answer, page, file) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.push(target.clone());
        let file = state.files.iter().find(|(path, _)| *path == target);
        let file = file.map(|(_, content)| content.clone());
        (state.answer.clone(), select_page(&state, &target), file)
    };
    if let Some(content) = file {
        return write_answer(&mut stream, 200, &content);
    }
    match answer {
        RegistryAnswer::Servers => {
            assert_valid(&page);
            write_answer(&mut stream, 200, page.to_string().as_bytes())
        }
        RegistryAnswer::Raw(status, body) => write_answer(&mut stream, status, body.as_bytes()),
        RegistryAnswer::EndlessPages => {
            let cursor = format!("{target}x").len().to_string();
            let page = json!({"servers": [], "metadata": {"nextCursor": cursor}});
            write_answer(&mut stream, 200, page.to_string().as_bytes())
        }
        RegistryAnswer::Flood => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"servers\":[")?;
            let piece = " ".repeat(64 * 1024);
            loop {
                stream.write_all(piece.as_bytes())?;
            }
        }
    }
}

fn write_answer(stream: &mut TcpStream, status: u16, body: &[u8]) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    // The client reads to the end before the connection is reset.
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read(&mut [0]).map(drop)
}

/// Returns the page that a request asks for.
fn select_page(state: &State, target: &str) -> Value {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name);
        values.next().map(|(_, value)| value.replace("%3A", ":"))
    };
    let since = parameter("updated_since").unwrap_or_default();
    let is_listed = |entry: &&Value| {
        let official = &entry["_meta"][OFFICIAL];
        let is_deleted = official["status"] == "deleted";
        let updated_at = official["updatedAt"].as_str().unwrap_or_default();
        updated_at >= since.as_str() && (!is_deleted || !since.is_empty())
    };
    let listed: Vec<&Value> = state.entries.iter().filter(is_listed).collect();
    let from = parameter("cursor")
        .and_then(|cursor| cursor.strip_prefix("after-")?.parse().ok())
        .unwrap_or(0);
    let page: Vec<&Value> = listed
        .iter()
        .skip(from)
        .take(state.page_size)
        .copied()
        .collect();
    let end = from + page.len();
    let mut metadata = json!({"count": page.len()});
    if end < listed.len() {
        metadata["nextCursor"] = json!(format!("after-{end}"));
    }
    json!({"servers": page, "metadata": metadata})
}
