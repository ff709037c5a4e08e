//! Pairing: unknown clients on this computer that ask to be added.

use drawbridge_model::{
    ids::{ClientName, PairingId, UserName},
    pairing::PairingRequest,
};
use drawbridge_store::secrets::Secret;
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb, clients::RevokeClient, profiles};
use crate::{hub::Hub, pairing::PairedClient};

/// `pairing.list`: the clients that ask to be paired, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPairings {}

/// `pairing.answer`: approves or denies the pairing of a client. A client that was denied cannot
/// ask again for ten minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AnswerPairing {
    pub id: PairingId,
    pub approve: bool,
    /// The name of the new client; the suggested name if absent.
    #[serde(default)]
    pub name: Option<ClientName>,
    /// The profile that limits what the new client sees; if absent, the client sees everything.
    #[serde(default)]
    pub profile: Option<String>,
}

/// The result of answering a client that asks to be paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PairingAnswered {
    /// The client that was added; null if the pairing was denied.
    pub client: Option<ClientName>,
}

impl Verb for ListPairings {
    type Answer = Vec<PairingRequest>;

    async fn run(self, hub: &Hub) -> Result<Vec<PairingRequest>, ApiError> {
        Ok(hub.pairings.list())
    }
}

impl Verb for AnswerPairing {
    type Answer = PairingAnswered;

    async fn run(self, hub: &Hub) -> Result<PairingAnswered, ApiError> {
        if !self.approve {
            hub.pairings.deny(&self.id)?;
            return Ok(PairingAnswered { client: None });
        }
        let client = approve(hub, self).await?;
        Ok(PairingAnswered {
            client: Some(client),
        })
    }
}

/// Adds the client that asks. Also sends the client its token, unless the client asked with a token
/// of its own. If the name or the profile is invalid, or if clients cannot connect over HTTP, the
/// client keeps waiting for an answer.
async fn approve(hub: &Hub, answer: AnswerPairing) -> Result<ClientName, ApiError> {
    let AnswerPairing {
        id, name, profile, ..
    } = answer;
    hub.check_http_clients_can_connect()?;
    let request = hub.pairings.find(&id)?;
    let name = name.unwrap_or_else(|| hub.access.find_free_name(&ClientName::new(request.name)));
    hub.access.check_free(&name)?;
    if let Some(profile) = &profile {
        hub.catalog.profiles().check_known(profile)?;
    }
    let pairing = hub.pairings.take_request(&id)?;
    let own_token = pairing
        .token
        .as_ref()
        .map(|token| token.expose().to_owned());
    let has_own_token = own_token.is_some();
    // The client does not inherit the user of an earlier client of this name, because any program
    // can claim the name.
    let user = Some(UserName::default());
    let added = hub.access.add(&name, own_token, user, None);
    let token = profiles::add_with_profile(hub, &name, profile.as_deref(), added).await?;
    hub.logs.add_secret(&Secret::new(token.clone()));
    hub.pairings.record_approval(&pairing.request, &name);
    let was_waiting = pairing.approve(PairedClient {
        name: name.clone(),
        token: (!has_own_token).then_some(token),
        url: hub.client_connection(&name, None).url,
    });
    if was_waiting || has_own_token {
        return Ok(name);
    }
    // The new token reached nobody.
    RevokeClient { name }.run(hub).await?;
    Err(ApiError::conflict(
        "the client disconnected before it got its token, and was not added; let the client ask again",
    ))
}
