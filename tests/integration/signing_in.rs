//! Signing in: the links and tokens of browsers, the tokens and profiles of clients, the admin
//! token, and other users of the computer.

use std::{
    fs,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    process::Command,
};

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Response, Url},
    wait::some_if,
    wait_until,
};
use nix::{fcntl::OFlag, unistd::Uid};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

fn send(url: &Url, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let body = body.to_string();
    let request = Request {
        method: "POST",
        url: &url.with_path(path),
        headers,
        body: body.as_bytes(),
    };
    request.send().expect("an answer")
}

/// Signs a browser in, and returns its id and its token.
fn sign_in(home: &Home, url: &Url, headers: &[(&str, &str)]) -> (String, String) {
    let link = home.cli(&["open", "--print", "--json"]).expect_json();
    let mut all_headers = vec![JSON, ("User-Agent", "Test Browser/1")];
    all_headers.extend(headers);
    let response = send(
        url,
        "/api/login",
        &all_headers,
        &json!({"code": link["code"]}),
    );
    assert_eq!(response.status, 200);
    assert_eq!(response.header("set-cookie"), None);
    let body: Value =
        serde_json::from_str(&response.text().expect("text")).expect("an id and a token");
    let text = |name: &str| body[name].as_str().expect("a text").to_owned();
    (text("id"), text("token"))
}

#[test]
fn the_launcher_gets_a_private_page_without_the_code_in_its_path_and_the_page_is_removed() {
    let mut home = Home::new();
    let bin = home.file("home/.local/bin");
    fs::create_dir_all(&bin).expect("a folder");
    let launcher = bin.join("xdg-open");
    let (arguments, page) = (home.file("arguments"), home.file("page"));
    let script = format!(
        "#!/bin/sh\nstat -c '%a' \"$1\" \"$(dirname \"$1\")\" > {page}\ncat \"$1\" >> {page}\n\
         printf '%s\\n' \"$@\" > {arguments}.new\nmv {arguments}.new {arguments}\n",
        page = page.display(),
        arguments = arguments.display(),
    );
    fs::write(&launcher, script).expect("a launcher");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("executable");
    home.set_variable("DISPLAY", ":77");
    let hub = Hub::serve(&home);
    assert!(
        !hub.stderr().contains("login="),
        "a stderr that is no terminal may be a log, so the link is not written there"
    );
    let opened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| home.cli(&["open"]));
        wait_until("the launcher has run", || some_if(arguments.exists()));
        let read = |file| fs::read_to_string(file).expect("a file");
        let (arguments, page) = (read(&arguments), read(&page));
        let code: String = page
            .split_once("#login=")
            .expect("a link")
            .1
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        assert!(page.starts_with("600\n700\n"), "{page}");
        assert!(!arguments.contains(&code), "{arguments}");
        let file = arguments.trim();
        assert!(fs::exists(file).expect("known"), "{file}");
        let url = Url::parse(&hub.url);
        let headers = [JSON, ("User-Agent", "Test Browser")];
        let response = send(&url, "/api/login", &headers, &json!({"code": code}));
        assert_eq!(response.status, 200);
        let opened = opening.join().expect("it ends");
        assert!(!fs::exists(file).expect("known"), "the page is removed");
        opened
    });
    let stderr = opened.expect_success().stderr();
    assert!(stderr.contains("signed in: Test Browser"), "{stderr}");
}

#[test]
fn a_browser_s_token_is_no_cookie_and_counts_only_at_its_address_until_signed_out() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let origin = format!("http://127.0.0.1:{}", hub.port());
    let (id, token) = sign_in(&home, &url, &[("Origin", &origin)]);
    let (other_id, other_token) = sign_in(&home, &url, &[("Origin", &origin)]);
    let bearer = format!("Bearer {token}");
    let status = |headers: &[(&str, &str)]| {
        let mut all_headers = vec![JSON];
        all_headers.extend(headers);
        send(&url, "/api/verbs/clients.list", &all_headers, &json!({})).status
    };
    assert_eq!(status(&[("Authorization", &bearer)]), 200);
    assert_eq!(
        status(&[("Authorization", &bearer), ("Origin", &origin)]),
        200
    );
    assert_eq!(
        status(&[("Cookie", &format!("drawbridge={token}"))]),
        401,
        "a cookie counts for nothing"
    );
    let same_computer = format!("http://localhost:{}", hub.port());
    assert_eq!(
        status(&[("Authorization", &bearer), ("Origin", &same_computer)]),
        401,
        "another name of this computer is another origin"
    );
    assert_eq!(
        status(&[("Authorization", &bearer), ("Origin", "http://127.0.0.1:1")]),
        403
    );

    let list = || home.cli(&["browsers", "list", "--json"]).expect_json();
    let listed = list();
    let browsers: Vec<_> = listed.as_array().expect("a list").iter().collect();
    assert_eq!(browsers.len(), 2);
    assert!(
        browsers
            .iter()
            .all(|browser| browser["user_agent"] == "Test Browser/1")
    );
    assert_eq!(listed[0]["address"], json!(origin));
    home.cli(&["browsers", "sign-out", &id]).expect_success();
    assert_eq!(status(&[("Authorization", &bearer)]), 401);
    assert_eq!(list()[0]["id"], json!(other_id));
    let bearer = format!("Bearer {other_token}");
    assert_eq!(status(&[("Authorization", &bearer)]), 200);
    home.cli(&["browsers", "sign-out", "--all"])
        .expect_success();
    assert_eq!(status(&[("Authorization", &bearer)]), 401);
    let unknown = home.cli(&["browsers", "sign-out", &id]);
    assert!(unknown.stderr().contains("browsers list"));
    let audit = home
        .cli(&["audit", "list", "--kind", "browser_signed_out", "--json"])
        .expect_json();
    assert_eq!(audit["entries"].as_array().map(Vec::len), Some(2));
}

/// Sends `initialize` with a token. Returns the status and the body of the response.
fn initialize(url: &Url, token: &str) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    let headers = [JSON, ACCEPT, ("Authorization", bearer.as_str())];
    let response = send(url, "/mcp", &headers, &body);
    let status = response.status;
    (status, response.text().unwrap_or_default())
}

#[test]
fn a_rotated_token_is_in_the_client_s_file_and_its_first_use_ends_the_old_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let file = home.file("home/.cursor/mcp.json");
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&file, "{}").expect("the client's file");
    home.cli(&["config", "connect", "cursor", "--http", "--yes"])
        .expect_success();
    let token = || {
        let text = fs::read_to_string(&file).expect("the client's file");
        let begin = text.find("Bearer ").expect("a token") + "Bearer ".len();
        text[begin..]
            .chars()
            .take_while(|c| *c != '"')
            .collect::<String>()
    };
    let old_token = token();
    assert_eq!(initialize(&url, &old_token).0, 200);
    let rotated = home
        .cli(&["clients", "rotate", "cursor", "--expires", "90d", "--json"])
        .expect_json();
    assert_eq!(rotated["updated_files"], json!([file]));
    let new_token = token();
    assert_eq!(rotated["token"], json!(new_token));
    assert_ne!(old_token, new_token);
    assert_eq!(
        initialize(&url, &old_token).0,
        200,
        "the old token is valid until the new token is used"
    );
    assert_eq!(initialize(&url, &new_token).0, 200);
    assert_eq!(initialize(&url, &old_token).0, 401);
    let clients = home.cli(&["clients", "list", "--json"]).expect_json();
    assert!(clients[0]["token_expires_at"].is_i64());
}

#[test]
fn an_expired_token_is_refused_with_its_remedy() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let added = home
        .cli(&["clients", "add", "desk", "--expires", "1s", "--json"])
        .expect_json();
    let token = added["token"].as_str().expect("a token");
    let message = wait_until("the token has expired", || {
        let (status, text) = initialize(&url, token);
        (status == 401).then_some(text)
    });
    assert!(message.contains("clients rotate"), "{message}");
}

#[test]
fn a_client_whose_profile_was_removed_sees_nothing_until_a_person_chooses() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.wait_until_synced("probe");
    let count = || {
        let tools = home
            .cli(&[
                "tools", "list", "--format", "openai", "--client", "desk", "--json",
            ])
            .expect_json();
        tools.as_array().expect("a list").len()
    };
    home.cli(&["profiles", "set", "some", "probe/echo"])
        .expect_success();
    home.cli(&["clients", "add", "desk", "--profile", "some"])
        .expect_success();
    assert_eq!(count(), 1);
    let refused = home.cli(&["profiles", "remove", "some"]);
    assert_eq!(refused.exit_code(), 1, "there is no terminal");
    let warning = refused.stderr();
    assert!(
        warning.contains("desk") && warning.contains("--yes"),
        "the warning names the affected client: {warning}"
    );
    assert_eq!(count(), 1);
    home.cli(&["profiles", "remove", "some", "--yes"])
        .expect_success();
    assert_eq!(count(), 0);
    home.cli(&["profiles", "set", "some", "probe"])
        .expect_success();
    assert_eq!(
        count(),
        0,
        "a new profile of the same name is another profile"
    );
    home.cli(&["clients", "profile", "desk"]).expect_success();
    assert!(count() > 1);
}

/// A Perl program that connects to the socket that is its stdin, asks for the health of the hub and
/// prints the answer. curl does not help: it reports a connection that is reset at once as never
/// opened.
const ASK_AT_STDIN: &str = r#"
    $| = 1;
    $SIG{PIPE} = "IGNORE";
    socket(my $hub, AF_UNIX, SOCK_STREAM, 0) or die $!;
    connect($hub, sockaddr_un("/proc/self/fd/0")) or die $!;
    print "connected\n";
    syswrite($hub, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    while (sysread($hub, my $part, 4096)) { print $part }
"#;

#[test]
fn another_user_gets_no_answer_at_the_local_socket() {
    let home = Home::new();
    let _hub = Hub::serve(&home);
    let socket = home.data_dir().join("drawbridge.sock");
    // The socket is opened to everyone, so that only the hub can refuse.
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).expect("open the socket");
    let ask = |starter: &[&str]| {
        let mut command = starter.to_vec();
        command.extend(["perl", "-MSocket", "-e", ASK_AT_STDIN]);
        let output = Command::new(command[0])
            .args(&command[1..])
            // The other user may be unable to reach the temporary folder, but can use the inherited
            // socket.
            .stdin(
                fs::File::options()
                    .read(true)
                    .custom_flags(OFlag::O_PATH.bits())
                    .open(&socket)
                    .expect("open the path of the socket"),
            )
            .output()
            .expect("the program runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let answer = ask(&[]);
    assert!(answer.contains("status"), "this user: {answer}");
    let as_other_user = [
        "sudo",
        "--non-interactive",
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    // Only root may start a program as another user, so other users need sudo.
    let as_other_user = &as_other_user[if Uid::effective().is_root() { 2 } else { 0 }..];
    assert_eq!(
        ask(as_other_user),
        "connected\n",
        "another user gets no answer"
    );
}

#[test]
fn a_hub_does_not_start_with_a_short_admin_token() {
    let mut home = Home::new();
    home.set_variable("DRAWBRIDGE_ADMIN_TOKEN", "short");
    let output = home.cli(&["serve", "--port", "0"]);
    assert_eq!(output.exit_code(), 1);
    assert!(
        output
            .stderr()
            .contains("has 5 characters, and needs at least 32"),
        "{}",
        output.stderr()
    );
}
