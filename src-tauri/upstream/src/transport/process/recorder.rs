//! Records the accesses of a server's processes: a thread of the supervisor receives notice of the
//! system calls that open, create, truncate, rename and remove files, start programs, name
//! addresses, and set up io_uring (seccomp's user notification, which needs no privileges).
//!
//! A recorder observes and decides nothing: it reads the arguments of a call from the memory of the
//! process, and then lets the call continue. The process may change the arguments in between, so a
//! report is no defence against a server that wants to hide something. The only calls that do not
//! continue are the calls that the sandbox of the server refuses by their numbers and registers
//! alone. The recorder answers these calls with the error that the filter of the sandbox would have
//! returned. Without a recorder, they fail too.

mod process_memory;
mod summary;

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt, net::UnixStream},
    },
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use drawbridge_model::{
    access_report::{AccessSummary, AddressKind, AddressUse, FileAccess, ProgramUse, RefusedCall},
    clock,
};
use nix::{
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{
    recording::RecordingRequest,
    sandbox::{
        Confinement,
        allowed::{AllowedAccess, FileNeed, is_below_any, is_ordinary_device, resolve_all},
        enforce::REFUSAL,
    },
    system_calls::{
        self, Action, AddressArgument, Flags, PathArgument,
        listener::{
            Answer, Buffers, Listener, Notification, OtherArchitecture, build_notifying_filter,
        },
    },
};
use summary::Summary;

/// The shortest time between two summaries. The last summary may follow sooner.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// How far the time at which a file was created may lag behind the clock, because file systems use
/// a coarser clock.
const CLOCK_STEP: Duration = Duration::from_millis(100);
/// How many observed calls may wait to be summed up. Further calls are only counted.
const MAX_WAITING: usize = 8192;
/// How many files are remembered, so that a file that is opened again costs little.
const MAX_REMEMBERED: usize = 16_384;
/// The folders with which the kernel describes the system and its processes. Links in them differ
/// for each reader.
const KERNEL_FOLDERS: &[&str] = &["/proc", "/sys", "/dev/fd"];
/// Local sockets that the C library looks for on its own. Programs work without them.
const C_LIBRARY_SOCKETS: &[&str] = &[
    "/run/nscd/socket",
    "/var/run/nscd/socket",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/userdb",
    "/dev/log",
    "/run/systemd/journal",
];

/// A running recorder.
pub(super) struct Recorder {
    listener_sender: mpsc::SyncSender<Listener>,
    summaries: mpsc::Receiver<AccessSummary>,
    /// Becomes readable when there is a summary. The recorder ends when this socket is shut down.
    wake_up: UnixStream,
    /// The thread that answers notifications, and the thread that sums up.
    threads: [JoinHandle<()>; 2],
}

impl Recorder {
    /// Starts the threads. Must be called by a thread without a filter.
    pub(super) fn start(
        request: RecordingRequest,
        confinement: Option<&Confinement>,
    ) -> io::Result<Self> {
        let (wake_up, far_end) = UnixStream::pair()?;
        wake_up.set_nonblocking(true)?;
        let (listener_sender, listener_receiver) = mpsc::sync_channel(1);
        let (sender, summaries) = mpsc::channel();
        let (observed, observations) = mpsc::sync_channel(MAX_WAITING);
        let missed = Arc::new(AtomicU32::new(0));
        let observer = Observer::new(request, confinement.map(AllowedAccess::new));
        let reader = Reader {
            is_confined: confinement.is_some(),
            root: read_device_and_inode(Path::new("/")),
        };
        let (supervisor, counter) = (far_end.try_clone()?, missed.clone());
        let summing = thread::Builder::new().spawn(move || {
            sum_up_until_end(&observations, observer, &supervisor, &sender, &counter);
        })?;
        let answering = thread::Builder::new().spawn(move || {
            if let Ok(listener) = listener_receiver.recv() {
                answer_until_end(&listener, &reader, &far_end, &observed, &missed);
            }
        })?;
        Ok(Self {
            listener_sender,
            summaries,
            wake_up,
            threads: [answering, summing],
        })
    }

    /// Returns the sender through which the thread that installs the filter passes its listener.
    pub(super) fn listener_sender(&self) -> mpsc::SyncSender<Listener> {
        self.listener_sender.clone()
    }

    /// Returns the descriptor that becomes readable when there is a summary.
    pub(super) fn wake_up(&self) -> BorrowedFd<'_> {
        self.wake_up.as_fd()
    }

    /// Returns the latest summary, or `None` if there is no new summary.
    pub(super) fn take_summary(&mut self) -> Option<AccessSummary> {
        let mut bytes = [0; 64];
        while matches!((&self.wake_up).read(&mut bytes), Ok(1..)) {}
        self.summaries.try_iter().last()
    }

    /// Ends the recorder, and returns the last summary. Must be called when no process of the
    /// server is left, because the calls that the filter reports fail afterwards.
    pub(super) fn finish(self) -> Option<AccessSummary> {
        let Self {
            listener_sender,
            summaries,
            wake_up,
            threads,
        } = self;
        drop(listener_sender);
        let _ = wake_up.shutdown(std::net::Shutdown::Write);
        for thread in threads {
            let _ = thread.join();
        }
        summaries.try_iter().last()
    }
}

/// Returns the reason why a recorder cannot start or its filter cannot be installed, for people.
pub(super) fn explain_failure(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP) => {
            "this kernel cannot report system calls (Linux 5.19 or newer is needed)".to_owned()
        }
        Some(libc::EBUSY) => {
            "another program, such as a container's runtime, receives the system calls of Drawbridge"
                .to_owned()
        }
        _ => format!("the system refuses to report system calls: {error}"),
    }
}

/// Installs the filter of a recorder for this thread and all that it starts. The thread must not be
/// in a sandbox, which installs such a filter itself.
pub(super) fn install_for_this_thread() -> io::Result<Listener> {
    let calls = system_calls::observed_calls().map_err(io::Error::other)?;
    let filter = build_notifying_filter(calls, OtherArchitecture::Allowed);
    Listener::install(&filter.map_err(io::Error::other)?)
}

/// Answers every notification until no process with the filter is left, or the supervisor ends the
/// recorder. Accesses no files except in `/proc`, which never blocks: another file system may be
/// slow, or be served by the very process that waits for the answer.
fn answer_until_end(
    listener: &Listener,
    reader: &Reader,
    supervisor: &UnixStream,
    observed: &mpsc::SyncSender<Observed>,
    missed: &AtomicU32,
) {
    let mut buffers = Buffers::new();
    loop {
        let mut ready = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(supervisor.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            // Without `poll`, no notification could be answered any more.
            Err(_) => return,
        }
        let [notice, end] = ready.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
        if notice.contains(PollFlags::POLLIN) {
            // An error means that no process is left, which the next poll reports.
            if let Ok(Some(notification)) = listener.receive(&mut buffers) {
                let call = reader.answer(listener, &notification, &mut buffers);
                if observed.try_send(call).is_err() {
                    missed.fetch_add(1, Ordering::Relaxed);
                }
            }
        } else if !notice.is_empty() || !end.is_empty() {
            return;
        }
    }
}

/// Adds the observed calls to the summary, and sends the summary when it has news, until the
/// answering thread has ended. Then sends the summary a last time.
fn sum_up_until_end(
    observed: &mpsc::Receiver<Observed>,
    mut observer: Observer,
    supervisor: &UnixStream,
    summaries: &mpsc::Sender<AccessSummary>,
    missed: &AtomicU32,
) {
    let mut next_report = Instant::now();
    loop {
        let received = if observer.summary.has_news() {
            observed.recv_timeout(next_report.saturating_duration_since(Instant::now()))
        } else {
            observed.recv().map_err(RecvTimeoutError::from)
        };
        match received {
            Ok(observed) => observer.add(observed),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if next_report <= Instant::now() && observer.summary.take_news() {
            next_report = Instant::now() + REPORT_INTERVAL;
            send_summary(&observer.summary, supervisor, summaries);
        }
    }
    let missed = missed.load(Ordering::Relaxed);
    observer.summary.unreadable = observer.summary.unreadable.saturating_add(missed);
    send_summary(&observer.summary, supervisor, summaries);
}

fn send_summary(
    summary: &Summary,
    mut supervisor: &UnixStream,
    summaries: &mpsc::Sender<AccessSummary>,
) {
    // The supervisor may have ended.
    let _ = summaries.send(summary.to_report());
    let _ = supervisor.write(&[0]);
}

/// Reads the arguments of calls.
struct Reader {
    is_confined: bool,
    /// The device and the inode of this process's root folder.
    root: Option<(u64, u64)>,
}

/// Adds the accesses of calls to a summary.
struct Observer {
    summary: Summary,
    allowed: Option<AllowedAccess>,
    /// Files that are counted and not listed.
    system: Vec<PathBuf>,
    own_folder: Option<PathBuf>,
    /// The files that were added, each with how it was used.
    remembered: HashSet<(PathBuf, FileNeed)>,
}

/// A file that a call names, as far as it is known before the call continues.
struct NamedFile {
    path: PathBuf,
    need: FileNeed,
    /// When the call was made, if it makes a new file, and fails if the file exists already.
    made_at: Option<SystemTime>,
}

/// An address that a call names.
struct NamedAddress {
    kind: AddressKind,
    address: Address,
}

enum Address {
    Ip(IpAddr, u16),
    Local(String),
}

/// The accesses of a system call.
enum Observed {
    Files(Vec<NamedFile>),
    Program(PathBuf),
    Address(NamedAddress),
    RefusedCall(RefusedCall),
    IoUring,
    Nothing,
    /// A file or program, used by a process that sees another root folder.
    Elsewhere,
    /// The arguments of the call cannot be read.
    Unreadable,
}

impl Reader {
    /// Answers a notification, and returns the accesses of the call.
    fn answer(
        &self,
        listener: &Listener,
        notification: &Notification,
        buffers: &mut Buffers,
    ) -> Observed {
        let action = system_calls::find_action(notification.call);
        let observed = action.and_then(|action| self.read(action, notification));
        // Checked before the answer, because afterwards the id of the thread may belong to another
        // thread.
        let is_valid = listener.is_waiting(notification);
        let is_elsewhere = is_valid && self.is_elsewhere(notification.thread);
        let answer = match action {
            Some(Action::MakeSocket | Action::MakeSocketPair | Action::MakeIoUring)
                if self.is_confined =>
            {
                Answer::Fail(REFUSAL)
            }
            _ => Answer::Continue,
        };
        listener.answer(notification, answer, buffers);
        match observed {
            Some(Observed::Files(_) | Observed::Program(_)) if is_elsewhere => Observed::Elsewhere,
            Some(observed) if is_valid => observed,
            _ => Observed::Unreadable,
        }
    }

    /// Returns whether a thread sees another root folder, such as that of a container.
    fn is_elsewhere(&self, thread: i32) -> bool {
        let root = read_device_and_inode(Path::new(&format!("/proc/{thread}/root/")));
        root.is_some() && root != self.root
    }

    /// Reads the accesses of a call; `None` if the process cannot be read.
    fn read(&self, action: Action, notification: &Notification) -> Option<Observed> {
        let argument = |index: usize| notification.arguments[index];
        let named_file = |named: PathArgument, need: FileNeed| {
            Some(NamedFile {
                path: read_path(notification, named)?,
                need,
                made_at: None,
            })
        };
        let change = |named: PathArgument| named_file(named, FileNeed::Change);
        Some(match action {
            Action::Open { file: named, flags } => {
                let flags = match flags {
                    Flags::Argument(index) => to_int(argument(index)),
                    Flags::Pointer(index) => {
                        process_memory::read_flags(notification.thread, argument(index))?
                    }
                    Flags::Fixed(flags) => flags,
                };
                match open_need(flags) {
                    Some(need) => Observed::Files(vec![named_file(named, need)?]),
                    None => Observed::Nothing,
                }
            }
            Action::Create(named) => Observed::Files(vec![NamedFile {
                made_at: Some(UNIX_EPOCH + Duration::from_micros(clock::now_micros())),
                ..change(named)?
            }]),
            Action::Link(named) | Action::Remove(named) => Observed::Files(vec![change(named)?]),
            Action::Truncate(named) => Observed::Files(vec![named_file(named, FileNeed::Write)?]),
            Action::Rename(from, to) => Observed::Files(vec![change(from)?, change(to)?]),
            Action::Execute { file: named, flags } => {
                let is_empty_allowed =
                    flags.is_some_and(|index| to_int(argument(index)) & libc::AT_EMPTY_PATH != 0);
                match read_path(notification, named) {
                    Some(path) => Observed::Program(path),
                    None if is_empty_allowed => Observed::Nothing,
                    None => return None,
                }
            }
            Action::Connect(named) => read_connection(notification, named, AddressKind::Connect)?,
            Action::Bind(named) => read_connection(notification, named, AddressKind::Bind)?,
            Action::Send(named) => read_connection(notification, named, AddressKind::Udp)?,
            Action::MakeSocket => Observed::RefusedCall(match to_int(argument(0)) {
                libc::AF_INET | libc::AF_INET6 => RefusedCall::InternetSocket,
                libc::AF_UNIX => RefusedCall::LocalSocket,
                _ => RefusedCall::OtherSocket,
            }),
            Action::MakeSocketPair => Observed::RefusedCall(RefusedCall::LocalSocket),
            Action::MakeIoUring if self.is_confined => Observed::RefusedCall(RefusedCall::IoUring),
            Action::MakeIoUring => Observed::IoUring,
        })
    }
}

impl Observer {
    fn new(request: RecordingRequest, allowed: Option<AllowedAccess>) -> Self {
        let home = request
            .home
            .map(|home| fs::canonicalize(&home).unwrap_or(home));
        Self {
            summary: Summary::new(home),
            allowed,
            system: resolve_all(&request.system),
            own_folder: request
                .own_folder
                .and_then(|folder| fs::canonicalize(folder).ok()),
            remembered: HashSet::new(),
        }
    }

    fn add(&mut self, observed: Observed) {
        match observed {
            Observed::Files(files) => files.into_iter().for_each(|file| self.add_file(file)),
            Observed::Program(path) => self.add_program(&path),
            Observed::Address(address) => self.add_address(address),
            Observed::RefusedCall(call) => self.summary.add_refused_call(call),
            Observed::IoUring => self.summary.record_io_uring(),
            Observed::Nothing => {}
            Observed::Elsewhere => increment(&mut self.summary.elsewhere),
            Observed::Unreadable => increment(&mut self.summary.unreadable),
        }
    }

    fn add_file(&mut self, file: NamedFile) {
        let NamedFile {
            path,
            need,
            made_at,
        } = file;
        let file_use = (path, need);
        if self.remembered.contains(&file_use) {
            return;
        }
        let Some(resolved) = resolve_links(&file_use.0, need) else {
            return;
        };
        if made_at.is_some_and(|made_at| existed_before(&resolved, made_at)) {
            return;
        }
        // The same file may have been reached by another path before.
        let is_known = self.remembered.contains(&(resolved.clone(), need));
        if self.remembered.len() >= MAX_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.extend([file_use, (resolved.clone(), need)]);
        if is_known {
            return;
        }
        if self.is_ordinary(&resolved, need) {
            increment(&mut self.summary.ordinary);
            return;
        }
        let refused = !self.allows_file(&resolved, need);
        let access = match need {
            FileNeed::Read => FileAccess::Read,
            FileNeed::Write | FileNeed::Change => FileAccess::Write,
        };
        let is_folder = resolved.is_dir();
        self.summary.add_file(resolved, access, is_folder, refused);
    }

    /// Returns whether this use is counted and not listed, because every sandbox of this server
    /// allows it.
    fn is_ordinary(&self, path: &Path, need: FileNeed) -> bool {
        let is_own = self
            .own_folder
            .as_ref()
            .is_some_and(|own| path.starts_with(own) && (need != FileNeed::Change || path != own));
        is_own
            || is_ordinary_device(path, need)
            || need == FileNeed::Read && is_below_any(path, &self.system)
    }

    fn allows_file(&self, path: &Path, need: FileNeed) -> bool {
        self.allowed
            .as_ref()
            .is_none_or(|allowed| allowed.allows_file(path, need))
    }

    fn add_program(&mut self, path: &Path) {
        // A shell tries each folder of the PATH, so the program may not exist.
        let Ok(resolved) = fs::canonicalize(path) else {
            return;
        };
        self.summary.add_program(ProgramUse {
            path: normalize(path).to_string_lossy().into_owned(),
            refused: !self.allows_file(&resolved, FileNeed::Read),
        });
        self.add_file(NamedFile {
            path: resolved,
            need: FileNeed::Read,
            made_at: None,
        });
    }

    fn add_address(&mut self, named: NamedAddress) {
        let NamedAddress { kind, address } = named;
        if let Address::Local(name) = &address {
            let is_missing = name.starts_with('/') && !Path::new(name).exists();
            if is_missing || C_LIBRARY_SOCKETS.iter().any(|path| name.starts_with(path)) {
                return;
            }
        }
        let allows =
            |check: &dyn Fn(&AllowedAccess) -> bool| self.allowed.as_ref().is_none_or(check);
        let address_use = match address {
            Address::Ip(ip, port) => AddressUse {
                kind,
                address: ip.to_string(),
                port,
                refused: !match kind {
                    AddressKind::Connect => allows(&|allowed| allowed.allows_connect(port)),
                    AddressKind::Bind => allows(&|allowed| allowed.allows_bind(port)),
                    AddressKind::Udp | AddressKind::LocalSocket => true,
                },
            },
            Address::Local(address) => AddressUse {
                kind: AddressKind::LocalSocket,
                address,
                port: 0,
                refused: !allows(&AllowedAccess::allows_local_sockets),
            },
        };
        self.summary.add_address(address_use);
    }
}

fn increment(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// Returns the value of an argument that is an `int`, whose upper half is undefined.
fn to_int(argument: u64) -> i32 {
    let [a, b, c, d, ..] = argument.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Returns how a call that opens a file with these flags uses the file; `None` if the file is
/// opened neither for reading nor for writing.
fn open_need(flags: i32) -> Option<FileNeed> {
    if flags & libc::O_PATH != 0 {
        return None;
    }
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY
        || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
        || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    Some(if writes {
        FileNeed::Write
    } else {
        FileNeed::Read
    })
}

fn read_device_and_inode(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Reads the path that a call names, and makes it absolute.
fn read_path(notification: &Notification, named: PathArgument) -> Option<PathBuf> {
    let thread = notification.thread;
    let text = process_memory::read_text(thread, notification.arguments[named.path])?;
    if text.is_empty() {
        return None;
    }
    let path = Path::new(OsStr::from_bytes(&text));
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let folder = named
        .folder
        .map(|index| to_int(notification.arguments[index]));
    let folder = match folder.filter(|folder| *folder != libc::AT_FDCWD) {
        Some(descriptor) => format!("/proc/{thread}/fd/{descriptor}"),
        None => format!("/proc/{thread}/cwd"),
    };
    let folder = fs::read_link(folder).ok()?;
    folder.is_absolute().then(|| folder.join(path))
}

/// Resolves the links in a path. Returns `None` if the file does not exist or, for a file that is
/// written or changed, if its folder does not exist.
fn resolve_links(path: &Path, need: FileNeed) -> Option<PathBuf> {
    let lexical = normalize(path);
    if KERNEL_FOLDERS
        .iter()
        .any(|folder| lexical.starts_with(folder))
    {
        return Some(lexical);
    }
    if need != FileNeed::Change
        && let Ok(resolved) = fs::canonicalize(path)
    {
        return Some(resolved);
    }
    if need == FileNeed::Read {
        return None;
    }
    // The file itself is removed, or not there yet, or a link that is changed.
    let folder = fs::canonicalize(path.parent()?).ok()?;
    Some(folder.join(path.file_name()?))
}

/// Returns whether a file is older than a call that would make it. Programs often try to make a
/// folder that exists, which changes nothing.
fn existed_before(path: &Path, made_at: SystemTime) -> bool {
    let created = fs::symlink_metadata(path).and_then(|metadata| metadata.created());
    created.is_ok_and(|created| created + CLOCK_STEP < made_at)
}

/// Removes `.` and `..` from a path without resolving its links.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    normal
}

/// Reads the address that a call names.
fn read_connection(
    notification: &Notification,
    named: AddressArgument,
    kind: AddressKind,
) -> Option<Observed> {
    let argument = |index: usize| notification.arguments[index];
    let length = usize::try_from(to_int(argument(named.length))).ok()?;
    let bytes = process_memory::read_bytes(
        notification.thread,
        argument(named.address),
        length.min(process_memory::MAX_ADDRESS),
    )?;
    let Some(address) = parse_address(&bytes) else {
        return Some(Observed::Nothing);
    };
    let kind = match (&address, kind) {
        // A local socket on which the server itself listens is a file that it creates.
        (Address::Local(path), AddressKind::Bind) => {
            return Some(match Path::new(path) {
                path if path.is_absolute() => Observed::Files(vec![NamedFile {
                    path: path.to_owned(),
                    need: FileNeed::Change,
                    made_at: None,
                }]),
                _ => Observed::Nothing,
            });
        }
        (Address::Local(_), _) => AddressKind::LocalSocket,
        (Address::Ip(..), kind) => {
            let socket = to_int(argument(named.socket));
            match (process_memory::is_stream(notification.thread, socket), kind) {
                // Ports for datagrams are not reported, because a sandbox does not limit them.
                (Some(false), AddressKind::Bind) => return Some(Observed::Nothing),
                (Some(false), _) => AddressKind::Udp,
                (Some(true), AddressKind::Udp) => AddressKind::Connect,
                (_, kind) => kind,
            }
        }
    };
    Some(Observed::Address(NamedAddress { kind, address }))
}

/// Reads a `sockaddr`. Returns `None` if it is incomplete, or names neither an IP address nor a
/// local socket.
fn parse_address(bytes: &[u8]) -> Option<Address> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    match i32::from(family) {
        libc::AF_INET => {
            let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
            let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(Address::Ip(Ipv4Addr::from(ip).into(), port))
        }
        libc::AF_INET6 => {
            let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
            let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let ip = Ipv6Addr::from(ip);
            Some(Address::Ip(ip.to_canonical(), port))
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..).filter(|name| !name.is_empty())?;
            // The name of an abstract socket begins with NUL.
            let (prefix, name) = match name.strip_prefix(b"\0") {
                Some(name) => ("@", name),
                None => ("", name),
            };
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            (!name.is_empty()).then(|| Address::Local(format!("{prefix}{name}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
