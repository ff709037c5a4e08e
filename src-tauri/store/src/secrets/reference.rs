//! The secrets to which a spec refers, and the secrets that a server may use.

use std::collections::BTreeSet;

use drawbridge_model::{
    ids::ServerId,
    reference::{Reference, list_references},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::SecretError;

/// The characters that are encoded in a URL: all characters that could end a part of the URL. Other
/// characters stay as they are, because a server may compare a parameter without decoding it.
const ENCODED_IN_URL: &AsciiSet = &NON_ALPHANUMERIC
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

/// Percent-encodes a secret so that it stays one part of a URL.
pub(super) fn encode_for_url(secret: &str) -> String {
    utf8_percent_encode(secret, ENCODED_IN_URL).to_string()
}

/// Returns the reference to the secret with this name.
pub fn format_reference(name: &str) -> String {
    format!("${{keyring:{name}}}")
}

/// Returns the names of the stored secrets to which a text refers, in order of appearance.
pub fn referenced_names(text: &str) -> Vec<String> {
    list_references(text)
        .filter_map(|(reference, _)| match reference {
            Reference::Keyring(name) => Some(name.to_owned()),
            Reference::Env(_) | Reference::Command(_) => None,
        })
        .collect()
}

/// Returns the references to external secrets, which Drawbridge does not store, as a text contains
/// them.
pub fn external_references(text: &str) -> Vec<String> {
    list_references(text)
        .filter(|(reference, _)| reference.is_external())
        .map(|(_, whole)| whole.to_owned())
        .collect()
}

/// Returns whether a secret is the server's own: its name is `<server id>.*`.
pub fn is_own_secret(server: &ServerId, name: &str) -> bool {
    name.strip_prefix(server.as_str())
        .is_some_and(|rest| rest.starts_with('.'))
}

/// The secrets that a server, or a part of Drawbridge with secrets of its own, may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretScope {
    server: ServerId,
    /// The names of secrets that the server may use, whether or not they are its own.
    granted: BTreeSet<String>,
    /// Whether the server may use all of its own secrets.
    has_own: bool,
    /// The references to external secrets that the server may use, or `None` for all.
    external: Option<BTreeSet<String>>,
}

impl SecretScope {
    /// Returns the scope of a spec that a person wrote or runs: the server's own secrets, the
    /// granted secrets, and all external secrets.
    pub fn new(server: ServerId, granted: BTreeSet<String>) -> Self {
        Self {
            server,
            granted,
            has_own: true,
            external: None,
        }
    }

    /// Returns the scope of a part of Drawbridge that has secrets of its own, whose names begin
    /// with the prefix and a dot. The scope also includes all external secrets.
    pub fn for_prefix(prefix: &str) -> Self {
        Self::new(ServerId::new(prefix), BTreeSet::new())
    }

    /// Returns the scope of exactly these secrets and references, which the accepted spec has. Both
    /// sets are empty if nobody has accepted the server as it is.
    pub fn exactly(
        server: ServerId,
        granted: BTreeSet<String>,
        external: BTreeSet<String>,
    ) -> Self {
        Self {
            server,
            granted,
            has_own: false,
            external: Some(external),
        }
    }

    /// Checks that the server may use the secret of a reference, whose whole text is `whole`.
    ///
    /// # Errors
    /// Returns an error if nobody granted the secret or accepted the reference.
    pub(super) fn check_reference(
        &self,
        reference: Reference<'_>,
        whole: &str,
    ) -> Result<(), SecretError> {
        if let Reference::Keyring(name) = reference {
            return self.check(name);
        }
        let is_accepted = |accepted: &BTreeSet<String>| accepted.contains(whole);
        if self.external.as_ref().is_none_or(is_accepted) {
            return Ok(());
        }
        Err(SecretError::NotAccepted {
            reference: whole.to_owned(),
            server: self.server.clone(),
        })
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

    #[test]
    fn only_an_accepted_command_or_variable_may_be_used() {
        let accepted = ["${env:A}".to_owned()].into();
        let scope = SecretScope::exactly(ServerId::new("s"), BTreeSet::new(), accepted);
        for (text, is_allowed) in [
            ("${env:A}", true),
            ("${env:B}", false),
            ("${command:A}", false),
        ] {
            let (reference, whole) = list_references(text).next().expect("a reference");
            let checked = scope.check_reference(reference, whole);
            assert_eq!(checked.is_ok(), is_allowed, "{text}: {checked:?}");
        }
    }
}
