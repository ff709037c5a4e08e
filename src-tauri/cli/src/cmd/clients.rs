//! `drawbridge clients`: manages client tokens.

mod pairing;

use std::io;

use clap::Subcommand;
use drawbridge_hub::api::{
    clients::{AddClient, ClientAdded, ClientView, ListClients, RevokeClient, SetClientUser},
    profiles::AssignProfile,
};
use drawbridge_model::ids::{ClientName, UserName};

use pairing::Pairing;

use crate::{
    context::Context, exit::Failure, table::Table, text::escape, time::format_time_or_dash,
};

#[derive(Subcommand)]
pub(crate) enum Clients {
    /// Add a client, and show its token once
    Add {
        /// The client's name, as used in rules and lists
        name: String,
        /// Read the token from stdin instead of creating one (at least 32 characters)
        #[arg(long)]
        token_stdin: bool,
        /// The user to whom the client belongs, and whose memory it uses [default: default]
        #[arg(long)]
        user: Option<String>,
    },
    /// List clients
    List,
    /// List and answer the unknown clients that ask to be paired
    #[command(subcommand)]
    Pairing(Pairing),
    /// Assign a profile to a client, effective at once
    Profile {
        /// The client's name
        name: String,
        /// The profile's name. Without it, the client sees everything again.
        profile: Option<String>,
    },
    /// Give a client to a user, whose memory it then uses
    User {
        /// The client's name
        name: String,
        /// The user's name
        user: String,
    },
    /// Revoke a client's token and end its sessions
    Revoke {
        /// The client's name
        name: String,
    },
}

impl Clients {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Add {
                name,
                token_stdin,
                user,
            } => {
                let token = token_stdin.then(read_token).transpose()?;
                context
                    .run_and_print(
                        AddClient {
                            name: ClientName::new(name),
                            token,
                            user: user.map(UserName::new),
                        },
                        format_added,
                    )
                    .await
            }
            Self::List => {
                context
                    .run_and_print(ListClients {}, |clients| format_clients(clients))
                    .await
            }
            Self::Pairing(pairing) => pairing.run(context).await,
            Self::Profile { name, profile } => {
                let access = match &profile {
                    Some(profile) => format!("has the profile '{}'", escape(profile)),
                    None => "sees everything".to_owned(),
                };
                let lines = format!("Client '{}' now {access}.", escape(&name));
                context
                    .run_and_print(
                        AssignProfile {
                            client: ClientName::new(name),
                            profile,
                        },
                        |_| lines,
                    )
                    .await
            }
            Self::User { name, user } => {
                let lines = format!(
                    "Client '{}' now belongs to the user '{}'.",
                    escape(&name),
                    escape(&user)
                );
                context
                    .run_and_print(
                        SetClientUser {
                            name: ClientName::new(name),
                            user: UserName::new(user),
                        },
                        |_| lines,
                    )
                    .await
            }
            Self::Revoke { name } => {
                let lines = format!("Client '{}' revoked.", escape(&name));
                context
                    .run_and_print(
                        RevokeClient {
                            name: ClientName::new(name),
                        },
                        |_| lines,
                    )
                    .await
            }
        }
    }
}

fn read_token() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn format_added(client: &ClientAdded) -> String {
    format!(
        "Client '{}' added.\ntoken  {}\nurl    {}\n\n\
         Copy the token now: it is not shown again. Paste this into the client's settings:\n{:#}",
        escape(client.name.as_str()),
        client.token,
        client.url,
        client.config
    )
}

fn format_clients(clients: &[ClientView]) -> String {
    let mut table = Table::new([
        "NAME",
        "USER",
        "TOKEN",
        "SESSIONS",
        "LAST SEEN",
        "PROFILE",
        "SOFTWARE",
    ]);
    for client in clients {
        let token = match (client.revoked_at, client.has_token) {
            (Some(_), _) => "revoked",
            (None, true) => "yes",
            (None, false) => "none (stdio)",
        };
        let (sessions, last_seen) = (
            client.sessions.to_string(),
            format_time_or_dash(client.last_seen_at),
        );
        let (profile, software) = (
            client.profile.as_deref().unwrap_or("-"),
            client.software.as_deref().unwrap_or("-"),
        );
        table.add_row([
            client.name.as_str(),
            client.user.as_str(),
            token,
            &sessions,
            &last_seen,
            profile,
            software,
        ]);
    }
    table.format_or("No clients. Add one with `drawbridge clients add NAME`.")
}
