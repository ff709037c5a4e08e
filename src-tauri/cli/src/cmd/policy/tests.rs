//! Tests of targets, conditions and presets on the command line, and of the text of stats.

use drawbridge_model::ids::ServerId;

use super::{PolicyStats, PresetArg, Target, format_stats, parse_condition};

#[test]
fn a_target_is_all_servers_one_server_or_one_tool() {
    let target = |server: Option<&str>, tool: Option<&str>| {
        Ok(Target {
            server: server.map(ServerId::new),
            tool: tool.map(str::to_owned),
        })
    };
    assert_eq!("*".parse(), target(None, None));
    assert_eq!("files".parse(), target(Some("files"), None));
    assert_eq!("files/read".parse(), target(Some("files"), Some("read")));
    assert_eq!("files/a/b".parse(), target(Some("files"), Some("a/b")));
    for wrong in ["", "/", "files/", "/read", "*/read"] {
        assert!(wrong.parse::<Target>().is_err(), "{wrong}");
    }
}

#[test]
fn conditions_are_parsed_and_shown_in_words() {
    for (text, shown) in [
        ("/n is 1.0", "/n is 1.0"),
        ("/mode one-of [\"r\", 1e2]", "/mode is one of \"r\", 1e2"),
        (
            "/path in /home/me/my notes",
            "/path is in /home/me/my notes",
        ),
        ("/url host *.example.com", "/url is a URL of *.example.com"),
        ("/n between 1 10", "/n is from 1 to 10"),
        ("/n between - 10", "/n is at most 10"),
        ("/command matches ls .*", "/command matches /ls .*/"),
    ] {
        assert_eq!(
            parse_condition(text)
                .map(|condition| condition.to_string())
                .ok()
                .as_deref(),
            Some(shown),
            "{text}"
        );
    }
    for wrong in [
        "",
        "/a",
        "/a is",
        "/a is b",
        "/a was 1",
        "/a one-of 1",
        "/a one-of []",
        "/a between 1",
    ] {
        assert!(parse_condition(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_preset_rejects_missing_and_needless_servers() {
    let check = |preset: PresetArg, servers: &[&str]| {
        let servers = servers.iter().map(|id| ServerId::new(*id)).collect();
        preset.into_preset(servers).map_err(|e| e.to_string())
    };
    assert_eq!(
        check(PresetArg::Listed, &[]),
        Err("the presets ask-writes and ask-listed need at least one --server".to_owned())
    );
    assert!(check(PresetArg::Listed, &["a"]).is_ok());
    assert!(check(PresetArg::Writes, &[]).is_err());
    assert!(check(PresetArg::Writes, &["a"]).is_ok());
    assert!(check(PresetArg::All, &["a"]).is_err());
    assert_eq!(PresetArg::Listed.name(), "ask-listed");
}

#[test]
fn stats_that_lack_older_calls_say_so() {
    let stats = |is_partial| {
        format_stats(&PolicyStats {
            days: Vec::new(),
            suggestions: Vec::new(),
            is_partial,
        })
    };
    assert_eq!(stats(false), "No call was asked about.");
    assert!(stats(true).ends_with("Older calls are missing."));
}
