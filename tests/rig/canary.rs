//! Canaries: unique secrets, and a search for them in any encoding.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A value that does not occur by chance.
pub struct Canary(String);

impl Canary {
    /// Returns a canary that contains characters which URLs and JSON escape.
    pub fn new(name: &str) -> Self {
        Self(format!(
            "canary/{name}+\"{:x}\"&=%end",
            u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ))
    }

    /// Wraps a secret that was created elsewhere. Fails if it has fewer than 16 bytes, because a
    /// shorter value may occur by chance.
    pub fn from_secret(secret: &str) -> Self {
        assert!(secret.len() >= 16, "too short for a search: {secret}");
        Self(secret.to_owned())
    }

    pub fn value(&self) -> &str {
        &self.0
    }

    /// Returns every encoding in which careless code may leave the value.
    pub fn encodings(&self) -> Vec<(&'static str, Vec<u8>)> {
        let raw = self.0.as_bytes();
        let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        let url: String = raw
            .iter()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    (*byte as char).to_string()
                }
                other => format!("%{other:02X}"),
            })
            .collect();
        let json = serde_json::Value::from(self.value()).to_string();
        let json = json.trim_matches('"').to_owned();
        let mut encodings = vec![
            ("raw", raw.to_vec()),
            ("hex", hex.clone().into_bytes()),
            ("HEX", hex.to_uppercase().into_bytes()),
            ("url", url.to_lowercase().into_bytes()),
            ("URL", url.into_bytes()),
            ("JSON", json.into_bytes()),
        ];
        // The base64 text depends on the offset of the value in a group of three bytes. The first
        // and last characters are left out, because they also depend on the bytes around the value.
        for offset in 0..3 {
            let mut bytes = vec![b' '; offset];
            bytes.extend_from_slice(raw);
            let text = base64(&bytes);
            let skip = if offset == 0 { 0 } else { 4 };
            let unpadded = text.trim_end_matches('=');
            encodings.push((
                "base64",
                unpadded.as_bytes()[skip..unpadded.len() - 2].to_vec(),
            ));
        }
        encodings
    }

    /// Returns the name of the encoding in which the bytes contain the value, if they do.
    pub fn find_in(&self, bytes: &[u8]) -> Option<&'static str> {
        let is_contained =
            |encoded: &[u8]| bytes.windows(encoded.len()).any(|window| window == encoded);
        self.encodings()
            .into_iter()
            .find(|(_, encoded)| is_contained(encoded))
            .map(|(name, _)| name)
    }

    /// Fails if any file below the folder contains the value, or if there is no file.
    #[track_caller]
    pub fn assert_absent_below(&self, folder: &Path) {
        let files = list_files(folder);
        assert!(
            !files.is_empty(),
            "{} contains no file, so nothing was searched",
            folder.display()
        );
        for file in files {
            let Ok(bytes) = fs::read(&file) else { continue };
            if let Some(encoding) = self.find_in(&bytes) {
                panic!("{} contains the secret (as {encoding})", file.display());
            }
        }
    }
}

/// Returns the files below a folder, without sockets and links.
pub fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the standard base64 of the bytes, with padding.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for position in 0..4 {
            let index = (bits >> (18 - 6 * position)) as usize & 63;
            text.push(if position <= group.len() {
                ALPHABET[index] as char
            } else {
                '='
            });
        }
    }
    text
}

/// Decodes standard base64. Skips characters that are not in its alphabet.
pub fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bit_count) = (0_u32, 0);
    for value in text
        .bytes()
        .filter_map(|byte| ALPHABET.iter().position(|symbol| *symbol == byte))
    {
        buffer = buffer << 6 | u32::try_from(value).expect("below 64");
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((buffer >> bit_count & 0xff) as u8);
        }
    }
    bytes
}
