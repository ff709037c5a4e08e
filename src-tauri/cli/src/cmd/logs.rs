//! `drawbridge logs`: shows the logs of the hub and its servers.

use clap::ValueEnum;
use drawbridge_endpoint::ApiClient;
use drawbridge_hub::api::logs::ListLogs;
use drawbridge_model::{
    event::Event,
    ids::{CallId, ServerId, Timestamp},
    log::{Level, LogKind, LogLine},
};
use drawbridge_store::logs::read_folder;
use futures_util::StreamExt;

use crate::{
    context::Context,
    exit::Failure,
    output,
    text::{enum_text, escape},
    time::{format_time, parse_time},
};

#[derive(clap::Args)]
pub(crate) struct Logs {
    /// Print the lines, and then new lines as they arrive; with --json, one document per line
    #[arg(long)]
    follow: bool,
    /// Only lines of this server
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only lines that belong to this call
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Only lines of this kind
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// No lines of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    except: Option<KindArg>,
    /// The lowest level to show
    #[arg(long, value_enum)]
    level: Option<LevelArg>,
    /// Only lines that contain this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only lines since this time: a day (2026-11-21), a local time (2026-11-21T03:18), a time with
    /// a UTC offset (2026-11-21T03:18:46Z) or an age (2h)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only lines before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// The maximum number of lines, at most 5000 [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5000))]
    limit: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LevelArg {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindArg {
    /// Lines of Drawbridge about itself or about a server
    Hub,
    /// Log messages and progress that a server sends to its client
    Message,
    /// Lines that a server writes to its stderr
    Stderr,
    /// Lines that a server writes to its stdout and that are not JSON-RPC
    Stdout,
}

impl From<KindArg> for LogKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Hub => Self::Hub,
            KindArg::Message => Self::Message,
            KindArg::Stderr => Self::Stderr,
            KindArg::Stdout => Self::Stdout,
        }
    }
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Trace => Self::Trace,
            LevelArg::Debug => Self::Debug,
            LevelArg::Info => Self::Info,
            LevelArg::Warn => Self::Warn,
            LevelArg::Error => Self::Error,
        }
    }
}

impl Logs {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let filter = ListLogs {
            server: self.server.map(ServerId::new),
            call: self.call.map(CallId::new),
            kind: self.kind.map(LogKind::from),
            except: self.except.map(LogKind::from),
            level: self.level.map(Level::from),
            text: self.text,
            since: self.since,
            until: self.until,
            limit: self.limit,
            ..ListLogs::default()
        };
        if self.follow {
            return follow_log(context, filter).await;
        }
        let lines = match find_hub(context)? {
            Some(hub) => read_lines(&hub, filter).await?,
            // Opening a hub would add lines to the log.
            None => read_folder(&context.data_dir.join("logs"), &filter.into_filter()),
        };
        output::print_answer(context.json, &lines, |lines| format_lines(lines))
    }
}

/// Returns an API client for the remote hub or, if none is named, for the running hub of the data
/// folder. Returns `None` if no hub runs.
fn find_hub(context: &Context) -> Result<Option<ApiClient>, Failure> {
    Ok(match context.remote_hub()? {
        Some(hub) => Some(hub),
        None => ApiClient::local(&context.data_dir).ok(),
    })
}

async fn read_lines(hub: &ApiClient, filter: ListLogs) -> Result<Vec<LogLine>, Failure> {
    Ok(filter.collect_pages(|filter| hub.call(filter)).await?)
}

async fn follow_log(context: &Context, filter: ListLogs) -> Result<(), Failure> {
    let hub = context.running_hub()?;
    // Subscribe before listing, so that no line is missed in between.
    let mut events = hub.events().await?;
    let mut last_seq = None;
    let mut print = |line: &LogLine| {
        if last_seq.is_some_and(|last_seq| line.seq <= last_seq) {
            return Ok(());
        }
        last_seq = Some(line.seq);
        output::print_answer(context.json, line, format_line)
    };
    read_lines(&hub, filter.clone())
        .await?
        .iter()
        .try_for_each(&mut print)?;
    let matches = filter.clone().into_filter();
    while let Some(event) = events.next().await {
        if let Event::LogAdded { line } = &event {
            if matches.matches(line) {
                print(line)?;
            }
        } else if event == Event::Lagged {
            read_lines(&hub, filter.clone())
                .await?
                .iter()
                .try_for_each(&mut print)?;
        }
    }
    Err(Failure::HubStopped)
}

fn format_lines(lines: &[LogLine]) -> String {
    if lines.is_empty() {
        return "No log lines match.".to_owned();
    }
    lines.iter().map(format_line).collect::<Vec<_>>().join("\n")
}

fn format_line(line: &LogLine) -> String {
    let source = line.server.as_ref().map_or("hub", ServerId::as_str);
    format!(
        "{} {:5} {} {}: {}",
        format_time(line.at),
        enum_text(line.level).to_uppercase(),
        escape(source),
        escape(&line.area),
        escape(&line.text)
    )
}
