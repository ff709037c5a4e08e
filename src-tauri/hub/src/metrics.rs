//! The counters of `GET /metrics`: calls and other requests, approvals, model tokens, caches,
//! refused clients and spans. `api::metrics` reads the other metrics, such as those of sessions,
//! processes and the journal, for each `GET /metrics`.
//!
//! A call takes no lock here: it finds its counters in a snapshot, and adds to atomics. Only the
//! first call of each combination of client, server and tool makes a new snapshot.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    call::{Call, Decision, Outcome},
    ids::{ClientName, ServerId},
    protocol::guarded::GuardedMethod,
};
use drawbridge_store::table::token_usage::TokenUsageRow;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
    core::Collector, proto::MetricFamily,
};

/// The maximum number of combinations of client, server and tool that are counted separately. All
/// others are counted together.
const MAX_SERIES: usize = 500;
/// The value of the labels of the combinations that are counted together.
const OTHER: &str = "other";
/// The value of the label `tool` for tools that no server has, because a client can make up any
/// name.
const UNKNOWN: &str = "unknown";
/// The buckets of the durations of calls, in seconds.
const CALL_BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
/// The buckets of the times for which requests and results wait for a person, in seconds.
const APPROVAL_BUCKETS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 120.0, 300.0, 600.0];
const TOOL_LABELS: [&str; 3] = ["client", "server", "tool"];
const VALID: &str = "the names of the metrics and labels are valid and occur once";

/// The counters of a hub. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    calls: IntCounterVec,
    call_seconds: HistogramVec,
    requests: IntCounterVec,
    tokens: IntCounterVec,
    asked: IntCounterVec,
    approvals: IntCounterVec,
    approval_seconds: Histogram,
    catalog: CacheCounters,
    results: CacheCounters,
    refused_clients: IntCounter,
    dropped_spans: IntCounter,
    exported_spans: IntCounter,
    series: ArcSwap<HashMap<SeriesKey, Arc<Series>>>,
}

/// The counters of a cache.
struct CacheCounters {
    hits: IntCounter,
    misses: IntCounter,
    refreshes: IntCounter,
}

/// A cache that has counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The lists of the servers.
    Catalog,
    /// The results of calls and of reads of resources.
    Results,
}

type SeriesKey = (ClientName, ServerId, String);

/// The counters of the calls of a tool by a client. A counter in a [`OnceLock`] is made at its
/// first use, so that it is not listed with a zero.
struct Series {
    labels: SeriesKey,
    seconds: Histogram,
    calls: [OnceLock<IntCounter>; CallResult::COUNT],
    asked: OnceLock<IntCounter>,
    approvals: [OnceLock<IntCounter>; Decision::ALL.len()],
    sent_tokens: Tokens,
    received_tokens: Tokens,
}

/// Counts model tokens.
struct Tokens {
    counter: IntCounter,
    /// How many of these tokens [`Metrics::take_tokens`] has handed out to be stored.
    stored: AtomicU64,
}

/// How a call ended: a decision that did not allow it, or its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallResult {
    NotAllowed(Decision),
    Ended(Outcome),
}

impl CallResult {
    const COUNT: usize = Decision::ALL.len() + Outcome::ALL.len();

    fn new(decision: Decision, outcome: Outcome) -> Self {
        if decision == Decision::Allowed {
            Self::Ended(outcome)
        } else {
            Self::NotAllowed(decision)
        }
    }

    fn index(self) -> usize {
        match self {
            Self::NotAllowed(decision) => position(Decision::ALL, decision),
            Self::Ended(outcome) => Decision::ALL.len() + position(Outcome::ALL, outcome),
        }
    }

    /// Returns the value of the label `outcome`.
    fn label(self) -> &'static str {
        match self {
            Self::NotAllowed(Decision::TimedOut) => "approval_timed_out",
            Self::NotAllowed(decision) => decision_label(decision),
            Self::Ended(outcome) => match outcome {
                Outcome::NotSent => "not_sent",
                Outcome::Running => "running",
                Outcome::Ok => "ok",
                Outcome::ServerError => "server_error",
                Outcome::ClientError => "client_error",
                Outcome::Unreachable => "unreachable",
                Outcome::Unknown => "unknown",
                Outcome::TimedOut => "timed_out",
                Outcome::Cancelled => "cancelled",
                Outcome::Withheld => "withheld",
            },
        }
    }
}

fn position<T: PartialEq>(all: &[T], variant: T) -> usize {
    all.iter()
        .position(|other| *other == variant)
        .expect("the list has every variant")
}

fn decision_label(decision: Decision) -> &'static str {
    match decision {
        Decision::Allowed => "approved",
        Decision::Denied => "denied",
        Decision::TimedOut => "timed_out",
        Decision::NoScreen => "no_screen",
        Decision::Paused => "paused",
        Decision::QueueFull => "queue_full",
        Decision::Muted => "muted",
        Decision::Abandoned => "abandoned",
    }
}

impl Metrics {
    pub fn new() -> Self {
        let registry = Registry::new();
        let with_tool = |label: &[&'static str]| [&TOOL_LABELS[..], label].concat();
        let caches = register_counters(
            &registry,
            "drawbridge_cache_requests_total",
            "Requests that a cache could answer (hit) or not (miss)",
            &["cache", "result"],
        );
        let refreshes = register_counters(
            &registry,
            "drawbridge_cache_refreshes_total",
            "How often a cache was filled from a server",
            &["cache"],
        );
        let cache = |name: &str| CacheCounters {
            hits: caches.with_label_values(&[name, "hit"]),
            misses: caches.with_label_values(&[name, "miss"]),
            refreshes: refreshes.with_label_values(&[name]),
        };
        let spans = register_counters(
            &registry,
            "drawbridge_spans_total",
            "Spans that were exported, or dropped because the collector was too slow, failed or was not reachable",
            &["result"],
        );
        let approval_seconds = Histogram::with_opts(
            HistogramOpts::new(
                "drawbridge_approval_wait_seconds",
                "How long requests and results waited for a person",
            )
            .buckets(APPROVAL_BUCKETS.to_vec()),
        );
        let call_seconds = HistogramVec::new(
            HistogramOpts::new(
                "drawbridge_tool_call_duration_seconds",
                "The time from the decision on a call to its end, if it was sent",
            )
            .buckets(CALL_BUCKETS.to_vec()),
            &TOOL_LABELS,
        );
        Self(Arc::new(Inner {
            calls: register_counters(
                &registry,
                "drawbridge_tool_calls_total",
                "Calls of tools, by how they ended",
                &with_tool(&["outcome"]),
            ),
            call_seconds: register(&registry, call_seconds.expect(VALID)),
            requests: register_counters(
                &registry,
                "drawbridge_requests_total",
                "Requests other than calls of tools that were decided, by how they ended",
                &["method", "outcome"],
            ),
            tokens: register_counters(
                &registry,
                "drawbridge_tool_call_tokens_total",
                "About how many tokens arguments (sent) and results (received) had",
                &with_tool(&["direction"]),
            ),
            asked: register_counters(
                &registry,
                "drawbridge_approvals_asked_total",
                "Requests and results about which a person was asked",
                &TOOL_LABELS,
            ),
            approvals: register_counters(
                &registry,
                "drawbridge_approvals_total",
                "Requests and results about which a person was asked, by the decision",
                &with_tool(&["decision"]),
            ),
            approval_seconds: register(&registry, approval_seconds.expect(VALID)),
            catalog: cache("catalog"),
            results: cache("results"),
            refused_clients: {
                let opts = Opts::new(
                    "drawbridge_client_session_errors_total",
                    "Requests that were refused because of their token",
                );
                register(&registry, IntCounter::with_opts(opts).expect(VALID))
            },
            dropped_spans: spans.with_label_values(&["dropped"]),
            exported_spans: spans.with_label_values(&["exported"]),
            series: ArcSwap::default(),
            registry,
        }))
    }

    /// Counts a request that has ended or was not allowed, and the duration of a call.
    pub fn count_end(&self, call: &Call, outcome: Outcome, duration_ms: Option<u32>) {
        let result = CallResult::new(call.decision, outcome);
        if call.method != GuardedMethod::CallTool {
            self.0
                .requests
                .with_label_values(&[call.method.name(), result.label()])
                .inc();
            return;
        }
        let series = self.find_or_add_series(call);
        series.calls[result.index()]
            .get_or_init(|| self.counter_with_label(&self.0.calls, &series, result.label()))
            .inc();
        if let Some(duration_ms) = duration_ms {
            series.seconds.observe(f64::from(duration_ms) / 1_000.0);
        }
    }

    /// Counts the estimated tokens of a call's arguments and of its result. `arguments` and
    /// `result` are their sizes in bytes.
    pub fn count_tokens(&self, call: &Call, arguments: usize, result: usize) {
        let series = self.find_or_add_series(call);
        series
            .sent_tokens
            .counter
            .inc_by(estimate_tokens(arguments));
        series
            .received_tokens
            .counter
            .inc_by(estimate_tokens(result));
    }

    /// Counts a request, or a result, about which a person is asked.
    pub fn count_asked(&self, call: &Call) {
        let series = self.find_or_add_series(call);
        let (client, server, tool) = &series.labels;
        let labels = [client.as_str(), server.as_str(), tool];
        let counter = || self.0.asked.with_label_values(&labels);
        series.asked.get_or_init(counter).inc();
    }

    /// Counts the decision on a request, or a result, about which a person was asked.
    pub fn count_decision(&self, call: &Call, decision: Decision, waited_ms: u32) {
        let series = self.find_or_add_series(call);
        series.approvals[position(Decision::ALL, decision)]
            .get_or_init(|| {
                self.counter_with_label(&self.0.approvals, &series, decision_label(decision))
            })
            .inc();
        self.0
            .approval_seconds
            .observe(f64::from(waited_ms) / 1_000.0);
    }

    /// Counts a request to a cache.
    pub fn count_cache_request(&self, cache: Cache, is_hit: bool) {
        let counters = self.cache(cache);
        let counter = if is_hit {
            &counters.hits
        } else {
            &counters.misses
        };
        counter.inc();
    }

    /// Counts that a cache was filled.
    pub fn count_cache_refresh(&self, cache: Cache) {
        self.cache(cache).refreshes.inc();
    }

    /// Counts a request that was refused because of its token.
    pub fn count_refused_client(&self) {
        self.0.refused_clients.inc();
    }

    /// Counts spans that the collector accepted.
    pub fn count_exported_spans(&self, count: usize) {
        let count = count.try_into().unwrap_or(u64::MAX);
        self.0.exported_spans.inc_by(count);
    }

    /// Counts spans that did not reach the collector, or that it refused.
    pub fn count_dropped_spans(&self, count: usize) {
        let count = count.try_into().unwrap_or(u64::MAX);
        self.0.dropped_spans.inc_by(count);
    }

    /// Returns the tokens that were counted since they were last taken, for each combination of
    /// client, server and tool with such tokens. A caller that cannot store the tokens gives them
    /// back with [`Self::return_tokens`].
    pub fn take_tokens(&self) -> Vec<TokenUsageRow> {
        let series = self.0.series.load();
        let taken = series.values().map(|series| TokenUsageRow {
            client: series.labels.0.clone(),
            server: series.labels.1.clone(),
            tool: series.labels.2.clone(),
            sent: series.sent_tokens.take(),
            received: series.received_tokens.take(),
        });
        taken.filter(|row| row.sent + row.received > 0).collect()
    }

    /// Takes back the tokens that could not be stored.
    pub fn return_tokens(&self, rows: Vec<TokenUsageRow>) {
        let series = self.0.series.load();
        for row in rows {
            if let Some(series) = series.get(&(row.client, row.server, row.tool)) {
                series.sent_tokens.put_back(row.sent);
                series.received_tokens.put_back(row.received);
            }
        }
    }

    /// Returns the current values of all metrics.
    pub fn gather(&self) -> Vec<MetricFamily> {
        self.0.registry.gather()
    }

    fn cache(&self, cache: Cache) -> &CacheCounters {
        match cache {
            Cache::Catalog => &self.0.catalog,
            Cache::Results => &self.0.results,
        }
    }

    /// Returns the counter for a series with one more label.
    fn counter_with_label(
        &self,
        counters: &IntCounterVec,
        series: &Series,
        label: &str,
    ) -> IntCounter {
        let (client, server, tool) = &series.labels;
        counters.with_label_values(&[client.as_str(), server.as_str(), tool, label])
    }

    /// Returns the counters of a request's client, server and tool. For a request other than a
    /// call, the name of its method stands for the tool.
    fn find_or_add_series(&self, call: &Call) -> Arc<Series> {
        let tool = if call.method != GuardedMethod::CallTool {
            call.method.name()
        } else if call.server.as_str().is_empty() {
            UNKNOWN
        } else {
            &call.tool
        };
        let key = (call.client.clone(), call.server.clone(), tool.to_owned());
        if let Some(series) = self.0.series.load().get(&key) {
            return series.clone();
        }
        self.add_series(key)
    }

    fn add_series(&self, key: SeriesKey) -> Arc<Series> {
        let other = || {
            (
                ClientName::new(OTHER),
                ServerId::new(OTHER),
                OTHER.to_owned(),
            )
        };
        let mut added = None;
        self.0.series.rcu(|series| {
            let is_full = series.len() >= MAX_SERIES;
            let key = if is_full { other() } else { key.clone() };
            if let Some(existing) = series.get(&key) {
                added = Some(existing.clone());
                return series.clone();
            }
            let new = Arc::new(self.new_series(key.clone()));
            added = Some(new.clone());
            let mut larger = HashMap::clone(series);
            larger.insert(key, new);
            Arc::new(larger)
        });
        added.expect("the closure runs at least once")
    }

    fn new_series(&self, labels: SeriesKey) -> Series {
        let (client, server, tool) = &labels;
        let values = [client.as_str(), server.as_str(), tool];
        let tokens = |direction| Tokens {
            counter: self.0.tokens.with_label_values(&[
                client.as_str(),
                server.as_str(),
                tool,
                direction,
            ]),
            stored: AtomicU64::new(0),
        };
        Series {
            seconds: self.0.call_seconds.with_label_values(&values),
            calls: Default::default(),
            asked: OnceLock::new(),
            approvals: Default::default(),
            sent_tokens: tokens("sent"),
            received_tokens: tokens("received"),
            labels,
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokens {
    fn take(&self) -> u64 {
        let counted = self.counter.get();
        counted.saturating_sub(self.stored.swap(counted, Ordering::Relaxed))
    }

    fn put_back(&self, tokens: u64) {
        self.stored.fetch_sub(tokens, Ordering::Relaxed);
    }
}

/// Estimates how many tokens a text has: a quarter of its bytes, rounded up.
fn estimate_tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4).try_into().unwrap_or(u64::MAX)
}

fn register_counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect(VALID);
    register(registry, counters)
}

fn register<T: Collector + Clone + 'static>(registry: &Registry, metric: T) -> T {
    registry.register(Box::new(metric.clone())).expect(VALID);
    metric
}

#[cfg(test)]
mod tests;
