//! `drawbridge sampling`: shows, changes and checks the provider that answers sampling requests in
//! place of clients.

use std::time::Duration;

use clap::{Args, Subcommand};
use drawbridge_hub::api::sampling::{
    ChangeSampling, CheckSampling, SamplingCheck, SamplingView, ShowSampling,
};

use super::secrets::read_value;
use crate::{
    context::Context,
    exit::Failure,
    text::{escape, format_count},
    time::parse_duration,
};

#[derive(Subcommand)]
pub(crate) enum Sampling {
    /// Show the provider and today's budget
    Show,
    /// Change the provider or its limits, effective at once
    Set(Box<SetArgs>),
    /// Set the provider's key, read from stdin or a hidden prompt
    SetKey,
    /// Remove the provider's key from the secret store
    RemoveKey,
    /// Send a tiny request to the provider, which counts towards the budget
    Check,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
pub(crate) struct SetArgs {
    /// The base URL, such as https://api.openai.com/v1; empty for none. A URL with another scheme,
    /// host or port removes the key.
    #[arg(long)]
    url: Option<String>,
    /// A model that servers may use. May be repeated; the first model is the default.
    #[arg(long = "model", value_name = "MODEL")]
    models: Option<Vec<String>>,
    /// Whether the models see images
    #[arg(long, value_name = "BOOL")]
    images: Option<bool>,
    /// Whether the models get the tools of servers' requests
    #[arg(long, value_name = "BOOL")]
    tools: Option<bool>,
    /// Whether the provider answers sampling requests
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// How long the provider may be silent, such as 60s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// The maximum number of requests in a day; 0 for no limit
    #[arg(long, value_name = "N")]
    requests_per_day: Option<u32>,
    /// The maximum number of tokens in a day; 0 for no limit
    #[arg(long, value_name = "N")]
    tokens_per_day: Option<u32>,
}

impl Sampling {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let change = match self {
            Self::Show => return context.run_and_print(ShowSampling {}, format_view).await,
            Self::Check => return context.run_and_print(CheckSampling {}, format_check).await,
            Self::Set(args) => args.into_change(),
            Self::SetKey => ChangeSampling {
                key: Some(read_value("the sampling provider's key")?),
                ..ChangeSampling::default()
            },
            Self::RemoveKey => ChangeSampling {
                key: Some(String::new()),
                ..ChangeSampling::default()
            },
        };
        context.run_and_print(change, format_view).await
    }
}

impl SetArgs {
    fn into_change(self) -> ChangeSampling {
        ChangeSampling {
            enabled: self.enabled,
            url: self.url,
            models: self.models,
            images: self.images,
            tools: self.tools,
            timeout_s: self
                .timeout
                .map(|timeout| u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX)),
            requests_per_day: self.requests_per_day,
            tokens_per_day: self.tokens_per_day,
            key: None,
        }
    }
}

fn format_view(view: &SamplingView) -> String {
    let yes_or_no = |is: bool| if is { "yes" } else { "no" };
    let state = match (view.is_on, view.enabled) {
        (true, _) => "on: the provider answers if a client cannot",
        (false, true) => "not set up: needs a URL and a model",
        (false, false) => "off",
    };
    let key = match view.has_key {
        Some(true) => "in the secret store",
        Some(false) => "none",
        None => "unknown, because the secret store cannot be used",
    };
    let format_use = |used: u32, limit: u32| match limit {
        0 => format!("{used}, no limit"),
        limit => format!("{used} of {limit}"),
    };
    let or_none = |text: &str| {
        if text.is_empty() {
            "none".to_owned()
        } else {
            escape(text)
        }
    };
    [
        ("Sampling provider", state.to_owned()),
        ("URL", or_none(&view.url)),
        ("Models", or_none(&view.models.join(", "))),
        ("Key", key.to_owned()),
        ("Images", yes_or_no(view.images).to_owned()),
        ("Tools", yes_or_no(view.tools).to_owned()),
        ("Idle timeout", format!("{} s", view.timeout_s)),
        (
            "Requests today",
            format_use(view.requests_today, view.requests_per_day),
        ),
        (
            "Tokens today",
            format_use(view.tokens_today, view.tokens_per_day),
        ),
    ]
    .map(|(name, value)| format!("{name:<18} {value}"))
    .join("\n")
}

fn format_check(check: &SamplingCheck) -> String {
    format!(
        "{} answered: {} ({})",
        escape(&check.model),
        escape(&check.text),
        format_count(check.tokens, "token", "tokens")
    )
}
