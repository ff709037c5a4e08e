//! Requests that are no calls: passed to the server that they are about, as they are.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::value::RawValue;

use super::{Router, results};
use crate::{
    catalog::CatalogEntry,
    model::{
        capability::Kind,
        json::{self, Json, RawObject},
        rpc::{Reply, RpcError, code},
        spec::Lifecycle,
    },
    protocol::{LogLevel, translate::NO_RESOURCE},
    sessions::Back,
    upstream::{Outgoing, Patience, ServerSession, UpstreamError},
};

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
                let prompt = self.prompt(back, &request).await?;
                request.set("name", json::raw(json::string(&prompt.definition.name)));
                self.send(back, &prompt, method, request).await
            }
            "resources/read" => {
                let resource = self.resource(back, &request).await?;
                self.read(back, &resource, request).await
            }
            "resources/subscribe" => self.subscribe(back, &text(&request, "uri")?).await,
            "resources/unsubscribe" => self.unsubscribe(back, &text(&request, "uri")?).await,
            "completion/complete" => self.complete(back, request).await,
            "logging/setLevel" => self.set_level(back, &request).await,
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" | "tasks/list" => {
                self.task(back, method, &request).await
            }
            _ => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("there is no method '{method}' here"))),
        }
    }

    /// Reads a resource, or answers what was read of it a moment ago.
    async fn read(&self, back: &Back, resource: &CatalogEntry, request: RawObject<'_>) -> Reply {
        let key = results::Key::of_resource(&back.session().client, resource, &request.to_raw());
        if let Some(kept) = key.as_ref().and_then(|key| self.results.get(key)) {
            return Ok(kept);
        }
        let result = self.send(back, resource, "resources/read", request).await?;
        if let Some(key) = key {
            self.results.put(key, &result);
        }
        Ok(result)
    }

    async fn send(&self, back: &Back, entry: &CatalogEntry, method: &str, request: RawObject<'_>) -> Reply {
        self.send_as(back, entry, method, request, async |session, outgoing| session.request(outgoing).await).await
    }

    /// Sends to the server of an entry, in the way of `how`.
    async fn send_as(
        &self,
        back: &Back,
        entry: &CatalogEntry,
        method: &str,
        mut request: RawObject<'_>,
        how: impl AsyncFnOnce(&Arc<ServerSession>, Outgoing<'_>) -> Result<Reply, UpstreamError>,
    ) -> Reply {
        let token = take_progress_token(&mut request);
        let server = self.registry.runnable(&entry.server.id);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let patience = Patience::of(&server.spec.timeouts, None);
        let params = request.to_raw();
        let outgoing = Outgoing::new(method, Some(&params), patience).on_behalf_of(back, token.as_deref());
        let session = self.pool.session(&server, Some(&back.session().client));
        let reply = how(&session, outgoing).await;
        reply.map_err(|e| RpcError::new(code::INTERNAL_ERROR, format!("The server '{}': {e}", server.name())))?
    }

    async fn prompt(&self, back: &Back, request: &RawObject<'_>) -> Result<Arc<CatalogEntry>, RpcError> {
        let name = text(request, "name")?;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown prompt: {name}"));
        self.find(back.session(), Kind::Prompts, &name).await.ok_or_else(unknown)
    }

    async fn resource(&self, back: &Back, request: &RawObject<'_>) -> Result<Arc<CatalogEntry>, RpcError> {
        let uri = text(request, "uri")?;
        let found = self.search(back.session(), |lists| lists.find_resource(&uri).cloned()).await;
        found.ok_or_else(|| RpcError {
            data: Some(json::raw(format!(r#"{{"uri":{}}}"#, json::string(&uri)))),
            ..RpcError::new(NO_RESOURCE, format!("Resource not found: {uri}"))
        })
    }

    /// Has the server of a resource tell when it changes, for as long as the client's session lives.
    ///
    /// # Errors
    /// Where no server has such a resource, and the server's own.
    pub async fn subscribe(&self, back: &Back, uri: &str) -> Reply {
        let request = json::raw(format!(r#"{{"uri":{}}}"#, json::string(uri)));
        let request = RawObject::parse(&request).unwrap_or_default();
        let resource = self.resource(back, &request).await?;
        if resource.server.spec.lifecycle == Lifecycle::Transient {
            let why = format!("The server '{}' is started for each call and ends with it", resource.server.name());
            return Err(RpcError::new(code::METHOD_NOT_FOUND, format!("{why}: it cannot tell of changes")));
        }
        let how = async |session: &Arc<ServerSession>, outgoing: Outgoing<'_>| session.subscribe(uri, outgoing).await;
        let reply = self.send_as(back, &resource, "resources/subscribe", request, how).await?;
        if self.subscriptions.add(&resource.server.id, uri, back.session()) {
            let (router, back) = (self.clone(), Back::at_any_time(back.session().clone()));
            tokio::spawn(async move {
                back.session().ended.cancelled().await;
                let left = router.subscriptions.left_by(back.session());
                join_all(left.iter().map(|uri| router.unsubscribe(&back, uri))).await;
            });
        }
        Ok(reply)
    }

    async fn unsubscribe(&self, back: &Back, uri: &str) -> Reply {
        let request = json::raw(format!(r#"{{"uri":{}}}"#, json::string(uri)));
        let request = RawObject::parse(&request).unwrap_or_default();
        let resource = self.resource(back, &request).await?;
        // The server sends to Drawbridge once, whoever listens there.
        if self.subscriptions.remove(&resource.server.id, uri, back.session()) {
            return Ok(Json::new("{}"));
        }
        let how = async |session: &Arc<ServerSession>, outgoing: Outgoing<'_>| session.unsubscribe(uri, outgoing).await;
        self.send_as(back, &resource, "resources/unsubscribe", request, how).await
    }

    async fn complete(&self, back: &Back, mut request: RawObject<'_>) -> Reply {
        let invalid = |why: &str| RpcError::new(code::INVALID_PARAMS, format!("completion/complete: {why}"));
        let reference = request.get("ref").ok_or_else(|| invalid("it has no 'ref'"))?.to_owned();
        let mut reference = RawObject::parse(&reference).map_err(|e| invalid(&e.to_string()))?;
        let entry = match reference.string("type").as_deref() {
            Some("ref/prompt") => {
                let prompt = self.prompt(back, &reference).await?;
                reference.set("name", json::raw(json::string(&prompt.definition.name)));
                prompt
            }
            Some("ref/resource") => self.template(back, &text(&reference, "uri")?).await?,
            _ => return Err(invalid("'ref.type' must be ref/prompt or ref/resource")),
        };
        let reference = reference.to_raw();
        request.set("ref", reference);
        self.send(back, &entry, "completion/complete", request).await
    }

    /// A completion names the template itself, or a resource.
    async fn template(&self, back: &Back, uri: &str) -> Result<Arc<CatalogEntry>, RpcError> {
        let found = self.search(back.session(), |lists| {
            lists.find(Kind::Templates, uri).or_else(|| lists.find_resource(uri)).cloned()
        });
        found.await.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, format!("Unknown resource: {uri}")))
    }

    /// The level holds for what the client hears. Servers that run are told now, the others when it asks them something.
    async fn set_level(&self, back: &Back, request: &RawObject<'_>) -> Reply {
        let level = LogLevel::in_object(request, "level")?;
        back.session().set_log_level(level);
        for session in self.pool.active() {
            session.log_from(level).await;
        }
        Ok(Json::new("{}"))
    }
}

pub(super) fn text(request: &RawObject<'_>, member: &str) -> Result<String, RpcError> {
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
