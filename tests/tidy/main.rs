//! Rules for the code and the documents. The rules in this file are about the crates on which each
//! crate may depend, the modules that each module may import, the words that only some modules may
//! name, the form of comments, the names and the length of files, and the hosts of registries.
//! ARCHITECTURE.md gives the reasons for the structure.

mod clock;
mod cycles;
mod documents;
mod names;
mod urls;

use std::{collections::BTreeMap, path::Path};

use drawbridge_tests::source::{
    SourceFile, contains_word, list_repository_files, list_sources, used_modules, without_comments,
    without_tests,
};

const APP: &str = "src-tauri/src";
const JSONRPC: &str = "src-tauri/jsonrpc/src";
const MODEL: &str = "src-tauri/model/src";
const STORE: &str = "src-tauri/store/src";
const SESSIONS: &str = "src-tauri/sessions/src";
const UPSTREAM: &str = "src-tauri/upstream/src";
const HUB: &str = "src-tauri/hub/src";
const ENDPOINT: &str = "src-tauri/endpoint/src";
const CLIENT_CONFIG: &str = "src-tauri/client_config/src";
const CLI: &str = "src-tauri/cli/src";
/// The Rust code of the product.
const PRODUCT: &[&str] = &[
    APP,
    JSONRPC,
    MODEL,
    STORE,
    SESSIONS,
    UPSTREAM,
    HUB,
    ENDPOINT,
    CLIENT_CONFIG,
    CLI,
];
const UI: &str = "ui/src";

/// The modules of the crates whose inner order is fixed, bottom first. A module may name the
/// modules below it and on its own level. The compiler enforces the order of the crates.
const MODULE_ORDERS: &[(&str, &[&[&str]])] = &[
    (
        UPSTREAM,
        &[
            &[
                "client_extensions",
                "client_requests",
                "dirty_set",
                "http",
                "lines",
            ],
            &["oauth", "transport"],
            &["download", "webhook"],
            &[
                "connection",
                "connection_change",
                "connector",
                "error",
                "handshake",
                "history",
                "in_flight",
                "server_request",
                "server_subscriptions",
                "session",
                "state",
                "timeouts",
                "url_elicitations",
            ],
        ],
    ),
    (
        HUB,
        &[
            &[
                "access",
                "access_reports",
                "elicitation",
                "file_watch",
                "live_calls",
                "metrics",
                "pairing",
                "roots",
                "sampling",
                "traces",
            ],
            &["content"],
            &["builtin"],
            &["clients", "registry"],
            &["catalog"],
            &["policy", "router"],
            &["hooks"],
            &["pipeline"],
            &["error"],
            &["hub"],
            &["api"],
        ],
    ),
];

/// The generated types and labels of the API, which import nothing and which any module may import.
const BINDINGS: &str = "ui/src/ipc/bindings";

/// The modules of the UI, bottom first.
const UI_ORDER: &[&[&str]] = &[
    &["kit", "lib", "routes", "texts"],
    &["ipc"],
    &["state"],
    &["features"],
    &["views"],
    &["App", "main", "vite-env"],
];

const REVISIONS: &[&str] = &[
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// Returns the Rust files of the product, without their tests and comments.
fn read_product_code(folders: &[&str]) -> Vec<SourceFile> {
    let sources: Vec<SourceFile> = folders
        .iter()
        .flat_map(|folder| list_sources(folder, &["rs"]))
        .filter(|source| !source.is_test())
        .map(|source| SourceFile {
            text: without_tests(&without_comments(&source.text)).to_owned(),
            ..source
        })
        .collect();
    assert!(!sources.is_empty(), "no file was read in {folders:?}");
    sources
}

/// Fails with the list of violations of a rule if there are any.
#[track_caller]
fn assert_none(rule: &str, violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{rule}:\n  {}",
        violations.join("\n  ")
    );
}

/// Fails if product code in `folders`, but outside of `allowed_places`, contains one of `words`.
#[track_caller]
fn assert_only_in(allowed_places: &[&str], folders: &[&str], words: &[&str]) {
    let is_outside = |source: &SourceFile| {
        !allowed_places
            .iter()
            .any(|place| source.path.starts_with(place))
    };
    let violations: Vec<String> = read_product_code(folders)
        .iter()
        .filter(|source| is_outside(source))
        .flat_map(|source| {
            words
                .iter()
                .filter(|word| contains_word(&source.text, word))
                .map(|word| format!("{} names {word}", source.path))
        })
        .collect();
    assert_none(
        &format!("only {} may name these words", allowed_places.join(", ")),
        &violations,
    );
}

#[test]
fn only_the_app_names_tauri() {
    assert_only_in(&[APP], PRODUCT, &["tauri::", "tauri_build"]);
}

#[test]
fn only_the_endpoint_names_axum() {
    assert_only_in(&[ENDPOINT], PRODUCT, &["axum::", "tower_http::"]);
}

#[test]
fn only_the_store_names_sqlx_and_rusqlite() {
    assert_only_in(&[STORE], PRODUCT, &["sqlx::", "rusqlite::"]);
}

#[test]
fn only_the_secret_store_names_the_keyring() {
    assert_only_in(
        &["src-tauri/store/src/secrets"],
        PRODUCT,
        &["keyring_core::", "keyring::"],
    );
}

#[test]
fn only_oauth_names_the_oauth_crates() {
    assert_only_in(
        &["src-tauri/upstream/src/oauth"],
        PRODUCT,
        &["oauth2::", "transport::auth"],
    );
}

#[test]
fn only_listed_modules_start_processes() {
    assert_only_in(
        &[
            "src-tauri/upstream/src/transport/process",
            // Starts a hub for the bridge.
            "src-tauri/cli/src/cmd/stdio.rs",
            // Starts the app.
            "src-tauri/cli/src/cmd/desktop.rs",
            // Starts the app again after an update or for a second start.
            "src-tauri/src/next_start.rs",
        ],
        PRODUCT,
        &["process_wrap::", "Command::new", "process::Command"],
    );
}

#[test]
fn only_the_protocol_module_names_revisions() {
    assert_only_in(&["src-tauri/model/src/protocol"], PRODUCT, REVISIONS);
}

#[test]
fn only_the_clock_module_reads_the_time_of_day() {
    let words = ["SystemTime::now", "OffsetDateTime::now_utc", "Utc::now"];
    assert_only_in(&["src-tauri/model/src/clock"], PRODUCT, &words);
}

#[test]
fn each_crate_depends_only_on_crates_below_it() {
    let allowed_dependencies = BTreeMap::from([
        (
            "Cargo.toml",
            vec!["model", "store", "upstream", "hub", "endpoint"],
        ),
        ("src-tauri/jsonrpc/Cargo.toml", vec![]),
        ("src-tauri/model/Cargo.toml", vec!["jsonrpc"]),
        ("src-tauri/store/Cargo.toml", vec!["jsonrpc", "model"]),
        ("src-tauri/client_config/Cargo.toml", vec!["model"]),
        ("src-tauri/sessions/Cargo.toml", vec!["jsonrpc", "model"]),
        (
            "src-tauri/upstream/Cargo.toml",
            vec!["jsonrpc", "model", "store", "sessions", "client-config"],
        ),
        (
            "src-tauri/hub/Cargo.toml",
            vec![
                "client-config",
                "jsonrpc",
                "model",
                "store",
                "sessions",
                "upstream",
            ],
        ),
        (
            "src-tauri/endpoint/Cargo.toml",
            vec!["jsonrpc", "model", "sessions", "upstream", "hub"],
        ),
        (
            "src-tauri/cli/Cargo.toml",
            vec![
                "client-config",
                "model",
                "store",
                "upstream",
                "hub",
                "endpoint",
            ],
        ),
        ("src-tauri/xtask/Cargo.toml", vec![]),
        ("tests/Cargo.toml", vec!["jsonrpc"]),
        ("tests/arbitrary-json/Cargo.toml", vec![]),
        (
            "fuzz/Cargo.toml",
            vec![
                "client-config",
                "hub",
                "jsonrpc",
                "model",
                "store",
                "upstream",
            ],
        ),
    ]);
    let manifests: Vec<SourceFile> = list_repository_files()
        .into_iter()
        .filter(|source| source.path.ends_with("Cargo.toml"))
        .collect();
    assert_eq!(
        manifests.len(),
        allowed_dependencies.len(),
        "this test must list each crate"
    );
    let mut violations = Vec::new();
    for manifest in manifests {
        let used = list_dependencies(&manifest.text);
        let allowed = &allowed_dependencies[manifest.path.as_str()];
        for dependency in used
            .iter()
            .filter_map(|dependency| dependency.strip_prefix("drawbridge-"))
        {
            if !allowed.contains(&dependency) {
                violations.push(format!("{} depends on {dependency}", manifest.path));
            }
        }
        if manifest.path != "Cargo.toml"
            && used
                .iter()
                .any(|dependency| dependency.starts_with("tauri"))
        {
            violations.push(format!("{} depends on tauri", manifest.path));
        }
        if manifest.path == "src-tauri/xtask/Cargo.toml" && !used.is_empty() {
            violations.push(format!("xtask depends on {used:?}"));
        }
    }
    assert_none(
        "jsonrpc ← model ← { store, sessions, client_config } ← upstream ← hub ← endpoint ← { cli, desktop }",
        &violations,
    );
}

/// Returns the names in the dependency sections of a manifest, except the section of the workspace.
fn list_dependencies(manifest: &str) -> Vec<String> {
    let mut is_dependency_section = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_dependency_section = section.trim_end_matches(']').ends_with("dependencies")
                && !section.starts_with("workspace");
        } else if let (true, Some((name, _))) = (is_dependency_section, line.split_once('=')) {
            names.push(name.trim().trim_end_matches(".workspace").to_owned());
        }
    }
    names
}

#[test]
fn each_module_order_lists_each_module_once() {
    for (folder, order) in MODULE_ORDERS {
        let mut ordered: Vec<&str> = order.concat();
        ordered.sort_unstable();
        let mut modules: Vec<String> = list_sources(folder, &["rs"])
            .iter()
            .map(|source| source.module(folder))
            // Only the fuzz targets use `fuzzing`.
            .filter(|module| !["lib", "fuzzing"].contains(&module.as_str()))
            .collect();
        modules.sort();
        modules.dedup();
        assert_eq!(ordered, modules, "the modules of {folder}");
    }
}

#[test]
fn a_module_names_no_module_above_it() {
    let mut violations = Vec::new();
    for (folder, order) in MODULE_ORDERS {
        let level = |module: &str| order.iter().position(|modules| modules.contains(&module));
        for source in read_product_code(&[folder]) {
            let Some(own_level) = level(&source.module(folder)) else {
                continue;
            };
            let above = used_modules(&source.text)
                .into_iter()
                .filter(|used| level(used).is_some_and(|level| level > own_level));
            violations.extend(
                above.map(|used| format!("{} names {used}, which is above it", source.path)),
            );
        }
    }
    assert_none("a module names no module above it", &violations);
}

fn read_ui_files() -> Vec<SourceFile> {
    let sources = list_sources(UI, &["ts", "svelte", "js"]);
    assert!(!sources.is_empty(), "no file was read in {UI}");
    sources
}

/// Returns the imports of a UI module: paths below `ui/src`, and packages.
fn list_imports(source: &SourceFile) -> Vec<String> {
    let mut targets = Vec::new();
    for keyword in ["from ", "import ", "import("] {
        for (index, _) in source.text.match_indices(keyword) {
            let rest = &source.text[index + keyword.len()..];
            let Some(quote) = rest.chars().next().filter(|first| "\"'".contains(*first)) else {
                continue;
            };
            let target = rest[1..].split(quote).next().unwrap_or_default();
            targets.push(resolve_import(&source.path, target));
        }
    }
    targets
}

fn resolve_import(from: &str, target: &str) -> String {
    if !target.starts_with('.') {
        return target.replacen("$lib", "ui/src/lib", 1);
    }
    let mut steps: Vec<&str> = from.split('/').collect();
    steps.pop();
    for step in target.split('/') {
        match step {
            "." => {}
            ".." => drop(steps.pop()),
            other => steps.push(other),
        }
    }
    steps.join("/")
}

#[test]
fn a_module_of_the_ui_imports_no_module_above_it_and_no_other_feature() {
    let level = |module: &str| {
        UI_ORDER
            .iter()
            .position(|modules| modules.contains(&module))
    };
    let mut violations = Vec::new();
    for source in read_ui_files()
        .into_iter()
        .filter(|source| !source.is_test())
    {
        let module = source.module(UI);
        let Some(own_level) = level(&module) else {
            violations.push(format!(
                "{}: the module {module} has no place in the order",
                source.path
            ));
            continue;
        };
        for target in list_imports(&source)
            .into_iter()
            .filter(|target| target.starts_with(UI) && *target != BINDINGS)
        {
            let target_file = SourceFile {
                path: target.clone(),
                text: String::new(),
            };
            let feature_of = |path: &str| path.split('/').nth(3).unwrap_or_default().to_owned();
            if level(&target_file.module(UI)).is_some_and(|level| level > own_level) {
                violations.push(format!(
                    "{} imports {target}, which is above it",
                    source.path
                ));
            } else if module == "features"
                && target_file.module(UI) == "features"
                && feature_of(&target) != feature_of(&source.path)
            {
                violations.push(format!("{} imports another feature, {target}", source.path));
            }
        }
    }
    assert_none(
        "kit, lib, routes, texts ← ipc ← state ← features ← views ← App",
        &violations,
    );
}

#[test]
fn only_ipc_names_the_packages_of_tauri() {
    let outside = read_ui_files()
        .into_iter()
        .filter(|source| source.module(UI) != "ipc");
    let violations = outside
        .filter(|source| source.text.contains("@tauri-apps"))
        .map(|source| source.path);
    assert_none(
        "only ui/src/ipc may name @tauri-apps",
        &violations.collect::<Vec<_>>(),
    );
}

/// Returns the Rust files in `src-tauri` and `tests`, including tests and tools.
fn read_rust_files() -> Vec<SourceFile> {
    let sources: Vec<SourceFile> = ["src-tauri", "tests"]
        .iter()
        .flat_map(|folder| list_sources(folder, &["rs"]))
        .collect();
    assert!(
        sources.len() > 20,
        "only {} Rust files were found",
        sources.len()
    );
    sources
}

#[test]
fn every_rust_file_begins_with_a_module_comment() {
    let files = read_rust_files()
        .into_iter()
        .filter(|source| !source.path.ends_with("/tests.rs"));
    let undocumented = files.filter(|source| !source.text.starts_with("//! "));
    assert_none(
        "a file begins with `//!`",
        &undocumented.map(|source| source.path).collect::<Vec<_>>(),
    );
}

/// Returns the words of the comments of a file, in lower case.
fn list_comment_words(source: &SourceFile) -> Vec<String> {
    let comments = source
        .text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("//"));
    let words = comments.flat_map(|text| text.split(|c: char| !c.is_alphabetic() && c != '\''));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[test]
fn comments_state_conditions_with_if() {
    let files = PRODUCT
        .iter()
        .flat_map(|folder| list_sources(folder, &["rs"]));
    let words: Vec<String> = files
        .flat_map(|source| list_comment_words(&source))
        .collect();
    let per_thousand = |word: &str| {
        let count = words.iter().filter(|other| *other == word).count();
        1_000.0 * count as f64 / words.len() as f64
    };
    let (where_rate, if_rate) = (per_thousand("where"), per_thousand("if"));
    assert!(words.len() > 10_000, "only {} words were read", words.len());
    assert!(
        where_rate <= 2.0 && if_rate >= 4.0,
        "per 1,000 words of comments: {where_rate:.1} \"where\" (at most 2), {if_rate:.1} \"if\" (at least 4)"
    );
}

#[test]
fn no_module_is_a_mod_rs_file() {
    let mod_files = read_rust_files()
        .into_iter()
        .filter(|source| Path::new(&source.path).ends_with("mod.rs"));
    assert_none(
        "the module `x` is in `x.rs`, not in `x/mod.rs`",
        &mod_files.map(|source| source.path).collect::<Vec<_>>(),
    );
}

#[test]
fn most_files_are_short() {
    let is_generated = |source: &SourceFile| source.path.ends_with("bindings.ts");
    let files = read_rust_files()
        .into_iter()
        .chain(read_ui_files())
        .filter(|source| !is_generated(source));
    let mut lengths: Vec<(usize, String)> = files
        .map(|source| (source.text.lines().count(), source.path))
        .collect();
    lengths.sort();
    let (median, _) = &lengths[lengths.len() / 2];
    let (ninetieth_percentile, _) = &lengths[lengths.len() * 9 / 10];
    let longest: Vec<_> = lengths.iter().rev().take(5).collect();
    assert!(
        *median <= 150 && *ninetieth_percentile <= 400,
        "median {median}, 90 % up to {ninetieth_percentile} lines; the longest: {longest:?}"
    );
}

#[test]
fn no_committed_file_names_the_host_of_a_registry() {
    let hosts: Vec<String> = [
        ["registry.npmjs", "org"],
        ["registry.yarnpkg", "com"],
        ["index.crates", "io"],
        ["static.crates", "io"],
        ["files.pythonhosted", "org"],
        ["pypi", "org/simple"],
        ["deb.debian", "org"],
    ]
    .map(|parts| parts.join("."))
    .to_vec();
    let index = format!("https://github.com/rust-lang/{}.io-index", "crates");
    let line = format!("source = \"registry+{index}\"");
    let sources = list_repository_files();
    assert!(
        sources.len() > 20,
        "only {} files were found",
        sources.len()
    );
    let mut violations = Vec::new();
    for source in sources {
        let text = if source.path.ends_with("Cargo.lock") {
            source.text.replace(&line, "")
        } else {
            source.text
        };
        let named_hosts = hosts
            .iter()
            .chain([&index])
            .filter(|host| text.contains(host.as_str()));
        violations.extend(named_hosts.map(|host| format!("{} names {host}", source.path)));
    }
    assert_none("no host of a registry is named", &violations);
}
