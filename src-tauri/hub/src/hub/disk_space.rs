//! Watches the free space on the disk of the data folder. If a decision cannot be written, the call
//! is denied, so a person is warned before the disk is full.

use std::{path::Path, sync::Weak, time::Duration};

use drawbridge_model::event::Event;
use tokio::{task::spawn_blocking, time::sleep};

use super::Hub;

const MIB: u64 = 1 << 20;
/// If fewer bytes are free, the doctor reports a warning.
pub(crate) const DOCTOR_WARNING_SPACE: u64 = 1024 * MIB;
/// If fewer bytes are free, the log, the health of the hub and every screen have a warning.
const LOW_SPACE: u64 = 500 * MIB;
/// If fewer bytes are free, the doctor reports a failure.
pub(crate) const NO_SPACE: u64 = 100 * MIB;
const INTERVAL: Duration = Duration::from_secs(60);

/// Informs the front ends and the log when the free space becomes low, and when there is enough
/// again. Runs until the hub is dropped.
pub(super) async fn watch(hub: Weak<Hub>) {
    let mut was_low = false;
    while let Some(hub) = hub.upgrade() {
        let warning = hub.low_space_warning().await;
        if warning.is_some() != was_low {
            was_low = warning.is_some();
            match warning {
                Some(warning) => tracing::warn!("{warning}"),
                None => tracing::info!("the disk of the data folder has free space again"),
            }
            hub.events.publish(Event::SettingsChanged);
        }
        drop(hub);
        sleep(INTERVAL).await;
    }
}

impl Hub {
    /// Returns a warning if the disk of the data folder is almost full.
    pub(crate) async fn low_space_warning(&self) -> Option<String> {
        let folder = self.data_dir().to_owned();
        // A network disk may not answer, and must not block the other tasks.
        let free = spawn_blocking(move || free_bytes(&folder)).await;
        low_space_text(free.ok().flatten()?)
    }
}

fn low_space_text(free: u64) -> Option<String> {
    (free < LOW_SPACE).then(|| {
        format!(
            "only {} MiB are free on the disk of the data folder; free some space, because calls are denied if their records cannot be written",
            free / MIB
        )
    })
}

/// Returns how many bytes this user can still write, or `None` if the system does not say.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(folder).ok()?;
    #[expect(clippy::useless_conversion, reason = "the types differ on macOS")]
    Some(u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size())))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_warned_before_the_disk_is_full() {
        assert_eq!(low_space_text(LOW_SPACE), None);
        let warning = low_space_text(LOW_SPACE - 1).expect("a warning");
        assert!(warning.starts_with("only 499 MiB are free"), "{warning}");
        const { assert!(LOW_SPACE > NO_SPACE) };
    }
}
