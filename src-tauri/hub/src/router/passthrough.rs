//! Forwards requests other than `tools/call` to the server that they are about.

use drawbridge_model::{
    capability::CapabilityKind,
    ids::ServerId,
    protocol::{LogLevel, ProgressToken, translate::RESOURCE_NOT_FOUND},
    spec::Lifecycle,
};
use std::sync::Arc;

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{Reply, RpcError, RpcResult, code},
};
use drawbridge_sessions::{ClientHandle, ClientRequest, ClientScope, ClientSession};
use drawbridge_upstream::{RequestTimeouts, ServerRequest, ServerSession, UpstreamError};
use futures_util::future::join_all;

use super::{Router, result_cache};
use crate::catalog::CatalogEntry;

/// The destination of a request about a resource.
enum Target {
    /// The server of this entry.
    Listed(Arc<CatalogEntry>),
    /// A server that may have the resource although no list and no template contains it.
    Unlisted(ServerId),
}

impl Target {
    fn server_id(&self) -> &ServerId {
        match self {
            Self::Listed(entry) => &entry.server.id,
            Self::Unlisted(server) => server,
        }
    }
}

impl Router {
    /// Answers `prompts/get`.
    ///
    /// # Errors
    /// Returns an error if no server has the prompt (`-32602`), if the server cannot be reached
    /// (`-32603`), and if the server answers with one.
    pub async fn get_prompt(&self, request: ClientRequest<'_>) -> RpcResult {
        let mut params = request.params_object()?;
        let prompt = self.find_prompt(request.handle, &params).await?;
        params.set("name", json::raw(json::quote(&prompt.definition.name)));
        self.send(request.handle, &prompt.server.id, request.method, params)
            .await
    }

    /// Answers `resources/subscribe`: subscribes the client until its session ends.
    ///
    /// # Errors
    /// Returns an error as [`Router::subscribe`] does.
    pub async fn subscribe_to_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let uri = string_member(&request.params_object()?, "uri")?;
        self.subscribe(request.handle, &uri).await
    }

    /// Answers `resources/unsubscribe`.
    ///
    /// # Errors
    /// Returns an error if no server has the resource, if the server cannot be reached, and if the
    /// server answers with one.
    pub async fn unsubscribe_from_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let uri = string_member(&request.params_object()?, "uri")?;
        self.unsubscribe(request.handle, &uri).await
    }

    /// Answers `resources/read`, possibly with the cached result. Results of unlisted resources are
    /// not cached because the cache key contains the digest of the definition.
    ///
    /// # Errors
    /// Returns an error if no server has the resource (`-32002`), if the server cannot be reached
    /// (`-32603`), and if the server answers with one.
    pub async fn read_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let (handle, request) = (request.handle, request.params_object()?);
        let target = self
            .find_resource(handle, &string_member(&request, "uri")?)
            .await?;
        let key = match &target {
            Target::Listed(entry) => result_cache::CacheKey::for_resource(
                &handle.session().client,
                entry,
                &request.to_raw(),
            ),
            Target::Unlisted(_) => None,
        };
        if let Some(cached) = key.as_ref().and_then(|key| self.result_cache.get(key)) {
            handle
                .session()
                .record_issued_uris(target.server_id(), &cached);
            return Ok(cached);
        }
        let result = self
            .send(handle, target.server_id(), "resources/read", request)
            .await?;
        if let Some(key) = key {
            self.result_cache.put(key, &result);
        }
        Ok(result)
    }

    async fn send(
        &self,
        handle: &ClientHandle,
        server: &ServerId,
        method: &str,
        request: RawObject<'_>,
    ) -> RpcResult {
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.request(outgoing).await
        };
        let result = self
            .send_with(handle, server, method, request, send)
            .await?;
        handle.session().record_issued_uris(server, &result);
        Ok(result)
    }

    /// Sends a request to a server with the function `send`, which decides which method of the
    /// session is used.
    async fn send_with(
        &self,
        handle: &ClientHandle,
        server: &ServerId,
        method: &str,
        mut request: RawObject<'_>,
        send: impl AsyncFnOnce(&Arc<ServerSession>, ServerRequest<'_>) -> Result<Reply, UpstreamError>,
    ) -> RpcResult {
        let token = ProgressToken::take_from(&mut request)?;
        let server = self.registry.get_runnable(server);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let deadlines = RequestTimeouts::from_spec(&server.spec.timeouts, None);
        let params = request.to_raw();
        let outgoing = ServerRequest::new(method, Some(&params), deadlines)
            .on_behalf_of(handle, token.as_ref());
        let session = self.pool.session(&server, Some(&handle.session().client));
        let reply = send(&session, outgoing).await;
        reply
            .map_err(|e| {
                RpcError::new(
                    code::INTERNAL_ERROR,
                    format!("The server '{}': {e}", server.name()),
                )
            })?
            .into_result()
    }

    async fn find_prompt(
        &self,
        handle: &ClientHandle,
        request: &RawObject<'_>,
    ) -> Result<Arc<CatalogEntry>, RpcError> {
        let name = string_member(request, "name")?;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown prompt: {name}"));
        self.find(handle.session(), CapabilityKind::Prompts, &name)
            .await
            .ok_or_else(unknown)
    }

    async fn find_resource(&self, handle: &ClientHandle, uri: &str) -> Result<Target, RpcError> {
        let found = self.find_target(handle.session(), uri).await;
        found.ok_or_else(|| RpcError {
            data: Some(json::raw(format!(r#"{{"uri":{}}}"#, json::quote(uri)))),
            ..RpcError::new(RESOURCE_NOT_FOUND, format!("Resource not found: {uri}"))
        })
    }

    /// Returns the server for a URI: the one that lists it; else the one at which the session is
    /// subscribed to it or that named it in this session; else one with a template that matches;
    /// else the only server that can have it.
    async fn find_target(&self, session: &ClientSession, uri: &str) -> Option<Target> {
        if let Some(target) = self.find_known_target(session, uri) {
            return Some(target);
        }
        let unlisted = || {
            self.catalog
                .only_resource_server(session)
                .map(Target::Unlisted)
        };
        if session.scope != ClientScope::All {
            // The lists of other servers are irrelevant here, so there is no need to wait for them.
            return unlisted();
        }
        Box::pin(self.catalog.refresh_stale()).await;
        self.find_known_target(session, uri).or_else(unlisted)
    }

    fn find_known_target(&self, session: &ClientSession, uri: &str) -> Option<Target> {
        let view = self.catalog.session_view(session);
        if let Some(listed) = view.find(CapabilityKind::Resources, uri) {
            return Some(Target::Listed(listed.clone()));
        }
        let named_by = self
            .subscriptions
            .server_of(uri, session)
            .or_else(|| session.issuer_of(uri));
        let Some(server) =
            named_by.filter(|server| self.catalog.can_use_resources(session, server))
        else {
            return view.find_resource(uri).cloned().map(Target::Listed);
        };
        let template = view
            .matching_templates(uri)
            .find(|template| template.server.id == server);
        Some(template.map_or(Target::Unlisted(server), |template| {
            Target::Listed(template.clone())
        }))
    }

    /// Subscribes the client to a resource until its session ends.
    ///
    /// # Errors
    /// Returns an error if no server has the resource, if the server is transient or cannot be
    /// reached, if the session has too many subscriptions, and if the server answers with one.
    pub async fn subscribe(&self, handle: &ClientHandle, uri: &str) -> RpcResult {
        let target = self.find_resource(handle, uri).await?;
        let id = target.server_id();
        let server = self.registry.get_runnable(id);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        if server.spec.lifecycle == Lifecycle::Transient {
            let why = format!(
                "The server '{}' runs only during a call, so it cannot report changes",
                server.name()
            );
            return Err(RpcError::new(code::METHOD_NOT_FOUND, why));
        }
        if !self.subscriptions.has_room(handle.session()) {
            let why =
                "This session has too many subscriptions; unsubscribe from some resources first";
            return Err(RpcError::new(code::INTERNAL_ERROR, why));
        }
        let mut request = RawObject::default();
        request.set("uri", json::raw(json::quote(uri)));
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.subscribe(uri, outgoing).await
        };
        let reply = self
            .send_with(handle, id, "resources/subscribe", request, send)
            .await?;
        if self.subscriptions.add(id, uri, handle.session()) {
            let (router, handle) = (
                self.clone(),
                ClientHandle::for_session(handle.session().clone()),
            );
            tokio::spawn(async move {
                handle.session().ended.cancelled().await;
                let subscriptions = router.subscriptions.take_session(handle.session());
                join_all(
                    subscriptions
                        .iter()
                        .map(|(server, uri)| router.unsubscribe_from(&handle, server, uri)),
                )
                .await;
            });
        }
        Ok(reply)
    }

    async fn unsubscribe(&self, handle: &ClientHandle, uri: &str) -> RpcResult {
        match self.subscriptions.server_of(uri, handle.session()) {
            Some(server) => self.unsubscribe_from(handle, &server, uri).await,
            None => {
                let target = self.find_resource(handle, uri).await?;
                self.unsubscribe_from(handle, target.server_id(), uri).await
            }
        }
    }

    async fn unsubscribe_from(
        &self,
        handle: &ClientHandle,
        server: &ServerId,
        uri: &str,
    ) -> RpcResult {
        // The server has one subscription for all clients, which stays while another client needs
        // it.
        if self.subscriptions.remove(server, uri, handle.session()) {
            return Ok(Json::new("{}"));
        }
        let mut request = RawObject::default();
        request.set("uri", json::raw(json::quote(uri)));
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.unsubscribe(uri, outgoing).await
        };
        self.send_with(handle, server, "resources/unsubscribe", request, send)
            .await
    }

    /// Answers `completion/complete`.
    ///
    /// # Errors
    /// Returns an error if no server has the prompt or the resource (`-32602`), if the server cannot
    /// be reached (`-32603`), and if the server answers with one.
    pub async fn complete(&self, request: ClientRequest<'_>) -> RpcResult {
        let (handle, mut request) = (request.handle, request.params_object()?);
        let invalid =
            |why: &str| RpcError::new(code::INVALID_PARAMS, format!("completion/complete: {why}"));
        let reference = request
            .get("ref")
            .ok_or_else(|| invalid("params.ref is missing"))?
            .to_owned();
        let mut reference = RawObject::parse(&reference).map_err(|e| invalid(&e.to_string()))?;
        let server = match reference.get_string("type").as_deref() {
            Some("ref/prompt") => {
                let prompt = self.find_prompt(handle, &reference).await?;
                reference.set("name", json::raw(json::quote(&prompt.definition.name)));
                prompt.server.id.clone()
            }
            Some("ref/resource") => {
                self.find_completion_server(handle, &string_member(&reference, "uri")?)
                    .await?
            }
            _ => {
                return Err(invalid(
                    "params.ref.type must be ref/prompt or ref/resource",
                ));
            }
        };
        let reference = reference.to_raw();
        request.set("ref", reference);
        self.send(handle, &server, "completion/complete", request)
            .await
    }

    /// Returns the server that completes this URI, which names either a template or a resource.
    async fn find_completion_server(
        &self,
        handle: &ClientHandle,
        uri: &str,
    ) -> Result<ServerId, RpcError> {
        if let Some(template) = self
            .catalog
            .session_view(handle.session())
            .find(CapabilityKind::Templates, uri)
        {
            return Ok(template.server.id.clone());
        }
        let found = self.find_target(handle.session(), uri).await;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown resource: {uri}"));
        found
            .map(|target| target.server_id().clone())
            .ok_or_else(unknown)
    }

    /// Answers `logging/setLevel`: sets the log level for the client. Running servers are notified now, the others with the
    /// client's next request to them.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if the level is unknown.
    pub async fn set_log_level(&self, request: ClientRequest<'_>) -> RpcResult {
        let level = LogLevel::from_member(&request.params_object()?, "level")?;
        request.handle.session().set_log_level(level);
        for session in self.pool.active_sessions() {
            session.request_log_level(level).await;
        }
        Ok(Json::new("{}"))
    }
}

pub(super) fn string_member(request: &RawObject<'_>, member: &str) -> Result<String, RpcError> {
    let missing = || {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("params.{member} must be a string"),
        )
    };
    request.get_string(member).ok_or_else(missing)
}
