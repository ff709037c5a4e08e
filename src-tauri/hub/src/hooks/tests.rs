use drawbridge_jsonrpc::json;
use drawbridge_model::hook::HookEffect;
use drawbridge_store::secrets::{InMemory, Secret};
use serde_json::{json, value::RawValue};
use tempfile::TempDir;

use super::*;

/// Returns an empty list of hooks, and the logs, which mask secrets.
async fn load_hooks(folder: &TempDir) -> (Hooks, Logs) {
    let (store, _) = Store::open(&folder.path().join("test.db"))
        .await
        .expect("a store");
    load_stored_hooks(folder, store).await
}

async fn load_stored_hooks(folder: &TempDir, store: Store) -> (Hooks, Logs) {
    let events = Events::new();
    let logs = Logs::open(folder.path(), events.clone()).expect("logs");
    let secrets = Secrets::new(InMemory::default());
    let (_, changes) = mpsc::channel(1);
    let hooks = Hooks::load(store, events, logs.clone(), secrets, Guard::new(), changes);
    (hooks.await.expect("hooks"), logs)
}

/// Returns a blocking hook on calls.
fn command_hook(name: &str, command: &[&str]) -> Hook {
    let (program, args) = command.split_first().expect("a program");
    Hook {
        name: name.to_owned(),
        events: vec![HookEvent::ToolRequested],
        mode: HookMode::Blocking,
        server: None,
        tool: None,
        timeout_ms: 10_000,
        on_failure: OnFailure::Allow,
        with_result: false,
        enabled: true,
        target: HookTarget::Command {
            program: (*program).to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: BTreeMap::new(),
        },
    }
}

/// Runs a hook as a trial on a call of a tool.
async fn try_hook(hooks: &Hooks, hook: Hook, payload: Option<Box<RawValue>>) -> Trial {
    let trial = hooks.run_trial(hook, HookEvent::ToolRequested, payload);
    trial.await.expect("the hook is valid")
}

#[tokio::test]
async fn an_unreadable_hook_keeps_its_stored_spec_until_it_is_saved_or_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, _) = load_hooks(&folder).await;
    let store = hooks.shared.store.clone();
    let row = HookRow {
        name: "later".into(),
        spec: r#"{"of": "a later version"}"#.into(),
    };
    store
        .put_hooks(std::slice::from_ref(&row))
        .await
        .expect("stored");
    let (hooks, _) = load_stored_hooks(&folder, store.clone()).await;
    let hook = command_hook("new", &["printf", ""]);
    hooks.add(hook.clone(), Some(0)).await.expect("added");
    let stored = store.hooks().await.expect("the stored hooks");
    assert_eq!(stored[1].spec, row.spec);
    let refused = hooks.set_enabled("later", false).await;
    assert!(
        matches!(refused, Err(HookError::Unreadable(_))),
        "{refused:?}"
    );
    let hook = Hook {
        name: "later".into(),
        ..hook
    };
    hooks.replace("later", hook).await.expect("saved again");
    hooks.set_enabled("later", false).await.expect("disabled");
}

#[tokio::test]
async fn a_trial_is_not_counted_and_only_recorded_for_a_saved_hook() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, _) = load_hooks(&folder).await;
    let hook = |name| command_hook(name, &["printf", ""]);
    hooks.add(hook("saved"), None).await.expect("added");
    for name in ["saved", "draft"] {
        let trial = try_hook(&hooks, hook(name), None).await;
        assert_eq!(trial.effect, HookEffect::Continued, "{trial:?}");
    }
    let runs = hooks.runs(None);
    let recorded: Vec<_> = runs
        .iter()
        .map(|run| (run.hook.as_str(), run.is_trial))
        .collect();
    assert_eq!(recorded, [("saved", true)]);
    assert_eq!(hooks.all()[0].1, HookState::default());
}

#[tokio::test]
async fn a_trial_tells_changed_from_unchanged_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, _) = load_hooks(&folder).await;
    for (arguments, effect) in [
        (json!({"message": "Hello, world!"}), HookEffect::Continued),
        (json!({"message": "Hello!"}), HookEffect::ChangedArguments),
    ] {
        let answer = json!({"action": "change", "arguments": arguments}).to_string();
        let hook = command_hook("changer", &["printf", "%s", &answer]);
        let trial = try_hook(&hooks, hook, None).await;
        assert_eq!(trial.effect, effect, "{trial:?}");
    }
}

#[tokio::test]
async fn the_output_of_an_observing_hook_has_no_effect_in_a_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, _) = load_hooks(&folder).await;
    for output in [r#"{"action":"deny","reason":"no"}"#, "no JSON"] {
        let hook = Hook {
            mode: HookMode::Observe,
            ..command_hook("observer", &["printf", "%s", output])
        };
        let trial = try_hook(&hooks, hook, None).await;
        assert_eq!(
            (trial.effect, trial.reason.as_str(), trial.output.as_str()),
            (HookEffect::Continued, "", output)
        );
    }
}

#[tokio::test]
async fn a_trial_shows_a_result_only_to_a_hook_that_gets_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, _) = load_hooks(&folder).await;
    let written = r#"{"tool_name":"echo","metadata":{"n":1.0e400,"mcp_result":{},"result":{}}}"#;
    for (mode, with_result, expected) in [
        (HookMode::Observe, false, false),
        (HookMode::Observe, true, true),
        (HookMode::Blocking, false, true),
    ] {
        for payload in [None, Some(json::raw(written.into()))] {
            let hook = Hook {
                mode,
                with_result,
                ..command_hook("reader", &["printf", ""])
            };
            let is_sample = payload.is_none();
            let trial = hooks.run_trial(hook, HookEvent::ToolExecuted, payload);
            let input = trial.await.expect("the hook is valid").input;
            assert_eq!(input.contains(r#""result":"#), expected, "{input}");
            assert_eq!(input.contains(r#""mcp_result":"#), expected, "{input}");
            assert!(is_sample || input.contains(r#""n":1.0e400"#), "{input}");
        }
    }
}

#[tokio::test]
async fn a_long_output_of_a_trial_is_shown_without_parts_of_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hooks, logs) = load_hooks(&folder).await;
    let secret = "tiger-4711-lion-4712";
    logs.add_secret(&Secret::new(secret.to_owned()));
    // The output is cut within a secret or between two secrets.
    let text = format!("{}{}", "x".repeat(65_000), secret.repeat(100));
    let payload = json::to_raw(&json!({"arguments": {"text": text}}));
    let trial = try_hook(&hooks, command_hook("echo", &["cat"]), Some(payload)).await;
    assert_eq!(trial.effect, HookEffect::Continued, "{}", trial.reason);
    assert!(trial.output.len() > 65_000, "{}", trial.output.len());
    for part in ["tiger", "lion"] {
        assert!(!trial.output.contains(part), "{part}");
    }
}

fn hook_with_variable(name: &str, variable: &str) -> Hook {
    Hook {
        name: name.into(),
        events: vec![HookEvent::ToolExecuted],
        mode: HookMode::Blocking,
        server: None,
        tool: None,
        timeout_ms: 5_000,
        on_failure: OnFailure::Deny,
        with_result: false,
        enabled: true,
        target: HookTarget::Command {
            program: "x".into(),
            args: Vec::new(),
            env: BTreeMap::from([(variable.into(), "value".into())]),
        },
    }
}

#[test]
fn a_name_is_not_empty_and_has_no_white_space_at_its_ends() {
    assert!(check_hook(&hook_with_variable("my hook", "A")).is_ok());
    for name in ["", "  ", " a", "a ", " a "] {
        let checked = check_hook(&hook_with_variable(name, "A"));
        assert!(matches!(checked, Err(HookError::BadName)), "{name:?}");
    }
}

#[test]
fn an_invalid_name_of_a_variable_is_reported() {
    for variable in ["", "A=B"] {
        let checked = check_hook(&hook_with_variable("a", variable));
        assert!(
            matches!(&checked, Err(HookError::BadVariable(name)) if name == variable),
            "{checked:?}"
        );
    }
}
