//! The revisions of the protocol, and their two eras.

/// The era of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Begins with `initialize` and has sessions: 2025-11-25 and earlier.
    Legacy,
    /// Stateless: each request is complete by itself. 2026-07-28 and later.
    Modern,
}

/// The legacy revisions, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The newest legacy revision.
pub const NEWEST_LEGACY: &str = LEGACY[0];

/// A draft of the first revision, which some old servers still name. Drawbridge does not offer it,
/// but accepts it from a server, as the official SDKs do.
pub(super) const PRE_RELEASE: &str = "2024-10-07";

/// The modern revision.
pub(super) const MODERN: &str = "2026-07-28";

/// Returns all revisions, newest first.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(MODERN).chain(LEGACY)
}

impl Era {
    /// Returns the era of a revision, or `None` if Drawbridge does not know the revision.
    pub fn from_revision(revision: &str) -> Option<Self> {
        if revision == MODERN {
            return Some(Self::Modern);
        }
        LEGACY.contains(&revision).then_some(Self::Legacy)
    }

    pub fn is_modern(self) -> bool {
        self == Self::Modern
    }
}
