//! The limit of open files and connections of this process.

/// The number of descriptors that the hub asks for: enough for hundreds of servers and clients. Not
/// more, because servers inherit the limit, and some programs close every descriptor that they
/// might have.
const WANTED: u64 = 8 * 1024;
/// The usual limit, if the system does not tell.
const USUAL: u64 = 1024;

/// Raises the soft limit of descriptors, and returns how many of them connections over TCP may
/// take. The others are for servers, the database, the local socket and the log.
pub(crate) fn reserve_for_connections() -> usize {
    let limit = rlimit::increase_nofile_limit(WANTED).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the limit of open files");
        USUAL
    });
    // A higher limit than the wanted one stays as it is. Windows has no limit to ask for.
    #[cfg(unix)]
    let limit = rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(limit, |(soft, _)| soft);
    usize::try_from(limit.min(WANTED) / 2).unwrap_or(usize::MAX)
}
