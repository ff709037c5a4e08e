//! Properties of specs that hold for the text of any file.

use super::{
    ServerSpec,
    changes::{list_changes, needs_acceptance},
    package::floating_packages,
};

/// Checks that a spec that is read, written and read again is the same spec and has the same
/// identity, that a package contains the version that is added to it, and that checking the spec
/// does not panic.
pub(crate) fn specs_survive_a_round_trip(text: &str) {
    let Ok(spec) = serde_json::from_str::<ServerSpec>(text) else {
        return;
    };
    let written = serde_json::to_string(&spec).expect("a spec can be written");
    let read: ServerSpec = serde_json::from_str(&written).expect("a written spec can be read");
    assert_eq!(read, spec, "{written}");
    assert_eq!(read.identity(), spec.identity());
    for package in floating_packages(&spec) {
        let pinned = package.with_version("1.2.3");
        assert!(pinned.is_none_or(|pinned| pinned.contains("1.2.3")));
    }
    let _ = spec.check();
    let _ = crate::protocol::check_spec(&spec);
}

/// Checks that a spec does not differ from itself, and that the list of changes is not empty if the
/// identities differ or the change needs acceptance.
pub(crate) fn equal_specs_have_no_changes(before: &str, after: &str) {
    let read = |text| serde_json::from_str::<ServerSpec>(text);
    let (Ok(before), Ok(after)) = (read(before), read(after)) else {
        return;
    };
    assert!(list_changes(&before, &before).is_empty());
    assert!(!needs_acceptance(&before, &before));
    if before.identity() != after.identity() || needs_acceptance(&before, &after) {
        assert!(
            !list_changes(&before, &after).is_empty(),
            "{before:?} became {after:?}"
        );
    }
}
