//! Pairing: an unknown client on this computer asks to be added, and a person answers.

use serde::{Deserialize, Serialize};

use super::ids::{ClientName, PairingId, Timestamp};

/// A client that asks to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct PairingRequest {
    pub id: PairingId,
    /// The name that the client gave itself. Any program may give any name.
    pub name: String,
    /// The name that the client gets if the person enters no other name: the client's own name,
    /// with a number if another client has that name.
    pub suggested_name: ClientName,
    /// Whether the client sent a token of its own, which it keeps if the person approves. A client
    /// that sent no token gets a new token.
    pub has_token: bool,
    /// The revoked client to which the token belonged; `None` if the token belonged to no client.
    pub revoked_client: Option<ClientName>,
    /// The program that asks; `None` if the system does not reveal the program.
    pub program: Option<PairingProgram>,
    pub asked_at: Timestamp,
    /// How long the request still waits, in milliseconds.
    pub remaining_ms: u32,
}

/// The program at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct PairingProgram {
    pub pid: u32,
    /// The path of the executable file.
    pub executable: String,
    /// The folder in which the program works; `None` if the system does not reveal the folder.
    pub folder: Option<String>,
}
