//! `drawbridge health`: shows whether the running hub works.

use drawbridge_hub::api::health::{HealthStatus, HealthView, ShowHealth};

use crate::{context::Context, exit::Failure, output::print_answer, table::Table, text::escape};

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let health = context.running_hub()?.call(ShowHealth {}).await?;
    print_answer(context.json, &health, format_health)
}

fn format_health(health: &HealthView) -> String {
    let status = match health.status {
        HealthStatus::Ok => "ok",
        HealthStatus::Degraded => "degraded",
        HealthStatus::Down => "down",
    };
    let mut table = Table::new(["PART", "STATE", "DETAILS"]);
    for check in &health.checks {
        let state = if check.ok { "ok" } else { "failed" };
        table.add_row([&check.name, state, &check.error]);
    }
    for listener in &health.transports {
        let state = if listener.listening {
            "listening"
        } else {
            "not listening"
        };
        let details = format!("{} {}", listener.address, listener.error);
        let part = format!("listener {}", listener.name);
        table.add_row([&part, state, details.trim_end()]);
    }
    for server in &health.servers.states {
        table.add_row([&format!("server {}", server.id), server.state.label(), ""]);
    }
    format!(
        "Drawbridge {} is {status}.\n{}",
        escape(&health.version),
        table.format_or("")
    )
}
