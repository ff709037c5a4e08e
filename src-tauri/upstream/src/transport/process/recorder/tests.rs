use super::*;

#[test]
fn how_a_file_is_opened_decides_what_it_needs() {
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
fn a_path_without_a_file_is_of_interest_only_if_it_is_written() {
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
        assert_eq!(resolve(&path, need).as_ref(), expected, "{path:?} {need:?}");
    }
}
