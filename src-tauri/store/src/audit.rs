//! The audit log: a chain of entries. Each entry has an HMAC over itself, the columns of the call
//! that it seals, and the previous hash.
//!
//! ```text
//! entry 1 ──hash──▶ entry 2 ──hash──▶ … ──hash──▶ entry n ──▶ head (n, HMAC over n and its hash)
//!    │ decided         │ ended
//!    └─ the call's immutable columns   └─ outcome, error, duration
//! ```
//!
//! If a program that can write the database but does not have the [`AuditKey`] changes a column of
//! a call, an entry, the order of the entries or the end of the chain, the change is detected.
//! [`head_file`] also keeps the head outside the database, so that an older copy of the database is
//! detected. A program that has the key, for instance another program of this user, can rewrite
//! everything. Among the calls from before the audit log existed, only additions are detected.
//!
//! The journal appends entries with a [`Chain`], in the same transaction that writes the call.
//! [`verify`] recomputes the whole chain. [`prune`] deletes old entries and appends an anchor: an
//! entry that states the new beginning of the chain.

mod fault;
pub(super) mod head_file;
mod key;
mod prune;
mod rows;
mod verify;

use drawbridge_model::{audit::AuditKind, clock};
use rusqlite::Connection;
use serde_json::json;

pub(super) use head_file::HeadFile;
pub(super) use key::{AuditKey, FILE_NAME as KEY_FILE};
pub(super) use prune::{find_segment, prune};
pub(super) use verify::{verify, verify_call};

use fault::AuditFault;
use rows::AuditHead;

/// The hash of an entry.
pub(super) type Hash = [u8; 32];

/// The tip of a chain: the number and the hash of its last entry. Before the first entry, both are
/// zero. The head records the tip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tip {
    pub(super) seq: i64,
    pub(super) hash: Hash,
}

/// An entry without its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuditEntry<'a> {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: &'a str,
    pub(super) call: Option<i64>,
    /// JSON; empty if the entry concerns a call.
    pub(super) body: &'a str,
}

/// The columns of a call that an entry seals. Texts are in bytes, as they are stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sealed<'a> {
    /// The entry concerns no call.
    Nothing,
    Decision(&'a DecisionColumns<'a>),
    End(OutcomeColumns<'a>),
}

/// The columns of a call that its `decided` entry seals.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecisionColumns<'a> {
    pub(super) at: i64,
    pub(super) client: &'a [u8],
    pub(super) server: &'a [u8],
    pub(super) tool: &'a [u8],
    pub(super) exposed_name: &'a [u8],
    pub(super) definition_digest: &'a [u8],
    pub(super) arguments_digest: &'a [u8],
    pub(super) arguments: Option<&'a [u8]>,
    pub(super) decision: &'a [u8],
    pub(super) decided_by: &'a [u8],
    pub(super) reason: &'a [u8],
    pub(super) rule: Option<&'a [u8]>,
    pub(super) is_edited: i64,
    pub(super) waited_ms: i64,
    pub(super) method: &'a [u8],
    pub(super) extra: Option<&'a [u8]>,
    pub(super) original_arguments: Option<&'a [u8]>,
    pub(super) request_hooks: Option<&'a [u8]>,
    pub(super) session: Option<&'a [u8]>,
    /// The outcome, if the call is not allowed: its decision is then its end.
    pub(super) end: Option<OutcomeColumns<'a>>,
}

/// The columns of a call that its `ended` entry seals, or its `decided` entry if the call is not
/// allowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutcomeColumns<'a> {
    pub(super) outcome: &'a [u8],
    pub(super) error: &'a [u8],
    pub(super) duration_ms: Option<i64>,
    pub(super) result_hooks: Option<&'a [u8]>,
    pub(super) flags: Option<&'a [u8]>,
}

impl AuditEntry<'_> {
    /// Returns the hash of the entry. A length precedes each part, so that no byte can move from
    /// one part to the next.
    pub(super) fn hash(&self, before: &Hash, sealed: &Sealed<'_>, key: &AuditKey) -> Hash {
        let mut parts = key.start_mac("entry");
        parts
            .bytes(before)
            .number(self.seq)
            .number(self.at)
            .bytes(self.kind.as_bytes());
        parts.maybe_number(self.call).bytes(self.body.as_bytes());
        match sealed {
            Sealed::Nothing => {}
            Sealed::Decision(columns) => columns.add_to(&mut parts),
            Sealed::End(columns) => columns.add_to(&mut parts),
        }
        parts.hash()
    }
}

impl DecisionColumns<'_> {
    fn add_to(&self, parts: &mut key::MacBuilder) {
        parts
            .number(self.at)
            .bytes(self.client)
            .bytes(self.server)
            .bytes(self.tool)
            .bytes(self.exposed_name);
        parts
            .bytes(self.definition_digest)
            .bytes(self.arguments_digest)
            .maybe_bytes(self.arguments);
        parts
            .bytes(self.decision)
            .bytes(self.decided_by)
            .bytes(self.reason);
        parts
            .maybe_bytes(self.rule)
            .number(self.is_edited)
            .number(self.waited_ms);
        if let Some(end) = &self.end {
            end.add_to(parts);
        }
        // Earlier versions recorded only calls of tools, and without these columns. The hashes of
        // these versions must stay valid.
        let is_in_earlier_form = self.method == b"tools/call"
            && self.extra.is_none()
            && self.original_arguments.is_none()
            && self.request_hooks.is_none();
        if !is_in_earlier_form {
            parts
                .bytes(self.method)
                .maybe_bytes(self.extra)
                .maybe_bytes(self.original_arguments);
        }
        // Entries of earlier versions lack this column.
        if let Some(hooks) = self.request_hooks {
            parts.bytes(hooks);
        }
        // The prefix keeps the session apart from the hooks, which may be absent.
        if let Some(session) = self.session {
            parts.bytes(b"session").maybe_bytes(Some(session));
        }
    }
}

impl OutcomeColumns<'_> {
    fn add_to(&self, parts: &mut key::MacBuilder) {
        parts
            .bytes(self.outcome)
            .bytes(self.error)
            .maybe_number(self.duration_ms);
        // Entries of earlier versions lack this column.
        if let Some(hooks) = self.result_hooks {
            parts.bytes(hooks);
        }
        // The prefix keeps the flags apart from the hooks, which may be absent.
        if let Some(flags) = self.flags {
            parts.bytes(b"flags").maybe_bytes(Some(flags));
        }
    }
}

impl Tip {
    fn mac(&self, key: &AuditKey) -> Hash {
        let mut parts = key.start_mac("head");
        parts.number(self.seq).bytes(&self.hash);
        parts.hash()
    }
}

/// Appends entries to the chain, within one transaction.
pub(super) struct Chain<'a> {
    connection: &'a Connection,
    key: &'a AuditKey,
    tip: Tip,
    /// The tip of the chain before this transaction.
    initial_tip: Tip,
    /// The time of the entries, unless [`Self::append_at`] gets another time.
    at: i64,
}

impl<'a> Chain<'a> {
    /// Resumes the chain that ends with `tip`.
    pub(super) fn resume_at(connection: &'a Connection, key: &'a AuditKey, tip: Tip) -> Self {
        Self {
            connection,
            key,
            tip,
            initial_tip: tip,
            at: clock::now().0,
        }
    }

    /// Reads the last entry and resumes the chain, or begins a chain if the key is new. If the last
    /// entry does not match the table `audit_head` or the head file, a `broken` entry states the
    /// difference.
    pub(super) fn resume(
        connection: &'a Connection,
        key: &'a AuditKey,
        head_file: HeadFile,
    ) -> Result<Self, rusqlite::Error> {
        let (last, head) = (
            rows::read_last_tip(connection)?,
            rows::read_head(connection)?,
        );
        let tip = last.unwrap_or_default();
        let mut chain = Self::resume_at(connection, key, tip);
        let found = match (last, &head) {
            (None, None) if key.is_new() => {
                let (calls, through) = rows::count_calls(connection)?;
                let body = json!({ "calls_before": calls, "through": through }).to_string();
                chain.append(AuditKind::Began, None, &body, &Sealed::Nothing)?;
                None
            }
            (None, None) => Some((1, AuditFault::Emptied)),
            (_, head) => match end_mismatch(tip, head.as_ref(), key) {
                Some(fault) => Some((tip.seq + 1, fault)),
                None => head_file::find_replacement(connection, tip, head_file)?,
            },
        };
        if let Some((seq, fault)) = found {
            tracing::error!("{fault}; see `drawbridge audit verify`");
            // Leave a gap after the last known entry, so that the loss stays visible.
            let saved = match head_file {
                HeadFile::Tip(saved) => saved.seq,
                HeadFile::Missing | HeadFile::Invalid => 0,
            };
            chain.tip.seq = chain
                .tip
                .seq
                .max(saved)
                .max(head.map_or(0, |head| head.seq));
            let body = json!({ "seq": seq, "reason": fault.to_string() }).to_string();
            chain.append(AuditKind::Broken, None, &body, &Sealed::Nothing)?;
        }
        Ok(chain)
    }

    /// Returns the number of the next entry.
    pub(super) fn next_seq(&self) -> i64 {
        self.tip.seq + 1
    }

    pub(super) fn append(
        &mut self,
        kind: AuditKind,
        call: Option<i64>,
        body: &str,
        sealed: &Sealed<'_>,
    ) -> Result<(), rusqlite::Error> {
        self.append_at(self.at, kind, call, body, sealed)
    }

    pub(super) fn append_at(
        &mut self,
        at: i64,
        kind: AuditKind,
        call: Option<i64>,
        body: &str,
        sealed: &Sealed<'_>,
    ) -> Result<(), rusqlite::Error> {
        let entry = AuditEntry {
            seq: self.next_seq(),
            at,
            kind: kind.as_str(),
            call,
            body,
        };
        let hash = entry.hash(&self.tip.hash, sealed, self.key);
        rows::insert(&entry, &hash, self.connection)?;
        self.tip = Tip {
            seq: entry.seq,
            hash,
        };
        Ok(())
    }

    /// Records the tip of the chain in `audit_head` if the tip has changed, and returns the tip.
    /// The caller then has to commit the transaction.
    pub(super) fn finish(self) -> Result<Tip, rusqlite::Error> {
        if self.tip == self.initial_tip {
            return Ok(self.tip);
        }
        rows::put_head(self.tip.seq, &self.tip.mac(self.key), self.connection)?;
        Ok(self.tip)
    }
}

/// Returns why the chain does not end as `audit_head` says, or `None` if it does.
fn end_mismatch(last: Tip, head: Option<&AuditHead>, key: &AuditKey) -> Option<AuditFault> {
    let Some(head) = head else {
        return Some(AuditFault::NoHead);
    };
    if head.seq == last.seq {
        return (head.mac != last.mac(key)).then_some(AuditFault::EndChanged);
    }
    Some(if head.seq > last.seq {
        AuditFault::CutOff {
            first: last.seq + 1,
            last: head.seq,
        }
    } else {
        AuditFault::Extended(head.seq)
    })
}

#[cfg(test)]
mod tests;
