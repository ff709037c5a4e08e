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
    logs.list(filter).0
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
async fn a_replaced_secret_is_masked_for_an_hour_and_then_given_up() {
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
async fn a_secret_that_is_replaced_by_one_that_is_masked_for_good_is_given_up() {
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
fn a_secret_that_is_renewed_a_thousand_times_leaves_a_bounded_number_of_masks() {
    let (logs, _folder) = logs();
    let renew = |number: usize| {
        logs.replace_secret("token", &Secret::new(format!("token-number-{number:04}")));
        logs.inner().masks.count_forms()
    };
    let few = (0..20).map(renew).fold(None, |_, masks| Some(masks));
    let many = (20..1000).map(renew).fold(None, |_, masks| Some(masks));
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
        logs.add(Level::Info, Some(&server("loud")), "stderr", &long);
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

#[test]
fn a_server_has_at_most_two_files_of_bounded_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    let line = |seq| LogLine {
        seq,
        at: Timestamp(1_790_000_000_000),
        level: Level::Info,
        server: Some(server("loud")),
        area: "stderr".into(),
        text: "x".repeat(MAX_CHARS),
    };
    for seq in 0..3_000 {
        log_files.append(&line(seq)).expect("written");
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

#[test]
fn seven_files_of_the_hub_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    for day in 0..10 {
        let line = LogLine {
            seq: day,
            at: Timestamp(1_790_000_000_000 + i64::from(day) * 86_400_000),
            level: Level::Info,
            server: None,
            area: "hub".into(),
            text: format!("day {day}"),
        };
        log_files.append(&line).expect("written");
    }
    let lines = read_folder(folder.path(), &all());
    assert_eq!(lines.first().map(|line| line.seq), Some(3));
    assert_eq!(lines.len(), 7);
}

#[test]
fn a_clock_that_was_ahead_does_not_delete_the_log_of_today() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log_files = files::LogFiles::new(folder.path()).expect("files");
    for (seq, day) in (0..).zip([0, 30, 31, 32, 33, 34, 35, 36, 1]) {
        let line = LogLine {
            seq,
            at: Timestamp(1_790_000_000_000 + day * 86_400_000),
            level: Level::Info,
            server: None,
            area: "hub".into(),
            text: format!("day {day}"),
        };
        log_files.append(&line).expect("written");
    }
    let lines = read_folder(folder.path(), &all());
    assert!(lines.iter().any(|line| line.text == "day 1"), "{lines:?}");
    assert_eq!(lines.len(), 7);
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
    logs.remove_server(&server("gone"));
    assert!(list(&logs, &lines_of("gone")).is_empty());
    logs.close().await;
    assert!(read_folder(folder.path(), &lines_of("gone")).is_empty());
}
