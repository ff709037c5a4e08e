//! Identifiers and timestamps. Each kind of id has its own type, so that an id cannot be passed for
//! an id of another kind. Ids are cheap to clone.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "bindings", derive(ts_rs::TS), ts(type = "string"))]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of a server, in `[a-z0-9_-]`: the name of its spec file without `.json`, or the id of
    /// a built-in server, which has no file.
    ServerId
}
id! {
    /// The name that the user gave a client.
    ClientName
}
id! {
    /// The name of a user, to whom clients belong.
    UserName
}

impl Default for UserName {
    /// Returns the user to whom a client belongs if no other user is named.
    fn default() -> Self {
        Self::new("default")
    }
}

id! {
    /// The id of a call, or of another guarded request. Its approval request has the same id.
    CallId
}
id! {
    /// The id of a client session.
    SessionId
}

id! {
    /// The id of a rule of the policy.
    RuleId
}

id! {
    /// The id of an attempt to sign in to a server.
    SignInId
}

id! {
    /// The id of a client's request to be paired.
    PairingId
}

id! {
    /// The id of a browser that is signed in to the screens.
    BrowserId
}

/// A moment, in milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS), ts(type = "number"))]
#[serde(transparent)]
pub struct Timestamp(pub i64);
