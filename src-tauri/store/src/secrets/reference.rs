//! `${keyring:NAME}`: the reference of a spec to a secret, and the secrets that a server may use.

use std::collections::BTreeSet;

use drawbridge_model::ids::ServerId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::SecretError;

const OPEN: &str = "${keyring:";

/// The characters that end no part of a URL are not encoded: a parameter may be compared as it is
/// written.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'=')
    .remove(b'!')
    .remove(b'$')
    .remove(b'*')
    .remove(b',')
    .remove(b'(')
    .remove(b')');

/// Returns a secret as a part of a URL.
pub(super) fn encode_for_url(secret: &str) -> String {
    utf8_percent_encode(secret, IN_URL).to_string()
}

/// Returns the reference to the secret with this name.
pub fn format_reference(name: &str) -> String {
    format!("{OPEN}{name}}}")
}

/// Returns the names that a text refers to, in order of appearance.
pub fn referenced_names(text: &str) -> Vec<String> {
    text.split(OPEN)
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Returns whether a secret is the server's own: its name is `<server id>.*`.
pub fn is_own_secret(server: &ServerId, name: &str) -> bool {
    name.strip_prefix(server.as_str())
        .is_some_and(|rest| rest.starts_with('.'))
}

/// The secrets that a server may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretScope {
    server: ServerId,
    granted: BTreeSet<String>,
    /// Whether the server may use all of its own secrets.
    has_own: bool,
}

impl SecretScope {
    /// Returns the scope of the server's own secrets and the granted ones.
    pub fn new(server: ServerId, granted: BTreeSet<String>) -> Self {
        Self {
            server,
            granted,
            has_own: true,
        }
    }

    /// Returns the scope of these secrets alone, to which the accepted spec refers. It is empty for
    /// a server that nobody has accepted as it is.
    pub fn exactly(server: ServerId, granted: BTreeSet<String>) -> Self {
        Self {
            server,
            granted,
            has_own: false,
        }
    }

    /// Checks that the server may use a secret.
    ///
    /// # Errors
    /// Returns an error if nobody granted the secret.
    pub fn check(&self, name: &str) -> Result<(), SecretError> {
        if (self.has_own && is_own_secret(&self.server, name)) || self.granted.contains(name) {
            Ok(())
        } else {
            Err(SecretError::NotGranted {
                name: name.to_owned(),
                server: self.server.clone(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_in_a_text_is_found() {
        let text = format!(
            "Bearer {} and {}",
            format_reference("a.b"),
            format_reference("c")
        );
        assert_eq!(referenced_names(&text), ["a.b", "c"]);
    }

    #[test]
    fn malformed_references_are_ignored() {
        assert!(referenced_names("${HOME} ${keyring:open keyring:x}").len() == 1);
        assert!(referenced_names("${keyring:never closed").is_empty());
    }
}
