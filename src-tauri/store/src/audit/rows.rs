//! The tables `audit` and `audit_head`: the entries of the audit log, and the head of the chain.
//! Only the journal writes these tables.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{AuditEntry, DecisionColumns, Hash, OutcomeColumns, Tip};

/// The head of the chain, which records the tip.
#[derive(Debug)]
pub(super) struct AuditHead {
    pub(super) seq: i64,
    pub(super) mac: Vec<u8>,
}

pub(super) fn insert(
    entry: &AuditEntry<'_>,
    hash: &Hash,
    connection: &Connection,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO audit (seq, at, kind, call, body, hash) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    statement
        .execute(params![
            entry.seq, entry.at, entry.kind, entry.call, entry.body, hash
        ])
        .map(drop)
}

pub(super) fn put_head(
    seq: i64,
    mac: &Hash,
    connection: &Connection,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO audit_head (id, seq, mac) VALUES (1, ?, ?)
         ON CONFLICT DO UPDATE SET seq = excluded.seq, mac = excluded.mac",
    )?;
    statement.execute(params![seq, mac]).map(drop)
}

pub(super) fn read_head(connection: &Connection) -> Result<Option<AuditHead>, rusqlite::Error> {
    let read = |row: &Row<'_>| {
        Ok(AuditHead {
            seq: row.get(0)?,
            mac: row.get(1)?,
        })
    };
    connection
        .query_row("SELECT seq, mac FROM audit_head", [], read)
        .optional()
}

/// Returns the tip of the chain, or `None` if the chain has no entries.
pub(super) fn read_last_tip(connection: &Connection) -> Result<Option<Tip>, rusqlite::Error> {
    connection
        .query_row(
            "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
            [],
            tip_from_row,
        )
        .optional()
}

/// Returns the number and the hash of the entry with the number `seq`.
pub(super) fn read_tip_at(seq: i64, connection: &Connection) -> Result<Tip, rusqlite::Error> {
    connection.query_row(
        "SELECT seq, hash FROM audit WHERE seq = ?",
        [seq],
        tip_from_row,
    )
}

/// Reads a number and a hash. If the hash has a wrong length, it becomes zero, which matches no
/// entry.
fn tip_from_row(row: &Row<'_>) -> Result<Tip, rusqlite::Error> {
    let hash: Vec<u8> = row.get(1)?;
    Ok(Tip {
        seq: row.get(0)?,
        hash: hash.try_into().unwrap_or_default(),
    })
}

/// Returns the number of calls and the highest id, which the first entry of the audit log records.
pub(super) fn count_calls(connection: &Connection) -> Result<(i64, i64), rusqlite::Error> {
    connection.query_row(
        "SELECT count(*), coalesce(max(id), 0) FROM call",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// An entry with its call.
pub(super) struct StoredEntry<'a> {
    pub(super) entry: AuditEntry<'a>,
    pub(super) hash: &'a [u8],
    /// `None` if the entry has no call, or the call is gone.
    pub(super) call: Option<StoredCall<'a>>,
}

pub(super) struct StoredCall<'a> {
    /// The number of the `decided` entry, according to the row of the call.
    pub(super) seq: Option<i64>,
    pub(super) decision: DecisionColumns<'a>,
    pub(super) outcome: OutcomeColumns<'a>,
}

/// Returns a statement that selects entries, each with its call.
macro_rules! select_entries {
    ($conditions:literal) => {
        concat!(
            "SELECT a.seq, a.at, a.kind, a.call, a.body, a.hash,
    c.id, c.seq, c.at, c.client, c.server, c.tool, c.exposed_name, c.definition_digest, c.arguments_digest, c.arguments,
    c.decision, c.decided_by, c.reason, c.waited_ms, c.outcome, c.error, c.duration_ms, c.rule, c.is_edited,
    c.method, c.extra, c.original_arguments, c.request_hooks, c.result_hooks, c.flags, c.session
    FROM audit a LEFT JOIN call c ON c.id = a.call ",
            $conditions
        )
    };
}

/// Selects all entries in order, each with its call.
pub(super) const SELECT_ENTRIES: &str = select_entries!("ORDER BY a.seq");

/// Selects the entries about one call. A call that was not allowed, or that still runs, has one
/// entry; any other call has two.
pub(super) const SELECT_ENTRIES_OF_CALL: &str = select_entries!(
    "WHERE a.call = ?1 AND a.seq >= (SELECT seq FROM call WHERE id = ?1) ORDER BY a.seq
     LIMIT coalesce((SELECT 1 + (decision = 'allowed' AND outcome <> 'running')
                     FROM call WHERE id = ?1), 0)"
);

/// Reads a row of [`SELECT_ENTRIES`] or [`SELECT_ENTRIES_OF_CALL`]. Returns `None` if a value has a
/// type that Drawbridge never writes.
pub(super) fn entry_from_row<'a>(row: &'a Row<'_>) -> Option<StoredEntry<'a>> {
    let number = |column: usize| row.get_ref(column).ok()?.as_i64().ok();
    let maybe_number = |column: usize| row.get_ref(column).ok()?.as_i64_or_null().ok();
    let bytes = |column: usize| row.get_ref(column).ok()?.as_bytes().ok();
    let text = |column: usize| std::str::from_utf8(bytes(column)?).ok();
    let entry = AuditEntry {
        seq: number(0)?,
        at: number(1)?,
        kind: text(2)?,
        call: maybe_number(3)?,
        body: text(4)?,
    };
    let call = match maybe_number(6)? {
        None => None,
        Some(_) => {
            let outcome = OutcomeColumns {
                outcome: bytes(20)?,
                error: bytes(21)?,
                duration_ms: maybe_number(22)?,
                result_hooks: row.get_ref(29).ok()?.as_bytes_or_null().ok()?,
                flags: row.get_ref(30).ok()?.as_bytes_or_null().ok()?,
            };
            let decision = bytes(16)?;
            let decision_columns = DecisionColumns {
                at: number(8)?,
                client: bytes(9)?,
                server: bytes(10)?,
                tool: bytes(11)?,
                exposed_name: bytes(12)?,
                definition_digest: bytes(13)?,
                arguments_digest: bytes(14)?,
                arguments: row.get_ref(15).ok()?.as_bytes_or_null().ok()?,
                decision,
                decided_by: bytes(17)?,
                reason: bytes(18)?,
                rule: row.get_ref(23).ok()?.as_bytes_or_null().ok()?,
                is_edited: number(24)?,
                waited_ms: number(19)?,
                method: bytes(25)?,
                extra: row.get_ref(26).ok()?.as_bytes_or_null().ok()?,
                original_arguments: row.get_ref(27).ok()?.as_bytes_or_null().ok()?,
                request_hooks: row.get_ref(28).ok()?.as_bytes_or_null().ok()?,
                session: row.get_ref(31).ok()?.as_bytes_or_null().ok()?,
                end: (decision != b"allowed").then_some(outcome),
            };
            Some(StoredCall {
                seq: maybe_number(7)?,
                decision: decision_columns,
                outcome,
            })
        }
    };
    Some(StoredEntry {
        entry,
        hash: bytes(5)?,
        call,
    })
}
