//! Properties that hold for any beginning of a stream.

use url::Url;

use super::{EndpointReader, resolve_endpoint};

/// Checks that the endpoint and the events after it do not depend on how the bytes are split.
pub(crate) fn the_endpoint_does_not_depend_on_cuts(pieces: &[&[u8]]) {
    let whole = pieces.concat();
    let single: Vec<&[u8]> = whole.chunks(1).collect();
    let in_pieces = read(pieces);
    assert_eq!(in_pieces, read(&single), "byte by byte");
    assert_eq!(in_pieces, read(&[&whole]), "at once");
}

/// Returns the endpoint, the events after it, and whether a limit was exceeded.
fn read(pieces: &[&[u8]]) -> (Option<String>, Vec<(String, String)>, bool) {
    let mut reader = EndpointReader::new();
    let exceeds_limit = pieces.iter().any(|piece| reader.push(piece).is_err());
    (
        reader.endpoint,
        reader
            .early_events
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect(),
        exceeds_limit,
    )
}

/// Checks that messages, and the headers with them, are posted only to the server at the base URL.
pub(crate) fn endpoint_has_the_same_origin(data: &str) {
    for base in [
        "http://127.0.0.1:8000/sse?key=1#x",
        "https://example.com/a/b/",
    ] {
        let url = Url::parse(base).expect("a URL");
        if let Ok(endpoint) = resolve_endpoint(&url, data) {
            let read = Url::parse(endpoint.as_str()).expect("a URL");
            assert_eq!(
                (read.scheme(), read.host_str(), read.port()),
                (url.scheme(), url.host_str(), url.port())
            );
        }
    }
}
