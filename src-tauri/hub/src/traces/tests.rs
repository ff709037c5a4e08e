use drawbridge_jsonrpc::json;
use drawbridge_model::{event::Events, ids::ClientName, protocol::ClientHello};
use drawbridge_sessions::{ClientScope, ClientSessions};
use drawbridge_store::{Store, secrets::InMemory, settings::SettingsValues};
use serde_json::json;

use super::*;

#[tokio::test]
async fn only_the_span_of_a_tool_call_has_the_attribute_for_its_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("test.db"))
        .await
        .expect("a store");
    let settings = Settings::load(store).await.expect("settings");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let secrets = Secrets::new(InMemory::default());
    let tracer = Tracer::new(settings, secrets, logs, Metrics::new());
    let with_content = SettingsValues {
        otlp_endpoint: "http://127.0.0.1:1".into(),
        otlp_content: true,
        ..SettingsValues::default()
    };
    tracer
        .export_to(Collector::from_settings(&with_content))
        .await;
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello::for_manual_calls();
    let session = sessions.open(ClientName::new("desk"), hello, ClientScope::ALL);
    let session = session.expect("a session");
    let params = json::to_raw(&json!({"name": "greet", "arguments": {"name": "Ada"}}));

    for (method, expected) in [("tools/call", true), ("prompts/get", false)] {
        let open = tracer.begin_request(&session, method, Some(&params));
        let span = open
            .expect("a span")
            .span
            .clone()
            .expect("the span is open");
        let has_arguments = span
            .attributes
            .iter()
            .any(|attribute| attribute.key == "gen_ai.tool.call.arguments");
        assert_eq!(has_arguments, expected, "{method}");
    }
}
