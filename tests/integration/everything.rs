//! Every feature of the protocol, once directly and once through Drawbridge: the client gets the
//! same results.

use drawbridge_tests::{Home, Hub, paths, process::Process};
use serde_json::{Value, json};

const SERVER: &str = "@modelcontextprotocol/server-everything/dist/index.js";

fn run_client(home: &Home, job: &Value) -> Value {
    let mut command = home.command(paths::find_program("node"));
    command
        .arg(paths::pinned_packages_dir().join("everything.mjs"))
        .arg(job.to_string());
    let mut process = Process::start(home, "everything", &mut command);
    let (status, text) = process.wait_until_exit(std::time::Duration::from_secs(60));
    assert!(status.success(), "{status}\n{}", process.stderr());
    serde_json::from_str(text.trim()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_client_gets_the_same_results_through_drawbridge_as_directly() {
    let home = Home::new();
    let server = paths::path_text(paths::npm_file(SERVER));
    let direct = run_client(&home, &json!({"command": ["node", server, "stdio"]}));
    let hub = Hub::serve(&home);
    hub.add_server("everything", &[], &["node", &server, "stdio"]);
    hub.wait_until_synced("everything");
    hub.set_policy("everything", "allow");
    let token = hub.add_client("typescript");
    let proxied = run_client(
        &home,
        &json!({"url": hub.url, "token": token, "prefix": "everything__"}),
    );
    let (direct, proxied) = (
        direct.as_object().expect("an object"),
        proxied.as_object().expect("an object"),
    );
    assert!(
        direct.len() > 20,
        "the client tried all features: {:?}",
        direct.keys()
    );
    for (feature, expected) in direct {
        let is_same = match feature.as_str() {
            // The structured result contains random weather data.
            "structured" => member_names(expected) == member_names(&proxied[feature]),
            // The SDK misses the last notification if it arrives together with the result.
            "progress" => as_list(&proxied[feature])[..3] == as_list(expected)[..3],
            _ => proxied[feature] == *expected,
        };
        assert!(
            is_same,
            "{feature}:\ndirectly {expected}\nthrough  {}",
            proxied[feature]
        );
    }
}

fn as_list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Returns the names of the members of the structured content, without the values.
fn member_names(value: &Value) -> Vec<String> {
    let structured = value["structuredContent"]
        .as_object()
        .expect("structured content");
    structured.keys().cloned().collect()
}
