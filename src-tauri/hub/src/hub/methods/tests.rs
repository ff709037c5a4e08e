use std::collections::BTreeSet;

use drawbridge_model::ids::ClientName;
use drawbridge_sessions::{ClientHandle, ClientScope};

use super::*;
use crate::hub::tests::test_hub;

#[test]
fn each_method_has_one_row() {
    let names: BTreeSet<_> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(names.len(), METHODS.len());
}

#[test]
fn a_method_without_a_row_in_the_era_of_the_client_is_refused() {
    for (name, legacy, modern) in [
        ("ping", true, false),
        ("server/discover", false, true),
        ("tools/call", true, true),
        ("tasks/result", true, false),
        ("notifications/cancelled", false, false),
        ("tools/delete", false, false),
    ] {
        for (era, is_known) in [(Era::Legacy, legacy), (Era::Modern, modern)] {
            let found = find_request(name, era);
            assert_eq!(found.is_ok(), is_known, "{name}, {era:?}");
            if let Err(error) = found {
                assert_eq!(error.code, code::METHOD_NOT_FOUND);
            }
        }
    }
}

#[test]
fn each_guarded_method_of_clients_has_one_row_that_requires_its_permission() {
    for guarded in GuardedMethod::ALL {
        let rows: Vec<_> = METHODS
            .iter()
            .filter(|method| method.name == guarded.name())
            .map(|method| method.decision)
            .collect();
        let expected = if guarded.is_sent_to_clients() {
            vec![]
        } else {
            vec![Permission(guarded)]
        };
        assert_eq!(rows, expected, "{}", guarded.name());
    }
}

#[tokio::test]
async fn a_method_needs_nothing_but_its_row() {
    static ROW: Method = method(
        "test/name",
        BOTH,
        NotPaused,
        Request(|_, request| {
            Box::pin(async move { Ok(Json::new(format!("{:?}", request.method))) })
        }),
    );
    let test_hub = test_hub().await;
    let hub = &test_hub.hub;
    let session = hub.sessions.open(
        ClientName::new("c"),
        crate::hub::tests::client_info(),
        ClientScope::ALL,
    );
    let handle = ClientHandle::for_session(session.expect("a session"));
    let request = ClientRequest {
        trace: None,
        handle: &handle,
        method: ROW.name,
        params: None,
    };
    let response = ROW.answer(hub, request).await;
    assert_eq!(response.expect("a result").get(), r#""test/name""#);
    hub.drawbridge.pause(None).await.expect("paused");
    let refused = ROW.answer(hub, request).await.expect_err("paused");
    assert_eq!(refused.message, PAUSED);
}

#[test]
fn the_table_of_methods_in_architecture_md_is_up_to_date() {
    let row = |method: &Method| {
        let era = match method.era {
            None => "both",
            Some(Era::Legacy) => "legacy",
            Some(Era::Modern) => "modern",
        };
        let decision = match method.decision {
            Nothing => "",
            NotPaused => "not paused",
            Permission(_) => "permission",
        };
        let recorded = match method.decision {
            Permission(_) => "before it is sent",
            Nothing | NotPaused => "",
        };
        let cells = [&format!("`{}`", method.name), era, decision, recorded];
        let row = cells.map(|cell| format!("| {cell} ")).concat() + "|";
        row.replace("|  |", "| |").replace("|  |", "| |")
    };
    let table: Vec<String> = METHODS.iter().map(row).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let document = std::fs::read_to_string(path).expect("read ARCHITECTURE.md");
    let table = table.join("\n");
    assert!(
        document.contains(&table),
        "ARCHITECTURE.md must contain this table:\n{table}"
    );
}
