//! JSON that careless code would change: numbers that no machine type holds, unnecessary escapes,
//! white space in every gap, unordered keys, deep nesting. The JSON is generated from bytes, so
//! that a fuzzer can explore it, a property test can shrink it, and equal bytes give equal text.

/// The deepest nesting of a generated value; callers add more levels if they need them.
const MAX_DEPTH: usize = 6;

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1.0",
    "-0.0",
    "1e400",
    "-1E+400",
    "0.1e-7",
    "1E-400",
    "123456789012345678901234567890",
    "18446744073709551616",
    "-9223372036854775809",
    "9007199254740993",
    "0.10",
    "1e0",
    "3.141592653589793238462643383",
];

/// Pieces of strings, as written between the quotes.
const PIECES: &[&str] = &[
    "a",
    "é",
    "𝄞",
    "\u{2028}",
    "\u{feff}",
    "\u{7f}",
    "\\u0000",
    "\\ud834\\udd1e",
    "\\ud800",
    "\\/",
    "/",
    "\\\\",
    "\\\"",
    "\\n",
    "\\u000a",
    "\\u0061",
    "{",
    "[[[[",
    "]}",
    ":",
    ",",
    "data: x",
    "\\b\\f\\r\\t",
    "0123456789abcdef",
];

/// Pieces of keys, which any reader can decode.
const KEY_PIECES: &[&str] = &[
    "a", "Z", "é", "", "\\u0061", "\\/", " ", "$", "\\\"", "-", "vendor/", "ß", "\\n", "𝄞",
];

const WHITESPACE: &[&str] = &["", "", "", " ", "\t", "\n", "\r\n", "  \r \n "];

/// A source of choices. Each choice uses up one byte. When no byte is left, the first alternative
/// is chosen.
pub struct Choices<'a>(&'a [u8]);

/// A member of an object: the key with quotes, and the value.
pub type Member = (String, String);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first) % count.max(1)
    }

    fn pick<'b>(&mut self, from: &[&'b str]) -> &'b str {
        from[self.below(from.len())]
    }

    /// Returns white space or an empty text.
    pub fn whitespace(&mut self) -> &'static str {
        self.pick(WHITESPACE)
    }

    /// Returns the members of an object. No two keys are equal, even if case is ignored.
    pub fn members(&mut self) -> Vec<Member> {
        self.members_at(0)
    }

    /// Returns any value.
    pub fn value(&mut self) -> String {
        self.value_at(0)
    }

    /// Returns a string with its quotes.
    pub fn string(&mut self) -> String {
        let repeated = if self.below(32) == 31 { 500 } else { 1 };
        let text: String = (0..self.below(5)).map(|_| self.pick(PIECES)).collect();
        format!("\"{}\"", text.repeat(repeated))
    }

    /// Returns an object with these members.
    pub fn object(&mut self, members: &[Member]) -> String {
        let written = members.iter().map(|(key, value)| {
            let [a, b, c, d] = [(); 4].map(|()| self.whitespace());
            format!("{a}{key}{b}:{c}{value}{d}")
        });
        let inside = written.collect::<Vec<_>>().join(",");
        format!(
            "{{{inside}{}}}",
            if members.is_empty() {
                self.whitespace()
            } else {
                ""
            }
        )
    }

    /// Returns an object that resembles a JSON-RPC message: it has some of the members of a
    /// message, in any order, among other members.
    pub fn message(&mut self) -> String {
        let mut members = self.members();
        for key in ["jsonrpc", "id", "method", "params", "result", "error"] {
            if self.below(3) > 0 {
                let value = if key == "jsonrpc" {
                    "\"2.0\"".to_owned()
                } else {
                    self.value()
                };
                members.insert(self.below(members.len() + 1), (format!("\"{key}\""), value));
            }
        }
        self.object(&members)
    }

    fn members_at(&mut self, depth: usize) -> Vec<Member> {
        let count = self.below(5);
        (0..count)
            .map(|index| {
                let prefix: String = (0..self.below(3)).map(|_| self.pick(KEY_PIECES)).collect();
                (format!("\"{prefix}{index}\""), self.value_at(depth + 1))
            })
            .collect()
    }

    fn value_at(&mut self, depth: usize) -> String {
        match self.below(if depth < MAX_DEPTH { 8 } else { 6 }) {
            0 => "null".to_owned(),
            1 => "true".to_owned(),
            2 => "false".to_owned(),
            3 | 4 => self.pick(NUMBERS).to_owned(),
            5 => self.string(),
            6 => {
                let members = self.members_at(depth);
                self.object(&members)
            }
            _ => {
                let written: Vec<String> = (0..self.below(4))
                    .map(|_| {
                        let [a, b] = [(); 2].map(|()| self.whitespace());
                        format!("{a}{}{b}", self.value_at(depth + 1))
                    })
                    .collect();
                format!("[{}]", written.join(","))
            }
        }
    }
}

/// Returns an object with `depth` levels of objects and arrays; `depth` must be at least 1.
pub fn nested_object(depth: usize, choices: &mut Choices<'_>) -> String {
    let mut text = choices.pick(&["", "1", "\"[{\"", "\"\\\\\""]).to_owned();
    for level in 0..depth {
        let is_outermost = level + 1 == depth;
        text = match (is_outermost || choices.below(2) == 0, text.is_empty()) {
            (true, true) => "{}".to_owned(),
            (true, false) => format!("{{\"]\\\"{level}\":{text}}}"),
            (false, _) => format!("[{text}]"),
        };
    }
    text
}

/// Splits the bytes into pieces of `size + 1` bytes, with the sizes repeated as needed. Returns a
/// single piece if there are no sizes.
pub fn split_bytes<'a>(mut bytes: &'a [u8], sizes: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !bytes.is_empty() {
        let size = sizes
            .next()
            .map_or(bytes.len(), |size| usize::from(*size) + 1);
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
