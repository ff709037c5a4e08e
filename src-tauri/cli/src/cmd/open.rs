//! `drawbridge open`: opens the web UI in a browser.

mod link_page;

use std::{ffi::OsStr, time::Duration};

use drawbridge_endpoint::ApiClient;
use drawbridge_hub::api::screens::{CheckCode, CodeState, OpenScreen, ScreenLink};
use tokio::time::sleep;

use super::desktop::has_display;
use crate::{
    context::Context,
    exit::{Failure, print_stderr},
    output,
    stop_signal::wait_for_stop_signal,
    text::escape,
};
use link_page::LinkPage;

/// How often the hub is asked whether a browser has signed in.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[derive(clap::Args)]
pub(crate) struct Open {
    /// Print the link and the code, but open no browser
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running_hub()?;
        let mut link = hub.call(OpenScreen {}).await?;
        if let (Some(origin), Some((_, login))) = (hub.remote_origin(), link.url.split_once('#')) {
            // The hub's own link has an address that only works on the hub's computer.
            link.url = format!("{origin}/#{login}");
        }
        output::print_answer(context.json, &link, |link| link.url.clone())?;
        let web_ui = link.url.split('#').next().unwrap_or_default();
        print_stderr(&format!(
            "the link works once, within five minutes. If a browser cannot open it, go to {web_ui} \
             and enter the code {}",
            format_code(&link.code)
        ));
        if self.print || !has_display() {
            return Ok(());
        }
        open_and_wait(&hub, &link).await
    }
}

/// Opens a page that redirects the browser to the link, waits until a browser has signed in, and
/// says which browser that was. The page is removed afterwards.
async fn open_and_wait(hub: &ApiClient, link: &ScreenLink) -> Result<(), Failure> {
    let stop = wait_for_stop_signal()?;
    let page = LinkPage::write(&link.url)?;
    open_in_browser(page.path())?;
    let web_ui = link.url.split('#').next().unwrap_or_default();
    // A browser in a sandbox may not be allowed to read the page.
    print_stderr(&format!(
        "waiting for the browser to sign in; press Ctrl+C to stop waiting. If the browser shows no \
         page, open {web_ui} and enter the code {}",
        format_code(&link.code)
    ));
    let state = tokio::select! {
        state = wait_for_sign_in(hub, &link.code) => state?,
        () = stop => return Ok(()),
    };
    match state {
        CodeState::Used { browser } => {
            let agent = browser
                .user_agent
                .as_deref()
                .unwrap_or("an unnamed browser");
            print_stderr(&format!(
                "signed in: {}. If this is not your browser, run `drawbridge browsers sign-out {}`",
                escape(agent),
                browser.id
            ));
            Ok(())
        }
        CodeState::Expired | CodeState::Waiting => Err(Failure::LinkExpired),
    }
}

async fn wait_for_sign_in(hub: &ApiClient, code: &str) -> Result<CodeState, Failure> {
    loop {
        let check = CheckCode {
            code: code.to_owned(),
        };
        match hub.call(check).await? {
            CodeState::Waiting => sleep(POLL_INTERVAL).await,
            state @ (CodeState::Used { .. } | CodeState::Expired) => return Ok(state),
        }
    }
}

/// Opens a URL or a file with the system's launcher, without a shell, and waits for the launcher.
/// Other users can read the launcher's arguments, so a URL must not contain a secret.
pub(super) fn open_in_browser(target: impl AsRef<OsStr>) -> Result<(), Failure> {
    open::that(target).map_err(|source| Failure::OpenBrowser { source })
}

/// Returns a code in two halves with a hyphen between them, so that it is easy to type.
fn format_code(code: &str) -> String {
    match code.split_at_checked(code.len() / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}
