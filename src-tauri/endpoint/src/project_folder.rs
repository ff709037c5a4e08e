//! The folder in which a client works. A client names it with each request, in a header or in the
//! query of its URL, so that the lists of tools, prompts and resources never depend on a
//! connection.

use std::path::PathBuf;

use axum::http::{HeaderMap, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::form_urlencoded;

use crate::error_response::Refusal;

/// The header with the folder: an absolute path, percent-encoded.
pub(crate) const PROJECT_HEADER: &str = "drawbridge-project";

/// The parameter with the folder in the URL's query.
const QUERY_PARAMETER: &str = "project";

/// The characters of a path that are encoded in the header.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');

/// Returns a path as the header contains it, percent-encoded.
pub(crate) fn encode_project_folder(folder: &str) -> String {
    utf8_percent_encode(folder, ENCODED).to_string()
}

/// Returns the folder that a request names. The header takes precedence over the URL.
///
/// # Errors
/// Returns 400 if the folder is not an absolute path, or the header is not percent-encoded UTF-8.
pub(crate) fn read_project_folder(
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Option<PathBuf>, Refusal> {
    let folder = match headers.get(PROJECT_HEADER) {
        Some(value) => {
            let text = value.to_str().ok();
            let text = text.and_then(|text| percent_decode_str(text.trim()).decode_utf8().ok());
            let text = text.ok_or_else(|| invalid_folder("the header `Drawbridge-Project`"))?;
            Some((text.into_owned(), "the header `Drawbridge-Project`"))
        }
        None => form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
            .find(|(name, _)| name == QUERY_PARAMETER)
            .map(|(_, folder)| (folder.into_owned(), "`project` in the URL")),
    };
    let Some((folder, place)) = folder else {
        return Ok(None);
    };
    let path = PathBuf::from(folder);
    if path.is_absolute() {
        Ok(Some(path))
    } else {
        Err(invalid_folder(place))
    }
}

fn invalid_folder(place: &str) -> Refusal {
    Refusal::bad_request(format!(
        "{place} must be the absolute path of a folder, percent-encoded"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, header: Option<&str>) -> Option<Option<PathBuf>> {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(PROJECT_HEADER, header.parse().expect("a header"));
        }
        read_project_folder(&url.parse().expect("a URL"), &headers).ok()
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_read_from_the_header_or_the_url() {
        let path = |text: &str| Some(Some(PathBuf::from(text)));
        assert_eq!(read("/mcp", None), Some(None));
        assert_eq!(read("/mcp?project=%2Fa%20b%2Fc", None), path("/a b/c"));
        assert_eq!(read("/mcp?x=1&project=/a", None), path("/a"));
        assert_eq!(read("/mcp?project=/a", Some("/b")), path("/b"));
        for folder in ["/a b/100%/ä", "/"] {
            assert_eq!(
                read("/mcp", Some(&encode_project_folder(folder))),
                path(folder)
            );
        }
        assert_eq!(read("/mcp", Some("relative")), None);
        assert_eq!(read("/mcp?project=a", None), None);
        assert_eq!(read("/mcp", Some("/%ff")), None);
    }
}
