//! The commands, one file for each noun. A command turns its arguments into a verb, and the verb's
//! answer into lines of text.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod clients;
mod desktop;
pub(crate) mod drawbridge;
pub(crate) mod logs;
pub(crate) mod open;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod stdio;
pub(crate) mod tools;

use crate::{
    args::{Args, Command},
    context::Context,
    exit::Failure,
};

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let context = Context::new(args.common);
    match args.command {
        None => desktop::run(&context).await,
        Some(Command::Serve(serve)) => serve.run(&context).await,
        Some(Command::Stdio(stdio)) => stdio.run(&context).await,
        Some(Command::Servers(servers)) => servers.run(&context).await,
        Some(Command::Clients(clients)) => clients.run(&context).await,
        Some(Command::Pause) => drawbridge::pause(&context).await,
        Some(Command::Resume) => drawbridge::resume(&context).await,
        Some(Command::Policy(policy)) => policy.run(&context).await,
        Some(Command::Profiles(profiles)) => profiles.run(&context).await,
        Some(Command::Approvals(approvals)) => approvals.run(&context).await,
        Some(Command::Audit(audit)) => audit.run(&context).await,
        Some(Command::Calls(calls)) => calls.run(&context).await,
        Some(Command::Logs(logs)) => logs.run(&context).await,
        Some(Command::Tools(tools)) => tools.run(&context).await,
        Some(Command::Secrets(secrets)) => secrets.run(&context).await,
        Some(Command::Open(open)) => open.run(&context).await,
    }
}
