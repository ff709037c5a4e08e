//! The redirect URI of a sign-in: a listener on loopback that accepts one answer and then closes.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc, time::Duration};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{
        CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    },
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    time::timeout,
};
use url::form_urlencoded;

const PATH: &str = "/callback";
/// The longest time for one connection. Browsers open connections in advance, and never use some of
/// them.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 16;
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A listener that waits for the answer of the authorization server.
pub(super) struct Callback {
    listener: TcpListener,
    /// The address and the port of the listener, as in `127.0.0.1:4000`.
    authority: String,
}

/// The answer of the authorization server, as the browser brings it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationResponse {
    pub(super) outcome: AuthorizationResult,
    /// The issuer of the answer (RFC 9207).
    pub(super) issuer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AuthorizationResult {
    Code(String),
    Refused(String),
}

impl Callback {
    /// Listens on the given port of loopback, or on any free port.
    ///
    /// # Errors
    /// Returns an error if the port is in use, or if no port is free.
    pub(super) async fn bind(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let authority = listener.local_addr()?.to_string();
        Ok(Self {
            listener,
            authority,
        })
    }

    /// Returns the port of an earlier listener's redirect URI.
    pub(super) fn port_of(redirect_uri: &str) -> Option<u16> {
        url::Url::parse(redirect_uri).ok()?.port()
    }

    pub(super) fn redirect_uri(&self) -> String {
        format!("http://{}{PATH}", self.authority)
    }

    /// Waits for the first answer that has this state. All other requests are rejected and change
    /// nothing.
    pub(super) async fn wait(self, state: &str) -> AuthorizationResponse {
        let Self {
            listener,
            authority,
        } = self;
        let (answer_sender, mut answers) = mpsc::channel(1);
        let handler = Arc::new(RequestHandler {
            authority,
            state: state.to_owned(),
            answer_sender,
        });
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = tokio::task::JoinSet::new();
        let accepting = async {
            loop {
                let permit = permits.clone().acquire_owned().await;
                let Ok((stream, _)) = listener.accept().await else {
                    // Accepting fails if the process has too many open files, for example. A pause
                    // avoids a busy loop.
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                    continue;
                };
                // Remove the tasks of connections that have ended.
                while connections.try_join_next().is_some() {}
                let handler = handler.clone();
                connections.spawn(async move {
                    let _permit = permit;
                    let answer = service_fn(move |request| {
                        let page = handler.respond(&request);
                        async move { Ok::<_, Infallible>(page) }
                    });
                    let served = http1::Builder::new()
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), answer);
                    let _ = timeout(CONNECTION_TIMEOUT, served).await;
                });
            }
        };
        let answer = tokio::select! {
            Some(answer) = answers.recv() => answer,
            () = accepting => unreachable!("connections are accepted for ever"),
        };
        // The connections finish in a separate task, because the page is still being sent to the
        // browser.
        tokio::spawn(async move { while connections.join_next().await.is_some() {} });
        answer
    }
}

/// Responds to the browser's requests, and passes on the answer that has the expected state.
struct RequestHandler {
    authority: String,
    state: String,
    answer_sender: mpsc::Sender<AuthorizationResponse>,
}

impl RequestHandler {
    fn respond(&self, request: &Request<Incoming>) -> Response<String> {
        let host = request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        if host != Some(self.authority.as_str()) || request.uri().path() != PATH {
            return render_page(StatusCode::NOT_FOUND, "This page does not exist.");
        }
        if request.method() != Method::GET {
            return render_page(StatusCode::METHOD_NOT_ALLOWED, "This page does not exist.");
        }
        let Some(answer) = parse_query(request.uri().query().unwrap_or_default(), &self.state)
        else {
            return render_page(
                StatusCode::BAD_REQUEST,
                "This is not the answer that Drawbridge is waiting for.",
            );
        };
        let text = match &answer.outcome {
            AuthorizationResult::Code(_) => {
                "You have signed in. Drawbridge completes the sign-in. You can close this window."
            }
            AuthorizationResult::Refused(_) => {
                "You are not signed in. Drawbridge shows the reason. You can close this window."
            }
        };
        match self.answer_sender.try_send(answer) {
            Ok(()) => render_page(StatusCode::OK, text),
            Err(_) => render_page(
                StatusCode::CONFLICT,
                "Drawbridge already has an answer. You can close this window.",
            ),
        }
    }
}

/// Returns the answer in a query, or `None` if the query is not an answer, is ambiguous, or has
/// another state.
fn parse_query(query: &str, state: &str) -> Option<AuthorizationResponse> {
    let mut values: [Option<String>; 5] = Default::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let index = ["state", "code", "iss", "error", "error_description"]
            .iter()
            .position(|parameter| *parameter == name);
        let Some(index) = index else { continue };
        if values[index].replace(value.into_owned()).is_some() {
            return None;
        }
    }
    let [answered_state, code, issuer, error, description] = values;
    if answered_state.as_deref() != Some(state) {
        return None;
    }
    let outcome = match (code, error) {
        (Some(code), None) => AuthorizationResult::Code(code),
        (None, Some(error)) => AuthorizationResult::Refused(
            description.map_or_else(|| error.clone(), |reason| format!("{error}: {reason}")),
        ),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    Some(AuthorizationResponse { outcome, issuer })
}

fn render_page(status: StatusCode, text: &str) -> Response<String> {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Drawbridge</title>\
         <body style=\"font: 1.1rem system-ui; margin: 4rem\"><p>{text}</p></body></html>\n"
    );
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        )
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-store")
        .header(CONNECTION, "close");
    response.body(body).expect("the headers are valid")
}

#[cfg(test)]
mod tests;
