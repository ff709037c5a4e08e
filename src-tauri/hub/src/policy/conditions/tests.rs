use drawbridge_jsonrpc::json;
use drawbridge_model::ids::ServerId;

use super::*;

fn condition(pointer: &str, is: Predicate) -> Condition {
    Condition {
        pointer: pointer.into(),
        is,
    }
}

fn in_folder(folder: &Path) -> Folders<'_> {
    Folders {
        cwd: Some(folder),
        project: None,
    }
}

/// Returns whether the predicate surely holds at `/v`, and whether it may hold.
fn evaluate(is: &Predicate, value: &str) -> (bool, bool) {
    evaluate_at(&format!(r#"{{"v":{value}}}"#), is, "/v")
}

fn evaluate_at(arguments: &str, is: &Predicate, pointer: &str) -> (bool, bool) {
    let conditions = Conditions::compile(&[condition(pointer, is.clone())]).expect("a condition");
    let arguments = json::raw(arguments.into());
    let folder = Path::new("/work");
    let holds = |mode| conditions.all_hold(&arguments, in_folder(folder), mode);
    (holds(MatchMode::Must), holds(MatchMode::May))
}

const BOTH: (bool, bool) = (true, true);
const NEITHER: (bool, bool) = (false, false);
const MAYBE: (bool, bool) = (false, true);

fn equals(text: &str) -> Predicate {
    Predicate::Equals(Literal(text.into()))
}

#[test]
fn values_are_compared_by_value_and_not_by_notation() {
    assert_eq!(evaluate(&equals("1"), "1.0"), BOTH);
    assert_eq!(
        evaluate(&equals("9007199254740993"), "9007199254740992"),
        NEITHER
    );
    assert_eq!(evaluate(&equals(r#""a/b""#), r#""\u0061\/b""#), BOTH);
    assert_eq!(
        evaluate(&equals(r#"{"a":1,"b":[2]}"#), r#"{ "b": [2.0], "a": 1 }"#),
        BOTH
    );
    assert_eq!(
        evaluate(&equals("\"1\""), "1"),
        MAYBE,
        "some servers accept a number for a string"
    );
    assert_eq!(evaluate(&equals(r#"{"a":1}"#), r#"{"a":1,"a":2}"#), MAYBE);
}

#[test]
fn a_duplicate_key_or_a_key_in_another_case_does_not_surely_match() {
    let is = equals("1");
    assert_eq!(evaluate_at(r#"{"a":{"k":1}}"#, &is, "/a/k"), BOTH);
    assert_eq!(evaluate_at(r#"{"a":{"k":1,"k":2}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(evaluate_at(r#"{"a":{"k":1,"K":2}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(evaluate_at(r#"{"A":{"k":1}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(evaluate_at(r#"{"a":{}}"#, &is, "/a/k"), NEITHER);
    assert_eq!(evaluate_at(r#"{"a/b":{"~":1}}"#, &is, "/a~1b/~0"), BOTH);
    assert_eq!(evaluate_at(r#"{"l":[0,1]}"#, &is, "/l/1"), BOTH);
}

#[test]
fn an_allow_needs_every_entry_of_a_list_and_a_deny_needs_one_entry() {
    let is = Predicate::OneOf(vec![Literal("1".into()), Literal("2".into())]);
    assert_eq!(evaluate(&is, "[1,2]"), BOTH);
    assert_eq!(evaluate(&is, "[1,3]"), MAYBE);
    assert_eq!(evaluate(&is, "[]"), NEITHER);
    assert_eq!(evaluate(&is, "3"), NEITHER);
}

#[test]
fn both_bounds_of_a_range_are_included() {
    let is = Predicate::Between {
        min: Some(Literal("0".into())),
        max: Some(Literal("10".into())),
    };
    for (value, expected) in [
        ("0", BOTH),
        ("10.0", BOTH),
        ("10.0000000000000000001", NEITHER),
        ("-0.1", NEITHER),
    ] {
        assert_eq!(evaluate(&is, value), expected, "{value}");
    }
    assert_eq!(
        evaluate(&is, "\"5\""),
        MAYBE,
        "some servers accept a number in quotes"
    );
    assert_eq!(evaluate(&is, "1e999999999999999999999"), NEITHER);
    assert_eq!(evaluate(&is, "null"), MAYBE, "JavaScript reads null as 0");
    assert_eq!(
        evaluate(
            &Predicate::Between {
                min: Some(Literal("1".into())),
                max: None
            },
            "null"
        ),
        NEITHER
    );
}

#[test]
fn a_number_in_a_string_may_match_in_any_notation() {
    let is = Predicate::Between {
        min: Some(Literal("101".into())),
        max: None,
    };
    for text in [
        "200",
        " 200 ",
        "+200",
        "0200",
        "2_00",
        "2e2",
        "200.",
        "0xC8",
        "0b11001000",
        "0310",
        "1e999",
        &format!("0x{}", "f".repeat(33)),
        "0x1.8p9",
        "Infinity",
        "２００",
    ] {
        assert_eq!(evaluate(&is, &format!("\"{text}\"")), MAYBE, "{text}");
        assert!(
            !evaluate(&equals("200"), &format!("\"{text}\"")).0,
            "{text}"
        );
    }
    for text in [
        "100",
        "",
        "-200",
        "-0xC8",
        "two hundred",
        "0x",
        "0xyz",
        "0b2",
        "077",
        ".",
        "e5",
    ] {
        assert_eq!(evaluate(&is, &format!("\"{text}\"")), NEITHER, "{text}");
    }
    let is_at_most_100 = Predicate::Between {
        min: None,
        max: Some(Literal("100".into())),
    };
    assert_eq!(
        evaluate(&is_at_most_100, r#""0144""#),
        MAYBE,
        "100 in octal"
    );
    assert_eq!(evaluate(&is, "true"), NEITHER);
    assert_eq!(evaluate(&equals("1"), "true"), MAYBE);
}

#[test]
fn a_value_of_another_type_matches_only_for_a_deny() {
    for (expected, value) in [
        ("true", r#""true""#),
        ("true", r#""TRUE""#),
        ("true", r#""yes""#),
        ("true", "1"),
        ("true", r#""false""#),
        ("false", r#""false""#),
        ("false", r#""off""#),
        ("false", "0"),
        ("false", r#""0""#),
        ("2", r#""2""#),
        ("2", r#""2.0""#),
        (r#""2""#, "2"),
        (r#""100""#, "1e2"),
        (r#""true""#, "true"),
        (r#""True""#, "true"),
        ("null", r#""null""#),
        (r#"{"a":1}"#, r#""{\"a\":1}""#),
        (r#"{"a":1}"#, r#"{"a":"1","b":null}"#),
        (r#"{"a":[true]}"#, r#"{"a":"[\"true\"]"}"#),
        ("[1,2]", r#"["1",2]"#),
        ("[1,2]", r#"" [1, 2]""#),
    ] {
        assert_eq!(
            evaluate(&equals(expected), value),
            MAYBE,
            "{expected} {value}"
        );
        let one_of = Predicate::OneOf(vec![Literal(r#""other""#.into()), Literal(expected.into())]);
        assert!(!evaluate(&one_of, value).0, "{expected} {value}");
        if !value.contains('[') {
            assert_eq!(evaluate(&one_of, value), MAYBE, "{expected} {value}");
        }
    }
    for (expected, value) in [
        ("true", r#""""#),
        ("true", "0"),
        ("false", r#""true""#),
        ("false", "1"),
        ("2", r#""3""#),
        (r#""a""#, r#""A""#),
        (r#""off""#, r#""no""#),
        (r#"{"a":1}"#, r#""{\"a\":2}""#),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
        (r#"{"a":1}"#, r#""not JSON""#),
        ("[1,2]", r#""[1]""#),
    ] {
        assert_eq!(
            evaluate(&equals(expected), value),
            NEITHER,
            "{expected} {value}"
        );
    }
    assert_eq!(
        evaluate(&equals(r#""[1]""#), r#""[1]""#),
        BOTH,
        "the rule names exactly this string"
    );
}

#[test]
fn a_path_within_json_in_a_string_matches_for_a_deny_and_not_for_an_allow() {
    let is = Predicate::PathWithin("/etc".into());
    for (arguments, pointer, expected) in [
        (
            r#"{"options":{"path":"/etc/passwd"}}"#,
            "/options/path",
            BOTH,
        ),
        (
            r#"{"options":"{\"path\":\"/etc/passwd\"}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":" {\"path\":\"/etc/passwd\"}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":"\u007b\"path\":\"/etc/passwd\"}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":"{\"Path\":\"/etc/passwd\"}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":"{\"path\":\"/home\",\"path\":\"/etc/passwd\"}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":"{\"path\":\"/etc/passwd\",\"n\":NaN}"}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"options":"{\"paths\":\"[\\\"/etc/passwd\\\"]\"}"}"#,
            "/options/paths",
            MAYBE,
        ),
        (
            r#"{"options":"{\"path\":\"/home/a\"}"}"#,
            "/options/path",
            NEITHER,
        ),
        (
            r#"{"options":"[{\"path\":\"/etc/passwd\"}]"}"#,
            "/options/0/path",
            MAYBE,
        ),
        (r#"{"options":"no JSON"}"#, "/options/path", NEITHER),
        (
            r#"{"paths":"[\"/home/a\",\"/etc/passwd\"]"}"#,
            "/paths",
            MAYBE,
        ),
        (
            r#"{"paths":["/home/a","[\"/etc/passwd\"]"]}"#,
            "/paths",
            MAYBE,
        ),
        (
            r#"{"options":{"\ud800":1,"path":"/etc/passwd"}}"#,
            "/options/path",
            MAYBE,
        ),
        (
            r#"{"path":"/home/\ud800/../../etc/passwd"}"#,
            "/path",
            MAYBE,
        ),
    ] {
        assert_eq!(
            evaluate_at(arguments, &is, pointer),
            expected,
            "{arguments}"
        );
    }
}

#[cfg(unix)]
#[test]
fn an_allow_matches_a_string_only_if_it_also_matches_the_json_in_the_string() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().canonicalize().expect("a folder");
    let is = Predicate::PathWithin(root.display().to_string());
    let conditions = Conditions::compile(&[condition("/paths", is)]).expect("a condition");
    let allows = |paths: &str| {
        let arguments = json::raw(serde_json::json!({ "paths": paths }).to_string());
        conditions.all_hold(&arguments, in_folder(&root), MatchMode::Must)
    };
    assert!(allows("a.txt"));
    assert!(
        allows(r#"["a.txt","b.txt"]"#),
        "the condition holds for the string and for the list inside it"
    );
    assert!(!allows(r#"["/etc/passwd"]"#));
    assert!(!allows(r#"["a.txt","/etc/passwd"]"#));
    assert!(!allows(r#"{"path":"/etc/passwd"}"#));
    let matches = Conditions::compile(&[condition("/paths", Predicate::Matches("[^;]*".into()))])
        .expect("a condition");
    let arguments = json::raw(r#"{"paths":"[\"a\\u003b rm\"]"}"#.into());
    assert!(
        !matches.all_hold(&arguments, Folders::default(), MatchMode::Must),
        "escaped characters in the inner JSON are checked"
    );
}

#[test]
fn a_relative_path_in_a_url_is_below_the_working_folder_of_the_server() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().canonicalize().expect("a folder");
    std::fs::create_dir_all(root.join("secret")).expect("make a folder");
    let is = Predicate::PathWithin(root.join("secret").display().to_string());
    let conditions = Conditions::compile(&[condition("/path", is)]).expect("a condition");
    let may_match = |cwd: Option<&Path>| {
        let arguments = json::raw(r#"{"path":"file:secret/x"}"#.into());
        let folders = Folders { cwd, project: None };
        conditions.all_hold(&arguments, folders, MatchMode::May)
    };
    assert!(may_match(Some(&root)));
    assert!(!may_match(Some(&root.join("other"))));
    assert!(may_match(None), "the folder of the server is not known");
}

#[test]
fn the_working_folder_is_in_the_spec_or_is_the_home_folder_or_is_unknown() {
    let folder_of = |spec: &str| {
        let spec = serde_json::from_str(spec).expect("a spec");
        working_dir(&RegisteredServer::new(
            ServerId::new("notes"),
            spec,
            PathBuf::default(),
        ))
    };
    assert_eq!(folder_of(r#"{"command":"x","sandbox":{}}"#), None);
    assert_eq!(folder_of(r#"{"url":"http://localhost"}"#), None);
    let cwd = Some(PathBuf::from("/srv"));
    assert_eq!(
        folder_of(r#"{"command":"x","cwd":"/srv","sandbox":{}}"#),
        cwd
    );
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    assert_eq!(folder_of(r#"{"command":"x"}"#), home);
    assert_eq!(
        folder_of(r#"{"command":"x","sandbox":{"files":"all"}}"#),
        home
    );
}

#[test]
fn the_project_folder_is_the_folder_in_which_the_client_works() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().canonicalize().expect("a folder");
    std::fs::create_dir_all(root.join("one/src")).expect("make the folders");
    let is = Predicate::PathWithin("$project/src".into());
    let conditions = Conditions::compile(&[condition("/path", is)]).expect("a condition");
    let evaluate = |path: &str, project: Option<&Path>| {
        let path = root.join(path);
        let arguments = json::raw(serde_json::json!({ "path": path }).to_string());
        let folders = Folders { cwd: None, project };
        let holds = |mode| conditions.all_hold(&arguments, folders, mode);
        (holds(MatchMode::Must), holds(MatchMode::May))
    };
    let project = root.join("one");
    assert_eq!(evaluate("one/src/a", Some(&project)), BOTH);
    assert_eq!(evaluate("one/a", Some(&project)), NEITHER);
    assert_eq!(evaluate("one/src/../a", Some(&project)), NEITHER);
    assert_eq!(evaluate("one/src/a", Some(&root.join("other"))), NEITHER);
    assert_eq!(
        evaluate("one/src/a", None),
        NEITHER,
        "a client that works in no project has no project folder"
    );
    for folder in ["$projects", "$project/../x", "project", ""] {
        let is = Predicate::PathWithin(folder.into());
        assert!(
            Conditions::compile(&[condition("/path", is)]).is_err(),
            "{folder}"
        );
    }
}

#[test]
fn an_unknown_project_leaves_a_match_open_only_if_it_decides_the_match() {
    let server = RegisteredServer::new(
        ServerId::new("s"),
        serde_json::from_str(r#"{"command":"x"}"#).expect("a spec"),
        PathBuf::new(),
    );
    let in_project = condition("/path", Predicate::PathWithin("$project".into()));
    let conditions =
        Conditions::compile(&[in_project, condition("/mode", equals(r#""r""#))]).expect("compiled");
    for effect in [Effect::Allow, Effect::Deny] {
        let matches = |arguments: serde_json::Value| {
            let arguments = json::raw(arguments.to_string());
            conditions.matches_in_unknown_project(Some(effect), &arguments, &server)
        };
        assert_eq!(
            matches(serde_json::json!({"path": "/a", "mode": "r"})),
            None
        );
        for certain in [
            serde_json::json!({"path": "/a", "mode": "w"}),
            serde_json::json!({"mode": "r"}),
        ] {
            assert_eq!(matches(certain.clone()), Some(false), "{certain}");
        }
    }
}

#[test]
fn deeply_nested_json_does_not_overflow_the_stack() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let arguments =
        serde_json::json!({"options": format!(r#"{{"a":{deep},"path":"/etc/passwd"}}"#)})
            .to_string();
    assert_eq!(
        evaluate_at(
            &arguments,
            &Predicate::PathWithin("/etc".into()),
            "/options/path"
        ),
        MAYBE
    );
    assert_eq!(
        evaluate_at(&arguments, &equals(r#"{"path":"/etc/passwd"}"#), "/options"),
        MAYBE,
        "the value is nested too deeply to be compared"
    );
}

#[test]
fn a_regular_expression_must_match_the_whole_text() {
    let is = Predicate::Matches("rm|ls .*".into());
    for (value, expected) in [
        ("rm", BOTH),
        ("ls -l", BOTH),
        ("ls -l\\nrm -rf /", BOTH),
        ("xrm", NEITHER),
    ] {
        assert_eq!(evaluate(&is, &format!("\"{value}\"")), expected, "{value}");
    }
}

#[test]
fn a_host_must_match_in_every_url_parser() {
    let is = Predicate::Host("example.com".into());
    for (url, expected) in [
        ("https://example.com/a?b", BOTH),
        ("https://EXAMPLE.com:8443", BOTH),
        ("https://example.com.evil.net/", NEITHER),
        ("https://evil.net/?example.com", NEITHER),
        ("https://evil.net#@example.com", MAYBE),
        ("https://example.com@evil.net/", NEITHER),
        ("https://evil.net\\\\@example.com/", MAYBE),
        ("https://example.com./", MAYBE),
        ("example.com/path", MAYBE),
        (" https://example.com/", MAYBE),
    ] {
        assert_eq!(evaluate(&is, &format!("\"{url}\"")), expected, "{url}");
    }
    let subdomains = Predicate::Host("*.example.com".into());
    assert_eq!(evaluate(&subdomains, "\"https://a.b.example.com/\""), BOTH);
    assert_eq!(evaluate(&subdomains, "\"https://example.com/\""), NEITHER);
    assert_eq!(
        evaluate(&subdomains, "\"https://evilexample.com/\""),
        NEITHER
    );
}

#[cfg(unix)]
#[test]
fn a_path_must_be_inside_a_folder_lexically_and_on_disk() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().canonicalize().expect("a folder");
    let (project, secret) = (root.join("project"), root.join("secret"));
    for folder in [&project, &secret] {
        std::fs::create_dir(folder).expect("a folder");
    }
    std::fs::write(project.join("a.txt"), "a").expect("a file");
    std::os::unix::fs::symlink(&secret, project.join("link")).expect("a link");
    std::os::unix::fs::symlink(root.join("nowhere"), project.join("dangling")).expect("a link");
    let is = Predicate::PathWithin(project.display().to_string());
    let in_root = |path: &str| format!("\"{}/{path}\"", root.display());
    for (path, expected) in [
        ("project", BOTH),
        ("project/a.txt", BOTH),
        ("project/new/deep.txt", BOTH),
        // There is no folder `x`, so this path cannot be resolved.
        ("project/./x/../a.txt", MAYBE),
        ("project/../project/a.txt", BOTH),
        ("projects/a.txt", NEITHER),
        ("project/../secret/a.txt", NEITHER),
        ("project/link/a.txt", MAYBE),
        ("project/link/../a.txt", MAYBE),
        ("project/dangling", MAYBE),
        ("secret", NEITHER),
    ] {
        assert_eq!(evaluate(&is, &in_root(path)), expected, "{path}");
    }
    assert_eq!(
        evaluate(&is, &format!("\"file://{}/project/a.txt\"", root.display())),
        BOTH
    );
    // A parser of URLs ends the path at `?`; a server that removes the scheme follows `..`.
    let ambiguous = format!("\"file://{}/project/?/../../secret\"", root.display());
    assert_eq!(evaluate(&is, &ambiguous), MAYBE);
    let secret = Predicate::PathWithin(format!("{}/secret", root.display()));
    assert_eq!(evaluate(&secret, &ambiguous), MAYBE, "a deny rule holds");
    assert_eq!(
        evaluate(&is, "\"~/project\""),
        NEITHER,
        "the home folder is another folder"
    );
    let work = Predicate::PathWithin("/work".into());
    assert_eq!(
        evaluate(&work, "\"a/b\""),
        BOTH,
        "a relative path starts at the server's working folder"
    );
    assert_eq!(evaluate(&work, "\"../etc\""), NEITHER);
    assert_eq!(
        evaluate(&Predicate::PathWithin("~/x".into()), "\"~/x/y\""),
        MAYBE,
        "not every server expands ~"
    );
}

#[test]
fn an_invalid_condition_is_reported_with_its_number_and_reason() {
    let wrong = [
        (condition("a", equals("1")), "begins with '/'"),
        (condition("/a", equals("{")), "not valid JSON"),
        (
            condition("/a", Predicate::OneOf(vec![])),
            "at least one value",
        ),
        (
            condition("/a", Predicate::PathWithin("a/b".into())),
            "neither an absolute path, nor in `~`, nor in `$project`",
        ),
        (
            condition("/a", Predicate::Host("a b".into())),
            "not a valid host",
        ),
        (
            condition(
                "/a",
                Predicate::Between {
                    min: Some(Literal("2".into())),
                    max: Some(Literal("1".into())),
                },
            ),
            "the minimum",
        ),
        (
            condition("/a", Predicate::Matches("(".into())),
            "regular expression",
        ),
        (
            condition("/a", Predicate::Matches("a)(b".into())),
            "regular expression",
        ),
        (
            condition("/a", Predicate::Matches("(\\w{1000}){1000}".into())),
            "regular expression",
        ),
    ];
    for (condition, reason) in wrong {
        let fine = self::condition("/x", equals("1"));
        let error = Conditions::compile(&[fine, condition])
            .expect_err(reason)
            .to_string();
        assert!(
            error.contains("condition 2") && error.contains(reason),
            "{error}"
        );
    }
}
