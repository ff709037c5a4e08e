use std::net::TcpListener;

use drawbridge_model::event::Events;

use super::*;

fn launch() -> Launch {
    Launch {
        command: "sleep".into(),
        args: vec!["60".into()],
        env: BTreeMap::new(),
        cwd: None,
        sandbox: None,
        recording: None,
        grace: Duration::from_secs(1),
    }
}

async fn start(url: &str) -> Result<LocalHttpServer, LocalHttpServerError> {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let (id, launch, guard) = (ServerId::new("s"), launch(), Guard::new());
    LocalHttpServer::start(&id, &launch, url, Duration::from_secs(10), &guard, &logs).await
}

#[tokio::test]
async fn a_program_that_has_the_port_before_the_server_starts_gets_no_request() {
    let other_program = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other_program.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/mcp?key=secret");

    let Err(error) = start(&url).await else {
        panic!("the server starts");
    };

    assert_eq!(
        error.to_string(),
        format!("Another program already listens at http://127.0.0.1:{port}/mcp")
    );
}

#[tokio::test]
async fn the_hub_may_start_a_server_beside_its_own_at_the_same_address() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    drop(listener);
    let own = OwnAddress::reserve(&url).await.expect("the port is free");
    let _listener = TcpListener::bind(("127.0.0.1", port)).expect("the same port");
    let second = start(&url).await.expect("the first is the hub's own");
    second.stop().await;
    drop((own, second));
    assert!(start(&url).await.is_err(), "no server of the hub is left");
}
