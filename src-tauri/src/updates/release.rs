//! The list of releases, and the signature of a release.
//!
//! The list is a JSON object that describes only the newest release: `version`, `notes`, and for
//! each kind of computer in `platforms` (such as `linux-x86_64`) the `url` of a file and the text of
//! its minisign `signature`. The list itself is not signed, so the signature's trusted comment has
//! to name the version and the kind of computer: otherwise a changed list could offer an old
//! release, with its old signature, as a new release.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use drawbridge_model::cause::Cause;
use minisign_verify::{PublicKey, Signature};
use semver::Version;
use serde::Deserialize;

use super::UpdateError;

#[derive(Deserialize)]
struct ReleaseList {
    version: Version,
    #[serde(default)]
    notes: String,
    platforms: BTreeMap<String, ReleaseFile>,
}

#[derive(Deserialize)]
struct ReleaseFile {
    url: String,
    signature: String,
}

/// A release that is newer than the app, with its file for this computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: Version,
    pub(super) notes: String,
    pub(super) url: String,
    signature: String,
}

/// Why a downloaded file is not installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("the release is not installed: its signature cannot be read")]
    Unreadable,
    #[error(
        "the release is not installed: its signature has the legacy form of minisign, which \
         Drawbridge does not support, so it counts as not signed"
    )]
    LegacyForm,
    #[error("the release is not installed: its publisher did not sign this file")]
    WrongFile,
    #[error(
        "the release is not installed: its publisher signed the file as '{signed}', not as '{offered}'"
    )]
    WrongRelease { signed: String, offered: String },
    #[error("the release is not installed: the downloaded file cannot be read: {0}")]
    File(Cause),
}

/// Returns the release of the list if it is newer than `current`.
///
/// # Errors
/// Returns an error if the list is not valid, or if a newer release has no file for `target`.
pub(super) fn find_newer(
    list: &[u8],
    current: &Version,
    target: &str,
) -> Result<Option<Release>, UpdateError> {
    let mut list: ReleaseList = serde_json::from_slice(list)
        .map_err(|error| UpdateError::InvalidList(Cause::innermost(error)))?;
    if list.version <= *current {
        return Ok(None);
    }
    let Some(file) = list.platforms.remove(target) else {
        return Err(UpdateError::NoFile {
            version: list.version,
            target: target.to_owned(),
        });
    };
    Ok(Some(Release {
        version: list.version,
        notes: list.notes,
        url: file.url,
        signature: file.signature,
    }))
}

impl Release {
    /// Checks that the publisher signed this file as this release for `target`.
    ///
    /// # Errors
    /// Returns an error if the publisher did not sign the file as this release, or if the signature
    /// or the file cannot be read.
    pub(super) fn verify(
        &self,
        key: &PublicKey,
        target: &str,
        file: &Path,
    ) -> Result<(), SignatureError> {
        let signature =
            Signature::decode(&self.signature).map_err(|_| SignatureError::Unreadable)?;
        let mut verifier = key.verify_stream(&signature).map_err(|error| {
            if matches!(error, minisign_verify::Error::UnsupportedLegacyMode) {
                SignatureError::LegacyForm
            } else {
                SignatureError::WrongFile
            }
        })?;
        let read_error = |error| SignatureError::File(Cause::innermost(error));
        let mut file = File::open(file).map_err(read_error)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer).map_err(read_error)? {
                0 => break,
                length => verifier.update(&buffer[..length]),
            }
        }
        verifier.finalize().map_err(|_| SignatureError::WrongFile)?;
        // The verifier has checked the signature of this comment, too.
        let offered = signed_comment(&self.version, target);
        let signed = signature.trusted_comment();
        if signed == offered {
            Ok(())
        } else {
            Err(SignatureError::WrongRelease {
                signed: signed.to_owned(),
                offered,
            })
        }
    }
}

/// Returns the trusted comment of the signature of a release.
pub(super) fn signed_comment(version: &Version, target: &str) -> String {
    format!("drawbridge {version} {target}")
}
