//! `drawbridge doctor`: checks everything that Drawbridge needs, and writes a bundle of
//! diagnostics.

use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use drawbridge_hub::api::{
    ApiError,
    doctor::{
        BundleDiagnostics, BundleFile, CheckStatus, DiagnosticsBundle, DoctorCheck, DoctorReport,
        DoctorTopic, MachineDiagnostics, RunDoctor, bundle_machine, machine::check_machine,
    },
};
use serde::Serialize;

use crate::{
    context::Context,
    exit::Failure,
    output::{create_private_file, print_answer, print_line},
    table::Table,
    text::{enum_text, escape, format_count},
};

#[derive(clap::Args)]
pub(crate) struct Doctor {
    /// Also write a ZIP archive with diagnostics to send to somebody else: versions, settings,
    /// specs, clients, health, recent log lines, reports of internal errors and these checks,
    /// without secrets
    #[arg(long, value_name = "FILE.zip")]
    bundle: Option<PathBuf>,
}

/// The checks and the bundle, as `--json` prints them.
#[derive(Serialize)]
struct Diagnosis {
    #[serde(flatten)]
    report: DoctorReport,
    bundle: Option<WrittenBundle>,
}

#[derive(Serialize)]
struct WrittenBundle {
    /// The path of the archive.
    file: String,
    /// The files in the archive.
    files: Vec<BundleFile>,
}

impl Doctor {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let (mut report, bundle) = match self.ask_hub(context).await {
            Ok(answer) => answer,
            Err(failure) => self.check_without_hub(context, &failure).await?,
        };
        report.checks.extend(check_version(&report));
        let bundle = match (&self.bundle, bundle) {
            (Some(file), Some(bundle)) => {
                if !context.json {
                    print_line(&format_contents(&bundle.files))?;
                }
                Some(write_bundle(file, bundle)?)
            }
            _ => None,
        };
        let diagnosis = Diagnosis { report, bundle };
        print_answer(context.json, &diagnosis, format_diagnosis)?;
        if diagnosis.report.has_failures() {
            return Err(Failure::ChecksFailed);
        }
        Ok(())
    }

    /// Lets a hub make the checks: the remote hub, the running hub, or a hub that this process
    /// opens.
    async fn ask_hub(
        &self,
        context: &Context,
    ) -> Result<(DoctorReport, Option<DiagnosticsBundle>), Failure> {
        let hub = context.open_hub_handle().await?;
        let answer = async {
            Ok::<_, ApiError>(if self.bundle.is_some() {
                let bundle = hub.run(BundleDiagnostics {}).await?;
                (bundle.report.clone(), Some(bundle))
            } else {
                (hub.run(RunDoctor {}).await?, None)
            })
        }
        .await;
        hub.close().await;
        Ok(answer?)
    }

    /// Makes only the checks that need no hub. `failure` says why no hub can be asked.
    async fn check_without_hub(
        &self,
        context: &Context,
        failure: &Failure,
    ) -> Result<(DoctorReport, Option<DiagnosticsBundle>), Failure> {
        let mut checks = vec![DoctorCheck::failure(
            DoctorTopic::Hub,
            format!(
                "The hub cannot be asked: {}.",
                failure.to_string().trim_end_matches('.')
            ),
            "Do what the message says. If a hub hangs, end its process and start Drawbridge again.",
        )];
        checks.extend(check_machine(&context.data_dir, &BTreeSet::new()).await);
        let report = DoctorReport::new(checks);
        let diagnostics = MachineDiagnostics {
            report: &report,
            data_dir: &context.data_dir,
        };
        let bundle = match self.bundle {
            Some(_) => Some(bundle_machine(&diagnostics)?),
            None => None,
        };
        Ok((report, bundle))
    }
}

/// Returns a warning if this command and the hub that made the report differ in their versions.
fn check_version(report: &DoctorReport) -> Option<DoctorCheck> {
    let own = env!("CARGO_PKG_VERSION");
    (report.version != own).then(|| {
        DoctorCheck::warning(
            DoctorTopic::Hub,
            format!(
                "The running hub has version {}, and this command has {own}.",
                report.version
            ),
            "Quit Drawbridge and start it again, so that both have the same version.",
        )
    })
}

fn write_bundle(file: &Path, bundle: DiagnosticsBundle) -> Result<WrittenBundle, Failure> {
    let zip = BASE64_STANDARD
        .decode(&bundle.zip)
        .map_err(|e| ApiError::internal(format!("cannot read the bundle: {e}")))?;
    let created = create_private_file(file).and_then(|mut created| created.write_all(&zip));
    created.map_err(|source| Failure::CreateFile {
        file: file.to_owned(),
        source,
    })?;
    Ok(WrittenBundle {
        file: file.display().to_string(),
        files: bundle.files,
    })
}

fn format_contents(files: &[BundleFile]) -> String {
    let mut table = Table::new(["FILE", "BYTES", "CONTENT"]);
    for file in files {
        table.add_row([&file.name, &file.bytes.to_string(), &file.content]);
    }
    format!(
        "The bundle contains these files. Secrets, and values that may be secrets, are masked.\n{}\n",
        table.format_or("")
    )
}

fn format_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut lines = Vec::new();
    for check in &diagnosis.report.checks {
        let topic = enum_text(check.topic).replace('_', " ");
        lines.push(format!(
            "{:8} {topic:11} {}",
            enum_text(check.status),
            escape(&check.text)
        ));
        if !check.remedy.is_empty() {
            lines.push(format!("{:20} → {}", "", escape(&check.remedy)));
        }
    }
    let count = |status| {
        let checks = diagnosis.report.checks.iter();
        let number = checks.filter(|check| check.status == status).count();
        u32::try_from(number).unwrap_or(u32::MAX)
    };
    lines.push(String::new());
    lines.push(format!(
        "{} ok, {}, {}.",
        count(CheckStatus::Ok),
        format_count(count(CheckStatus::Warning), "warning", "warnings"),
        format_count(count(CheckStatus::Failure), "failure", "failures"),
    ));
    if let Some(bundle) = &diagnosis.bundle {
        lines.push(format!(
            "The bundle is in {}. Read it before you send it.",
            escape(&bundle.file)
        ));
    }
    lines.join("\n")
}
