//! Byte order marks and line ends. The formats work on texts without a byte order mark and with
//! `\n` as line ends. The original bytes are restored afterwards.

use similar::{DiffTag, TextDiff};

const BOM: &str = "\u{feff}";

/// A file's text, and how the file's bytes differ from the text.
pub(crate) struct Source {
    /// Without a byte order mark, and with `\n` as line ends.
    pub(crate) text: String,
    has_bom: bool,
    /// Whether each line ends with `\r\n`.
    has_cr: Vec<bool>,
}

impl Source {
    /// Decodes the bytes of a file. Returns `None` if they are not UTF-8.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (text, has_bom) = match text.strip_prefix(BOM) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let has_cr = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| line.ends_with("\r\n"))
            .collect();
        Some(Self {
            text: text.replace("\r\n", "\n"),
            has_bom,
            has_cr,
        })
    }

    /// Returns the bytes for a changed text. Lines that did not change keep their line ends, and
    /// new lines get the line end that most lines have.
    pub(crate) fn encode(&self, changed: &str) -> Vec<u8> {
        let with_cr = self.has_cr.iter().filter(|has_cr| **has_cr).count();
        let mostly_cr = 2 * with_cr > self.has_cr.len();
        let is_uniform = with_cr == 0 || with_cr == self.has_cr.len();
        let ends = if is_uniform {
            vec![mostly_cr; changed.matches('\n').count()]
        } else {
            self.choose_line_ends(changed, mostly_cr)
        };
        let mut bytes = if self.has_bom {
            BOM.as_bytes().to_vec()
        } else {
            Vec::new()
        };
        for (number, line) in changed.split_inclusive('\n').enumerate() {
            match line.strip_suffix('\n') {
                Some(line) if ends.get(number).copied().unwrap_or(mostly_cr) => {
                    bytes.extend_from_slice(line.as_bytes());
                    bytes.extend_from_slice(b"\r\n");
                }
                _ => bytes.extend_from_slice(line.as_bytes()),
            }
        }
        bytes
    }

    /// Returns for each line of a changed text whether it ends with `\r\n`: as before if the line
    /// did not change, and else `default`.
    fn choose_line_ends(&self, changed: &str, default: bool) -> Vec<bool> {
        let diff = TextDiff::from_lines(self.text.as_str(), changed);
        let mut ends = Vec::new();
        for operation in diff.ops() {
            let old = operation.old_range();
            ends.extend(operation.new_range().enumerate().map(|(index, _)| {
                match operation.tag() {
                    DiffTag::Equal => self.has_cr.get(old.start + index).copied(),
                    DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => None,
                }
                .unwrap_or(default)
            }));
        }
        ends
    }
}
