//! Pairing: completes the request of an unknown client with facts that only the hub knows.

use drawbridge_model::{ids::ClientName, pairing::PairingProgram};

use super::Hub;
use crate::pairing::{PairingRefusal, PairingReservation, PairingTicket, UnpairedClient};

impl Hub {
    /// Reserves a place for an unknown client that may ask to be paired.
    ///
    /// # Errors
    /// Returns an error if a client with this token already waits or was denied within the last 10
    /// minutes, or if too many clients ask.
    pub fn reserve_pairing(
        &self,
        token: Option<&str>,
    ) -> Result<PairingReservation, PairingRefusal> {
        self.pairings.reserve(token)
    }

    /// Asks a person whether a client may be paired.
    ///
    /// # Errors
    /// For a client that sent no token, returns an error if a client of the same program already
    /// waits or was denied within the last 10 minutes.
    pub fn ask_to_pair(
        &self,
        reservation: PairingReservation,
        name: String,
        token: Option<&str>,
        program: Option<PairingProgram>,
    ) -> Result<PairingTicket, PairingRefusal> {
        reservation.ask(UnpairedClient {
            suggested_name: self.access.find_free_name(&ClientName::new(name.as_str())),
            revoked_client: token.and_then(|token| self.access.find_revoked_client(token)),
            name,
            program,
        })
    }
}
