//! Tests of manifests. Most of the long manifests are published examples, slightly shortened.

use std::collections::BTreeMap;

use drawbridge_model::{
    manifest::InputKind,
    runtime::Runtime,
    spec::{Lifecycle, TransportKind},
};

use super::*;

mod packages;
mod plugins;
mod registrations;
mod remotes;
mod values;

fn values(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn read_one(text: &str) -> Choice {
    let mut manifest = read(text).expect("a manifest");
    assert_eq!(manifest.choices.len(), 1);
    manifest.choices.remove(0)
}

fn filled(choice: &Choice, entered: &[(&str, &str)]) -> FilledSpec {
    choice
        .fill("x", &values(entered), &BTreeMap::new())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn fill_error(choice: &Choice, entered: &[(&str, &str)]) -> FillError {
    choice
        .fill("x", &values(entered), &BTreeMap::new())
        .err()
        .expect("an error")
}

/// Returns the command and its arguments in one line.
fn command_line(choice: &Choice, entered: &[(&str, &str)]) -> String {
    let spec = filled(choice, entered).spec;
    [vec![spec.command.expect("a command")], spec.args]
        .concat()
        .join(" ")
}

/// Returns the choice of a manifest whose only package has these members.
fn package(members: &str) -> Choice {
    read_one(&format!(r#"{{"name":"a/b","packages":[{{{members}}}]}}"#))
}

fn names(choice: &Choice) -> Vec<&str> {
    choice
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect()
}

#[test]
fn an_unreadable_manifest_is_refused_with_its_fault() {
    for (text, expected) in [
        ("{", "not valid JSON"),
        ("{}", "neither 'packages' nor 'remotes'"),
        (r#"{"mcpServers":{"a":{"command":"x"}}}"#, "neither"),
        (r#"{"name":"a","packages":[]}"#, "neither"),
        (r#"{"packages":[]}"#, "missing field `name`"),
        (
            r#"{"name":"a","packages":[{"registryType":"npm"}]}"#,
            "packages[0]: missing field `identifier`",
        ),
        (
            r#"{"name":"a","packages":[{"identifier":5}]}"#,
            "packages[0].identifier: invalid type: integer `5`",
        ),
        (
            r#"{"name":"a","remotes":[{"type":"sse"}]}"#,
            "remotes[0]: missing field `url`",
        ),
        (
            r#"{"name":"a","packages":[{"identifier":"x","environmentVariables":[{"name":"A","default":[]}]}]}"#,
            "packages[0].environmentVariables[0].default: expected a text",
        ),
        (
            r#"{"name":"a","packages":[{"command":{}}]}"#,
            "packages[0].command: expected a text, or a list",
        ),
    ] {
        let error = read(text).expect_err("an error").to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_manifest_in_a_folder_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |error: ManifestError| error.to_string();
    assert!(
        text(read_path(folder.path()).expect_err("the folder has no manifest"))
            .contains("neither plugin.json nor server.json")
    );
    assert!(
        text(read_path(&folder.path().join("no.json")).expect_err("there is no such file"))
            .contains("cannot read")
    );
    let server = folder.path().join("server.json");
    fs::write(&server, "{}").expect("written");
    assert!(
        text(read_path(folder.path()).expect_err("the file is not a manifest"))
            .contains("server.json: this is not a manifest")
    );
    fs::write(
        &server,
        r#"{"name":"a/b","remotes":[{"url":"https://x.example/mcp"}]}"#,
    )
    .expect("written");
    assert_eq!(read_path(folder.path()).expect("read").name, "a/b");
    assert_eq!(read_path(&server).expect("read").server_name(), "b");
}

#[test]
fn a_manifest_cannot_refer_to_a_secret() {
    for member in [
        r#""environmentVariables":[{"name":"A","value":"${keyring:github.TOKEN}"}]"#,
        r#""environmentVariables":[{"name":"A","default":"${keyring:github.TOKEN}"}]"#,
        r#""packageArguments":[{"type":"named","name":"--a","value":"${keyring:github.TOKEN}"}]"#,
        r#""environmentVariables":[{"name":"A","value":"{b}","variables":{"b":{"value":"${keyring:github.TOKEN}"}}}]"#,
        r#""environmentVariables":[{"name":"A","choices":["${keyring:github.TOKEN}"]}]"#,
        r#""environmentVariables":[{"name":"A","value":"${env:AWS_SECRET_ACCESS_KEY}"}]"#,
        r#""packageArguments":[{"type":"named","name":"--a","value":"${command:cat key}"}]"#,
    ] {
        let choice = package(&format!(
            r#""registryType":"npm","identifier":"x",{member}"#
        ));
        assert_eq!(
            choice.problem,
            Some(Problem::SecretReference),
            "{member}: {choice:?}"
        );
    }
}

#[test]
fn a_manifest_cannot_compose_a_reference_to_a_secret() {
    for (value, default) in [
        ("${{b}", "keyring:github.TOKEN}"),
        ("{b}{keyring:github.TOKEN}", "$"),
        ("${{b}", "command:cat key}"),
        ("${{b}", "env:AWS_SECRET_ACCESS_KEY}"),
    ] {
        let input = format!(r#""value":"{value}","variables":{{"b":{{"default":"{default}"}}}}"#);
        for member in [
            format!(r#""environmentVariables":[{{"name":"A",{input}}}]"#),
            format!(r#""packageArguments":[{{"type":"named","name":"--a",{input}}}]"#),
        ] {
            let choice = package(&format!(
                r#""registryType":"npm","identifier":"x",{member}"#
            ));
            assert!(
                matches!(fill_error(&choice, &[]), FillError::Problem(_)),
                "{member}"
            );
        }
    }
    // Arguments may refer to secrets too.
    let choice = package(r#""registryType":"npm","identifier":"${keyring:github.TOKEN}""#);
    assert!(matches!(
        fill_error(&choice, &[]),
        FillError::Problem(Problem::SecretReference)
    ));
    let choice =
        package(r#""registryType":"npm","identifier":"x","environmentVariables":[{"name":"A"}]"#);
    assert_eq!(
        filled(&choice, &[("A", "${keyring:mine}")]).spec.env["A"],
        "${keyring:mine}"
    );
}
