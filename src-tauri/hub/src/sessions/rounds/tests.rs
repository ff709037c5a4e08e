//! Tests of requests whose client is asked a question and does not answer.

use super::*;
use crate::{
    events::Events,
    protocol::{input::InputRequest, meta},
    sessions::{ClientSessions, Reach},
};

/// A modern client and its waiting requests.
struct Desk {
    rounds: Rounds,
    sessions: ClientSessions,
    session: Arc<ClientSession>,
}

fn desk() -> Desk {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}"#;
    let (said, _) = meta::take_request_meta(Some(&json::raw(meta.into()))).expect("a hello");
    let sessions = ClientSessions::new(Events::new());
    let (session, _) = sessions.stateless(&ClientName::new("c"), &said.hello, &Reach::All);
    Desk {
        rounds: Rounds::default(),
        sessions,
        session,
    }
}

impl Desk {
    fn attempt(&self, params: &str) -> Try {
        let (stream, _) = mpsc::channel(1);
        let (session, params) = (self.session.clone(), json::raw(params.into()));
        Try {
            session,
            stream,
            log_level: None,
            method: "tools/call".into(),
            params,
        }
    }

    /// Starts a request that asks its client a question. Returns the state for the retry.
    async fn begin<F>(&self, answer: impl FnOnce(Back) -> F) -> String
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let reply = self
            .rounds
            .play(self.attempt("{}"), |back, _, _| answer(back))
            .await
            .expect("a result");
        RawObject::parse(&reply)
            .expect("an object")
            .get_string("requestState")
            .expect("it asks")
    }

    async fn ask_again(&self, state: &str) -> Reply {
        let params = format!(
            r#"{{"requestState":"{state}","inputResponses":{{"input-1":{{"action":"accept"}}}}}}"#
        );
        let begin = |_, _, _| async { panic!("it begins anew") };
        self.rounds.play(self.attempt(&params), begin).await
    }

    fn waiting(&self) -> usize {
        self.rounds.lock().len()
    }
}

async fn ask(back: &Back) -> Reply {
    let question = InputRequest {
        method: "elicitation/create".into(),
        params: None,
    };
    back.ask(&question, Duration::from_secs(600)).await
}

fn text(reply: Reply) -> String {
    reply.expect("a result").get().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_on_with_the_answer_of_its_client() {
    let desk = desk();
    let state = desk.begin(|back| async move { ask(&back).await }).await;
    assert_eq!(text(desk.ask_again(&state).await), r#"{"action":"accept"}"#);
    assert_eq!(desk.waiting(), 0);
    assert_eq!(
        desk.ask_again(&state).await.expect_err("it is over").code,
        code::INVALID_PARAMS
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_answered_without_its_client_ends_and_its_reply_is_kept() {
    let desk = desk();
    let (ended, has_ended) = oneshot::channel();
    let state = desk
        .begin(|back| async move {
            let _ = tokio::time::timeout(Duration::from_secs(20), ask(&back)).await;
            let _ = ended.send(());
            Ok(json::Json::new(r#"{"nobody":"answered"}"#))
        })
        .await;
    has_ended
        .await
        .expect("it ends although its client does not ask again");
    assert_eq!(
        text(desk.ask_again(&state).await),
        r#"{"nobody":"answered"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_taken_back_is_not_asked_again() {
    let desk = desk();
    let (taken_back, is_taken_back) = oneshot::channel();
    let state = desk
        .begin(|back| async move {
            let _ = tokio::time::timeout(Duration::from_secs(5), ask(&back)).await;
            let _ = taken_back.send(());
            sleep(Duration::from_secs(60)).await;
            Ok(json::Json::new("{}"))
        })
        .await;
    is_taken_back
        .await
        .expect("its server does not wait any more");
    assert_eq!(
        text(desk.ask_again(&state).await),
        "{}",
        "the client waits for the answer and is asked nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_when_its_client_does_not_ask_again_in_time_or_is_shut_out() {
    let desk = desk();
    for shut_out in [false, true] {
        let (running, mut ended) = oneshot::channel::<()>();
        let begun = tokio::time::Instant::now();
        let state = desk
            .begin(|back| async move {
                let _running = running;
                ask(&back).await
            })
            .await;
        assert_eq!(desk.waiting(), 1);
        if shut_out {
            desk.sessions.close_all_of(&desk.session.client);
        }
        let _ = (&mut ended).await;
        let patience = if shut_out { Duration::ZERO } else { PATIENCE };
        assert_eq!(begun.elapsed().as_secs(), patience.as_secs());
        tokio::task::yield_now().await;
        assert_eq!(desk.waiting(), 0);
        assert!(desk.ask_again(&state).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_nobody_fetches_are_kept_up_to_a_bound() {
    let desk = desk();
    let large = || json::Json::new(format!("\"{}\"", "x".repeat(MAX_KEPT / 4)));
    let mut states = Vec::new();
    for _ in 0..6 {
        let answer = |back: Back| async move {
            let _ = tokio::time::timeout(Duration::from_secs(1), ask(&back)).await;
            Ok(large())
        };
        states.push(desk.begin(answer).await);
        sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(desk.waiting(), 3);
    for (number, state) in states.iter().enumerate() {
        assert_eq!(
            desk.ask_again(state).await.is_ok(),
            number >= 3,
            "the newest are kept: {number}"
        );
    }
}
