//! Links that open a client and add a server.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::SERVER_NAME;
use crate::{connection::Connection, edit::Entry};

/// All characters except the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The form of a client's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkForm {
    Cursor,
    VsCode,
    VsCodeInsiders,
    LmStudio,
    Kiro,
    Goose,
}

impl LinkForm {
    pub(super) fn build(self, connection: &Connection, entry: &Entry) -> String {
        let config = entry.to_value();
        let base64 = || escape(&STANDARD.encode(config.to_string()));
        match self {
            Self::Cursor => format!(
                "cursor://anysphere.cursor-deeplink/mcp/install?name={SERVER_NAME}&config={}",
                base64()
            ),
            Self::VsCode => vs_code("vscode", config),
            Self::VsCodeInsiders => vs_code("vscode-insiders", config),
            Self::LmStudio => format!("lmstudio://add_mcp?name={SERVER_NAME}&config={}", base64()),
            Self::Kiro => format!(
                "kiro://kiro.mcp/add?name={SERVER_NAME}&config={}",
                escape(&config.to_string())
            ),
            Self::Goose => goose(connection),
        }
    }
}

/// VS Code wants the name beside the members of the entry.
fn vs_code(scheme: &str, mut config: Value) -> String {
    config["name"] = SERVER_NAME.into();
    format!("{scheme}:mcp/install?{}", escape(&config.to_string()))
}

fn goose(connection: &Connection) -> String {
    let args: String = connection
        .bridge_args()
        .iter()
        .map(|arg| format!("&arg={}", escape(arg)))
        .collect();
    format!(
        "goose://extension?cmd={}{args}&id={SERVER_NAME}&name=Drawbridge&description={}",
        escape(&connection.command),
        escape("All servers of Drawbridge")
    )
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
