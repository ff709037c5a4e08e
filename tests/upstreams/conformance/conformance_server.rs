//! The server: passes each request to the module that answers it.

#![expect(deprecated, reason = "deprecated features must keep working")]

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams,
        CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams,
        GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, InputResponses,
        JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, RequestStateCodec, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
    task_manager::TaskManager,
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::{
    changes::{self, Change, Changes},
    client_input::{Call, open_state},
    logging::LogLevel,
    prompts, resources, tools,
};

/// The advertised lifetime of a cached list or of a resource's contents, in milliseconds.
const CACHE_TTL_MS: u64 = 1000;

#[derive(Clone)]
pub(crate) struct ConformanceServer {
    pub(crate) changes: Arc<Changes>,
    /// Seals and opens the `requestState`.
    pub(crate) codec: Arc<RequestStateCodec>,
    pub(crate) level: LogLevel,
    pub(crate) tasks: TaskManager,
    /// Notified once for each cancelled call of `test_cancellable`.
    pub(crate) cancelled: Arc<Notify>,
    /// Whether the client of this session subscribed to the watched resource.
    is_subscribed: Arc<AtomicBool>,
    eras: Eras,
    /// The scheme of the resource URIs.
    pub(crate) scheme: Arc<str>,
}

/// The revisions that the server supports: legacy, modern, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eras {
    Legacy,
    Modern,
    Both,
}

impl ConformanceServer {
    pub(crate) fn new(eras: Eras, scheme: String) -> Self {
        Self {
            changes: Arc::default(),
            codec: Arc::new(RequestStateCodec::new(
                "a key that only the tests use, and that protects nothing",
            )),
            level: LogLevel::default(),
            tasks: TaskManager::new(),
            cancelled: Arc::default(),
            is_subscribed: Arc::default(),
            eras,
            scheme: scheme.into(),
        }
    }

    /// Returns the server for another session or request, with its own log level and subscription.
    pub(crate) fn for_one_peer(&self) -> Self {
        Self {
            level: LogLevel::default(),
            is_subscribed: Arc::default(),
            ..self.clone()
        }
    }

    /// Builds the [`Call`] of a request, and opens the `requestState` that the client sent back.
    ///
    /// # Errors
    /// Returns an error if the `requestState` is forged.
    fn open_call<'a>(
        &self,
        context: &'a RequestContext<RoleServer>,
        arguments: Option<JsonObject>,
        responses: Option<InputResponses>,
        state: Option<String>,
    ) -> Result<Call<'a>, ErrorData> {
        let arguments = Value::Object(arguments.unwrap_or_default());
        Ok(Call {
            context,
            arguments,
            responses,
            state: open_state(&self.codec, state.as_deref())?,
        })
    }

    fn tools(&self) -> Vec<Tool> {
        tools::list(self.changes.has_extra_entry(Change::Tools))
    }
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tasks()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("upstream-conformance", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let legacy = ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE);
        match self.eras {
            Eras::Legacy => legacy.into(),
            Eras::Modern => ProtocolVersion::KNOWN_VERSIONS[legacy.len()..].into(),
            Eras::Both => ProtocolVersion::KNOWN_VERSIONS.into(),
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ListToolsResult::with_all_items(self.tools());
        Ok(tools
            .with_ttl_ms(CACHE_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    /// Returns a tool, so that the SDK can validate the `Mcp-Param-*` headers of a call against the
    /// schema of the tool.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.open_call(
            &context,
            request.arguments,
            request.input_responses,
            request.request_state,
        )?;
        tools::call(self, &request.name, &call).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(prompts::list(
            self.changes.has_extra_entry(Change::Prompts),
        ));
        Ok(prompts
            .with_ttl_ms(CACHE_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let call = self.open_call(
            &context,
            request.arguments,
            request.input_responses,
            request.request_state,
        )?;
        prompts::get(&request.name, &call).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = ListResourcesResult::with_all_items(resources::list(&self.scheme));
        Ok(resources
            .with_ttl_ms(CACHE_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates =
            ListResourceTemplatesResult::with_all_items(resources::templates(&self.scheme));
        Ok(templates
            .with_ttl_ms(CACHE_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.scheme, &request.uri)?;
        Ok(read
            .with_ttl_ms(CACHE_TTL_MS)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::watched_uri(&self.scheme) {
            self.is_subscribed.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::watched_uri(&self.scheme) {
            self.is_subscribed.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = ["paris", "park", "party", "test", "testing"];
        let values = values
            .iter()
            .filter(|value| value.starts_with(&request.argument.value));
        let values = CompletionInfo::with_all_values(values.map(ToString::to_string).collect());
        Ok(CompleteResult::new(
            values.map_err(|error| ErrorData::internal_error(error, None))?,
        ))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.level.set(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let uri = resources::watched_uri(&self.scheme);
        tokio::spawn(changes::notify_session(
            context.peer,
            self.changes.subscribe(),
            Arc::clone(&self.is_subscribed),
            uri,
        ));
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks
            .update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        changes::notify_subscription(
            &subscription,
            self.changes.subscribe(),
            &resources::watched_uri(&self.scheme),
        )
        .await
    }
}
