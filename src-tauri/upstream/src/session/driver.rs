//! The driver of the state machine: starts and ends the server, waits out the pauses, and counts
//! crashes.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use drawbridge_model::{
    clock,
    event::Event,
    log::Level,
    protocol::{Era, ServerHello},
    server::{ServerState, Transition},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{Connection, Inner, ServerRequest, ServerSession};
use crate::transport::{EndReason, LostReason};
use crate::{
    UpstreamError,
    connector::Connected,
    error::UnreachableReason,
    server_subscriptions,
    state::{BREAKER_PAUSE, CRASH_WINDOW, MAX_CRASHES, State, StateEffect, StateEvent},
};

/// How long a server may take to answer a ping. If a server misses two pings in a row, its
/// connection is closed.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The reason that is shown for a session whose connection was closed after the idle timeout.
const IDLE_REASON: &str = "Stopped: no client used the server";
/// How often a client that waits for a start receives progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

impl ServerSession {
    /// Returns the live connection, or connects if there is none.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        if let Some(connection) = self.live_connection() {
            return Ok(connection);
        }
        // Start in a separate task, so that a caller that disconnects does not leave the start half
        // done.
        let me = self.clone();
        let start_task = tokio::spawn(async move { me.start().await });
        start_task
            .await
            .unwrap_or_else(|error| Err(UpstreamError::start_aborted(error)))
    }

    /// Returns the live connection for a request, or connects if there is none. A client's request
    /// waits for a start no longer than for an answer. If the client asked for progress, the
    /// request waits until the start ends, and the client receives progress meanwhile. A start
    /// continues even if no request waits for it.
    pub(super) async fn connect_for(
        self: &Arc<Self>,
        outgoing: &ServerRequest<'_>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let (Some(client_handle), None) = (outgoing.client_handle, self.live_connection()) else {
            return self.connect().await;
        };
        let mut connection = std::pin::pin!(self.connect());
        let Some(token) = outgoing.progress_token else {
            let waited = outgoing.timeouts.inactivity;
            return timeout(waited, connection)
                .await
                .unwrap_or(Err(UpstreamError::Starting { waited }));
        };
        for beat in 1_u32.. {
            match timeout(PROGRESS_INTERVAL, &mut connection).await {
                Ok(connected) => return connected,
                Err(_) => client_handle.notify(
                    "notifications/progress",
                    Some(&token.early_progress(beat, &self.inner().reason)),
                ),
            }
        }
        connection.await
    }

    pub(super) fn live_connection(&self) -> Option<Arc<Connection>> {
        self.inner()
            .connection
            .clone()
            .filter(|connection| connection.transport().end_reason().is_none())
    }

    /// Returns why the connection ended, if it has ended.
    fn ended_connection_reason(&self) -> Option<EndReason> {
        let inner = self.inner();
        inner.connection.as_ref()?.transport().end_reason()
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        let _starting = self.starting.lock().await;
        if let Some(connection) = self.live_connection() {
            return Ok(connection);
        }
        // The end of the last connection may not have been handled yet.
        if let Some(reason) = self.ended_connection_reason() {
            self.handle_crash(reason);
        }
        self.wait_out_pause().await?;
        if self.inner().retired {
            return Err(UpstreamError::stopped());
        }
        let reason = "Starting: a request needs the server";
        let mut effect = self.step(StateEvent::Needed, reason.into(), None);
        let mut failure = UpstreamError::stopped();
        while let Some(StateEffect::Start) = effect {
            self.starts.fetch_add(1, Ordering::Relaxed);
            let progress = |message| self.report_start_progress(message);
            match self
                .connector
                .connect(
                    &self.server,
                    self.client.as_ref(),
                    self.non_jsonrpc_lines.clone(),
                    &progress,
                )
                .await
            {
                Ok(connected) => return self.activate(connected).await,
                Err(error) => failure = error,
            }
            effect = self.handle_failed_start(&failure);
            let state = self.inner().state;
            if let (Some(StateEffect::Pause(_)), State::Error { .. }) = (effect, state) {
                let until = self.inner().no_start_before;
                if let Some(until) = until {
                    sleep_until(until).await;
                }
                self.inner().no_start_before = None;
                effect = self.step(
                    StateEvent::PauseOver,
                    "Starting again after a failed start".into(),
                    Some(failure.clone()),
                );
            }
        }
        Err(failure)
    }

    /// Reports the progress of a start that takes long.
    fn report_start_progress(&self, message: String) {
        self.inner().reason = message;
        self.emit_server_changed();
    }

    /// Waits until the pause after a crash is over.
    ///
    /// # Errors
    /// Returns an error if the breaker is open, because its pause is too long for a request.
    async fn wait_out_pause(&self) -> Result<(), UpstreamError> {
        let (state, until) = {
            let inner = self.inner();
            (inner.state, inner.no_start_before)
        };
        match (state, until) {
            (State::BreakerOpen, until) => Err(self.breaker_open_error(until)),
            (State::Error { .. }, Some(until)) => {
                sleep_until(until).await;
                self.end_pause(until);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn breaker_open_error(&self, until: Option<Instant>) -> UpstreamError {
        let seconds = until.map_or(0, |until| {
            until.saturating_duration_since(Instant::now()).as_secs() + 1
        });
        match self.inner().failure.clone() {
            Some(failure) => UpstreamError::Unreachable(UnreachableReason::CrashedOften {
                retry_after: Duration::from_secs(seconds),
                last_error: Box::new(failure),
            }),
            // The session was stopped in the meantime.
            None => UpstreamError::stopped(),
        }
    }

    async fn activate(
        self: &Arc<Self>,
        connected: Connected,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let Connected { connection, inbox } = connected;
        let accepted = {
            let mut inner = self.inner();
            let (next, _) = inner.state.apply(StateEvent::Ready);
            let accepted = next == State::Active && !inner.retired;
            if accepted {
                inner.state = next;
                inner.reason = String::new();
                inner.failure = None;
                inner.last_used = Instant::now();
                inner.connection = Some(connection.clone());
                // Dropping the old set ends the tasks of the last connection.
                inner.tasks = JoinSet::new();
                inner
                    .tasks
                    .spawn(self.clone().handle_incoming(connection.clone(), inbox));
                let (subscriptions, ids) =
                    (self.subscriptions.clone(), self.connector.ids().clone());
                inner.tasks.spawn(server_subscriptions::maintain(
                    subscriptions,
                    connection.clone(),
                    ids,
                ));
            }
            accepted
        };
        if !accepted {
            connection.close().await;
            return Err(UpstreamError::stopped());
        }
        self.report_transition(State::Active, connected_reason(&connection.hello), false);
        tokio::spawn(self.clone().end_when_idle(connection.clone()));
        tokio::spawn(self.clone().end_when_unresponsive(connection.clone()));
        Ok(connection)
    }

    /// Updates the state after a failed start, and returns the action to perform.
    fn handle_failed_start(self: &Arc<Self>, failure: &UpstreamError) -> Option<StateEffect> {
        // A program that ends while it is being started has crashed. A URL that does not answer has
        // not crashed.
        let is_crash =
            self.server.spec.command.is_some() && matches!(failure, UpstreamError::Lost(_));
        let crashes = self.inner().count_crash(is_crash);
        let event = StateEvent::Failed {
            is_permanent: !failure.is_transient(),
            retries: self.server.spec.retries,
            crashes,
        };
        let reason = failure_reason(crashes, failure);
        let effect = self.step_with(event, reason, Some(failure.clone()), |inner, effect| {
            inner.set_pause(effect);
        });
        // If another start follows, the caller itself waits for the pause to end.
        if self.inner().state == State::BreakerOpen {
            self.report_pause();
        }
        effect
    }

    /// Updates the state after a connection has ended by itself.
    fn handle_crash(self: &Arc<Self>, reason: EndReason) {
        let crashes = {
            let mut inner = self.inner();
            if inner.state != State::Active {
                return;
            }
            // The caller may be one of the connection's tasks, so the tasks are aborted only when
            // the next connection replaces them.
            inner.release_connection();
            inner.count_crash(true)
        };
        let failure = UpstreamError::Lost(LostReason::Ended(reason))
            .map_text(&|text| self.connector.logs().mask_text(text));
        self.step_with(
            StateEvent::Ended { crashes },
            failure_reason(crashes, &failure),
            Some(failure),
            Inner::set_pause,
        );
        self.report_pause();
    }

    /// Ends a connection whose server should be told of more extensions, unless a request uses the
    /// connection. The next request connects again.
    pub(super) async fn end_outdated_connection(self: &Arc<Self>) {
        let Some(connection) = self
            .live_connection()
            .filter(|connection| connection.is_outdated())
        else {
            return;
        };
        let reason = "Connecting again: a client supports further extensions";
        self.end_connection_if(&connection, reason.to_owned(), |inner| inner.in_use == 0)
            .await;
    }

    /// Ends a connection, even if requests use it. The next request connects again.
    pub(super) async fn end_connection(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        reason: String,
    ) {
        self.end_connection_if(connection, reason, |_| true).await;
    }

    async fn end_connection_if(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        reason: String,
        may_end: impl FnOnce(&Inner) -> bool,
    ) {
        let ends = {
            let mut inner = self.inner();
            let ends = inner.owns(connection) && may_end(&inner);
            if ends {
                let (next, _) = inner.state.apply(StateEvent::IdleTimeout);
                inner.state = next;
                inner.reason.clone_from(&reason);
                inner.take_connection();
            }
            ends
        };
        if ends {
            self.report_transition(State::Idle, reason, false);
            connection.close().await;
        }
    }

    pub(super) fn handle_connection_end(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        reason: EndReason,
    ) {
        if self.inner().owns(connection) {
            self.handle_crash(reason);
        }
    }

    /// Reports the pause that has begun, if any, and ends the pause when its time is over.
    fn report_pause(self: &Arc<Self>) {
        let Some(until) = self.inner().no_start_before else {
            return;
        };
        self.emit_server_changed();
        let me = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep_until(until).await;
            if let Some(me) = me.upgrade() {
                me.end_pause(until);
            }
        });
    }

    /// Ends the pause that lasts until `until`. Only the first call for a pause has an effect.
    fn end_pause(&self, until: Instant) {
        let is_current = self
            .inner()
            .no_start_before
            .take_if(|end| *end == until)
            .is_some();
        if is_current {
            let failure = self.inner().failure.clone();
            self.step(
                StateEvent::PauseOver,
                "Stopped: the next call starts the server again".into(),
                failure,
            );
        }
    }

    /// Applies an event to the state machine, and reports the transition if the state changes.
    /// Returns the action to perform.
    pub(super) fn step(
        &self,
        event: StateEvent,
        reason: String,
        failure: Option<UpstreamError>,
    ) -> Option<StateEffect> {
        self.step_with(event, reason, failure, |_, _| {})
    }

    /// Like [`step`](Self::step). Applies `change` together with the transition, so that no other
    /// task sees one without the other.
    fn step_with(
        &self,
        event: StateEvent,
        reason: String,
        failure: Option<UpstreamError>,
        change: impl FnOnce(&mut Inner, Option<StateEffect>),
    ) -> Option<StateEffect> {
        let is_failure = matches!(event, StateEvent::Failed { .. } | StateEvent::Ended { .. });
        let mut inner = self.inner();
        let (next, effect) = inner.state.apply(event);
        if next != inner.state {
            inner.state = next;
            inner.reason.clone_from(&reason);
            inner.failure = failure;
            change(&mut inner, effect);
            drop(inner);
            self.report_transition(next, reason, is_failure);
        }
        effect
    }

    /// Reports a transition to the screens, the log, the history and the hub.
    fn report_transition(&self, state: State, reason: String, is_failure: bool) {
        self.report_connection_change(state, &reason);
        let transition = Transition {
            at: clock::now(),
            client: self.client.clone(),
            state: state.into(),
            reason,
        };
        let id = &self.server.id;
        let state = serde_json::to_value(transition.state).expect("a state is valid JSON");
        let state = state.as_str().expect("a state is a string in JSON");
        let line = format!("{state}: {}", transition.reason);
        let level = if is_failure { Level::Warn } else { Level::Info };
        self.connector
            .logs()
            .add_server_line(id, level, "session", &line);
        let history = &self.session_events.history;
        history.record(id, transition.clone(), is_failure);
        self.connector.events().publish(Event::SessionChanged {
            server: id.clone(),
            transition,
        });
        self.emit_server_changed();
    }

    /// Tells the hub if this transition is a new connection, the end of a connection, or a failed
    /// attempt to connect.
    fn report_connection_change(&self, state: State, reason: &str) {
        let id = &self.server.id;
        let mut inner = self.inner();
        let change = match state {
            State::Initializing { .. } => {
                inner.reported.begin();
                None
            }
            State::Active => {
                let connection = inner.connection.clone();
                connection.map(|connection| inner.reported.connect(id, &connection))
            }
            State::Idle | State::Error { .. } | State::BreakerOpen | State::Closed => {
                inner.reported.end(id, &self.server.spec, reason)
            }
        };
        drop(inner);
        if let Some(change) = change {
            self.session_events.send_connection_change(change);
        }
    }

    fn emit_server_changed(&self) {
        self.connector.events().publish(Event::ServerChanged {
            id: self.server.id.clone(),
        });
    }

    async fn end_when_idle(self: Arc<Self>, connection: Arc<Connection>) {
        let idle_timeout = Duration::from_millis(self.server.spec.timeouts.idle_ms.into());
        loop {
            let next_check = match self.inner().check_idle(
                &connection,
                idle_timeout,
                !self.subscriptions.is_empty(),
            ) {
                IdleCheck::Gone => return,
                IdleCheck::Until(next_check) => next_check,
                IdleCheck::Now => break,
            };
            tokio::select! {
                () = sleep_until(next_check) => {}
                () = connection.released.cancelled() => return,
            }
        }
        self.report_transition(State::Idle, IDLE_REASON.into(), false);
        connection.close().await;
    }

    /// Pings a server of the legacy era while no request is in flight. Ends the connection if the
    /// server misses two pings in a row.
    async fn end_when_unresponsive(self: Arc<Self>, connection: Arc<Connection>) {
        let period = Duration::from_millis(self.server.spec.timeouts.ping_ms.into());
        if period.is_zero() || connection.era() == Era::Modern {
            return;
        }
        let mut missed = 0;
        while missed < 2 {
            tokio::select! {
                () = sleep(with_jitter(period)) => {}
                () = connection.released.cancelled() => return,
            }
            if self.inner().in_use > 0 {
                continue;
            }
            // Any answer is a sign of life, even an error because the server does not support
            // `ping`.
            missed = if connection.ping(PING_TIMEOUT).await.is_ok() {
                0
            } else {
                missed + 1
            };
        }
        connection.close().await;
        self.handle_connection_end(&connection, EndReason::Unresponsive);
    }
}

impl From<State> for ServerState {
    fn from(state: State) -> Self {
        match state {
            State::Idle => Self::Idle,
            State::Initializing { .. } => Self::Initializing,
            State::Active => Self::Active,
            State::Error { .. } | State::BreakerOpen => Self::Error,
            State::Closed => Self::Closed,
        }
    }
}

/// The result of checking whether a connection is idle.
enum IdleCheck {
    /// The connection has not been idle for long enough. The next check is due at this moment.
    Until(Instant),
    /// The connection has been idle for long enough. The session has given it up, and the caller
    /// has to close it.
    Now,
    /// The connection has ended, or no longer belongs to the session.
    Gone,
}

impl Inner {
    fn owns(&self, connection: &Arc<Connection>) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, connection))
    }

    /// Begins the pause that `effect` requests, if any.
    fn set_pause(&mut self, effect: Option<StateEffect>) {
        if let Some(StateEffect::Pause(pause)) = effect {
            self.no_start_before = Some(Instant::now() + with_jitter(pause));
        }
    }

    pub(super) fn take_connection(&mut self) -> Option<Arc<Connection>> {
        self.tasks.abort_all();
        self.release_connection()
    }

    fn release_connection(&mut self) -> Option<Arc<Connection>> {
        let connection = self.connection.take()?;
        connection.released.cancel();
        Some(connection)
    }

    /// Records a crash now if `is_crash` is set, and returns the number of crashes within the last
    /// minute.
    fn count_crash(&mut self, is_crash: bool) -> u32 {
        let now = Instant::now();
        self.crashes
            .retain(|crashed_at| now.duration_since(*crashed_at) < CRASH_WINDOW);
        if is_crash {
            self.crashes.push(now);
        }
        u32::try_from(self.crashes.len()).unwrap_or(u32::MAX)
    }

    fn check_idle(
        &mut self,
        connection: &Arc<Connection>,
        idle_timeout: Duration,
        has_subscriptions: bool,
    ) -> IdleCheck {
        // The shortest time until the next check, so that the caller's loop does not spin if the
        // timeout is very short or a request is in flight.
        const MIN_PAUSE: Duration = Duration::from_millis(50);
        if connection.transport().end_reason().is_some() || !self.owns(connection) {
            return IdleCheck::Gone;
        }
        let now = Instant::now();
        if has_subscriptions {
            self.last_used = now;
        }
        let deadline = self.last_used + idle_timeout;
        if self.in_use > 0 || deadline > now {
            return IdleCheck::Until(deadline.max(now + MIN_PAUSE));
        }
        let (next, effect) = self.state.apply(StateEvent::IdleTimeout);
        self.state = next;
        self.reason = IDLE_REASON.into();
        if effect == Some(StateEffect::Stop) {
            self.take_connection();
        }
        IdleCheck::Now
    }
}

/// Returns the text of a failure. If the breaker opens, the text also says for how long the server
/// is not restarted.
fn failure_reason(crashes: u32, failure: &UpstreamError) -> String {
    if crashes < MAX_CRASHES {
        return failure.to_string();
    }
    let seconds = BREAKER_PAUSE.as_secs();
    format!(
        "The server crashed {crashes} times within a minute. It will not be restarted for about {seconds} s. \
         Last error: {failure}"
    )
}

fn connected_reason(hello: &ServerHello) -> String {
    let method = match hello.era() {
        Era::Legacy => "initialize",
        Era::Modern => "server/discover",
    };
    format!("Connected with {method} ({})", hello.protocol_version)
}

/// Makes a pause up to a quarter shorter or longer, so that servers do not start at the same moment.
fn with_jitter(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.75..1.25))
}
