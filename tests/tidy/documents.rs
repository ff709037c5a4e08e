//! Checks of comments and documents against the code: tables, the section on locks in
//! ARCHITECTURE.md, and the messages on the troubleshooting page.

use std::collections::BTreeSet;

use drawbridge_tests::{
    paths,
    source::{SourceFile, list_sources},
};

use crate::{PRODUCT, assert_none, read_product_code};

const ROUTES: &str = "src-tauri/endpoint/src/routes.rs";

fn read_file(path: &str) -> String {
    std::fs::read_to_string(paths::repository_root().join(path))
        .unwrap_or_else(|error| panic!("read {path}: {error}"))
}

/// Returns the path patterns of the endpoint's router.
fn read_routes() -> BTreeSet<String> {
    let text = read_file(ROUTES);
    let routes: BTreeSet<String> = text
        .split("route(")
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect();
    assert!(routes.len() > 20, "only {} routes were found", routes.len());
    routes
}

/// Removes the differences between a pattern and a document: the `*` in `{*file}`, and a slash at
/// the end.
fn normalize_path(path: &str) -> String {
    let path = path.replace("{*", "{");
    match path.strip_suffix('/') {
        Some("") | None => path,
        Some(rest) => rest.to_owned(),
    }
}

/// Returns the paths in backticks. `…/sync` stands for the preceding path with another last part,
/// and `…/{id}/sync` for the preceding path with another end from its `{id}` on.
fn list_documented_paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for span in text.split('`').skip(1).step_by(2) {
        let word = span.split_whitespace().last().unwrap_or_default();
        let word = word.split('?').next().unwrap_or_default();
        if word.starts_with('/') {
            paths.push(normalize_path(word));
        } else if let (Some(rest), Some(before)) = (word.strip_prefix('…'), paths.last()) {
            let prefix = if rest.starts_with("/{id}") {
                before.split("/{id}").next()
            } else {
                before.rsplit_once('/').map(|(start, _)| start)
            };
            paths.push(format!("{}{rest}", prefix.unwrap_or_default()));
        }
    }
    paths
}

#[test]
fn the_table_of_routes_lists_the_routes_of_the_router() {
    let table: String = read_file(ROUTES)
        .lines()
        .filter(|line| line.starts_with("//! | `"))
        .map(|line| line.trim_start_matches("//! | "))
        .filter_map(|line| line.split(" | ").next())
        .collect::<Vec<_>>()
        .join("\n");
    let documented: BTreeSet<String> = list_documented_paths(&table).into_iter().collect();
    let routes: BTreeSet<String> = read_routes()
        .iter()
        .map(|path| normalize_path(path))
        .collect();
    assert_eq!(documented, routes);
}

#[test]
fn every_route_in_the_documents_exists() {
    let routes: BTreeSet<String> = read_routes()
        .iter()
        .map(|path| normalize_path(path))
        .collect();
    let mut violations = Vec::new();
    for document in [
        "README.md",
        "docs/approvals.md",
        "docs/servers.md",
        "docs/command-line.md",
    ] {
        let rows = read_file(document);
        let rows = rows.lines().filter(|line| line.starts_with("| `"));
        for row in rows {
            let first_cell = row.split(" | ").next().unwrap_or_default();
            if !["GET", "POST", "PUT", "DELETE"]
                .iter()
                .any(|method| first_cell.contains(method))
            {
                continue;
            }
            let missing = list_documented_paths(first_cell)
                .into_iter()
                .filter(|path| !routes.contains(path));
            violations.extend(missing.map(|path| format!("{document} names {path}")));
        }
    }
    assert_none("a route in a document exists", &violations);
}

#[test]
fn a_benchmark_prints_every_row_of_the_performance_page() {
    let sources: String = list_sources("src-tauri/hub/benches", &["rs"])
        .into_iter()
        .chain(list_sources("tests/bench", &["rs"]))
        .map(|source| source.text)
        // The names of the screens.
        .chain([read_file("tests/rig/screen_times.rs")])
        .collect();
    let page = read_file("docs/performance.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|name| !["p50", "p99", "calls", "errors"].contains(name));
    let violations: Vec<String> = rows
        .filter(|name| {
            !sources.contains(&format!("\"{name}\"")) && !sources.contains(&format!("| {name} |"))
        })
        .map(|name| format!("no benchmark prints \"{name}\""))
        .collect();
    assert_none(
        "`cargo xtask bench` prints every row of docs/performance.md",
        &violations,
    );
}

/// Names of types and functions that make or hold a lock, a queue or a task.
const CONCURRENCY: &[&str] = &[
    "Mutex<",
    "RwLock<",
    "OnceLock<",
    "LazyLock<",
    "Semaphore",
    "JoinSet",
    "Notify",
    "DirtySet<",
    "mpsc::",
    "oneshot::channel",
    "broadcast::",
    "watch::Sender",
    "watch::channel",
    "tokio::spawn",
    "runtime.spawn",
    "spawn_blocking",
    "thread::Builder",
    "thread::spawn",
];

/// Returns the path of a source file as ARCHITECTURE.md writes it: `hub/catalog.rs`.
fn documented_path(path: &str) -> String {
    let path = path.trim_start_matches("src-tauri/");
    match path.strip_prefix("src/") {
        Some(rest) => format!("desktop/{rest}"),
        None => path.replacen("/src/", "/", 1),
    }
}

#[test]
fn architecture_lists_each_file_with_a_lock_queue_or_task() {
    let text = read_file("ARCHITECTURE.md");
    let (_, section) = text
        .split_once("## Locks, queues and tasks")
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let code = read_product_code(PRODUCT);
    let undocumented = code
        .iter()
        .filter(|source| CONCURRENCY.iter().any(|text| source.text.contains(text)))
        .map(|source| documented_path(&source.path))
        .filter(|path| !section.contains(&format!("`{path}`")));
    assert_none(
        "the section lists each file with a lock, a queue or a task",
        &undocumented.collect::<Vec<_>>(),
    );
    let files: BTreeSet<String> = code
        .iter()
        .map(|source| documented_path(&source.path))
        .collect();
    let missing = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.ends_with(".rs") && !files.contains(*name));
    assert_none(
        "each file in the section exists",
        &missing.map(str::to_owned).collect::<Vec<_>>(),
    );
    // The first cell of a row names files, and the locks, queues or tasks in them.
    let stale = section.lines().flat_map(|line| {
        let cell = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next());
        let quoted = cell.unwrap_or_default().split('`').skip(1).step_by(2);
        let (files, names): (Vec<&str>, Vec<&str>) = quoted.partition(|name| name.ends_with(".rs"));
        let sources: Vec<&SourceFile> = code
            .iter()
            .filter(|source| files.contains(&documented_path(&source.path).as_str()))
            .collect();
        names
            .into_iter()
            .flat_map(|name| name.split("::"))
            .filter(move |part| !sources.iter().any(|source| source.text.contains(part)))
    });
    assert_none(
        "each lock, queue and task of the section is in the files of its row",
        &stale.map(str::to_owned).collect::<Vec<_>>(),
    );
}

#[test]
fn each_fault_attack_and_promise_names_tests_that_exist() {
    let tests: BTreeSet<String> = ["src-tauri", "tests"]
        .iter()
        .flat_map(|folder| list_sources(folder, &["rs"]))
        .flat_map(|source| test_names(&source.text))
        .collect();
    assert!(tests.len() > 1000, "only {} tests were found", tests.len());
    let text = read_file("tests/README.md");
    let rows: Vec<(&str, Vec<&str>)> = text
        .lines()
        .skip_while(|line| !line.starts_with("## Promises"))
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        .filter(|(_, tests)| *tests != "shown by |")
        .map(|(row, tests)| (row, tests.split('`').skip(1).step_by(2).collect()))
        .collect();
    assert!(rows.len() > 50, "only {} rows were found", rows.len());
    let violations = rows.iter().filter_map(|(row, named)| {
        let unknown: Vec<_> = named
            .iter()
            .filter(|name| !tests.contains(**name))
            .collect();
        let is_wrong = named.is_empty() || !unknown.is_empty();
        is_wrong.then(|| {
            format!(
                "\"{row}\" names {} tests; unknown: {unknown:?}",
                named.len()
            )
        })
    });
    let rule = "each row of tests/README.md names tests that exist";
    assert_none(rule, &violations.collect::<Vec<_>>());
}

/// Returns the names of the functions that follow an attribute for tests, also within `proptest!`.
fn test_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if is_test && let Some((_, rest)) = line.split_once("fn ") {
            names.extend(rest.split(['(', '<']).next().map(str::to_owned));
            is_test = false;
        }
    }
    names
}

/// The headings of the third level in `docs/troubleshooting.md` are messages that people see, with
/// `…` for the parts that differ. The headings in `DESCRIPTIONS` describe problems without a
/// message.
#[test]
fn the_messages_on_the_troubleshooting_page_exist() {
    const DESCRIPTIONS: [&str; 2] = [
        "The window closes, and there is no tray icon",
        "The client shows old tools, or none",
    ];
    let texts = list_sources("src-tauri", &["rs"])
        .into_iter()
        .chain(list_sources("ui/src", &["ts"]))
        .filter(|source| !source.is_test())
        .map(|source| join_string_lines(&source.text))
        .collect::<Vec<_>>()
        .join("\n");
    let page = read_file("docs/troubleshooting.md");
    let messages: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .filter(|message| !DESCRIPTIONS.contains(message))
        .collect();
    assert!(messages.len() > 30, "only {} messages", messages.len());
    let missing: Vec<String> = messages
        .iter()
        .flat_map(|message| message.split('…'))
        .map(|part| part.trim_matches([' ', '\'', ',']))
        .filter(|part| part.len() > 3 && !texts.contains(part))
        .map(str::to_owned)
        .collect();
    assert_none("a message on the troubleshooting page exists", &missing);
}

/// Joins the lines of string literals that are broken with a backslash.
fn join_string_lines(code: &str) -> String {
    let mut parts = code.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| joined + part.trim_start())
}
