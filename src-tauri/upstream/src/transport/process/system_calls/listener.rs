//! Filters of system calls whose notifications a recorder receives (seccomp's user notification).

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use nix::libc;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};

/// Marks the instructions of a filter that have to return a notification. `seccompiler` does not
/// support notifications, so it builds trace instructions with this mark, and
/// [`build_notifying_filter`] replaces these instructions.
const MARK: u16 = 0x6462;
/// The code of the instruction that returns a constant: `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;

/// How a filter treats a system call of another architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum OtherArchitecture {
    /// The process is killed, because the filter could not refuse a call of that architecture.
    Killed,
    Allowed,
}

/// Builds a filter that reports these calls to its listener, and allows all other calls of this
/// architecture.
pub(in super::super) fn build_notifying_filter(
    calls: std::collections::BTreeMap<i64, Vec<SeccompRule>>,
    other: OtherArchitecture,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        SeccompAction::Trace(MARK.into()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program: BpfProgram = filter.try_into()?;
    for instruction in program
        .iter_mut()
        .filter(|instruction| instruction.code == RETURN)
    {
        if instruction.k == libc::SECCOMP_RET_TRACE | u32::from(MARK) {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        } else if instruction.k == libc::SECCOMP_RET_KILL_PROCESS
            && other == OtherArchitecture::Allowed
        {
            instruction.k = libc::SECCOMP_RET_ALLOW;
        }
    }
    Ok(program)
}

/// Receives the notifications of one filter. If the listener is dropped, every call that the filter
/// reports fails.
pub(in super::super) struct Listener(OwnedFd);

/// A call that waits for the listener's answer.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Notification {
    id: u64,
    /// The thread that made the call.
    pub(in super::super) thread: i32,
    pub(in super::super) call: i32,
    pub(in super::super) arguments: [u64; 6],
}

#[cfg(test)]
impl Notification {
    /// Returns a notification of a call of this process, for tests that read its arguments.
    pub(in super::super) fn of_this_process(arguments: [u64; 6]) -> Self {
        Self {
            id: 0,
            thread: i32::try_from(std::process::id()).expect("the id of a process is positive"),
            call: 0,
            arguments,
        }
    }
}

/// The answer to a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Answer {
    /// The kernel carries the call out as if there were no filter.
    Continue,
    Fail(i32),
}

impl Listener {
    /// Installs a filter for this thread and all that it starts from now on.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support listeners, or if this process has a filter
    /// with a listener already. No filter is installed then.
    pub(in super::super) fn install(program: &BpfProgram) -> io::Result<Self> {
        let mut instructions: Vec<libc::sock_filter> = program
            .iter()
            .map(|instruction| libc::sock_filter {
                code: instruction.code,
                jt: instruction.jt,
                jf: instruction.jf,
                k: instruction.k,
            })
            .collect();
        let length = u16::try_from(instructions.len()).map_err(io::Error::other)?;
        let program = libc::sock_fprog {
            len: length,
            filter: instructions.as_mut_ptr(),
        };
        let install = || {
            // Without the second flag (Linux 5.19), a signal would interrupt a call that the
            // recorder has seen, and programs do not expect an interruption when they open a file.
            // A kernel that has this flag can also continue a call.
            let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
                | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
            // SAFETY: the kernel copies the program, which outlives the call.
            let fd = unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    flags,
                    &raw const program,
                )
            };
            match i32::try_from(fd) {
                // SAFETY: the kernel has just opened the descriptor, with close-on-exec, and
                // nothing else owns it.
                Ok(fd) if fd >= 0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
                _ => Err(io::Error::last_os_error()),
            }
        };
        match install() {
            // Without the capability CAP_SYS_ADMIN, a process may install a filter only if it
            // cannot get more rights by starting a program.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                nix::sys::prctl::set_no_new_privs()?;
                install()
            }
            installed => installed,
        }
    }

    /// Receives the next notification, and waits for it if there is none. Returns `None` if the
    /// process was killed meanwhile, or a signal arrived.
    ///
    /// # Errors
    /// Returns an error if no process with this filter is left.
    pub(in super::super) fn receive(
        &self,
        buffers: &mut Buffers,
    ) -> io::Result<Option<Notification>> {
        buffers.notification.fill(0);
        // SAFETY: the buffer is at least as large as the kernel's structure, and zeroed.
        let received = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                buffers.notification.as_mut_ptr(),
            )
        };
        if received < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR | libc::ENOENT) => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: the kernel has written this structure, the buffer is aligned to 8 bytes, and
        // every pattern of bits is valid.
        let notification = unsafe { &*buffers.notification.as_ptr().cast::<libc::seccomp_notif>() };
        Ok(Some(Notification {
            id: notification.id,
            thread: notification.pid.cast_signed(),
            call: notification.data.nr,
            arguments: notification.data.args,
        }))
    }

    /// Returns whether the call still waits. If the call does not wait, the id of its thread may
    /// belong to another thread by now, and data that was read from the thread's memory must not
    /// be used.
    pub(in super::super) fn is_waiting(&self, notification: &Notification) -> bool {
        // SAFETY: the kernel only reads the id.
        let valid = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw const notification.id,
            )
        };
        valid == 0
    }

    /// Answers a notification. A call that no longer waits needs no answer.
    pub(in super::super) fn answer(
        &self,
        notification: &Notification,
        answer: Answer,
        buffers: &mut Buffers,
    ) {
        buffers.response.fill(0);
        // SAFETY: the buffer is large enough and aligned to 8 bytes, and zeros are a valid value.
        let response = unsafe {
            &mut *buffers
                .response
                .as_mut_ptr()
                .cast::<libc::seccomp_notif_resp>()
        };
        response.id = notification.id;
        match answer {
            Answer::Continue => {
                response.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE)
                    .expect("the flag fits into 32 bits");
            }
            Answer::Fail(errno) => response.error = -errno,
        }
        loop {
            // SAFETY: the buffer is at least as large as the kernel's structure.
            let sent = unsafe {
                libc::ioctl(
                    self.0.as_raw_fd(),
                    libc::SECCOMP_IOCTL_NOTIF_SEND,
                    buffers.response.as_mut_ptr(),
                )
            };
            if sent >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return;
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The buffers for notifications and answers, as large as the structures of the running kernel.
/// These may be larger than the structures that `libc` knows.
pub(in super::super) struct Buffers {
    notification: Vec<u64>,
    response: Vec<u64>,
}

impl Buffers {
    pub(in super::super) fn new() -> Self {
        let mut sizes = libc::seccomp_notif_sizes {
            seccomp_notif: 0,
            seccomp_notif_resp: 0,
            seccomp_data: 0,
        };
        // SAFETY: the kernel writes this structure. A kernel that does not know this operation
        // leaves the sizes 0.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_GET_NOTIF_SIZES,
                0,
                &raw mut sizes,
            );
        }
        let words = |kernel: u16, own: usize| vec![0; usize::from(kernel).max(own).div_ceil(8)];
        Self {
            notification: words(sizes.seccomp_notif, size_of::<libc::seccomp_notif>()),
            response: words(
                sizes.seccomp_notif_resp,
                size_of::<libc::seccomp_notif_resp>(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::process::system_calls::observed_calls;

    #[test]
    fn a_filter_gives_notice_or_allows_and_kills_only_for_another_architecture() {
        let calls = observed_calls().expect("the observed calls");
        let returns = |other| {
            let calls = calls.clone();
            let program = build_notifying_filter(calls, other).expect("a filter");
            let returns = program
                .into_iter()
                .filter(|instruction| instruction.code == RETURN);
            returns
                .map(|instruction| instruction.k)
                .collect::<std::collections::BTreeSet<_>>()
        };
        let [notify, allow, kill] = [
            libc::SECCOMP_RET_USER_NOTIF,
            libc::SECCOMP_RET_ALLOW,
            libc::SECCOMP_RET_KILL_PROCESS,
        ];
        assert_eq!(returns(OtherArchitecture::Allowed), [notify, allow].into());
        assert_eq!(
            returns(OtherArchitecture::Killed),
            [notify, allow, kill].into()
        );
    }
}
