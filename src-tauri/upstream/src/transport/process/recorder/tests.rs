use std::ffi::CString;

use super::*;

#[test]
fn the_flags_of_an_opened_file_decide_its_need() {
    for (flags, need) in [
        (libc::O_RDONLY, Some(FileNeed::Read)),
        (libc::O_RDONLY | libc::O_DIRECTORY, Some(FileNeed::Read)),
        (libc::O_WRONLY, Some(FileNeed::Write)),
        (libc::O_RDWR, Some(FileNeed::Write)),
        (libc::O_RDONLY | libc::O_CREAT, Some(FileNeed::Write)),
        (libc::O_RDONLY | libc::O_TRUNC, Some(FileNeed::Write)),
        (libc::O_PATH | libc::O_DIRECTORY, None),
    ] {
        assert_eq!(open_need(flags), need, "{flags:o}");
    }
}

#[test]
fn the_address_of_each_family_is_read() {
    let family = |family: i32| u16::try_from(family).expect("a family").to_ne_bytes();
    let bytes = |number: i32, rest: &[u8]| [family(number).as_slice(), rest].concat();
    let read = |bytes: Vec<u8>| {
        parse_address(&bytes).map(|address| match address {
            Address::Ip(ip, port) => format!("{ip} {port}"),
            Address::Local(name) => name,
        })
    };
    let four = [1, 187, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut six = vec![0, 80, 0, 0, 0, 0];
    six.extend(Ipv6Addr::LOCALHOST.octets());
    six.extend([0; 4]);
    let mut mapped = vec![0, 80, 0, 0, 0, 0];
    mapped.extend(Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
    for (bytes, expected) in [
        (bytes(libc::AF_INET, &four), Some("10.0.0.1 443")),
        (bytes(libc::AF_INET6, &six), Some("::1 80")),
        (bytes(libc::AF_INET6, &mapped), Some("127.0.0.1 80")),
        (bytes(libc::AF_UNIX, b"/run/bus\0rest"), Some("/run/bus")),
        (bytes(libc::AF_UNIX, b"\0bus"), Some("@bus")),
        (bytes(libc::AF_UNIX, b""), None),
        (bytes(libc::AF_UNSPEC, &four), None),
        (bytes(libc::AF_INET, &four[..3]), None),
        (vec![1], None),
    ] {
        assert_eq!(read(bytes).as_deref(), expected);
    }
}

#[test]
fn a_path_without_a_file_is_resolved_only_if_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = fs::canonicalize(folder.path()).expect("a path without links");
    let real = folder.join("real");
    fs::write(&real, "").expect("write");
    std::os::unix::fs::symlink(&real, folder.join("link")).expect("link");
    let missing = folder.join("missing");
    for (path, need, expected) in [
        (folder.join("link"), FileNeed::Read, Some(&real)),
        (
            folder.join("link"),
            FileNeed::Change,
            Some(&folder.join("link")),
        ),
        (folder.join("x/../real"), FileNeed::Read, None),
        (folder.join("./real"), FileNeed::Read, Some(&real)),
        (missing.clone(), FileNeed::Read, None),
        (missing.clone(), FileNeed::Write, Some(&missing)),
        (missing.join("deeper"), FileNeed::Write, None),
        (
            PathBuf::from("/proc/self/environ"),
            FileNeed::Read,
            Some(&PathBuf::from("/proc/self/environ")),
        ),
    ] {
        assert_eq!(
            resolve_links(&path, need).as_ref(),
            expected,
            "{path:?} {need:?}"
        );
    }
}

/// Returns the accesses of a call of this process that has this path as its first argument.
fn read_call(action: fn(PathArgument) -> Action, path: &Path) -> Observed {
    let reader = Reader {
        is_confined: false,
        root: None,
    };
    let text = CString::new(path.as_os_str().as_bytes()).expect("a path has no NUL");
    let mut arguments = [0; 6];
    arguments[0] = u64::try_from(text.as_ptr().addr()).expect("an address has 64 bits");
    let named = PathArgument {
        folder: None,
        path: 0,
    };
    let notification = Notification::of_this_process(arguments);
    let observed = reader.read(action(named), &notification);
    observed.expect("this process can be read")
}

#[test]
fn a_folder_that_exists_already_is_not_reported_as_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = fs::canonicalize(folder.path()).expect("a path without links");
    let (new, link) = (folder.join("new"), folder.join("link"));
    // The folder of this program is older than the test.
    let program = std::env::current_exe().expect("this program");
    let old = program.parent().expect("a folder").to_owned();
    fs::write(folder.join("file"), "").expect("write");
    if fs::metadata(&old).and_then(|old| old.created()).is_err() {
        // This file system does not record when a file was made.
        return;
    }
    let mut observer = Observer::new(RecordingRequest::default(), None);
    let calls = [&old, &new].map(|path| read_call(Action::Create, path));
    let link_call = read_call(Action::Link, &link);
    fs::create_dir(&old).expect_err("the folder exists");
    fs::create_dir(&new).expect("a folder");
    fs::hard_link(folder.join("file"), &link).expect("a link");
    calls.into_iter().for_each(|call| observer.add(call));
    observer.add(link_call);

    let files = observer.summary.to_report().files;
    let paths: Vec<_> = files.iter().map(|file| Path::new(&file.path)).collect();
    assert_eq!(
        paths,
        [link, new],
        "a further name of an old file is reported, too"
    );
}

#[test]
fn a_use_of_a_device_that_a_sandbox_refuses_is_not_ordinary() {
    let observer = Observer::new(RecordingRequest::default(), None);
    for (path, need, expected) in [
        ("/dev/null", FileNeed::Read, true),
        ("/dev/null", FileNeed::Write, true),
        ("/dev/null", FileNeed::Change, false),
        ("/dev/urandom", FileNeed::Read, true),
        ("/dev/urandom", FileNeed::Write, false),
    ] {
        let is_ordinary = observer.is_ordinary(Path::new(path), need);
        assert_eq!(is_ordinary, expected, "{path} {need:?}");
    }
}
