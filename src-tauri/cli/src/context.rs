//! Connects a command to a hub. If `--hub-url` or `MCP_HUB_URL` names a remote hub, the command
//! uses that hub. Otherwise, the command uses the running hub of the data folder or, if none runs,
//! a hub that this process opens for the duration of the command.

use std::{path::PathBuf, sync::Arc, time::Duration};

use drawbridge_endpoint::{ApiClient, HubHandle, admin_token};
use drawbridge_hub::{
    Hub, HubOptions,
    api::{ApiError, ErrorCode, Verb},
};
use tokio::time::{Instant, sleep};

use crate::{
    exit::{Failure, print_stderr},
    output,
};

/// How long to wait for the data folder if another command holds it, or if a hub that is shutting
/// down waits for its servers to end.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// The heading of the options that every command accepts, so that a command's own options stay
/// together.
const GLOBAL_OPTIONS: &str = "Global options";

/// The options that every command accepts.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Print one JSON document, and nothing else, to stdout
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub(crate) json: bool,
    /// The data folder [default: depends on the platform]
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL_OPTIONS,
        value_name = "DIR",
        env = "DRAWBRIDGE_DATA_DIR"
    )]
    pub(crate) data_dir: Option<PathBuf>,
    /// The URL of a remote hub to use instead of the hub of the data folder. The admin token is
    /// read from DRAWBRIDGE_ADMIN_TOKEN or DRAWBRIDGE_ADMIN_TOKEN_FILE
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL_OPTIONS,
        value_name = "URL",
        env = "MCP_HUB_URL",
        hide_env_values = true
    )]
    pub(crate) hub_url: Option<String>,
}

/// The global options of a command.
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) data_dir: PathBuf,
    /// The URL of the remote hub, or `None` if the command talks to the hub of the data folder.
    pub(crate) hub_url: Option<String>,
}

impl Context {
    pub(crate) fn new(common: Common) -> Self {
        let data_dir = common
            .data_dir
            .unwrap_or_else(drawbridge_store::data_dir::default_data_dir);
        // An empty variable counts as absent, as for the desktop app.
        let hub_url = common
            .hub_url
            .map(|url| url.trim().to_owned())
            .filter(|url| !url.is_empty());
        Self {
            json: common.json,
            data_dir,
            hub_url,
        }
    }

    /// Returns an API client for the remote hub, or `None` if the command talks to the hub of the
    /// data folder.
    pub(crate) fn remote_hub(&self) -> Result<Option<ApiClient>, Failure> {
        let Some(url) = &self.hub_url else {
            return Ok(None);
        };
        let token = admin_token::read_from_environment()?;
        Ok(Some(ApiClient::remote(url, token)?))
    }

    /// Warns on stderr if the hub is remote, because the command then uses the files on the hub's
    /// computer.
    pub(crate) fn warn_about_remote_files(&self) {
        if let Some(url) = &self.hub_url {
            print_stderr(&format!(
                "this command reads and changes files on the computer of the hub at {url}, not on this one"
            ));
        }
    }

    /// Runs a verb on the hub that [`Self::open_hub_handle`] returns.
    pub(crate) async fn run<V: Verb>(&self, verb: V) -> Result<V::Answer, Failure> {
        let hub = self.open_hub_handle().await?;
        let answer = hub.run(verb).await;
        hub.close().await;
        Ok(answer?)
    }

    /// Returns a handle to the remote hub or, if none is named, to the running hub of the data
    /// folder. If no hub runs, opens a hub in this process. The caller has to close the handle.
    pub(crate) async fn open_hub_handle(&self) -> Result<HubHandle, Failure> {
        if let Some(client) = self.remote_hub()? {
            return Ok(HubHandle::OtherProcess(client));
        }
        if let Ok(client) = ApiClient::local(&self.data_dir) {
            return Ok(HubHandle::OtherProcess(client));
        }
        let options = HubOptions::from_env(self.data_dir.clone(), None)?;
        match open_hub(options).await {
            Ok(hub) => Ok(HubHandle::Embedded(hub)),
            // Another hub may have started in the meantime.
            Err(error) => ApiClient::local(&self.data_dir)
                .map(HubHandle::OtherProcess)
                .map_err(|_| error.into()),
        }
    }

    /// Runs a verb, and prints its answer.
    pub(crate) async fn run_and_print<V: Verb>(
        &self,
        verb: V,
        format: impl FnOnce(&V::Answer) -> String,
    ) -> Result<(), Failure> {
        let answer = self.run(verb).await?;
        output::print_answer(self.json, &answer, format)
    }

    /// Returns an API client for the remote or running hub, for commands that need a hub that runs
    /// already.
    ///
    /// # Errors
    /// Returns an error if no hub runs.
    pub(crate) fn running_hub(&self) -> Result<ApiClient, Failure> {
        if let Some(client) = self.remote_hub()? {
            return Ok(client);
        }
        ApiClient::local(&self.data_dir).map_err(|e| {
            if e.code != ErrorCode::Unavailable {
                return e.into();
            }
            Failure::NoHub {
                data_dir: self.data_dir.clone(),
            }
        })
    }
}

/// Opens a hub on its data folder. Waits for up to [`OPEN_TIMEOUT`] if another command holds the
/// folder, but fails at once if a hub serves from it.
pub(crate) async fn open_hub(options: HubOptions) -> Result<Arc<Hub>, ApiError> {
    let deadline = Instant::now() + OPEN_TIMEOUT;
    loop {
        match Hub::open(options.clone()).await {
            Err(error)
                if error.code == ErrorCode::Conflict
                    && Instant::now() < deadline
                    && ApiClient::local(&options.data_dir).is_err() =>
            {
                sleep(Duration::from_millis(50)).await;
            }
            outcome => return outcome,
        }
    }
}
