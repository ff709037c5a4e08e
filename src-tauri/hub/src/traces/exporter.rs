//! Sends spans to a collector in batches. No request waits for the collector: if it is slow or
//! unreachable, spans are dropped and counted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use drawbridge_model::display_url::DisplayUrl;
use drawbridge_store::{
    logs::Logs,
    secrets::{SecretScope, Secrets},
    settings::SettingsValues,
};
use drawbridge_upstream::http::{HttpClient, HttpRequest};
use http::{HeaderName, HeaderValue, Method, Request, header::CONTENT_TYPE};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// The most spans that wait for a batch. Up to [`MAX_BATCH`] more spans are in the batch.
const MAX_QUEUED: usize = 2_048;
/// The most spans in one request to the collector.
const MAX_BATCH: usize = 512;
/// How long a span waits for other spans, so that they are sent together.
const BATCH_INTERVAL: Duration = Duration::from_secs(2);
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a shutdown of the hub, or a change of the collector, waits for the queued spans to be
/// sent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// The shortest time between two lines in the log about spans that could not be sent.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// The largest answer of a collector that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// The prefix of the names of secrets that the headers may contain.
pub(crate) const SECRET_PREFIX: &str = "otlp";

/// The address of a collector, and how to send spans to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collector {
    pub(super) url: String,
    /// The headers of each request. Their values may refer to secrets.
    headers: BTreeMap<String, String>,
    /// Whether spans contain arguments and results.
    includes_content: bool,
}

impl Collector {
    /// Returns the collector that the settings name, or `None` if traces are off.
    pub(super) fn from_settings(settings: &SettingsValues) -> Option<Self> {
        const PATH: &str = "/v1/traces";
        let base = settings.otlp_endpoint.trim_end_matches('/');
        let url = if base.ends_with(PATH) {
            base.to_owned()
        } else {
            format!("{base}{PATH}")
        };
        (!base.is_empty()).then(|| Self {
            url,
            headers: settings.otlp_headers.clone(),
            includes_content: settings.otlp_content,
        })
    }
}

/// The queue of spans, and the task that sends them.
pub(super) struct Exporter {
    spans: mpsc::Sender<Span>,
    /// The number of spans that are neither sent nor dropped yet.
    waiting: Arc<AtomicUsize>,
    includes_content: bool,
    metrics: Metrics,
    stopping: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    pub(super) fn start(
        collector: Collector,
        secrets: Secrets,
        logs: Logs,
        metrics: Metrics,
    ) -> Self {
        let (spans, queue) = mpsc::channel(MAX_QUEUED);
        let waiting = Arc::new(AtomicUsize::new(0));
        let stopping = CancellationToken::new();
        let includes_content = collector.includes_content;
        let sender = SpanSender {
            collector,
            http: HttpClient::new(),
            secrets,
            logs,
            metrics: metrics.clone(),
            waiting: waiting.clone(),
            unlogged: 0,
            logged_at: None,
        };
        let task = tokio::spawn(sender.run(queue, stopping.clone()));
        Self {
            spans,
            waiting,
            includes_content,
            metrics,
            stopping,
            task: Mutex::new(Some(task)),
        }
    }

    /// Returns whether spans contain arguments and results.
    pub(super) fn includes_content(&self) -> bool {
        self.includes_content
    }

    /// Queues a span. If the queue is full, the span is dropped.
    pub(super) fn queue(&self, span: Span) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if self.spans.try_send(span).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.metrics.count_dropped_spans(1);
        }
    }

    /// Sends the queued spans, for [`CLOSE_TIMEOUT`] at most. Spans that are not sent by then are
    /// dropped.
    pub(super) async fn close(&self) {
        self.stopping.cancel();
        let task = self.task.lock().ok().and_then(|mut task| task.take());
        if let Some(mut task) = task
            && timeout(CLOSE_TIMEOUT, &mut task).await.is_err()
        {
            task.abort();
            // The task may end by itself before it is aborted.
            let _ = task.await;
            let dropped = self.waiting.swap(0, Ordering::Relaxed);
            self.metrics.count_dropped_spans(dropped);
            tracing::warn!(
                "{dropped} spans were dropped, because they did not reach the collector in time"
            );
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// The state of the task that sends spans.
struct SpanSender {
    collector: Collector,
    http: HttpClient,
    secrets: Secrets,
    logs: Logs,
    metrics: Metrics,
    /// The number of spans that are neither sent nor dropped yet.
    waiting: Arc<AtomicUsize>,
    /// The spans that could not be sent since the last line in the log. Spans for which the queue
    /// had no room are not among them.
    unlogged: usize,
    logged_at: Option<Instant>,
}

impl SpanSender {
    async fn run(mut self, mut queue: mpsc::Receiver<Span>, stopping: CancellationToken) {
        loop {
            let first = tokio::select! {
                span = queue.recv() => span,
                () = stopping.cancelled() => None,
            };
            let Some(first) = first else { break };
            let mut batch = vec![first];
            let deadline = Instant::now() + BATCH_INTERVAL;
            while batch.len() < MAX_BATCH {
                tokio::select! {
                    more = timeout_at(deadline, queue.recv()) => match more {
                        Ok(Some(span)) => batch.push(span),
                        _ => break,
                    },
                    () = stopping.cancelled() => break,
                }
            }
            self.export(batch).await;
        }
        queue.close();
        loop {
            let mut rest = Vec::new();
            queue.recv_many(&mut rest, MAX_BATCH).await;
            if rest.is_empty() {
                return;
            }
            self.export(rest).await;
        }
    }

    async fn export(&mut self, spans: Vec<Span>) {
        let count = spans.len();
        let sent = timeout(EXPORT_TIMEOUT, self.send(spans)).await;
        let failure = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer in {} s", EXPORT_TIMEOUT.as_secs())),
        };
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        match failure {
            None => self.metrics.count_exported_spans(count),
            Some(reason) => {
                self.metrics.count_dropped_spans(count);
                self.log_dropped(count, &reason);
            }
        }
    }

    async fn send(&self, spans: Vec<Span>) -> Result<(), ExportError> {
        let scope = SecretScope::for_prefix(SECRET_PREFIX);
        let (headers, used) = self
            .secrets
            .resolve(&self.collector.headers, &scope)
            .await?;
        used.iter().for_each(|secret| self.logs.add_secret(secret));
        let body = request_with(spans).encode_to_vec();
        let mut request: HttpRequest = Request::builder()
            .method(Method::POST)
            .uri(&self.collector.url)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Bytes::from(body))?;
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(&value).map_err(http::Error::from)?;
            value.set_sensitive(true);
            let name = HeaderName::try_from(name).map_err(http::Error::from)?;
            request.headers_mut().insert(name, value);
        }
        let answer = self.http.send(request).await?;
        let status = answer.status();
        if !status.is_success() {
            return Err(ExportError::Status(status));
        }
        // The answer is read to its end, so that the connection can be used again.
        let _ = answer.bytes(MAX_ANSWER).await;
        Ok(())
    }

    fn log_dropped(&mut self, count: usize, reason: &str) {
        self.unlogged += count;
        let is_due = self.logged_at.is_none_or(|at| at.elapsed() >= LOG_INTERVAL);
        if is_due {
            tracing::warn!(
                "{} spans were dropped, because they could not be sent to the collector {}: {reason}",
                self.unlogged,
                DisplayUrl::new(&self.collector.url)
            );
            (self.unlogged, self.logged_at) = (0, Some(Instant::now()));
        }
    }
}

/// The reason why a batch was not sent, or not accepted by the collector.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Secret(#[from] drawbridge_store::secrets::SecretError),
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error(transparent)]
    Http(#[from] drawbridge_upstream::http::HttpError),
    /// The collector refused the batch.
    #[error("HTTP {0}")]
    Status(http::StatusCode),
}

fn request_with(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let attribute = |key: &str, value: &str| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    };
    let version = env!("CARGO_PKG_VERSION");
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![
                    attribute("service.name", "drawbridge"),
                    attribute("service.version", version),
                ],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "drawbridge".to_owned(),
                    version: version.to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

#[cfg(test)]
mod tests;
