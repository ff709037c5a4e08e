//! Enforces a sandbox with Landlock, with a seccomp filter for the sockets that Landlock does not
//! cover, and by dropping capabilities. No restriction can be lifted, and all restrictions apply to
//! everything that the confined thread starts.

use std::{collections::BTreeMap, io, path::Path};

use caps::{CapSet, Capability, CapsHashSet, errors::CapsError};
use drawbridge_model::sandbox::{EnforcedSandbox, SandboxNetwork};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};
use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use super::{
    super::system_calls::{
        X32,
        listener::{Listener, OtherArchitecture, build_notifying_filter},
        observed_calls,
    },
    Confinement, DEVICES, FileRules, RANDOM_DEVICES, SandboxFailure,
};

/// The first version of Landlock that can enforce a restriction, and the first version of Linux
/// with this Landlock. Before version 3, a file that may not be written could still be truncated.
const FILES: (u32, &str) = (3, "6.2");
const PORTS: (u32, &str) = (4, "6.7");
const SIGNALS: u32 = 6;
/// The bits that hold the type in the `type` argument of `socketpair`. The other bits are flags.
const SOCKET_TYPE_MASK: u64 = 0xf;
/// The error of a refused system call.
pub(in super::super) const REFUSAL: i32 = libc::EACCES;

/// The limits that a sandbox enforces, and the listener of its filter if the server is recorded.
pub(in super::super) struct Confined {
    pub(in super::super) enforced: EnforcedSandbox,
    pub(in super::super) listener: Option<io::Result<Listener>>,
}

/// Confines this thread and all that it starts from now on. If `is_recorded` is set, the filter of
/// system calls also notifies a recorder of the server's accesses.
pub(in super::super) fn confine_this_thread(
    rules: &Confinement,
    is_recorded: bool,
) -> Result<Confined, SandboxFailure> {
    let version = landlock_version()?;
    check_version(version, rules)?;
    let ruleset = build_ruleset(rules).map_err(|error| refused(&error))?;
    let ruleset = add_rules(ruleset, rules)?;
    let status = ruleset.restrict_self().map_err(|error| refused(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(SandboxFailure::Refused(
            "Landlock does not enforce the rules".to_owned(),
        ));
    }
    let filter = build_filter(rules).map_err(|error| refused(&error))?;
    drop_capabilities().map_err(|error| refused(&error))?;
    // From here on, this thread must make no call that the filter reports: nobody answers before
    // the recorder has the listener.
    let listener = is_recorded.then(|| install_recording_filter(rules));
    // With a listener, the same calls are refused without this filter: by the answers of the
    // recorder, or by the kernel if the listener is gone.
    if !matches!(listener, Some(Ok(_))) {
        seccompiler::apply_filter(&filter).map_err(|error| refused(&error))?;
    }
    Ok(Confined {
        enforced: EnforcedSandbox {
            landlock: version,
            signals: version >= SIGNALS,
        },
        listener,
    })
}

/// Installs a filter that reports the calls that the sandbox refuses, and the calls that a recorder
/// observes. If the filter itself refused a call, it would not report the call, and no access
/// report could show it.
fn install_recording_filter(rules: &Confinement) -> io::Result<Listener> {
    let build = || {
        let mut calls = observed_calls()?;
        calls.extend(refused_calls(rules)?);
        build_notifying_filter(with_x32(calls), OtherArchitecture::Killed)
    };
    Listener::install(&build().map_err(io::Error::other)?)
}

/// Returns whether the kernel has the version of Landlock that every sandbox needs.
pub(super) fn is_available() -> bool {
    landlock_version().is_ok_and(|version| version >= FILES.0)
}

/// Returns whether the kernel can limit TCP ports.
pub(super) fn limits_ports() -> bool {
    landlock_version().is_ok_and(|version| version >= PORTS.0)
}

/// Drops the capabilities that a hub of the root user has, except for the capabilities that concern
/// files: Landlock restricts the use of files nevertheless. With other capabilities, a server could
/// get around the sandbox, for instance by reading the memory of other processes.
fn drop_capabilities() -> Result<(), CapsError> {
    let file_capabilities = [
        Capability::CAP_CHOWN,
        Capability::CAP_DAC_OVERRIDE,
        Capability::CAP_DAC_READ_SEARCH,
        Capability::CAP_FOWNER,
        Capability::CAP_FSETID,
    ];
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)?;
    let permitted = caps::read(None, CapSet::Permitted)?;
    let remaining: CapsHashSet = permitted
        .into_iter()
        .filter(|capability| file_capabilities.contains(capability))
        .collect();
    caps::set(None, CapSet::Effective, &remaining)?;
    caps::set(None, CapSet::Permitted, &remaining)
}

fn refused(error: &dyn std::error::Error) -> SandboxFailure {
    SandboxFailure::Refused(error.to_string())
}

/// Returns the version of Landlock that the kernel has, at least 1.
fn landlock_version() -> Result<u32, SandboxFailure> {
    const ONLY_VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the call reads no memory, and only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            ONLY_VERSION,
        )
    };
    let error = io::Error::last_os_error();
    u32::try_from(version).map_err(|_| without_landlock(&error))
}

/// Returns the failure for the error with which the kernel answers instead of its version of
/// Landlock.
fn without_landlock(error: &io::Error) -> SandboxFailure {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => SandboxFailure::LandlockOff,
        Some(_) | None => SandboxFailure::NoLandlock,
    }
}

/// Fails if the kernel cannot enforce a restriction that the sandbox requires.
fn check_version(version: u32, rules: &Confinement) -> Result<(), SandboxFailure> {
    if version < FILES.0 {
        return Err(SandboxFailure::OldLandlock { version });
    }
    if rules.network == SandboxNetwork::Listed && version < PORTS.0 {
        return Err(SandboxFailure::MissingFeature {
            feature: "a limit on TCP ports".to_owned(),
            version: PORTS.1.to_owned(),
        });
    }
    Ok(())
}

/// Declares which accesses are restricted. Fails if the kernel does not support a restriction that
/// the sandbox requires. Adds limits on signals, on the ioctls of devices and on abstract sockets
/// if the kernel supports these limits. The seccomp filter covers abstract sockets in any case.
fn build_ruleset(rules: &Confinement) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    // At least one access is always restricted: then Landlock also keeps the server from tracing
    // other processes.
    ruleset = ruleset.handle_access(AccessFs::MakeBlock)?;
    if rules.files.is_some() {
        ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V3))?;
    }
    if rules.network == SandboxNetwork::Listed {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    if rules.files.is_some() {
        ruleset = ruleset.handle_access(AccessFs::IoctlDev)?;
    }
    if !rules.local_sockets {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    ruleset.scope(Scope::Signal)?.create()
}

fn add_rules(
    mut ruleset: RulesetCreated,
    rules: &Confinement,
) -> Result<RulesetCreated, SandboxFailure> {
    if let Some(files) = &rules.files {
        ruleset = add_file_rules(ruleset, files)?;
    }
    for (ports, access) in [
        (&rules.connect, AccessNet::ConnectTcp),
        (&rules.bind, AccessNet::BindTcp),
    ] {
        for port in ports {
            ruleset = ruleset
                .add_rule(NetPort::new(*port, access))
                .map_err(|error| refused(&error))?;
        }
    }
    Ok(ruleset)
}

fn add_file_rules(
    mut ruleset: RulesetCreated,
    files: &FileRules,
) -> Result<RulesetCreated, SandboxFailure> {
    let read = AccessFs::from_read(ABI::V3);
    let write = AccessFs::from_all(ABI::V3);
    for path in &files.system {
        if let Ok(file) = PathFd::new(path) {
            ruleset = add_path(ruleset, path, file, read)?;
        }
    }
    for (devices, access) in [
        (
            DEVICES,
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        ),
        (RANDOM_DEVICES, AccessFs::ReadFile.into()),
    ] {
        for path in devices.iter().map(Path::new) {
            if let Ok(file) = PathFd::new(path) {
                ruleset = add_path(ruleset, path, file, access)?;
            }
        }
    }
    for (paths, access) in [(&files.read, read), (&files.write, write)] {
        for path in paths {
            let file = PathFd::new(path).map_err(|_| SandboxFailure::Path {
                path: path.display().to_string(),
                error: io::Error::last_os_error().to_string(),
            })?;
            ruleset = add_path(ruleset, path, file, access)?;
        }
    }
    Ok(ruleset)
}

/// Allows access to a path. For a file, the rights that apply only to folders are left out.
fn add_path(
    ruleset: RulesetCreated,
    path: &Path,
    file: PathFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxFailure> {
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V5)
    };
    ruleset
        .add_rule(PathBeneath::new(file, access))
        .map_err(|error| refused(&error))
}

/// Builds the filter that refuses system calls without a listener.
fn build_filter(rules: &Confinement) -> Result<BpfProgram, BackendError> {
    let errno = u32::try_from(REFUSAL).expect("error numbers are positive");
    SeccompFilter::new(
        with_x32(refused_calls(rules)?),
        SeccompAction::Allow,
        SeccompAction::Errno(errno),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// Adds the same calls of the x32 interface, which have other numbers.
fn with_x32(mut calls: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    if cfg!(target_arch = "x86_64") {
        let x32: Vec<_> = calls
            .iter()
            .map(|(call, rules)| (call | X32, rules.clone()))
            .collect();
        calls.extend(x32);
    }
    calls
}

/// Returns the system calls that the sandbox refuses. These are the calls that make sockets of a
/// family that the sandbox does not allow: IP sockets if it allows no network, local sockets if it
/// allows no local sockets, and all other families except for netlink. Without local sockets, pairs
/// of datagram sockets are refused too. io_uring is always refused, because it could make sockets
/// without passing the filter.
fn refused_calls(rules: &Confinement) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if rules.network != SandboxNetwork::None {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if rules.local_sockets {
        families.push(libc::AF_UNIX);
    }
    let is_other = |family: libc::c_int| {
        let family = u64::try_from(family).expect("the families of sockets are positive");
        condition(0, SeccompCmpOp::Ne, family)
    };
    let other_family = SeccompRule::new(
        families
            .into_iter()
            .map(is_other)
            .collect::<Result<_, _>>()?,
    )?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::from([
        (libc::SYS_socket, vec![other_family]),
        (libc::SYS_io_uring_setup, Vec::new()),
    ]);
    if !rules.local_sockets {
        // A datagram socket of a pair could still send to any local socket.
        let datagram = u64::try_from(libc::SOCK_DGRAM).expect("the types of sockets are positive");
        let is_datagram = condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), datagram)?;
        refused.insert(
            libc::SYS_socketpair,
            vec![SeccompRule::new(vec![is_datagram])?],
        );
    }
    Ok(refused)
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(network: SandboxNetwork) -> Confinement {
        Confinement {
            files: None,
            network,
            connect: Vec::new(),
            bind: Vec::new(),
            local_sockets: false,
        }
    }

    #[test]
    fn a_missing_landlock_and_a_disabled_landlock_are_different_failures() {
        let failure = |errno| without_landlock(&io::Error::from_raw_os_error(errno));
        assert_eq!(failure(libc::ENOSYS), SandboxFailure::NoLandlock);
        assert_eq!(failure(libc::EOPNOTSUPP), SandboxFailure::LandlockOff);
    }

    #[test]
    fn a_sandbox_fails_if_the_kernel_cannot_enforce_a_restriction() {
        for version in 1..3 {
            for network in [
                SandboxNetwork::All,
                SandboxNetwork::Listed,
                SandboxNetwork::None,
            ] {
                assert_eq!(
                    check_version(version, &rules(network)),
                    Err(SandboxFailure::OldLandlock { version })
                );
            }
        }
        let error = check_version(1, &rules(SandboxNetwork::All)).expect_err("too old");
        assert_eq!(
            error.to_string(),
            "this kernel has version 1 of Landlock, which cannot protect files from truncation; \
             version 3 is needed (Linux 6.2 or newer)"
        );
        let error = check_version(3, &rules(SandboxNetwork::Listed)).expect_err("no ports");
        assert_eq!(
            error.to_string(),
            "a limit on TCP ports needs Linux 6.7 or newer"
        );
        assert_eq!(check_version(3, &rules(SandboxNetwork::None)), Ok(()));
        assert_eq!(check_version(4, &rules(SandboxNetwork::Listed)), Ok(()));
    }
}
