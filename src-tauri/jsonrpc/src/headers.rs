//! The names of MCP's HTTP headers, except those that repeat parts of the body of a modern request.

use http::HeaderName;

/// The id of a session, from the response to `initialize` on.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The protocol revision of a request.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The id of the last event that a client has received on a stream.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
