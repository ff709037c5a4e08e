//! The PATH of the user's login shell. A program that was started from a desktop has a shorter
//! PATH, in which `npx` of nvm and `uvx` in a user's own folder are not found.

use std::{process::Stdio, time::Duration};

use tokio::{process::Command, sync::OnceCell, time::timeout};

use super::{appimage, platform};

const SHELL_TIMEOUT: Duration = Duration::from_secs(3);
const MARK: &str = "\u{1}drawbridge\u{1}";

static LOGIN_PATH: OnceCell<String> = OnceCell::const_new();

/// Returns the PATH of the login shell, followed by the folders that only the hub's own PATH has.
/// If the shell does not answer, returns the hub's own PATH. The shell is run once.
pub(super) async fn login_path() -> &'static str {
    LOGIN_PATH
        .get_or_init(|| async {
            let own_path = appimage::original_path();
            match ask_shell().await {
                Some(shell_path) => join_paths(&shell_path, &own_path),
                None => own_path,
            }
        })
        .await
}

async fn ask_shell() -> Option<String> {
    if cfg!(windows) {
        return None;
    }
    let shell = std::env::var("SHELL")
        .ok()
        .filter(|shell| !shell.is_empty())?;
    let mut command = Command::new(shell);
    // An rc file may print text of its own, so marks delimit the PATH.
    command.args([
        "-l",
        "-i",
        "-c",
        &format!("printf '%s%s%s' '{MARK}' \"$PATH\" '{MARK}'"),
    ]);
    command
        .env_clear()
        .envs(appimage::original_variables())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let child = platform::without_terminal(command).spawn().ok()?;
    let output = timeout(SHELL_TIMEOUT, Box::into_pin(child.wait_with_output()))
        .await
        .ok()?
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split(MARK)
        .nth(1)
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
}

fn join_paths(first: &str, second: &str) -> String {
    let mut folders: Vec<&str> = Vec::new();
    for folder in first.split(':').chain(second.split(':')) {
        if !folder.is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
}

#[cfg(test)]
mod tests {
    use super::join_paths;

    #[test]
    fn the_shells_folders_come_first_and_none_comes_twice() {
        assert_eq!(
            join_paths("/nvm/bin:/usr/bin", "/usr/bin::/bin"),
            "/nvm/bin:/usr/bin:/bin"
        );
    }
}
