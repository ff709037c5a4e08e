//! `/`, `/icon.svg` and `/assets/…`: the web UI, embedded in the program. A debug build reads it
//! from disk.

use axum::{
    extract::{Path, rejection::PathRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error_response::{Refusal, route_not_found};

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
struct Dist;

pub(crate) async fn index(headers: HeaderMap) -> Result<Response, Refusal> {
    serve_revalidated(&headers, "index.html")
}

pub(crate) async fn icon(headers: HeaderMap) -> Result<Response, Refusal> {
    serve_revalidated(&headers, "icon.svg")
}

/// Serves a file that keeps its name when its content changes, so browsers must revalidate it.
fn serve_revalidated(headers: &HeaderMap, name: &str) -> Result<Response, Refusal> {
    match Dist::get(name) {
        Some(file) => Ok(file_response(headers, file, "no-cache")),
        None => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "the web UI is not built; run `npm run build` in ui/",
        )),
    }
}

/// Serves an asset. The name of an asset contains a hash of its content, so browsers may cache it
/// forever.
pub(crate) async fn asset(
    file: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Path(file) = file?;
    let is_inside = file.split('/').all(|part| part != "..");
    match Dist::get(&format!("assets/{file}")) {
        Some(file) if is_inside => Ok(file_response(
            &headers,
            file,
            "public, max-age=31536000, immutable",
        )),
        Some(_) | None => Err(route_not_found()),
    }
}

fn file_response(headers: &HeaderMap, file: EmbeddedFile, cache_control: &str) -> Response {
    let tag = format!("\"{}\"", hex::encode(file.metadata.sha256_hash()));
    let is_cached = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let cache_headers = [
        (header::CACHE_CONTROL, cache_control.to_owned()),
        (header::ETAG, tag),
    ];
    if is_cached {
        return (StatusCode::NOT_MODIFIED, cache_headers).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, file.metadata.mimetype().to_owned())];
    (cache_headers, content_type, file.data.into_owned()).into_response()
}
