//! Reads the arguments of a call from the memory of its process, and finds out the types of its
//! sockets.

use std::{
    fs,
    io::IoSliceMut,
    os::fd::{FromRawFd, OwnedFd},
};

use nix::{
    libc,
    sys::{
        socket::{SockType, getsockopt, sockopt},
        uio::{RemoteIoVec, process_vm_readv},
    },
    unistd::Pid,
};

/// The longest path of a system call, in bytes (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// The longest address of a socket, in bytes (`sockaddr_storage`).
pub(super) const MAX_ADDRESS: usize = 128;
/// The smallest size of a page. A read within one page succeeds or fails as a whole.
const PAGE: usize = 4096;

/// Reads `length` bytes from an address; `None` if any byte cannot be read.
pub(super) fn read_bytes(thread: i32, address: u64, length: usize) -> Option<Vec<u8>> {
    let base = usize::try_from(address).ok().filter(|base| *base != 0)?;
    let mut bytes = vec![0; length];
    let remote = [RemoteIoVec { base, len: length }];
    let local = &mut [IoSliceMut::new(&mut bytes)];
    let read = process_vm_readv(Pid::from_raw(thread), local, &remote).ok()?;
    (read == length).then_some(bytes)
}

/// Reads a text up to its NUL. Returns `None` if the text cannot be read, or is longer than a path
/// may be.
pub(super) fn read_text(thread: i32, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut address = usize::try_from(address).ok()?;
    while text.len() < MAX_PATH {
        // Most paths are short.
        let length = (PAGE - address % PAGE).min(256);
        let part = read_bytes(thread, u64::try_from(address).ok()?, length)?;
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&part[..end]);
            return Some(text);
        }
        text.extend(part);
        address = address.checked_add(length)?;
    }
    None
}

/// Reads the flags of a `struct open_how`.
pub(super) fn read_flags(thread: i32, address: u64) -> Option<i32> {
    let bytes = read_bytes(thread, address, 8)?;
    let flags = u64::from_ne_bytes(bytes.try_into().ok()?);
    i32::try_from(flags).ok()
}

/// Returns whether a socket of the process is a stream, such as TCP; `None` if that is unknown.
pub(super) fn is_stream(thread: i32, socket: i32) -> Option<bool> {
    let copy = copy_descriptor(thread, socket)?;
    let kind = getsockopt(&copy, sockopt::SockType).ok()?;
    Some(kind == SockType::Stream)
}

fn copy_descriptor(thread: i32, descriptor: i32) -> Option<OwnedFd> {
    // SAFETY: the call takes numbers only, and opens a new descriptor.
    let open = |call, first: i32, second: i32| unsafe {
        let fd = i32::try_from(libc::syscall(call, first, second, 0)).ok()?;
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    let process = open(libc::SYS_pidfd_open, find_process(thread)?, 0)?;
    let process_fd = std::os::fd::AsRawFd::as_raw_fd(&process);
    open(libc::SYS_pidfd_getfd, process_fd, descriptor)
}

/// Returns the process to which a thread belongs.
fn find_process(thread: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let id = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    id.trim().parse().ok()
}
