//! Finds the servers of prompts and resources, and sends the permitted requests other than
//! `tools/call`. Also answers `resources/unsubscribe` and `logging/setLevel`.

use drawbridge_model::{
    capability::CapabilityKind,
    ids::ServerId,
    protocol::{LogLevel, translate::RESOURCE_NOT_FOUND},
    spec::{Lifecycle, RegisteredServer},
};
use std::{sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{RpcError, RpcResponse, RpcResult, code},
};
use drawbridge_sessions::{ClientHandle, ClientRequest, ClientSession, ServerScope};
use drawbridge_upstream::{RequestTimeouts, ServerRequest, ServerSession, UpstreamError};
use futures_util::future::join_all;

use super::{ForwardError, Router, result_cache};
use crate::{catalog::CatalogEntry, metrics::Cache, policy::Permitted};

/// The server to which a request about a resource or a prompt is sent, and the catalog entry of the
/// prompt, the resource or its template.
pub struct Target {
    pub server: Arc<RegisteredServer>,
    /// `None` if no list or template of the server contains the resource, but the server may have
    /// it.
    pub entry: Option<Arc<CatalogEntry>>,
}

impl From<Arc<CatalogEntry>> for Target {
    fn from(entry: Arc<CatalogEntry>) -> Self {
        Self {
            server: entry.server.clone(),
            entry: Some(entry),
        }
    }
}

impl Router {
    /// Returns the prompt that has this exposed name.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if no server has the prompt, or if the prompt cannot be used
    /// now.
    pub async fn find_prompt(
        &self,
        handle: &ClientHandle,
        name: &str,
    ) -> Result<Arc<CatalogEntry>, RpcError> {
        let (session, kind) = (handle.session(), CapabilityKind::Prompts);
        self.find(session, kind, name).await.ok_or_else(|| {
            let reason = match self.catalog.find_unavailable(session, kind, name) {
                Some(unavailable) => unavailable.to_string(),
                None => format!("Unknown prompt: {name}"),
            };
            RpcError::new(code::INVALID_PARAMS, reason)
        })
    }

    /// Returns the server of a resource.
    ///
    /// # Errors
    /// Returns an error (`-32002`) if no server has the resource.
    pub async fn find_resource(
        &self,
        handle: &ClientHandle,
        uri: &str,
    ) -> Result<Target, RpcError> {
        let found = self.find_target(handle.session(), uri).await;
        found.ok_or_else(|| RpcError {
            data: Some(json::raw(format!(r#"{{"uri":{}}}"#, json::quote(uri)))),
            ..RpcError::new(RESOURCE_NOT_FOUND, format!("Resource not found: {uri}"))
        })
    }

    /// Returns the server that completes this URI, which names either a template or a resource.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if no server has the template or resource.
    pub async fn find_completion_target(
        &self,
        handle: &ClientHandle,
        uri: &str,
    ) -> Result<Target, RpcError> {
        let view = self.catalog.session_view(handle.session());
        if let Some(template) = view.find(CapabilityKind::Templates, uri) {
            return Ok(template.clone().into());
        }
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown resource: {uri}"));
        self.find_target(handle.session(), uri)
            .await
            .ok_or_else(unknown)
    }

    /// Returns the server for a URI, the first of these that exists:
    ///
    /// 1. the server that lists the URI;
    /// 2. the server with a matching template, or the server that the session knows for the URI. If
    ///    both exist, the server that was accepted first. The session knows the server at which it
    ///    is subscribed to the URI or, without a subscription, the server that named the URI;
    /// 3. the only server that can have the URI.
    async fn find_target(&self, session: &Arc<ClientSession>, uri: &str) -> Option<Target> {
        if let Some(target) = self.find_known_target(session, uri) {
            return Some(target);
        }
        let unlisted = || self.unlisted_target(&self.catalog.only_resource_server(session)?);
        if session.scope.servers != ServerScope::All {
            // The lists of other servers are irrelevant here, so there is no need to wait for them.
            return unlisted();
        }
        Box::pin(self.catalog.refresh_stale(Some(session))).await;
        self.find_known_target(session, uri).or_else(unlisted)
    }

    fn find_known_target(&self, session: &ClientSession, uri: &str) -> Option<Target> {
        let view = self.catalog.session_view(session);
        let found = view.find_resource(uri);
        let named_by = self
            .subscriptions
            .server_of(uri, session)
            .or_else(|| session.issuer_of(uri))
            .filter(|server| self.catalog.can_use_resources(session, server));
        let is_listed = view.find(CapabilityKind::Resources, uri).is_some();
        match (named_by, found) {
            (Some(server), None) => self.unlisted_target(&server),
            // `server` has no matching template: it was accepted earlier, so its template would
            // have been found.
            (Some(server), Some(template))
                if !is_listed && view.was_accepted_before(&server, &template.server.id) =>
            {
                self.unlisted_target(&server)
            }
            (_, found) => found.cloned().map(Into::into),
        }
    }

    fn unlisted_target(&self, server: &ServerId) -> Option<Target> {
        let server = self.registry.get_runnable(server).ok()?;
        Some(Target {
            server,
            entry: None,
        })
    }

    /// Returns the cached result of a permitted `resources/read`, if there is one.
    pub fn cached_resource(&self, permitted: &Permitted) -> Option<Json> {
        let key = Self::resource_cache_key(permitted)?;
        let cached = self.result_cache.get(&key);
        self.metrics
            .count_cache_request(Cache::Results, cached.is_some());
        cached
    }

    /// Returns the cache key of a permitted `resources/read`, or `None` if the result must not be
    /// cached. The result for an unlisted resource is not cached, because the key needs the digest
    /// of a definition.
    fn resource_cache_key(permitted: &Permitted) -> Option<result_cache::CacheKey> {
        let request = permitted.request();
        let entry = request.entry.as_ref()?;
        result_cache::CacheKey::for_resource(&request.client, entry, &request.params)
    }

    /// Sends a permitted `resources/read`, and caches the result if it may be cached.
    ///
    /// # Errors
    /// Returns an error as [`Router::send`] does.
    pub async fn read_resource(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
    ) -> Result<RpcResponse, ForwardError> {
        let response = self.send(permitted, handle).await?;
        if let (RpcResponse::Result(result), Some(key)) =
            (&response, Self::resource_cache_key(permitted))
        {
            self.metrics.count_cache_refresh(Cache::Results);
            self.result_cache.put(key, result);
        }
        Ok(response)
    }

    /// Sends a permitted request to its server, once.
    ///
    /// # Errors
    /// Returns an error if the server or the prompt has changed since the request was permitted, or
    /// if the server does not answer.
    pub async fn send(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
    ) -> Result<RpcResponse, ForwardError> {
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.request(outgoing).await
        };
        self.send_with(permitted, handle, None, send).await
    }

    /// Sends a permitted request with the function `send`, which calls a method of the server's
    /// session. `timeout` replaces the timeout of the server's spec.
    pub(super) async fn send_with(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
        timeout: Option<Duration>,
        send: impl AsyncFnOnce(
            &Arc<ServerSession>,
            ServerRequest<'_>,
        ) -> Result<RpcResponse, UpstreamError>,
    ) -> Result<RpcResponse, ForwardError> {
        let request = permitted.request();
        let (server, session) = self.lease_session(request)?;
        let timeouts = match timeout {
            Some(timeout) => timeout.into(),
            None => RequestTimeouts::from_spec(&server.spec.timeouts, None),
        };
        let outgoing = ServerRequest::new(request.method.name(), Some(&request.params), timeouts)
            .on_behalf_of(handle, request.progress_token.as_ref());
        let span = self.begin_span(request);
        let sent = send(&session, outgoing.within_span(span.request())).await;
        Ok(span.end(sent)?)
    }

    /// Sends a permitted `resources/subscribe`: subscribes the client until its session ends.
    ///
    /// # Errors
    /// Returns an error if the server is transient, if the session has too many subscriptions, and
    /// as [`Router::send`] does.
    pub async fn subscribe(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
    ) -> Result<RpcResponse, ForwardError> {
        let request = permitted.request();
        let (id, uri) = (&request.server.id, &request.name);
        if request.server.spec.lifecycle == Lifecycle::Transient {
            return Err(ForwardError::Transient);
        }
        if !self.subscriptions.has_room(handle.session()) {
            return Err(ForwardError::TooManySubscriptions);
        }
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.subscribe(uri, outgoing).await
        };
        let response = self.send_with(permitted, handle, None, send).await?;
        if matches!(response, RpcResponse::Result(_))
            && self.subscriptions.add(id, uri, handle.session())
        {
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
        Ok(response)
    }

    /// Answers `resources/unsubscribe`. No decision is needed, because the request only ends a
    /// subscription.
    ///
    /// # Errors
    /// Returns an error if no server has the resource, if the server cannot be reached, and if the
    /// server answers with an error.
    pub async fn unsubscribe_from_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let handle = request.handle;
        let uri = string_member(&request.params_object()?, "uri")?;
        match self.subscriptions.server_of(&uri, handle.session()) {
            Some(server) => self.unsubscribe_from(handle, &server, &uri).await,
            None => {
                let target = self.find_resource(handle, &uri).await?;
                self.unsubscribe_from(handle, &target.server.id, &uri).await
            }
        }
    }

    async fn unsubscribe_from(
        &self,
        handle: &ClientHandle,
        server: &ServerId,
        uri: &str,
    ) -> RpcResult {
        // The server has one subscription for all sessions. The subscription stays while another
        // session needs it.
        if self.subscriptions.remove(server, uri, handle.session()) {
            return Ok(Json::new("{}"));
        }
        let server = self.registry.get_runnable(server);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let mut params = RawObject::default();
        params.set("uri", json::raw(json::quote(uri)));
        let params = params.to_raw();
        let timeouts = RequestTimeouts::from_spec(&server.spec.timeouts, None);
        let outgoing = ServerRequest::new("resources/unsubscribe", Some(&params), timeouts)
            .on_behalf_of(handle, None);
        let session = self.pool.session(&server, Some(&handle.session().client));
        match session.unsubscribe(uri, outgoing).await {
            Ok(response) => response.into_result(),
            Err(error) => Err(server_error(&server, &error)),
        }
    }

    /// Answers `logging/setLevel`: sets the log level for the client. Notifies running servers of
    /// the legacy era at once, and each other server with the client's next request to it.
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

/// Returns the error for a client whose request a server did not answer.
pub fn server_error(server: &RegisteredServer, error: &impl std::fmt::Display) -> RpcError {
    let text = format!("The server '{}': {error}", server.name());
    RpcError::new(code::INTERNAL_ERROR, text)
}

/// Returns a member of the params that must be a string.
///
/// # Errors
/// Returns an error (`-32602`) if the member is missing or not a string.
pub fn string_member(request: &RawObject<'_>, member: &str) -> Result<String, RpcError> {
    let missing = || {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("params.{member} must be a string"),
        )
    };
    request.get_string(member).ok_or_else(missing)
}
