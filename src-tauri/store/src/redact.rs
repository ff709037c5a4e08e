//! Masks secrets in JSON: the values of members whose names mark a secret, such as `password`, and
//! any other text that has the format of a well-known kind of token. Everything else stays as
//! written: numbers, order, spaces.
//!
//! Names and formats do not reveal a password in a sentence. The caller therefore supplies the
//! secrets that it knows, for instance the secrets in the keyring.

use std::{borrow::Cow, sync::LazyLock};

use aho_corasick::AhoCorasick;
use drawbridge_jsonrpc::json;
use regex::Regex;

/// The replacement for a secret.
pub(crate) const MASK: &str = "•••";
/// The maximum depth of JSON within strings of JSON.
const MAX_NESTED: usize = 4;

/// Parts of a name that mark a secret, in lower case and without separators.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "authorization",
    "authkey",
    "bearer",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "credential",
    "cookie",
    "sessionid",
    "connectionstring",
];

/// Parts of a name that contain `token` but denote a number of tokens.
const COUNT_NAMES: &[&str] = &[
    "tokens",
    "tokencount",
    "tokenlimit",
    "tokenbudget",
    "tokenusage",
];

/// A text is returned unchanged, without being parsed, if it contains none of these hints and no
/// secret of the caller. A Unicode escape may stand for any letter, and the last two hints are
/// characters that fold to ASCII letters.
const HINTS: &[&str] = &[
    "pass",
    "pwd",
    "\"pat\"",
    // The same name in JSON within a string.
    "\"pat\\",
    "secret",
    "token",
    "key",
    "authorization",
    "bearer",
    "credential",
    "cookie",
    "session",
    "connection",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_",
    "rk_",
    "xox",
    "akia",
    "asia",
    "aiza",
    "npm_",
    "eyj",
    "\\u",
    // Some languages escape every `/` like this, and a secret in Base64 is likely to contain one.
    "\\/",
    "ſ",
    "\u{212a}",
];

static HINT_MATCHER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let built = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(HINTS);
    built.expect("the hints are a valid set")
});

/// The formats of tokens. The text of a capture group is kept.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        // GitHub, GitLab, npm, Slack, AWS, Google.
        r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{24,}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{32,}",
        // JSON web tokens, signed or encrypted.
        r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}",
        // OpenAI, Anthropic, Stripe. A word that merely ends with "sk" does not match.
        r"(^|[^A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        r"((?i:\bbearer\s+))[A-Za-z0-9._~+/-]{16,}=*",
    ];
    Regex::new(&patterns.join("|")).expect("the patterns are a valid expression")
});

/// Returns JSON text with secrets masked, and borrows `text` if it contains no secrets.
///
/// `replace_secrets` returns a text with the caller's own secrets replaced, or `None` if the text
/// contains none. `replace_secrets` gets the unescaped contents of each string, and each number as
/// written. If a text has none of the [`HINTS`], `replace_secrets` first gets the whole text, which
/// stays unchanged if the result is `None`. A text that is not valid JSON is treated as one string.
pub(crate) fn redact_json<'a>(
    text: &'a str,
    replace_secrets: &dyn Fn(&str) -> Option<String>,
) -> Cow<'a, str> {
    if !HINT_MATCHER.is_match(text) && replace_secrets(text).is_none() {
        return Cow::Borrowed(text);
    }
    let redacted = redact_text(text, replace_secrets, 0);
    if redacted == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(redacted)
    }
}

fn redact_text(
    text: &str,
    replace_secrets: &dyn Fn(&str) -> Option<String>,
    nested: usize,
) -> String {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return redact_plain_text(text, replace_secrets);
    }
    let mut writer = Writer {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
        replace_secrets,
        nested,
    };
    writer.run();
    writer.out
}

fn redact_plain_text(text: &str, replace_secrets: &dyn Fn(&str) -> Option<String>) -> String {
    let text = replace_secrets(text).map_or(Cow::Borrowed(text), Cow::Owned);
    TOKEN
        .replace_all(&text, |found: &regex::Captures<'_>| {
            let kept = found
                .get(1)
                .or_else(|| found.get(2))
                .map_or("", |group| group.as_str());
            format!("{kept}{MASK}")
        })
        .into_owned()
}

/// The kind of value that the name of a member suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameKind {
    Harmless,
    /// The value may be a number of tokens. Any other value is a secret.
    TokenCount,
    Secret,
}

impl NameKind {
    fn of(name: &str) -> Self {
        let name: String = json::fold_key(name)
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect();
        let is_secret = |name: &str| {
            matches!(name, "pass" | "userpass" | "dbpass" | "pat")
                || SECRET_NAMES.iter().any(|secret| name.contains(secret))
        };
        if !is_secret(&name) {
            return Self::Harmless;
        }
        // A space takes the place of each name of a count, so that no new name arises.
        let without_counts = |name: String, count: &&str| name.replace(count, " ");
        if is_secret(&COUNT_NAMES.iter().fold(name, without_counts)) {
            Self::Secret
        } else {
            Self::TokenCount
        }
    }
}

/// Copies valid JSON, and masks secrets. The writer keeps its own stack, so that deep nesting does
/// not overflow the thread's stack.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    replace_secrets: &'a dyn Fn(&str) -> Option<String>,
    /// How many strings of JSON, one within the other, contain `text`.
    nested: usize,
}

/// An open array or object.
enum Container {
    Array,
    /// `name_next` is whether the next string is the name of a member.
    Object {
        name_next: bool,
    },
}

impl<'a> Writer<'a> {
    fn run(&mut self) {
        let mut open = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => match open.last_mut() {
                    Some(Container::Object { name_next }) if *name_next => {
                        *name_next = false;
                        self.copy_member();
                    }
                    _ => {
                        let string = self.take_string();
                        self.write_string(string);
                    }
                },
                b'-' | b'0'..=b'9' => self.copy_number(),
                b'{' => {
                    open.push(Container::Object { name_next: true });
                    self.copy(1);
                }
                b'[' => {
                    open.push(Container::Array);
                    self.copy(1);
                }
                b'}' | b']' => {
                    open.pop();
                    self.copy(1);
                }
                b',' => {
                    if let Some(Container::Object { name_next }) = open.last_mut() {
                        *name_next = true;
                    }
                    self.copy(1);
                }
                // Spaces, colons, `true`, `false` and `null`.
                _ => self.copy(1),
            }
        }
    }

    /// Copies a member's name, and masks its value if the name marks it as secret.
    fn copy_member(&mut self) {
        let name = self.take_string();
        let begin = self.out.len() + 1;
        self.write_string(name);
        // A name that contains a secret is written with the secret masked. The written name counts
        // too, so that redacting the result again does not change it.
        let written = &self.out[begin..self.out.len() - 1];
        let kind_of = |name: &str| NameKind::of(&unescape(name).unwrap_or_else(|| name.into()));
        let mut kind = kind_of(name);
        if written != name {
            kind = kind.max(kind_of(written));
        }
        if kind == NameKind::Harmless {
            return;
        }
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n' | b':')) {
            self.copy(1);
        }
        match self.peek() {
            // `true`, `false`, `null`, a number of tokens and an empty string are no secrets.
            None | Some(b't' | b'f' | b'n') => {}
            Some(b'-' | b'0'..=b'9') if kind == NameKind::TokenCount => {}
            Some(b'"') if self.text[self.at..].starts_with("\"\"") => {}
            Some(_) => {
                self.skip_value();
                self.write_mask();
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn copy(&mut self, bytes: usize) {
        self.out.push_str(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn write_mask(&mut self) {
        self.out.push('"');
        self.out.push_str(MASK);
        self.out.push('"');
    }

    /// Skips a string, and returns its contents as written.
    fn take_string(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let begin = self.at + 1;
        let mut end = begin;
        while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[end..]) {
            end += found;
            if bytes[end] == b'"' {
                break;
            }
            end += 2;
        }
        self.at = end + 1;
        &self.text[begin..end]
    }

    fn write_string(&mut self, contents: &str) {
        self.out.push('"');
        if let Some(redacted) = self.redact_string(contents) {
            self.out.push_str(&redacted);
        } else {
            self.out.push_str(contents);
        }
        self.out.push('"');
    }

    /// Returns the contents of a string with secrets masked, escaped for JSON, or `None` if there
    /// are no secrets.
    fn redact_string(&self, contents: &str) -> Option<String> {
        // A lone surrogate must not keep the rest of the string from being searched. If there is a
        // secret, U+FFFD takes the surrogate's place.
        let unescaped_text = unescape(contents).or_else(|| {
            let replaced = replace_lone_surrogates(contents);
            unescape(&replaced).map(|text| Cow::Owned(text.into_owned()))
        })?;
        let is_json =
            unescaped_text.trim_start().starts_with(['{', '[']) && self.nested < MAX_NESTED;
        let redacted = if is_json {
            redact_text(&unescaped_text, self.replace_secrets, self.nested + 1)
        } else {
            redact_plain_text(&unescaped_text, self.replace_secrets)
        };
        (redacted != unescaped_text).then(|| {
            let quoted = json::quote(&redacted);
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn copy_number(&mut self) {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
            .unwrap_or(rest.len());
        if (self.replace_secrets)(&rest[..end]).is_some() {
            self.at += end;
            self.write_mask();
        } else {
            self.copy(end);
        }
    }

    /// Skips a value of any kind.
    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => drop(self.take_string()),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' if depth == 0 => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let is_end = |byte: &u8| {
                        matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n')
                    };
                    self.at += rest.iter().position(is_end).unwrap_or(rest.len());
                }
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

/// Returns the unescaped contents of a string, or `None` if they contain half of a surrogate pair.
fn unescape(contents: &str) -> Option<Cow<'_, str>> {
    if !contents.contains('\\') {
        return Some(Cow::Borrowed(contents));
    }
    serde_json::from_str(&format!("\"{contents}\""))
        .ok()
        .map(Cow::Owned)
}

/// Replaces each escape of half a surrogate pair with the escape of U+FFFD.
fn replace_lone_surrogates(contents: &str) -> String {
    let code = |position: usize| {
        let escape = contents.get(position..position + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let mut replaced = String::with_capacity(contents.len());
    let mut position = 0;
    while let Some(next) = contents[position..].chars().next() {
        let length = match (code(position), code(position + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                replaced.push_str("\\ufffd");
                position += 6;
                continue;
            }
            (Some(_), _) => 6,
            // An escaped backslash does not begin another escape.
            (None, _) if next == '\\' => 2,
            (None, _) => next.len_utf8(),
        };
        replaced.push_str(&contents[position..position + length]);
        position += length;
    }
    replaced
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
