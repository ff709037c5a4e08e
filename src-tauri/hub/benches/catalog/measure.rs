//! Measures and formats durations and sizes.

use std::{
    fmt,
    hint::black_box,
    time::{Duration, Instant},
};

/// Each measurement takes at least `MIN_ROUNDS` rounds, then more until `MIN_TIME` has passed or
/// `MAX_ROUNDS` rounds are done.
const MIN_ROUNDS: usize = 11;
const MAX_ROUNDS: usize = 1_001;
const MIN_TIME: Duration = Duration::from_millis(400);

/// A name and its measurement.
pub(crate) type Row = (&'static str, Measurement);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Measurement {
    Time(Duration),
    Bytes(usize),
}

impl Measurement {
    /// Returns the amount in seconds or bytes. Only amounts of the same kind can be compared.
    #[expect(clippy::cast_precision_loss, reason = "at most some hundred MiB")]
    pub(crate) fn amount(self) -> f64 {
        match self {
            Self::Time(duration) => duration.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount();
        match self {
            Self::Time(_) if amount < 1e-6 => write!(f, "{:.0} ns", amount * 1e9),
            Self::Time(_) if amount < 1e-3 => write!(f, "{:.1} µs", amount * 1e6),
            Self::Time(_) => write!(f, "{:.2} ms", amount * 1e3),
            Self::Bytes(_) => write!(f, "{:.2} MiB", amount / f64::from(1 << 20)),
        }
    }
}

/// Returns the median duration of `act`. Each round runs on a new result of `set_up`, which is not
/// timed.
pub(crate) fn time_median<S, T>(
    mut set_up: impl FnMut() -> S,
    mut act: impl FnMut(&S) -> T,
) -> Duration {
    let start_of_all = Instant::now();
    let mut durations = Vec::new();
    while durations.len() < MIN_ROUNDS
        || (start_of_all.elapsed() < MIN_TIME && durations.len() < MAX_ROUNDS)
    {
        let input = set_up();
        let start = Instant::now();
        let output = black_box(act(black_box(&input)));
        durations.push(start.elapsed());
        drop(output);
    }
    median_of(durations)
}

/// Returns the median.
pub(crate) fn median_of(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}
