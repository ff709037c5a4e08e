use super::*;
use crate::model::json;

fn condition(pointer: &str, is: Predicate) -> Condition {
    Condition {
        pointer: pointer.into(),
        is,
    }
}

/// Returns whether the test surely holds at `/v`, and whether it may hold.
fn told(is: &Predicate, value: &str) -> (bool, bool) {
    told_of(&format!(r#"{{"v":{value}}}"#), is, "/v")
}

fn told_of(arguments: &str, is: &Predicate, pointer: &str) -> (bool, bool) {
    let conditions = Conditions::compile(&[condition(pointer, is.clone())]).expect("a condition");
    let arguments = json::raw(arguments.into());
    let folder = Path::new("/work");
    let holds = |sure| conditions.hold(&arguments, Some(folder), sure);
    (holds(Sure::Surely), holds(Sure::Maybe))
}

const BOTH: (bool, bool) = (true, true);
const NEITHER: (bool, bool) = (false, false);
const MAYBE: (bool, bool) = (false, true);

fn equals(text: &str) -> Predicate {
    Predicate::Equals(Literal(text.into()))
}

#[test]
fn values_are_the_same_by_what_they_are_and_not_by_how_they_are_written() {
    assert_eq!(told(&equals("1"), "1.0"), BOTH);
    assert_eq!(
        told(&equals("9007199254740993"), "9007199254740992"),
        NEITHER
    );
    assert_eq!(told(&equals(r#""a/b""#), r#""\u0061\/b""#), BOTH);
    assert_eq!(
        told(&equals(r#"{"a":1,"b":[2]}"#), r#"{ "b": [2.0], "a": 1 }"#),
        BOTH
    );
    assert_eq!(
        told(&equals("\"1\""), "1"),
        MAYBE,
        "many a server takes a number for a text"
    );
    assert_eq!(told(&equals(r#"{"a":1}"#), r#"{"a":1,"a":2}"#), MAYBE);
}

#[test]
fn a_key_that_stands_twice_or_in_another_case_is_never_sure() {
    let is = equals("1");
    assert_eq!(told_of(r#"{"a":{"k":1}}"#, &is, "/a/k"), BOTH);
    assert_eq!(told_of(r#"{"a":{"k":1,"k":2}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(told_of(r#"{"a":{"k":1,"K":2}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(told_of(r#"{"A":{"k":1}}"#, &is, "/a/k"), MAYBE);
    assert_eq!(told_of(r#"{"a":{}}"#, &is, "/a/k"), NEITHER);
    assert_eq!(told_of(r#"{"a/b":{"~":1}}"#, &is, "/a~1b/~0"), BOTH);
    assert_eq!(told_of(r#"{"l":[0,1]}"#, &is, "/l/1"), BOTH);
}

#[test]
fn of_a_list_each_entry_counts_for_an_allow_and_any_for_a_deny() {
    let is = Predicate::OneOf(vec![Literal("1".into()), Literal("2".into())]);
    assert_eq!(told(&is, "[1,2]"), BOTH);
    assert_eq!(told(&is, "[1,3]"), MAYBE);
    assert_eq!(told(&is, "[]"), NEITHER);
    assert_eq!(told(&is, "3"), NEITHER);
}

#[test]
fn numbers_lie_between_their_bounds_both_included() {
    let is = Predicate::Between {
        min: Some(Literal("0".into())),
        max: Some(Literal("10".into())),
    };
    for (value, wanted) in [
        ("0", BOTH),
        ("10.0", BOTH),
        ("10.0000000000000000001", NEITHER),
        ("-0.1", NEITHER),
    ] {
        assert_eq!(told(&is, value), wanted, "{value}");
    }
    assert_eq!(
        told(&is, "\"5\""),
        MAYBE,
        "many a server takes a number in quotes"
    );
    assert_eq!(told(&is, "1e999999999999999999999"), NEITHER);
    assert_eq!(told(&is, "null"), MAYBE, "JavaScript reads it as 0");
    assert_eq!(
        told(
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
fn a_number_is_one_however_a_text_writes_it() {
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
        "1e999",
        "Infinity",
        "２００",
    ] {
        assert_eq!(told(&is, &format!("\"{text}\"")), MAYBE, "{text}");
        assert!(!told(&equals("200"), &format!("\"{text}\"")).0, "{text}");
    }
    for text in ["100", "", "-200", "-0xC8", "two hundred", "0x", ".", "e5"] {
        assert_eq!(told(&is, &format!("\"{text}\"")), NEITHER, "{text}");
    }
    assert_eq!(told(&is, "true"), NEITHER);
    assert_eq!(told(&equals("1"), "true"), MAYBE);
}

#[test]
fn a_value_is_the_named_one_in_another_type_only_for_a_deny() {
    for (wanted, value) in [
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
        assert_eq!(told(&equals(wanted), value), MAYBE, "{wanted} {value}");
        let one_of = Predicate::OneOf(vec![Literal(r#""other""#.into()), Literal(wanted.into())]);
        assert!(!told(&one_of, value).0, "{wanted} {value}");
        if !value.contains('[') {
            assert_eq!(told(&one_of, value), MAYBE, "{wanted} {value}");
        }
    }
    for (wanted, value) in [
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
        assert_eq!(told(&equals(wanted), value), NEITHER, "{wanted} {value}");
    }
    assert_eq!(
        told(&equals(r#""[1]""#), r#""[1]""#),
        BOTH,
        "who named that very text has allowed it"
    );
}

#[test]
fn what_a_string_holds_as_json_counts_for_a_deny_and_never_for_an_allow() {
    let is = Predicate::PathWithin("/etc".into());
    for (arguments, pointer, wanted) in [
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
        assert_eq!(told_of(arguments, &is, pointer), wanted, "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn a_list_in_a_string_is_not_allowed_as_if_it_were_a_relative_path() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().canonicalize().expect("a folder");
    let is = Predicate::PathWithin(root.display().to_string());
    let conditions = Conditions::compile(&[condition("/paths", is)]).expect("a condition");
    let allows = |paths: &str| {
        let arguments = json::raw(serde_json::json!({ "paths": paths }).to_string());
        conditions.hold(&arguments, Some(&root), Sure::Surely)
    };
    assert!(allows("a.txt"));
    assert!(
        allows(r#"["a.txt","b.txt"]"#),
        "it holds in both ways of reading it"
    );
    assert!(!allows(r#"["/etc/passwd"]"#));
    assert!(!allows(r#"["a.txt","/etc/passwd"]"#));
    assert!(!allows(r#"{"path":"/etc/passwd"}"#));
    let matches = Conditions::compile(&[condition("/paths", Predicate::Matches("[^;]*".into()))])
        .expect("a condition");
    let arguments = json::raw(r#"{"paths":"[\"a\\u003b rm\"]"}"#.into());
    assert!(
        !matches.hold(&arguments, None, Sure::Surely),
        "what is escaped within it counts"
    );
}

#[test]
fn json_that_is_nested_deeper_than_any_message_is_looked_at_without_end_of_the_stack() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let arguments =
        serde_json::json!({"options": format!(r#"{{"a":{deep},"path":"/etc/passwd"}}"#)})
            .to_string();
    assert_eq!(
        told_of(
            &arguments,
            &Predicate::PathWithin("/etc".into()),
            "/options/path"
        ),
        MAYBE
    );
    assert_eq!(
        told_of(&arguments, &equals(r#"{"path":"/etc/passwd"}"#), "/options"),
        MAYBE,
        "it is too deep to tell"
    );
}

#[test]
fn a_regular_expression_has_to_fit_the_whole_text() {
    let is = Predicate::Matches("rm|ls .*".into());
    for (value, wanted) in [
        ("rm", BOTH),
        ("ls -l", BOTH),
        ("ls -l\\nrm -rf /", BOTH),
        ("xrm", NEITHER),
    ] {
        assert_eq!(told(&is, &format!("\"{value}\"")), wanted, "{value}");
    }
}

#[test]
fn a_host_is_the_one_that_every_reader_of_the_url_finds() {
    let is = Predicate::Host("example.com".into());
    for (url, wanted) in [
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
        assert_eq!(told(&is, &format!("\"{url}\"")), wanted, "{url}");
    }
    let under = Predicate::Host("*.example.com".into());
    assert_eq!(told(&under, "\"https://a.b.example.com/\""), BOTH);
    assert_eq!(told(&under, "\"https://example.com/\""), NEITHER);
    assert_eq!(told(&under, "\"https://evilexample.com/\""), NEITHER);
}

#[cfg(unix)]
#[test]
fn a_path_is_in_a_folder_by_its_words_and_on_the_disk() {
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
    let at = |path: &str| format!("\"{}/{path}\"", root.display());
    for (path, wanted) in [
        ("project", BOTH),
        ("project/a.txt", BOTH),
        ("project/new/deep.txt", BOTH),
        ("project/./x/../a.txt", MAYBE),
        ("project/../project/a.txt", BOTH),
        ("projects/a.txt", NEITHER),
        ("project/../secret/a.txt", NEITHER),
        ("project/link/a.txt", MAYBE),
        ("project/link/../a.txt", MAYBE),
        ("project/dangling", MAYBE),
        ("secret", NEITHER),
    ] {
        assert_eq!(told(&is, &at(path)), wanted, "{path}");
    }
    assert_eq!(
        told(&is, &format!("\"file://{}/project/a.txt\"", root.display())),
        BOTH
    );
    assert_eq!(told(&is, "\"~/project\""), NEITHER, "another folder");
    let work = Predicate::PathWithin("/work".into());
    assert_eq!(
        told(&work, "\"a/b\""),
        BOTH,
        "relative to where the server runs"
    );
    assert_eq!(told(&work, "\"../etc\""), NEITHER);
    assert_eq!(
        told(&Predicate::PathWithin("~/x".into()), "\"~/x/y\""),
        MAYBE,
        "not every server knows ~"
    );
}

#[test]
fn a_condition_that_cannot_be_says_which_and_why() {
    let wrong = [
        (condition("a", equals("1")), "begins with /"),
        (condition("/a", equals("{")), "no JSON value"),
        (condition("/a", Predicate::OneOf(vec![])), "names no value"),
        (
            condition("/a", Predicate::PathWithin("a/b".into())),
            "no absolute path",
        ),
        (condition("/a", Predicate::Host("a b".into())), "no host"),
        (
            condition(
                "/a",
                Predicate::Between {
                    min: Some(Literal("2".into())),
                    max: Some(Literal("1".into())),
                },
            ),
            "its least",
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
    for (condition, why) in wrong {
        let fine = self::condition("/x", equals("1"));
        let error = Conditions::compile(&[fine, condition])
            .expect_err(why)
            .to_string();
        assert!(
            error.contains("condition 2") && error.contains(why),
            "{error}"
        );
    }
}
