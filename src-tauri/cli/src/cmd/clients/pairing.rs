//! `drawbridge clients pairing`: lists, approves and denies the unknown clients that ask to be
//! paired.

use clap::Subcommand;
use drawbridge_hub::api::pairing::{AnswerPairing, ListPairings, PairingAnswered};
use drawbridge_model::{
    ids::{ClientName, PairingId},
    pairing::PairingRequest,
};

use crate::{context::Context, exit::Failure, output, table::Table, text::escape};

#[derive(Subcommand)]
pub(crate) enum Pairing {
    /// List the clients that ask to be paired, oldest first
    List,
    /// Approve the pairing of a client, and add the client
    Approve {
        /// The id, as shown by `clients pairing list`
        id: String,
        /// The client's name, instead of the name that the client suggests
        #[arg(long)]
        name: Option<String>,
        /// The profile that limits what the client sees. Without it, the client sees everything.
        #[arg(long)]
        profile: Option<String>,
    },
    /// Deny the pairing of a client, which then cannot ask again for ten minutes
    Deny {
        /// The id, as shown by `clients pairing list`
        id: String,
    },
}

impl Pairing {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running_hub()?;
        let answer = match self {
            Self::List => {
                let requests = hub.call(ListPairings {}).await?;
                return output::print_answer(context.json, &requests, |all| format_requests(all));
            }
            Self::Approve { id, name, profile } => AnswerPairing {
                id: PairingId::new(id),
                approve: true,
                name: name.map(ClientName::new),
                profile,
            },
            Self::Deny { id } => AnswerPairing {
                id: PairingId::new(id),
                approve: false,
                name: None,
                profile: None,
            },
        };
        output::print_answer(context.json, &hub.call(answer).await?, format_answered)
    }
}

fn format_answered(answered: &PairingAnswered) -> String {
    match &answered.client {
        Some(client) => format!("Client '{}' added.", escape(client.as_str())),
        None => "Denied. The client cannot ask again for ten minutes.".to_owned(),
    }
}

fn format_requests(requests: &[PairingRequest]) -> String {
    let mut table = Table::new([
        "ID",
        "NAME",
        "PROGRAM",
        "PID",
        "FOLDER",
        "TOKEN",
        "TIME LEFT",
    ]);
    for request in requests {
        let program = request.program.as_ref();
        let pid = program.map_or_else(|| "-".to_owned(), |program| program.pid.to_string());
        let token = match &request.revoked_client {
            Some(client) => format!("of '{client}', revoked"),
            None if request.has_token => "its own".to_owned(),
            None => "a new one".to_owned(),
        };
        table.add_row([
            request.id.as_str(),
            &request.name,
            program.map_or("not revealed", |program| &program.executable),
            &pid,
            program
                .and_then(|program| program.folder.as_deref())
                .unwrap_or("-"),
            &token,
            &format!("{} s", request.remaining_ms / 1000),
        ]);
    }
    table.format_or("No client asks to be paired.")
}
