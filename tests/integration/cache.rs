//! The stored copy of the catalog: a server's definitions are known while the server does not run,
//! and are refreshed in the background if they are stale.

use drawbridge_tests::{Home, Hub, McpClient, hub::received_lines, wait::some_if, wait_until};
use nix::sys::signal::Signal;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

#[test]
fn after_a_restart_the_tools_are_listed_without_starting_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let token = hub.add_client("desk");
    let list_before = McpClient::connect(&hub.url, &token).request("tools/list", "{}");
    assert!(
        list_before.tool_names().contains(&"probe__echo".to_owned()),
        "{}",
        list_before.raw
    );
    hub.stop(Signal::SIGTERM);
    let lines = received_lines(&home).len();

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    let list_after = client.request("tools/list", "{}");
    assert_eq!(
        list_after.result_text(),
        list_before.result_text(),
        "the list of tools is the same, byte for byte"
    );
    assert_eq!(
        hub.show_server("probe")["starts"],
        0,
        "the server was not started"
    );
    assert!(
        home.server_processes()
            .iter()
            .all(|process| !process.command.contains("upstream-probe")),
        "no server process runs"
    );
    assert_eq!(
        received_lines(&home).len(),
        lines,
        "nothing reached the server"
    );

    hub.set_policy("probe", "allow");
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#,
        "a call starts the server"
    );
    assert_eq!(hub.show_server("probe")["starts"], 1);
}

/// Makes the stored lists of all servers older, while no hub runs.
fn age_copies(home: &Home, minutes: i64) {
    let file = SqliteConnectOptions::new().filename(home.data_dir().join("drawbridge.db"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("make a runtime");
    runtime.block_on(async {
        let mut connection = SqliteConnection::connect_with(&file)
            .await
            .expect("open the database");
        sqlx::query("UPDATE server SET last_synced_at = last_synced_at - ?")
            .bind(minutes * 60_000)
            .execute(&mut connection)
            .await
            .expect("write the database");
        connection.close().await.expect("close the database");
    });
}

#[test]
fn an_idle_server_is_started_for_a_refresh_at_most_once_an_hour() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let token = hub.add_client("desk");
    hub.stop(Signal::SIGTERM);

    age_copies(&home, 40);
    let hub = Hub::serve(&home);
    let listed = McpClient::connect(&hub.url, &token).list_tools();
    let probe = hub.show_server("probe");
    assert_eq!(
        (&probe["stale"], &probe["starts"], &probe["state"]),
        (&false.into(), &0.into(), &"idle".into()),
        "after 40 minutes, the lists of an idle server count as fresh"
    );
    hub.stop(Signal::SIGTERM);

    age_copies(&home, 30);
    let hub = Hub::serve(&home);
    assert_eq!(hub.show_server("probe")["stale"], true);
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.list_tools(), listed, "the cached list is the answer");
    wait_until("the lists are read in the background", || {
        let probe = hub.show_server("probe");
        some_if(probe["starts"] == 1 && probe["stale"] == false)
    });
}

#[test]
fn the_stale_lists_of_a_running_server_are_refreshed_in_the_background() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let token = hub.add_client("desk");
    hub.set_policy("probe", "allow");
    hub.stop(Signal::SIGTERM);

    age_copies(&home, 10);
    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.call("probe__echo", "{}").text(), "{}");
    assert_eq!(
        hub.show_server("probe")["stale"],
        true,
        "after ten minutes, the lists of a running server are stale"
    );
    client.list_tools();
    wait_until("the lists are read in the background", || {
        some_if(hub.show_server("probe")["stale"] == false)
    });
}

#[test]
fn an_unreachable_server_keeps_its_last_known_tools() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = home.file("probe");
    std::fs::copy(
        drawbridge_tests::paths::built_binary("upstream-probe"),
        &program,
    )
    .expect("copy the fixture");
    hub.add_server(
        "probe",
        &[],
        &[&drawbridge_tests::paths::path_text(&program)],
    );
    hub.wait_until_synced("probe");
    let client = hub.connect_client("desk");
    let names = client.list_tools();
    std::fs::remove_file(&program).expect("remove the program");
    home.cli(&["servers", "restart", "probe"]);
    assert_eq!(
        home.cli(&["servers", "sync", "probe"]).exit_code(),
        1,
        "the refresh fails"
    );
    assert_eq!(client.list_tools(), names, "its tools are still listed");
    hub.set_policy("probe", "allow");
    let answer = client.call("probe__echo", "{}");
    assert!(answer.is_error(), "a call fails: {}", answer.raw);
    assert!(
        answer.text().contains("probe"),
        "the error names the server: {}",
        answer.text()
    );
}
