//! `drawbridge servers sign-in`: signs in to a remote server.

use drawbridge_hub::{
    api::servers::{AwaitSignIn, SignInServer},
    model::{
        ids::ServerId,
        sign_in::{SignIn, SignInState},
    },
    oauth,
};

use crate::{
    cmd::{desktop::has_display, open::open},
    connection::{Connection, Context},
    exit::{Failure, print_stderr},
    output,
    text::escape,
};

#[derive(clap::Args)]
pub(crate) struct SignInArgs {
    id: String,
    /// Print the link without opening it
    #[arg(long)]
    no_open: bool,
}

impl SignInArgs {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        // Both verbs use one connection, because the hub that waits for the browser may be in this
        // process.
        let connection = Connection::open(context).await?;
        let ended = self.sign_in(context, &connection).await;
        connection.close().await;
        let attempt = ended?;
        match &attempt.state {
            SignInState::Failed { reason } => Err(Failure::new(format!(
                "not signed in to {}: {}",
                escape(&self.id),
                escape(reason)
            ))),
            SignInState::Done | SignInState::WaitingForBrowser | SignInState::Exchanging => {
                output::print_answer(context.json, &attempt, |_| {
                    format!("signed in to {}", escape(&self.id))
                })
            }
        }
    }

    async fn sign_in(&self, context: &Context, connection: &Connection) -> Result<SignIn, Failure> {
        let id = ServerId::new(self.id.as_str());
        let attempt = connection.run(SignInServer { id: id.clone() }).await?;
        let url = oauth::check_browser_url(&attempt.url).map_err(Failure::new)?;
        let lines = format!("Sign in here, within five minutes:\n{url}");
        if context.json {
            print_stderr(&lines);
        } else {
            output::print_line(&lines)?;
        }
        if !self.no_open && has_display() {
            // Some launchers return only after the browser exits.
            tokio::task::spawn_blocking(move || {
                if open(url.as_str()).is_err() {
                    print_stderr("no browser was opened: open the link above yourself");
                }
            });
        }
        loop {
            let attempt = connection.run(AwaitSignIn { id: id.clone() }).await?;
            if attempt.state.has_ended() {
                return Ok(attempt);
            }
        }
    }
}
