//! Forwards requests other than `tools/call` to the server that they are about.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::value::RawValue;

use super::{Router, results};
use crate::{
    catalog::CatalogEntry,
    model::{
        capability::CapabilityKind,
        ids::ServerId,
        json::{self, Json, RawObject},
        rpc::{Reply, RpcError, code},
        spec::Lifecycle,
    },
    protocol::{LogLevel, translate::RESOURCE_NOT_FOUND},
    sessions::{Back, ClientSession, Reach},
    upstream::{OutgoingRequest, RequestTimeouts, ServerSession, UpstreamError},
};

/// The destination of a request about a resource.
enum Target {
    /// The server of this entry.
    Listed(Arc<CatalogEntry>),
    /// A server that may have the resource although no list and no template contains it.
    Unlisted(ServerId),
}

impl Target {
    fn server(&self) -> &ServerId {
        match self {
            Self::Listed(entry) => &entry.server.id,
            Self::Unlisted(server) => server,
        }
    }
}

impl Router {
    /// Answers a client's request about a prompt, a resource, a completion or a task, or sets its
    /// log level.
    ///
    /// # Errors
    /// Returns an error if the method is none of these (`-32601`), if no server has the requested
    /// item (`-32602` or `-32002`), if the server cannot be reached (`-32603`), and if the server
    /// answers with one.
    pub async fn pass(&self, back: &Back, method: &str, params: Option<&RawValue>) -> Reply {
        let empty = json::raw("{}".into());
        let mut request = RawObject::parse(params.unwrap_or(&empty))
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("{method}: {e}")))?;
        match method {
            "prompts/get" => {
                let prompt = self.prompt(back, &request).await?;
                request.set("name", json::raw(json::quote(&prompt.definition.name)));
                self.send(back, &prompt.server.id, method, request).await
            }
            "resources/read" => self.read(back, request).await,
            "resources/subscribe" => self.subscribe(back, &text(&request, "uri")?).await,
            "resources/unsubscribe" => self.unsubscribe(back, &text(&request, "uri")?).await,
            "completion/complete" => self.complete(back, request).await,
            "logging/setLevel" => self.set_level(back, &request).await,
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" | "tasks/list" => {
                self.task(back, method, &request).await
            }
            _ => Err(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("there is no method '{method}' here"),
            )),
        }
    }

    /// Reads a resource, or answers with the cached result. Results of unlisted resources are not
    /// cached because the cache key contains the digest of the definition.
    async fn read(&self, back: &Back, request: RawObject<'_>) -> Reply {
        let target = self.resource(back, &text(&request, "uri")?).await?;
        let key = match &target {
            Target::Listed(entry) => {
                results::Key::of_resource(&back.session().client, entry, &request.to_raw())
            }
            Target::Unlisted(_) => None,
        };
        if let Some(kept) = key.as_ref().and_then(|key| self.results.get(key)) {
            back.session().note_issued(target.server(), &kept);
            return Ok(kept);
        }
        let result = self
            .send(back, target.server(), "resources/read", request)
            .await?;
        if let Some(key) = key {
            self.results.put(key, &result);
        }
        Ok(result)
    }

    async fn send(
        &self,
        back: &Back,
        server: &ServerId,
        method: &str,
        request: RawObject<'_>,
    ) -> Reply {
        let how = async |session: &Arc<ServerSession>, outgoing: OutgoingRequest<'_>| {
            session.request(outgoing).await
        };
        let result = self.send_as(back, server, method, request, how).await?;
        back.session().note_issued(server, &result);
        Ok(result)
    }

    /// Sends a request to a server with the function `how`, which decides which method of the
    /// session is used.
    async fn send_as(
        &self,
        back: &Back,
        server: &ServerId,
        method: &str,
        mut request: RawObject<'_>,
        how: impl AsyncFnOnce(&Arc<ServerSession>, OutgoingRequest<'_>) -> Result<Reply, UpstreamError>,
    ) -> Reply {
        let token = take_progress_token(&mut request);
        let server = self.registry.runnable(server);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let patience = RequestTimeouts::from_spec(&server.spec.timeouts, None);
        let params = request.to_raw();
        let outgoing = OutgoingRequest::new(method, Some(&params), patience)
            .on_behalf_of(back, token.as_deref());
        let session = self.pool.session(&server, Some(&back.session().client));
        let reply = how(&session, outgoing).await;
        reply.map_err(|e| {
            RpcError::new(
                code::INTERNAL_ERROR,
                format!("The server '{}': {e}", server.name()),
            )
        })?
    }

    async fn prompt(
        &self,
        back: &Back,
        request: &RawObject<'_>,
    ) -> Result<Arc<CatalogEntry>, RpcError> {
        let name = text(request, "name")?;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown prompt: {name}"));
        self.find(back.session(), CapabilityKind::Prompts, &name)
            .await
            .ok_or_else(unknown)
    }

    async fn resource(&self, back: &Back, uri: &str) -> Result<Target, RpcError> {
        let found = self.target(back.session(), uri).await;
        found.ok_or_else(|| RpcError {
            data: Some(json::raw(format!(r#"{{"uri":{}}}"#, json::quote(uri)))),
            ..RpcError::new(RESOURCE_NOT_FOUND, format!("Resource not found: {uri}"))
        })
    }

    /// Returns the server for a URI: the one that lists it; else the one at which the session is
    /// subscribed to it or that named it in this session; else one with a template that matches;
    /// else the only server that can have it.
    async fn target(&self, session: &ClientSession, uri: &str) -> Option<Target> {
        if let Some(known) = self.known_target(session, uri) {
            return Some(known);
        }
        let unlisted = || {
            self.catalog
                .only_with_resources(session)
                .map(Target::Unlisted)
        };
        if session.reach != Reach::All {
            // The lists of other servers are irrelevant here, so there is no need to wait for them.
            return unlisted();
        }
        Box::pin(self.catalog.freshen()).await;
        self.known_target(session, uri).or_else(unlisted)
    }

    fn known_target(&self, session: &ClientSession, uri: &str) -> Option<Target> {
        let lists = self.catalog.of(session);
        if let Some(listed) = lists.find(CapabilityKind::Resources, uri) {
            return Some(Target::Listed(listed.clone()));
        }
        let named_by = self
            .subscriptions
            .server_of(uri, session)
            .or_else(|| session.issuer_of(uri));
        let Some(server) =
            named_by.filter(|server| self.catalog.reaches_resources(session, server))
        else {
            return lists.find_resource(uri).cloned().map(Target::Listed);
        };
        let own = lists
            .templates_of(uri)
            .find(|template| template.server.id == server);
        Some(own.map_or(Target::Unlisted(server), |template| {
            Target::Listed(template.clone())
        }))
    }

    /// Subscribes the client to a resource until its session ends.
    ///
    /// # Errors
    /// Returns an error if no server has the resource, if the server is transient or cannot be
    /// reached, if the session has too many subscriptions, and if the server answers with one.
    pub async fn subscribe(&self, back: &Back, uri: &str) -> Reply {
        let target = self.resource(back, uri).await?;
        let id = target.server();
        let server = self.registry.runnable(id);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        if server.spec.lifecycle == Lifecycle::Transient {
            let why = format!(
                "The server '{}' is started for each call and ends with it",
                server.name()
            );
            return Err(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("{why}: it cannot tell of changes"),
            ));
        }
        if !self.subscriptions.has_room(back.session()) {
            let why =
                "this session is subscribed to too many resources; unsubscribe from some first";
            return Err(RpcError::new(code::INTERNAL_ERROR, why));
        }
        let request = json::raw(format!(r#"{{"uri":{}}}"#, json::quote(uri)));
        let request = RawObject::parse(&request).unwrap_or_default();
        let how = async |session: &Arc<ServerSession>, outgoing: OutgoingRequest<'_>| {
            session.subscribe(uri, outgoing).await
        };
        let reply = self
            .send_as(back, id, "resources/subscribe", request, how)
            .await?;
        if self.subscriptions.add(id, uri, back.session()) {
            let (router, back) = (self.clone(), Back::at_any_time(back.session().clone()));
            tokio::spawn(async move {
                back.session().ended.cancelled().await;
                let left = router.subscriptions.left_by(back.session());
                join_all(
                    left.iter()
                        .map(|(server, uri)| router.unsubscribe_from(&back, server, uri)),
                )
                .await;
            });
        }
        Ok(reply)
    }

    async fn unsubscribe(&self, back: &Back, uri: &str) -> Reply {
        match self.subscriptions.server_of(uri, back.session()) {
            Some(server) => self.unsubscribe_from(back, &server, uri).await,
            None => {
                let target = self.resource(back, uri).await?;
                self.unsubscribe_from(back, target.server(), uri).await
            }
        }
    }

    async fn unsubscribe_from(&self, back: &Back, server: &ServerId, uri: &str) -> Reply {
        // The server has one subscription for all clients, which stays while another client needs
        // it.
        if self.subscriptions.remove(server, uri, back.session()) {
            return Ok(Json::new("{}"));
        }
        let request = json::raw(format!(r#"{{"uri":{}}}"#, json::quote(uri)));
        let request = RawObject::parse(&request).unwrap_or_default();
        let how = async |session: &Arc<ServerSession>, outgoing: OutgoingRequest<'_>| {
            session.unsubscribe(uri, outgoing).await
        };
        self.send_as(back, server, "resources/unsubscribe", request, how)
            .await
    }

    async fn complete(&self, back: &Back, mut request: RawObject<'_>) -> Reply {
        let invalid =
            |why: &str| RpcError::new(code::INVALID_PARAMS, format!("completion/complete: {why}"));
        let reference = request
            .get("ref")
            .ok_or_else(|| invalid("it has no 'ref'"))?
            .to_owned();
        let mut reference = RawObject::parse(&reference).map_err(|e| invalid(&e.to_string()))?;
        let server = match reference.get_string("type").as_deref() {
            Some("ref/prompt") => {
                let prompt = self.prompt(back, &reference).await?;
                reference.set("name", json::raw(json::quote(&prompt.definition.name)));
                prompt.server.id.clone()
            }
            Some("ref/resource") => self.template(back, &text(&reference, "uri")?).await?,
            _ => return Err(invalid("'ref.type' must be ref/prompt or ref/resource")),
        };
        let reference = reference.to_raw();
        request.set("ref", reference);
        self.send(back, &server, "completion/complete", request)
            .await
    }

    /// Returns the server that completes this URI, which names either a template or a resource.
    async fn template(&self, back: &Back, uri: &str) -> Result<ServerId, RpcError> {
        if let Some(template) = self
            .catalog
            .of(back.session())
            .find(CapabilityKind::Templates, uri)
        {
            return Ok(template.server.id.clone());
        }
        let found = self.target(back.session(), uri).await;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown resource: {uri}"));
        found
            .map(|target| target.server().clone())
            .ok_or_else(unknown)
    }

    /// Sets the log level for the client. Running servers are notified now, the others with the
    /// client's next request to them.
    async fn set_level(&self, back: &Back, request: &RawObject<'_>) -> Reply {
        let level = LogLevel::from_member(request, "level")?;
        back.session().set_log_level(level);
        for session in self.pool.active_sessions() {
            session.request_log_level(level).await;
        }
        Ok(Json::new("{}"))
    }
}

pub(super) fn text(request: &RawObject<'_>, member: &str) -> Result<String, RpcError> {
    let missing = || {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("params.{member} must be a string"),
        )
    };
    request.get_string(member).ok_or_else(missing)
}

/// Removes the client's progress token from the params and returns it. Drawbridge sends the server
/// a token of its own.
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
