//! Updates of the app. The app looks for a newer release only if the person starts a search or has
//! switched the regular search on. The app downloads and installs a release only if the person asks
//! for the installation.
//!
//! The address of the list of releases and the key of its publisher are set when the app is built.
//! Only a debug build that lacks them reads them from its environment. Only an AppImage replaces
//! itself; a package manager updates its own packages.

mod release;

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_hub::api::{ApiError, ErrorCode};
use drawbridge_model::cause::Cause;
use drawbridge_upstream::{DownloadError, Downloader};
use minisign_verify::PublicKey;
use semver::Version;
use serde::{Deserialize, Serialize};
use tauri::Url;
use tokio::sync::mpsc;

use crate::input::Input;
use release::{Release, SignatureError};

/// The https URL of the list of releases.
const ENDPOINT: Option<&str> = option_env!("DRAWBRIDGE_UPDATE_URL");
/// The publisher's minisign key, in base64.
const KEY: Option<&str> = option_env!("DRAWBRIDGE_UPDATE_KEY");

/// The file in the data folder that says whether the app looks for updates by itself.
const FILE: &str = "updates.json";

const CHECK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);

const MAX_LIST_BYTES: u64 = 1 << 20;
const LIST_WITHIN: Duration = Duration::from_secs(30);
const MAX_RELEASE_BYTES: u64 = 1 << 30;
const RELEASE_WITHIN: Duration = Duration::from_secs(60 * 60);

/// Why this copy of the app does not update itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpdatesDisabled {
    /// A package manager installed the app.
    PackageManager,
    /// The build has no address of a list of releases, or no key of its publisher.
    NotConfigured,
    /// The app is not an AppImage, so it cannot replace itself.
    NotAppImage,
}

/// The state of the updates, for the Settings screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UpdatesView {
    version: String,
    disabled: Option<UpdatesDisabled>,
    /// Whether the app looks for updates by itself.
    automatic: bool,
    /// The newer release that was found.
    available: Option<AvailableView>,
    /// The version that was installed and runs after a restart.
    installed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AvailableView {
    version: String,
    /// The release notes, as the publisher wrote them.
    notes: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    #[error("this copy of Drawbridge does not update itself")]
    Disabled,
    #[error("the list of releases cannot be read: {0}. Check your connection, and try again.")]
    List(DownloadError),
    #[error("the list of releases is not valid: {0}")]
    InvalidList(Cause),
    #[error("release {version} has no file for this computer ({target})")]
    NoFile { version: Version, target: String },
    #[error("no newer release was found. Check for updates first.")]
    NothingFound,
    #[error("the release cannot be downloaded: {0}. Check your connection, and try again.")]
    Download(DownloadError),
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error("the release cannot be installed: {cause}. {} is unchanged.", path.display())]
    Install { path: PathBuf, cause: Cause },
    #[error("the choice cannot be stored: {0}")]
    Store(Cause),
}

impl From<UpdateError> for ApiError {
    fn from(error: UpdateError) -> Self {
        let code = match &error {
            UpdateError::Disabled | UpdateError::NothingFound => ErrorCode::Conflict,
            UpdateError::Signature(_) => ErrorCode::Invalid,
            UpdateError::List(_)
            | UpdateError::InvalidList(_)
            | UpdateError::NoFile { .. }
            | UpdateError::Download(_)
            | UpdateError::Install { .. }
            | UpdateError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

/// Where releases come from, and the file that they replace.
struct Source {
    endpoint: Url,
    key: PublicKey,
    app_image: PathBuf,
}

/// The person's choice whether the app looks for updates by itself, as the file has it.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct StoredChoice {
    automatic: bool,
}

#[derive(Default)]
struct State {
    choice: StoredChoice,
    available: Option<Release>,
    installed: Option<Version>,
}

/// The updates of this app. Tauri manages the value as state of the app.
pub(crate) struct Updates {
    source: Result<Source, UpdatesDisabled>,
    version: Version,
    file: PathBuf,
    state: Mutex<State>,
    /// Held during a check or an installation, so that they do not overlap.
    running: tokio::sync::Mutex<()>,
}

impl Updates {
    /// Reads the person's choice from the data folder. A file that is missing or cannot be read
    /// counts as "no".
    pub(crate) fn load(data_dir: &Path) -> Self {
        Self::with_source(find_source(), current_version(), data_dir)
    }

    fn with_source(
        source: Result<Source, UpdatesDisabled>,
        version: Version,
        data_dir: &Path,
    ) -> Self {
        let file = data_dir.join(FILE);
        let choice = fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        Self {
            source,
            version,
            file,
            state: Mutex::new(State {
                choice,
                ..State::default()
            }),
            running: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&self) -> Result<&Source, UpdateError> {
        self.source.as_ref().map_err(|_| UpdateError::Disabled)
    }

    pub(crate) fn view(&self) -> UpdatesView {
        let state = self.state();
        UpdatesView {
            version: self.version.to_string(),
            disabled: self.source.as_ref().err().copied(),
            automatic: state.choice.automatic,
            available: state.available.as_ref().map(|release| AvailableView {
                version: release.version.to_string(),
                notes: release.notes.clone(),
            }),
            installed: state.installed.as_ref().map(Version::to_string),
        }
    }

    /// Records whether the app looks for updates by itself.
    ///
    /// # Errors
    /// Returns an error if this copy does not update itself, or if the choice cannot be stored.
    pub(crate) fn set_automatic(&self, automatic: bool) -> Result<UpdatesView, UpdateError> {
        self.source()?;
        let choice = StoredChoice { automatic };
        let stored = serde_json::to_vec(&choice)
            .map_err(io::Error::other)
            .and_then(|text| fs::write(&self.file, text));
        stored.map_err(|error| UpdateError::Store(Cause::innermost(error)))?;
        self.state().choice = choice;
        Ok(self.view())
    }

    /// Looks for a release that is newer than this app and than an installed update.
    ///
    /// # Errors
    /// Returns an error if this copy does not update itself, if the list of releases cannot be read
    /// or is not valid, or if a newer release has no file for this computer.
    pub(crate) async fn check(&self) -> Result<UpdatesView, UpdateError> {
        let source = self.source()?;
        let _running = self.running.lock().await;
        let downloader = Downloader::new(source.endpoint.as_str()).map_err(UpdateError::List)?;
        let list = downloader
            .get(&source.endpoint, MAX_LIST_BYTES, LIST_WITHIN)
            .await
            .map_err(UpdateError::List)?;
        let newest = self.state().installed.clone();
        let newest = newest.as_ref().unwrap_or(&self.version);
        let found = release::find_newer(&list, newest, &target())?;
        self.state().available = found;
        Ok(self.view())
    }

    /// Downloads the release that was found, checks its signature, and replaces the AppImage. A
    /// failure leaves the AppImage unchanged.
    ///
    /// # Errors
    /// Returns an error if this copy does not update itself, if no newer release was found, if the
    /// release cannot be downloaded or stored, or if the publisher did not sign this file as this
    /// release.
    pub(crate) async fn install(&self) -> Result<UpdatesView, UpdateError> {
        let source = self.source()?;
        let _running = self.running.lock().await;
        let found = self.state().available.clone();
        let release = found.ok_or(UpdateError::NothingFound)?;
        let download = Unfinished(source.app_image.with_added_extension("new"));
        download_release(source, &release, &download.0).await?;
        release.verify(&source.key, &target(), &download.0)?;
        replace_file(&download.0, &source.app_image)
            .map_err(|error| failed_install(source, error))?;
        let mut state = self.state();
        state.available = None;
        state.installed = Some(release.version);
        drop(state);
        Ok(self.view())
    }
}

/// Looks for updates at the start and once a day while the person has switched the regular search
/// on, and reports a newer release.
pub(crate) async fn check_regularly(updates: &Updates, inputs: mpsc::UnboundedSender<Input>) {
    if updates.source.is_err() {
        return;
    }
    loop {
        if updates.view().automatic {
            match updates.check().await {
                Ok(UpdatesView {
                    available: Some(found),
                    ..
                }) => {
                    // The controller is dropped only while the app ends.
                    let _ = inputs.send(Input::UpdateFound(found.version));
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "updates cannot be checked"),
            }
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

/// A downloaded file that is deleted unless it has replaced the AppImage.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a success, the file has another name.
        let _ = fs::remove_file(&self.0);
    }
}

async fn download_release(
    source: &Source,
    release: &Release,
    path: &Path,
) -> Result<(), UpdateError> {
    let downloader = Downloader::new(source.endpoint.as_str()).map_err(UpdateError::Download)?;
    let mut file = tokio::fs::File::create(path)
        .await
        .map_err(|error| failed_install(source, error))?;
    downloader
        .download(&release.url, MAX_RELEASE_BYTES, RELEASE_WITHIN, &mut file)
        .await
        .map_err(UpdateError::Download)?;
    file.sync_all()
        .await
        .map_err(|error| failed_install(source, error))
}

/// Moves the new file to the place of the old file, with the permissions of the old file. A crash
/// leaves the old file or the new file.
fn replace_file(new: &Path, old: &Path) -> io::Result<()> {
    fs::set_permissions(new, fs::metadata(old)?.permissions())?;
    fs::rename(new, old)
}

fn failed_install(source: &Source, error: io::Error) -> UpdateError {
    UpdateError::Install {
        path: source.app_image.clone(),
        cause: Cause::innermost(error),
    }
}

fn find_source() -> Result<Source, UpdatesDisabled> {
    let program = env::current_exe().unwrap_or_default();
    if is_packaged(&program) {
        return Err(UpdatesDisabled::PackageManager);
    }
    let endpoint = read_build_variable("DRAWBRIDGE_UPDATE_URL", ENDPOINT);
    let key = read_build_variable("DRAWBRIDGE_UPDATE_KEY", KEY);
    let (Some(endpoint), Some(key)) = (endpoint, key) else {
        return Err(UpdatesDisabled::NotConfigured);
    };
    let endpoint = Url::parse(&endpoint).map_err(|_| UpdatesDisabled::NotConfigured)?;
    let key = PublicKey::from_base64(&key).map_err(|_| UpdatesDisabled::NotConfigured)?;
    let [folder, app_image] = ["APPDIR", "APPIMAGE"].map(env::var_os);
    let app_image = find_app_image(&program, folder.as_deref(), app_image.as_deref());
    Ok(Source {
        endpoint,
        key,
        app_image: app_image.ok_or(UpdatesDisabled::NotAppImage)?,
    })
}

/// Returns a variable of the build. A debug build that lacks the variable reads it from its
/// environment, so that a test can publish releases.
fn read_build_variable(name: &str, built: Option<&str>) -> Option<String> {
    match built {
        Some(value) => Some(value.to_owned()),
        None if cfg!(debug_assertions) => env::var(name).ok(),
        None => None,
    }
}

/// Returns whether a package manager installed the program. Only package managers write to `/usr`,
/// except to `/usr/local`.
fn is_packaged(program: &Path) -> bool {
    cfg!(target_os = "linux") && program.starts_with("/usr") && !program.starts_with("/usr/local")
}

/// Returns the AppImage that contains the program, or `None` if no AppImage does. The variables may
/// belong to another AppImage, which has started this program.
fn find_app_image(
    program: &Path,
    folder: Option<&OsStr>,
    app_image: Option<&OsStr>,
) -> Option<PathBuf> {
    let (folder, app_image) = (Path::new(folder?), Path::new(app_image?));
    (folder.is_absolute() && program.starts_with(folder) && app_image.is_absolute())
        .then(|| app_image.to_owned())
}

fn current_version() -> Version {
    env!("CARGO_PKG_VERSION")
        .parse()
        .expect("Cargo accepts only semantic versions")
}

/// Returns the name of this kind of computer in the list of releases, such as `linux-x86_64`.
fn target() -> String {
    format!("{}-{}", env::consts::OS, env::consts::ARCH)
}

#[cfg(all(test, unix))]
mod tests;
