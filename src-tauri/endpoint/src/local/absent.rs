//! Platforms that have no local socket yet.

use std::path::Path;

use drawbridge_hub::api::ApiError;
use tokio::net::TcpListener;

use super::{BindError, Bound};

const ABSENT: &str = "not available on this system yet";

pub(crate) async fn bind(data_dir: &Path) -> Result<Bound<TcpListener>, BindError> {
    Err(BindError {
        address: data_dir.display().to_string(),
        error: ABSENT.to_owned(),
    })
}

pub(crate) fn connect(_data_dir: &Path) -> Result<reqwest::ClientBuilder, ApiError> {
    Err(ApiError::unavailable(format!(
        "the local socket is {ABSENT}"
    )))
}
