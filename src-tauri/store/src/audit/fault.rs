//! The faults of the audit log, and their messages for people.

use drawbridge_model::random;

/// A fault of the audit log, or of the entries about one call.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AuditFault {
    #[error("the audit log is empty, although its key is older: all entries are gone")]
    Emptied,
    #[error("the record of the audit log's end is gone")]
    NoHead,
    #[error("the end of the audit log was changed, or its key was replaced")]
    EndChanged,
    #[error("the audit log was cut off at its end: {} gone", entries(*.first, *.last))]
    CutOff { first: i64, last: i64 },
    #[error("entries were added to the audit log after its end at {0}")]
    Extended(i64),
    #[error("the database is older than the file audit.head: {} missing", counted_entries(*.first, *.last))]
    Older { first: i64, last: i64 },
    #[error(
        "the file audit.head was written for another database: entry {0} differs, so an older copy of \
         the database was put back and used"
    )]
    OtherBranch(i64),
    #[error(
        "the file audit.head was changed, so Drawbridge cannot tell whether the database is the latest one"
    )]
    HeadFileInvalid,
    #[error(
        "the file audit.head is missing, so Drawbridge cannot tell whether the database is the latest one"
    )]
    HeadFileMissing,
    #[error("{} missing", entries(*.first, *.last))]
    Missing { first: i64, last: i64 },
    #[error("entry {0} is before the beginning of the audit log")]
    BeforeStart(i64),
    #[error("the entry or its call was changed")]
    Unreadable,
    #[error("the entry ('{kind}') or its place in the order was changed")]
    EntryChanged { kind: String },
    #[error("the call {} or its entry ('{kind}') was changed", quoted_call_id(*.call))]
    CallChanged { call: Option<i64>, kind: String },
    #[error("the call {} was changed: it names another entry", quoted_call_id(*.0))]
    OtherEntryNamed(Option<i64>),
    #[error("the call {} is missing", quoted_call_id(*.0))]
    CallMissing(Option<i64>),
    #[error("the call {} was added: no entry records its decision", quoted_call_id(Some(*.0)))]
    CallAdded(i64),
    #[error("the call {} was changed: no entry records its end", quoted_call_id(Some(*.0)))]
    EndNotRecorded(i64),
    /// Found earlier, and recorded in a `broken` entry.
    #[error("{0}")]
    Recorded(String),
}

/// Returns the subject and verb of a sentence about these entries.
fn entries(first: i64, last: i64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first} to {last} are")
    }
}

/// Returns the subject and verb of a sentence about these entries, with their number.
fn counted_entries(first: i64, last: i64) -> String {
    match last - first + 1 {
        1 => format!("1 entry ({first}) is"),
        count => format!("{count} entries ({first} to {last}) are"),
    }
}

fn quoted_call_id(call: Option<i64>) -> String {
    call.map_or_else(
        || "without an id".to_owned(),
        |call| format!("'{}'", random::encode_id(call.cast_unsigned())),
    )
}
