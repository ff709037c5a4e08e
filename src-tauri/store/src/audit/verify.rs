//! Recomputes the chain over entries and calls, and reports the first place that does not match.

use drawbridge_model::{
    audit::{AuditBreak, AuditKind, AuditReport, CallAuditEntry},
    ids::Timestamp,
};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

use super::{
    AuditFault, AuditKey, Hash, HeadFile, Sealed, Tip, end_mismatch, head_file,
    rows::{self, StoredEntry},
};

/// The first place that does not match.
struct ChainBreak {
    seq: i64,
    fault: AuditFault,
}

/// The body of a `pruned` entry, which states the beginning of the chain: the number and the hash of
/// the last entry that was deleted.
#[derive(Deserialize)]
struct Anchor {
    through: i64,
    hash: String,
}

/// The body of a `began` entry.
#[derive(Deserialize)]
struct Began {
    /// The id of the last call from before the audit log existed.
    through: i64,
}

/// The body of a `broken` entry.
#[derive(Deserialize)]
struct Broken {
    /// The number of the first entry that is affected.
    seq: i64,
    // Databases of earlier versions have the name `why`.
    #[serde(alias = "why")]
    reason: String,
}

/// Verifies the whole audit log in one read transaction. `head_file` must be read before this call,
/// or else it may name an entry that the transaction does not see.
pub(crate) fn verify(
    connection: &mut Connection,
    key: &AuditKey,
    head_file: HeadFile,
) -> Result<AuditReport, rusqlite::Error> {
    let transaction = connection.transaction()?;
    let bounds =
        transaction.query_row("SELECT count(*), min(at), max(at) FROM audit", [], |row| {
            Ok((
                row.get(0)?,
                row.get::<_, Option<i64>>(1)?,
                row.get::<_, Option<i64>>(2)?,
            ))
        })?;
    let (entries, from, to) = bounds;
    let found = match walk_chain(&transaction, key, head_file)? {
        Walk::Complete(summary) => find_unsealed_call(&transaction, summary)?,
        Walk::Broken(found) => Some(found),
    };
    let broken = found.map(|found| AuditBreak {
        seq: found.seq.try_into().unwrap_or(u32::MAX),
        reason: found.fault.to_string(),
    });
    Ok(AuditReport {
        entries,
        from: from.map(Timestamp),
        to: to.map(Timestamp),
        broken,
    })
}

/// Recomputes the entries about a call: each from the columns of the call and the hash of the entry
/// before it. Returns no entry if the call is unknown or older than the audit log. An entry that
/// cannot be read is returned as [`AuditKind::Broken`], with a fault.
pub(crate) fn verify_call(
    connection: &mut Connection,
    key: &AuditKey,
    call: i64,
) -> Result<Vec<CallAuditEntry>, rusqlite::Error> {
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare(rows::SELECT_ENTRIES_OF_CALL)?;
    let mut rows = statement.query([call])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let stored = rows::entry_from_row(row);
        let kind = stored.as_ref().and_then(|stored| {
            AuditKind::ALL
                .iter()
                .find(|kind| kind.as_str() == stored.entry.kind)
        });
        let (Some(stored), Some(kind)) = (stored, kind) else {
            entries.push(CallAuditEntry {
                seq: row.get::<_, i64>(0)?.try_into().unwrap_or(u32::MAX),
                at: Timestamp(row.get(1)?),
                kind: AuditKind::Broken,
                hash: String::new(),
                fault: Some(AuditFault::Unreadable.to_string()),
            });
            continue;
        };
        let before = match rows::read_tip_at(stored.entry.seq - 1, &transaction).optional()? {
            Some(before) => before,
            None => predecessor_of_first(&transaction)?,
        };
        let fault = check_entry(&stored, before, key).err();
        entries.push(CallAuditEntry {
            seq: stored.entry.seq.try_into().unwrap_or(u32::MAX),
            at: Timestamp(stored.entry.at),
            kind: *kind,
            hash: hex::encode(stored.hash),
            fault: fault.map(|fault| fault.to_string()),
        });
    }
    Ok(entries)
}

/// The result of a walk along an intact chain.
struct WalkSummary {
    /// The tip of the chain.
    last: Tip,
    /// The id of the last call from before the audit log existed.
    calls_before: i64,
}

/// How a walk along the chain ended.
enum Walk {
    Complete(WalkSummary),
    Broken(ChainBreak),
}

/// Checks every entry, and the end of the chain.
fn walk_chain(
    connection: &Connection,
    key: &AuditKey,
    head_file: HeadFile,
) -> Result<Walk, rusqlite::Error> {
    let mut before = predecessor_of_first(connection)?;
    let mut calls_before = 0;
    let mut statement = connection.prepare(rows::SELECT_ENTRIES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(stored) = rows::entry_from_row(row) else {
            return Ok(Walk::Broken(ChainBreak {
                seq: before.seq + 1,
                fault: AuditFault::Unreadable,
            }));
        };
        if let Err(fault) = check_entry(&stored, before, key) {
            let recorded = (stored.entry.kind == "broken")
                .then(|| serde_json::from_str::<Broken>(stored.entry.body).ok());
            let recorded = recorded
                .flatten()
                .filter(|broken| broken.seq == before.seq + 1);
            return Ok(Walk::Broken(ChainBreak {
                seq: before.seq + 1,
                fault: recorded.map_or(fault, |broken| AuditFault::Recorded(broken.reason)),
            }));
        }
        match stored.entry.kind {
            "broken" => {
                let broken = serde_json::from_str(stored.entry.body).unwrap_or(Broken {
                    seq: stored.entry.seq,
                    reason: "the audit log was changed".into(),
                });
                return Ok(Walk::Broken(ChainBreak {
                    seq: broken.seq,
                    fault: AuditFault::Recorded(broken.reason),
                }));
            }
            "began" => {
                calls_before = serde_json::from_str::<Began>(stored.entry.body)
                    .map_or(0, |began| began.through);
            }
            _ => {}
        }
        before = Tip {
            seq: stored.entry.seq,
            hash: entry_hash(&stored),
        };
    }
    let head = rows::read_head(connection)?;
    // The last entry is valid, but `audit_head` may not match it.
    let found = match end_mismatch(before, head.as_ref(), key) {
        Some(fault) => Some((before.seq + 1, fault)),
        None => head_file::find_replacement(connection, before, head_file)?,
    };
    Ok(match found {
        None => Walk::Complete(WalkSummary {
            last: before,
            calls_before,
        }),
        Some((seq, fault)) => Walk::Broken(ChainBreak { seq, fault }),
    })
}

/// Returns the predecessor of the first entry: zeros, or the last entry that the latest pruning
/// deleted.
fn predecessor_of_first(connection: &Connection) -> Result<Tip, rusqlite::Error> {
    const LAST_ANCHOR: &str =
        "SELECT body FROM audit WHERE kind = 'pruned' ORDER BY seq DESC LIMIT 1";
    let body: Option<String> = connection
        .query_row(LAST_ANCHOR, [], |row| row.get(0))
        .optional()?;
    let anchor = body.and_then(|body| serde_json::from_str::<Anchor>(&body).ok());
    Ok(anchor.map_or_else(Tip::default, |anchor| {
        let mut hash = Hash::default();
        // If the hash is invalid, the result matches no entry.
        let _ = hex::decode_to_slice(&anchor.hash, &mut hash);
        Tip {
            seq: anchor.through,
            hash,
        }
    }))
}

/// Checks that an entry is the entry that was appended after `before`.
fn check_entry(stored: &StoredEntry<'_>, before: Tip, key: &AuditKey) -> Result<(), AuditFault> {
    let (entry, next) = (&stored.entry, before.seq + 1);
    if entry.seq != next {
        return Err(if entry.seq > next {
            AuditFault::Missing {
                first: next,
                last: entry.seq - 1,
            }
        } else {
            AuditFault::BeforeStart(entry.seq)
        });
    }
    let sealed = match (entry.kind, &stored.call) {
        ("decided", Some(call)) if call.seq == Some(entry.seq) => Sealed::Decision(&call.decision),
        ("decided", Some(_)) => return Err(AuditFault::OtherEntryNamed(entry.call)),
        ("ended", Some(call)) => Sealed::End(call.outcome),
        ("decided" | "ended", None) => return Err(AuditFault::CallMissing(entry.call)),
        _ => Sealed::Nothing,
    };
    if entry.hash(&before.hash, &sealed, key) == stored.hash {
        return Ok(());
    }
    Err(match sealed {
        Sealed::Nothing => AuditFault::EntryChanged {
            kind: entry.kind.to_owned(),
        },
        Sealed::Decision(_) | Sealed::End(_) => AuditFault::CallChanged {
            call: entry.call,
            kind: entry.kind.to_owned(),
        },
    })
}

/// Finds the first call without a `decided` entry, or else the first allowed call that has ended
/// without an `ended` entry.
fn find_unsealed_call(
    connection: &Connection,
    summary: WalkSummary,
) -> Result<Option<ChainBreak>, rusqlite::Error> {
    const ENDED_WITHOUT_ENTRY: &str = "SELECT c.seq, c.id FROM call c WHERE c.decision = 'allowed' AND c.seq IS NOT NULL
        AND (c.outcome <> 'running' OR c.error <> '' OR c.duration_ms IS NOT NULL OR c.result_hooks IS NOT NULL
             OR c.flags IS NOT NULL)
        AND c.id NOT IN (SELECT call FROM audit WHERE kind = 'ended' AND call IS NOT NULL) ORDER BY c.seq LIMIT 1";
    // Includes calls whose `seq` names an entry about another call.
    const ADDED_CALLS: &str =
        "SELECT c.id FROM call c LEFT JOIN audit a ON a.seq = c.seq AND a.call = c.id AND a.kind = 'decided'
        WHERE a.seq IS NULL AND (c.seq IS NOT NULL OR c.id > ?) ORDER BY c.id LIMIT 1";
    let added = connection
        .query_row(ADDED_CALLS, [summary.calls_before], |row| row.get(0))
        .optional()?;
    if let Some(id) = added {
        return Ok(Some(ChainBreak {
            seq: summary.last.seq + 1,
            fault: AuditFault::CallAdded(id),
        }));
    }
    let ended = connection
        .query_row(ENDED_WITHOUT_ENTRY, [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(ended.map(|(seq, id)| ChainBreak {
        seq,
        fault: AuditFault::EndNotRecorded(id),
    }))
}

fn entry_hash(stored: &StoredEntry<'_>) -> Hash {
    stored
        .hash
        .try_into()
        .expect("the entry was checked against a hash of this length")
}
