//! `drawbridge tools`: the catalog as clients see it.

use clap::Subcommand;
use drawbridge_hub::api::tools::{ListTools, ToolView};

use crate::{
    connection::Context,
    exit::Failure,
    text::{Table, word},
};

#[derive(Subcommand)]
pub(crate) enum Tools {
    /// The tools of all accepted, enabled servers.
    List,
}

impl Tools {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.show(ListTools {}, |tools| list(tools)).await,
        }
    }
}

fn list(tools: &[ToolView]) -> String {
    let mut table = Table::new(["NAME", "POLICY", "DESCRIPTION"]);
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row([&tool.exposed_name, &word(tool.policy), first_line]);
    }
    table.lines_or("no tools")
}
