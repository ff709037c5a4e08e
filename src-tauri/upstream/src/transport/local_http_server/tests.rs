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
        stop_timeout: Duration::from_secs(1),
    }
}

async fn start(url: &str) -> Result<LocalHttpServer, LocalHttpServerError> {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let (id, launch, guard) = (ServerId::new("s"), launch(), Guard::new());
    LocalHttpServer::start(&id, &launch, url, Duration::from_secs(10), &guard, &logs).await
}

#[tokio::test]
async fn a_server_does_not_start_if_another_program_has_its_port() {
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
async fn two_servers_of_the_hub_may_have_the_same_address() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    drop(listener);
    let own = OwnAddress::reserve(&url).await.expect("the port is free");
    let _listener = TcpListener::bind(("127.0.0.1", port)).expect("the same port");
    let second = start(&url)
        .await
        .expect("the first server is the hub's own");
    second.stop().await;
    drop((own, second));
    assert!(start(&url).await.is_err(), "no server of the hub is left");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_hangs_does_not_exceed_the_time_limit() {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    let any_port = "127.0.0.1:0".parse().expect("an address");
    socket.bind(any_port).expect("a port");
    let listener = socket.listen(1).expect("listen");
    let address = listener.local_addr().expect("an address");
    // Nobody accepts the connections, so the next connection waits once the queue is full.
    let mut queued = Vec::new();
    while let Ok(Ok(connection)) =
        timeout(Duration::from_millis(300), TcpStream::connect(address)).await
    {
        queued.push(connection);
    }
    let url = format!("http://{address}/mcp");

    let time_limit = Duration::from_millis(200);
    let listens = timeout(
        Duration::from_secs(5),
        wait_until_listening(&url, time_limit),
    );

    assert!(matches!(listens.await, Ok(false)));
}
