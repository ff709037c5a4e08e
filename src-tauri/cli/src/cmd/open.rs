//! `drawbridge open`: opens the web UI in a browser.

use drawbridge_hub::api::screens::OpenScreen;

use super::desktop::has_display;
use crate::{context::Context, exit::Failure, output};

#[derive(clap::Args)]
pub(crate) struct Open {
    /// Print the link, but do not open it
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running_hub()?;
        let mut link = hub.call(OpenScreen {}).await?;
        if let (Some(origin), Some((_, login))) = (hub.remote_origin(), link.url.split_once('#')) {
            // The hub names itself as programs on its own computer do.
            link.url = format!("{origin}/#{login}");
        }
        output::print_answer(context.json, &link, |link| link.url.clone())?;
        if !self.print && has_display() {
            open(&link.url)?;
        }
        Ok(())
    }
}

/// Opens a URL with the system's launcher, without a shell, and waits for the launcher.
pub(super) fn open(url: &str) -> Result<(), Failure> {
    open::that(url).map_err(|source| Failure::OpenBrowser { source })
}
