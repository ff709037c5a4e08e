//! `drawbridge settings`: shows and changes the settings.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::settings::{ChangeSettings, SettingsView, ShowSettings};
use serde::Serialize;

use crate::{
    context::Context, exit::Failure, output::print_answer, table::Table, text::escape,
    time::parse_duration,
};

#[derive(Subcommand)]
pub(crate) enum Settings {
    /// List the settings with their values
    List,
    /// Print the value of a setting
    Get {
        /// The setting's name
        setting: Setting,
    },
    /// Change a setting, effective at once
    Set {
        /// The setting's name
        setting: Setting,
        /// The value. Times are durations such as 50s, 5m or 90d, and audit-retention and
        /// log-retention may also be `forever`. port is a number. records-limit and log-limit are
        /// numbers of MiB, or `none`. result-limit is a number of KiB. keep-results,
        /// elicitation-forms and otlp-content are `on` or `off`. oauth-client-metadata-url,
        /// otlp-endpoint and official-registry are URLs; official-registry may also be `off`.
        /// allowed-hosts are names such as hub.example:443, with commas between them. otlp-headers
        /// are NAME=VALUE pairs, with commas between the pairs. An empty text removes the URL, the
        /// hosts or the headers.
        value: String,
    },
}

/// A setting that `drawbridge settings` manages. Other settings, such as the defaults of the
/// policy, have commands of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Setting {
    /// How long a person has to decide
    ApprovalTimeout,
    /// How long the cached lists of a server count as fresh
    CacheTime,
    /// The port that clients connect to
    Port,
    /// How many days calls and audit entries are kept
    AuditRetention,
    /// How many MiB calls and audit entries may take on the disk
    RecordsLimit,
    /// Whether the results of calls are kept
    KeepResults,
    /// How many KiB of a result are kept
    ResultLimit,
    /// How many days results are kept
    ResultRetention,
    /// How many days log files are kept
    LogRetention,
    /// How many MiB log files may take on the disk
    LogLimit,
    /// The https URL of a document that describes Drawbridge to authorization servers
    OauthClientMetadataUrl,
    /// The host names under which clients and browsers reach the hub, besides this computer's own
    /// addresses
    AllowedHosts,
    /// Whether Drawbridge asks you for the input that a server requests, if the client cannot ask
    ElicitationForms,
    /// The URL of the official registry: https, or http on the hub's computer
    OfficialRegistry,
    /// The URL of the collector that gets OpenTelemetry traces
    OtlpEndpoint,
    /// The headers of requests to the collector; a secret is ${keyring:otlp.NAME}
    OtlpHeaders,
    /// Whether traces contain arguments and results
    OtlpContent,
}

/// A setting with its value, as `--json` prints it.
#[derive(Serialize)]
struct SettingValue {
    setting: Setting,
    value: String,
}

/// The text that a person types and reads for a retention without an end.
const FOREVER: &str = "forever";
/// The text that a person types and reads for no limit.
const NO_LIMIT: &str = "none";
const DAY_S: u64 = 86_400;

impl Settings {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let view = match self {
            Self::Set { setting, ref value } => context.run(setting.change_to(value)?).await?,
            Self::List | Self::Get { .. } => context.run(ShowSettings {}).await?,
        };
        let read = |setting: Setting| SettingValue {
            setting,
            value: setting.read(&view),
        };
        match self {
            Self::List => {
                let all: Vec<_> = Setting::value_variants()
                    .iter()
                    .copied()
                    .map(read)
                    .collect();
                print_answer(context.json, &all, |all| format_settings(all))
            }
            Self::Get { setting } => {
                print_answer(context.json, &read(setting), |read| escape(&read.value))
            }
            Self::Set { setting, .. } => print_answer(context.json, &read(setting), |changed| {
                format!(
                    "{} is now {}.",
                    changed.setting.name(),
                    format_value(&changed.value)
                )
            }),
        }
    }
}

impl Setting {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no setting is hidden");
        value.get_name().to_owned()
    }

    fn description(self) -> String {
        let value = self.to_possible_value().expect("no setting is hidden");
        value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    fn read(self, view: &SettingsView) -> String {
        match self {
            Self::ApprovalTimeout => format!("{}s", view.approval_timeout_s),
            Self::CacheTime => format!("{}s", view.cache_ttl_s),
            Self::Port => view.port.to_string(),
            Self::AuditRetention => format_days(view.audit_retention_days),
            Self::RecordsLimit => format_mib(view.records_max_mib),
            Self::KeepResults => if view.keep_results { "on" } else { "off" }.to_owned(),
            Self::ResultLimit => view.kept_result_kib.to_string(),
            Self::ResultRetention => format!("{}d", view.kept_results_days),
            Self::LogRetention => format_days(view.log_retention_days),
            Self::LogLimit => format_mib(view.logs_max_mib),
            Self::OauthClientMetadataUrl => view.oauth_client_metadata_url.clone(),
            Self::AllowedHosts => {
                let hosts: Vec<_> = view.allowed_hosts.iter().map(ToString::to_string).collect();
                hosts.join(",")
            }
            Self::ElicitationForms if view.elicitation_forms => "on".to_owned(),
            Self::ElicitationForms => "off".to_owned(),
            Self::OfficialRegistry if view.official_registry_url.is_empty() => "off".to_owned(),
            Self::OfficialRegistry => view.official_registry_url.clone(),
            Self::OtlpEndpoint => view.otlp_endpoint.clone(),
            Self::OtlpHeaders => {
                let pairs = view.otlp_headers.iter();
                let pairs: Vec<_> = pairs
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                pairs.join(",")
            }
            Self::OtlpContent => if view.otlp_content { "on" } else { "off" }.to_owned(),
        }
    }

    /// Returns the change of this setting to the value that a person typed.
    ///
    /// # Errors
    /// Returns an error if the value has the wrong form. The hub checks its range.
    fn change_to(self, value: &str) -> Result<ChangeSettings, Failure> {
        let mut change = ChangeSettings::default();
        match self {
            Self::ApprovalTimeout => {
                change.approval_timeout_s = Some(whole_units(self.parse(value)?, 1));
            }
            Self::CacheTime => change.cache_ttl_s = Some(whole_units(self.parse(value)?, 1)),
            Self::Port => {
                let port = value
                    .parse()
                    .map_err(|_| self.wrong_value("expected a port from 1 to 65535"))?;
                change.port = Some(port);
            }
            Self::AuditRetention => change.audit_retention_days = Some(self.parse_days(value)?),
            Self::RecordsLimit => change.records_max_mib = Some(self.parse_mib(value)?),
            Self::KeepResults => {
                change.keep_results = Some(match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(self.wrong_value("expected `on` or `off`")),
                });
            }
            Self::ResultLimit => {
                let kib = value
                    .parse()
                    .map_err(|_| self.wrong_value("expected a number of KiB, such as 64"))?;
                change.kept_result_kib = Some(kib);
            }
            Self::ResultRetention => {
                let retention = self.parse(value)?;
                if retention.as_secs() % DAY_S != 0 {
                    return Err(self.wrong_value("expected whole days, such as 7d"));
                }
                change.kept_results_days = Some(whole_units(retention, DAY_S));
            }
            Self::LogRetention => change.log_retention_days = Some(self.parse_days(value)?),
            Self::LogLimit => change.logs_max_mib = Some(self.parse_mib(value)?),
            Self::OauthClientMetadataUrl => {
                change.oauth_client_metadata_url = Some(value.to_owned());
            }
            Self::AllowedHosts => {
                let hosts = value
                    .split(',')
                    .map(str::trim)
                    .filter(|host| !host.is_empty());
                change.allowed_hosts = Some(hosts.map(str::to_owned).collect());
            }
            Self::ElicitationForms => {
                change.elicitation_forms = Some(match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(self.wrong_value("expected `on` or `off`")),
                });
            }
            Self::OfficialRegistry if value == "off" => {
                change.official_registry_url = Some(String::new());
            }
            Self::OfficialRegistry => change.official_registry_url = Some(value.to_owned()),
            Self::OtlpEndpoint => change.otlp_endpoint = Some(value.to_owned()),
            Self::OtlpHeaders => {
                let pairs = value.split(',').filter(|pair| !pair.trim().is_empty());
                let headers = pairs.map(|pair| {
                    let (name, value) = pair.split_once('=')?;
                    Some((name.trim().to_owned(), value.trim().to_owned()))
                });
                let headers = headers.collect::<Option<_>>();
                let wrong = || self.wrong_value("expected NAME=VALUE pairs, such as x-team=tools");
                change.otlp_headers = Some(headers.ok_or_else(wrong)?);
            }
            Self::OtlpContent => {
                change.otlp_content = Some(match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(self.wrong_value("expected `on` or `off`")),
                });
            }
        }
        Ok(change)
    }

    fn parse(self, value: &str) -> Result<Duration, Failure> {
        parse_duration(value).map_err(|error| self.wrong_value(&error.to_string()))
    }

    fn parse_days(self, value: &str) -> Result<u32, Failure> {
        if value == FOREVER {
            return Ok(0);
        }
        let retention = self.parse(value)?;
        if retention.as_secs() % DAY_S != 0 {
            return Err(self.wrong_value("expected whole days, such as 90d, or `forever`"));
        }
        Ok(whole_units(retention, DAY_S))
    }

    fn parse_mib(self, value: &str) -> Result<u32, Failure> {
        if value == NO_LIMIT {
            return Ok(0);
        }
        value
            .parse()
            .map_err(|_| self.wrong_value("expected a number of MiB, such as 2048, or `none`"))
    }

    fn wrong_value(self, reason: &str) -> Failure {
        Failure::SettingValue {
            setting: self.name(),
            reason: reason.to_owned(),
        }
    }
}

fn whole_units(duration: Duration, unit_s: u64) -> u32 {
    u32::try_from(duration.as_secs() / unit_s).unwrap_or(u32::MAX)
}

fn format_days(days: u32) -> String {
    if days == 0 {
        FOREVER.to_owned()
    } else {
        format!("{days}d")
    }
}

fn format_mib(mib: u32) -> String {
    if mib == 0 {
        NO_LIMIT.to_owned()
    } else {
        mib.to_string()
    }
}

fn format_value(value: &str) -> String {
    if value.is_empty() {
        "empty".to_owned()
    } else {
        escape(value)
    }
}

fn format_settings(settings: &[SettingValue]) -> String {
    let mut table = Table::new(["SETTING", "VALUE", "DESCRIPTION"]);
    for SettingValue { setting, value } in settings {
        table.add_row([&setting.name(), value, &setting.description()]);
    }
    table.format_or("")
}
