//! Where Drawbridge before a server is right to be other than that server.

/// One check that comes out otherwise.
pub(crate) struct Difference {
    /// The name of the suite.
    pub(crate) suite: &'static str,
    pub(crate) scenario: &'static str,
    /// `ID/NAME` of the check.
    pub(crate) check: &'static str,
    /// How it comes out through Drawbridge: its statuses, or nothing where it is not made.
    pub(crate) through: &'static str,
    /// Why that is right.
    #[expect(dead_code, reason = "it is for people")]
    pub(crate) because: &'static str,
}

pub(crate) const ALL: &[Difference] = &[];
