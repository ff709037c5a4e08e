//! The local socket on platforms where Drawbridge does not support local sockets yet: each function
//! fails.

use std::path::Path;

use drawbridge_hub::api::ApiError;
use tokio::net::TcpListener;

use super::BindOutcome;
use crate::listener::BindError;

pub(crate) async fn bind(data_dir: &Path) -> BindOutcome<TcpListener> {
    BindOutcome {
        address: data_dir.display().to_string(),
        listener: Err(BindError::NoLocalSockets),
    }
}

pub(crate) fn client_builder(_data_dir: &Path) -> Result<reqwest::ClientBuilder, ApiError> {
    Err(ApiError::unavailable(BindError::NoLocalSockets.to_string()))
}
