//! Random names: tokens that cannot be guessed, ids that do not collide.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::Rng;

use crate::clock;

/// What a person can tell apart, in the order of their codes.
const LETTERS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";

/// Of an id, the first letter last.
const PLACES: std::ops::Range<u32> = 0..10;

/// 256 bits, as 64 hex digits.
pub fn token() -> String {
    hex::encode(rand::rng().random::<[u8; 32]>())
}

/// A short id that a person can type: 10 letters, 50 bits.
pub fn id() -> String {
    id_of(rand::rng().random())
}

/// The same, but each behind the one before, as the time goes: where rows are found by it, an index of them
/// grows at its end.
pub fn id_in_order() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = clock::micros();
    let next = |last: u64| now.max(last + 1);
    id_of(
        LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(next(last))
        })
        .map_or(now, next),
    )
}

/// The id that writes the last 50 bits of a number.
pub fn id_of(number: u64) -> String {
    PLACES
        .rev()
        .map(|place| char::from(LETTERS[(number >> (5 * place)) as usize % LETTERS.len()]))
        .collect()
}

/// The number that an id writes; none for what is no id.
pub fn number_of(id: &str) -> Option<u64> {
    let digit = |letter| {
        LETTERS
            .iter()
            .position(|known| *known == letter)
            .map(|digit| digit as u64)
    };
    let letters = Some(id.bytes()).filter(|letters| letters.len() == PLACES.len());
    letters?.try_fold(0, |number, letter| Some(number << 5 | digit(letter)?))
}

#[cfg(test)]
mod tests;
