//! `call`, `session_period` and `call_result`: every call, and every other guarded request, with
//! its decision, its outcome and its kept result. Only the journal writes these tables.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
};

use drawbridge_model::{
    audit::{AuditKind, AuditedCall},
    call::{Call, Decision, KeptResult, Outcome},
    clock,
    content::ContentFlag,
    ids::{CallId, ClientName, RuleId, ServerId, SessionId, Timestamp, UserName},
    random,
};
use rusqlite::{Connection, ToSql, params};
use sqlx::{QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    from_enum_text,
    rule::{self, NewRule},
    to_enum_text,
};
use crate::{
    Store, StoreContext, StoreError,
    audit::{Chain, DecisionColumns, OutcomeColumns, Sealed},
};

/// Declares the columns of a row once, for the journal, which writes them with rusqlite, and for
/// the readers, which use sqlx.
macro_rules! columns {
    ($(#[$comment:meta])* struct $name:ident<$lifetime:lifetime> { $($column:ident: $type:ty,)+ }) => {
        $(#[$comment])*
        struct $name<$lifetime> {
            $($column: $type,)+
        }

        impl<$lifetime> $name<$lifetime> {
            const NAMES: &'static [&'static str] = &[$(stringify!($column)),+];

            /// Returns the values in the order of [`Self::NAMES`].
            fn values(&self) -> Vec<&dyn ToSql> {
                vec![$(&self.$column),+]
            }

            fn read(row: &$lifetime SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($column: row.try_get(stringify!($column))?,)+
                })
            }
        }
    };
}

columns! {
    /// A row of `call`.
    struct CallColumns<'a> {
        id: i64,
        at: i64,
        client: Cow<'a, str>,
        server: Cow<'a, str>,
        tool: Cow<'a, str>,
        exposed_name: Cow<'a, str>,
        definition_digest: Cow<'a, str>,
        arguments_digest: Cow<'a, str>,
        decision: Cow<'a, str>,
        decided_by: Cow<'a, str>,
        reason: Cow<'a, str>,
        outcome: Cow<'a, str>,
        error: Cow<'a, str>,
        waited_ms: u32,
        duration_ms: Option<u32>,
        arguments: Option<Cow<'a, str>>,
        seq: Option<i64>,
        rule: Option<Cow<'a, str>>,
        is_edited: bool,
        method: Cow<'a, str>,
        extra: Option<Cow<'a, str>>,
        original_arguments: Option<Cow<'a, str>>,
        request_hooks: Option<Cow<'a, str>>,
        result_hooks: Option<Cow<'a, str>>,
        flags: Option<Cow<'a, str>>,
        session: Option<Cow<'a, str>>,
    }
}

/// The statement that inserts a row with all its columns.
static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names = CallColumns::NAMES;
    let placeholders = vec!["?"; names.len()];
    format!(
        "INSERT INTO call ({}) VALUES ({})",
        names.join(", "),
        placeholders.join(", ")
    )
});

/// The columns of a call in a list, with `NULL` instead of its long texts.
static LIST_COLUMNS: LazyLock<String> = LazyLock::new(|| {
    let columns = CallColumns::NAMES.iter().map(|name| match *name {
        "arguments" => "NULL AS arguments",
        "extra" => "NULL AS extra",
        "original_arguments" => "NULL AS original_arguments",
        name => name,
    });
    columns.collect::<Vec<_>>().join(", ")
});

/// A call, and the data to which its decision is bound.
#[derive(Debug, Clone)]
pub struct CallRow {
    pub call: Call,
    pub definition_digest: String,
    pub arguments_digest: String,
    /// Whether the rule that decided the call applies to a limited number of calls, so that this
    /// call counts.
    pub is_counted: bool,
    /// The arguments as stored: JSON text with secrets masked, or `None` if they are long, or if
    /// too many calls of the client were denied.
    pub arguments: Option<String>,
    /// The params besides the name and the arguments, in the same form.
    pub extra: Option<String>,
    /// The client's arguments if a person or a hook changed them, in the same form.
    pub original_arguments: Option<String>,
    /// The rule that the decision creates. The journal writes the rule together with the decision.
    pub new_rule: Option<Box<NewRule>>,
}

/// Which calls to read, newest first.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    pub client: Option<ClientName>,
    pub session: Option<SessionId>,
    pub server: Option<ServerId>,
    /// The server's own name of the tool or prompt, or the URI of the resource.
    pub tool: Option<String>,
    /// Only calls that needed a person's decision, including calls that nobody decided.
    pub needed_approval: bool,
    /// Only calls with this text in their method, tool, exposed name, reason, error, arguments,
    /// original arguments or other params. ASCII letters match in any case.
    pub text: Option<String>,
    pub decision: Option<Decision>,
    pub outcome: Option<Outcome>,
    /// Only calls that are older than this call.
    pub before: Option<CallId>,
    /// Only calls at or after `since`, and before `until`.
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: u32,
}

/// Which past calls to read with their arguments, newest first.
#[derive(Debug, Clone, Default)]
pub struct PastCallFilter {
    pub client: Option<ClientName>,
    /// Only calls of clients that belong to this user now.
    pub user: Option<UserName>,
    pub server: Option<ServerId>,
    pub tool: Option<String>,
    /// Only calls that needed a person's decision, including calls that nobody decided.
    pub needed_approval: bool,
    pub since: Option<Timestamp>,
    pub limit: u32,
}

/// The number of calls that a client abandoned before a decision, and the longest wait for a
/// decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbandonedCalls {
    pub count: u32,
    pub longest_wait_ms: u32,
}

/// The SQL condition for calls that needed a person's decision, including calls that nobody
/// decided. Rules, defaults and Drawbridge itself decide the other calls.
///
/// The index `call_asked` has the same condition. With `IN`, SQLite would build a temporary table of
/// the values for each call that is inserted.
pub(super) const WAS_ASKED: &str = "(decided_by = 'person' OR decision = 'timed_out' OR decision = 'no_screen' OR decision = 'queue_full' OR decision = 'muted' OR decision = 'abandoned')";

/// The number of bits of a call's number, which consists of the lowest bits of the microseconds
/// since 1970.
const NUMBER_BITS: u32 = 50;

/// How many of the lowest bits of a call's number vary within a period of `session_period`.
const PERIOD_BITS: u32 = 30;

/// The most sessions whose newest period is remembered.
const MAX_KNOWN_SESSIONS: usize = 10_000;

/// The sessions that are in `session_period` with the newest period, so that most calls do not
/// write to that table.
#[derive(Default)]
pub(crate) struct SessionPeriods {
    period: i64,
    sessions: HashSet<String>,
}

impl SessionPeriods {
    /// Adds a session with a period. Returns whether the pair may be missing in the table.
    fn add(&mut self, session: &str, period: i64) -> bool {
        if period != self.period || self.sessions.len() >= MAX_KNOWN_SESSIONS {
            self.period = period;
            self.sessions.clear();
        }
        let is_new = !self.sessions.contains(session);
        if is_new {
            self.sessions.insert(session.to_owned());
        }
        is_new
    }
}

/// Returns the smallest number of a call that began at or after `since`. The numbers begin again at
/// 0 every 35 years. Returns 0 if they began again between `since` and `now`.
pub(super) fn first_number(since: Timestamp, now: Timestamp) -> i64 {
    let number = |at: Timestamp| at.0.saturating_mul(1_000) & ((1 << NUMBER_BITS) - 1);
    let first = number(since);
    if first <= number(now) { first } else { 0 }
}

/// The columns that the filter for a text searches.
const SEARCHED_COLUMNS: [&str; 8] = [
    "tool",
    "exposed_name",
    "reason",
    "error",
    "arguments",
    "extra",
    "original_arguments",
    "method",
];

impl Store {
    /// Returns past calls, each with its stored arguments.
    pub async fn past_calls(&self, filter: &PastCallFilter) -> Result<Vec<Call>, StoreError> {
        self.read_calls(past_calls_query(filter)).await
    }

    pub async fn calls(&self, filter: &CallFilter) -> Result<Vec<Call>, StoreError> {
        self.read_calls(calls_query(filter)).await
    }

    async fn read_calls(&self, mut query: QueryBuilder<Sqlite>) -> Result<Vec<Call>, StoreError> {
        let rows = query.build().fetch_all(&self.pool).await;
        rows.and_then(|rows| rows.iter().map(call_from_row).collect())
            .context("cannot read the calls")
    }

    /// Returns calls with their audit data, oldest first: the calls after `after`, at or after
    /// `since`, and before `until`.
    pub async fn audited_calls(
        &self,
        after: Option<&CallId>,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<AuditedCall>, StoreError> {
        let rows = sqlx::query(
            "SELECT c.*, a.hash, r.text AS result, r.is_cut, r.bytes FROM call c
             LEFT JOIN audit a ON a.seq = c.seq LEFT JOIN call_result r ON r.call = c.id
             WHERE c.id > ?1 AND (?2 IS NULL OR c.at >= ?2) AND (?3 IS NULL OR c.at < ?3) ORDER BY c.id LIMIT ?4",
        )
        .bind(after.and_then(row_id).unwrap_or(-1))
        .bind(since.map(|at| at.0))
        .bind(until.map(|at| at.0))
        .bind(limit)
        .fetch_all(&self.pool)
        .await;
        rows.and_then(|rows| rows.iter().map(audited_from_row).collect())
            .context("cannot read the calls")
    }

    pub async fn call(&self, id: &CallId) -> Result<Option<Call>, StoreError> {
        let Some(number) = row_id(id) else {
            return Ok(None);
        };
        let row = sqlx::query(
            "SELECT c.*, r.text AS result, r.is_cut, r.bytes FROM call c
             LEFT JOIN call_result r ON r.call = c.id WHERE c.id = ?",
        )
        .bind(number)
        .fetch_optional(&self.pool)
        .await;
        row.and_then(|row| row.as_ref().map(full_call_from_row).transpose())
            .context("cannot read a call")
    }

    /// Returns, for each client, the calls since `since` that it abandoned before a decision.
    pub async fn abandoned_calls(
        &self,
        since: Timestamp,
    ) -> Result<BTreeMap<ClientName, AbandonedCalls>, StoreError> {
        let rows = sqlx::query(
            "SELECT client, COUNT(*) AS count, MAX(waited_ms) AS longest_wait_ms FROM call
             WHERE at >= ? AND decision = 'abandoned' GROUP BY client",
        )
        .bind(since.0)
        .fetch_all(&self.pool)
        .await;
        let of_client = |row: &SqliteRow| {
            Ok((
                ClientName::new(row.try_get::<String, _>("client")?),
                AbandonedCalls {
                    count: row.try_get("count")?,
                    longest_wait_ms: row.try_get("longest_wait_ms")?,
                },
            ))
        };
        rows.and_then(|rows| rows.iter().map(of_client).collect())
            .context("cannot read the calls")
    }

    /// Returns whether a call of the tool by the client is stored, regardless of the decision.
    pub async fn has_called(
        &self,
        client: &ClientName,
        server: &ServerId,
        tool: &str,
    ) -> Result<bool, StoreError> {
        let row =
            sqlx::query("SELECT 1 FROM call WHERE client = ? AND server = ? AND tool = ? ORDER BY id DESC LIMIT 1")
                .bind(client.as_str())
                .bind(server.as_str())
                .bind(tool)
                .fetch_optional(&self.pool)
                .await;
        row.map(|row| row.is_some())
            .context("cannot read the calls")
    }
}

/// Returns the query for calls in a list. The query has only the conditions of the filters that are
/// set, so that SQLite can choose an index.
fn calls_query(filter: &CallFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(format!("SELECT {} FROM", *LIST_COLUMNS));
    let first = filter.since.map(|since| first_number(since, clock::now()));
    let before = filter.before.as_ref().and_then(row_id);
    let (id, order) = match &filter.session {
        None => {
            query.push(" call WHERE TRUE");
            ("id", "id DESC")
        }
        Some(session) => {
            push_session(&mut query, session, first, before);
            // The periods bound the scan. The plus sign keeps SQLite from bounding the scan by the
            // conditions on `id` instead.
            ("+id", "period DESC, id DESC")
        }
    };
    let equal = [
        ("client", filter.client.as_ref().map(ClientName::as_str)),
        ("server", filter.server.as_ref().map(ServerId::as_str)),
        ("tool", filter.tool.as_deref()),
    ];
    push_equal(&mut query, equal);
    if filter.needed_approval {
        query.push(format!(" AND {WAS_ASKED}"));
    }
    // The second conditions are the conditions of partial indexes, which hold only the rarer
    // values.
    if let Some(decision) = &filter.decision {
        query
            .push(" AND decision = ")
            .push_bind(to_enum_text(decision));
        if *decision != Decision::Allowed {
            query.push(" AND decision <> 'allowed'");
        }
    }
    if let Some(outcome) = &filter.outcome {
        query
            .push(" AND outcome = ")
            .push_bind(to_enum_text(outcome));
        if !matches!(outcome, Outcome::Ok | Outcome::Running) {
            query.push(" AND outcome NOT IN ('ok', 'running')");
        }
    }
    if let Some(number) = before {
        query.push(format!(" AND {id} < ")).push_bind(number);
    }
    if let Some(number) = first {
        query.push(format!(" AND {id} >= ")).push_bind(number);
    }
    push_time_span(&mut query, filter.since, filter.until);
    if let Some(text) = &filter.text {
        let pattern = like_pattern(text);
        query.push(" AND (FALSE");
        for column in SEARCHED_COLUMNS {
            query.push(format!(" OR {column} LIKE "));
            query.push_bind(pattern.clone()).push(r" ESCAPE '\'");
        }
        query.push(")");
    }
    query
        .push(format!(" ORDER BY {order} LIMIT "))
        .push_bind(filter.limit);
    query
}

/// Adds the tables and the conditions for the calls of a session, so that only the periods in which
/// the session made calls are read. Skips the periods before the call `first` and those after the
/// call `before`, if these calls are given.
fn push_session(
    query: &mut QueryBuilder<Sqlite>,
    session: &SessionId,
    first: Option<i64>,
    before: Option<i64>,
) {
    query
        .push(" session_period CROSS JOIN call WHERE session_id = ")
        .push_bind(session.as_str().to_owned())
        .push(format!(
            " AND id >= period << {PERIOD_BITS} AND id < (period + 1) << {PERIOD_BITS}"
        ))
        .push(" AND session = session_id");
    if let Some(first) = first {
        query
            .push(" AND period >= ")
            .push_bind(first >> PERIOD_BITS);
    }
    if let Some(before) = before {
        query
            .push(" AND period <= ")
            .push_bind(before >> PERIOD_BITS);
    }
}

/// Returns the query for past calls, made like [`calls_query`].
fn past_calls_query(filter: &PastCallFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT * FROM call WHERE TRUE");
    let equal = [
        ("client", filter.client.as_ref().map(ClientName::as_str)),
        ("server", filter.server.as_ref().map(ServerId::as_str)),
        ("tool", filter.tool.as_deref()),
    ];
    push_equal(&mut query, equal);
    if let Some(user) = &filter.user {
        query.push(" AND client IN (SELECT name FROM client WHERE user = ");
        query.push_bind(user.as_str().to_owned()).push(")");
    }
    if filter.needed_approval {
        query.push(format!(" AND {WAS_ASKED}"));
    }
    if let Some(since) = filter.since {
        query
            .push(" AND id >= ")
            .push_bind(first_number(since, clock::now()));
    }
    push_time_span(&mut query, filter.since, None);
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(filter.limit);
    query
}

/// Adds a condition for each column with a value.
fn push_equal<const N: usize>(
    query: &mut QueryBuilder<Sqlite>,
    columns: [(&str, Option<&str>); N],
) {
    for (column, value) in columns {
        if let Some(value) = value {
            query
                .push(format!(" AND {column} = "))
                .push_bind(value.to_owned());
        }
    }
}

/// Adds the conditions for calls at or after `since`, and before `until`. The condition for their
/// numbers, which bounds the scan, is separate.
fn push_time_span(
    query: &mut QueryBuilder<Sqlite>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) {
    if let Some(since) = since {
        query.push(" AND at >= ").push_bind(since.0);
    }
    if let Some(until) = until {
        query.push(" AND at < ").push_bind(until.0);
    }
}

/// The end of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) id: CallId,
    pub(crate) outcome: Outcome,
    pub(crate) error: String,
    pub(crate) duration_ms: Option<u32>,
    /// The hooks that replaced the result.
    pub(crate) result_hooks: Vec<String>,
    /// The flags of suspicious content in the result.
    pub(crate) flags: Vec<ContentFlag>,
}

/// Writes calls with their decisions.
pub(crate) fn insert_decisions<'a>(
    rows: impl Iterator<Item = &'a CallRow>,
    periods: &mut SessionPeriods,
    connection: &Connection,
    chain: &mut Chain<'_>,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(&INSERT)?;
    let mut insert_period = connection.prepare_cached(
        "INSERT OR IGNORE INTO session_period (session_id, period) VALUES (?, ?)",
    )?;
    for row in rows {
        let columns = CallColumns::new(row, chain.next_seq())?;
        statement.execute(&*columns.values())?;
        if let Some(session) = &columns.session {
            let period = columns.id >> PERIOD_BITS;
            if periods.add(session, period) {
                insert_period.execute(params![session, period])?;
            }
        }
        if let (true, Some(rule)) = (row.is_counted, &row.call.rule) {
            rule::count_call(rule, connection)?;
        }
        let sealed_columns = columns.sealed(row.call.decision);
        let sealed = Sealed::Decision(&sealed_columns);
        chain.append(AuditKind::Decided, Some(columns.id), "", &sealed)?;
        if let Some(new_rule) = &row.new_rule {
            rule::save(new_rule, connection, chain)?;
        }
    }
    Ok(())
}

/// Writes the outcomes of calls. If a call has an outcome already, the first outcome stays.
pub(crate) fn write_outcomes(
    outcomes: &[CallOutcome],
    connection: &Connection,
    chain: &mut Chain<'_>,
) -> Result<(), rusqlite::Error> {
    let mut update = connection.prepare_cached(
        "UPDATE call SET outcome = ?, error = ?, duration_ms = ?, result_hooks = ?, flags = ?
         WHERE id = ? AND outcome = 'running' AND seq IS NOT NULL",
    )?;
    for ended in outcomes {
        let number = require_row_id(&ended.id)?;
        let outcome = to_enum_text(&ended.outcome);
        let hooks = join_names(&ended.result_hooks);
        let flags = flags_to_text(&ended.flags);
        let values = params![
            outcome,
            ended.error,
            ended.duration_ms,
            hooks,
            flags,
            number
        ];
        if update.execute(values)? == 0 {
            // Calls from before the audit log existed have no entries.
            let mut update_without_entry = connection.prepare_cached(
                "UPDATE call SET outcome = ?, error = ?, duration_ms = ?, result_hooks = ?, flags = ?
                 WHERE id = ? AND outcome = 'running' AND seq IS NULL",
            )?;
            update_without_entry.execute(values)?;
            continue;
        }
        let columns = outcome_columns(
            &outcome,
            &ended.error,
            ended.duration_ms,
            hooks.as_deref(),
            flags.as_deref(),
        );
        chain.append(AuditKind::Ended, Some(number), "", &Sealed::End(columns))?;
    }
    Ok(())
}

/// Deletes the periods that ended before the oldest call, of every session.
pub(crate) fn delete_old_periods(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection
        .execute(
            "DELETE FROM session_period WHERE period < coalesce((SELECT min(id) FROM call) >> ?, period + 1)",
            [PERIOD_BITS],
        )
        .map(drop)
}

/// Writes the result of a call, unless the call was deleted meanwhile.
pub(crate) fn write_result(
    id: &CallId,
    at: Timestamp,
    result: &KeptResult,
    connection: &Connection,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO call_result (call, at, text, is_cut, bytes)
         SELECT id, ?2, ?3, ?4, ?5 FROM call WHERE id = ?1",
    )?;
    statement
        .execute(params![
            require_row_id(id)?,
            at.0,
            result.text,
            result.is_cut,
            result.bytes
        ])
        .map(drop)
}

/// Deletes at most 200 of the results that are older than `before`. Returns whether any result was
/// deleted.
pub(crate) fn delete_old_results(
    before: Timestamp,
    connection: &Connection,
) -> Result<bool, rusqlite::Error> {
    let deleted = connection.execute(
        "DELETE FROM call_result WHERE call IN
             (SELECT call FROM call_result WHERE at < ? ORDER BY at LIMIT 200)",
        [before.0],
    )?;
    Ok(deleted > 0)
}

/// Returns an unknown outcome for each call that was running when an earlier hub ended.
pub(crate) fn interrupted_calls(
    connection: &Connection,
) -> Result<Vec<CallOutcome>, rusqlite::Error> {
    let mut statement =
        connection.prepare("SELECT id FROM call WHERE outcome = 'running' ORDER BY id")?;
    let ended = |id: i64| CallOutcome {
        id: call_id(id),
        outcome: Outcome::Unknown,
        error: "Drawbridge stopped while the call was running".into(),
        duration_ms: None,
        result_hooks: Vec::new(),
        flags: Vec::new(),
    };
    statement
        .query_map([], |row| row.get(0).map(ended))?
        .collect()
}

fn outcome_columns<'a>(
    outcome: &'a str,
    error: &'a str,
    duration_ms: Option<u32>,
    result_hooks: Option<&'a str>,
    flags: Option<&'a str>,
) -> OutcomeColumns<'a> {
    OutcomeColumns {
        outcome: outcome.as_bytes(),
        error: error.as_bytes(),
        duration_ms: duration_ms.map(Into::into),
        result_hooks: result_hooks.map(str::as_bytes),
        flags: flags.map(str::as_bytes),
    }
}

/// Returns names in the form of their column. No name contains a comma.
fn join_names(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns flags in the form of their column: JSON, or `NULL` if there are no flags.
fn flags_to_text(flags: &[ContentFlag]) -> Option<String> {
    (!flags.is_empty()).then(|| serde_json::to_string(flags).expect("flags can be written as JSON"))
}

fn split_names(names: Option<Cow<'_, str>>) -> Vec<String> {
    let names = names.as_deref().into_iter();
    names
        .flat_map(|names| names.split(", "))
        .map(str::to_owned)
        .collect()
}

impl<'a> CallColumns<'a> {
    /// Returns the columns of a call. `seq` is the number of the audit entry that seals them.
    fn new(row: &'a CallRow, seq: i64) -> Result<Self, rusqlite::Error> {
        let call = &row.call;
        Ok(Self {
            id: require_row_id(&call.id)?,
            at: call.at.0,
            client: call.client.as_str().into(),
            server: call.server.as_str().into(),
            tool: call.tool.as_str().into(),
            exposed_name: call.exposed_name.as_str().into(),
            definition_digest: row.definition_digest.as_str().into(),
            arguments_digest: row.arguments_digest.as_str().into(),
            decision: to_enum_text(&call.decision).into(),
            decided_by: to_enum_text(&call.decided_by).into(),
            reason: call.reason.as_str().into(),
            outcome: to_enum_text(&call.outcome).into(),
            error: call.error.as_str().into(),
            waited_ms: call.waited_ms,
            duration_ms: call.duration_ms,
            arguments: row.arguments.as_deref().map(Into::into),
            seq: Some(seq),
            rule: call.rule.as_ref().map(|rule| rule.as_str().into()),
            is_edited: call.is_edited,
            method: call.method.name().into(),
            extra: row.extra.as_deref().map(Into::into),
            original_arguments: row.original_arguments.as_deref().map(Into::into),
            request_hooks: join_names(&call.request_hooks).map(Into::into),
            result_hooks: join_names(&call.result_hooks).map(Into::into),
            flags: flags_to_text(&call.flags).map(Into::into),
            session: call.session.as_ref().map(|session| session.as_str().into()),
        })
    }

    /// Returns the columns that the `decided` entry of the audit log seals.
    fn sealed(&self, decision: Decision) -> DecisionColumns<'_> {
        DecisionColumns {
            at: self.at,
            client: self.client.as_bytes(),
            server: self.server.as_bytes(),
            tool: self.tool.as_bytes(),
            exposed_name: self.exposed_name.as_bytes(),
            definition_digest: self.definition_digest.as_bytes(),
            arguments_digest: self.arguments_digest.as_bytes(),
            arguments: self.arguments.as_deref().map(str::as_bytes),
            decision: self.decision.as_bytes(),
            decided_by: self.decided_by.as_bytes(),
            reason: self.reason.as_bytes(),
            rule: self.rule.as_deref().map(str::as_bytes),
            is_edited: self.is_edited.into(),
            waited_ms: self.waited_ms.into(),
            method: self.method.as_bytes(),
            extra: self.extra.as_deref().map(str::as_bytes),
            original_arguments: self.original_arguments.as_deref().map(str::as_bytes),
            request_hooks: self.request_hooks.as_deref().map(str::as_bytes),
            session: self.session.as_deref().map(str::as_bytes),
            end: (decision != Decision::Allowed).then(|| {
                outcome_columns(
                    &self.outcome,
                    &self.error,
                    self.duration_ms,
                    self.result_hooks.as_deref(),
                    self.flags.as_deref(),
                )
            }),
        }
    }

    fn into_call(self) -> Result<Call, sqlx::Error> {
        Ok(Call {
            id: call_id(self.id),
            at: Timestamp(self.at),
            method: from_enum_text(&self.method)?,
            client: ClientName::new(self.client),
            session: self.session.map(SessionId::new),
            server: ServerId::new(self.server),
            tool: self.tool.into_owned(),
            exposed_name: self.exposed_name.into_owned(),
            decision: from_enum_text(&self.decision)?,
            decided_by: from_enum_text(&self.decided_by)?,
            rule: self.rule.map(RuleId::new),
            is_edited: self.is_edited,
            reason: self.reason.into_owned(),
            outcome: from_enum_text(&self.outcome)?,
            error: self.error.into_owned(),
            waited_ms: self.waited_ms,
            duration_ms: self.duration_ms,
            arguments: self.arguments.map(Cow::into_owned),
            extra: self.extra.map(Cow::into_owned),
            original_arguments: self.original_arguments.map(Cow::into_owned),
            request_hooks: split_names(self.request_hooks),
            result_hooks: split_names(self.result_hooks),
            flags: self
                .flags
                .map(|flags| serde_json::from_str(&flags))
                .transpose()
                .map_err(|error| sqlx::Error::Decode(error.into()))?
                .unwrap_or_default(),
            result: None,
        })
    }
}

fn call_id(number: i64) -> CallId {
    CallId::new(random::encode_id(number.cast_unsigned()))
}

/// Returns the number that an id encodes, which is the key of its row, or `None` if the text is no
/// id.
pub(crate) fn row_id(id: &CallId) -> Option<i64> {
    random::decode_id(id.as_str()).map(u64::cast_signed)
}

fn require_row_id(id: &CallId) -> Result<i64, rusqlite::Error> {
    row_id(id).ok_or_else(|| {
        rusqlite::Error::ToSqlConversionFailure(format!("'{id}' is not the id of a call").into())
    })
}

/// Returns a `LIKE` pattern that matches any text containing `text`.
fn like_pattern(text: &str) -> String {
    let escaped = text
        .replace('\\', r"\\")
        .replace('%', r"\%")
        .replace('_', r"\_");
    format!("%{escaped}%")
}

fn audited_from_row(row: &SqliteRow) -> Result<AuditedCall, sqlx::Error> {
    let columns = CallColumns::read(row)?;
    Ok(AuditedCall {
        definition_digest: columns.definition_digest.to_string(),
        arguments_digest: columns.arguments_digest.to_string(),
        seq: columns.seq.and_then(|seq| seq.try_into().ok()),
        hash: row.try_get::<Option<Vec<u8>>, _>("hash")?.map(hex::encode),
        call: Call {
            result: result_from_row(row)?,
            ..columns.into_call()?
        },
    })
}

/// Reads a call with its result.
fn full_call_from_row(row: &SqliteRow) -> Result<Call, sqlx::Error> {
    Ok(Call {
        result: result_from_row(row)?,
        ..call_from_row(row)?
    })
}

fn result_from_row(row: &SqliteRow) -> Result<Option<Box<KeptResult>>, sqlx::Error> {
    let Some(text) = row.try_get::<Option<String>, _>("result")? else {
        return Ok(None);
    };
    Ok(Some(Box::new(KeptResult {
        text,
        is_cut: row.try_get("is_cut")?,
        bytes: row.try_get("bytes")?,
    })))
}

fn call_from_row(row: &SqliteRow) -> Result<Call, sqlx::Error> {
    CallColumns::read(row)?.into_call()
}

#[cfg(test)]
mod tests;
