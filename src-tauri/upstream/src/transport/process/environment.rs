//! The environment of a server: a few variables of the hub, the PATH of the login shell, the
//! variables of the server's spec, and the id of the hub's run. A server does not see the other
//! variables of the hub, because they may hold the keys of other programs.

use std::collections::BTreeMap;

use super::{appimage, login_path::login_path};

/// The variable that marks the processes of one run of the hub. On Linux, the guard, which ends the
/// server processes that are left when the hub ends, also finds marked processes that no longer
/// descend from it.
pub(super) const RUN_ID_VARIABLE: &str = "DRAWBRIDGE_RUN";

const PASSED_VARIABLES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Windows
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMDATA",
    "USERNAME",
    "PROCESSOR_ARCHITECTURE",
];

pub(super) async fn build_environment(
    spec_env: &BTreeMap<String, String>,
    run_id: &str,
) -> BTreeMap<String, String> {
    let passed = |(name, _): &(String, String)| {
        PASSED_VARIABLES.contains(&name.as_str()) || name.starts_with("LC_")
    };
    let mut env: BTreeMap<String, String> = appimage::original_variables()
        .into_iter()
        .filter(passed)
        .collect();
    env.insert("PATH".into(), login_path().await.to_owned());
    env.extend(
        spec_env
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    env.insert(RUN_ID_VARIABLE.into(), run_id.to_owned());
    env
}
