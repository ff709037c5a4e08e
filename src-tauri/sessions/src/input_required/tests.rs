//! Tests of requests that ask their client a question.

use drawbridge_model::{
    event::Events,
    protocol::{input::InputRequest, meta},
};

use super::*;
use crate::{ClientScope, ClientSessions, message_stream};

/// A modern client and its parked requests.
struct Fixture {
    parked_requests: ParkedRequests,
    sessions: ClientSessions,
    session: Arc<ClientSession>,
}

fn fixture() -> Fixture {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}"#;
    let params = json::raw(meta.into());
    let mut params = meta::parse_params(Some(&params)).expect("an object");
    let hello = meta::take_request_meta(&mut params).expect("a hello");
    let sessions = ClientSessions::new(Events::new());
    let (session, _) = sessions
        .get_or_open_stateless(&ClientName::new("c"), &hello.hello, &ClientScope::ALL)
        .expect("a session");
    Fixture {
        parked_requests: ParkedRequests::default(),
        sessions,
        session,
    }
}

impl Fixture {
    fn stateless_request(&self, params: &str) -> StatelessRequest {
        let (stream, _) = message_stream();
        let permit = self.sessions.budget().begin(&self.session.client);
        let (session, params) = (self.session.clone(), json::raw(params.into()));
        StatelessRequest {
            session,
            stream,
            permit: permit.expect("a request"),
            log_level: None,
            method: "tools/call".into(),
            params,
        }
    }

    /// Starts a request that asks its client a question. Returns the state for the retry.
    async fn start<F>(&self, answer: impl FnOnce(ClientHandle) -> F) -> String
    where
        F: Future<Output = RpcResult> + Send + 'static,
    {
        let response = self
            .parked_requests
            .start_or_resume(self.stateless_request("{}"), |client, _, _| answer(client))
            .await
            .expect("a result");
        RawObject::parse(&response)
            .expect("an object")
            .get_string("requestState")
            .expect("the result has a state")
    }

    async fn retry(&self, state: &str) -> RpcResult {
        let params = format!(
            r#"{{"requestState":"{state}","inputResponses":{{"input-1":{{"action":"accept"}}}}}}"#
        );
        let start = |_, _, _| async { panic!("the retry started a new request") };
        self.parked_requests
            .start_or_resume(self.stateless_request(&params), start)
            .await
    }

    fn count_parked(&self) -> usize {
        self.parked_requests.lock().len()
    }
}

async fn request_input(client: &ClientHandle) -> RpcResult {
    let question = InputRequest {
        method: "elicitation/create".into(),
        params: None,
    };
    client
        .send_request(&question, Duration::from_secs(600))
        .await
}

fn text(response: RpcResult) -> String {
    response.expect("a result").get().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_retry_resumes_its_request() {
    let fixture = fixture();
    let state = fixture
        .start(|client| async move { request_input(&client).await })
        .await;
    assert_eq!(text(fixture.retry(&state).await), r#"{"action":"accept"}"#);
    assert_eq!(fixture.count_parked(), 0);
    assert_eq!(
        fixture
            .retry(&state)
            .await
            .expect_err("the request has ended")
            .code,
        code::INVALID_PARAMS
    );
}

#[tokio::test(start_paused = true)]
async fn a_response_that_arrives_before_the_retry_is_kept() {
    let fixture = fixture();
    let (ended, has_ended) = oneshot::channel();
    let state = fixture
        .start(|client| async move {
            let _ = tokio::time::timeout(Duration::from_secs(20), request_input(&client)).await;
            let _ = ended.send(());
            Ok(json::Json::new(r#"{"nobody":"answered"}"#))
        })
        .await;
    has_ended
        .await
        .expect("the request ends although its client does not retry");
    assert_eq!(
        text(fixture.retry(&state).await),
        r#"{"nobody":"answered"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_question_is_not_asked_again() {
    let fixture = fixture();
    let (withdraw, withdrawn) = oneshot::channel();
    let state = fixture
        .start(|client| async move {
            let _ = tokio::time::timeout(Duration::from_secs(5), request_input(&client)).await;
            let _ = withdraw.send(());
            sleep(Duration::from_secs(60)).await;
            Ok(json::Json::new("{}"))
        })
        .await;
    withdrawn
        .await
        .expect("the server has withdrawn its question");
    assert_eq!(
        text(fixture.retry(&state).await),
        "{}",
        "the retry returns the result without a question"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_if_its_client_does_not_retry_in_time_or_is_revoked() {
    let fixture = fixture();
    for is_revoked in [false, true] {
        let (running, mut ended) = oneshot::channel::<()>();
        let begun = tokio::time::Instant::now();
        let state = fixture
            .start(|client| async move {
                let _running = running;
                request_input(&client).await
            })
            .await;
        assert_eq!(fixture.count_parked(), 1);
        if is_revoked {
            fixture.sessions.close_client(&fixture.session.client);
        }
        let _ = (&mut ended).await;
        let expected = if is_revoked {
            Duration::ZERO
        } else {
            RETRY_TIMEOUT
        };
        assert_eq!(begun.elapsed().as_secs(), expected.as_secs());
        tokio::task::yield_now().await;
        assert_eq!(fixture.count_parked(), 0);
        assert!(fixture.retry(&state).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn unclaimed_responses_are_kept_up_to_a_limit() {
    let fixture = fixture();
    let large = || json::Json::new(format!("\"{}\"", "x".repeat(MAX_RESPONSE_BYTES / 4)));
    let mut states = Vec::new();
    for _ in 0..6 {
        let answer = |client: ClientHandle| async move {
            let _ = tokio::time::timeout(Duration::from_secs(1), request_input(&client)).await;
            Ok(large())
        };
        states.push(fixture.start(answer).await);
        sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(fixture.count_parked(), 3);
    for (number, state) in states.iter().enumerate() {
        assert_eq!(
            fixture.retry(state).await.is_ok(),
            number >= 3,
            "only the newest responses are kept: {number}"
        );
    }
}
