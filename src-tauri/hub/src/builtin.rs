//! The servers that are built into Drawbridge. Each is an ordinary MCP server over a pipe in
//! memory, so that its calls take the same path as those of any other server.
//!
//! A new built-in server needs a variant of [`BuiltIn`], a file here with its [`ServerHandler`] and
//! its [`BuiltInSpec`], and a setting in `drawbridge_store::settings` that turns it on and off.

mod docling;
mod folders;
mod memory;

use std::{path::PathBuf, sync::Arc};

use drawbridge_model::{
    builtin::BuiltIn,
    event::Events,
    ids::ClientName,
    protocol::NEWEST_LEGACY,
    spec::{DefinitionPolicy, Isolation, ServerSpec, Timeouts, Validate},
};
use drawbridge_store::{Store, settings::Settings};
use drawbridge_upstream::BuiltIns;
use futures_util::future::BoxFuture;
use rmcp::{RoleServer, ServiceExt, service::DynService, transport::async_rw::AsyncRwTransport};
use tokio::io::{DuplexStream, split};

use crate::access::Access;

/// The part of a built-in server's spec that differs between the built-in servers.
struct BuiltInSpec {
    name: &'static str,
    /// Whether each client gets its own instance of the server, which knows its client.
    isolation: Isolation,
    /// The timeout of a call, if it is longer than usual.
    call_timeout_ms: Option<u32>,
}

fn own_spec(built_in: BuiltIn) -> BuiltInSpec {
    match built_in {
        BuiltIn::Memory => memory::SPEC,
        BuiltIn::Folders => folders::SPEC,
        BuiltIn::Docling => docling::SPEC,
    }
}

/// Returns the spec of a built-in server. The server's tools are exposed under their own names; if
/// another server has a tool of the same name, the built-in server keeps the name. The definitions
/// of a built-in server are part of Drawbridge, so nobody has to accept them.
pub(crate) fn spec(built_in: BuiltIn, enabled: bool) -> ServerSpec {
    let BuiltInSpec {
        name,
        isolation,
        call_timeout_ms,
    } = own_spec(built_in);
    let mut timeouts = Timeouts {
        // A server in this process cannot be out of reach.
        ping_ms: 0,
        ..Timeouts::default()
    };
    if let Some(timeout_ms) = call_timeout_ms {
        timeouts.call_ms = timeout_ms;
        timeouts.total_ms = timeout_ms;
    }
    ServerSpec {
        name: name.into(),
        builtin: Some(built_in),
        enabled,
        isolation,
        prefix: Some(String::new()),
        definitions: DefinitionPolicy::Trust,
        validate: Validate::Strict,
        // Drawbridge translates for clients of the other era.
        protocol_version: Some(NEWEST_LEGACY.into()),
        timeouts,
        ..ServerSpec::default()
    }
}

pub(crate) use docling::{CONVERSION_TIMEOUT, DoclingError, DocumentConverter, DocumentOutput};
pub(crate) use folders::{FolderProblem, check_folder};

/// Starts built-in servers.
pub(crate) struct BuiltInServers {
    pub(crate) store: Store,
    pub(crate) events: Events,
    pub(crate) access: Arc<Access>,
    pub(crate) settings: Settings,
    pub(crate) data_dir: PathBuf,
    pub(crate) converter: Arc<dyn DocumentConverter>,
}

impl BuiltIns for BuiltInServers {
    fn serve(
        &self,
        built_in: BuiltIn,
        client: Option<ClientName>,
        stream: DuplexStream,
    ) -> BoxFuture<'static, ()> {
        match built_in {
            BuiltIn::Memory => {
                let server = memory::MemoryServer::new(
                    self.store.clone(),
                    self.events.clone(),
                    self.access.clone(),
                    client,
                );
                serve(server.into_dyn(), stream)
            }
            BuiltIn::Folders => {
                let server =
                    folders::FoldersServer::new(self.settings.clone(), self.data_dir.clone());
                serve(server.into_dyn(), stream)
            }
            BuiltIn::Docling => {
                let server = docling::DoclingServer::new(self.converter.clone(), client);
                serve(server.into_dyn(), stream)
            }
        }
    }
}

/// Serves one of the built-in servers. Their type is erased, so that the compiler compiles the
/// server's side of the protocol once and not for each of them.
fn serve(server: Box<dyn DynService<RoleServer>>, stream: DuplexStream) -> BoxFuture<'static, ()> {
    let (reader, writer) = split(stream);
    // Drawbridge has already checked the length of each message.
    let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(usize::MAX);
    Box::pin(async move {
        match server.serve(transport).await {
            Ok(session) => {
                let _ = session.waiting().await;
            }
            Err(error) => {
                tracing::debug!("the handshake with a built-in server failed: {error}")
            }
        }
    })
}
