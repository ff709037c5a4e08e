//! Tests of the test rig itself. A failure here is not a failure of Drawbridge.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::Stdio,
    thread,
    time::Duration,
};

use drawbridge_tests::{
    DesktopSession, Home, WebDriver, browser, canary,
    canary::Canary,
    clients::{Client, Endpoint, Sdk},
    http::{Request, Url},
    paths,
    ports::find_free_port,
    process::Process,
    wait::some_if,
    wait_until, wait_until_within,
};
use serde_json::json;

const PAGE: &str = "<!doctype html><html lang=en><title>Page</title>\
    <style>button { min-width: 24px; min-height: 24px }</style><main><h1>Page</h1>\
    <label>Name <input data-testid=name></label>\
    <select aria-label=Choice data-testid=choice><option>a<option>b</select>\
    <ul><li data-testid=row data-id=1><button data-testid=go disabled>one</button>\
    <li data-testid=row data-id=2><button data-testid=go disabled>two</button></ul>\
    <p data-testid=clicked></p></main><script>\
    setTimeout(() => document.querySelectorAll('button').forEach(b => b.disabled = false), 300);\
    document.addEventListener('click', e => { if (e.target.dataset.testid === 'go') \
    document.querySelector('[data-testid=clicked]').textContent = e.target.textContent });</script>";

#[test]
fn the_keyring_of_the_session_contains_a_secret_of_another_program() {
    let desktop = DesktopSession::without_screen();
    let mut command = desktop.command(paths::find_program("secret-tool"));
    command
        .args(["store", "--label=a label", "kind", "test"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().expect("start secret-tool");
    child
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(b"a value")
        .expect("write the value");
    assert!(
        child.wait().expect("wait for secret-tool").success(),
        "secret-tool stores the value"
    );
    let items = desktop.keyring().items();
    let item = items
        .iter()
        .find(|item| item.label == "a label")
        .expect("the item is in the keyring");
    assert_eq!(item.value, "a value");
    assert_eq!(item.attributes["kind"], "test");
}

#[test]
fn processes_started_in_a_home_end_with_it() {
    let desktop = DesktopSession::new();
    let folder = desktop.path().to_owned();
    let mut command = desktop.command(paths::find_program("sh"));
    let mut process = Process::start(
        &desktop,
        "sh",
        command.args(["-c", "echo up; setsid sleep 600 & sleep 600"]),
    );
    assert_eq!(process.read_line(), "up");
    wait_until("both processes run", || {
        some_if(
            desktop
                .processes()
                .iter()
                .filter(|process| process.command == "sleep 600")
                .count()
                == 2,
        )
    });
    drop(process);
    drop(desktop);
    assert!(
        drawbridge_tests::process::find_processes(&folder).is_empty(),
        "no process is left"
    );
    assert!(!folder.exists(), "the folder is gone");
}

#[test]
fn web_driver_reads_and_controls_a_web_view() {
    let desktop = DesktopSession::new();
    let url = serve(PAGE);
    let program = paths::find_mini_browser();
    let driver = WebDriver::open(&desktop, &program, &["--automation".to_owned()]);
    driver.run_script(&format!("location.href = '{url}'"));
    driver.switch_to_window("the page", |address| address.starts_with(&url));
    driver.fill("name", "a \"name\" with ünïcode");
    driver.select_option("choice", "b");
    driver.click("row[data-id=2] go");
    driver.wait_for_text("clicked", "two");
    assert_eq!(driver.count_parts("row"), 2);
    assert!(driver.is_visible());
    driver.save_screenshot("rig");
    assert!(
        paths::output_file("window/rig.png")
            .metadata()
            .expect("a picture")
            .len()
            > 1_000
    );
}

#[test]
fn the_browser_reports_errors_and_accessibility_problems_of_a_page() {
    let home = Home::new();
    let url = serve(PAGE);
    let steps = json!([
        {"do": "log_in"}, {"do": "set_theme", "theme": "dark"}, {"do": "fill", "part": "name", "text": "x"},
        {"do": "select", "part": "choice", "value": "b"}, {"do": "click", "part": "row[data-id=1] go"},
        {"do": "wait_for_text", "part": "clicked", "text": "one"}, {"do": "check_accessibility", "where": "page"},
    ]);
    browser::take_steps(&home, &url, &steps).assert_no_problems();
    let bad_url =
        serve("<!doctype html><title>t</title><img src=x><script>console.error('ouch')</script>");
    let report = browser::take_steps(
        &home,
        &bad_url,
        &json!([{"do": "log_in"}, {"do": "check_accessibility", "where": "bad"}]),
    );
    assert!(
        report.0["errors"].to_string().contains("ouch"),
        "{}",
        report.0
    );
    assert!(
        report.0["accessibility_problems"]
            .to_string()
            .contains("image-alt"),
        "{}",
        report.0
    );
}

#[test]
fn the_browser_reports_bad_layout_foreign_content_and_a_missing_focus_ring() {
    const BAD: &str = "<!doctype html><html lang=en><title>t</title><style>body { margin: 0 } :focus { outline: none }\
        .wide { width: 90px; overflow: hidden; white-space: nowrap } .low { height: 9px; overflow: hidden }\
        .off { position: absolute; left: 1250px; white-space: nowrap } .on { position: absolute; left: 4px; top: 300px }\
        </style><p class=wide>a long sentence that has no room</p><p class=low>one<br>two</p><p class=off>far out to the right</p>\
        <button class=on>below</button><button class=on data-testid=above>above</button>\
        <bdi>a \u{202e}b <i class=intruder onclick=1>c</i></bdi><a href='javascript:1'>d</a></html>";
    const BAR: &str = "<!doctype html><html lang=en><title>t</title><style>main { height: 90px; overflow: auto }\
        button { display: block; height: 40px } .bar { position: sticky; bottom: 0; margin-top: 0 }\
        </style><main><button>one</button><button>two</button><button>three</button>\
        <div class=bar><button>go</button></div></main></html>";
    let home = Home::new();
    let steps = json!([
        {"do": "log_in"}, {"do": "check_layout", "where": "bad"}, {"do": "check_foreign_content", "where": "bad"},
        {"do": "tab_to", "part": "above"},
    ]);
    let report = browser::take_steps(&home, &serve(BAD), &steps).0;
    for (kind, expected_text) in [
        (
            "layout_problems",
            "clips the width of its content: <p wide>",
        ),
        (
            "layout_problems",
            "clips the height of its content: <p low>",
        ),
        (
            "layout_problems",
            "text is cut off on the left or right: <p off>",
        ),
        ("layout_problems", "controls overlap"),
        ("foreign_content", "an element of a payload"),
        ("foreign_content", "markup within a text"),
        ("foreign_content", "an event handler"),
        ("foreign_content", "a foreign URL"),
        ("foreign_content", "unescaped U+202e"),
        ("accessibility_problems", "shows no focus ring"),
    ] {
        assert!(
            report[kind].to_string().contains(expected_text),
            "{expected_text}: {report}"
        );
    }
    let check = json!([{"do": "log_in"}, {"do": "check_layout", "where": "page"}]);
    browser::take_steps(&home, &serve(PAGE), &check).assert_no_problems();
    // A bar covers a control only until the page is scrolled on.
    browser::take_steps(&home, &serve(BAR), &check).assert_no_problems();
    let to_the_end = "document.querySelector('main').scrollTop = 1000";
    let report = browser::take_steps(
        &home,
        &serve(&BAR.replace("margin-top: 0", "margin-top: -20px")),
        &json!([
            {"do": "log_in"}, {"do": "evaluate", "script": to_the_end}, {"do": "check_layout", "where": "page"},
        ]),
    );
    assert!(
        report.0["layout_problems"]
            .to_string()
            .contains("controls overlap"),
        "{}",
        report.0
    );
}

#[test]
fn both_sdks_call_a_public_server() {
    let home = Home::new();
    let port = find_free_port();
    let mut command = home.command(paths::find_program("node"));
    command
        .arg(paths::npm_file(
            "@modelcontextprotocol/server-everything/dist/index.js",
        ))
        .arg("streamableHttp");
    let _server = Process::start(&home, "everything", command.env("PORT", port.to_string()));
    let url = format!("http://127.0.0.1:{port}/mcp");
    wait_until("the server listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let endpoint = Endpoint {
        url,
        token: "none".to_owned(),
    };
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        assert!(
            Client::list_tools(&home, sdk, &endpoint).contains(&"echo".to_owned()),
            "{sdk:?} lists"
        );
        let result = Client::begin_call(&home, sdk, &endpoint, "echo", &json!({"message": "hi"}))
            .wait_for_result();
        assert_eq!(
            (result.is_error, result.text.as_str()),
            (false, "Echo: hi"),
            "{sdk:?} calls"
        );
    }
}

#[test]
fn a_canary_is_found_in_every_encoding() {
    let canary = Canary::new("rig");
    for (name, encoded) in canary.encodings() {
        let text = [b"before ".as_slice(), &encoded, b" after"].concat();
        assert!(canary.find_in(&text).is_some(), "found as {name}");
    }
    for prefix in ["", "a", "ab"] {
        let encoded = canary::base64(format!("{prefix}{} and more", canary.value()).as_bytes());
        assert_eq!(
            canary.find_in(encoded.as_bytes()),
            Some("base64"),
            "found within base64"
        );
        assert_eq!(
            canary::from_base64(&encoded),
            format!("{prefix}{} and more", canary.value()).as_bytes()
        );
    }
    assert_eq!(canary.find_in(b"a song of something else"), None);
}

#[test]
fn a_timed_out_wait_names_its_condition() {
    let outcome = std::panic::catch_unwind(|| {
        wait_until_within(Duration::from_millis(50), "pigs fly", || None::<()>)
    });
    let message = outcome.expect_err("the wait fails");
    let message = message
        .downcast_ref::<String>()
        .expect("a panic with a text");
    assert!(message.contains("until pigs fly"), "{message}");
}

#[test]
fn the_http_client_reads_chunks() {
    let url = Url::parse(&serve("chunks"));
    let response = Request {
        method: "GET",
        url: &url,
        headers: &[],
        body: &[],
    }
    .send()
    .expect("an answer");
    assert_eq!(response.status, 200);
    assert_eq!(response.text().expect("a body"), "chunks");
}

/// Serves a page with a chunked body for as long as the test runs. Returns its address.
fn serve(page: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    let (first, second) = page.split_at(page.len() / 2);
    let body = format!(
        "{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let answer = format!("{head}{body}");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let answer = if request.starts_with(b"GET / ") {
                answer.as_str()
            } else {
                "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn screenshots_are_not_committed() {
    let ignored =
        fs::read_to_string(paths::repository_root().join(".gitignore")).expect("a .gitignore");
    assert!(
        ignored.lines().any(|line| line == "/test-output"),
        "test-output is ignored"
    );
}

#[test]
fn the_fixture_records_a_call_without_a_decision() {
    let home = Home::new();
    let (record_file, missing_store) = (home.file("record"), home.file("no-store"));
    let mut command = home.command(paths::built_binary("upstream-faulty"));
    command
        .arg("--record")
        .arg(&record_file)
        .arg("--check-decisions-in")
        .arg(&missing_store)
        .stdin(Stdio::piped());
    let mut fixture = Process::start(&home, "fixture", &mut command);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {}}});
    writeln!(fixture.take_stdin(), "{call}").expect("write to the server");
    wait_until("the server records the violation", || {
        some_if(
            fs::read_to_string(&record_file)
                .unwrap_or_default()
                .contains("\"undecided\""),
        )
    });
}
