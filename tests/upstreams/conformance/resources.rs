//! The resources, and the one template.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceTemplate},
};
use serde_json::json;

use crate::{questions::read as model, samples::PNG};

pub(crate) fn list() -> Vec<Resource> {
    let resources = json!([
        {"uri": "test://static-text", "name": "Static text", "description": "A text that stays", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "Static binary", "description": "A picture that stays", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "Watched resource", "description": "A text that can be subscribed to", "mimeType": "text/plain"},
    ]);
    serde_json::from_value(resources).expect("the resources are resources")
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "Data by id",
        "description": "What is known of an id",
        "mimeType": "application/json"
    }]);
    serde_json::from_value(template).expect("the template is a template")
}

/// Answers `resources/read`.
pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let content = match uri {
        "test://static-text" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        "test://watched-resource" => json!({"uri": uri, "mimeType": "text/plain", "text": "It is being watched."}),
        other => {
            let id = other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let id = id.filter(|id| !id.is_empty() && !id.contains('/'));
            let id =
                id.ok_or_else(|| ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri}))))?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
    };
    Ok(ReadResourceResult::new(vec![model(content)?]))
}
