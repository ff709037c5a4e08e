//! The system calls that a recorder observes, and which of their arguments name files and
//! addresses. A [`listener`] receives notice of these calls.

pub(super) mod listener;

use std::collections::BTreeMap;

use nix::libc::{self, c_long};
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// The bit in the numbers of the system calls of the x32 interface.
pub(super) const X32: i64 = 0x4000_0000;

/// Which arguments of a call name a file, by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathArgument {
    /// The descriptor of the folder in which a relative path begins. Without this argument, the
    /// path begins in the working folder.
    pub(super) folder: Option<usize>,
    pub(super) path: usize,
}

/// The effect of a system call, and which of its arguments name the file or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Open {
        file: PathArgument,
        flags: Flags,
    },
    /// Makes a new file or folder. Fails if the file or folder exists already.
    Create(PathArgument),
    /// Gives a file, which may be old, a further name. Fails if the name exists already.
    Link(PathArgument),
    /// Removes a file or folder.
    Remove(PathArgument),
    /// Changes the content of a file.
    Truncate(PathArgument),
    Rename(PathArgument, PathArgument),
    Execute {
        file: PathArgument,
        /// The index of the argument with flags, if the call has flags.
        flags: Option<usize>,
    },
    Connect(AddressArgument),
    Bind(AddressArgument),
    Send(AddressArgument),
    MakeSocket,
    MakeSocketPair,
    MakeIoUring,
}

/// Where a call has the flags with which it opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    Argument(usize),
    /// In the structure to which the argument points.
    Pointer(usize),
    Fixed(i32),
}

/// Which arguments of a call name a socket and an address, by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddressArgument {
    pub(super) socket: usize,
    pub(super) address: usize,
    pub(super) length: usize,
}

const fn path(path: usize) -> PathArgument {
    PathArgument { folder: None, path }
}

const fn path_in(folder: usize, path: usize) -> PathArgument {
    PathArgument {
        folder: Some(folder),
        path,
    }
}

const fn address(address: usize, length: usize) -> AddressArgument {
    AddressArgument {
        socket: 0,
        address,
        length,
    }
}

const OBSERVED: &[(c_long, Action)] = &[
    (
        libc::SYS_openat,
        Action::Open {
            file: path_in(0, 1),
            flags: Flags::Argument(2),
        },
    ),
    (
        libc::SYS_openat2,
        Action::Open {
            file: path_in(0, 1),
            flags: Flags::Pointer(2),
        },
    ),
    (libc::SYS_mkdirat, Action::Create(path_in(0, 1))),
    (libc::SYS_mknodat, Action::Create(path_in(0, 1))),
    (libc::SYS_symlinkat, Action::Create(path_in(1, 2))),
    (libc::SYS_linkat, Action::Link(path_in(2, 3))),
    (libc::SYS_unlinkat, Action::Remove(path_in(0, 1))),
    (
        libc::SYS_renameat2,
        Action::Rename(path_in(0, 1), path_in(2, 3)),
    ),
    (libc::SYS_truncate, Action::Truncate(path(0))),
    (
        libc::SYS_execve,
        Action::Execute {
            file: path(0),
            flags: None,
        },
    ),
    (
        libc::SYS_execveat,
        Action::Execute {
            file: path_in(0, 1),
            flags: Some(4),
        },
    ),
    (libc::SYS_connect, Action::Connect(address(1, 2))),
    (libc::SYS_bind, Action::Bind(address(1, 2))),
    (libc::SYS_sendto, Action::Send(address(4, 5))),
    (libc::SYS_io_uring_setup, Action::MakeIoUring),
];

/// The older calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[(c_long, Action)] = &[
    (
        libc::SYS_open,
        Action::Open {
            file: path(0),
            flags: Flags::Argument(1),
        },
    ),
    (
        libc::SYS_creat,
        Action::Open {
            file: path(0),
            flags: Flags::Fixed(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
        },
    ),
    (libc::SYS_mkdir, Action::Create(path(0))),
    (libc::SYS_mknod, Action::Create(path(0))),
    (libc::SYS_symlink, Action::Create(path(1))),
    (libc::SYS_link, Action::Link(path(1))),
    (libc::SYS_unlink, Action::Remove(path(0))),
    (libc::SYS_rmdir, Action::Remove(path(0))),
    (libc::SYS_rename, Action::Rename(path(0), path(1))),
    (
        libc::SYS_renameat,
        Action::Rename(path_in(0, 1), path_in(2, 3)),
    ),
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[(c_long, Action)] = &[(
    libc::SYS_renameat,
    Action::Rename(path_in(0, 1), path_in(2, 3)),
)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLDER: &[(c_long, Action)] = &[];

/// The calls that are reported only if a sandbox refuses them.
const REFUSED: &[(c_long, Action)] = &[
    (libc::SYS_socket, Action::MakeSocket),
    (libc::SYS_socketpair, Action::MakeSocketPair),
];

/// Returns the action of a system call, if a recorder may receive notice of the call.
pub(super) fn find_action(number: i32) -> Option<Action> {
    let number = c_long::from(number);
    let number = if cfg!(target_arch = "x86_64") {
        number & !X32
    } else {
        number
    };
    let mut calls = [OBSERVED, OLDER, REFUSED].into_iter().flatten();
    let (_, action) = calls.find(|(call, _)| *call == number)?;
    Some(*action)
}

/// Returns the calls that a recorder observes, for a filter.
pub(super) fn observed_calls() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let rules = |call: c_long| {
        if call != libc::SYS_sendto {
            return Ok(Vec::new());
        }
        // Most messages have no address, because they go to the peer of a connection.
        let has_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        Ok(vec![SeccompRule::new(vec![has_address])?])
    };
    let calls = [OBSERVED, OLDER].into_iter().flatten();
    calls.map(|(call, _)| Ok((*call, rules(*call)?))).collect()
}
