//! Many servers: none runs unless it is needed, and none is left afterwards.

use std::{collections::BTreeSet, fs, net::TcpStream};

use drawbridge_tests::{
    Home, Hub, McpClient, MemoryGrowth, paths, ports::find_free_port, process::Process,
    wait::some_if, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// The idle time after which a server ends: long enough to observe the running server.
const IDLE_MS: u32 = 700;
const CYCLES: usize = 500;

/// Starts the server `everything` on a port.
fn start_remote_server(home: &Home, port: u16) -> Process {
    let mut command = home.command("node");
    command
        .arg(paths::npm_file(
            "@modelcontextprotocol/server-everything/dist/index.js",
        ))
        .arg("streamableHttp");
    command.env("PORT", port.to_string());
    let process = Process::start(home, "remote", &mut command);
    wait_until("the remote server listens", || {
        some_if(TcpStream::connect(("127.0.0.1", port)).is_ok())
    });
    process
}

/// Returns fifty specs of real servers with their names: programs of npm and PyPI, and a URL.
fn server_specs(home: &Home, port: u16) -> Vec<(String, Value)> {
    let npm_program = |package: &str| {
        paths::path_text(paths::npm_file(&format!(
            "@modelcontextprotocol/{package}/dist/index.js"
        )))
    };
    let shared = paths::path_text(home.file("shared"));
    fs::create_dir_all(&shared).expect("create the folder");
    let time_program = paths::path_text(paths::python_program().with_file_name("mcp-server-time"));
    let spec_of_kind = |kind: &str| match kind {
        "files" => json!({"command": "node", "args": [npm_program("server-filesystem"), shared]}),
        "memory" => json!({"command": "node", "args": [npm_program("server-memory")]}),
        "thinking" => {
            json!({"command": "node", "args": [npm_program("server-sequential-thinking")]})
        }
        "everything" => json!({"command": "node", "args": [npm_program("server-everything")]}),
        "time" => json!({"command": time_program}),
        _ => json!({"url": format!("http://127.0.0.1:{port}/mcp")}),
    };
    let kinds = [
        ("files", 10),
        ("memory", 10),
        ("thinking", 10),
        ("everything", 8),
        ("time", 6),
        ("remote", 6),
    ];
    let number_names = |(kind, count): (&'static str, usize)| {
        (0..count).map(move |number| (kind, format!("{kind}-{number}")))
    };
    let spec = |(kind, name): (&str, String)| {
        let mut spec = spec_of_kind(kind);
        spec["name"] = json!(name);
        spec["timeouts"] = json!({"idle_ms": IDLE_MS, "initialize_ms": 60_000});
        (name, spec)
    };
    kinds.into_iter().flat_map(number_names).map(spec).collect()
}

fn count_active(hub: &Hub<'_>) -> usize {
    let servers = hub.home.cli(&["servers", "list", "--json"]).expect_json();
    servers["servers"]
        .as_array()
        .expect("servers")
        .iter()
        .filter(|server| server["state"] == "active")
        .count()
}

#[test]
fn of_fifty_real_servers_only_the_called_server_runs() {
    let (home, port) = (Home::new(), find_free_port());
    let _remote = start_remote_server(&home, port);
    let hub = Hub::serve(&home);
    let specs = server_specs(&home, port);
    assert_eq!(specs.len(), 50);
    for (name, spec) in &specs {
        hub.run_verb("servers.add", &json!({"spec": spec}));
        hub.wait_until_synced(name);
    }
    let token = hub.add_client("desk");
    hub.set_policy("files-3", "allow");
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    assert!(
        home.server_processes().is_empty(),
        "the hub listens without starting a server"
    );
    let client = McpClient::connect(&hub.url, &token);
    let tools = client.list_tools();
    let listed_servers: BTreeSet<_> = tools
        .iter()
        .filter_map(|tool| tool.split_once("__"))
        .map(|(server, _)| server)
        .collect();
    assert_eq!(
        listed_servers.len(),
        50,
        "the tools of each server are listed: {listed_servers:?}"
    );
    assert!(
        home.server_processes().is_empty(),
        "listing the tools starts no server: {:?}",
        home.server_processes()
    );
    assert_eq!(count_active(&hub), 0);

    let answer = client.call("files-3__list_allowed_directories", "{}");
    assert!(
        !answer.is_error() && answer.text().contains("shared"),
        "{}",
        answer.raw
    );
    assert_eq!(count_active(&hub), 1, "only the called server runs");
    assert_eq!(
        home.server_processes().len(),
        1,
        "{:?}",
        home.server_processes()
    );
    wait_until("the unused server has stopped", || {
        some_if(home.server_processes().is_empty())
    });
    assert_eq!(hub.show_server("files-3")["state"], "idle");
}

/// Returns the number of open file descriptors of a process.
fn count_descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("read the descriptors")
        .count()
}

/// Returns the number of children of a process, including zombies.
fn count_children(pid: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .expect("read the threads")
        .flatten();
    let read_children = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    threads
        .map(read_children)
        .map(|children| children.split_whitespace().count())
        .sum()
}

#[test]
fn five_hundred_starts_and_stops_leave_nothing_behind() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let run_cycle = || {
        hub.run_verb("servers.restart", &json!({"id": "probe"}));
        assert_eq!(
            client.call("probe__echo", r#"{"a":1}"#).text(),
            r#"{"a":1}"#
        );
    };
    // The first cycles create everything that is created only once, and fill the buffers of log
    // lines.
    (0..CYCLES / 5).for_each(|_| run_cycle());
    let (open_before, children_before, memory) = (
        count_descriptors(hub.pid()),
        count_children(hub.pid()),
        MemoryGrowth::new(hub.pid()),
    );
    (0..CYCLES).for_each(|_| run_cycle());
    wait_until("no additional descriptors are open", || {
        some_if(count_descriptors(hub.pid()) <= open_before + 2)
    });
    assert_eq!(
        count_children(hub.pid()),
        children_before,
        "the hub has no additional children"
    );
    assert_eq!(home.server_processes().len(), 1);
    let growth_mib = memory.peak_growth_mib();
    println!(
        "after {CYCLES} starts and stops the hub is {growth_mib} MiB larger than after {}",
        CYCLES / 5
    );
    assert!(growth_mib <= 12, "the hub grew by {growth_mib} MiB");
    hub.stop(Signal::SIGTERM);
    home.assert_no_survivors();
}
