//! Drawbridge passes on any JSON of a client and a server unchanged, except that line breaks
//! between tokens become spaces, so that a client cannot inject a line. The cases are pseudorandom,
//! and depend only on their number.

use std::{collections::HashMap, fs, path::Path};

use arbitrary_json::{Choices, nested_object};
use drawbridge_tests::{Home, Hub, McpClient, hub::received_calls, paths};
use serde_json::{json, value::RawValue};
use sha2::{Digest, Sha256};

const CASES: u32 = 300;

/// The listener accepts 128 levels; the message and its params are two of them.
const MAX_DEPTH: usize = 126;

/// Returns pseudorandom bytes that depend only on the seed.
fn pseudorandom_bytes(seed: &str) -> Vec<u8> {
    (0_u8..24)
        .flat_map(|part| Sha256::digest(format!("{seed} {part}")))
        .collect()
}

/// The arguments and further params of a call, and the server's result.
struct Case {
    arguments: String,
    extra_params: Vec<(String, String)>,
    result: String,
}

impl Case {
    fn generate(number: u32) -> Self {
        let bytes = pseudorandom_bytes(&format!("case {number}"));
        let mut choices = Choices::new(&bytes);
        let is_deep = number.is_multiple_of(10);
        let members = choices.members();
        let arguments = if is_deep {
            nested_object(MAX_DEPTH, &mut choices)
        } else {
            choices.object(&members)
        };
        let meta = choices.members();
        let mut extra_params = vec![
            ("\"_meta\"".to_owned(), choices.object(&meta)),
            ("\"x-more\"".to_owned(), choices.value()),
        ];
        extra_params.truncate(choices.below(3));
        let result = choices.members();
        let result = if is_deep {
            nested_object(MAX_DEPTH, &mut choices)
        } else {
            choices.object(&result)
        };
        Self {
            arguments,
            extra_params,
            result: join_lines(&result),
        }
    }

    fn params(&self) -> String {
        let extra_params: String = self
            .extra_params
            .iter()
            .map(|(key, value)| format!("\n , {key} : {value}"))
            .collect();
        format!(
            "{{ \"name\":\"probe__verbatim\",\t\"arguments\" :{}{extra_params}\n}}",
            self.arguments
        )
    }
}

/// Replaces line breaks between tokens with spaces, because a message over stdio is a single line.
fn join_lines(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

type Object = HashMap<String, Box<RawValue>>;

fn parse_object(text: &str) -> Object {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not an object ({e}): {text}"))
}

/// Sends each case and compares what arrives at both ends.
fn assert_round_trip(
    home: &Home,
    client: &McpClient,
    result_file: &Path,
    cases: impl Iterator<Item = u32>,
) {
    for number in cases {
        let case = Case::generate(number);
        fs::write(result_file, &case.result).expect("write the result");
        let answer = client.request("tools/call", &case.params());
        assert_eq!(
            answer.result_text(),
            case.result,
            "case {number}: the result"
        );
        let call = received_calls(home)
            .pop()
            .expect("the server received the call");
        let params = parse_object(parse_object(&call)["params"].get());
        assert_eq!(
            params["name"].get(),
            "\"verbatim\"",
            "case {number}: {call}"
        );
        assert_eq!(
            params["arguments"].get(),
            join_lines(&case.arguments),
            "case {number}: the arguments"
        );
        for (key, value) in &case.extra_params {
            let key: String = serde_json::from_str(key).expect("a key");
            assert_eq!(
                params[&key].get(),
                join_lines(value),
                "case {number}: {key}"
            );
        }
        assert_eq!(
            params.len(),
            2 + case.extra_params.len(),
            "case {number}: no param is added: {call}"
        );
    }
}

fn start_probe(home: &Home) -> Hub<'_> {
    let hub = Hub::serve(home);
    let file = home.file("result.json");
    hub.add_probe(&["--result", &paths::path_text(&file)]);
    hub.set_policy("probe", "allow");
    hub
}

#[test]
fn arguments_and_results_arrive_unchanged() {
    let home = Home::new();
    let hub = start_probe(&home);
    assert_round_trip(
        &home,
        &hub.connect_client("desk"),
        &home.file("result.json"),
        0..CASES,
    );
}

#[test]
fn a_client_cannot_inject_a_line_into_the_stdin_of_a_server() {
    let home = Home::new();
    let hub = start_probe(&home);
    hub.set_policy("probe", "deny");
    let client = hub.connect_client("desk");
    let smuggled = r#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
    for line_break in ["\n", "\r\n", "\r"] {
        let params = format!(
            "{{\"name\":\"probe__echo\",\"ref\":{{\"a\":{line_break}{smuggled}{line_break}}}}}"
        );
        for method in [
            "prompts/get",
            "resources/read",
            "completion/complete",
            "tools/call",
        ] {
            client.request(method, &params);
        }
    }
    hub.set_policy("probe", "allow");
    fs::write(home.file("result.json"), r#"{"content":[]}"#).expect("write the result");
    let arguments = format!("{{\"a\":\n{smuggled}\r\n}}");
    assert_eq!(
        client.call("probe__verbatim", &arguments).result(),
        json!({"content": []})
    );
    let calls = received_calls(&home);
    assert_eq!(
        calls.len(),
        1,
        "the server received only the allowed call: {calls:?}"
    );
    assert!(calls[0].contains(r#""name":"verbatim""#), "{calls:?}");
}
