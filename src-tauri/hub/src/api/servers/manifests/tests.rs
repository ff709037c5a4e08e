use super::*;
use crate::{
    api::{ErrorCode, servers::AddServer},
    hub::tests::open_hub,
};

async fn hub() -> (std::sync::Arc<Hub>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (open_hub(folder.path()).await, folder)
}

fn fill(source: ManifestSource, values: &[(&str, &str)]) -> FillManifest {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    FillManifest {
        source,
        choice: 0,
        name: None,
        values,
        secrets: BTreeMap::new(),
    }
}

#[tokio::test]
async fn a_filled_manifest_is_added_like_any_other_server() {
    let (hub, _folder) = hub().await;
    let source = ManifestSource::Preset("context7".into());
    let view = ReadManifest {
        source: source.clone(),
    }
    .run(&hub)
    .await
    .expect("read");
    assert_eq!(
        (view.title.as_str(), view.choices[0].preview.as_str()),
        ("Context7", "npx -y @upstash/context7-mcp@4.1.1")
    );
    let filled = fill(source, &[("CONTEXT7_API_KEY", "very secret")])
        .run(&hub)
        .await
        .expect("fill the manifest");
    let FilledManifest { spec, secrets } = filled;
    let server = AddServer {
        spec,
        secrets,
        pending: true,
        grant_secrets: Vec::new(),
    }
    .run(&hub)
    .await
    .expect("added");
    assert_eq!(server.id.as_str(), "context7");
    assert_eq!(
        server.spec.env["CONTEXT7_API_KEY"],
        "${keyring:context7.CONTEXT7_API_KEY}"
    );
}

#[tokio::test]
async fn each_preset_reports_the_runtime_that_it_needs() {
    let (hub, _folder) = hub().await;
    let presets = ListPresets {}.run(&hub).await.expect("presets");
    assert!(presets.len() > 10);
    for preset in presets {
        assert_eq!(
            preset.runtime.map(|found| found.runtime),
            preset.choice.runtime,
            "{}",
            preset.id
        );
    }
    let found = CheckRuntimes {}.run(&hub).await.expect("runtimes");
    assert_eq!(
        found.iter().map(|found| found.runtime).collect::<Vec<_>>(),
        Runtime::ALL
    );
    assert!(
        found
            .iter()
            .all(|found| found.problem.is_empty() == found.remedy.is_empty()),
        "{found:?}"
    );
}

#[tokio::test]
async fn invalid_manifests_and_values_are_the_callers_errors() {
    let (hub, folder) = hub().await;
    let code = |result: Result<FilledManifest, ApiError>| result.err().map(|error| error.code);
    let preset = |id: &str| ManifestSource::Preset(id.into());
    assert_eq!(
        code(fill(preset("nothing"), &[]).run(&hub).await),
        Some(ErrorCode::NotFound)
    );
    assert_eq!(
        code(fill(preset("filesystem"), &[]).run(&hub).await),
        Some(ErrorCode::Invalid)
    );
    let second = FillManifest {
        choice: 1,
        ..fill(preset("git"), &[])
    };
    assert_eq!(code(second.run(&hub).await), Some(ErrorCode::Invalid));
    for source in [
        ManifestSource::Text("{}".into()),
        ManifestSource::Path("relative".into()),
        ManifestSource::Path(folder.path().join("nothing")),
    ] {
        assert_eq!(
            code(fill(source, &[]).run(&hub).await),
            Some(ErrorCode::Invalid)
        );
    }
}

#[test]
fn values_are_not_printed() {
    let filled = fill(
        ManifestSource::Preset("context7".into()),
        &[("CONTEXT7_API_KEY", "very secret")],
    );
    assert!(!format!("{filled:?}").contains("very"));
}
