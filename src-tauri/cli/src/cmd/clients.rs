//! `drawbridge clients`: manages clients, with their tokens, users, profiles and limits.

mod pairing;

use std::{fmt::Write as _, io, num::NonZeroU32, str::FromStr, time::Duration};

use clap::Subcommand;
use drawbridge_hub::api::{
    clients::{
        AddClient, ClientAdded, ClientRotated, ClientUnmuted, ClientView, LimitClient, ListClients,
        RevokeClient, RotateClient, SetClientUser, UnmuteClient,
    },
    profiles::AssignProfile,
};
use drawbridge_model::{
    clock,
    ids::{ClientName, Timestamp, UserName},
};

use pairing::Pairing;

use crate::{
    context::Context,
    exit::Failure,
    table::Table,
    text::escape,
    time::{format_time, format_time_or_dash, parse_duration},
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
        /// The profile that limits what the client sees. Without it, the client sees everything
        #[arg(long)]
        profile: Option<String>,
        /// How long the token is valid, such as 90d. Without it, the token does not expire
        #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
        expires: Option<Duration>,
    },
    /// Give a client a new token, and write it to the files that Drawbridge manages
    ///
    /// The old token is valid until the new token is used, at most for 24 hours.
    Rotate {
        /// The client's name
        name: String,
        /// Read the new token from stdin instead of creating one (at least 32 characters)
        #[arg(long)]
        token_stdin: bool,
        /// How long the new token is valid [default: as long as the old token]
        #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
        expires: Option<Duration>,
        /// The new token does not expire
        #[arg(long, conflicts_with = "expires")]
        no_expiry: bool,
    },
    /// List clients
    List,
    /// List, approve and deny the unknown clients that ask to be paired
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
    ///
    /// The client's sessions end, so that the client connects again.
    User {
        /// The client's name
        name: String,
        /// The user's name
        user: String,
    },
    /// Limit how many calls a client may make in a minute
    ///
    /// Other requests that the policy covers count like calls.
    Limit {
        /// The client's name
        name: String,
        /// The number of calls, or off for no limit. Calls beyond the limit are denied.
        #[arg(long, value_name = "N|off")]
        calls_per_minute: CallLimit,
    },
    /// Let a muted client ask again at once
    ///
    /// A client is muted for a minute if nobody decides three of its requests in a row.
    Unmute {
        /// The client's name
        name: String,
    },
    /// Revoke a client's token, end its sessions, and delete its rules
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
                profile,
                expires,
            } => {
                let token = token_stdin.then(read_token).transpose()?;
                context
                    .run_and_print(
                        AddClient {
                            name: ClientName::new(name),
                            token,
                            user: user.map(UserName::new),
                            lifetime_s: expires.map(whole_seconds),
                            profile,
                        },
                        format_added,
                    )
                    .await
            }
            Self::Rotate {
                name,
                token_stdin,
                expires,
                no_expiry,
            } => {
                let token = token_stdin.then(read_token).transpose()?;
                let lifetime_s = no_expiry.then_some(0).or(expires.map(whole_seconds));
                context
                    .run_and_print(
                        RotateClient {
                            name: ClientName::new(name),
                            token,
                            lifetime_s,
                        },
                        format_rotated,
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
                let message = format!("Client '{}' now {access}.", escape(&name));
                context
                    .run_and_print(
                        AssignProfile {
                            client: ClientName::new(name),
                            profile,
                        },
                        |_| message,
                    )
                    .await
            }
            Self::User { name, user } => {
                let message = format!(
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
                        |_| message,
                    )
                    .await
            }
            Self::Limit {
                name,
                calls_per_minute: CallLimit(limit),
            } => {
                let client = escape(&name);
                let message = match limit {
                    Some(calls) => {
                        format!("Client '{client}' may now make at most {calls} calls a minute.")
                    }
                    None => format!("Client '{client}' has no limit now."),
                };
                context
                    .run_and_print(
                        LimitClient {
                            name: ClientName::new(name),
                            calls_per_minute: limit,
                        },
                        |_| message,
                    )
                    .await
            }
            Self::Unmute { name } => {
                let client = escape(&name).to_string();
                context
                    .run_and_print(
                        UnmuteClient {
                            name: ClientName::new(name),
                        },
                        |unmuted| format_unmuted(&client, unmuted),
                    )
                    .await
            }
            Self::Revoke { name } => {
                let message = format!("Client '{}' revoked.", escape(&name));
                context
                    .run_and_print(
                        RevokeClient {
                            name: ClientName::new(name),
                        },
                        |_| message,
                    )
                    .await
            }
        }
    }
}

/// The number of calls that a client may make in a minute, or `None` for `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallLimit(Option<NonZeroU32>);

/// The error if a text is not a [`CallLimit`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number from 1 to 4294967295, or off; to block a client, revoke it")]
pub(crate) struct ParseCallLimitError;

impl FromStr for CallLimit {
    type Err = ParseCallLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self(None));
        }
        let calls = text.parse().map_err(|_| ParseCallLimitError)?;
        Ok(Self(Some(calls)))
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

fn format_rotated(client: &ClientRotated) -> String {
    let mut text = format!(
        "Client '{}' has a new token. The old token is valid until the new token is used, at most for 24 hours.\n\
         token  {}\nurl    {}\n",
        escape(client.name.as_str()),
        client.token,
        client.url,
    );
    for path in &client.updated_files {
        let _ = writeln!(text, "updated {}", escape(path));
    }
    for file in &client.failed_files {
        let _ = writeln!(
            text,
            "NOT updated {}: {}",
            escape(&file.path),
            escape(&file.error)
        );
    }
    if client.updated_files.is_empty() || !client.failed_files.is_empty() {
        let _ = write!(
            text,
            "\nCopy the token now: it is not shown again. Paste this into the client's settings:\n{:#}",
            client.config
        );
    }
    text.trim_end().to_owned()
}

fn format_unmuted(client: &str, unmuted: &ClientUnmuted) -> String {
    if unmuted.was_muted {
        format!("Client '{client}' can ask again.")
    } else {
        format!("Client '{client}' is not muted.")
    }
}

fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).expect("parse_duration allows at most a century")
}

/// Formats the time at which a token expires. Marks a token that has expired, or that expires
/// within three days.
fn format_expiry(expires_at: Timestamp) -> String {
    const WARNING_MS: i64 = 3 * 24 * 60 * 60 * 1000;
    let remaining_ms = expires_at.0 - clock::now().0;
    let time = format_time(expires_at);
    match remaining_ms {
        ..=0 => format!("expired {time}"),
        1..WARNING_MS => format!("soon: {time}"),
        _ => time,
    }
}

fn format_clients(clients: &[ClientView]) -> String {
    let mut table = Table::new([
        "NAME",
        "USER",
        "TOKEN",
        "EXPIRES",
        "CALLS/MIN",
        "SESSIONS",
        "MUTED",
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
        let removed = client.profile_removed.then_some("(removed: sees nothing)");
        let (profile, software) = (
            client.profile.as_deref().or(removed).unwrap_or("-"),
            client
                .software
                .as_deref()
                .or(client.user_agent.as_deref())
                .unwrap_or("-"),
        );
        let expires = client
            .token_expires_at
            .map_or_else(|| "-".to_owned(), format_expiry);
        let limit = client
            .calls_per_minute
            .map_or_else(|| "-".to_owned(), |calls| calls.to_string());
        let muted = client.mute.map_or_else(
            || "-".to_owned(),
            |mute| format!("{} s left", mute.remaining_ms.div_ceil(1000)),
        );
        table.add_row([
            client.name.as_str(),
            client.user.as_str(),
            token,
            &expires,
            &limit,
            &sessions,
            &muted,
            &last_seen,
            profile,
            software,
        ]);
    }
    table.format_or("No clients. Add one with `drawbridge clients add NAME`.")
}
