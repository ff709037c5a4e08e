//! Walks over the texts in JSON in one pass, and checks each text.

use std::{borrow::Cow, fmt, ops::Range};

use drawbridge_model::content::{ContentFlag, FlagKind};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{EXCERPT_MARGIN, MAX_EXCERPT, MAX_FLAGS, excerpt_of, hidden, patterns::COMPILED};

/// The shortest text, in bytes, that can count as data in base64 or hex, which is not checked.
const MIN_DATA: usize = 1024;

/// Returns the flags of the texts in a JSON document, up to `limit` bytes of text.
pub(super) fn scan(json: &str, limit: usize) -> Vec<ContentFlag> {
    let mut walk = Walk {
        path: Vec::new(),
        flags: Vec::new(),
        remaining: limit,
    };
    let json = replace_lone_surrogates(json);
    let mut deserializer = serde_json::Deserializer::from_str(&json);
    // JSON of a server is checked when it is read, but may be too deep for this walk or have a
    // number that is too large. The rest is then unchecked.
    if let Err(error) = Node(&mut walk).deserialize(&mut deserializer)
        && walk.remaining > 0
    {
        walk.report_unchecked(format!("{error} of {} bytes", json.len()));
    }
    walk.flags
}

/// Replaces each `\u` escape of a lone surrogate with `\ufffd`, because the walk would end there.
/// Programs write a lone surrogate if they cut a text within a character.
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

/// Returns the UTF-16 code unit of the `\u` escape at the start of the text, if there is one.
fn utf16_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// A step on the path to a text.
enum Step {
    Member(String),
    Item(usize),
}

struct Walk {
    path: Vec<Step>,
    flags: Vec<ContentFlag>,
    /// How many more bytes of text are checked.
    remaining: usize,
}

impl Walk {
    /// Checks the name of the member at the end of the path.
    fn check_key(&mut self) {
        if let Some(Step::Member(key)) = self.path.last() {
            let key = key.clone();
            self.check_text(&key, true);
        }
    }

    fn check_text(&mut self, text: &str, is_key: bool) {
        if text.is_empty() || self.is_rest_reported() || is_data(text) {
            return;
        }
        let checked = if text.len() > self.remaining {
            let end = hidden::floor_char_boundary(text, self.remaining);
            self.remaining = 0;
            self.report_unchecked(format!("from its byte {end}"));
            &text[..end]
        } else {
            self.remaining -= text.len();
            text
        };
        let first = self.flags.len();
        if let Some(range) = hidden::find(checked) {
            self.add_flag(FlagKind::HiddenCharacters, checked, range, is_key, first);
        }
        // A short text has no room for any pattern.
        if checked.len() >= 5 || !checked.is_ascii() {
            for (kind, range) in COMPILED.find(checked) {
                self.add_flag(kind, checked, range, is_key, first);
            }
            if let Some(plain) = hidden::strip_disguise(checked) {
                for (kind, range) in COMPILED.find(&plain) {
                    self.add_flag(kind, &plain, range, is_key, first);
                }
            }
        }
    }

    /// Adds a flag, unless there are [`MAX_FLAGS`] flags already, or the current text, whose flags
    /// begin at `first`, has a flag of this kind. The place is written only for a flag that is
    /// added, because a path can be long.
    fn add_flag(
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
        let (start, end) = excerpt_range(text, &range);
        let excerpt = excerpt_of(&text[start..end]);
        self.flags.push(ContentFlag {
            kind,
            place,
            excerpt,
        });
    }

    /// Returns whether a flag says that the rest is not checked. If the texts so far have exactly
    /// the size that is checked, the next text gets this flag.
    fn is_rest_reported(&self) -> bool {
        self.remaining == 0
            && self
                .flags
                .iter()
                .any(|flag| flag.kind == FlagKind::Unchecked)
    }

    /// Reports that a text, or the JSON, is not checked to its end. If there are [`MAX_FLAGS`]
    /// flags already, the new flag replaces the last flag.
    fn report_unchecked(&mut self, excerpt: String) {
        self.flags.truncate(MAX_FLAGS - 1);
        self.flags.push(ContentFlag {
            kind: FlagKind::Unchecked,
            place: self.place(false),
            excerpt,
        });
    }

    /// Returns the place of the current text as a JSON pointer. The place of a key is the place of
    /// its member, with `~` at the end.
    fn place(&self, is_key: bool) -> String {
        let mut place = String::new();
        for step in &self.path {
            place.push('/');
            match step {
                Step::Member(key) => {
                    // Further characters of the key cannot change the excerpt.
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

/// Returns the start and the end of a match with some text around it, in whole words, because part
/// of a secret would not be recognized and masked.
fn excerpt_range(text: &str, found: &Range<usize>) -> (usize, usize) {
    let start = found.start.saturating_sub(EXCERPT_MARGIN);
    let start = hidden::floor_char_boundary(text, start);
    let is_cut = text[..start].ends_with(|c: char| !c.is_whitespace());
    let before = &text[start..found.start];
    let start = match before.find(char::is_whitespace) {
        Some(length) if is_cut => start + length,
        None if is_cut => found.start,
        _ => start,
    };
    let end = (found.end + EXCERPT_MARGIN).min(text.len());
    let end = hidden::floor_char_boundary(text, end).max(found.end);
    let is_cut = text[end..].starts_with(|c: char| !c.is_whitespace());
    let after = &text[found.end..end];
    let end = match after.rfind(char::is_whitespace) {
        Some(length) if is_cut => found.end + length,
        None if is_cut => found.end,
        _ => end,
    };
    (start, end)
}

/// Returns whether a text is long and consists of the characters of base64 or hex, as encoded data
/// does. A model is not expected to read instructions from encoded data.
fn is_data(text: &str) -> bool {
    text.len() >= MIN_DATA
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'))
}

/// A JSON value to check.
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
        self.0.check_text(text, false);
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
