//! From the tools of each server to the one list at the door.

use std::{collections::HashMap, sync::Arc};

use serde_json::value::RawValue;

use super::Definition;
use crate::model::{
    json::{self, RawObject},
    names,
    spec::Registered,
};

/// A tool at the door.
#[derive(Debug, Clone)]
pub struct CatalogTool {
    pub exposed_name: String,
    pub server: Arc<Registered>,
    pub definition: Arc<Definition>,
}

/// All tools at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub tools: Vec<Arc<CatalogTool>>,
    by_name: HashMap<String, Arc<CatalogTool>>,
    /// The result of `tools/list`, ready to send.
    pub listed: Arc<RawValue>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::merge(std::iter::empty())
    }
}

impl Snapshot {
    /// Merges the servers in their order, each with its tools in theirs. A name that another tool has is made
    /// distinct with a hash; the same tools always get the same names.
    pub fn merge<'a>(servers: impl Iterator<Item = (Arc<Registered>, &'a [Arc<Definition>])>) -> Self {
        let mut tools = Vec::new();
        let mut by_name: HashMap<String, Arc<CatalogTool>> = HashMap::new();
        for (server, definitions) in servers {
            for definition in definitions {
                let plain = names::exposed_name(&server.id, &definition.name);
                let exposed_name =
                    if by_name.contains_key(&plain) { names::hashed_name(&server.id, &definition.name) } else { plain };
                if by_name.contains_key(&exposed_name) {
                    tracing::warn!("server {}: a second tool named '{}' is left out", server.id, definition.name);
                    continue;
                }
                let tool =
                    Arc::new(CatalogTool { exposed_name, server: server.clone(), definition: definition.clone() });
                by_name.insert(tool.exposed_name.clone(), tool.clone());
                tools.push(tool);
            }
        }
        let listed = Arc::from(render(&tools));
        Self { tools, by_name, listed }
    }

    /// The tool of that name at the door.
    pub fn find(&self, exposed_name: &str) -> Option<&Arc<CatalogTool>> {
        self.by_name.get(exposed_name)
    }
}

fn render(tools: &[Arc<CatalogTool>]) -> Box<RawValue> {
    let mut text = String::from(r#"{"tools":["#);
    for tool in tools {
        if let Ok(mut definition) = RawObject::parse(&tool.definition.raw) {
            if !text.ends_with('[') {
                text.push(',');
            }
            definition.set("name", json::raw(json::string(&tool.exposed_name)));
            text.push_str(definition.to_raw().get());
        }
    }
    text.push_str("]}");
    json::raw(text)
}

#[cfg(test)]
mod tests;
