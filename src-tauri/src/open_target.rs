//! The link or file that a start of the app asks the app to open: a link `drawbridge://add?…`,
//! which fills in the form of a new server, or an MCP bundle, whose form is shown. Opening adds and
//! starts nothing: a person adds the server in the window, which also checks the values in the link
//! or bundle.

use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tauri::Url;

/// The maximum length of a link or path in bytes. The window refuses links that are longer than a
/// quarter of this length, and says why.
const MAX_LINK_BYTES: usize = 32 * 1024;

/// A form that the app has been asked to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenTarget {
    /// The form of a new server, filled in from this query, such as `name=files&command=npx`.
    AddLink { query: String },
    /// The form of the MCP bundle in this file, which may be missing or no bundle.
    Bundle { path: PathBuf },
}

/// Why an argument cannot be opened.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("the link or path is longer than {MAX_LINK_BYTES} bytes")]
    TooLong,
    #[error(
        "the link is not for Drawbridge: it must begin with drawbridge://add? or be the path of a file"
    )]
    UnknownLink,
}

impl OpenTarget {
    /// Reads an argument of the command line: a link, the URL of a file, or a path relative to
    /// `folder`. Everything that is no link counts as a path, so that the window can say why
    /// nothing can be opened there.
    ///
    /// # Errors
    /// Returns an error if the argument is too long, or a link that is not for Drawbridge.
    pub(crate) fn parse(argument: &str, folder: &Path) -> Result<Self, TargetError> {
        if argument.len() > MAX_LINK_BYTES {
            return Err(TargetError::TooLong);
        }
        if argument.starts_with("drawbridge:") {
            return Self::parse_link(argument);
        }
        // A path may contain '://', too. No other scheme can name a file of this computer.
        if argument.starts_with("file:") {
            return Url::parse(argument)
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .map(|path| Self::Bundle { path })
                .ok_or(TargetError::UnknownLink);
        }
        Ok(Self::Bundle {
            path: folder.join(argument),
        })
    }

    fn parse_link(link: &str) -> Result<Self, TargetError> {
        let rest = link
            .strip_prefix("drawbridge://add")
            .ok_or(TargetError::UnknownLink)?;
        let query = rest
            .strip_prefix('/')
            .unwrap_or(rest)
            .strip_prefix('?')
            .ok_or(TargetError::UnknownLink)?;
        // A fragment is not part of the query.
        let query = query.split('#').next().unwrap_or_default().to_owned();
        Ok(Self::AddLink { query })
    }

    /// Returns the hash of the page that shows the form.
    pub(crate) fn hash(&self) -> String {
        let (key, value) = match self {
            Self::AddLink { query } => ("add", query.as_str().into()),
            Self::Bundle { path } => ("bundle", path.to_string_lossy()),
        };
        let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        format!("#/servers?{key}={value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(argument: &str) -> Result<OpenTarget, TargetError> {
        OpenTarget::parse(argument, Path::new("/home/ada"))
    }

    #[test]
    fn a_link_opens_the_form_with_its_query_only() {
        for link in [
            "drawbridge://add?name=Files&command=npx&arg=-y",
            "drawbridge://add/?name=Files&command=npx&arg=-y#/settings",
        ] {
            let link = parse(link).expect("a link");
            assert_eq!(
                link.hash(),
                "#/servers?add=name%3DFiles%26command%3Dnpx%26arg%3D%2Dy"
            );
        }
    }

    #[test]
    fn a_path_and_the_url_of_a_file_open_the_form_of_a_bundle() {
        for (argument, path) in [
            ("/tmp/a b.mcpb", "/tmp/a b.mcpb"),
            ("file:///tmp/a%20b%C3%A4.mcpb", "/tmp/a bä.mcpb"),
            ("Downloads/notes.mcpb", "/home/ada/Downloads/notes.mcpb"),
            // The window says why these cannot be opened.
            ("missing", "/home/ada/missing"),
            ("/etc", "/etc"),
        ] {
            let path = path.into();
            assert_eq!(
                parse(argument),
                Ok(OpenTarget::Bundle { path }),
                "{argument}"
            );
        }
        let bundle = parse("/tmp/a&b#?.mcpb").expect("a path");
        assert_eq!(
            bundle.hash(),
            "#/servers?bundle=%2Ftmp%2Fa%26b%23%3F%2Emcpb"
        );
    }

    #[test]
    fn any_other_link_and_a_link_that_is_too_long_are_refused() {
        for link in [
            "drawbridge://remove?name=Files",
            "drawbridge://addition?name=Files",
            "drawbridge:add",
            "file://another.computer/notes.mcpb",
        ] {
            assert_eq!(parse(link), Err(TargetError::UnknownLink), "{link}");
        }
        let long = format!("drawbridge://add?name={}", "x".repeat(MAX_LINK_BYTES));
        assert_eq!(parse(&long), Err(TargetError::TooLong));
    }
}
