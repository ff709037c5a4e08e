use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{
    names,
    runtime::Runtime,
    spec::{ServerSpec, package},
};

use super::*;

fn fill(id: &str, values: &[(&str, &str)]) -> ServerSpec {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    get(id)
        .expect("a preset")
        .choice
        .fill(id, &values, &BTreeMap::new())
        .expect("a spec")
        .spec
}

fn command_or_url(id: &str, values: &[(&str, &str)]) -> String {
    let spec = fill(id, values);
    spec.url.unwrap_or_else(|| {
        [vec![spec.command.unwrap_or_default()], spec.args]
            .concat()
            .join(" ")
    })
}

#[test]
fn every_preset_is_usable_and_has_texts_and_a_unique_id() {
    let written: Vec<Value> = serde_json::from_str(PRESETS).expect("the file is JSON");
    assert_eq!(all().len(), written.len());
    let ids: BTreeSet<_> = all().iter().map(|preset| preset.id.as_str()).collect();
    assert_eq!(ids.len(), all().len(), "two presets have the same id");
    for preset in all() {
        assert!(names::is_server_id(&preset.id), "{}", preset.id);
        assert_eq!(preset.choice.problem, None, "{}", preset.id);
        assert!(
            !preset.title.is_empty() && preset.description.ends_with('.'),
            "{}",
            preset.id
        );
        assert!(
            preset
                .choice
                .inputs
                .iter()
                .all(|input| !input.description.is_empty()),
            "{}",
            preset.id
        );
    }
}

#[test]
fn every_preset_names_an_exact_version_of_its_package() {
    for preset in all() {
        let inputs = preset.choice.inputs.iter();
        let required = inputs.filter(|input| input.required && input.default.is_none());
        let values: Vec<_> = required.map(|input| (input.name.as_str(), "/x")).collect();
        let spec = fill(&preset.id, &values);
        assert_eq!(package::floating_packages(&spec), [], "{}", preset.id);
    }
}

#[test]
fn a_preset_becomes_its_documented_command() {
    assert_eq!(
        command_or_url("filesystem", &[("folder", "/a b\n/c")]),
        "npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /a b /c"
    );
    assert_eq!(command_or_url("git", &[]), "uvx mcp-server-git@2026.10.19");
    assert_eq!(
        command_or_url("git", &[("--repository", "/src")]),
        "uvx mcp-server-git@2026.10.19 --repository /src"
    );
    assert_eq!(
        command_or_url("time", &[("--local-timezone", "Asia/Tokyo")]),
        "uvx mcp-server-time@2026.10.19 --local-timezone Asia/Tokyo"
    );
    assert_eq!(
        command_or_url("docling", &[]),
        "uvx --from docling-mcp[local]==3.3.0 docling-mcp-server --transport stdio"
    );
    assert_eq!(
        command_or_url("playwright", &[("--headless", "true")]),
        "npx -y @playwright/mcp@0.0.83 --headless"
    );
    assert_eq!(
        command_or_url("github", &[]),
        "https://api.githubcopilot.com/mcp/"
    );
}

#[test]
fn a_preset_names_its_runtime() {
    assert_eq!(
        get("filesystem").and_then(|preset| preset.choice.runtime),
        Some(Runtime::Npx)
    );
    assert_eq!(
        get("fetch").and_then(|preset| preset.choice.runtime),
        Some(Runtime::Uvx)
    );
    assert_eq!(get("github").and_then(|preset| preset.choice.runtime), None);
}

#[test]
fn a_preset_with_a_sandbox_may_write_the_folders_that_a_person_chose() {
    let values = BTreeMap::from([("folder".to_owned(), "/home/me/a\n/srv/b\n".to_owned())]);
    let preset = get("filesystem").expect("a preset");
    let sandbox = preset.profile.sandbox.as_ref().expect("a sandbox");
    assert_eq!(sandbox.check(), Ok(()));
    let filled = preset.sandbox(&values);
    let expected = sandbox::is_available().then(|| Sandbox {
        write: vec!["/home/me/a".to_owned(), "/srv/b".to_owned()],
        ..sandbox.clone()
    });
    assert_eq!(filled, expected);
}

#[test]
fn every_sandbox_profile_names_existing_inputs() {
    for preset in all() {
        for name in &preset.profile.writes {
            let mut inputs = preset.choice.inputs.iter();
            assert!(
                inputs.any(|input| &input.name == name),
                "{} {name}",
                preset.id
            );
        }
    }
}
