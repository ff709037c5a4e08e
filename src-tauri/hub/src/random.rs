//! Random names: tokens that cannot be guessed, ids that do not collide.

use rand::Rng;

const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// 256 bits, as 64 hex digits.
pub fn token() -> String {
    hex::encode(rand::rng().random::<[u8; 32]>())
}

/// A short id that a person can type: 10 letters, 50 bits.
pub fn id() -> String {
    let mut rng = rand::rng();
    (0..10).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
}
