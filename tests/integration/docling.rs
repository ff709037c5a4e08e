//! The Docling tools: conversions are decided and recorded, Drawbridge keeps the spec of the server
//! up to date, and errors say if the package, the runtime or the models are missing. Most tests use
//! a stand-in for `uvx` and the package; the last two tests use the real package without models.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
};

use drawbridge_tests::{
    Home, Hub, McpClient, canary,
    hub::{spec_file, write_spec},
    paths,
    process::{Process, RunningProcess},
    store,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const CONVERT: &str = "convert_document_from_content";
const SYNC: &str = "sync_docling_models";

/// A home with the stand-in for `uvx`. The content of a document, or the file `docling-models` in
/// the user's home folder, can tell the stand-in to fail or to wait.
fn home_with_uvx() -> Home {
    let home = Home::new();
    let script = paths::repository_root().join("tests/upstreams/docling/uvx.py");
    install_uvx(&home, &fs::read_to_string(script).expect("the stand-in"));
    home
}

fn install_uvx(home: &Home, script: &str) {
    let folder = home.file("home/.local/bin");
    fs::create_dir_all(&folder).expect("a folder for programs");
    let file = folder.join("uvx");
    fs::write(&file, script).expect("a program");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
}

fn enable_docling(home: &Home) {
    home.cli(&["servers", "enable", "docling-tools"])
        .expect_success();
}

/// Starts a hub with the Docling tools enabled, and allows every client to call them.
fn serve_with_docling(home: &Home) -> Hub<'_> {
    let hub = Hub::serve(home);
    enable_docling(home);
    hub.wait_until_synced("docling");
    hub.set_policy("docling-tools", "allow");
    hub
}

fn connect(hub: &Hub<'_>) -> McpClient {
    let client = hub.connect_client("claude");
    wait_until("the Docling tools are listed", || {
        let tools = client.list_tools();
        some_if(
            [CONVERT, SYNC]
                .iter()
                .all(|tool| tools.contains(&(*tool).to_owned())),
        )
    });
    client
}

fn document_arguments(content: &str, file_name: &str) -> String {
    json!({"content": canary::base64(content.as_bytes()), "file_name": file_name}).to_string()
}

/// Returns the error of a call that fails, with its remedy.
#[track_caller]
fn call_error(client: &McpClient, tool: &str, arguments: &str) -> String {
    let answer = client.call(tool, arguments);
    match answer.error() {
        Some(error) => error.to_string(),
        None => {
            assert!(answer.is_error(), "{}", answer.raw);
            answer.text()
        }
    }
}

/// Returns the entries that the stand-in recorded under this name.
fn read_records(home: &Home, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(home.file("home/docling.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an entry"))
        .filter(|entry| entry.get(name).is_some())
        .collect()
}

fn read_spec(home: &Home) -> Value {
    let text = fs::read_to_string(spec_file(&home.data_dir(), "docling")).expect("a spec file");
    serde_json::from_str(&text).expect("a spec")
}

fn inbox_is_empty(home: &Home) -> bool {
    let inbox = home.data_dir().join("docling/inbox");
    fs::read_dir(inbox).is_ok_and(|mut entries| entries.next().is_none())
}

fn models_dir(home: &Home) -> PathBuf {
    home.data_dir().join("docling/models")
}

#[test]
fn a_document_is_decided_once_converted_and_recorded() {
    let home = home_with_uvx();
    let hub = Hub::serve(&home);
    enable_docling(&home);
    hub.wait_until_synced("docling");
    let client = connect(&hub);
    let converted = client.spawn_call(CONVERT, &document_arguments("Tea & cake", "Notes.md"));
    let approval = hub.wait_for_approval();
    assert_eq!(approval["server"], "docling-tools");
    assert_eq!(approval["tool"], CONVERT);
    assert_eq!(read_records(&home, "converted"), Vec::<Value>::new());
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    let converted = converted.join().expect("an answer");
    assert!(!converted.is_error(), "{}", converted.raw);
    assert_eq!(converted.text(), "# Tea & cake");

    let conversions = read_records(&home, "converted");
    assert_eq!(conversions.len(), 1);
    assert_eq!(
        (&conversions[0]["mode"], &conversions[0]["folder"]),
        (&json!("600"), &json!("700"))
    );
    let file = Path::new(conversions[0]["converted"].as_str().expect("a path"));
    let data_dir = home.data_dir().canonicalize().expect("the data folder");
    assert!(file.starts_with(data_dir.join("docling/inbox")), "{file:?}");
    assert_eq!(file.file_name().expect("a name"), "document.md");
    assert!(inbox_is_empty(&home));

    hub.stop(Signal::SIGTERM);
    let calls = store::read_calls(&home.data_dir()).expect("calls");
    let calls: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.server.as_str(),
                call.tool.as_str(),
                call.outcome.as_str(),
            )
        })
        .collect();
    assert_eq!(calls, [("docling-tools", CONVERT, "ok")]);
    home.cli(&["audit", "verify"]).expect_success();
}

#[test]
fn a_document_can_stay_in_the_server_for_its_own_tools() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    hub.set_policy("docling", "allow");
    let client = connect(&hub);
    let arguments =
        json!({"content": "VGVh", "file_name": "a.md", "output_format": "document_key"});
    let answer = client.call(CONVERT, &arguments.to_string());
    assert!(!answer.is_error(), "{}", answer.raw);
    let exported = client.call(
        "docling__export_docling_document_to_markdown",
        &answer.text(),
    );
    assert!(exported.text().contains("# Tea"), "{}", exported.raw);
    // A later conversion still returns the text.
    assert_eq!(
        client
            .call(CONVERT, &document_arguments("Cake", "a.md"))
            .text(),
        "# Cake"
    );
}

#[test]
fn bad_input_gets_an_error_that_names_the_problem() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    let too_large = "A".repeat(14 * 1024 * 1024);
    let refused = [
        (json!({}), "content"),
        (json!({"content": "VGVh"}), "file_name"),
        (
            json!({"content": "# Tea", "file_name": "a.md"}),
            "'content' is not base64",
        ),
        (
            json!({"content": too_large, "file_name": "a.md"}),
            "at most 10 MiB",
        ),
        (
            json!({"content": "VGVh", "file_name": "a.exe"}),
            "does not convert files that end with '.exe'",
        ),
        (
            json!({"content": "VGVh", "file_name": "notes"}),
            "such as report.pdf",
        ),
        (
            json!({"content": "VGVh", "file_name": "../../servers/docling.md"}),
            "without folders",
        ),
        (
            json!({"content": "VGVh", "file_name": "C:\\a.md"}),
            "without folders",
        ),
        (
            json!({"content": "VGVh", "file_name": "a\u{0}.md"}),
            "without folders",
        ),
        (
            json!({"content": "VGVh", "file_name": "a.md", "output_format": "pdf"}),
            "output_format",
        ),
        (
            json!({"content": "VGVh", "file_name": "a.md", "path": "/etc/passwd"}),
            "path",
        ),
    ];
    for (arguments, reason) in refused {
        let message = call_error(&client, CONVERT, &arguments.to_string());
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert!(message.contains(reason), "{shown}: {message}");
    }
    assert!(call_error(&client, SYNC, r#"{"force":"yes"}"#).contains("force"));
    assert_eq!(read_records(&home, "converted"), Vec::<Value>::new());
    assert!(!home.data_dir().join("docling/inbox").exists());
}

#[test]
fn one_switch_shows_and_hides_the_docling_tools_and_their_server() {
    let home = home_with_uvx();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("claude");
    assert_eq!(client.list_tools(), Vec::<String>::new());
    assert!(!spec_file(&home.data_dir(), "docling").exists());

    enable_docling(&home);
    hub.wait_until_synced("docling");
    let shown = hub.show_server("docling");
    assert_eq!(shown["acceptance"], "accepted");
    assert_eq!(shown["floating"], json!([]));
    assert_eq!(
        shown["spec"]["args"],
        json!([
            "--from",
            "docling-mcp[local]==3.3.0",
            "docling-mcp-server",
            "--transport",
            "stdio"
        ])
    );
    wait_until("the tools of both servers are listed", || {
        let tools = client.list_tools();
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        some_if(has(CONVERT) && has(SYNC) && has("docling__remove_document_from_local_cache"))
    });
    let health = hub.run_verb("health.show", &json!({}));
    assert_eq!(health["builtin_tools"]["names"], json!([CONVERT, SYNC]));

    home.cli(&["servers", "disable", "docling-tools"])
        .expect_success();
    wait_until("no tool is listed", || {
        some_if(client.list_tools().is_empty())
    });
    assert_eq!(read_spec(&home)["enabled"], false);
    enable_docling(&home);
    wait_until("the tools are listed again", || {
        some_if(client.list_tools().contains(&CONVERT.to_owned()))
    });
    assert_ne!(hub.show_server("docling")["state"], "disabled");
}

/// Changes the spec as a person does on the page of the server.
fn change_spec(hub: &Hub<'_>, change: impl FnOnce(&mut Value)) {
    let mut spec = hub.show_server("docling")["spec"].clone();
    change(&mut spec);
    hub.run_verb("servers.update", &json!({"id": "docling", "spec": spec}));
}

#[test]
fn an_older_version_is_updated_at_the_start_and_the_command_of_a_person_is_not() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let pinned = read_spec(&home)["args"].clone();
    change_spec(&hub, |spec| {
        spec["args"][1] = json!("docling-mcp[local]==1.3.2");
        spec["env"]["DOCLING_MCP_DO_OCR"] = json!("false");
    });
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let shown = hub.show_server("docling");
    assert_eq!(shown["spec"]["args"], pinned);
    assert_eq!(shown["spec"]["env"]["DOCLING_MCP_DO_OCR"], "false");
    assert_eq!(shown["acceptance"], "accepted");
    wait_until(
        "the audit log says that Drawbridge changed the spec",
        || {
            let list = ["audit", "list", "--kind", "server_changed", "--json"];
            let listed = home.cli(&list).expect_json().to_string();
            some_if(listed.contains(r#""by":"drawbridge""#))
        },
    );

    let own = json!([
        "--from",
        "docling-mcp==1.3.2",
        "docling-mcp-server",
        "--transport",
        "stdio"
    ]);
    change_spec(&hub, |spec| spec["args"] = own.clone());
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert_eq!(hub.show_server("docling")["spec"]["args"], own);
    // The switch of the tools does not change this spec either.
    home.cli(&["servers", "disable", "docling-tools"])
        .expect_success();
    assert_ne!(read_spec(&home)["enabled"], false);
}

#[test]
fn a_spec_that_another_program_wrote_waits_for_a_person() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    let mut changed = read_spec(&home);
    changed["args"][1] = json!("docling-mcp[local]==1.3.2");
    changed["env"]["LD_PRELOAD"] = json!("/tmp/evil.so");
    write_spec(&home, "docling", &changed.to_string());
    wait_until("the changed spec waits", || {
        some_if(hub.show_server("docling")["state"] == "needs_acceptance")
    });
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert_eq!(
        read_spec(&home),
        changed,
        "Drawbridge accepts nothing by itself"
    );
    let tools = hub.show_server("docling-tools");
    assert_eq!(tools["state"], "error");
    assert!(
        tools["reason"]
            .as_str()
            .expect("a reason")
            .contains("waits for acceptance"),
        "{tools}"
    );
    drop(client);
    let client = connect_again(&hub);
    let error = call_error(&client, CONVERT, &document_arguments("Tea", "a.md"));
    assert!(
        error.contains("drawbridge servers accept docling"),
        "{error}"
    );
}

fn connect_again(hub: &Hub<'_>) -> McpClient {
    let added = hub.add_client("claude-again");
    McpClient::connect(&hub.url, &added)
}

#[test]
fn a_failed_conversion_says_why() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    let error = call_error(&client, CONVERT, &document_arguments("fail", "a.md"));
    for part in [
        "ImportError: Local conversion mode requires docling-mcp[local] extra.",
        "The server's package lacks the local converter",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(inbox_is_empty(&home));
}

#[test]
fn a_rule_on_the_server_applies_to_the_tools_in_front_of_it() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    hub.set_policy("docling/convert_document_into_docling_document", "deny");
    let error = call_error(&client, CONVERT, &document_arguments("Tea", "a.md"));
    assert!(error.contains("a rule denies this client"), "{error}");
    assert_eq!(read_records(&home, "converted"), Vec::<Value>::new());
    home.cli(&["servers", "disable", "docling"])
        .expect_success();
    let error = call_error(&client, CONVERT, &document_arguments("Tea", "a.md"));
    assert!(
        error.contains("drawbridge servers enable docling"),
        "{error}"
    );
}

#[test]
fn a_missing_runtime_is_named_with_its_remedy() {
    let mut home = Home::new();
    home.set_variable("PATH", home.file("empty").display().to_string());
    home.set_variable("SHELL", "/bin/false");
    let hub = Hub::serve(&home);
    enable_docling(&home);
    hub.set_policy("docling-tools", "allow");
    let client = connect(&hub);
    for (tool, arguments) in [
        (CONVERT, document_arguments("Tea", "a.md")),
        (SYNC, "{}".into()),
    ] {
        let error = call_error(&client, tool, &arguments);
        assert!(error.contains("cannot find the command 'uvx'"), "{error}");
        assert!(error.contains("https://docs.astral.sh/uv/"), "{error}");
    }
    let shown = hub.show_server("docling-tools");
    assert_eq!(shown["state"], "error");
    assert!(
        shown["remedy"]
            .as_str()
            .expect("a remedy")
            .contains("Install uv"),
        "{shown}"
    );
}

#[test]
fn models_are_downloaded_when_a_client_calls_the_tool() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    let pdf = document_arguments("Tea", "a.PDF");
    let error = call_error(&client, CONVERT, &pdf);
    assert!(error.contains("sync_docling_models"), "{error}");
    let shown = hub.show_server("docling-tools");
    assert!(
        shown["reason"]
            .as_str()
            .expect("a reason")
            .contains("models"),
        "{shown}"
    );

    fs::write(home.file("home/docling-models"), "fail").expect("a file");
    let error = call_error(&client, SYNC, "{}");
    assert!(
        error.contains("OSError: the host of the models cannot be reached"),
        "{error}"
    );
    assert!(call_error(&client, CONVERT, &pdf).contains("sync_docling_models"));

    fs::remove_file(home.file("home/docling-models")).expect("a file");
    let answer = client.call(SYNC, r#"{"force":true}"#);
    assert!(answer.text().contains("3 MiB"), "{}", answer.raw);
    let runs = read_records(&home, "program");
    let last = &runs.last().expect("a run");
    let folder = models_dir(&home).canonicalize().expect("a folder");
    assert_eq!(last["package"], "docling-mcp[local]==3.3.0");
    assert_eq!(
        last["arguments"],
        json!(["models", "download", "--output-dir", folder, "--force"])
    );
    assert_eq!(client.call(CONVERT, &pdf).text(), "# Tea");
    assert_eq!(hub.show_server("docling-tools")["reason"], "");
}

#[test]
fn a_client_that_gives_up_ends_the_conversion_and_the_download() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    let conversion = client
        .begin_call(CONVERT, &document_arguments("wait", "a.md"))
        .expect("a call");
    wait_until("the conversion has begun", || {
        some_if(read_records(&home, "waits").len() == 1)
    });
    assert!(!inbox_is_empty(&home));
    conversion.disconnect();
    wait_until("the conversion is cancelled and its file removed", || {
        some_if(read_records(&home, "cancelled").len() == 1 && inbox_is_empty(&home))
    });

    fs::write(home.file("home/docling-models"), "wait").expect("a file");
    let download = client.begin_call(SYNC, "{}").expect("a call");
    wait_until("the download has begun", || {
        some_if(read_records(&home, "downloads").len() == 1)
    });
    let error = call_error(&client, SYNC, "{}");
    assert!(error.contains("another download"), "{error}");
    let is_download = |process: &RunningProcess| process.command.contains("docling-tools");
    assert!(home.server_processes().iter().any(is_download));
    download.disconnect();
    wait_until("the download has ended", || {
        some_if(!home.server_processes().iter().any(is_download))
    });
    // A download that was not completed does not count.
    assert!(
        call_error(&client, CONVERT, &document_arguments("Tea", "a.pdf"))
            .contains("sync_docling_models")
    );
}

#[test]
fn a_client_that_asks_for_progress_is_notified_of_a_download() {
    let home = home_with_uvx();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    fs::write(home.file("home/docling-models"), "until").expect("a file");
    let call = json!({"name": SYNC, "arguments": {}, "_meta": {"progressToken": "mine"}});
    let calling_client = client.second_handle();
    let messages =
        thread::spawn(move || calling_client.request_messages("tools/call", &call.to_string()));
    wait_until("a person sees the progress of the download", || {
        let running = home.cli(&["calls", "running", "--json"]).expect_json();
        some_if(running.to_string().contains("Downloading the models: "))
    });
    fs::remove_file(home.file("home/docling-models")).expect("a file");
    let messages = messages.join().expect("the messages");
    let is_progress = |message: &&Value| {
        message["method"] == "notifications/progress"
            && message["params"]["progressToken"] == "mine"
    };
    let progress = messages.iter().find(is_progress).expect("a notification");
    let text = progress["params"]["message"].as_str().expect("a text");
    assert!(text.contains("MiB on the disk"), "{text}");
    let last = messages.last().expect("an answer");
    assert_eq!(last["result"]["isError"], false, "{last}");
}

/// A home whose `uvx` starts the real package, which lacks the local converter.
fn home_with_real_package() -> Home {
    let home = Home::new();
    let server = paths::python_env_program("docling", "docling-mcp-server");
    let folder = server.parent().expect("a folder").display().to_string();
    // `uvx --from PACKAGE PROGRAM ARGS`
    install_uvx(
        &home,
        &format!("#!/bin/sh\nshift 2\nprogram=$1\nshift\nexec \"{folder}/$program\" \"$@\"\n"),
    );
    home
}

#[test]
fn the_real_docling_mcp_makes_documents_and_says_why_it_converts_none() {
    let home = home_with_real_package();
    let hub = serve_with_docling(&home);
    hub.set_policy("docling", "allow");
    let client = connect(&hub);
    let tools = client.list_tools();
    let of_docling = tools.iter().filter(|tool| tool.starts_with("docling__"));
    assert_eq!(of_docling.count(), 21, "{tools:?}");

    let call = |tool: &str, arguments: Value| {
        let answer = client.call(&format!("docling__{tool}"), &arguments.to_string());
        assert!(!answer.is_error(), "{}", answer.raw);
        answer.result()["structuredContent"].clone()
    };
    let created = call("create_new_docling_document", json!({"prompt": "a note"}));
    let key = created["document_key"].clone();
    call(
        "add_title_to_docling_document",
        json!({"document_key": key, "title": "Tea"}),
    );
    let exported = call(
        "export_docling_document_to_markdown",
        json!({"document_key": key}),
    );
    assert_eq!(exported["markdown"], "# Tea");

    let error = call_error(&client, CONVERT, &document_arguments("# Cake", "a.md"));
    for part in [
        "ImportError: Local conversion mode requires docling-mcp[local] extra.",
        "The server's package lacks the local converter",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let error = call_error(&client, SYNC, "{}");
    assert!(
        error.contains("No module named 'huggingface_hub'"),
        "{error}"
    );

    change_spec(&hub, |spec| {
        spec["env"]["DOCLING_MCP_CONVERSION_MODE"] = json!("remote")
    });
    let error = call_error(&client, CONVERT, &document_arguments("# Cake", "a.md"));
    assert!(error.contains("DOCLING_MCP_SERVICE_URL"), "{error}");
    assert!(
        error.contains("set DOCLING_MCP_SERVICE_URL to a Docling Serve instance"),
        "{error}"
    );
    let error = call_error(&client, SYNC, "{}");
    assert!(
        error.contains("Docling Serve instance, which has models of its own"),
        "{error}"
    );
    assert!(inbox_is_empty(&home));
}

#[test]
fn the_real_docling_mcp_converts_with_a_docling_serve_instance() {
    let home = home_with_real_package();
    let mut command = home.command(paths::python_env_program("docling", "python"));
    command.arg(paths::repository_root().join("tests/upstreams/docling/serve.py"));
    let mut serve = Process::start(&home, "docling-serve", &mut command);
    let url = serve.read_line();
    let hub = serve_with_docling(&home);
    let client = connect(&hub);
    change_spec(&hub, |spec| {
        spec["env"]["DOCLING_MCP_CONVERSION_MODE"] = json!("remote");
        spec["env"]["DOCLING_MCP_SERVICE_URL"] = json!(url);
    });
    // The instance has models of its own, so a PDF needs none here.
    let answer = client.call(CONVERT, &document_arguments("Cake", "a.pdf"));
    assert!(!answer.is_error(), "{}", answer.raw);
    assert_eq!(answer.text(), "# document.pdf\n\nCake");
    assert!(inbox_is_empty(&home));

    hub.set_policy("docling", "allow");
    let cached = client.call("docling__list_cached_documents", "{}");
    assert_eq!(
        cached.result()["structuredContent"]["document_keys"],
        json!([]),
        "the server keeps no document that another client could find"
    );
}
