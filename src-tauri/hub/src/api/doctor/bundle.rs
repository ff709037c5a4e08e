//! The bundle of diagnostics: text files in a ZIP archive, which a person can read before sending
//! it.

use std::{
    env, fs,
    io::{Cursor, Write},
    path::Path,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use drawbridge_model::{ids::ServerId, log::LogLine, reference::has_reference, spec::ServerSpec};
use drawbridge_store::{
    crashes,
    logs::{LogFilter, Redactor, read_folder},
    secrets::Secret,
};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;
use zip::{ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{
    DoctorReport, DoctorTopic, RunDoctor,
    masking::{self, MASK, MaskedSpec},
};
use crate::{
    api::{
        ApiError, Verb, clients::ListClients, health::ShowHealth, secrets::list_uses,
        settings::ShowSettings,
    },
    hub::Hub,
    sampling,
};

/// The maximum number of lines of each log in the bundle.
const MAX_LOG_LINES: usize = 1_000;

/// How long the secret store may take to return the secrets that are to be masked. Secrets that
/// were used since the hub started are masked even if the secret store does not answer.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(10);

const INTRODUCTION: &str = "Diagnostics of Drawbridge. Secrets, the values of variables and headers, and other values that may \
be secrets are masked. Read the files before you send them: they name your servers, clients and folders.";

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BundleFile {
    pub name: String,
    /// A description of the file's content.
    pub content: String,
    pub bytes: u32,
}

/// An archive of diagnostics, and a description of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DiagnosticsBundle {
    /// The report of the doctor. Unlike the report in the archive, it is not masked.
    pub report: DoctorReport,
    pub files: Vec<BundleFile>,
    /// The ZIP archive in base64.
    pub zip: String,
}

/// The files of a bundle. The text of each file is masked when the file is added.
struct Files {
    redactor: Redactor,
    home: Option<String>,
    files: Vec<(BundleFile, String)>,
}

impl Files {
    fn new(redactor: Redactor) -> Self {
        // The path of the home folder usually contains the name of its user.
        let home = env::home_dir().and_then(|home| home.to_str().map(str::to_owned));
        Self {
            redactor,
            home: home.filter(|home| home.len() > 1),
            files: Vec::new(),
        }
    }

    fn add(&mut self, name: impl Into<String>, content: &str, text: &str) {
        // Each line is masked by itself, because JSON and plain text are masked in different ways.
        let mut text: Vec<_> = text
            .lines()
            .map(|line| self.redactor.redact(line))
            .collect();
        text.push("".into());
        let mut text = text.join("\n");
        if let Some(home) = &self.home {
            text = text.replace(home.as_str(), "~");
        }
        let file = BundleFile {
            name: name.into(),
            content: content.to_owned(),
            bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
        };
        self.files.push((file, text));
    }

    fn add_json(&mut self, name: impl Into<String>, content: &str, value: &impl Serialize) {
        // The whole text is masked as JSON first, because a member's name can reveal that its value
        // is a secret.
        let text = serde_json::to_string(value).expect("a view is plain data");
        let text = self.redactor.redact(&text).into_owned();
        let text = serde_json::from_str::<serde_json::Value>(&text)
            .and_then(|value| serde_json::to_string_pretty(&value))
            .unwrap_or(text);
        self.add(name, content, &text);
    }

    /// Adds a masked spec. In contrast to [`Self::add_json`], the names of its members do not
    /// matter: its values are masked already, and references to the secret store have to stay.
    fn add_spec(&mut self, id: &ServerId, spec: &ServerSpec) {
        let text = serde_json::to_string_pretty(spec).expect("a spec is plain data");
        let content = "the spec of a server, with masked values";
        self.add(format!("servers/{id}.json"), content, &text);
    }

    fn add_log(&mut self, name: impl Into<String>, lines: &[LogLine]) {
        let text: Vec<_> = lines.iter().map(format_line).collect();
        self.add(name, "the newest lines of the log", &text.join("\n"));
    }

    /// Adds the reports of internal errors, newest first.
    fn add_crashes(&mut self, data_dir: &Path) {
        let reports = crashes::list_reports(data_dir).files;
        for (number, (_, file)) in (1..).zip(reports) {
            if let Ok(text) = fs::read_to_string(file) {
                self.add(
                    format!("crashes/{number}.txt"),
                    "the report of an internal error",
                    &text,
                );
            }
        }
    }

    fn pack(mut self, report: DoctorReport) -> Result<DiagnosticsBundle, ApiError> {
        let contents: Vec<_> = self
            .files
            .iter()
            .map(|(file, _)| format!("{}: {}", file.name, file.content))
            .collect();
        let introduction = format!("{INTRODUCTION}\n\n{}\n", contents.join("\n"));
        self.add("README.txt", "the content of this archive", &introduction);
        let zip = self
            .write_zip()
            .map_err(|e| ApiError::internal(format!("cannot pack the diagnostics: {e}")))?;
        Ok(DiagnosticsBundle {
            report,
            files: self.files.into_iter().map(|(file, _)| file).collect(),
            zip: BASE64_STANDARD.encode(zip),
        })
    }

    fn write_zip(&self) -> Result<Vec<u8>, ZipError> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .unix_permissions(0o600);
        for (file, text) in &self.files {
            zip.start_file(file.name.as_str(), options)?;
            zip.write_all(text.as_bytes())?;
        }
        Ok(zip.finish()?.into_inner())
    }
}

/// The data from which diagnostics are made if no hub can be opened.
pub struct MachineDiagnostics<'a> {
    pub report: &'a DoctorReport,
    pub data_dir: &'a Path,
}

/// Packs the diagnostics that need no hub. The log was masked when it was written.
///
/// # Errors
/// Returns an error if the archive cannot be made.
pub fn bundle_machine(diagnostics: &MachineDiagnostics<'_>) -> Result<DiagnosticsBundle, ApiError> {
    let mut files = Files::new(Redactor::default());
    files.add_json("versions.json", "versions of the programs", &versions(None));
    add_report(&mut files, diagnostics.report);
    let filter = LogFilter {
        limit: MAX_LOG_LINES,
        ..LogFilter::default()
    };
    let lines = read_folder(&diagnostics.data_dir.join("logs"), &filter);
    files.add_log("logs/all.log", &lines);
    files.add_crashes(diagnostics.data_dir);
    files.pack(diagnostics.report.clone())
}

pub(super) async fn bundle_hub(hub: &Hub) -> Result<DiagnosticsBundle, ApiError> {
    let report = RunDoctor {}.run(hub).await?;
    let mut settings = ShowSettings {}.run(hub).await?;
    settings.oauth_client_metadata_url = match settings.oauth_client_metadata_url.as_str() {
        "" => String::new(),
        url => masking::mask_url(url),
    };
    for value in settings.otlp_headers.values_mut() {
        if !has_reference(value) {
            *value = MASK.into();
        }
    }
    let health = ShowHealth {}.run(hub).await?;
    let clients = ListClients {}.run(hub).await?;
    let specs = hub.registry.specs();
    let masked: Vec<(ServerId, MaskedSpec)> = specs
        .servers
        .iter()
        .map(|(id, server)| (id.clone(), masking::mask_spec(&server.spec)))
        .collect();
    let mut secrets = read_secrets(hub).await;
    for (_, spec) in &masked {
        secrets.extend(spec.secrets.iter().cloned().map(Secret::new));
    }
    let mut files = Files::new(hub.logs.redactor(&secrets));
    let schema = hub.store.schema_version().await.ok();
    files.add_json(
        "versions.json",
        "versions of the programs",
        &versions(schema),
    );
    add_report(&mut files, &report);
    files.add_json("settings.json", "the settings", &settings);
    files.add_json("health.json", "the health of the hub", &health);
    files.add_json(
        "clients.json",
        "the clients, without their tokens",
        &clients,
    );
    for (id, masked) in &masked {
        files.add_spec(id, &masked.spec);
    }
    let hub_lines: Vec<_> = read_log(hub, None).await;
    files.add_log("logs/hub.log", &hub_lines);
    for (id, _) in &masked {
        let lines = read_log(hub, Some(id.clone())).await;
        if !lines.is_empty() {
            files.add_log(format!("logs/servers/{id}.log"), &lines);
        }
    }
    files.add_crashes(hub.data_dir());
    files.pack(report)
}

async fn read_log(hub: &Hub, server: Option<ServerId>) -> Vec<LogLine> {
    let filter = LogFilter {
        hub_only: server.is_none(),
        server,
        limit: MAX_LOG_LINES,
        ..LogFilter::default()
    };
    hub.logs.read(filter).await
}

/// Returns the secrets to which something refers, and the key of the sampling provider, as far as
/// they can be read within [`SECRETS_TIMEOUT`]. The secrets are masked in all files.
async fn read_secrets(hub: &Hub) -> Vec<Secret> {
    let names = list_uses(hub).into_keys();
    let names = names.chain([sampling::KEY_NAME.to_owned()]);
    let mut secrets = Vec::new();
    let read = async {
        for name in names {
            if let Ok(Some(secret)) = hub.secrets.get(&name).await {
                secrets.push(secret);
            }
        }
    };
    let _ = timeout(SECRETS_TIMEOUT, read).await;
    secrets
}

/// Adds the report of the doctor. Masks quoted texts in checks of servers, because the parser's
/// message about a spec that cannot be read may quote a value from the spec.
fn add_report(files: &mut Files, report: &DoctorReport) {
    let quoted = Regex::new(r#""(?:[^"\\]|\\.)*""#).expect("the pattern is valid");
    let mut report = report.clone();
    for check in &mut report.checks {
        if check.topic == DoctorTopic::Servers {
            check.text = quoted
                .replace_all(&check.text, format!("\"{MASK}\""))
                .into_owned();
        }
    }
    files.add_json("doctor.json", "the report of the doctor", &report);
}

fn versions(schema: Option<i64>) -> serde_json::Value {
    json!({
        "drawbridge": env!("CARGO_PKG_VERSION"),
        "system": env::consts::OS,
        "architecture": env::consts::ARCH,
        "database_schema": schema,
    })
}

fn format_line(line: &LogLine) -> String {
    let source = line.server.as_ref().map_or("hub", ServerId::as_str);
    format!(
        "{} {:?} {source} {}: {}",
        line.at.0, line.level, line.area, line.text
    )
}
