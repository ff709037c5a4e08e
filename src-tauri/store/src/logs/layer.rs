//! Writes the events of `tracing` to the log.

use std::fmt::{self, Write};

use drawbridge_model::log::Level;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    layer::{Context, SubscriberExt},
};

use super::Logs;

/// The environment variable that sets the level of each area, for instance to
/// `info,drawbridge_upstream=debug`.
const FILTER_VARIABLE: &str = "DRAWBRIDGE_LOG";

pub(super) fn install(logs: Logs) {
    let filter = EnvFilter::try_from_env(FILTER_VARIABLE)
        .unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,zbus=warn"));
    let subscriber = tracing_subscriber::registry()
        .with(filter)
        .with(LogLayer(logs));
    // A process has one log. A second hub in the same process (in tests) writes to the first hub's
    // log.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct LogLayer(Logs);

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // At lower levels, rmcp logs authorization codes and data that accompanies tokens.
        if metadata.target().starts_with("rmcp") && *metadata.level() > tracing::Level::WARN {
            return;
        }
        let mut text = MessageVisitor::default();
        event.record(&mut text);
        let area = event.metadata().target().trim_start_matches("drawbridge_");
        self.0
            .add_hub_line(level(event.metadata().level()), area, &text.0);
    }
}

fn level(level: &tracing::Level) -> Level {
    match *level {
        tracing::Level::TRACE => Level::Trace,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::INFO => Level::Info,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::ERROR => Level::Error,
    }
}

/// Collects the text of an event: the message, and then the fields.
#[derive(Default)]
struct MessageVisitor(String);

impl Visit for MessageVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.insert_str(0, &format!("{value:?}"));
        } else {
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }
}
