//! The built-in server that shares folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_tests::{
    Home, Hub, McpClient, StatelessClient, canary::from_base64, paths, wait::some_if, wait_until,
};
use serde_json::{Value, json};

/// Makes a folder with a text, a binary, a hidden file and a subfolder.
fn make_folder(home: &Home, name: &str) -> PathBuf {
    let folder = home.file(name);
    fs::create_dir_all(folder.join("deep")).expect("create the folder");
    let folder = folder.canonicalize().expect("a path without links");
    fs::write(folder.join("notes.md"), "# Notes").expect("write a text");
    fs::write(folder.join("deep/image.png"), b"\x89PNG\r\n\x1a\n").expect("write a binary");
    fs::write(folder.join(".env"), "KEY=hunter2").expect("write a hidden file");
    folder
}

fn share_folder(home: &Home, folder: &Path) {
    home.cli(&["folders", "add", &paths::path_text(folder)])
        .expect_success();
}

fn file_uri(folder: &Path, file: &str) -> String {
    format!("file://{}/{file}", paths::path_text(folder))
}

/// Returns the names of the resources, in the order of the list.
fn list_names(client: &McpClient) -> Vec<String> {
    let listed = client.request("resources/list", "{}").result();
    let resources = listed["resources"].as_array().expect("a list").clone();
    let names = resources
        .iter()
        .map(|resource| resource["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[track_caller]
fn wait_until_listed(client: &McpClient, expected: &[&str]) {
    wait_until(format!("the list is {expected:?}"), || {
        some_if(list_names(client) == expected)
    });
}

fn read_resource(client: &McpClient, uri: &str) -> drawbridge_tests::mcp::Answer {
    client.request("resources/read", &json!({"uri": uri}).to_string())
}

#[test]
fn a_client_reads_the_files_of_a_shared_folder_and_each_read_is_recorded() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk");
    assert!(list_names(&client).is_empty(), "nothing is shared at first");
    let folder = make_folder(&home, "shared");
    share_folder(&home, &folder);
    wait_until_listed(&client, &["deep/image.png", "notes.md"]);

    let text = read_resource(&client, &file_uri(&folder, "notes.md")).result();
    assert_eq!(
        text["contents"][0],
        json!({"uri": file_uri(&folder, "notes.md"), "mimeType": "text/markdown", "text": "# Notes"})
    );
    let binary = read_resource(&client, &file_uri(&folder, "deep/image.png")).result();
    assert_eq!(binary["contents"][0]["mimeType"], "image/png");
    let blob = binary["contents"][0]["blob"].as_str().expect("a blob");
    assert_eq!(from_base64(blob), b"\x89PNG\r\n\x1a\n");
    let names = read_resource(&client, &file_uri(&folder, "deep")).result();
    assert_eq!(names["contents"][0]["text"], "image.png");
    let templates = client.request("resources/templates/list", "{}").result();
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        file_uri(&folder, "{+path}")
    );

    let refused = |file: &str| {
        let answer = read_resource(&client, &file_uri(&folder, file));
        answer
            .error()
            .unwrap_or_else(|| panic!("{file} was read: {}", answer.raw))["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    };
    assert!(
        refused(".env").contains("hold secrets"),
        "{}",
        refused(".env")
    );
    fs::write(home.file("outside"), "secret").expect("write a file outside");
    std::os::unix::fs::symlink(home.file("outside"), folder.join("link")).expect("a link");
    for path in ["link", "..%2foutside", "deep/..%2f..%2foutside", "missing"] {
        refused(path);
    }
    wait_until("the reads are recorded", || {
        let calls = home.cli(&["calls", "list", "--json"]).expect_json();
        let is_read = |call: &&Value| call["server"] == "folders" && call["outcome"] == "ok";
        some_if(calls.as_array()?.iter().filter(is_read).count() >= 3)
    });
    hub.set_policy("folders", "deny");
    refused("notes.md");
}

#[test]
fn subscribers_are_notified_of_changed_files_and_all_clients_of_new_files() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let folder = make_folder(&home, "shared");
    share_folder(&home, &folder);
    let client = hub.connect_client("desk");
    wait_until_listed(&client, &["deep/image.png", "notes.md"]);
    let events = client.listen(None);
    let notes = file_uri(&folder, "notes.md");
    let subscribed = client.request("resources/subscribe", &json!({"uri": notes}).to_string());
    assert!(subscribed.error().is_none(), "{}", subscribed.raw);
    let mut messages = events.map(|event| event.message());
    let mut wait_for = |method: &str| {
        messages
            .by_ref()
            .find(|message| message["method"] == method)
            .unwrap_or_else(|| panic!("no {method}"))
    };
    fs::write(folder.join("notes.md"), "# Changed").expect("change a file");
    let updated = wait_for("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], notes);
    fs::write(folder.join("new.txt"), "new").expect("add a file");
    wait_for("notifications/resources/list_changed");
    wait_until_listed(&client, &["deep/image.png", "new.txt", "notes.md"]);
    home.cli(&["folders", "remove", &paths::path_text(&folder)])
        .expect_success();
    wait_until_listed(&client, &[]);
    assert!(read_resource(&client, &notes).error().is_some());
}

#[test]
fn clients_of_both_eras_get_a_list_of_1200_files() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let folder = home.file("many");
    fs::create_dir(&folder).expect("create the folder");
    for number in 0..1_200 {
        fs::write(folder.join(format!("{number:04}.txt")), "x").expect("write a file");
    }
    share_folder(&home, &folder);
    let client = hub.connect_client("desk");
    wait_until("all files are listed", || {
        some_if(list_names(&client).len() == 1_200)
    });
    let modern = StatelessClient::new(&hub.url, &hub.add_client("modern"), json!({}));
    let listed = modern.request("resources/list", &json!({})).result();
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(1_200));
    let first = listed["resources"][0]["uri"].clone();
    let read = modern.request("resources/read", &json!({"uri": first}));
    assert_eq!(read.result()["contents"][0]["text"], "x");
}

#[test]
fn a_profile_limits_access_to_the_folders_and_the_switch_disables_them() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let folder = make_folder(&home, "shared");
    home.cli(&["folders", "add", "--all-files", &paths::path_text(&folder)])
        .expect_success();
    let client = hub.connect_client("desk");
    wait_until_listed(&client, &[".env", "deep/image.png", "notes.md"]);
    hub.add_probe(&[]);
    home.cli(&["profiles", "set", "work", "probe"])
        .expect_success();
    home.cli(&["clients", "profile", "desk", "work"])
        .expect_success();
    assert!(list_names(&client).is_empty());
    assert!(
        read_resource(&client, &file_uri(&folder, "notes.md"))
            .error()
            .is_some()
    );
    home.cli(&["profiles", "set", "work", "probe", "folders"])
        .expect_success();
    wait_until_listed(&client, &[".env", "deep/image.png", "notes.md"]);
    home.cli(&["servers", "disable", "folders"])
        .expect_success();
    wait_until_listed(&client, &[]);

    for (path, reason) in [("/", "whole disk"), ("/nowhere/at/all", "cannot be opened")] {
        let refused = home.cli(&["folders", "add", path]);
        assert_eq!(refused.exit_code(), 1, "{path}");
        assert!(refused.stderr().contains(reason), "{}", refused.stderr());
    }
    let data_dir = paths::path_text(home.data_dir());
    let refused = home.cli(&["folders", "add", &data_dir]).stderr();
    assert!(refused.contains("Drawbridge's data folder"), "{refused}");
}
