//! Reads the messages of servers. Their parts stay raw JSON.

use serde_json::value::RawValue;

use crate::{
    envelope::{Envelope, KeyCheck, read_string},
    json::{self, Json},
    rpc::{RpcError, RpcResponse},
};

/// A request or notification that a server sent by itself.
#[derive(Debug)]
pub enum Incoming {
    Request {
        id: Box<RawValue>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
}

/// Any message of a server.
#[derive(Debug)]
pub enum ServerMessage {
    /// The response to the request with this id. If no request can be identified, `id` is `None`.
    Response {
        id: Option<u64>,
        response: RpcResponse,
    },
    /// A response that breaks a rule of JSON-RPC or exceeds a limit of Drawbridge. `ids` are the
    /// ids of the requests that the message seems to answer, if any.
    Malformed {
        ids: Vec<u64>,
        rule: MalformedAnswer,
    },
    Incoming(Incoming),
}

/// The rule that an answer breaks, or the limit that it exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAnswer {
    #[error(r#"The server's answer has no "jsonrpc":"2.0""#)]
    NoVersion,
    #[error(r#"The server's answer has "jsonrpc":{version} instead of "2.0""#)]
    WrongVersion { version: String },
    #[error(
        "The server's answer has the id {id} as a string, not as the number that Drawbridge sent"
    )]
    StringId { id: u64 },
    #[error("The server's answer has neither a result nor an error")]
    NoOutcome,
    #[error("The server's answer is inside an array (a JSON-RPC batch)")]
    Batch,
    #[error("The server's answer is nested deeper than {max} levels")]
    TooDeep { max: usize },
    #[error("The server's answer is longer than {} MiB", .max_bytes >> 20)]
    TooLong { max_bytes: usize },
}

impl MalformedAnswer {
    /// Returns the rule with the server's own text changed, for instance to mask secrets.
    #[must_use]
    pub fn map_text(self, change: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::WrongVersion { version } => Self::WrongVersion {
                version: change(&version),
            },
            Self::NoVersion
            | Self::StringId { .. }
            | Self::NoOutcome
            | Self::Batch
            | Self::TooDeep { .. }
            | Self::TooLong { .. } => self,
        }
    }
}

/// The members of a server's message. A member that is `null` counts as missing, except for a
/// result.
struct Members<'a>(Envelope<'a>);

impl<'a> Members<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let mut envelope = Envelope::read(text, KeyCheck::Tolerant).ok()?;
        for member in [
            &mut envelope.jsonrpc,
            &mut envelope.id,
            &mut envelope.method,
            &mut envelope.params,
            &mut envelope.error,
        ] {
            *member = member.filter(|value| value.get() != "null");
        }
        Some(Self(envelope))
    }

    fn is_json_rpc_2(&self) -> bool {
        self.0
            .jsonrpc
            .is_some_and(|version| version.get() == r#""2.0""#)
    }

    /// Returns the id if it has the form of Drawbridge's ids: a number that fits into 64 bits.
    fn own_id(&self) -> Option<u64> {
        self.0.id.and_then(|id| id.get().parse().ok())
    }

    /// Returns the id like [`Self::own_id`], even if the server turned it into a string.
    fn intended_id(&self) -> Option<u64> {
        self.own_id().or_else(|| {
            serde_json::from_str::<&str>(self.0.id?.get())
                .ok()?
                .parse()
                .ok()
        })
    }

    fn has_outcome(&self) -> bool {
        self.0.result.is_some() || self.0.error.is_some()
    }

    /// Returns the rule that an answer breaks. Returns `None` if the message breaks no rule, or is
    /// not meant to be an answer.
    fn broken_rule(&self) -> Option<MalformedAnswer> {
        let id = self.intended_id()?;
        if self.0.method.is_some() {
            return None;
        }
        match self.0.jsonrpc {
            // A line of a JSON log may have an id too.
            None | Some(_) if !self.is_json_rpc_2() && !self.has_outcome() => None,
            None => Some(MalformedAnswer::NoVersion),
            Some(version) if !self.is_json_rpc_2() => Some(MalformedAnswer::WrongVersion {
                version: version.to_string(),
            }),
            Some(_) if self.own_id().is_none() => Some(MalformedAnswer::StringId { id }),
            Some(_) if !self.has_outcome() => Some(MalformedAnswer::NoOutcome),
            Some(_) => None,
        }
    }
}

/// Reads one message. A result is not copied: it shares the memory of `message`. Returns `None` if
/// the text is not a JSON-RPC message. Also returns `None` for the messages that are dropped:
/// requests and notifications that are nested too deeply, and arrays in which no answer has an id.
pub fn parse(message: &Json) -> Option<ServerMessage> {
    if message.get().trim_start().starts_with('[') {
        return parse_batch(message);
    }
    let members = Members::read(message.get().as_bytes())?;
    if let Some(rule) = members.broken_rule() {
        let ids = members.intended_id().into_iter().collect();
        return Some(ServerMessage::Malformed { ids, rule });
    }
    if !members.is_json_rpc_2() {
        return None;
    }
    if json::depth_exceeds(message.get().as_bytes(), json::MAX_DEPTH) {
        return reject_too_deep(&members);
    }
    let own_id = members.own_id();
    let Members(envelope) = members;
    let params = envelope.params.map(ToOwned::to_owned);
    let method = match envelope.method {
        Some(method) => Some(read_string(method)?),
        None => None,
    };
    match (method, envelope.id) {
        (Some(method), Some(id)) => Some(ServerMessage::Incoming(Incoming::Request {
            id: id.to_owned(),
            method: method.into_owned(),
            params,
        })),
        (Some(method), None) => Some(ServerMessage::Incoming(Incoming::Notification {
            method: method.into_owned(),
            params,
        })),
        (None, _) => {
            let response = match (envelope.result, envelope.error) {
                // Some servers write both members, and set the unused member to null.
                (None, Some(error)) => RpcResponse::Error(RpcError::parse_or_wrap(error, "server")),
                (Some(result), Some(error)) if result.get() == "null" => {
                    RpcResponse::Error(RpcError::parse_or_wrap(error, "server"))
                }
                (Some(result), _) => RpcResponse::Result(message.slice_ref(result.get())),
                (None, None) => return None,
            };
            Some(ServerMessage::Response {
                id: own_id,
                response,
            })
        }
    }
}

/// Reads an array of messages. Its answers are malformed, because no revision lets a server answer
/// a single request with an array.
fn parse_batch(message: &Json) -> Option<ServerMessage> {
    let batch: Vec<&RawValue> = serde_json::from_str(message.get()).ok()?;
    let batch = batch
        .iter()
        .map(|message| Members::read(message.get().as_bytes()))
        .collect::<Option<Vec<_>>>()?;
    let answers = batch.iter().filter(|message| {
        message.0.method.is_none() && (message.is_json_rpc_2() || message.has_outcome())
    });
    let ids: Vec<u64> = answers.filter_map(Members::intended_id).collect();
    (!ids.is_empty()).then_some(ServerMessage::Malformed {
        ids,
        rule: MalformedAnswer::Batch,
    })
}

/// Turns an answer that is nested too deeply into a malformed answer. Drops any other message.
fn reject_too_deep(members: &Members<'_>) -> Option<ServerMessage> {
    if members.0.method.is_some() {
        return None;
    }
    Some(ServerMessage::Malformed {
        ids: members.own_id().into_iter().collect(),
        rule: MalformedAnswer::TooDeep {
            max: json::MAX_DEPTH,
        },
    })
}

/// Returns the id of the request that a message answers, from the beginning of a message that is
/// too long to be read. Returns `None` if the beginning does not contain the id and then
/// `"result"`.
pub fn answered_id(beginning: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(beginning);
    let before_result = text
        .split("\"result\"")
        .next()
        .filter(|before| before.len() < text.len())?;
    let (_, id) = before_result.split_once("\"id\"")?;
    let id = id.trim_start().strip_prefix(':')?.trim_start();
    id.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
