//! `drawbridge servers sign-in`: signs in to a remote server.

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::servers::{AwaitSignIn, SignInServer};
use drawbridge_model::{
    ids::ServerId,
    sign_in::{SignIn, SignInState},
};
use drawbridge_upstream::oauth;

use crate::{
    cmd::{desktop::has_display, open::open_in_browser},
    context::Context,
    exit::{Failure, print_stderr},
    output,
    text::escape,
};

#[derive(clap::Args)]
pub(crate) struct SignInArgs {
    /// The server's id, as shown by `servers list`
    id: String,
    /// Print the link, but do not open it
    #[arg(long)]
    no_open: bool,
}

impl SignInArgs {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        // Both verbs use the same handle, because the hub that waits for the browser may be in this
        // process.
        let hub = context.open_hub_handle().await?;
        let result = self.sign_in(context, &hub).await;
        hub.close().await;
        let attempt = result?;
        match &attempt.state {
            SignInState::Failed { reason } => Err(Failure::SignIn {
                server: ServerId::new(self.id),
                reason: reason.clone(),
            }),
            SignInState::Done | SignInState::WaitingForBrowser | SignInState::Exchanging => {
                output::print_answer(context.json, &attempt, |_| {
                    format!("Signed in to '{}'.", escape(&self.id))
                })
            }
        }
    }

    async fn sign_in(&self, context: &Context, hub: &HubHandle) -> Result<SignIn, Failure> {
        let id = ServerId::new(self.id.as_str());
        let attempt = hub.run(SignInServer { id: id.clone() }).await?;
        let url = oauth::check_browser_url(&attempt.url).map_err(|reason| Failure::SignInUrl {
            reason: reason.to_string(),
        })?;
        if context.json {
            print_stderr(&format!("sign in here within five minutes: {url}"));
        } else {
            output::print_line(&format!("Sign in here within five minutes:\n{url}"))?;
        }
        if !self.no_open && has_display() {
            // Some launchers return only after the browser exits.
            tokio::task::spawn_blocking(move || {
                if let Err(failure) = open_in_browser(url.as_str()) {
                    print_stderr(&failure.to_string());
                }
            });
        }
        loop {
            let attempt = hub.run(AwaitSignIn { id: id.clone() }).await?;
            if attempt.state.has_ended() {
                return Ok(attempt);
            }
        }
    }
}
