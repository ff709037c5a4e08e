//! Walks over the texts in JSON, in one pass.

use std::{borrow::Cow, fmt, ops::Range};

use drawbridge_model::content::{ContentFlag, FlagKind};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{EXCERPT_MARGIN, MAX_EXCERPT, MAX_FLAGS, excerpt_of, hidden, patterns::COMPILED};

/// The length from which a text without spaces may be data in base64, which is not checked.
const MIN_DATA: usize = 1024;

/// Returns what is suspicious in the texts of a JSON document, up to `limit` bytes of text.
pub(super) fn scan(json: &str, limit: usize) -> Vec<ContentFlag> {
    let mut walk = Walk {
        path: Vec::new(),
        flags: Vec::new(),
        left: limit,
    };
    let json = replace_lone_surrogates(json);
    let mut deserializer = serde_json::Deserializer::from_str(&json);
    // JSON of a server is checked where it is read, but may be too deep for this walk or have a
    // number that is too large. Then the rest is unchecked.
    if let Err(error) = Node(&mut walk).deserialize(&mut deserializer)
        && walk.left > 0
    {
        walk.report_unchecked(format!("{error} of {} bytes", json.len()));
    }
    walk.flags
}

/// Replaces each escape of half a character, which programs write that cut a text between the two
/// halves, with one of U+FFFD. The walk would end at it.
fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut replaced = Cow::Borrowed(json);
    let mut at = 0;
    while let Some(length) = json[at..].find('\\') {
        at += length;
        let unit = utf16_escape(&json[at..]);
        let is_pair = || {
            matches!(unit, Some(0xd800..=0xdbff))
                && matches!(utf16_escape(&json[at + 6..]), Some(0xdc00..=0xdfff))
        };
        match unit {
            Some(0xd800..=0xdfff) if is_pair() => at += 12,
            Some(0xd800..=0xdfff) => {
                replaced.to_mut().replace_range(at..at + 6, "\\ufffd");
                at += 6;
            }
            Some(_) => at += 6,
            None => {
                let escaped = json[at + 1..].chars().next();
                at += 1 + escaped.map_or(0, char::len_utf8);
            }
        }
    }
    replaced
}

/// Returns the unit of UTF-16 whose escape the text starts with.
fn utf16_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// A step to a text.
enum Step {
    Member(String),
    Item(usize),
}

struct Walk {
    path: Vec<Step>,
    flags: Vec<ContentFlag>,
    /// How many more bytes of text are checked.
    left: usize,
}

impl Walk {
    /// Checks the name of the member that the path ends with.
    fn check_key(&mut self) {
        if let Some(Step::Member(key)) = self.path.last() {
            let key = key.clone();
            self.check(&key, true);
        }
    }

    fn check(&mut self, text: &str, is_key: bool) {
        if text.is_empty() || self.left == 0 || is_data(text) {
            return;
        }
        let checked = if text.len() > self.left {
            let end = hidden::floor_char_boundary(text, self.left);
            self.left = 0;
            self.report_unchecked(format!("from its byte {end}"));
            &text[..end]
        } else {
            self.left -= text.len();
            text
        };
        // A short text has no room for any pattern.
        if checked.len() >= 5 || !checked.is_ascii() {
            let first = self.flags.len();
            if let Some(range) = hidden::find(checked) {
                self.report(FlagKind::HiddenCharacters, checked, range, is_key, first);
            }
            for (kind, range) in COMPILED.find(checked) {
                self.report(kind, checked, range, is_key, first);
            }
            if let Some(plain) = hidden::unmask(checked) {
                for (kind, range) in COMPILED.find(&plain) {
                    self.report(kind, &plain, range, is_key, first);
                }
            }
        }
    }

    /// Adds a flag, unless the current text, whose flags begin at `first`, has one of this kind
    /// already. At most [`MAX_FLAGS`] places are ever written.
    fn report(
        &mut self,
        kind: FlagKind,
        text: &str,
        range: Range<usize>,
        is_key: bool,
        first: usize,
    ) {
        let is_known = self.flags.iter().skip(first).any(|flag| flag.kind == kind);
        if self.flags.len() >= MAX_FLAGS || is_known {
            return;
        }
        let place = self.place(is_key);
        let start = range.start.saturating_sub(EXCERPT_MARGIN);
        let start = hidden::floor_char_boundary(text, start);
        let end = (range.end + EXCERPT_MARGIN).min(text.len());
        let end = hidden::floor_char_boundary(text, end).max(range.end);
        let excerpt = excerpt_of(&text[start..end]);
        self.flags.push(ContentFlag {
            kind,
            place,
            excerpt,
        });
    }

    /// Reports that a text is not checked to its end, even if there are many flags.
    fn report_unchecked(&mut self, excerpt: String) {
        self.flags.truncate(MAX_FLAGS - 1);
        self.flags.push(ContentFlag {
            kind: FlagKind::Unchecked,
            place: self.place(false),
            excerpt,
        });
    }

    /// Returns the place of the current text as a JSON pointer.
    fn place(&self, is_key: bool) -> String {
        let mut place = String::new();
        for step in &self.path {
            place.push('/');
            match step {
                Step::Member(key) => {
                    // An excerpt has no use for more characters.
                    let key: String = key.chars().take(MAX_EXCERPT + 1).collect();
                    place.push_str(&excerpt_of(&key.replace('~', "~0").replace('/', "~1")));
                }
                Step::Item(at) => place.push_str(&at.to_string()),
            }
        }
        if is_key {
            place.push('~');
        }
        place
    }
}

/// Returns whether a long text is data in base64 or hex. A model reads no instructions from it.
fn is_data(text: &str) -> bool {
    text.len() >= MIN_DATA
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'))
}

/// A value of JSON to be checked.
struct Node<'a>(&'a mut Walk);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.check(text, false);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.path.push(Step::Member(key));
            self.0.check_key();
            map.next_value_seed(Node(self.0))?;
            self.0.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for at in 0.. {
            self.0.path.push(Step::Item(at));
            let item = items.next_element_seed(Node(self.0))?;
            self.0.path.pop();
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}
