//! The command-line interface: the arguments, and which command they run. Scripts depend on the
//! arguments, so existing ones never change their meaning.

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    cmd::{
        approvals::Approvals,
        audit::Audit,
        backup::Backup,
        browsers::Browsers,
        calls::Calls,
        clients::Clients,
        completions::Completions,
        config::Config,
        desktop,
        doctor::Doctor,
        drawbridge::{self, Pause},
        folders::Folders,
        health,
        hooks::Hooks,
        import::Import,
        logs::Logs,
        man::Man,
        memory::Memory,
        open::Open,
        policy::Policy,
        profiles::Profiles,
        prompts::Prompts,
        registry::RegistryCommand,
        resources::Resources,
        roots::Roots,
        sampling::Sampling,
        secrets::Secrets,
        serve::Serve,
        servers::Servers,
        settings::Settings,
        stdio::Stdio,
        tools::Tools,
    },
    context::{Common, Context},
    exit::Failure,
};

/// A local gateway between AI clients and MCP servers
///
/// Without a command, opens the desktop app, or runs the hub if there is no display or no app.
#[derive(Parser)]
#[command(name = "drawbridge", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the hub without a window
    Serve(Serve),
    /// Connect a client on stdin and stdout to the hub
    Stdio(Stdio),
    /// Manage MCP servers
    #[command(subcommand)]
    Servers(Servers),
    /// Search the presets and the official registry for a server to add
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Manage clients, their tokens and profiles
    #[command(subcommand)]
    Clients(Clients),
    /// Connect clients: change, test and restore their configuration files
    #[command(subcommand)]
    Config(Config),
    /// Move servers from the files of clients into Drawbridge
    Import(Import),
    /// Manage the policy: which calls and other requests are allowed, denied or asked about
    #[command(subcommand)]
    Policy(Policy),
    /// Manage profiles: which servers and tools a client sees
    #[command(subcommand)]
    Profiles(Profiles),
    /// Share folders, whose files clients can then read
    #[command(subcommand)]
    Folders(Folders),
    /// List the browsers that are signed in to the web UI, and sign them out
    #[command(subcommand)]
    Browsers(Browsers),
    /// Manage hooks: programs and webhooks that run on the events of servers and calls
    #[command(subcommand)]
    Hooks(Hooks),
    /// List and decide pending approvals, and allow retries of missed calls
    #[command(subcommand)]
    Approvals(Approvals),
    /// List, show and count calls, and cancel running calls
    #[command(subcommand)]
    Calls(Calls),
    /// Verify, list and export the audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Show the logs of the hub and its servers
    Logs(Logs),
    /// List and call tools
    #[command(subcommand)]
    Tools(Tools),
    /// List and get prompts
    #[command(subcommand)]
    Prompts(Prompts),
    /// List and read resources
    #[command(subcommand)]
    Resources(Resources),
    /// Manage the memory: the entries that clients and you store
    #[command(subcommand)]
    Memory(Memory),
    /// Manage secrets, and where they are stored
    #[command(subcommand)]
    Secrets(Secrets),
    /// Set up the provider that answers sampling requests if a client cannot
    #[command(subcommand)]
    Sampling(Sampling),
    /// Manage the folders that servers get as roots if a client has none
    #[command(subcommand)]
    Roots(Roots),
    /// Show and change settings
    #[command(subcommand)]
    Settings(Settings),
    /// Make and restore backups of the data folder, and reset the folder
    #[command(subcommand)]
    Backup(Backup),
    /// Check everything that Drawbridge needs, and say how to solve problems
    Doctor(Doctor),
    /// Block all calls: deny pending approvals and abort calls in flight
    Pause(Pause),
    /// Allow calls again
    Resume,
    /// Show whether the hub works: its parts, its listeners and its servers
    Health,
    /// Open the web UI in a browser
    Open(Open),
    /// Print the script with which a shell completes the commands
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

impl Args {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let context = &Context::new(self.common);
        match self.command {
            None => desktop::run(context).await,
            Some(Command::Serve(serve)) => serve.run(context).await,
            Some(Command::Stdio(stdio)) => stdio.run(context).await,
            Some(Command::Servers(servers)) => servers.run(context).await,
            Some(Command::Registry(registry)) => registry.run(context).await,
            Some(Command::Clients(clients)) => clients.run(context).await,
            Some(Command::Config(config)) => config.run(context).await,
            Some(Command::Import(import)) => import.run(context).await,
            Some(Command::Backup(backup)) => backup.run(context).await,
            Some(Command::Doctor(doctor)) => doctor.run(context).await,
            Some(Command::Health) => health::run(context).await,
            Some(Command::Pause(pause)) => pause.run(context).await,
            Some(Command::Resume) => drawbridge::resume(context).await,
            Some(Command::Policy(policy)) => policy.run(context).await,
            Some(Command::Profiles(profiles)) => profiles.run(context).await,
            Some(Command::Folders(folders)) => folders.run(context).await,
            Some(Command::Browsers(browsers)) => browsers.run(context).await,
            Some(Command::Hooks(hooks)) => hooks.run(context).await,
            Some(Command::Approvals(approvals)) => approvals.run(context).await,
            Some(Command::Audit(audit)) => audit.run(context).await,
            Some(Command::Calls(calls)) => calls.run(context).await,
            Some(Command::Logs(logs)) => logs.run(context).await,
            Some(Command::Tools(tools)) => tools.run(context).await,
            Some(Command::Prompts(prompts)) => prompts.run(context).await,
            Some(Command::Resources(resources)) => resources.run(context).await,
            Some(Command::Memory(memory)) => memory.run(context).await,
            Some(Command::Secrets(secrets)) => secrets.run(context).await,
            Some(Command::Sampling(sampling)) => sampling.run(context).await,
            Some(Command::Roots(roots)) => roots.run(context).await,
            Some(Command::Settings(settings)) => settings.run(context).await,
            Some(Command::Open(open)) => open.run(context).await,
            Some(Command::Completions(completions)) => completions.run(Self::command()),
            Some(Command::Man(man)) => man.run(context, Self::command()),
        }
    }
}

#[cfg(test)]
mod tests;
