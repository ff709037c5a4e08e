use super::*;

fn logs() -> (Logs, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (
        Logs::open(folder.path(), Events::new()).expect("logs"),
        folder,
    )
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
    assert_eq!(logs.list(&all())[0].text, "key=•••!");
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
    assert_eq!(logs.list(&all())[0].text, "a\\u{1b}[31mb\\u{202e}c");
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
    let lines = logs.list(&all());
    assert!(
        lines.len() <= 1 + 2 * MAX_PER_SECOND as usize,
        "{} lines",
        lines.len()
    );
    assert_eq!(lines.last().map(|line| line.text.as_str()), Some("here"));
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
    let texts: Vec<_> = logs
        .list(&filter)
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert_eq!(texts, ["Line 3", "Line 4"]);
}
