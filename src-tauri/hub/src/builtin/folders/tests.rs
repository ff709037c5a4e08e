use super::*;

fn shared(path: &str) -> SharedFolder {
    SharedFolder {
        path: path.into(),
        all_files: false,
    }
}

#[test]
fn a_uri_belongs_to_the_innermost_folder_and_never_to_a_sibling() {
    let folders = [
        shared("/home/a"),
        shared("/home/a/deep"),
        shared("/home/ab"),
    ];
    let locate = |uri: &str| {
        locate(&folders, uri)
            .map(|(folder, path)| {
                (
                    folder.path.display().to_string(),
                    path.display().to_string(),
                )
            })
            .map_err(|error| error.message.into_owned())
    };
    for (uri, folder, path) in [
        ("file:///home/a/x.md", "/home/a", "x.md"),
        ("file:///home/a", "/home/a", ""),
        ("file:///home/a/deep/x%20y.md", "/home/a/deep", "x y.md"),
        ("file:///home/ab/x", "/home/ab", "x"),
        ("file:///home/a/../ab/x", "/home/ab", "x"),
        (
            "file:///home/a/..%2f..%2fetc/passwd",
            "/home/a",
            "../../etc/passwd",
        ),
    ] {
        assert_eq!(
            locate(uri),
            Ok((folder.to_owned(), path.to_owned())),
            "{uri}"
        );
    }
    for uri in [
        "file:///home/abc/x",
        "file:///etc/passwd",
        "file:///home/a/../../etc/passwd",
        "file:///home/a/%2e%2e/%2e%2e/etc/passwd",
        "file://elsewhere/home/a/x",
        "http://localhost/home/a/x",
        "/home/a/x",
        "",
    ] {
        assert!(locate(uri).is_err(), "{uri}");
    }
}

#[test]
fn a_text_is_sent_as_text_and_everything_else_as_base64() {
    let contents = |name: &str, bytes: &[u8]| {
        let contents = Contents::File(bytes.to_vec());
        serde_json::to_value(to_contents("file:///x", Path::new(name), contents)).expect("JSON")
    };
    for (name, bytes, media_type) in [
        ("a.md", b"# A".as_slice(), "text/markdown"),
        ("a.rs", b"fn main() {}", "text/x-rust"),
        ("a.ts", b"let a = 1;", "text/typescript"),
        ("a.json", b"{}", "application/json"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("Makefile", b"all:", "text/plain"),
        ("a.png", b"text", "text/plain"),
    ] {
        let read = contents(name, bytes);
        assert_eq!(read["mimeType"], media_type, "{name}");
        assert!(read["text"].is_string() && read["blob"].is_null(), "{read}");
    }
    for (name, bytes, media_type) in [
        ("a.png", b"\x89PNG\r\n".as_slice(), "image/png"),
        ("a.txt", b"\xff\xfe", "application/octet-stream"),
        ("zeros", b"\0\0", "application/octet-stream"),
    ] {
        let read = contents(name, bytes);
        assert_eq!(read["mimeType"], media_type, "{name}");
        assert_eq!(read["blob"], STANDARD.encode(bytes), "{read}");
    }
}

#[test]
fn a_cursor_names_its_list_and_the_next_entry() {
    assert_eq!(parse_cursor("3.500"), Some((3, 500)));
    for cursor in ["", "3", "3.", "a.1", "3.-1"] {
        assert_eq!(parse_cursor(cursor), None, "{cursor}");
    }
}

#[test]
fn a_cursor_beyond_the_end_of_the_list_yields_an_empty_page() {
    let resources: Vec<_> = (0..=PAGE)
        .map(|file| Resource::new(format!("file:///{file}"), file.to_string()))
        .collect();
    for (start, length, next) in [
        (0, PAGE, Some(PAGE)),
        (PAGE, 1, None),
        (PAGE + 1, 0, None),
        (PAGE + 2, 0, None),
        (usize::MAX, 0, None),
    ] {
        let (page, next_page) = page_at(&resources, start);
        assert_eq!((page.len(), next_page), (length, next), "{start}");
    }
}
