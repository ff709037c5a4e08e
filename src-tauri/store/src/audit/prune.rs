//! Deletes old entries and their calls from the beginning of the chain up to a moment without a
//! call in flight, so that the rest can be verified on its own. Appends an anchor: an entry that
//! states the new beginning of the chain.

use std::collections::HashSet;

use drawbridge_model::audit::AuditKind;
use rusqlite::{Connection, params};
use serde_json::json;

use super::rows;
use super::{Chain, Sealed};

/// The most entries, and the most calls from before the audit log existed, that are deleted at
/// once, so that no call waits long. More entries are deleted only if there is no earlier moment
/// without a call in flight.
const MAX_ENTRIES: usize = 500;

/// The oldest entries and calls, which one transaction deletes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The number of the last entry of the segment, or `None` if no entry can be deleted.
    through: Option<i64>,
    /// The id of the last call to delete among the calls from before the audit log existed, or
    /// `None` if there is no such call.
    calls_through: Option<i64>,
}

impl Segment {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Finds the next segment among the entries and calls that are older than the time `before`.
pub(crate) fn find_segment(
    connection: &Connection,
    before: i64,
) -> Result<Segment, rusqlite::Error> {
    Ok(Segment {
        through: find_last_old_entry(connection, before)?,
        calls_through: find_last_old_call(connection, before)?,
    })
}

fn find_last_old_entry(
    connection: &Connection,
    before: i64,
) -> Result<Option<i64>, rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "SELECT a.seq, a.at, a.kind, a.call, c.decision FROM audit a LEFT JOIN call c ON c.id = a.call ORDER BY a.seq",
    )?;
    let mut rows = statement.query([])?;
    let (mut in_flight, mut through, mut count) = (HashSet::new(), None, 0);
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? >= before || (count >= MAX_ENTRIES && through.is_some()) {
            break;
        }
        count += 1;
        let (kind, decision): (String, Option<String>) = (row.get(2)?, row.get(4)?);
        if let Some(call) = row.get::<_, Option<i64>>(3)? {
            match (kind.as_str(), decision.as_deref()) {
                // If the row of a call is gone, the call counts as in flight for good. Its entries
                // stay, so that `verify` still reports the gap.
                ("decided", Some("allowed") | None) => drop(in_flight.insert(call)),
                ("ended", Some(_)) => drop(in_flight.remove(&call)),
                _ => {}
            }
        }
        if in_flight.is_empty() {
            through = Some(row.get(0)?);
        }
    }
    Ok(through)
}

fn find_last_old_call(
    connection: &Connection,
    before: i64,
) -> Result<Option<i64>, rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("SELECT id, at, seq FROM call ORDER BY id LIMIT ?")?;
    let mut rows = statement.query([MAX_ENTRIES as i64])?;
    let mut through = None;
    while let Some(row) = rows.next()? {
        if row.get::<_, Option<i64>>(2)?.is_some() || row.get::<_, i64>(1)? >= before {
            break;
        }
        through = Some(row.get(0)?);
    }
    Ok(through)
}

/// Deletes a segment, and appends an anchor if entries were deleted.
pub(crate) fn prune(
    segment: &Segment,
    connection: &Connection,
    chain: &mut Chain<'_>,
) -> Result<(), rusqlite::Error> {
    if let Some(through) = segment.calls_through {
        connection.execute("DELETE FROM call WHERE id <= ? AND seq IS NULL", [through])?;
    }
    let Some(through) = segment.through else {
        return Ok(());
    };
    let last = rows::read_tip_at(through, connection)?;
    const CALLS: &str =
        "DELETE FROM call WHERE id IN (SELECT call FROM audit WHERE seq <= ? AND call IS NOT NULL)";
    let calls = connection.execute(CALLS, params![through])?;
    let entries = connection.execute("DELETE FROM audit WHERE seq <= ?", params![through])?;
    let body =
        json!({ "through": through, "hash": hex::encode(last.hash), "calls": calls, "entries": entries }).to_string();
    chain.append(AuditKind::Pruned, None, &body, &Sealed::Nothing)
}
