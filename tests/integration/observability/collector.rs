//! A collector of traces: an OTLP receiver over HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message;

/// A collector that keeps the exports that it accepts.
pub(super) struct Collector {
    port: u16,
    received: Arc<Mutex<Vec<Export>>>,
}

/// A request to the collector.
struct Export {
    headers: Vec<(String, String)>,
    request: ExportTraceServiceRequest,
}

/// How a collector answers.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Accepts,
    Refuses,
    NeverAnswers,
}

/// A span, with its ids in hex.
#[derive(Debug, Clone)]
pub(super) struct ReceivedSpan {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) parent: String,
    pub(super) trace_state: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) is_error: bool,
    attributes: Vec<KeyValue>,
}

impl ReceivedSpan {
    /// Returns an attribute that is a text.
    pub(super) fn attribute(&self, key: &str) -> Option<&str> {
        find(&self.attributes, key)
    }
}

impl Collector {
    pub(super) fn start() -> Self {
        Self::with(Behaviour::Accepts)
    }

    /// Starts a collector that answers 503.
    pub(super) fn refusing() -> Self {
        Self::with(Behaviour::Refuses)
    }

    /// Starts a collector that never answers.
    pub(super) fn silent() -> Self {
        Self::with(Behaviour::NeverAnswers)
    }

    fn with(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let received = Arc::<Mutex<Vec<Export>>>::default();
        let exports = received.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let exports = exports.clone();
                thread::spawn(move || serve(stream, behaviour, &exports));
            }
        });
        Self { port, received }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all spans that were received so far.
    pub(super) fn spans(&self) -> Vec<ReceivedSpan> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let spans = received
            .iter()
            .flat_map(|export| &export.request.resource_spans)
            .flat_map(|resource| &resource.scope_spans)
            .flat_map(|scope| &scope.spans);
        spans.map(read_span).collect()
    }

    /// Returns the received spans as text, with their attributes.
    pub(super) fn text(&self) -> String {
        format!("{:?}", self.spans())
    }

    /// Returns an attribute of the resource.
    pub(super) fn resource(&self, key: &str) -> Option<String> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let resource = received.first()?.request.resource_spans.first()?;
        let resource = resource.resource.as_ref()?;
        find(&resource.attributes, key).map(str::to_owned)
    }

    /// Returns a header of the last request.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let headers = &received.last()?.headers;
        let header = headers.iter().find(|(header, _)| header == name)?;
        Some(header.1.clone())
    }
}

/// Serves a connection until its end.
fn serve(stream: TcpStream, behaviour: Behaviour, exports: &Mutex<Vec<Export>>) {
    let mut reader = BufReader::new(stream);
    while let Some(export) = read_export(&mut reader) {
        let status = match behaviour {
            Behaviour::NeverAnswers => {
                let _ = reader.read_to_end(&mut Vec::new());
                return;
            }
            Behaviour::Refuses => "503 Service Unavailable",
            Behaviour::Accepts => {
                let mut exports = exports.lock().unwrap_or_else(PoisonError::into_inner);
                exports.push(export);
                "200 OK"
            }
        };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_export(reader: &mut BufReader<TcpStream>) -> Option<Export> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    assert_eq!(lines[0], "POST /v1/traces HTTP/1.1");
    let headers: Vec<_> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let header = |name: &str| headers.iter().find(|(header, _)| header == name);
    let content_type = header("content-type").map(|(_, value)| value.as_str());
    assert_eq!(content_type, Some("application/x-protobuf"));
    let length = header("content-length").expect("a length").1.parse();
    let mut body = vec![0; length.expect("a number")];
    reader.read_exact(&mut body).ok()?;
    let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("an OTLP request");
    Some(Export { headers, request })
}

fn read_span(span: &Span) -> ReceivedSpan {
    let kind = if span.kind == SpanKind::Server as i32 {
        "server"
    } else if span.kind == SpanKind::Client as i32 {
        "client"
    } else {
        "internal"
    };
    let status = span.status.as_ref();
    ReceivedSpan {
        name: span.name.clone(),
        kind,
        trace_id: to_hex(&span.trace_id),
        span_id: to_hex(&span.span_id),
        parent: to_hex(&span.parent_span_id),
        trace_state: span.trace_state.clone(),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        is_error: status.is_some_and(|status| status.code == StatusCode::Error as i32),
        attributes: span.attributes.clone(),
    }
}

fn find<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    let any_value::Value::StringValue(text) = attribute.value.as_ref()?.value.as_ref()? else {
        return None;
    };
    Some(text)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
