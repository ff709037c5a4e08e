//! Random tokens and bytes that cannot be guessed, and ids that do not collide.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, RngCore};

use crate::clock;

/// The digits and letters of ids, which a person can tell apart. They are in ASCII order, so that
/// ids sort like the numbers that they encode.
const LETTERS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";

/// The places of an id's letters. Place 0 is the last letter.
const PLACES: std::ops::Range<u32> = 0..10;

/// Returns 256 random bits as 64 hex digits.
pub fn token() -> String {
    hex::encode(rand::rng().random::<[u8; 32]>())
}

/// Returns random bytes, for keys and nonces.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// Returns a short random id that a person can type: 10 letters, 50 bits.
pub fn id() -> String {
    encode_id(rand::rng().random())
}

/// Returns an id that is based on the current time, and that sorts after all ids that this function
/// returned before in this process. Rows with these ids are appended at the end of an index.
pub fn ordered_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = clock::now_micros();
    let next = |last: u64| now.max(last + 1);
    encode_id(
        LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(next(last))
        })
        .map_or(now, next),
    )
}

/// Returns the id that encodes the low 50 bits of a number.
pub fn encode_id(number: u64) -> String {
    PLACES
        .rev()
        .map(|place| char::from(LETTERS[(number >> (5 * place)) as usize % LETTERS.len()]))
        .collect()
}

/// Returns the number that an id encodes, or `None` if the text is no id.
pub fn decode_id(id: &str) -> Option<u64> {
    let digit = |letter| {
        LETTERS
            .iter()
            .position(|candidate| *candidate == letter)
            .map(|digit| digit as u64)
    };
    let letters = Some(id.bytes()).filter(|letters| letters.len() == PLACES.len());
    letters?.try_fold(0, |number, letter| Some(number << 5 | digit(letter)?))
}

#[cfg(test)]
mod tests;
