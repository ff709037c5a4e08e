//! OpenTelemetry traces, sent over OTLP/HTTP if the user names a collector. Off by default.
//!
//! A request of a client has a span (`SERVER`), with child spans for the time that a person takes
//! to decide (`INTERNAL`) and for the request to the server (`CLIENT`). Names and attributes follow
//! the GenAI conventions for MCP:
//! <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md>

mod exporter;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use drawbridge_jsonrpc::{
    json::RawObject,
    rpc::{RpcError, RpcResult},
};
use drawbridge_model::{
    call::Decision, clock, display_url::DisplayUrl, protocol::Era, trace::TraceContext,
};
use drawbridge_sessions::ClientSession;
use drawbridge_store::{logs::Logs, secrets::Secrets, settings::Settings};
use drawbridge_upstream::SentRequest;
use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, KeyValue, any_value},
    trace::v1::{Span, Status, span::SpanKind, status::StatusCode},
};
use serde_json::value::RawValue;

use crate::metrics::Metrics;

pub(crate) use exporter::SECRET_PREFIX;
use exporter::{Collector, Exporter};

/// The longest arguments or result in a span, in bytes.
const MAX_CONTENT: usize = 16 * 1024;

/// Creates spans while a collector is set. Cheap to clone.
#[derive(Clone)]
pub struct Tracer(Arc<Inner>);

struct Inner {
    exporter: ArcSwapOption<Exporter>,
    settings: Settings,
    secrets: Secrets,
    logs: Logs,
    metrics: Metrics,
}

/// A span that has begun. A span that is dropped before its end ends with the error `cancelled`.
pub struct OpenSpan {
    exporter: Arc<Exporter>,
    logs: Logs,
    context: TraceContext,
    span: Option<Span>,
}

impl Tracer {
    pub fn new(settings: Settings, secrets: Secrets, logs: Logs, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            exporter: ArcSwapOption::empty(),
            settings,
            secrets,
            logs,
            metrics,
        }))
    }

    /// Exports spans to the collector that the settings name, and follows changes of the settings.
    /// Runs until the hub aborts the task.
    pub async fn follow_settings(self) {
        let mut changes = self.0.settings.changes();
        let mut current = None;
        loop {
            let collector = Collector::from_settings(&self.0.settings.get());
            if collector != current {
                current.clone_from(&collector);
                self.export_to(collector).await;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn export_to(&self, collector: Option<Collector>) {
        let inner = &self.0;
        let exporter = collector.map(|collector| {
            tracing::info!("traces go to {}", DisplayUrl::new(&collector.url));
            let (secrets, logs) = (inner.secrets.clone(), inner.logs.clone());
            Exporter::start(collector, secrets, logs, inner.metrics.clone())
        });
        if let Some(old) = inner.exporter.swap(exporter.map(Arc::new)) {
            old.close().await;
        }
    }

    /// Sends the queued spans, for a few seconds at most. No span is created afterwards.
    pub async fn close(&self) {
        if let Some(exporter) = self.0.exporter.swap(None) {
            exporter.close().await;
        }
    }

    /// Begins the span of a client's request, as a child of the span that the client names in
    /// `_meta`. Returns `None` if there is no collector, or if the client's span is not sampled.
    pub fn begin_request(
        &self,
        session: &ClientSession,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Box<OpenSpan>> {
        let exporter = self.0.exporter.load_full()?;
        let parent = TraceContext::read(params);
        if parent.is_some_and(|parent| !parent.is_sampled) {
            return None;
        }
        let mut span = self.begin(exporter, parent, SpanKind::Server);
        if parent.is_some()
            && let Some(open) = &mut span.span
        {
            open.trace_state = TraceContext::read_state(params);
        }
        let params = params.and_then(|params| RawObject::parse(params).ok());
        let params = params.unwrap_or_default();
        let target = match method {
            "tools/call" | "prompts/get" => params.get_string("name"),
            "resources/read" | "resources/subscribe" => params.get_string("uri"),
            _ => None,
        };
        span.describe(method, target.as_deref());
        span.set("mcp.protocol.version", &session.hello.protocol_version);
        // The id of a modern client's session is Drawbridge's own and means nothing to the client.
        if session.hello.era == Era::Legacy {
            span.set("mcp.session.id", session.id.as_str());
        }
        span.set("drawbridge.client", session.client.as_str());
        if method == "tools/call"
            && let Some(arguments) = params.get("arguments")
        {
            span.set_content("gen_ai.tool.call.arguments", arguments.get());
        }
        Some(span)
    }

    /// Begins the span of the time that a person takes to decide a request. Returns `None` if there
    /// is no collector, or if the client's request has no span.
    pub fn begin_approval(
        &self,
        parent: Option<TraceContext>,
        tool: &str,
    ) -> Option<Box<OpenSpan>> {
        let exporter = self.0.exporter.load_full()?;
        let mut span = self.begin(exporter, Some(parent?), SpanKind::Internal);
        if let Some(open) = &mut span.span {
            open.name = format!("approval {tool}").trim_end().to_owned();
        }
        Some(span)
    }

    /// Begins the span of a request to a server. Returns `None` if there is no collector, or if the
    /// client's request has no span.
    pub fn begin_server_request(
        &self,
        parent: Option<TraceContext>,
        method: &str,
        target: &str,
        server: &str,
    ) -> Option<Box<OpenSpan>> {
        let exporter = self.0.exporter.load_full()?;
        let mut span = self.begin(exporter, Some(parent?), SpanKind::Client);
        span.describe(method, Some(target).filter(|target| !target.is_empty()));
        span.set("drawbridge.server", server);
        Some(span)
    }

    fn begin(
        &self,
        exporter: Arc<Exporter>,
        parent: Option<TraceContext>,
        kind: SpanKind,
    ) -> Box<OpenSpan> {
        let context = parent.map_or_else(TraceContext::new_root, TraceContext::new_child);
        let parent_span_id = parent.map(|parent| parent.span_id.to_vec());
        let span = Span {
            trace_id: context.trace_id.to_vec(),
            span_id: context.span_id.to_vec(),
            parent_span_id: parent_span_id.unwrap_or_default(),
            // The W3C flag *sampled*.
            flags: 1,
            kind: kind.into(),
            start_time_unix_nano: now_nanos(),
            ..Span::default()
        };
        Box::new(OpenSpan {
            exporter,
            logs: self.0.logs.clone(),
            context,
            span: Some(span),
        })
    }
}

impl OpenSpan {
    /// Returns the context for child spans.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    pub fn set(&mut self, key: &str, value: &str) {
        if let Some(span) = &mut self.span {
            span.attributes.push(KeyValue {
                key: key.to_owned(),
                value: Some(AnyValue {
                    value: Some(any_value::Value::StringValue(value.to_owned())),
                }),
                ..KeyValue::default()
            });
        }
    }

    /// Sets an attribute to arguments or a result, with secrets masked, if the settings say that
    /// spans contain them.
    pub fn set_content(&mut self, key: &str, json: &str) {
        if self.exporter.includes_content() {
            let mut text = self.logs.redact_json(json).into_owned();
            text.truncate(text.floor_char_boundary(MAX_CONTENT));
            self.set(key, &text);
        }
    }

    /// Sets the attributes that are known only after the request was sent to the server.
    pub fn set_sent(&mut self, sent: &SentRequest) {
        self.set("jsonrpc.request.id", &sent.id.to_string());
        self.set("mcp.protocol.version", &sent.protocol_version);
        let transport = if sent.is_pipe { "pipe" } else { "tcp" };
        self.set("network.transport", transport);
    }

    /// Sets the span's name, and the attributes of the request's method and target.
    fn describe(&mut self, method: &str, target: Option<&str>) {
        self.set("mcp.method.name", method);
        let target = target.map(|target| self.logs.mask_text(target));
        let name = match (method, target) {
            ("tools/call", Some(tool)) => {
                self.set("gen_ai.operation.name", "execute_tool");
                self.set("gen_ai.tool.name", &tool);
                format!("{method} {tool}")
            }
            ("prompts/get", Some(prompt)) => {
                self.set("gen_ai.prompt.name", &prompt);
                format!("{method} {prompt}")
            }
            (_, Some(uri)) if method.starts_with("resources/") => {
                self.set("mcp.resource.uri", &uri);
                method.to_owned()
            }
            _ => method.to_owned(),
        };
        if let Some(span) = &mut self.span {
            span.name = name;
        }
    }

    /// Ends the span of a client's request with its answer. `is_tool_error` says whether the answer
    /// is the result of a tool that failed.
    pub fn end_with_response(mut self, method: &str, response: &RpcResult, is_tool_error: bool) {
        match response {
            Ok(result) => {
                if method == "tools/call" {
                    self.set_content("gen_ai.tool.call.result", result.get());
                }
                if is_tool_error {
                    self.fail("tool_error", "");
                }
            }
            Err(error) => self.set_error(error),
        }
        self.finish();
    }

    /// Ends the span with a person's decision.
    pub fn end_with_decision(mut self, decision: Decision) {
        self.set("drawbridge.approval.decision", decision.label());
        self.finish();
    }

    /// Ends the span of a request that has failed.
    pub fn end_with_failure(mut self, kind: &str, message: &str) {
        self.fail(kind, message);
        self.finish();
    }

    pub fn set_error(&mut self, error: &RpcError) {
        let code = error.code.to_string();
        self.set("rpc.response.status_code", &code);
        self.fail(&code, &error.message);
    }

    pub fn fail(&mut self, kind: &str, message: &str) {
        self.set("error.type", kind);
        let message = self.logs.mask_text(message);
        if let Some(span) = &mut self.span {
            span.status = Some(Status {
                message,
                code: StatusCode::Error.into(),
            });
        }
    }

    /// Ends the span.
    pub fn finish(mut self) {
        self.send();
    }

    fn send(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.end_time_unix_nano = now_nanos();
            self.exporter.queue(span);
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if self.span.is_some() {
            self.fail("cancelled", "");
            self.send();
        }
    }
}

fn now_nanos() -> u64 {
    clock::now_micros().saturating_mul(1_000)
}

#[cfg(test)]
mod tests;
