//! The thread that writes the log files, because the disk may be slow.

use std::{
    io,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use drawbridge_model::{ids::ServerId, log::LogLine};

use super::files::{LogFiles, LogRetention};

/// How many lines may wait for the disk. Further lines are only in memory.
const MAX_WAITING: usize = 16_384;

/// The thread that writes the files. The thread ends after the last message if this value is
/// dropped.
pub(super) struct LogWriter {
    messages: SyncSender<Message>,
    thread: JoinHandle<()>,
}

enum Message {
    Line(LogLine),
    DeleteServerFiles(ServerId),
    SetRetention(LogRetention),
}

impl LogWriter {
    /// Prepares the folder and starts the thread.
    pub(super) fn start(folder: &Path) -> io::Result<Self> {
        let files = LogFiles::new(folder)?;
        let (messages, waiting) = sync_channel(MAX_WAITING);
        let thread = thread::Builder::new()
            .name("log-files".to_owned())
            .spawn(move || run(files, &waiting))?;
        Ok(Self { messages, thread })
    }

    /// Writes a line soon. Drops the line if too many lines wait.
    pub(super) fn write(&self, line: LogLine) {
        let _ = self.messages.try_send(Message::Line(line));
    }

    /// Deletes the files of a server after the waiting lines are written. Does nothing if too many
    /// messages wait.
    pub(super) fn delete_server_files(&self, server: ServerId) {
        let _ = self.messages.try_send(Message::DeleteServerFiles(server));
    }

    /// Deletes files that are too old or take too much space, now and later. Does nothing if too
    /// many messages wait.
    pub(super) fn set_retention(&self, retention: LogRetention) {
        let _ = self.messages.try_send(Message::SetRetention(retention));
    }

    /// Blocks until all lines are written.
    pub(super) fn finish(self) {
        drop(self.messages);
        let _ = self.thread.join();
    }
}

fn run(mut files: LogFiles, waiting: &Receiver<Message>) {
    for message in waiting {
        match message {
            // Nothing can be logged about a log that cannot be written; `drawbridge doctor` checks
            // the disk.
            Message::Line(line) => drop(files.append(&line)),
            Message::DeleteServerFiles(server) => files.delete_server_files(&server),
            Message::SetRetention(retention) => files.set_retention(retention),
        }
    }
}
