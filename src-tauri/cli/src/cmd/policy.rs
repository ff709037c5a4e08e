//! `drawbridge policy`: what may cross without asking, and what never may.

use std::str::FromStr;

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::{
    api::policy::{ListPolicy, PolicyView, RemovePolicy, SetDefaultPolicy, SetPolicy},
    model::{
        ids::{ClientName, ServerId},
        policy::{Effect, Scope},
    },
};

use crate::{
    connection::Context,
    exit::Failure,
    text::{Table, moment_or_dash, word},
};

#[cfg(test)]
mod tests;

#[derive(Subcommand)]
pub(crate) enum Policy {
    /// All rules, and the default.
    List,
    /// Set what happens to calls of a server, or of one of its tools.
    Set {
        /// SERVER, SERVER/TOOL, or * for all servers.
        target: Target,
        effect: EffectArg,
        /// Only for calls of this client.
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Remove the rules of exactly that scope.
    Remove {
        /// SERVER, SERVER/TOOL, or * for all servers.
        target: Target,
        /// Only for calls of this client.
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Set what happens where no rule matches.
    Default { effect: EffectArg },
}

impl Policy {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.show(ListPolicy {}, list).await,
            Self::Set { target, effect, client } => {
                let verb = SetPolicy { scope: target.scope(client), effect: effect.into() };
                context.show(verb, |_| "set".to_owned()).await
            }
            Self::Remove { target, client } => {
                context.show(RemovePolicy { scope: target.scope(client) }, |_| "removed".to_owned()).await
            }
            Self::Default { effect } => {
                context.show(SetDefaultPolicy { effect: effect.into() }, |_| "set".to_owned()).await
            }
        }
    }
}

/// The servers and tools that a rule is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    server: Option<ServerId>,
    tool: Option<String>,
}

impl Target {
    fn scope(self, client: Option<String>) -> Scope {
        Scope { server: self.server, tool: self.tool, client: client.map(ClientName::new) }
    }
}

impl FromStr for Target {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A server's id has no slash; a tool's name may.
        match text.split_once('/') {
            None if text == "*" => Ok(Self { server: None, tool: None }),
            None if !text.is_empty() => Ok(Self { server: Some(ServerId::new(text)), tool: None }),
            Some(("*", _)) => Err("a tool belongs to one server, so * has none"),
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                Ok(Self { server: Some(ServerId::new(server)), tool: Some(tool.to_owned()) })
            }
            _ => Err("this must be SERVER, SERVER/TOOL or *"),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EffectArg {
    Allow,
    Deny,
    Ask,
}

impl From<EffectArg> for Effect {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Allow => Self::Allow,
            EffectArg::Deny => Self::Deny,
            EffectArg::Ask => Self::Ask,
        }
    }
}

fn list(policy: &PolicyView) -> String {
    let mut table = Table::new(["SERVER", "TOOL", "CLIENT", "EFFECT", "UNTIL", ""]);
    for rule in &policy.rules {
        let scope = &rule.scope;
        let until = match &rule.session {
            Some(session) => format!("session {session}"),
            None => moment_or_dash(rule.expires_at),
        };
        table.row([
            scope.server.as_ref().map_or("*", ServerId::as_str),
            scope.tool.as_deref().unwrap_or("*"),
            scope.client.as_ref().map_or("*", ClientName::as_str),
            &word(rule.effect),
            &until,
            if rule.suspended { "suspended: it asks until the change was accepted" } else { "" },
        ]);
    }
    format!("{}\n\ndefault: {}", table.lines_or("no rules"), word(policy.default))
}
