//! A property of the registry's answers that holds for any text.

use super::{entry::Entry, page::Page};
use crate::registry::manifest;

/// Any answer is either read as a page or rejected, and each server of a page is a manifest again
/// when it is read from the store.
pub(crate) fn a_page_has_only_manifests(answer: &[u8]) {
    let Ok(page) = Page::parse(answer) else {
        return;
    };
    for entry in page.entries {
        let Entry::Published(row) = entry else {
            continue;
        };
        let manifest = manifest::read_published(&row.document).expect("a manifest");
        assert!(!manifest.choices.is_empty());
        assert_eq!(manifest.name, row.name);
        assert_eq!(row.search_text, row.search_text.to_lowercase());
    }
}
