//! A link `drawbridge://add?…` that starts the app, or that a second start passes to the app. The
//! link fills in the form of a new server. It neither adds nor starts anything: a person does that
//! in the window, which also checks the values in the link.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The longest link in bytes. The window refuses links of a quarter of this length, and says so.
const MAX_LINK_BYTES: usize = 32 * 1024;

/// A link that the app has been asked to open: it fills in the form of a new server from this
/// query, such as `name=files&command=npx`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddLink {
    query: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the link is longer than {MAX_LINK_BYTES} bytes")]
    TooLong,
    #[error("the link is none of Drawbridge's: it has to begin with drawbridge://add?")]
    UnknownLink,
}

impl AddLink {
    /// Reads an argument of the command line.
    ///
    /// # Errors
    /// Returns an error if the argument is no link of Drawbridge's.
    pub(crate) fn parse(argument: &str) -> Result<Self, LinkError> {
        if argument.len() > MAX_LINK_BYTES {
            return Err(LinkError::TooLong);
        }
        let rest = argument
            .strip_prefix("drawbridge://add")
            .ok_or(LinkError::UnknownLink)?;
        let query = rest
            .strip_prefix('/')
            .unwrap_or(rest)
            .strip_prefix('?')
            .ok_or(LinkError::UnknownLink)?;
        // A fragment is not part of the query.
        let query = query.split('#').next().unwrap_or_default().to_owned();
        Ok(Self { query })
    }

    /// Returns the hash of the page that shows the form.
    pub(crate) fn hash(&self) -> String {
        let query = utf8_percent_encode(&self.query, NON_ALPHANUMERIC);
        format!("#/servers?add={query}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_the_form_with_its_query_only() {
        for link in [
            "drawbridge://add?name=Files&command=npx&arg=-y",
            "drawbridge://add/?name=Files&command=npx&arg=-y#/settings",
        ] {
            let link = AddLink::parse(link).expect("a link");
            assert_eq!(
                link.hash(),
                "#/servers?add=name%3DFiles%26command%3Dnpx%26arg%3D%2Dy"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for link in [
            "drawbridge://remove?name=Files",
            "drawbridge://addition?name=Files",
            "drawbridge:add",
            "/etc/passwd",
        ] {
            assert_eq!(AddLink::parse(link), Err(LinkError::UnknownLink), "{link}");
        }
        let long = format!("drawbridge://add?name={}", "x".repeat(MAX_LINK_BYTES));
        assert_eq!(AddLink::parse(&long), Err(LinkError::TooLong));
    }
}
