use std::time::Duration;

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use drawbridge_jsonrpc::json;

use super::*;

fn logs() -> (Logs, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (
        Logs::open(folder.path(), Events::new()).expect("logs"),
        folder,
    )
}

/// Returns the lines in memory that match.
fn list(logs: &Logs, filter: &LogFilter) -> Vec<LogLine> {
    logs.list_in_memory(filter).0
}

fn texts(lines: &[LogLine]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

fn server(id: &str) -> ServerId {
    ServerId::new(id)
}

/// Returns the filter for the lines of a server.
fn lines_of(id: &str) -> LogFilter {
    LogFilter {
        server: Some(server(id)),
        ..all()
    }
}

fn all() -> LogFilter {
    LogFilter {
        limit: 1_000,
        ..LogFilter::default()
    }
}

#[test]
fn a_secret_is_masked_anywhere_in_a_line() {
    let (logs, _folder) = logs();
    logs.add_secret(&Secret::new("hunter2-hunter2".into()));
    logs.add_server_line(
        &ServerId::new("s"),
        Level::Info,
        "stderr",
        "key=hunter2-hunter2!",
    );
    assert_eq!(list(&logs, &all())[0].text, "key=•••!");
}

#[test]
fn a_secret_is_masked_in_its_common_encodings() {
    let (logs, _folder) = logs();
    logs.add_secret(&Secret::new("pa\"ss word/1234".into()));
    for encoded in [
        "pa\"ss word/1234",
        r#"pa\"ss word/1234"#,
        "cGEic3Mgd29yZC8xMjM0",
        "706122737320776f72642f31323334",
        "pa%22ss+word%2F1234",
    ] {
        let masked = logs.mask_text(&format!("it is {encoded}."));
        assert_eq!(masked, "it is •••.", "{encoded}");
    }
}

#[test]
fn a_secret_is_masked_in_every_encoding_wherever_it_stands() {
    let (logs, _folder) = logs();
    let value = "pä\"ss/wörd+&1234 {x}";
    logs.add_secret(&Secret::new(value.into()));
    let json = json::quote(value);
    let mut encoded = vec![
        json.trim_matches('"').to_owned(),
        json::quote(&json).trim_matches('"').to_owned(),
        json.replace('/', "\\/"),
        "p\\u00e4\\\"ss/w\\u00f6rd+&1234 {x}".to_owned(),
        format!("{value:?}"),
        hex::encode(value),
        hex::encode_upper(value),
        "p%C3%A4%22ss%2Fw%C3%B6rd%2B%261234%20%7Bx%7D".to_owned(),
        "p%c3%a4%22ss%2fw%c3%b6rd%2b%261234+%7bx%7d".to_owned(),
    ];
    for before in ["", "u", "us", "user", "user:"] {
        let basic = format!("{before}{value}:more");
        encoded.push(format!("Basic {}", BASE64_STANDARD.encode(&basic)));
        encoded.push(BASE64_URL_SAFE_NO_PAD.encode(&basic));
    }
    for text in encoded {
        let masked = logs.mask_text(&format!("it is {text}."));
        let rest = masked.replace("•••", "");
        assert!(
            masked.contains("•••") && rest.len() < "it is Basic .".len() + 20,
            "{text}: {masked}"
        );
    }
}

#[test]
fn secrets_that_overlap_are_masked_completely() {
    let (logs, _folder) = logs();
    for secret in ["abcdefgh", "fghijklm", "cdefghij"] {
        logs.add_secret(&Secret::new(secret.into()));
    }
    assert_eq!(logs.mask_text("<abcdefghijklm>"), "<•••>");
}

#[tokio::test(start_paused = true)]
async fn a_replaced_secret_is_masked_for_an_hour() {
    let (logs, _folder) = logs();
    let replace = |number: usize| {
        logs.replace_secret("token", &Secret::new(format!("token-number-{number:04}")));
    };
    replace(0);
    replace(1);
    assert_eq!(logs.mask_text("token-number-0000"), "•••");
    tokio::time::advance(Duration::from_secs(3599)).await;
    replace(2);
    assert_eq!(logs.mask_text("token-number-0000"), "•••");
    tokio::time::advance(Duration::from_secs(1)).await;
    replace(3);
    assert_eq!(logs.mask_text("token-number-0000"), "token-number-0000");
    assert_eq!(logs.mask_text("token-number-0003"), "•••");
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_masked_for_an_hour_even_if_its_successor_is_masked_for_good() {
    let (logs, _folder) = logs();
    logs.add_secret(&Secret::new("masked-for-good".into()));
    for value in ["former-value-1", "masked-for-good"] {
        logs.replace_secret("token", &Secret::new(value.into()));
    }
    tokio::time::advance(Duration::from_secs(3600)).await;
    logs.replace_secret("token", &Secret::new("current-value-1".into()));
    assert_eq!(logs.mask_text("former-value-1"), "former-value-1");
    assert_eq!(logs.mask_text("masked-for-good"), "•••");
}

#[test]
fn a_secret_that_is_replaced_a_thousand_times_leaves_a_bounded_number_of_masks() {
    let (logs, _folder) = logs();
    let replace_and_count = |number: usize| {
        logs.replace_secret("token", &Secret::new(format!("token-number-{number:04}")));
        logs.inner().masks.count_forms()
    };
    let few = (0..20)
        .map(replace_and_count)
        .fold(None, |_, masks| Some(masks));
    let many = (20..1000)
        .map(replace_and_count)
        .fold(None, |_, masks| Some(masks));
    assert_eq!(many, few);
    assert_eq!(logs.mask_text("token-number-0999"), "•••");
}

#[test]
fn control_and_invisible_characters_are_shown() {
    let (logs, _folder) = logs();
    logs.add_hub_line(Level::Info, "test", "a\u{1b}[31mb\u{202e}c");
    assert_eq!(list(&logs, &all())[0].text, "a\\u{1b}[31mb\\u{202e}c");
}

#[test]
fn a_flood_of_one_server_is_bounded_and_leaves_room_for_others() {
    let (logs, _folder) = logs();
    for n in 0..10_000 {
        logs.add_server_line(
            &ServerId::new("loud"),
            Level::Info,
            "stderr",
            &n.to_string(),
        );
    }
    logs.add_server_line(&ServerId::new("quiet"), Level::Info, "stderr", "here");
    let lines = list(&logs, &all());
    // The loop may last into the next second. The two further lines are the report of the dropped
    // lines, and the line of the other server.
    assert!(
        lines.len() <= 2 + 2 * MAX_LINES_PER_SECOND as usize,
        "{} lines",
        lines.len()
    );
    assert_eq!(lines.last().map(|line| line.text.as_str()), Some("here"));
}

#[test]
fn a_server_adds_a_limited_number_of_bytes_per_second() {
    let (logs, _folder) = logs();
    let noisy = ServerId::new("noisy");
    for _ in 0..3 * MAX_BYTES_PER_SECOND / MAX_CHARS {
        logs.add_server_line(&noisy, Level::Info, "stderr", &"x".repeat(MAX_CHARS));
    }
    let lines = list(&logs, &all()).len();
    // The loop may last into the next second.
    let most = 2 * (MAX_BYTES_PER_SECOND / MAX_CHARS + 2);
    assert!((2..=most).contains(&lines), "{lines} lines");
}

#[test]
fn a_filter_reads_the_newest_lines_that_match() {
    let (logs, _folder) = logs();
    for n in 0..5 {
        logs.add_hub_line(
            if n == 2 { Level::Debug } else { Level::Warn },
            "test",
            &format!("Line {n}"),
        );
    }
    let filter = LogFilter {
        level: Some(Level::Info),
        text: Some("line".into()),
        limit: 2,
        ..LogFilter::default()
    };
    let texts: Vec<_> = list(&logs, &filter)
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert_eq!(texts, ["Line 3", "Line 4"]);
}

#[tokio::test]
async fn lines_are_read_back_after_a_restart_with_growing_numbers() {
    let (logs, folder) = logs();
    logs.add_hub_line(Level::Info, "hub", "first start");
    logs.add_server_line(&server("one"), Level::Warn, "stderr", "from one");
    logs.add_server_line(&server("two"), Level::Info, "stderr", "from two");
    logs.close().await;
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    logs.add_hub_line(Level::Info, "hub", "second start");
    let lines = list(&logs, &all());
    assert_eq!(
        texts(&lines),
        ["first start", "from one", "from two", "second start"]
    );
    assert!(lines.is_sorted_by(|a, b| a.seq < b.seq), "{lines:?}");
    assert_eq!(texts(&list(&logs, &lines_of("two"))), ["from two"]);
    assert_eq!(
        texts(&read_folder(folder.path(), &lines_of("one"))),
        ["from one"],
        "the folder can be read without a hub"
    );
}

#[test]
fn a_server_that_writes_much_pushes_out_its_own_lines_only() {
    let (logs, _folder) = logs();
    logs.add_server_line(&server("quiet"), Level::Info, "stderr", "here");
    logs.add_hub_line(Level::Info, "hub", "mine");
    let long = "x".repeat(MAX_CHARS);
    for _ in 0..10_000 {
        logs.add(&NewLine {
            server: Some(&server("loud")),
            ..NewLine::of_hub(Level::Info, "hub", &long)
        });
    }
    assert_eq!(texts(&list(&logs, &lines_of("quiet"))), ["here"]);
    assert!(
        texts(&list(
            &logs,
            &LogFilter {
                limit: 50_000,
                ..all()
            }
        ))
        .contains(&"mine")
    );
    let loud = list(
        &logs,
        &LogFilter {
            limit: 50_000,
            ..lines_of("loud")
        },
    );
    assert!(
        loud.len() * MAX_CHARS <= SERVER_RING.bytes,
        "{} lines",
        loud.len()
    );
}

#[tokio::test]
async fn lines_that_are_only_in_the_files_are_found() {
    let (logs, folder) = logs();
    for n in 0..HUB_RING.lines + 10 {
        logs.add_hub_line(Level::Info, "hub", &format!("line {n}"));
    }
    logs.close().await;
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let filter = LogFilter {
        text: Some("line 3".into()),
        limit: 5_000,
        ..LogFilter::default()
    };
    let found = logs.read(filter).await;
    assert_eq!(found.first().map(|line| line.text.as_str()), Some("line 3"));
    assert_eq!(found.len(), 1_111, "3, 30 to 39, 300 to 399, 3000 to 3999");
}

#[tokio::test]
async fn a_period_has_the_lines_at_its_beginning_but_not_at_its_end() {
    let (logs, folder) = logs();
    logs.add_hub_line(Level::Info, "hub", "now");
    let at = list(&logs, &all())[0].at.0;
    let between = |since, until| LogFilter {
        since: Some(Timestamp(since)),
        until: Some(Timestamp(until)),
        ..all()
    };
    let periods = [
        (between(at, at + 1), vec!["now"]),
        (between(at - 1, at), vec![]),
    ];
    for (filter, expected) in &periods {
        assert_eq!(texts(&list(&logs, filter)), *expected, "in memory");
    }
    logs.close().await;
    for (filter, expected) in periods {
        let found = read_folder(folder.path(), &filter);
        assert_eq!(texts(&found), expected, "in the files");
    }
}

#[tokio::test]
async fn the_lines_of_the_quietest_of_too_many_servers_are_found_in_its_file() {
    let (logs, folder) = logs();
    let log_line = |logs: &Logs, n: usize| {
        let server = server(&format!("s{n}"));
        logs.add_server_line(&server, Level::Info, "stderr", &format!("line {n}"));
    };
    for n in 0..=MAX_SERVERS {
        log_line(&logs, n);
    }
    logs.close().await;
    assert_eq!(texts(&logs.read(lines_of("s0")).await), ["line 0"]);
    assert_eq!(
        logs.read(LogFilter {
            limit: 5_000,
            ..all()
        })
        .await
        .len(),
        MAX_SERVERS + 1
    );

    let reopened = Logs::open(folder.path(), Events::new()).expect("logs");
    let found = reopened
        .read(LogFilter {
            limit: 5_000,
            ..all()
        })
        .await;
    assert_eq!(found.len(), MAX_SERVERS + 1);
}

#[test]
fn a_server_has_at_most_two_files_of_bounded_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    for seq in 0..3_000 {
        let line = LogLine {
            server: Some(server("loud")),
            ..line(seq, 0, &"x".repeat(MAX_CHARS))
        };
        log_files.append(&line).expect("written");
    }
    let sizes: Vec<_> = std::fs::read_dir(folder.path().join("servers"))
        .expect("the folder")
        .map(|entry| entry.expect("a file").metadata().expect("a size").len())
        .collect();
    assert_eq!(sizes.len(), 2, "{sizes:?}");
    assert!(
        sizes.iter().all(|size| *size <= 2 * 1024 * 1024),
        "{sizes:?}"
    );
    let newest = read_folder(
        folder.path(),
        &LogFilter {
            limit: 1,
            ..lines_of("loud")
        },
    );
    assert_eq!(newest[0].seq, 2_999);
}

/// Writes a file of the hub for each of ten days, and two files of a server. Sets the modification
/// times of the files, so that the file of the last day was modified today and the files of the
/// server 20 days ago.
fn write_old_files(folder: &Path) -> files::LogFiles {
    let mut log_files = files::LogFiles::new(folder).expect("files");
    for day in 0..10 {
        let line = line(day, i64::from(day), &format!("day {day}"));
        log_files.append(&line).expect("written");
    }
    let server_file = |name: &str| folder.join("servers").join(name);
    std::fs::write(server_file("one.log"), "x").expect("written");
    std::fs::write(server_file("one.1.log"), "x").expect("written");
    let days = (0..10).map(|day| (folder.join(hub_file(day)), 9 - day));
    let servers = [("one.log", 20), ("one.1.log", 20)].map(|(name, age)| (server_file(name), age));
    for (file, age) in days.chain(servers) {
        set_age(&file, age);
    }
    log_files
}

/// Returns the name of the hub's file of a day, counted from the first day.
fn hub_file(day: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(FIRST_DAY_MS + day * 86_400_000).expect("a day");
    format!("drawbridge.{}.log", at.strftime("%Y-%m-%d"))
}

fn set_age(file: &Path, days: i64) {
    let at = clock::now().0 - days * 86_400_000 - 60_000;
    let at = std::time::UNIX_EPOCH + Duration::from_millis(at.unsigned_abs());
    let file = std::fs::File::options().append(true).open(file);
    file.expect("the file").set_modified(at).expect("a time");
}

const FIRST_DAY_MS: i64 = 1_790_000_000_000;

/// Returns a line of the hub.
fn line(seq: u32, day: i64, text: &str) -> LogLine {
    LogLine {
        seq,
        at: Timestamp(FIRST_DAY_MS + day * 86_400_000),
        level: Level::Info,
        server: None,
        kind: LogKind::Hub,
        area: "hub".into(),
        call: None,
        text: text.into(),
    }
}

#[test]
fn files_are_kept_as_many_days_as_the_retention_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = write_old_files(folder.path());
    log_files.set_retention(LogRetention {
        days: 7,
        max_mib: 0,
    });
    let lines = read_folder(folder.path(), &all());
    assert_eq!(lines.first().map(|line| line.seq), Some(3));
    assert_eq!(lines.len(), 7);
    let servers = folder.path().join("servers");
    assert!(servers.join("one.log").exists(), "the newest file is kept");
    assert!(!servers.join("one.1.log").exists());
}

#[test]
fn nothing_is_deleted_before_the_retention_is_known_or_if_it_has_no_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = write_old_files(folder.path());
    log_files.append(&line(10, 10, "day 10")).expect("written");
    assert_eq!(read_folder(folder.path(), &all()).len(), 11);
    log_files.set_retention(LogRetention {
        days: 0,
        max_mib: 0,
    });
    assert_eq!(read_folder(folder.path(), &all()).len(), 11);
}

#[test]
fn the_oldest_files_are_deleted_if_all_take_too_much_space() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = write_old_files(folder.path());
    log_files.set_retention(LogRetention {
        days: 0,
        max_mib: 1,
    });
    let text = "x".repeat(MAX_CHARS);
    for seq in 10..200 {
        log_files.append(&line(seq, 9, &text)).expect("written");
    }
    assert_eq!(
        read_folder(folder.path(), &all()).len(),
        200,
        "1 MiB is enough"
    );
    for seq in 200..400 {
        log_files.append(&line(seq, 9, &text)).expect("written");
    }
    log_files.append(&line(400, 10, "day 10")).expect("written");
    let lines = read_folder(folder.path(), &all());
    assert_eq!(
        texts(&lines),
        ["day 10"],
        "the older files make room for a new file"
    );
}

#[test]
fn a_clock_that_was_ahead_does_not_delete_the_log_of_today() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    for (seq, day) in (0..).zip([0, 30, 31, 32, 33, 34, 35, 36, 1]) {
        let line = line(seq, day, &format!("day {day}"));
        log_files.append(&line).expect("written");
        if day >= 30 {
            set_age(&folder.path().join(hub_file(day)), -day);
        }
    }
    log_files.set_retention(LogRetention {
        days: 7,
        max_mib: 1,
    });
    let lines = read_folder(folder.path(), &all());
    assert_eq!(lines.last().map(|line| line.text.as_str()), Some("day 1"));
    assert_eq!(lines.len(), 9);
}

/// Returns the logs after a restart, and the texts of all lines of the earlier run, oldest first.
/// Most of these lines are only in the files.
async fn logs_with_a_past() -> (Logs, tempfile::TempDir, Vec<String>) {
    let (logs, folder) = logs();
    let mut written = Vec::new();
    for n in 0..20_000 {
        let text = format!("line {n}; {}", "x".repeat(1 + n % 200));
        if n % 3 == 0 {
            logs.add(&NewLine {
                server: Some(&server("one")),
                call: Some(CallId::new(format!("call-{}", n / 6_000))),
                ..NewLine::of_hub(Level::Info, "session", &text)
            });
        } else {
            logs.add_hub_line(Level::Info, "hub", &text);
        }
        written.push(text);
        if n % 5_000 == 0 {
            // Only a limited number of lines may wait for the disk.
            wait_for_writer(folder.path(), n).await;
        }
    }
    logs.close().await;
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    (logs, folder, written)
}

/// Waits until line `n` is in the files.
async fn wait_for_writer(folder: &Path, n: usize) {
    let filter = LogFilter {
        text: Some(format!("line {n};")),
        limit: 1,
        ..LogFilter::default()
    };
    while read_folder(folder, &filter).is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Reads all pages, and returns the texts, oldest first.
async fn read_all_pages(logs: &Logs, filter: &LogFilter) -> Vec<String> {
    let mut filter = filter.clone();
    let mut newest_first = Vec::new();
    loop {
        let page = logs.read_page(filter.clone()).await;
        assert!(page.lines.len() <= filter.limit);
        newest_first.extend(page.lines.into_iter().rev().map(|line| line.text));
        let Some(older) = page.older else { break };
        assert!(
            filter.before.is_none_or(|before| older < before),
            "not an older page"
        );
        filter.before = Some(older);
    }
    newest_first.reverse();
    newest_first
}

#[tokio::test]
async fn older_pages_have_every_line_of_an_earlier_run_once() {
    let (logs, _folder, written) = logs_with_a_past().await;
    assert!(
        list(
            &logs,
            &LogFilter {
                limit: 50_000,
                ..all()
            }
        )
        .len()
            < written.len() / 2
    );
    let pages = read_all_pages(
        &logs,
        &LogFilter {
            limit: 700,
            ..all()
        },
    )
    .await;
    assert!(
        pages == written,
        "{} of {} lines",
        pages.len(),
        written.len()
    );
    let of_server = read_all_pages(&logs, &lines_of("one")).await;
    assert_eq!(of_server.len(), written.len().div_ceil(3));
    let of_hub = LogFilter {
        hub_only: true,
        ..all()
    };
    assert_eq!(
        read_all_pages(&logs, &of_hub).await.len(),
        written.len() - of_server.len()
    );
}

#[tokio::test]
async fn the_lines_of_a_call_and_old_texts_are_found_in_the_files() {
    let (logs, _folder, _) = logs_with_a_past().await;
    let of_call = LogFilter {
        call: Some(CallId::new("call-1".to_owned())),
        limit: 5_000,
        ..LogFilter::default()
    };
    let found = logs.read(of_call).await;
    assert_eq!(found.len(), 2_000);
    assert!(found.iter().all(|line| line.text.starts_with("line ")));
    let text = LogFilter {
        text: Some("LINE 123;".into()),
        ..all()
    };
    assert_eq!(read_all_pages(&logs, &text).await.len(), 1);
}

#[test]
fn a_request_searches_a_bounded_part_of_the_files_and_returns_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    for seq in 0..2_000 {
        let text = if seq == 0 { "needle" } else { "hay" };
        log_files.append(&line(seq, 0, text)).expect("written");
    }
    let mut filter = LogFilter {
        text: Some("needle".into()),
        ..all()
    };
    let first = history::scan(folder.path(), &filter, 0);
    assert!(first.newest_first.is_empty());
    let mut requests = 1;
    let mut older = first.older;
    while older.is_some() {
        filter.before = older;
        let scan = history::scan(folder.path(), &filter, 0);
        (older, requests) = (scan.older, requests + 1);
        if older.is_none() {
            assert_eq!(texts(&scan.newest_first), ["needle"]);
        }
    }
    assert!((2..2_000).contains(&requests), "{requests} requests");
}

#[test]
fn a_line_of_an_earlier_version_gets_its_kind_from_its_area() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("servers")).expect("a folder");
    let lines: String = (1..)
        .zip(["stderr", "stdout", "message", "session"])
        .map(|(seq, area)| {
            format!(
                r#"{{"seq":{seq},"at":1,"level":"info","server":"one","area":"{area}","text":""}}"#
            ) + "\n"
        })
        .collect();
    std::fs::write(folder.path().join("servers/one.log"), lines).expect("written");
    let kinds: Vec<_> = read_folder(folder.path(), &all())
        .iter()
        .map(|line| line.kind)
        .collect();
    let expected = [
        LogKind::Stderr,
        LogKind::Stdout,
        LogKind::Message,
        LogKind::Hub,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn kinds_can_be_selected_and_excluded() {
    let (logs, _folder) = logs();
    let server_id = server("one");
    for kind in [LogKind::Stderr, LogKind::Stdout, LogKind::Message] {
        logs.add_server_output(&server_id, kind, Level::Info, None, kind.as_str());
    }
    logs.add_server_line(&server_id, Level::Info, "session", "hub");
    let only = LogFilter {
        kind: Some(LogKind::Stderr),
        ..all()
    };
    assert_eq!(texts(&list(&logs, &only)), ["stderr"]);
    let without = LogFilter {
        except: Some(LogKind::Stdout),
        ..lines_of("one")
    };
    assert_eq!(texts(&list(&logs, &without)), ["stderr", "message", "hub"]);
}

#[tokio::test]
async fn a_line_that_is_logged_within_a_call_belongs_to_it() {
    let (logs, _folder) = logs();
    let call = CallId::new("call-1".to_owned());
    within_call(call.clone(), async {
        logs.add_hub_line(Level::Info, "hub", "within");
    })
    .await;
    logs.add_hub_line(Level::Info, "hub", "after");
    let filter = LogFilter {
        call: Some(call),
        ..all()
    };
    assert_eq!(texts(&list(&logs, &filter)), ["within"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_lines_are_reported_without_another_line() {
    let (logs, _folder) = logs();
    let mut events = logs.events.subscribe();
    let reporting = tokio::spawn(logs.clone().report_drops());
    let call = CallId::new("call-1".to_owned());
    for _ in 0..MAX_LINES_PER_SECOND + 7 {
        logs.add_server_line(&server("loud"), Level::Info, "hub", "line");
    }
    for _ in 0..MAX_LINES_PER_SECOND + 8 {
        logs.add_call_line(&call, Level::Info, || "decided".to_owned());
    }
    let mut reported = Vec::new();
    while reported.len() < 2 {
        if let Event::LogAdded { line } = events.recv().await.expect("an event")
            && line.text.starts_with("dropped")
        {
            reported.push((line.server, line.text));
        }
    }
    reporting.abort();
    let reason = "because there were too many lines or bytes per second";
    assert!(reported.contains(&(Some(server("loud")), format!("dropped 7 lines {reason}"))));
    assert!(reported.contains(&(None, format!("dropped 8 lines about calls {reason}"))));
}

#[cfg(unix)]
#[tokio::test]
async fn only_this_user_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let old = folder.path().join("drawbridge.2026-01-01.log");
    std::fs::write(&old, "from an older version").expect("written");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    logs.add_hub_line(Level::Info, "hub", "one");
    logs.add_server_line(&server("one"), Level::Info, "stderr", "two");
    logs.close().await;
    let mode = |path: &Path| {
        let metadata =
            std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        metadata.permissions().mode() & 0o777
    };
    let servers = folder.path().join("servers");
    assert_eq!((mode(folder.path()), mode(&servers)), (0o700, 0o700));
    for place in [folder.path(), &servers] {
        for entry in std::fs::read_dir(place).expect("the folder") {
            let path = entry.expect("an entry").path();
            assert!(path.is_dir() || mode(&path) == 0o600, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn removing_a_server_deletes_its_lines() {
    let (logs, folder) = logs();
    logs.add_server_line(&server("gone"), Level::Info, "stderr", "here");
    logs.delete_server_lines(&server("gone"));
    assert!(list(&logs, &lines_of("gone")).is_empty());
    logs.close().await;
    assert!(read_folder(folder.path(), &lines_of("gone")).is_empty());
}
