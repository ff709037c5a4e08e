//! Masks secrets, and makes invisible characters visible.

use std::{fmt::Write, ops::Range, sync::OnceLock, time::Duration};

use aho_corasick::AhoCorasick;
use base64::{
    Engine,
    prelude::{BASE64_STANDARD as BASE64, BASE64_URL_SAFE as BASE64_URL},
};
use drawbridge_jsonrpc::json;
use drawbridge_model::invisible_chars::is_hidden;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::Instant;

use crate::redact::MASK;

/// The minimum length of a masked text, which is a value or one of its encodings. A shorter text is
/// hardly a secret, and masking it would make the log unreadable.
const MIN_SECRET_LEN: usize = 6;
/// The minimum length of a line that is masked by itself if the value has several lines, like a
/// private key.
const MIN_LINE_LEN: usize = 16;
/// How long a replaced value is still masked: a server may mention a token that it has just
/// replaced. The next replacement after this time drops the value.
const FORMER_VALUE_TIME: Duration = Duration::from_secs(3600);
/// The maximum number of former values of one name that are still masked.
const MAX_FORMER_VALUES: usize = 8;

/// The characters that are encoded: all except the unreserved characters of RFC 3986
/// (`NON_UNRESERVED`), or all except the characters that `encodeURIComponent` keeps (`COMPONENT`).
const NON_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const COMPONENT: &AsciiSet = &NON_UNRESERVED
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');

/// The values to mask.
#[derive(Clone, Default)]
pub(super) struct Masks {
    values: Vec<MaskedValue>,
    /// Finds every form of the values. Built at its first use after a change.
    matcher: OnceLock<Option<AhoCorasick>>,
}

/// A value, and the encodings in which it is likely to appear.
#[derive(Clone)]
struct MaskedValue {
    value: String,
    /// The name that has or had this value, or `None` if the value is masked for good.
    name: Option<String>,
    /// When the name got another value.
    replaced_at: Option<Instant>,
    forms: Vec<String>,
}

impl Masks {
    /// Adds a value that is masked for good.
    pub(super) fn add(&mut self, value: &str) {
        if let Some(known) = self.values.iter_mut().find(|known| known.value == value) {
            (known.name, known.replaced_at) = (None, None);
            return;
        }
        self.push(value, None);
    }

    /// Adds the value of a name. The former value of the name is masked for at least another hour,
    /// and dropped by the first replacement after this hour. If the name has many former values,
    /// the oldest values are dropped earlier.
    pub(super) fn replace(&mut self, name: &str, value: &str) {
        let now = Instant::now();
        let is_current = |known: &MaskedValue| {
            known.name.as_deref() == Some(name) && known.replaced_at.is_none()
        };
        if (self.values.iter()).any(|known| known.value == value && is_current(known)) {
            return;
        }
        for former in self.values.iter_mut().filter(|known| is_current(known)) {
            former.replaced_at = Some(now);
        }
        // The value may be masked for good already.
        if (self.values.iter()).any(|known| known.value == value && known.name.is_none()) {
            return;
        }
        let is_of_name = |known: &MaskedValue| known.name.as_deref() == Some(name);
        let former = self.values.iter().filter(|known| is_of_name(known)).count();
        let mut excess = former.saturating_sub(MAX_FORMER_VALUES);
        self.values.retain(|known| {
            let is_excess = excess > 0 && is_of_name(known);
            excess -= usize::from(is_excess);
            let is_expired = known
                .replaced_at
                .is_some_and(|at| now.duration_since(at) >= FORMER_VALUE_TIME);
            // The name may have had this value before.
            let is_repeated = is_of_name(known) && known.value == value;
            !is_excess && !is_expired && !is_repeated
        });
        self.push(value, Some(name.to_owned()));
    }

    fn push(&mut self, value: &str, name: Option<String>) {
        self.values.push(MaskedValue {
            forms: list_forms(value),
            value: value.to_owned(),
            name,
            replaced_at: None,
        });
        self.matcher = OnceLock::new();
    }

    /// Returns the number of texts to search for in each line.
    #[cfg(test)]
    pub(super) fn count_forms(&self) -> usize {
        self.values.iter().map(|value| value.forms.len()).sum()
    }

    /// Returns the text with secrets masked, or `None` if it contains no secrets.
    pub(super) fn apply_if_found(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut masked = String::with_capacity(text.len());
        let mut position = 0;
        for range in found {
            masked.push_str(&text[position..range.start]);
            masked.push_str(MASK);
            position = range.end;
        }
        masked.push_str(&text[position..]);
        Some(masked)
    }

    pub(super) fn apply(&self, text: &str) -> String {
        self.apply_if_found(text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the parts of a text that belong to secrets. Secrets that overlap are one part, so
    /// that both are masked as a whole.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(matcher) = self.matcher.get_or_init(|| self.build_matcher()) else {
            return Vec::new();
        };
        let mut found: Vec<Range<usize>> = matcher
            .find_overlapping_iter(text)
            .map(|found| found.range())
            .collect();
        found.sort_unstable_by_key(|range| range.start);
        let mut parts: Vec<Range<usize>> = Vec::new();
        for range in found {
            match parts.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                Some(_) | None => parts.push(range),
            }
        }
        parts
    }

    fn build_matcher(&self) -> Option<AhoCorasick> {
        let forms: Vec<&String> = self.values.iter().flat_map(|value| &value.forms).collect();
        (!forms.is_empty())
            .then(|| AhoCorasick::new(forms).expect("secrets are far shorter than the limits"))
    }
}

/// Returns the forms in which a value, and each long line of the value, is likely to appear.
fn list_forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    let lines = value.lines().filter(|line| line.len() >= MIN_LINE_LEN);
    for text in std::iter::once(value).chain(lines) {
        let quoted = unquote(&json::quote(text));
        let requoted = unquote(&json::quote(&quoted));
        let ascii = escape_non_ascii(&quoted);
        let debug = text.escape_debug().to_string();
        let hex = hex::encode(text);
        let percent = [NON_ALPHANUMERIC, NON_UNRESERVED, COMPONENT]
            .map(|set| utf8_percent_encode(text, set).to_string());
        let query: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        forms.extend([hex.to_uppercase(), hex, debug, ascii, requoted]);
        forms.push(quoted.replace('/', "\\/"));
        forms.extend(percent.iter().map(|text| lower_escapes(text)));
        forms.push(lower_escapes(&query));
        forms.extend(percent);
        forms.extend([query, quoted, text.to_owned()]);
        forms.extend((0..3).flat_map(|offset| encode_base64_at(text.as_bytes(), offset)));
    }
    forms.retain(|form| form.len() >= MIN_SECRET_LEN);
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn unquote(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].to_owned()
}

/// Escapes the characters of a JSON text that are not ASCII, with hex digits in lower case, as some
/// languages do.
fn escape_non_ascii(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(escaped, "\\u{unit:04x}").expect("a String takes any text");
        }
    }
    escaped
}

/// Returns a percent-encoded text with its escapes in lower case.
fn lower_escapes(text: &str) -> String {
    let mut after_percent = 0;
    text.chars()
        .map(|c| {
            if c == '%' {
                after_percent = 2;
                return c;
            }
            let is_escape = after_percent > 0;
            after_percent -= usize::from(is_escape);
            if is_escape { c.to_ascii_lowercase() } else { c }
        })
        .collect()
}

/// Returns the characters that stand for a value in the Base64, and in the URL-safe Base64, of a
/// longer text. In this text, the value begins `offset` bytes after a multiple of three.
fn encode_base64_at(value: &[u8], offset: usize) -> [String; 2] {
    let text = [&[0; 2][..offset], value].concat();
    // A character is the same in all these texts only if all its bits belong to the value.
    let (begin, end) = ((offset * 8).div_ceil(6), text.len() * 8 / 6);
    [BASE64.encode(&text), BASE64_URL.encode(&text)]
        .map(|encoded| encoded.get(begin..end).unwrap_or_default().to_owned())
}

/// Returns the text as one line, cut at `max` characters, with escapes in place of control and
/// invisible characters.
pub(super) fn to_printable(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    for (count, c) in text.trim_end().chars().enumerate() {
        if count == max {
            line.push('…');
            break;
        }
        match c {
            // U+FE0F requests the coloured form of the preceding emoji.
            '\t' | '\u{fe0f}' => line.push(c),
            c if is_hidden(c) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}
