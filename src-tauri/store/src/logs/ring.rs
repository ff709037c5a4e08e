//! The newest lines of one source, in memory.

use std::collections::VecDeque;

use drawbridge_model::log::LogLine;

/// The newest lines of the hub or of a server, up to a number of lines and of bytes.
pub(super) struct Ring {
    lines: VecDeque<LogLine>,
    /// The bytes of the texts.
    bytes: usize,
    limits: RingLimits,
    /// Whether older lines are in the files only.
    is_cut: bool,
}

/// How much a ring holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingLimits {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

impl Ring {
    pub(super) fn new(limits: RingLimits) -> Self {
        Self {
            lines: VecDeque::new(),
            bytes: 0,
            limits,
            is_cut: false,
        }
    }

    pub(super) fn push(&mut self, line: LogLine) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > self.limits.lines || self.bytes > self.limits.bytes {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= oldest.text.len();
            self.is_cut = true;
        }
    }

    /// Records that the files have lines that are older than the lines in the ring.
    pub(super) fn mark_cut(&mut self) {
        self.is_cut = true;
    }

    /// Returns whether the ring has every line from this number on.
    pub(super) fn reaches(&self, seq: u32) -> bool {
        !self.is_cut || self.lines.front().is_some_and(|oldest| oldest.seq <= seq)
    }

    /// Returns whether the ring has every line of its source.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Returns the lines, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &LogLine> {
        self.lines.iter().rev()
    }

    /// Returns the number of the newest line, or 0 if there is none.
    pub(super) fn last_seq(&self) -> u32 {
        self.lines.back().map_or(0, |line| line.seq)
    }
}
