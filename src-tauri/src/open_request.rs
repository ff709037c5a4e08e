//! What a start of the app asks it to open: a link `drawbridge://add?…`, which fills in the form of
//! a new server, or an `.mcpb` bundle. Neither adds nor starts anything: a person does that in the
//! window, which also checks what the link says.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const LINK_START: &str = "drawbridge:";
const BUNDLE_EXTENSION: &str = "mcpb";
/// The longest link in bytes. The window refuses links of a quarter of this length, and says so.
const MAX_LINK_BYTES: usize = 32 * 1024;

/// The page of the main window that the app has been asked to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenRequest {
    /// Fills in the form of a new server from this query, such as `name=files&command=npx`.
    AddServer { query: String },
    /// Shows the bundle at this path.
    OpenBundle(PathBuf),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("the link is longer than {MAX_LINK_BYTES} bytes")]
    TooLong,
    #[error("the link is none of Drawbridge's: it has to begin with drawbridge://add?")]
    UnknownLink,
    #[error("only drawbridge:// links and .mcpb bundles can be opened")]
    UnknownFile,
}

impl OpenRequest {
    /// Reads an argument of the command line. A relative path is relative to `folder`.
    ///
    /// # Errors
    /// Returns an error if the argument is neither a link of Drawbridge's nor a bundle.
    pub(crate) fn parse(argument: &str, folder: &Path) -> Result<Self, OpenError> {
        if argument.len() > MAX_LINK_BYTES {
            return Err(OpenError::TooLong);
        }
        if argument.starts_with(LINK_START) {
            return parse_link(argument).ok_or(OpenError::UnknownLink);
        }
        let path = match argument.strip_prefix("file://") {
            Some(path) => percent_decode_str(path)
                .decode_utf8()
                .map_err(|_| OpenError::UnknownFile)?
                .into_owned(),
            None => argument.to_owned(),
        };
        let path = folder.join(path);
        let is_bundle = path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|extension| extension.eq_ignore_ascii_case(BUNDLE_EXTENSION));
        if is_bundle {
            Ok(Self::OpenBundle(path))
        } else {
            Err(OpenError::UnknownFile)
        }
    }

    /// Returns the hash of the page that shows the request.
    pub(crate) fn hash(&self) -> String {
        let (name, value) = match self {
            Self::AddServer { query } => ("add", query.as_str().into()),
            Self::OpenBundle(path) => ("bundle", path.to_string_lossy()),
        };
        let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        format!("#/servers?{name}={value}")
    }
}

/// Returns the request of a link, or `None` if Drawbridge has no such link.
fn parse_link(link: &str) -> Option<OpenRequest> {
    let rest = link.strip_prefix("drawbridge://add")?;
    let query = rest.strip_prefix('/').unwrap_or(rest).strip_prefix('?')?;
    // A fragment is not part of the query.
    let query = query.split('#').next().unwrap_or_default().to_owned();
    Some(OpenRequest::AddServer { query })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(argument: &str) -> Result<OpenRequest, OpenError> {
        OpenRequest::parse(argument, Path::new("/home/ada"))
    }

    #[test]
    fn a_link_opens_the_form_with_its_query_only() {
        let query = "name=Files&command=npx&arg=-y".to_owned();
        for link in [
            "drawbridge://add?name=Files&command=npx&arg=-y",
            "drawbridge://add/?name=Files&command=npx&arg=-y#/settings",
        ] {
            let request = parse(link).expect("a link");
            assert_eq!(
                request,
                OpenRequest::AddServer {
                    query: query.clone()
                }
            );
            assert_eq!(
                request.hash(),
                "#/servers?add=name%3DFiles%26command%3Dnpx%26arg%3D%2Dy"
            );
        }
    }

    #[test]
    fn a_bundle_is_opened_by_its_path_or_url() {
        let bundle = |path: &str| Ok(OpenRequest::OpenBundle(path.into()));
        assert_eq!(parse("notes.mcpb"), bundle("/home/ada/notes.mcpb"));
        assert_eq!(
            parse("file:///tmp/my%20notes.MCPB"),
            bundle("/tmp/my notes.MCPB")
        );
        let request = OpenRequest::OpenBundle("/tmp/a b?.mcpb".into());
        assert_eq!(request.hash(), "#/servers?bundle=%2Ftmp%2Fa%20b%3F%2Emcpb");
    }

    #[test]
    fn anything_else_is_refused() {
        for link in [
            "drawbridge://remove?name=Files",
            "drawbridge://addition?name=Files",
            "drawbridge:add",
        ] {
            assert_eq!(parse(link), Err(OpenError::UnknownLink), "{link}");
        }
        assert_eq!(parse("/etc/passwd"), Err(OpenError::UnknownFile));
        let long = format!("drawbridge://add?name={}", "x".repeat(MAX_LINK_BYTES));
        assert_eq!(parse(&long), Err(OpenError::TooLong));
    }
}
