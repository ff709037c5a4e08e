//! How something is measured, and how it is written down.

use std::{
    fmt,
    hint::black_box,
    time::{Duration, Instant},
};

/// At least so many rounds, then as many as there is time for.
const LEAST: usize = 11;
const MOST: usize = 1_001;
const TIME: Duration = Duration::from_millis(400);

/// A name, and what was measured.
pub(crate) type Row = (&'static str, Figure);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Figure {
    Time(Duration),
    Bytes(usize),
}

impl Figure {
    /// In a unit of its own, to compare it with others of its kind.
    #[expect(clippy::cast_precision_loss, reason = "of a few hundred megabytes")]
    pub(crate) fn amount(self) -> f64 {
        match self {
            Self::Time(took) => took.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
        }
    }
}

impl fmt::Display for Figure {
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

/// The median of what an act takes, each time on something that was set up for it.
pub(crate) fn median<S, T>(
    mut set_up: impl FnMut() -> S,
    mut act: impl FnMut(&S) -> T,
) -> Duration {
    let began = Instant::now();
    let mut took = Vec::new();
    while took.len() < LEAST || (began.elapsed() < TIME && took.len() < MOST) {
        let with = set_up();
        let start = Instant::now();
        let done = black_box(act(black_box(&with)));
        took.push(start.elapsed());
        drop(done);
    }
    middle(took)
}

/// That which half of them stay under.
pub(crate) fn middle(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}
