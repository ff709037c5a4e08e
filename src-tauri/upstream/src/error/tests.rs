use std::{io, sync::Arc};

use drawbridge_jsonrpc::{json::Json, server_message::MalformedAnswer};
use drawbridge_model::{display_url::DisplayUrl, protocol::handshake};
use http::StatusCode;

use super::*;
use crate::transport::{
    EndReason, HttpRefusal, RemoteError,
    process::{ProcessExit, sandbox::SandboxFailure},
};

const SECRET: &str = "s3cret-token";

fn words() -> String {
    format!("the server's words with {SECRET}")
}

fn cause() -> Cause {
    Cause::new(io::Error::other(words()))
}

fn refusal(status: StatusCode) -> HttpRefusal {
    HttpRefusal {
        url: DisplayUrl::new(&words()),
        status,
        text: words(),
    }
}

/// Returns errors of many kinds that contain text from a server, or a part of a spec.
fn errors_with_secrets() -> Vec<UpstreamError> {
    let interrupted = || RemoteError::Interrupted {
        url: DisplayUrl::new(&words()),
        source: cause(),
    };
    let malformed = || InvalidAnswer::Malformed(MalformedAnswer::WrongVersion { version: words() });
    let initialize = |result: &str| {
        handshake::read_initialize_result(&Json::new(result)).expect_err("an unusable answer")
    };
    let lost = UpstreamError::Lost(LostReason::Ended(EndReason::Exited {
        exit: ProcessExit::Code(1),
        last_output: words(),
    }));
    vec![
        SpawnError::CommandNotFound { command: words() }.into(),
        SpawnError::ProgramNotFound { program: words() }.into(),
        SpawnError::FolderNotFound { folder: words() }.into(),
        TargetError::NotUrl {
            url: DisplayUrl::new(&words()),
            source: url::ParseError::EmptyHost,
        }
        .into(),
        SseError::Http(refusal(StatusCode::NOT_FOUND)).into(),
        SseError::Rpc {
            url: DisplayUrl::new(&words()),
            message: words(),
        }
        .into(),
        SseError::NotStream {
            url: DisplayUrl::new(&words()),
            content_type: words(),
        }
        .into(),
        SseError::EmptyEndpoint {
            url: DisplayUrl::new(&words()),
            data: words(),
        }
        .into(),
        SseError::TimedOut(EndpointTimeout {
            url: DisplayUrl::new(&words()),
            timeout: Duration::ZERO,
        })
        .into(),
        TransportError::NotSent(NotSentReason::Ended(EndReason::Remote(interrupted()))).into(),
        TransportError::NotSent(NotSentReason::Params {
            method: "tools/call".into(),
            source: cause(),
        })
        .into(),
        TransportError::NotSent(NotSentReason::Token(TokenError::Protocol {
            source: cause(),
        }))
        .into(),
        TransportError::Lost(LostReason::Remote(interrupted())).into(),
        TransportError::Lost(LostReason::ServerError(refusal(StatusCode::BAD_GATEWAY))).into(),
        TransportError::Refused(RefusedReason::Http(refusal(StatusCode::FORBIDDEN))).into(),
        TransportError::NeedsSignIn(SignInReason::Scope {
            server: "https://mcp.example.com".into(),
            status: StatusCode::FORBIDDEN,
            scopes: [words()].into(),
        })
        .into(),
        TransportError::Protocol(malformed()).into(),
        TransportError::Protocol(InvalidAnswer::NotJsonRpc {
            url: DisplayUrl::new(&words()),
            text: words(),
        })
        .into(),
        UpstreamError::Protocol(ProtocolFault::InitializeRefused { message: words() }),
        UpstreamError::Protocol(ProtocolFault::Initialize(initialize(&format!(
            r#"{{"protocolVersion":"{SECRET}"}}"#
        )))),
        UpstreamError::Protocol(ProtocolFault::Initialize(initialize(&format!(
            "\"{SECRET}\""
        )))),
        UpstreamError::Unreachable(UnreachableReason::CrashedOften {
            retry_after: Duration::from_secs(30),
            last_error: Box::new(lost.clone()),
        }),
        lost.clone().into_not_sent(),
        lost,
    ]
}

#[test]
fn no_text_or_source_of_an_error_keeps_a_secret() {
    for error in errors_with_secrets() {
        let shown = error.to_string();
        assert!(
            shown.contains(SECRET),
            "the error text must contain a secret to mask: {shown}"
        );
        let masked = error.map_text(&|text| text.replace(SECRET, "***"));
        let chain = std::iter::successors(Some(&masked as &dyn std::error::Error), |e| e.source());
        for text in chain.map(ToString::to_string) {
            assert!(!text.contains(SECRET), "{text}");
        }
    }
}

#[test]
fn only_a_missing_program_has_the_remedy_to_install_it() {
    let missing = UpstreamError::from(SpawnError::CommandNotFound {
        command: "npx".into(),
    });
    assert_eq!(
        missing.to_string(),
        "Drawbridge cannot find the command 'npx' in the PATH",
        "the PATH itself is too long for a notice"
    );
    assert!(missing.remedy().contains("Install the program"));
    let moved = UpstreamError::from(SpawnError::ProgramNotFound {
        program: "/opt/tools/server".into(),
    });
    assert!(moved.remedy().contains("correct its path"));
    let quoted = UpstreamError::Protocol(ProtocolFault::InitializeRefused {
        message: "cannot find the command".into(),
    });
    assert!(!quoted.remedy().contains("Install the program"));
}

#[test]
fn only_failures_to_start_that_can_pass_are_tried_again() {
    let spawn = |error: SpawnError| UpstreamError::from(error).is_transient();
    let io = |kind: io::ErrorKind| SpawnError::Io {
        command: "server".into(),
        source: Arc::new(kind.into()),
    };
    let sandbox = |failure| SpawnError::Sandbox {
        command: "server".into(),
        failure,
    };
    let command = "npx".to_owned();
    assert!(!spawn(SpawnError::CommandNotFound { command }));
    let program = "/opt/tools/server".to_owned();
    assert!(!spawn(SpawnError::ProgramNotFound { program }));
    let folder = "/opt/tools".to_owned();
    assert!(!spawn(SpawnError::FolderNotFound { folder }));
    assert!(!spawn(sandbox(SandboxFailure::NotLinux)));
    assert!(spawn(sandbox(SandboxFailure::NoGuard)));
    assert!(!spawn(io(io::ErrorKind::NotFound)));
    assert!(!spawn(io(io::ErrorKind::PermissionDenied)));
    assert!(spawn(io(io::ErrorKind::WouldBlock)), "too many processes");
}
