//! Requests that are no calls: passed to the server that they are about, as they are.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::Router;
use crate::{
    catalog::CatalogEntry,
    model::{
        capability::Kind,
        json::{self, RawObject},
        rpc::{Reply, RpcError, code},
    },
    sessions::Back,
    upstream::Outgoing,
};

/// Resource not found (MCP 2024-11-05 and later).
const NO_RESOURCE: i64 = -32002;

impl Router {
    /// Answers a client's request that is about a prompt, a resource or a completion, or sets the level of logs.
    ///
    /// # Errors
    /// `-32601` for a method that is none of these, `-32602` and `-32002` for what no server has, and the
    /// server's own errors.
    pub async fn pass(&self, back: &Back, method: &str, params: Option<&RawValue>) -> Reply {
        let empty = json::raw("{}".into());
        let mut request = RawObject::parse(params.unwrap_or(&empty))
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("{method}: {e}")))?;
        match method {
            "prompts/get" => {
                let prompt = self.prompt(&request).await?;
                request.set("name", json::raw(json::string(&prompt.definition.name)));
                self.send(back, &prompt, method, request).await
            }
            "resources/read" => {
                let resource = self.resource(&request).await?;
                self.send(back, &resource, method, request).await
            }
            "resources/subscribe" | "resources/unsubscribe" => self.subscribe(back, method, request).await,
            "completion/complete" => self.complete(back, request).await,
            "logging/setLevel" => self.set_level(&request).await,
            _ => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("there is no method '{method}' here"))),
        }
    }

    async fn send(&self, back: &Back, entry: &CatalogEntry, method: &str, mut request: RawObject<'_>) -> Reply {
        let token = take_progress_token(&mut request);
        let server = self.registry.runnable(&entry.server.id);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let patience = Duration::from_millis(server.spec.timeouts.call_ms.into());
        let params = request.to_raw();
        let outgoing = Outgoing::new(method, Some(&params), patience).on_behalf_of(back, token.as_deref());
        let reply = self.pool.session(&server).request(outgoing).await;
        reply.map_err(|e| RpcError::new(code::INTERNAL_ERROR, format!("The server '{}': {e}", server.name())))?
    }

    async fn prompt(&self, request: &RawObject<'_>) -> Result<Arc<CatalogEntry>, RpcError> {
        let name = text(request, "name")?;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown prompt: {name}"));
        self.find(Kind::Prompts, &name).await.ok_or_else(unknown)
    }

    async fn resource(&self, request: &RawObject<'_>) -> Result<Arc<CatalogEntry>, RpcError> {
        let uri = text(request, "uri")?;
        let found = self.search(|snapshot| snapshot.find_resource(&uri).cloned()).await;
        found.ok_or_else(|| RpcError {
            data: Some(json::raw(format!(r#"{{"uri":{}}}"#, json::string(&uri)))),
            ..RpcError::new(NO_RESOURCE, format!("Resource not found: {uri}"))
        })
    }

    async fn subscribe(&self, back: &Back, method: &str, request: RawObject<'_>) -> Reply {
        let resource = self.resource(&request).await?;
        let uri = text(&request, "uri")?;
        if method == "resources/subscribe" {
            let reply = self.send(back, &resource, method, request).await?;
            self.subscriptions.add(&resource.server.id, &uri, back.session());
            return Ok(reply);
        }
        let others = self.subscriptions.remove(&resource.server.id, &uri, back.session());
        // The server sends to Drawbridge once, whoever listens there.
        if others { Ok(json::raw("{}".into())) } else { self.send(back, &resource, method, request).await }
    }

    async fn complete(&self, back: &Back, mut request: RawObject<'_>) -> Reply {
        let invalid = |why: &str| RpcError::new(code::INVALID_PARAMS, format!("completion/complete: {why}"));
        let reference = request.get("ref").ok_or_else(|| invalid("it has no 'ref'"))?.to_owned();
        let mut reference = RawObject::parse(&reference).map_err(|e| invalid(&e.to_string()))?;
        let entry = match reference.string("type").as_deref() {
            Some("ref/prompt") => {
                let prompt = self.prompt(&reference).await?;
                reference.set("name", json::raw(json::string(&prompt.definition.name)));
                prompt
            }
            Some("ref/resource") => self.template(&text(&reference, "uri")?).await?,
            _ => return Err(invalid("'ref.type' must be ref/prompt or ref/resource")),
        };
        let reference = reference.to_raw();
        request.set("ref", reference);
        self.send(back, &entry, "completion/complete", request).await
    }

    /// A completion names the template itself, or a resource.
    async fn template(&self, uri: &str) -> Result<Arc<CatalogEntry>, RpcError> {
        let found = self
            .search(|snapshot| snapshot.find(Kind::Templates, uri).or_else(|| snapshot.find_resource(uri)).cloned());
        found.await.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, format!("Unknown resource: {uri}")))
    }

    /// The level holds for every server that runs and logs.
    async fn set_level(&self, request: &RawObject<'_>) -> Reply {
        const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
        let level = text(request, "level")?;
        if !LEVELS.contains(&level.as_str()) {
            return Err(RpcError::new(code::INVALID_PARAMS, format!("'{level}' is no level of logs")));
        }
        let params = json::raw(format!(r#"{{"level":{}}}"#, json::string(&level)));
        for session in self.pool.active() {
            if session.hello().await.is_ok_and(|hello| hello.logs()) {
                let _ = session.request(Outgoing::new("logging/setLevel", Some(&params), Duration::from_secs(5))).await;
            }
        }
        Ok(json::raw("{}".into()))
    }
}

fn text(request: &RawObject<'_>, member: &str) -> Result<String, RpcError> {
    let missing = || RpcError::new(code::INVALID_PARAMS, format!("params.{member} must be a string"));
    request.string(member).ok_or_else(missing)
}

/// Takes the client's progress token out of the params: towards the server Drawbridge has its own.
pub fn take_progress_token(params: &mut RawObject<'_>) -> Option<Box<RawValue>> {
    let meta = params.get("_meta")?.to_owned();
    let mut members = RawObject::parse(&meta).ok()?;
    let token = members.get("progressToken")?.to_owned();
    members.remove("progressToken");
    if members.keys().next().is_none() {
        params.remove("_meta");
    } else {
        let members = members.to_raw();
        params.set("_meta", members);
    }
    Some(token)
}
