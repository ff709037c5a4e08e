use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::*;

fn refusal(content: &str, file_name: &str) -> String {
    Document::decode(content, file_name)
        .expect_err("refused")
        .describe_with_remedy()
}

#[test]
fn base64_is_read_with_and_without_padding_and_line_breaks() {
    for content in [
        STANDARD.encode("text"),
        STANDARD_NO_PAD.encode("text"),
        "dGV4\r\ndA==\n".into(),
    ] {
        let document = Document::decode(&content, "Notes.MD").expect("a document");
        assert_eq!(document.bytes, b"text");
        assert_eq!(document.extension, "md");
        assert!(!document.needs_models());
    }
    let document = Document::decode("dGV4dA==", "a.b.pdf").expect("a document");
    assert!(document.needs_models());
}

#[test]
fn content_that_is_empty_or_too_large_or_not_base64_is_refused() {
    assert!(refusal("", "a.md").contains("'content' is empty"));
    assert!(refusal("# Notes", "a.md").contains("'content' is not base64"));
    assert!(refusal("dGV4dA==dGV4dA==", "a.md").contains("not base64"));
    let largest = STANDARD.encode(vec![0; MAX_DOCUMENT_BYTES]);
    Document::decode(&largest, "a.md").expect("the largest document");
    let too_large = STANDARD.encode(vec![0; MAX_DOCUMENT_BYTES + 1]);
    assert!(refusal(&too_large, "a.md").contains("at most 10 MiB"));
    let far_too_large = "A".repeat(20 * 1024 * 1024);
    assert!(refusal(&far_too_large, "a.md").contains("at most 10 MiB"));
}

#[test]
fn a_name_that_is_malformed_or_has_no_known_extension_is_refused() {
    let long = format!("{}.md", "a".repeat(300));
    for name in [
        "../a.md",
        "/etc/a.md",
        "..\\a.md",
        "C:\\a.md",
        "a\0.md",
        "a\n.md",
        ".md",
        "..md",
        "readme",
        "",
        &long,
    ] {
        assert!(
            refusal("dGV4dA==", name).contains("'file_name' must be"),
            "{name:?}"
        );
    }
    for name in ["a.exe", "a.md.", "a.tar.gz", "a.mp4"] {
        assert!(
            refusal("dGV4dA==", name).contains("Docling does not convert"),
            "{name:?}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_document_file_is_private_and_is_removed_when_dropped() {
    use std::os::unix::fs::PermissionsExt;

    let inbox = tempfile::tempdir().expect("a folder");
    let folder = inbox.path().join("inbox");
    let document = Document::decode("dGV4dA==", "a.md").expect("a document");
    let file = document.store(folder.clone()).await.expect("a file");
    assert!(file.path().starts_with(&folder));
    assert_eq!(file.path().file_name().expect("a name"), "document.md");
    let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(file.path()), 0o600);
    assert_eq!(mode(file.path().parent().expect("a folder")), 0o700);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(fs::read(file.path()).expect("the document"), b"text");
    drop(file);
    assert_eq!(fs::read_dir(&folder).expect("the inbox").count(), 0);
}
