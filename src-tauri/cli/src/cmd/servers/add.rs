//! `drawbridge servers add`: adds a server from a command, a URL, a preset, a manifest, the
//! official registry or an MCP bundle.

use std::path::PathBuf;

use clap::ValueEnum;
use drawbridge_client_config::find_literals;
use drawbridge_hub::api::servers::{AddServer, SecretValues};
use drawbridge_model::{
    content::ContentDefence,
    names,
    spec::{Isolation, OauthClient, ServerSpec, TransportKind, Validate},
};

use crate::{
    context::Context,
    exit::{Failure, print_stderr},
    text::escape,
};

mod bundle;
pub(super) mod manifest;
mod sandbox;
#[cfg(test)]
mod tests;

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["command", "url", "preset", "manifest", "registry", "bundle"]))]
#[command(
    override_usage = "drawbridge servers add NAME [OPTIONS] -- COMMAND [ARGS]...
       drawbridge servers add NAME [OPTIONS] --url URL
       drawbridge servers add [NAME] [OPTIONS] --preset ID
       drawbridge servers add [NAME] [OPTIONS] --manifest PATH
       drawbridge servers add [NAME] [OPTIONS] --registry SERVER
       drawbridge servers add [NAME] [OPTIONS] --bundle FILE"
)]
pub(crate) struct AddArgs {
    /// The server's name, which also determines its id [default: the name in the preset, manifest,
    /// registry or bundle]
    #[arg(required_unless_present_any = ["preset", "manifest", "registry", "bundle"])]
    name: Option<String>,
    /// An environment variable of the command. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, conflicts_with_all = ["url", "preset", "manifest", "registry"])]
    env: Vec<(String, String)>,
    /// An environment variable, or an input of a preset, manifest, published server or bundle,
    /// whose value is stored in the secret store. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, allow_hyphen_values = true, conflicts_with = "url")]
    secret: Vec<(String, String)>,
    /// The working folder of the command
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "preset", "manifest", "registry"])]
    cwd: Option<String>,
    /// The URL of a remote server
    #[arg(long)]
    url: Option<String>,
    /// The transport of a remote server
    #[arg(long, value_enum, conflicts_with_all = ["command", "preset", "manifest", "registry"])]
    transport: Option<Transport>,
    /// A header sent with each request to a remote server. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, conflicts_with_all = ["command", "preset", "manifest", "registry"])]
    header: Vec<(String, String)>,
    /// A header whose value is stored in the secret store. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, conflicts_with_all = ["command", "preset", "manifest", "registry"])]
    secret_header: Vec<(String, String)>,
    /// The protocol revision to use with the server, such as 2025-06-18 [default: negotiated]
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["preset", "manifest", "registry"])]
    protocol_version: Option<String>,
    /// The id of an OAuth client that you registered with the server's authorization server
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "preset", "manifest", "registry"])]
    oauth_client_id: Option<String>,
    /// The secret of that OAuth client, stored in the secret store
    #[arg(long, value_name = "SECRET", requires = "oauth_client_id")]
    oauth_client_secret: Option<String>,
    /// The port of that OAuth client's redirect URI, http://127.0.0.1:PORT/callback [default: any]
    #[arg(long, value_name = "PORT", requires = "oauth_client_id", value_parser = clap::value_parser!(u16).range(1..))]
    oauth_callback_port: Option<u16>,
    #[command(flatten)]
    from: manifest::ManifestArgs,
    /// An MCP bundle (.mcpb). Its files are unpacked into the data folder, and the server does not
    /// start until you accept it.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "env", "cwd", "transport", "header", "secret_header", "protocol_version", "oauth_client_id",
        "package", "sandbox", "sandbox_read", "sandbox_write", "sandbox_connect", "sandbox_bind",
        "sandbox_local_sockets", "keep_literals", "per_client", "validate", "content_defence",
        "pending", "grant_secret",
    ])]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    confinement: sandbox::SandboxArgs,
    /// Leave values that look like secrets in the spec file, in plain text, instead of moving them
    /// to the secret store
    #[arg(long)]
    keep_literals: bool,
    /// Give each client its own session and process
    #[arg(long)]
    per_client: bool,
    /// How strictly arguments must match a tool's schema
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    validate: Validation,
    /// How to treat texts of the server that contain instructions to a model or hidden
    /// characters
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    content_defence: Defence,
    /// Add the server, but do not accept it; it does not start until you accept it
    #[arg(long)]
    pending: bool,
    /// Let the server use this secret, which is not its own. May be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "pending")]
    grant_secret: Vec<String>,
    /// The command that starts a local server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    /// Streamable HTTP (the default)
    Http,
    /// HTTP+SSE, for older servers
    Sse,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Validation {
    /// Require an exact match
    Strict,
    /// Also accept strings for numbers, booleans, objects and lists, numbers and booleans for
    /// strings, and null for optional values
    #[default]
    Coercible,
    /// Do not check arguments
    Off,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Defence {
    /// Check nothing
    #[default]
    Off,
    /// Record and show flagged texts, and say in flagged results that they are data
    Mark,
    /// Also hold flagged results until you release them, and flagged definitions until you accept
    /// each of them
    Ask,
}

impl Defence {
    fn to_content_defence(self) -> ContentDefence {
        match self {
            Self::Off => ContentDefence::Off,
            Self::Mark => ContentDefence::Mark,
            Self::Ask => ContentDefence::Ask,
        }
    }
}

impl Validation {
    fn to_validate(self) -> Validate {
        match self {
            Self::Strict => Validate::Strict,
            Self::Coercible => Validate::Coercible,
            Self::Off => Validate::Off,
        }
    }
}

impl Transport {
    fn to_transport_kind(self) -> TransportKind {
        match self {
            Self::Http => TransportKind::Http,
            Self::Sse => TransportKind::Sse,
        }
    }
}

impl AddArgs {
    pub(super) async fn run(mut self, context: &Context) -> Result<(), Failure> {
        if let Some(path) = self.bundle.take() {
            return self.add_bundle(path, context).await;
        }
        match self.manifest_source()? {
            Some(source) => self.add_from_manifest(source, context).await,
            None => {
                let verb = self.into_verb()?;
                announce_moved_literals(&verb)?;
                context
                    .run_and_print(verb, |server| super::format_change("added", server))
                    .await
            }
        }
    }

    fn into_verb(self) -> Result<AddServer, Failure> {
        let callback_port = self.oauth_callback_port;
        let client = |client_id| OauthClient {
            client_id,
            client_secret: None,
            callback_port,
        };
        let mut command_line = self.command.into_iter();
        let spec = ServerSpec {
            name: self.name.unwrap_or_default(),
            command: command_line.next(),
            args: command_line.collect(),
            env: self.env.into_iter().collect(),
            cwd: self.cwd,
            url: self.url,
            headers: self.header.into_iter().collect(),
            oauth: self.oauth_client_id.map(client),
            transport: self.transport.map(Transport::to_transport_kind),
            protocol_version: self.protocol_version,
            isolation: if self.per_client {
                Isolation::PerClient
            } else {
                Isolation::Shared
            },
            validate: self.validate.to_validate(),
            content_defence: self.content_defence.to_content_defence(),
            sandbox: self.confinement.into_sandbox(None)?,
            ..ServerSpec::default()
        };
        let secrets = SecretValues {
            env: self.secret.into_iter().collect(),
            headers: self.secret_header.into_iter().collect(),
            oauth_client: self.oauth_client_secret,
            move_literals: !self.keep_literals,
        };
        Ok(AddServer {
            spec,
            secrets,
            pending: self.pending,
            grant_secrets: self.grant_secret,
        })
    }
}

/// Reports each value of the command line that looks like a secret and therefore goes to the secret
/// store.
fn announce_moved_literals(verb: &AddServer) -> Result<(), Failure> {
    let Some(id) = names::server_id_from_name(&verb.spec.name) else {
        return Ok(());
    };
    if !verb.secrets.move_literals {
        return Ok(());
    }
    for literal in find_literals(id.as_str(), &verb.spec) {
        let name = escape(&literal.secret_name);
        print_stderr(&format!(
            "A value looks like a secret: it goes to the secret store as '{name}', and the spec \
             file refers to it (--keep-literals leaves it in the file)."
        ));
    }
    Ok(())
}

/// The error if a text is not a name with a value.
#[derive(Debug, thiserror::Error)]
#[error("expected NAME=VALUE")]
struct ParsePairError;

fn parse_pair(text: &str) -> Result<(String, String), ParsePairError> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(ParsePairError),
    }
}
