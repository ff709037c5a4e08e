//! A start of the app after this process has ended: the app was updated, or a person started it
//! again while it quit.

use std::{
    env,
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

#[cfg(target_os = "linux")]
use drawbridge_upstream::transport::process::original_variables;

/// The requested start. Tauri manages the value as state of the app.
#[derive(Debug)]
pub(crate) struct NextStart {
    restart_arguments: Vec<OsString>,
    request: Mutex<Option<Request>>,
}

#[derive(Debug)]
struct Request {
    arguments: Vec<OsString>,
    /// The working folder of the new process, or `None` for the working folder of this process.
    folder: Option<PathBuf>,
}

impl NextStart {
    /// Returns a value without a request. A restart passes `restart_arguments`.
    pub(crate) const fn new(restart_arguments: Vec<OsString>) -> Self {
        Self {
            restart_arguments,
            request: Mutex::new(None),
        }
    }

    /// Requests a start in place of this process.
    pub(crate) fn request_restart(&self) {
        self.request(Request {
            arguments: self.restart_arguments.clone(),
            folder: None,
        });
    }

    /// Requests the start that another process has tried while this process was ending. `argv`
    /// begins with the name of the program.
    pub(crate) fn request_second_start(&self, argv: Vec<String>, folder: PathBuf) {
        self.request(Request {
            arguments: argv.into_iter().skip(1).map(OsString::from).collect(),
            folder: Some(folder),
        });
    }

    fn request(&self, request: Request) {
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
    }

    /// Starts the app if a start was requested. Must be called last, because the new process ends
    /// if it finds that the app runs already.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub(crate) fn start_if_requested(&self) -> io::Result<()> {
        let request = self
            .request
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(request) = request else {
            return Ok(());
        };
        let mut app = Command::new(find_program()?);
        app.args(request.arguments);
        // If the new process kept stdout open, a program that reads the output of this process
        // would wait until the new process ends, too.
        app.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(folder) = request.folder.filter(|folder| folder.is_dir()) {
            app.current_dir(folder);
        }
        #[cfg(target_os = "linux")]
        app.env_clear().envs(original_variables());
        app.spawn().map(drop)
    }
}

/// Returns a path of this program that stays valid after this process has ended.
///
/// # Errors
/// Returns an error if the system cannot tell the path of this process's program.
pub(crate) fn find_program() -> io::Result<PathBuf> {
    // The program of an AppImage is in a folder that exists only while it runs.
    env::var_os("APPIMAGE").map_or_else(env::current_exe, |path| Ok(PathBuf::from(path)))
}
