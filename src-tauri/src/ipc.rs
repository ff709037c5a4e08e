//! The list of commands, the same as the hub's list of verbs, and the name of the event that
//! carries the hub's events. `src-tauri/permissions` and `src-tauri/capabilities` define which
//! window may use which command.

use tauri::{Wry, ipc::Invoke};

use crate::commands;

/// The Tauri event whose payload is a hub's `Event`.
pub(crate) const HUB_EVENT: &str = "hub";

macro_rules! commands {
    ($($noun:ident::$command:ident),+ $(,)?) => {
        /// The names of all commands: those of the verbs, with `_` instead of the dot.
        #[cfg(test)]
        const COMMANDS: &[&str] = &[$(stringify!($command)),+];

        /// Returns a handler that runs the command that a window invokes.
        pub(crate) fn handler() -> impl Fn(Invoke<Wry>) -> bool + Send + Sync + 'static {
            tauri::generate_handler![$(commands::$noun::$command),+]
        }
    };
}

commands! {
    approvals::approvals_list,
    approvals::approvals_show,
    approvals::approvals_decide,
    approvals::approvals_missed,
    approvals::approvals_allow_retry,
    approvals::approvals_preview,
    audit::audit_verify,
    audit::audit_export,
    calls::calls_list,
    calls::calls_show,
    clients::clients_list,
    clients::clients_add,
    clients::clients_revoke,
    drawbridge::drawbridge_show,
    drawbridge::drawbridge_pause,
    drawbridge::drawbridge_resume,
    health::health_show,
    logs::logs_list,
    policy::policy_list,
    policy::policy_set,
    policy::policy_remove,
    policy::policy_set_default,
    policy::policy_save,
    policy::policy_delete_rule,
    policy::policy_preview,
    policy::policy_export,
    policy::policy_import,
    policy::policy_apply_preset,
    policy::policy_stats,
    profiles::profiles_list,
    profiles::profiles_put,
    profiles::profiles_remove,
    profiles::profiles_assign,
    screens::screens_open,
    secrets::secrets_list,
    secrets::secrets_set,
    secrets::secrets_remove,
    servers::servers_list,
    servers::servers_show,
    servers::servers_add,
    servers::servers_update,
    servers::servers_remove,
    servers::servers_enable,
    servers::servers_accept,
    servers::servers_verify,
    servers::servers_verify_spec,
    servers::servers_sync,
    servers::servers_restart,
    servers::servers_read_specs,
    servers::servers_usage,
    servers::servers_capabilities,
    servers::servers_tool_history,
    servers::servers_accept_tools,
    servers::servers_read_manifest,
    servers::servers_fill_manifest,
    servers::servers_presets,
    servers::servers_check_runtimes,
    servers::servers_sign_in,
    servers::servers_await_sign_in,
    servers::servers_cancel_sign_in,
    servers::servers_sign_out,
    settings::settings_show,
    settings::settings_change,
    tools::tools_list,
    tools::tools_export,
    tools::tools_call,
}

#[cfg(test)]
mod tests;
