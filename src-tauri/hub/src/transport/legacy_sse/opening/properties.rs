//! What must hold for whatever a server says first.

use url::Url;

use super::{Opening, resolve};

/// Where to post, and what comes behind that, does not depend on how the bytes come.
pub(crate) fn the_endpoint_does_not_depend_on_cuts(pieces: &[&[u8]]) {
    let whole = pieces.concat();
    let single: Vec<&[u8]> = whole.chunks(1).collect();
    let found = read(pieces);
    assert_eq!(found, read(&single), "byte by byte");
    assert_eq!(found, read(&[&whole]), "at once");
}

/// The endpoint, what came behind it, and whether it was given up.
fn read(pieces: &[&[u8]]) -> (Option<String>, Vec<(String, String)>, bool) {
    let mut opening = Opening::new();
    let gave_up = pieces.iter().any(|piece| opening.push(piece).is_err());
    (
        opening.endpoint,
        opening
            .early
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect(),
        gave_up,
    )
}

/// Messages, and the headers with them, are posted to the server that was given and to no other.
pub(crate) fn a_place_is_at_the_same_origin(said: &str) {
    for given in [
        "http://127.0.0.1:8000/sse?key=1#x",
        "https://example.com/a/b/",
    ] {
        let url = Url::parse(given).expect("a URL");
        if let Ok(place) = resolve(&url, said) {
            let read = Url::parse(place.as_str()).expect("a URL");
            assert_eq!(
                (read.scheme(), read.host_str(), read.port()),
                (url.scheme(), url.host_str(), url.port())
            );
        }
    }
}
