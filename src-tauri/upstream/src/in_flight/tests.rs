use drawbridge_jsonrpc::json;
use drawbridge_model::{event::Events, ids::ClientName, protocol::ClientHello};
use drawbridge_sessions::{ClientScope, ClientSessions};

use super::*;

#[tokio::test]
async fn a_read_of_a_list_takes_no_message_from_the_call_of_another_client() {
    let sessions = ClientSessions::new(Events::new());
    let handle_of = |name: &str| {
        let hello = ClientHello::for_manual_calls();
        let session = sessions.open(ClientName::new(name), hello, ClientScope::ALL);
        ClientHandle::for_session(session.expect("a session"))
    };
    let (caller, reader) = (handle_of("caller"), handle_of("reader"));
    let tracker = RequestTracker::default();
    let recipient = || {
        let recipient = tracker.find_recipient(None)?;
        Some(recipient.client_handle.session().client.clone())
    };
    let list = ServerRequest::without_timeout("tools/list", None).reading_list_of(&reader);
    let call = ServerRequest::without_timeout("tools/call", None).on_behalf_of(&caller, None);
    let own = ServerRequest::without_timeout("ping", None);
    let _own = tracker.register(1, &own);
    assert_eq!(recipient(), None, "Drawbridge's own request has no client");
    let _list = tracker.register(2, &list);
    assert_eq!(recipient(), Some(ClientName::new("reader")));
    let running_call = tracker.register(3, &call);
    assert_eq!(recipient(), Some(ClientName::new("caller")));
    let other = handle_of("other");
    let other_call = ServerRequest::without_timeout("tools/call", None).on_behalf_of(&other, None);
    let running_other = tracker.register(4, &other_call);
    assert_eq!(recipient(), None, "two clients call");
    drop((running_call, running_other));
    assert_eq!(recipient(), Some(ClientName::new("reader")));
}

#[tokio::test]
async fn a_message_belongs_to_the_call_that_the_server_names_or_to_the_only_call() {
    let tracker = RequestTracker::default();
    let request = ServerRequest::without_timeout("tools/call", None);
    let register = async |id: u64, call: &str| {
        let call = CallId::new(call.to_owned());
        logs::within_call(call, async { tracker.register(id, &request) }).await
    };
    let named = |call: &str| Some(CallId::new(call.to_owned()));
    let _own = tracker.register(1, &request);
    assert_eq!(
        tracker.find_call(None),
        None,
        "Drawbridge's own request is no call"
    );
    let one = register(2, "one").await;
    assert_eq!(tracker.find_call(None), named("one"));
    let _two = register(3, "two").await;
    assert_eq!(
        tracker.find_call(None),
        None,
        "the message may belong to either call"
    );
    assert_eq!(tracker.find_call(Some(2)), named("one"));
    assert_eq!(tracker.find_call(Some(1)), None);
    drop(one);
    assert_eq!(tracker.find_call(None), named("two"));
    let params = format!(
        r#"{{"progressToken":{},"progress":1,"message":"half"}}"#,
        ProgressToken::for_request(3).get()
    );
    let progress = ServerProgress::read(json::raw(params)).expect("progress");
    let forwarded = tracker.forward_progress(&progress);
    assert_eq!(
        forwarded,
        named("two").map(|call| (call, "progress: half".to_owned()))
    );
}
