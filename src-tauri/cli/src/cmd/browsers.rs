//! `drawbridge browsers`: lists the browsers that are signed in to the web UI, and signs them out.

use clap::Subcommand;
use drawbridge_hub::api::browsers::{
    BrowserView, ListBrowsers, SignOutAllBrowsers, SignOutBrowser,
};
use drawbridge_model::ids::BrowserId;

use crate::{
    context::Context, exit::Failure, output, table::Table, text::escape, time::format_time_or_dash,
};

#[derive(Subcommand)]
pub(crate) enum Browsers {
    /// List the browsers that are signed in to the web UI
    List,
    /// Sign out a browser, or all browsers
    SignOut {
        /// The id, as shown by `browsers list`
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Sign out all browsers
        #[arg(long)]
        all: bool,
    },
}

impl Browsers {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running_hub()?;
        match self {
            Self::List => {
                let browsers = hub.call(ListBrowsers {}).await?;
                output::print_answer(context.json, &browsers, |all| format_browsers(all))
            }
            Self::SignOut { id: Some(id), .. } => {
                let done = hub
                    .call(SignOutBrowser {
                        id: BrowserId::new(id.as_str()),
                    })
                    .await?;
                output::print_answer(context.json, &done, |_| {
                    format!("Browser '{}' signed out.", escape(&id))
                })
            }
            Self::SignOut { id: None, .. } => {
                let done = hub.call(SignOutAllBrowsers {}).await?;
                output::print_answer(context.json, &done, |_| {
                    "All browsers signed out.".to_owned()
                })
            }
        }
    }
}

fn format_browsers(browsers: &[BrowserView]) -> String {
    let mut table = Table::new([
        "ID",
        "SIGNED IN",
        "LAST USED",
        "UNTIL",
        "ADDRESS",
        "BROWSER",
    ]);
    for browser in browsers {
        let [signed_in, last_used, expires] = [
            browser.signed_in_at,
            browser.last_used_at,
            browser.expires_at,
        ]
        .map(|time| format_time_or_dash(Some(time)));
        table.add_row([
            browser.id.as_str(),
            &signed_in,
            &last_used,
            &expires,
            &browser.address,
            browser.user_agent.as_deref().unwrap_or("-"),
        ]);
    }
    table.format_or("No browser is signed in. `drawbridge open` opens the web UI in a browser.")
}
