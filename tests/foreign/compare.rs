//! Records the definitions and the answers that a client receives from a server, as text.

use std::collections::BTreeMap;

use drawbridge_tests::mcp::Answer;
use serde_json::{Value, json};

use crate::{
    peer::{Peer, read_page},
    servers::Server,
};

/// A method that lists definitions.
struct ListMethod {
    method: &'static str,
    /// The member of the result that holds the definitions.
    key: &'static str,
    /// The member of a definition that identifies it.
    identifier: &'static str,
}

const LISTS: [ListMethod; 4] = [
    list_method("tools/list", "tools", "name"),
    list_method("prompts/list", "prompts", "name"),
    list_method("resources/list", "resources", "uri"),
    list_method(
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

const fn list_method(
    method: &'static str,
    key: &'static str,
    identifier: &'static str,
) -> ListMethod {
    ListMethod {
        method,
        key,
        identifier,
    }
}

const METHOD_NOT_FOUND: i64 = -32601;

/// The member of `_meta` in which a modern server identifies itself in each result.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The view of a client: each definition under `METHOD IDENTIFIER`, and each answer under its
/// request.
#[derive(Debug)]
pub(crate) struct ClientView {
    pub(crate) texts: BTreeMap<String, String>,
    definitions: usize,
}

impl ClientView {
    /// Lists all definitions, and sends the requests that the table has for this server.
    #[track_caller]
    pub(crate) fn read(server: &Server, peer: &mut Peer) -> Self {
        let mut texts = BTreeMap::new();
        for ListMethod {
            method,
            key,
            identifier,
        } in LISTS
        {
            for definition in list_definitions(peer, method, key) {
                let value: Value = serde_json::from_str(&definition).expect("a definition is JSON");
                let name = value[identifier].as_str().unwrap_or_else(|| {
                    panic!("{method} lists a definition without {identifier}: {definition}")
                });
                let previous = texts.insert(format!("{method} {name}"), definition);
                assert!(previous.is_none(), "{method} lists {name} twice");
            }
        }
        let definitions = texts.len();
        for request in server.requests {
            let answer = peer.send_table_request(request);
            texts.insert(request.title(), result_or_error(&answer));
        }
        Self { texts, definitions }
    }

    /// Returns the view with all texts in a canonical form. A server of both eras writes a result
    /// differently in each era, and Drawbridge uses the modern era. Behind Drawbridge, a client
    /// with a session therefore sees another order of members, other escapes, and the server's name
    /// in `_meta`.
    pub(crate) fn to_canonical(&self) -> Self {
        let texts = self
            .texts
            .iter()
            .map(|(name, text)| (name.clone(), canonical_text(text)))
            .collect();
        Self {
            texts,
            definitions: self.definitions,
        }
    }

    /// Returns the number of definitions.
    pub(crate) fn definition_count(&self) -> usize {
        self.definitions
    }
}

/// Returns the definitions of all pages, or no definition if the server does not have the method.
#[track_caller]
fn list_definitions(peer: &mut Peer, method: &str, key: &str) -> Vec<String> {
    let (mut all, mut params) = (vec![], json!({}));
    loop {
        let answer = peer.request(method, None, &params.to_string());
        if answer.error_code() == Some(METHOD_NOT_FOUND) {
            return all;
        }
        let (items, next) = read_page(&answer, key);
        all.extend(items);
        match next {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return all,
        }
    }
}

/// Returns the result byte for byte, or the error.
fn result_or_error(answer: &Answer) -> String {
    answer.error().map_or_else(
        || answer.result_text().to_owned(),
        |error| format!("error {error}"),
    )
}

/// Returns the JSON value of a text in canonical form, without the name of the server.
fn canonical_text(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    if let Some(meta) = value.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove(SERVER_INFO);
        if meta.is_empty() {
            value
                .as_object_mut()
                .expect("a value with a member is an object")
                .remove("_meta");
        }
    }
    value.sort_all_objects();
    value.to_string()
}
