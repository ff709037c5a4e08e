//! The limit of open files and connections of this process.

/// The limit that the hub requests: enough descriptors for hundreds of servers and clients. A
/// higher limit would slow servers down, because servers inherit the limit, and some programs close
/// every possible descriptor when they start.
const TARGET_LIMIT: u64 = 8 * 1024;
/// The limit that the hub assumes if the system does not report a limit.
const DEFAULT_LIMIT: u64 = 1024;

/// Raises the soft limit of descriptors, and returns the number of descriptors for connections over
/// TCP. The other descriptors are for servers, the database, the local socket and the log.
pub(crate) fn raise_limit() -> usize {
    let limit = rlimit::increase_nofile_limit(TARGET_LIMIT).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the limit of open files");
        DEFAULT_LIMIT
    });
    // Read the limit, because it may have been above the target before. Windows has no such limit.
    #[cfg(unix)]
    let limit = rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(limit, |(soft, _)| soft);
    usize::try_from(limit.min(TARGET_LIMIT) / 2).unwrap_or(usize::MAX)
}
