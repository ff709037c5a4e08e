//! The sampling provider: an OpenAI-compatible API that answers servers' sampling requests in place
//! of clients that cannot sample. The user sets up the provider, whose key is in the secret store.
//!
//! | module | purpose |
//! |---|---|
//! | [`conversion`] | converts sampling requests to chat requests, and completions to results |
//! | [`completion`] | reads a completion, as a stream or as one body |
//! | [`error`] | the reasons why there is no result |

mod completion;
mod conversion;
mod error;

use std::time::Duration;

use bytes::Bytes;
use drawbridge_jsonrpc::json::Json;
use drawbridge_model::clock;
use drawbridge_store::{
    Store, StoreError,
    logs::Logs,
    secrets::{Secret, SecretError, Secrets},
    settings::{Settings, SettingsValues},
    table::sampling_usage::SamplingUsage,
};
use drawbridge_upstream::http::{HttpClient, HttpRequest};
use http::{Method, Uri, header};
use serde_json::{json, value::RawValue};
use tokio::time::timeout;
use url::{Host, Url};

use completion::Completion;
use conversion::{ChatRequest, SamplingRequest};
pub use error::SamplingError;

/// The name of the provider's key in the secret store.
pub const KEY_NAME: &str = "drawbridge:sampling";
/// The largest request to the provider, in bytes.
const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// The maximum number of models from which servers may choose.
const MAX_MODELS: usize = 20;
const MAX_MODEL_CHARS: usize = 200;
/// The longest answer to a request that sets no limit, in tokens, if there is a daily limit on
/// tokens. Every current model supports answers of this length.
const DEFAULT_MAX_TOKENS: u32 = 4_096;
/// How long the provider may take for an answer in total.
const MAX_TIME: Duration = Duration::from_secs(300);
const DAY_MS: i64 = 86_400_000;

/// Answers sampling requests. Cheap to clone.
#[derive(Clone)]
pub struct Sampling {
    settings: Settings,
    secrets: Secrets,
    logs: Logs,
    store: Store,
    http: HttpClient,
}

/// The provider and the model that answer one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    url: Url,
    model: String,
    sees_images: bool,
    uses_tools: bool,
    /// How long the provider may send nothing; see [`Completion::read`].
    timeout: Duration,
}

/// The limits for a day, and the part of them that is used. A limit of 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingBudget {
    pub used: SamplingUsage,
    pub requests_per_day: u32,
    pub tokens_per_day: u32,
}

/// The provider's answer to the request with which the user tests it.
#[derive(Debug)]
pub struct ProviderCheck {
    /// The model as the provider names it.
    pub model: String,
    pub text: String,
    pub tokens: u32,
}

/// Why the provider's settings are refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProvider {
    #[error(
        "'url' must be an https URL, or an http URL of this computer, without a user name, a query or a fragment"
    )]
    Url,
    #[error(
        "'models' can have at most {MAX_MODELS} names of at most {MAX_MODEL_CHARS} characters, without control characters"
    )]
    Models,
}

impl Sampling {
    pub fn new(settings: Settings, secrets: Secrets, logs: Logs, store: Store) -> Self {
        Self {
            settings,
            secrets,
            logs,
            store,
            http: HttpClient::new(),
        }
    }

    /// Returns whether a provider is set up and switched on.
    pub fn is_on(&self) -> bool {
        let values = self.settings.get();
        values.sampling_enabled && is_complete(&values)
    }

    /// Returns whether the provider gets the tools of requests.
    pub fn uses_tools(&self) -> bool {
        self.is_on() && self.settings.get().sampling_tools
    }

    /// Returns the provider that answers a request. If the user allows several models, the provider
    /// uses the model that the request's params suggest, or else the default. Returns `None` if no
    /// provider is set up and switched on.
    pub fn provider(&self, params: &RawValue) -> Option<Provider> {
        let values = self.settings.get();
        let (default, others) = values.sampling_models.split_first()?;
        let model = if others.is_empty() {
            default
        } else {
            conversion::suggested_model(params, &values.sampling_models).unwrap_or(default)
        };
        let model = model.to_owned();
        values
            .sampling_enabled
            .then(|| Provider::new(&values, model))
            .flatten()
    }

    /// Returns the answer to a sampling request.
    ///
    /// # Errors
    /// Returns an error if the request cannot be converted, if the budget is spent, if the key or
    /// the budget cannot be used, or if the provider does not send a valid answer.
    pub async fn create_message(
        &self,
        provider: &Provider,
        params: &RawValue,
    ) -> Result<Json, SamplingError> {
        let request = SamplingRequest::read(params)?;
        let chat = request.to_chat(provider)?;
        let completion = self.complete(provider, &chat).await?;
        chat.to_result(completion)
    }

    /// Sends a tiny request with the default model, so that the user sees whether the provider
    /// works. The provider need not be switched on.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Self::create_message`], and if no provider is set
    /// up.
    pub async fn check_provider(&self) -> Result<ProviderCheck, SamplingError> {
        let values = self.settings.get();
        let model = values.sampling_models.first().cloned();
        let provider = model
            .and_then(|model| Provider::new(&values, model))
            .ok_or(SamplingError::NotSetUp)?;
        let chat = conversion::build_check_request(&provider);
        let completion = self.complete(&provider, &chat).await?;
        Ok(ProviderCheck {
            tokens: completion.tokens.unwrap_or_default(),
            model: completion.model.unwrap_or(provider.model),
            text: completion.text,
        })
    }

    /// Returns today's budget.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn budget(&self) -> Result<SamplingBudget, StoreError> {
        let values = self.settings.get();
        Ok(SamplingBudget {
            used: self.store.sampling_usage(today()).await?,
            requests_per_day: values.sampling_requests_per_day,
            tokens_per_day: values.sampling_tokens_per_day,
        })
    }

    /// Checks that a request can be converted and that today's budget is not spent, before a person
    /// is asked.
    ///
    /// # Errors
    /// Returns an error if the request cannot be converted, if the budget is spent, or if the store
    /// cannot be read.
    pub async fn check_request(
        &self,
        provider: &Provider,
        params: &RawValue,
    ) -> Result<(), SamplingError> {
        SamplingRequest::read(params)?.to_chat(provider)?;
        let budget = self.budget().await?;
        if budget.is_spent() {
            return Err(SamplingError::BudgetSpent(budget));
        }
        Ok(())
    }

    /// Returns whether the secret store has a key for the provider.
    ///
    /// # Errors
    /// Returns an error if the secret store cannot be used.
    pub async fn has_key(&self) -> Result<bool, SecretError> {
        let is_set = self.settings.get().sampling_has_key;
        Ok(is_set && self.secrets.get(KEY_NAME).await?.is_some())
    }

    async fn complete(
        &self,
        provider: &Provider,
        chat: &ChatRequest,
    ) -> Result<Completion, SamplingError> {
        let key = if self.settings.get().sampling_has_key {
            self.secrets.get(KEY_NAME).await?
        } else {
            None
        };
        if let Some(key) = &key {
            self.logs.add_secret(key);
        }
        let mut body = chat.body.clone();
        let (day, reserved) = self.reserve(provider, &mut body).await?;
        let body = body.to_string();
        let sent = body.len();
        let answer = timeout(MAX_TIME, self.send(provider, body, key.as_ref()))
            .await
            .unwrap_or(Err(SamplingError::TotalTimeout(MAX_TIME.as_secs())));
        let tokens = charged_tokens(&answer, sent, reserved);
        self.store
            .settle_sampling_tokens(day, reserved, tokens)
            .await?;
        answer.map_err(|error| error.map_text(&|text| self.logs.mask_text(text)))
    }

    /// Counts a request, and reserves the tokens that it may cost in today's budget, so that
    /// requests at the same time cannot spend the same tokens. Lowers the limit of the answer to
    /// the tokens that are left. Returns the day and the reserved tokens.
    async fn reserve(
        &self,
        provider: &Provider,
        body: &mut serde_json::Value,
    ) -> Result<(i64, u32), SamplingError> {
        loop {
            let day = today();
            let budget = self.budget().await?;
            if budget.is_spent() {
                return Err(SamplingError::BudgetSpent(budget));
            }
            let answer = budget.limit_tokens(body, provider.max_tokens_name());
            let prompt = estimate_tokens(body.to_string().len());
            let reserved = prompt.saturating_add(answer).min(budget.tokens_left());
            if self
                .store
                .reserve_sampling(day, budget.used, reserved)
                .await?
            {
                return Ok((day, reserved));
            }
            // Another request was counted in the meantime.
        }
    }

    async fn send(
        &self,
        provider: &Provider,
        body: String,
        key: Option<&Secret>,
    ) -> Result<Completion, SamplingError> {
        if body.len() > MAX_REQUEST {
            return Err(SamplingError::RequestTooLarge(MAX_REQUEST));
        }
        let mut request = HttpRequest::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = provider.completions_uri();
        let headers = request.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            http::HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::ACCEPT,
            http::HeaderValue::from_static("text/event-stream, application/json"),
        );
        if let Some(key) = key {
            let mut value = http::HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| SamplingError::Key)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let response = timeout(provider.timeout, self.http.send(request))
            .await
            .map_err(|_| SamplingError::IdleTimeout(provider.timeout.as_secs()))??;
        Completion::read(response, provider.timeout).await
    }
}

impl Provider {
    /// Returns the provider of the settings, or `None` if they have no valid URL.
    fn new(values: &SettingsValues, model: String) -> Option<Self> {
        Some(Self {
            url: check_provider_url(&values.sampling_url).ok()?,
            model,
            sees_images: values.sampling_images,
            uses_tools: values.sampling_tools,
            timeout: values.sampling_timeout,
        })
    }

    /// Returns the model and the host, for people: `gpt-5-mini at api.openai.com`.
    pub fn name(&self) -> String {
        format!("{} at {}", self.model, host_and_port(&self.url))
    }

    fn completions_uri(&self) -> Uri {
        let text = format!(
            "{}/chat/completions",
            self.url.as_str().trim_end_matches('/')
        );
        text.parse().expect("a URL without a fragment is a URI")
    }

    /// Returns the name of the parameter that limits the length of the answer. OpenAI's newer
    /// models refuse the older name, which other providers expect.
    fn max_tokens_name(&self) -> &'static str {
        match self.url.host_str() {
            Some("api.openai.com") => "max_completion_tokens",
            _ => "max_tokens",
        }
    }
}

impl SamplingBudget {
    pub fn is_spent(&self) -> bool {
        let limit = self.limit();
        self.used.requests >= limit.requests || self.used.tokens >= limit.tokens
    }

    fn limit(&self) -> SamplingUsage {
        let or_none = |limit| if limit == 0 { u32::MAX } else { limit };
        SamplingUsage {
            requests: or_none(self.requests_per_day),
            tokens: or_none(self.tokens_per_day),
        }
    }

    fn tokens_left(&self) -> u32 {
        self.limit().tokens.saturating_sub(self.used.tokens)
    }

    /// Limits the answer to a request to the tokens that are left today, and returns the limit.
    /// The member `name` of `body` has the request's own limit, and is added if only the day has a
    /// limit. Returns 0 if neither the request nor the day has a limit.
    fn limit_tokens(&self, body: &mut serde_json::Value, name: &str) -> u32 {
        let requested = match body.get(name) {
            Some(max) => max
                .as_u64()
                .map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX)),
            None if self.tokens_per_day == 0 => return 0,
            None => DEFAULT_MAX_TOKENS,
        };
        let longest = requested.min(self.tokens_left());
        body[name] = json!(longest);
        longest
    }
}

/// Returns whether the settings have a valid URL and a model.
fn is_complete(values: &SettingsValues) -> bool {
    !values.sampling_models.is_empty() && check_provider_url(&values.sampling_url).is_ok()
}

/// Returns the current day in UTC, in days since 1970-01-01.
fn today() -> i64 {
    clock::now().0.div_euclid(DAY_MS)
}

/// Returns the moment at which the budget is reset, in milliseconds since 1970-01-01.
pub fn next_reset() -> i64 {
    (today() + 1) * DAY_MS
}

/// Returns the tokens that a request costs. The provider may also charge for a request that failed
/// after it was sent: for the request itself, and for an answer that cannot be used.
fn charged_tokens(
    answer: &Result<Completion, SamplingError>,
    sent_bytes: usize,
    reserved: u32,
) -> u32 {
    match answer {
        Ok(Completion {
            tokens: Some(tokens),
            ..
        }) => *tokens,
        Ok(completion) => estimate_tokens(sent_bytes + completion.size()),
        Err(
            SamplingError::Broken(_)
            | SamplingError::IdleTimeout(_)
            | SamplingError::TotalTimeout(_),
        ) => estimate_tokens(sent_bytes),
        Err(
            SamplingError::AnswerTooLarge(_)
            | SamplingError::Malformed(_)
            | SamplingError::Failed(_),
        ) => reserved,
        Err(_) => 0,
    }
}

/// Estimates the tokens of a text from its bytes. A token of English text has about four bytes.
fn estimate_tokens(bytes: usize) -> u32 {
    u32::try_from(bytes / 4).unwrap_or(u32::MAX)
}

/// Parses a provider's base URL. Requests contain the key, so plain HTTP is allowed only for a
/// provider on this computer.
///
/// # Errors
/// Returns an error if the URL may not be used.
pub fn check_provider_url(url: &str) -> Result<Url, InvalidProvider> {
    let url = Url::parse(url.trim()).map_err(|_| InvalidProvider::Url)?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_allowed = url.has_host()
        && (url.scheme() == "https" || url.scheme() == "http" && is_local)
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_allowed.then_some(url).ok_or(InvalidProvider::Url)
}

/// Returns the models without spaces around them, empty names and duplicates.
///
/// # Errors
/// Returns an error if there are too many models, or if a name is too long or has control
/// characters.
pub fn check_models(models: &[String]) -> Result<Vec<String>, InvalidProvider> {
    let mut checked: Vec<String> = Vec::new();
    for model in models.iter().map(|model| model.trim()) {
        if model.chars().count() > MAX_MODEL_CHARS || model.contains(char::is_control) {
            return Err(InvalidProvider::Models);
        }
        if !model.is_empty() && !checked.iter().any(|other| other == model) {
            checked.push(model.to_owned());
        }
    }
    if checked.len() > MAX_MODELS {
        return Err(InvalidProvider::Models);
    }
    Ok(checked)
}

/// Returns whether two base URLs lead to the same provider, so that the key for one URL may be sent
/// to the other.
pub fn is_same_provider(left: &str, right: &str) -> bool {
    match (Url::parse(left), Url::parse(right)) {
        (Ok(left), Ok(right)) => left.origin() == right.origin(),
        _ => false,
    }
}

fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests;
