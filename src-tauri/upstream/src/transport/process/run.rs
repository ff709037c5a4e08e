//! Runs a program to its end: gives it input, and reads its output within limits.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    time::{sleep, timeout},
};

use super::{Launch, Pipes, Process, ProcessExit, SpawnError, guard::Guard};

/// The most bytes that a program may write to its stderr.
const MAX_STDERR: usize = 1024 * 1024;
/// How much of the end of stderr is kept, in bytes.
const STDERR_TAIL: usize = 1024;
/// How long the pipes are still read after the program has ended. A process that the program left
/// behind may hold the pipes open.
const PIPE_TIMEOUT: Duration = Duration::from_secs(1);

/// The limits of one run.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    pub timeout: Duration,
    /// The most bytes that the program may write to its stdout.
    pub max_output: usize,
}

/// Why a run failed. The program and its tree are ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("it did not end within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("it wrote more than {0} bytes")]
    TooMuchOutput(usize),
    #[error("{exit}{}", quoted(.stderr))]
    Failed {
        exit: ProcessExit,
        /// The last line on stderr; may be empty.
        stderr: String,
    },
    #[error("its output cannot be read: {0}")]
    Unreadable(Arc<io::Error>),
}

/// Runs a program with `input` on its stdin, and returns its output on stdout. If the future is
/// dropped, the program and its tree are ended.
///
/// # Errors
/// Returns an error if the program cannot be started, exceeds a limit, or does not end with exit
/// code 0.
pub async fn run_with_limits(
    launch: &Launch,
    guard: &Guard,
    input: &[u8],
    limits: RunLimits,
) -> Result<Vec<u8>, RunError> {
    let run = async {
        // Dropping the process ends its tree.
        let (process, pipes) = Process::spawn(launch, guard).await?;
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        tokio::select! {
            exchanged = exchange(pipes, input, limits.max_output, &mut output, &mut errors) => exchanged?,
            () = async { process.wait_for_exit().await; sleep(PIPE_TIMEOUT).await } => {}
        }
        let exit = process.wait_for_exit().await;
        if !matches!(exit, ProcessExit::Code(0)) {
            return Err(RunError::Failed {
                exit,
                stderr: last_line(&errors),
            });
        }
        Ok(output)
    };
    timeout(limits.timeout, run)
        .await
        .unwrap_or(Err(RunError::TimedOut(limits.timeout)))
}

/// Writes the input and reads the output at the same time, because a program may begin to write
/// before it has read everything.
async fn exchange(
    pipes: Pipes,
    input: &[u8],
    max_output: usize,
    output: &mut Vec<u8>,
    errors: &mut Vec<u8>,
) -> Result<(), RunError> {
    let Pipes {
        mut stdin,
        stdout,
        stderr,
    } = pipes;
    let write = async {
        // A program need not read its input.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        Ok(())
    };
    tokio::try_join!(
        write,
        read_output(stdout, max_output, output),
        read_errors(stderr, errors)
    )
    .map(drop)
}

async fn read_output(
    stdout: impl AsyncRead + Unpin,
    max: usize,
    output: &mut Vec<u8>,
) -> Result<(), RunError> {
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    stdout
        .take(limit)
        .read_to_end(output)
        .await
        .map_err(|e| RunError::Unreadable(Arc::new(e)))?;
    if output.len() > max {
        return Err(RunError::TooMuchOutput(max));
    }
    Ok(())
}

/// Reads stderr to its end, and keeps only the tail.
async fn read_errors(
    mut stderr: impl AsyncRead + Unpin,
    tail: &mut Vec<u8>,
) -> Result<(), RunError> {
    let mut chunk = [0; STDERR_TAIL];
    let mut read = 0;
    loop {
        let length = stderr
            .read(&mut chunk)
            .await
            .map_err(|e| RunError::Unreadable(Arc::new(e)))?;
        if length == 0 {
            return Ok(());
        }
        read += length;
        if read > MAX_STDERR {
            return Err(RunError::TooMuchOutput(MAX_STDERR));
        }
        tail.extend_from_slice(&chunk[..length]);
        tail.drain(..tail.len().saturating_sub(STDERR_TAIL));
    }
}

fn last_line(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(tail);
    let mut lines = text.lines().map(str::trim);
    lines
        .rfind(|line| !line.is_empty())
        .unwrap_or_default()
        .chars()
        .take(300)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn quoted(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!(": \"{stderr}\"")
    }
}
