//! The resources and the single template.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceTemplate},
};
use serde_json::json;

use crate::{client_input::from_json, samples::PNG};

/// Returns the URI of the resource that supports subscriptions.
pub(crate) fn watched_uri(scheme: &str) -> String {
    format!("{scheme}://watched-resource")
}

/// Returns the URI of a resource that no list and no template contains.
pub(crate) fn unlisted_uri(scheme: &str) -> String {
    format!("{scheme}://unlisted-report")
}

pub(crate) fn list(scheme: &str) -> Vec<Resource> {
    let uri = |path: &str| format!("{scheme}://{path}");
    let resources = json!([
        {"uri": uri("static-text"), "name": "Static text", "description": "A text that stays", "mimeType": "text/plain"},
        {"uri": uri("static-binary"), "name": "Static binary", "description": "A picture that stays", "mimeType": "image/png"},
        {"uri": watched_uri(scheme), "name": "Watched resource", "description": "A text that can be subscribed to", "mimeType": "text/plain"},
    ]);
    serde_json::from_value(resources).expect("the JSON above is valid")
}

pub(crate) fn templates(scheme: &str) -> Vec<ResourceTemplate> {
    let template = json!([{
        "uriTemplate": format!("{scheme}://template/{{id}}/data"),
        "name": "Data by id",
        "description": "The data of an id",
        "mimeType": "application/json"
    }]);
    serde_json::from_value(template).expect("the JSON above is valid")
}

/// Answers `resources/read`.
pub(crate) fn read(scheme: &str, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let not_found =
        || ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})));
    let path = uri
        .strip_prefix(scheme)
        .and_then(|rest| rest.strip_prefix("://"))
        .ok_or_else(not_found)?;
    let content = match path {
        "static-text" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        "static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        "watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "It is being watched."})
        }
        "unlisted-report" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Nobody lists this report."})
        }
        other => {
            let id = other
                .strip_prefix("template/")
                .and_then(|rest| rest.strip_suffix("/data"));
            let id = id
                .filter(|id| !id.is_empty() && !id.contains('/'))
                .ok_or_else(not_found)?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
    };
    Ok(ReadResourceResult::new(vec![from_json(content)?]))
}
