//! The hub's end of the connection to a supervisor.

use std::{io, os::fd::OwnedFd, process as std_process, sync::Arc};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use super::{
    Pipes, PreparedCommand, ProcessExit, SpawnError, Started,
    guard::NewSupervisor,
    recording::RecordingSink,
    supervisor::{ASK_TO_END, KILL, Report},
};

/// The processes of a server below its supervisor. Dropping this value ends the processes.
pub(super) struct SupervisedTree {
    reports: Lines<BufReader<OwnedReadHalf>>,
    /// Receives the server's accesses.
    recording: Option<RecordingSink>,
    commands: OwnedWriteHalf,
    /// The process id of the supervisor.
    supervisor: u32,
    exit: Option<ProcessExit>,
}

impl SupervisedTree {
    /// Starts a server below a new supervisor, and returns it with its pipes.
    pub(super) async fn start(
        supervisor: NewSupervisor,
        request: &PreparedCommand,
        command: &str,
        recording: Option<RecordingSink>,
    ) -> Result<(Self, Started, Pipes), SpawnError> {
        let failed = |source| SpawnError::Io {
            command: command.to_owned(),
            source: Arc::new(source),
        };
        let NewSupervisor {
            control,
            stdin,
            stdout,
            stderr,
        } = supervisor;
        let to_pipes = || -> io::Result<(UnixStream, Pipes)> {
            control.set_nonblocking(true)?;
            let pipes = Pipes {
                stdin: ChildStdin::from_std(std_process::ChildStdin::from(OwnedFd::from(stdin)))?,
                stdout: ChildStdout::from_std(std_process::ChildStdout::from(OwnedFd::from(
                    stdout,
                )))?,
                stderr: ChildStderr::from_std(std_process::ChildStderr::from(OwnedFd::from(
                    stderr,
                )))?,
            };
            Ok((UnixStream::from_std(control)?, pipes))
        };
        let (control, pipes) = to_pipes().map_err(failed)?;
        let (reports, mut commands) = control.into_split();
        let mut reports = BufReader::new(reports).lines();
        let mut line = serde_json::to_vec(request).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        commands.write_all(&line).await.map_err(failed)?;
        match next_report(&mut reports).await.map_err(failed)? {
            Some(Report::Started {
                pid,
                supervisor,
                sandbox,
            }) => {
                let tree = Self {
                    reports,
                    recording,
                    commands,
                    supervisor,
                    exit: None,
                };
                Ok((tree, Started { pid, sandbox }, pipes))
            }
            Some(Report::Unconfined(failure)) => Err(SpawnError::Sandbox {
                command: command.to_owned(),
                failure,
            }),
            Some(Report::Failed { errno, message }) => Err(failed(
                errno.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error),
            )),
            Some(Report::Exited { .. } | Report::Recorded(_)) | None => {
                Err(failed(io::Error::other("its supervisor has ended")))
            }
        }
    }

    /// Waits for the report that the server's own process has ended.
    pub(super) async fn wait_for_leader(&mut self) -> ProcessExit {
        if self.exit.is_none() {
            let exit = match self.next_report().await {
                Ok(Some(Report::Exited { code, signal })) => match (code, signal) {
                    (Some(code), _) => ProcessExit::Code(code),
                    (None, Some(signal)) => ProcessExit::Signal(signal),
                    (None, None) => ProcessExit::Unknown,
                },
                // The supervisor was killed.
                Ok(
                    Some(
                        Report::Started { .. }
                        | Report::Unconfined(_)
                        | Report::Failed { .. }
                        | Report::Recorded(_),
                    )
                    | None,
                ) => ProcessExit::Unknown,
                Err(error) => ProcessExit::Unreadable(Arc::new(error)),
            };
            self.exit = Some(exit);
        }
        self.exit.clone().expect("it was set above")
    }

    /// Waits for the end of the supervisor, which ends once no process is left below it.
    pub(super) async fn wait_until_gone(&mut self) {
        while let Ok(Some(_)) = self.next_report().await {}
    }

    /// Returns the next report on the server itself. Passes the reports of a recorder to the sink.
    async fn next_report(&mut self) -> io::Result<Option<Report>> {
        loop {
            match next_report(&mut self.reports).await? {
                Some(Report::Recorded(access)) => {
                    if let Some(sink) = &self.recording {
                        sink(access);
                    }
                }
                report => return Ok(report),
            }
        }
    }

    pub(super) fn ask_to_end(&self) {
        self.send(ASK_TO_END);
    }

    pub(super) fn kill(&self) {
        self.send(KILL);
    }

    /// Kills the supervisor.
    pub(super) fn abandon(&self) {
        if let Ok(pid) = i32::try_from(self.supervisor) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Sends a command, and ignores a failure: a supervisor that has ended needs no command, and a
    /// supervisor that does not read is abandoned later.
    fn send(&self, command: u8) {
        let _ = self.commands.try_write(&[command]);
    }
}

async fn next_report(reports: &mut Lines<BufReader<OwnedReadHalf>>) -> io::Result<Option<Report>> {
    let Some(line) = reports.next_line().await? else {
        return Ok(None);
    };
    Ok(Some(serde_json::from_str(&line)?))
}
