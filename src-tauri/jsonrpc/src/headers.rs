//! The names of the HTTP headers of legacy MCP. A modern request has more headers, which repeat
//! parts of its body.

use http::HeaderName;

/// The id of a session. The response to `initialize` states it, and later requests repeat it.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The protocol revision of a request.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The id of the last event that a client has received on a stream.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
