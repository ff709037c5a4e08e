//! The memory server: AI clients store facts for their user, and search them later.
//!
//! Entries belong to the user of the client. The user is looked up at each call, so a client that
//! is moved to another user sees the entries of the new user from the next call on.

use std::sync::Arc;

use drawbridge_model::{
    event::{Event, Events},
    ids::{ClientName, Timestamp, UserName},
    memory::{
        self, DEFAULT_CATEGORY, MAX_CONTENT_BYTES, MAX_LABEL_CHARS, MAX_TAGS, MemoryCursor,
        MemoryEntry, MemoryError, MemoryText,
    },
    spec::Isolation,
};
use drawbridge_store::{
    Store, StoreError,
    table::memory::{MemoryFilter, SearchQuery, StoredMemory},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::BuiltInSpec;
use crate::access::Access;

pub(super) const SPEC: BuiltInSpec = BuiltInSpec {
    name: "Memory",
    isolation: Isolation::PerClient,
    call_timeout_ms: None,
};

const INSTRUCTIONS: &str = "Use store_memory for facts and preferences that will matter in later conversations, one fact per \
    entry. Use retrieve_memory at the beginning of a task, and whenever an earlier decision may matter.";

const STORE: &str = "store_memory";
const RETRIEVE: &str = "retrieve_memory";
const LIST_CATEGORIES: &str = "list_categories";

const MAX_LIMIT: u32 = 50;
const DEFAULT_LIMIT: u32 = 10;
const MAX_QUERY_CHARS: usize = 1_000;
/// The most categories that one answer lists.
const MAX_CATEGORIES: usize = 500;

/// The memory server of one client.
pub(super) struct MemoryServer {
    store: Store,
    events: Events,
    access: Arc<Access>,
    client: Option<ClientName>,
}

/// The arguments of `store_memory`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreArguments {
    content: String,
    category: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// The arguments of `retrieve_memory`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetrieveArguments {
    query: Option<String>,
    category: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

/// The arguments of `list_categories`: none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// The reason why a call failed, for the model.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("the arguments are invalid: {0}")]
    Arguments(#[from] serde_json::Error),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("'query' has no letters and no digits; leave it out to get the newest entries")]
    NoWords,
    #[error("'query' has more than {MAX_QUERY_CHARS} characters; use a few words")]
    LongQuery,
    #[error(
        "'{name}' must be a date such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z, not {value:?}"
    )]
    BadTime { name: &'static str, value: String },
    #[error("'limit' must be from 1 to {MAX_LIMIT}, not {0}")]
    BadLimit(u32),
    #[error(
        "'cursor' must be the next_cursor of an earlier result with the same arguments, not {0:?}"
    )]
    BadCursor(String),
    #[error("Drawbridge does not know to which user this client belongs")]
    NoUser,
    #[error("{0}; the memory was not changed")]
    Store(#[from] StoreError),
}

impl MemoryServer {
    pub(super) fn new(
        store: Store,
        events: Events,
        access: Arc<Access>,
        client: Option<ClientName>,
    ) -> Self {
        Self {
            store,
            events,
            access,
            client,
        }
    }

    fn user(&self) -> Result<UserName, CallError> {
        self.client
            .as_ref()
            .and_then(|client| self.access.find_user(client))
            .ok_or(CallError::NoUser)
    }

    async fn store_memory(&self, arguments: StoreArguments) -> Result<Value, CallError> {
        let user = self.user()?;
        let StoreArguments {
            content,
            category,
            tags,
        } = arguments;
        let text = MemoryText::new(&content, category.as_deref(), &tags)?;
        let stored = self
            .store
            .add_memory(&user, self.client.as_ref(), &text)
            .await?;
        let (entry, is_new) = match stored {
            StoredMemory::New(entry) => (entry, true),
            StoredMemory::Known(entry) => (entry, false),
            StoredMemory::Full => return Err(MemoryError::Full(user).into()),
        };
        self.events.publish(Event::MemoryChanged);
        Ok(json!({
            "id": entry.id,
            "category": entry.category,
            "tags": entry.tags,
            "is_new": is_new,
        }))
    }

    async fn retrieve_memory(&self, arguments: RetrieveArguments) -> Result<Value, CallError> {
        let user = self.user()?;
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(CallError::BadLimit(limit));
        }
        let cursor = arguments.cursor.as_deref().map(read_cursor).transpose()?;
        let category = arguments
            .category
            .as_deref()
            .map(memory::normalize_category);
        let filter = MemoryFilter {
            user: Some(user),
            query: arguments.query.as_deref().map(read_query).transpose()?,
            category: category.transpose()?,
            tags: memory::normalize_tags(&arguments.tags)?,
            since: read_time("since", arguments.since.as_deref())?,
            until: read_time("until", arguments.until.as_deref())?,
        };
        let page = self.store.memory_page(&filter, cursor, limit).await?;
        let entries: Vec<_> = page.entries.iter().map(describe_entry).collect();
        let mut result = json!({ "entries": entries });
        if let Some(MemoryCursor { offset, max_id }) = page.next {
            result["next_cursor"] = json!(format!("{offset}.{max_id}"));
        }
        Ok(result)
    }

    async fn list_categories(&self) -> Result<Value, CallError> {
        let user = self.user()?;
        let categories = self.store.memory_categories(Some(&user)).await?;
        let listed: Vec<_> = categories
            .iter()
            .take(MAX_CATEGORIES)
            .map(|category| {
                json!({
                    "name": category.name,
                    "entries": category.entries,
                    "updated_at": format_time(category.updated_at),
                })
            })
            .collect();
        Ok(json!({ "categories": listed, "total": categories.len() }))
    }
}

fn read_cursor(text: &str) -> Result<MemoryCursor, CallError> {
    let parse = || {
        let (offset, max_id) = text.split_once('.')?;
        Some(MemoryCursor {
            offset: offset.parse().ok()?,
            max_id: max_id.parse().ok()?,
        })
    };
    parse().ok_or_else(|| CallError::BadCursor(text.chars().take(40).collect()))
}

fn read_query(query: &str) -> Result<SearchQuery, CallError> {
    if query.chars().count() > MAX_QUERY_CHARS {
        return Err(CallError::LongQuery);
    }
    SearchQuery::new(query).ok_or(CallError::NoWords)
}

/// Reads a time with an offset in RFC 3339, or a date, which means midnight UTC at the beginning of
/// the day.
fn read_time(name: &'static str, value: Option<&str>) -> Result<Option<Timestamp>, CallError> {
    let Some(value) = value else { return Ok(None) };
    let bad = || CallError::BadTime {
        name,
        value: value.chars().take(40).collect(),
    };
    let time: jiff::Timestamp = match value.parse::<jiff::Timestamp>() {
        Ok(time) => time,
        Err(_) => {
            // `Date::from_str` would also accept a time without an offset, and ignore the time.
            let date = jiff::civil::Date::strptime("%Y-%m-%d", value).map_err(|_| bad())?;
            date.to_zoned(jiff::tz::TimeZone::UTC)
                .map_err(|_| bad())?
                .timestamp()
        }
    };
    Ok(Some(Timestamp(time.as_millisecond())))
}

fn format_time(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .map_or_else(|_| time.0.to_string(), |time| time.to_string())
}

fn describe_entry(entry: &MemoryEntry) -> Value {
    json!({
        "id": entry.id,
        "content": entry.content,
        "category": entry.category,
        "tags": entry.tags,
        "created_at": format_time(entry.created_at),
        "updated_at": format_time(entry.updated_at),
    })
}

fn read_arguments<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, CallError> {
    Ok(serde_json::from_value(Value::Object(
        arguments.unwrap_or_default(),
    ))?)
}

impl ServerHandler for MemoryServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                "drawbridge-memory",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let answered = match &*request.name {
            STORE => match read_arguments(arguments) {
                Ok(arguments) => self.store_memory(arguments).await,
                Err(error) => Err(error),
            },
            RETRIEVE => match read_arguments(arguments) {
                Ok(arguments) => self.retrieve_memory(arguments).await,
                Err(error) => Err(error),
            },
            LIST_CATEGORIES => match read_arguments::<NoArguments>(arguments) {
                Ok(NoArguments {}) => self.list_categories().await,
                Err(error) => Err(error),
            },
            other => {
                let message = format!("there is no tool '{other}'");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let result = answered.map_or_else(
            |error| CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
            CallToolResult::structured,
        );
        Ok(result.into())
    }
}

fn tools() -> Vec<Tool> {
    let label = |description: &str| json!({ "type": "string", "minLength": 1, "maxLength": MAX_LABEL_CHARS, "description": description });
    let tags = |description: &str| {
        json!({
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_CHARS },
            "maxItems": MAX_TAGS,
            "description": description,
        })
    };
    let time = |description: &str| {
        json!({
            "type": "string",
            "description": format!("{description}: a date such as 2026-01-31 (UTC) or a time such as 2026-01-31T12:00:00Z"),
        })
    };
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let store = tool(
        STORE,
        "Store a memory",
        "Stores a fact, preference or decision of the user for later conversations. Storing the same content \
         in the same category again replaces the tags of the entry.",
        json!({
            "content": {
                "type": "string",
                "minLength": 1,
                "description": format!("The text to remember, at most {MAX_CONTENT_BYTES} bytes; one fact per entry"),
            },
            "category": label(&format!("The category, such as work or travel; {DEFAULT_CATEGORY} if omitted")),
            "tags": tags("Words by which to find the entry"),
        }),
        &["content"],
        json!({
            "id": { "type": "integer" },
            "category": { "type": "string" },
            "tags": strings,
            "is_new": { "type": "boolean", "description": "False if an entry with the same content and category was there already" },
        }),
        &["id", "category", "tags", "is_new"],
    )
    .with_annotations(annotations(false));
    let retrieve = tool(
        RETRIEVE,
        "Search the memory",
        "Returns stored entries of the user: the best matches of a query first, or the newest entries \
         without a query.",
        json!({
            "query": {
                "type": "string",
                "maxLength": MAX_QUERY_CHARS,
                "description": "Words to search for in contents, categories and tags; entries with any of them match",
            },
            "category": label("Only entries of this category"),
            "tags": tags("Only entries with all of these tags"),
            "since": time("Only entries stored or changed at or after this time"),
            "until": time("Only entries last stored or changed before this time"),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "description": format!("The maximum number of entries; {DEFAULT_LIMIT} if omitted"),
            },
            "cursor": { "type": "string", "description": "The next_cursor of the previous page, with the same other arguments" },
        }),
        &[],
        json!({
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "integer" },
                        "content": { "type": "string" },
                        "category": { "type": "string" },
                        "tags": strings,
                        "created_at": { "type": "string" },
                        "updated_at": { "type": "string" },
                    },
                    "required": ["id", "content", "category", "tags", "created_at", "updated_at"],
                },
            },
            "next_cursor": { "type": "string", "description": "Present if there are more entries" },
        }),
        &["entries"],
    )
    .with_annotations(annotations(true));
    let list = tool(
        LIST_CATEGORIES,
        "List the categories of the memory",
        "Lists the categories of the user's entries, with the number of entries in each category.",
        json!({}),
        &[],
        json!({
            "categories": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "entries": { "type": "integer" },
                        "updated_at": { "type": "string" },
                    },
                    "required": ["name", "entries", "updated_at"],
                },
            },
            "total": { "type": "integer", "description": "The number of all categories; at most 500 are listed" },
        }),
        &["categories", "total"],
    )
    .with_annotations(annotations(true));
    vec![store, retrieve, list]
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    properties: Value,
    required: &[&str],
    output: Value,
    output_required: &[&str],
) -> Tool {
    let input = object_schema(&properties, required);
    let output = object_schema(&output, output_required);
    Tool::new(name, description, input)
        .with_title(title)
        .with_raw_output_schema(output.into())
}

fn object_schema(properties: &Value, required: &[&str]) -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else {
        unreachable!("the macro makes an object")
    };
    schema
}

fn annotations(is_read_only: bool) -> ToolAnnotations {
    // No title; perhaps read-only, not destructive, idempotent, not open-world.
    ToolAnnotations::from_raw(
        None,
        Some(is_read_only),
        Some(false),
        Some(true),
        Some(false),
    )
}
