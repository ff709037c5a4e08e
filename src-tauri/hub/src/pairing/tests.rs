use super::*;

const TOKEN: &str = "a token of at least 32 characters";

/// Returns pairings with a new store, and the folder of the store. The clock must not be paused
/// yet, because opening a store takes real time.
async fn pairings() -> (Pairings, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("test.db"))
        .await
        .expect("a store");
    (Pairings::new(store, Events::new()), folder)
}

fn client(program: &str) -> UnpairedClient {
    UnpairedClient {
        name: "desk".into(),
        program: Some(PairingProgram {
            pid: 1,
            executable: program.into(),
            folder: None,
        }),
        suggested_name: ClientName::new("desk"),
        revoked_client: None,
    }
}

fn ask(
    pairings: &Pairings,
    token: Option<&str>,
    program: &str,
) -> Result<PairingTicket, PairingRefusal> {
    pairings.reserve(token)?.ask(client(program))
}

fn deny_first(pairings: &Pairings) {
    let id = pairings.list()[0].id.clone();
    pairings.deny(&id).expect("denied");
}

#[tokio::test]
async fn each_token_and_each_program_without_a_token_asks_once_at_a_time() {
    let (pairings, _folder) = pairings().await;
    let _first = ask(&pairings, Some(TOKEN), "/a").expect("asked");
    let _second = ask(&pairings, None, "/a").expect("asked");
    let _third = ask(&pairings, None, "/b").expect("asked");
    let refused = [
        ask(&pairings, Some(TOKEN), "/c").err(),
        ask(&pairings, None, "/a").err(),
    ];
    assert_eq!(refused, [Some(PairingRefusal::AlreadyWaiting); 2]);
    assert_eq!(pairings.list().len(), 3);
}

#[tokio::test]
async fn a_place_counts_before_its_program_is_known() {
    let (pairings, _folder) = pairings().await;
    let places: Vec<_> = (0..MAX_WAITING)
        .map(|_| pairings.reserve(None).expect("a place"))
        .collect();
    assert_eq!(
        pairings.reserve(Some(TOKEN)).err(),
        Some(PairingRefusal::TooMany)
    );
    assert!(pairings.list().is_empty(), "nothing was asked");
    drop(places);
    assert!(pairings.reserve(Some(TOKEN)).is_ok());
    assert!(pairings.is_empty());
}

#[tokio::test]
async fn a_denied_client_asks_again_after_ten_minutes() {
    let (pairings, _folder) = pairings().await;
    tokio::time::pause();
    let ticket = ask(&pairings, None, "/a").expect("asked");
    deny_first(&pairings);
    assert!(matches!(ticket.wait().await, PairingAnswer::Denied));
    assert_eq!(
        ask(&pairings, None, "/a").err(),
        Some(PairingRefusal::Denied)
    );
    assert!(ask(&pairings, None, "/b").is_ok(), "another program");
    tokio::time::advance(DENIAL_PERIOD).await;
    assert!(ask(&pairings, None, "/a").is_ok());
}

#[tokio::test]
async fn a_request_that_nobody_answers_disappears() {
    let (pairings, _folder) = pairings().await;
    tokio::time::pause();
    let mut events = pairings.events.subscribe();
    let ticket = ask(&pairings, Some(TOKEN), "/a").expect("asked");
    assert!(matches!(ticket.wait().await, PairingAnswer::TimedOut));
    assert!(pairings.is_empty());
    let kinds = [events.recv().await, events.recv().await];
    assert!(matches!(
        kinds,
        [
            Ok(Event::PairingRequested { .. }),
            Ok(Event::PairingEnded { .. })
        ]
    ));
    assert!(
        ask(&pairings, Some(TOKEN), "/a").is_ok(),
        "the client may ask again"
    );
}

#[tokio::test]
async fn clients_that_ask_again_and_again_are_refused() {
    let (pairings, _folder) = pairings().await;
    tokio::time::pause();
    for number in 0..MAX_REQUESTS {
        let token = format!("{TOKEN} {number}");
        drop(ask(&pairings, Some(&token), "/a").expect("asked"));
    }
    assert_eq!(
        ask(&pairings, Some(TOKEN), "/a").err(),
        Some(PairingRefusal::TooMany)
    );
    tokio::time::advance(DENIAL_PERIOD).await;
    assert!(ask(&pairings, Some(TOKEN), "/a").is_ok());
}
