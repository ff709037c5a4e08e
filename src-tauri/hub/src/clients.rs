//! AI clients: how each reaches Drawbridge, the entries in their configuration files, and how long
//! the names of their tools may be.

pub mod configs;
pub mod tool_names;
mod vault;

use std::{collections::BTreeMap, path::Path};

use drawbridge_client_config::{Connection, Machine, Transport};
use drawbridge_model::ids::ClientName;
use drawbridge_store::data_dir::default_data_dir;

/// Returns how a client reaches the hub with this endpoint and data folder: by the bridge, or over
/// HTTP if there is a token.
pub fn connection(
    url: String,
    data_dir: &Path,
    client: &ClientName,
    token: Option<&str>,
) -> Connection {
    let is_default = data_dir == default_data_dir();
    Connection {
        command: bridge_command(),
        url,
        client: client.as_str().to_owned(),
        data_dir: (!is_default).then(|| data_dir.display().to_string()),
        transport: match token {
            Some(token) => Transport::Http {
                token: Some(token.to_owned()),
            },
            None => Transport::Bridge,
        },
    }
}

/// Returns this machine, with those of the caller's environment variables that say where clients
/// keep their files. Returns `None` if the user has no home folder.
pub fn machine(environment: &BTreeMap<String, String>) -> Option<Machine> {
    let mut machine = Machine::this()?;
    machine.set_variables(environment);
    Some(machine)
}

/// Returns the path of the `drawbridge` command in this program's folder, or the command's bare
/// name if it is not there.
fn bridge_command() -> String {
    let name = if cfg!(windows) {
        "drawbridge.exe"
    } else {
        "drawbridge"
    };
    let sibling = std::env::current_exe()
        .ok()
        .and_then(|me| Some(me.parent()?.join(name)));
    sibling
        .filter(|file| file.is_file())
        .map_or_else(|| name.to_owned(), |file| file.display().to_string())
}
