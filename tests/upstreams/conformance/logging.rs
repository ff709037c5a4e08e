//! Log messages to the client, unless they are below the level that the client requested.

#![expect(deprecated, reason = "deprecated features must keep working")]

use std::sync::{Arc, Mutex};

use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::RequestContext,
};
use serde_json::Value;

use crate::client_input::is_modern;

/// The minimum log level that the client of a session set; `info` if the client set none.
#[derive(Debug, Clone)]
pub(crate) struct LogLevel(Arc<Mutex<LoggingLevel>>);

impl Default for LogLevel {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LoggingLevel::Info)))
    }
}

impl LogLevel {
    pub(crate) fn set(&self, level: LoggingLevel) {
        *self.0.lock().expect("no thread panicked with this lock") = level;
    }

    fn get(&self) -> LoggingLevel {
        *self.0.lock().expect("no thread panicked with this lock")
    }

    /// Sends a message at `info`, unless the client's minimum level is higher. In the modern era,
    /// the request names this level, and a request without a level gets no messages.
    pub(crate) async fn log_info(&self, context: &RequestContext<RoleServer>, text: &str) {
        let min_level = if is_modern(context) {
            context.meta.log_level()
        } else {
            Some(self.get())
        };
        if min_level.is_some_and(|level| level as u8 <= LoggingLevel::Info as u8) {
            let message =
                LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::from(text));
            drop(context.peer.notify_logging_message(message).await);
        }
    }
}
