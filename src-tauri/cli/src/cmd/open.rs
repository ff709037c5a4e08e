//! `drawbridge open`: the screens in a browser.

use std::process::{Command, Stdio};

use drawbridge_hub::api::screens::OpenScreen;

use super::desktop::has_display;
use crate::{connection::Context, exit::Failure, output};

#[derive(clap::Args)]
pub(crate) struct Open {
    /// Only print the link.
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let link = context.running()?.call(OpenScreen {}).await?;
        output::answer(context.json, &link, |link| link.url.clone())?;
        if !self.print && has_display() {
            open(&link.url)?;
        }
        Ok(())
    }
}

fn open(url: &str) -> Result<(), Failure> {
    let (program, arguments): (_, &[&str]) = if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::new(format!("{program} opened no browser: open the link above yourself"))),
    }
}
