//! SHA-256 digests in lower-case hex.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// Returns the digest of `bytes`.
pub fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// Returns the digest of all bytes that `reader` yields.
///
/// # Errors
/// Returns an error if the reader fails.
pub fn sha256_reader(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(to_hex(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Returns the digest of several parts. Each part is preceded by its length, so that a different
/// split of the same bytes has another digest.
pub fn sha256_parts(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    to_hex(&hasher.finalize())
}

fn to_hex(digest: &[u8]) -> String {
    let mut text = vec![0; 2 * digest.len()];
    hex::encode_to_slice(digest, &mut text).expect("the buffer has twice the length");
    String::from_utf8(text).expect("hex digits are ASCII")
}
