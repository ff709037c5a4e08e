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
fn of(id: &str) -> LogFilter {
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
        "7061227373",
        "pa%22ss+word%2F1234",
    ] {
        let masked = logs.mask_text(&format!("it is {encoded}."));
        assert!(
            !masked.contains("ss word") && (masked.contains("•••") || encoded.len() < 12),
            "{encoded}: {masked}"
        );
    }
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
        lines.len() <= 2 + 2 * MAX_PER_SECOND as usize,
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
    // The loop may reach into a second second.
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
    assert_eq!(texts(&list(&logs, &of("two"))), ["from two"]);
    assert_eq!(
        texts(&read_folder(folder.path(), &of("one"))),
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
    assert_eq!(texts(&list(&logs, &of("quiet"))), ["here"]);
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
            ..of("loud")
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
            ..of("loud")
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
async fn the_lines_of_a_removed_server_go_with_it() {
    let (logs, folder) = logs();
    logs.add_server_line(&server("gone"), Level::Info, "stderr", "here");
    logs.remove_server(&server("gone"));
    assert!(list(&logs, &of("gone")).is_empty());
    logs.close().await;
    assert!(read_folder(folder.path(), &of("gone")).is_empty());
}
