//! The limit of open files and connections of this process.

/// The limit that the hub asks for: enough descriptors for hundreds of servers and clients. A
/// higher limit would slow servers down: they inherit it, and some programs close every possible
/// descriptor when they start.
const WANTED_LIMIT: u64 = 8 * 1024;
/// The limit that is assumed if the system does not report one.
const USUAL_LIMIT: u64 = 1024;

/// Raises the soft limit of descriptors, and returns how many of them connections over TCP may
/// take. The others are for servers, the database, the local socket and the log.
pub(crate) fn raise_limit() -> usize {
    let limit = rlimit::increase_nofile_limit(WANTED_LIMIT).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the limit of open files");
        USUAL_LIMIT
    });
    // Read the limit, which may have been higher before. Windows has no such limit.
    #[cfg(unix)]
    let limit = rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(limit, |(soft, _)| soft);
    usize::try_from(limit.min(WANTED_LIMIT) / 2).unwrap_or(usize::MAX)
}
