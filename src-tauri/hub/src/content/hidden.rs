//! Finds characters that a person does not see, or that show a person another text than a model
//! reads. Also returns a text as a model may read it.

use std::ops::Range;

use drawbridge_model::invisible_chars::is_hidden;
use unicode_normalization::UnicodeNormalization;

/// The smallest number of zero-width characters in a row that no script uses.
const MIN_RUN: usize = 4;

/// The characters after a black flag that make it the flag of England, Scotland or Wales.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Returns the range of a hidden character or of a terminal control sequence that ordinary text
/// does not have. Ignores the characters and sequences that emoji, right-to-left scripts and the
/// coloured output of programs need.
pub(super) fn find(text: &str) -> Option<Range<usize>> {
    if text.is_ascii() {
        return find_control(text);
    }
    let is_rtl = text.chars().any(is_right_to_left);
    let mut run = 0;
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    // The end of the latest flag emoji.
    let mut flag_end = 0;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let end = at + c.len_utf8();
        if c == '\u{1f3f4}' {
            let tags = FLAGS.iter().find(|tags| text[end..].starts_with(**tags));
            flag_end = end + tags.map_or(0, |tags| tags.len());
        }
        run = if is_zero_width(c) || is_selector(c) {
            run + 1
        } else {
            0
        };
        let is_between_letters = before.is_some_and(|b: char| b.is_ascii_alphanumeric())
            && next.is_some_and(|n| n.is_ascii_alphanumeric());
        let is_found = match c {
            // Control characters, some of which begin a terminal control sequence.
            '\u{80}'..='\u{9f}' => true,
            // Tag characters, which only a flag emoji needs.
            '\u{e0000}'..='\u{e007f}' => at >= flag_end,
            // Characters that force a direction on any text.
            '\u{202d}' | '\u{202e}' => true,
            // Characters with which a text mixes both directions.
            '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => !is_rtl,
            c if is_selector(c) => run >= 2 || is_between_letters,
            c if is_zero_width(c) => run >= MIN_RUN || is_between_letters,
            _ => false,
        };
        if is_found {
            return Some(at..end);
        }
        before = Some(c);
    }
    find_control(text)
}

/// Returns the range of a control character other than white space, or of the beginning of a
/// terminal control sequence that coloured output does not need.
fn find_control(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0x1b => {
                let length = colour_length(&bytes[at..]);
                if length == 0 {
                    let end = (at + 8).min(bytes.len());
                    return Some(at..floor_char_boundary(text, end).max(at + 1));
                }
                at += length;
            }
            // Tab, line feed, form feed and carriage return are white space; a backspace is not.
            b'\t' | b'\n' | 0x0c | b'\r' | 0x20..=0x7e | 0x80.. => at += 1,
            0x00..=0x1f | 0x7f => return Some(at..at + 1),
        }
    }
    None
}

/// Returns the length of the terminal control sequence at the start of `bytes` if it sets a colour,
/// or clears the rest of a line, as some programs do when they set a colour. Returns 0 if there is
/// no such sequence, or if it conceals text.
fn colour_length(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 0;
    }
    let params = bytes[2..]
        .iter()
        .take(32)
        .take_while(|b| b.is_ascii_digit() || **b == b';')
        .count();
    let codes = &bytes[2..2 + params];
    let is_colour = match bytes.get(2 + params) {
        Some(b'm') => !conceals_text(codes),
        // Other codes clear the beginning of the line, or all of it.
        Some(b'K') => without_zeros(codes).is_empty(),
        _ => false,
    };
    if is_colour { params + 3 } else { 0 }
}

/// Returns whether the codes of a colour sequence, separated by semicolons, conceal the text after
/// it.
fn conceals_text(codes: &[u8]) -> bool {
    let mut codes = codes.split(|b| *b == b';').map(without_zeros);
    while let Some(code) = codes.next() {
        match code {
            // A colour follows: the code 5 and an index, or the code 2 and three components.
            b"38" | b"48" => {
                let parts = if codes.next() == Some(b"2") { 3 } else { 1 };
                for _ in 0..parts {
                    codes.next();
                }
            }
            b"8" => return true,
            _ => {}
        }
    }
    false
}

/// Returns a number without its leading zeros.
fn without_zeros(code: &[u8]) -> &[u8] {
    let zeros = code.iter().take_while(|b| **b == b'0').count();
    &code[zeros..]
}

pub(super) fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' | '\u{ad}')
}

/// Returns whether a character is a variation selector, which chooses a form of the character before
/// it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns whether a letter belongs to a script that is written from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Returns the text as a model may read it: without hidden characters, and with plain Latin letters
/// instead of tag characters, wide or ornamental letters, and letters that look like Latin letters.
/// Returns `None` if the text is ASCII.
pub(super) fn strip_disguise(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    // NFKC makes a text at most 11 times as long, so memory stays bounded.
    let mut plain = String::with_capacity(text.len());
    for c in text.nfkc() {
        match c {
            '\u{e0020}'..='\u{e007e}' => {
                plain.extend(char::from_u32(u32::from(c) - 0xe0000));
            }
            c if is_hidden(c) && !c.is_whitespace() => {}
            c => plain.push(to_latin(c)),
        }
    }
    Some(plain)
}

/// Returns the Latin letter that a Cyrillic or Greek letter looks like, in lower case because the
/// patterns ignore case. Returns other characters unchanged.
fn to_latin(c: char) -> char {
    match c {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'В' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' => 'e',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'Κ' | 'κ' => 'k',
        'М' | 'Μ' => 'm',
        'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'Τ' => 't',
        'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'Х' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' => 'y',
        c => c,
    }
}
