//! `drawbridge servers accept`: shows the spec of a server, and accepts the server.

use std::io::{self, IsTerminal};

use drawbridge_hub::api::servers::{AcceptServer, ServerView, ShowServer};
use drawbridge_model::{acceptance::AcceptanceState, ids::ServerId};

use super::view;
use crate::{confirm, context::Context, exit::Failure};

#[derive(clap::Args)]
pub(crate) struct AcceptArgs {
    /// The server's id, as shown by `servers list`
    id: String,
    /// Accept this identity, as shown by `servers show`, without asking
    #[arg(long, value_name = "DIGEST")]
    identity: Option<String>,
    /// Let the server use this secret, which is not its own. May be repeated.
    #[arg(long, value_name = "NAME")]
    grant_secret: Vec<String>,
}

impl AcceptArgs {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = ServerId::new(self.id);
        let identity = match self.identity {
            Some(identity) => identity,
            None => ask_to_accept(&context.run(ShowServer { id: id.clone() }).await?)?,
        };
        let verb = AcceptServer {
            id,
            identity,
            grant_secrets: self.grant_secret,
        };
        context
            .run_and_print(verb, |server| super::format_change("accepted", server))
            .await
    }
}

/// Shows the server and asks whether to accept it. Returns the identity that was shown.
///
/// # Errors
/// Returns an error if stdin is not a terminal, or if the answer is not yes.
fn ask_to_accept(server: &ServerView) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::AcceptWithoutTerminal {
            server: server.id.clone(),
        });
    }
    let question = match server.acceptance {
        AcceptanceState::Accepted => "You have accepted this server already. Accept it again?",
        AcceptanceState::New | AcceptanceState::Changed => "Accept this server?",
    };
    if confirm::ask(&view::format_offer(server), question)? {
        Ok(server.identity.clone())
    } else {
        Err(Failure::NotAccepted {
            server: server.id.clone(),
        })
    }
}
