//! Properties that hold for every object and every key.

use serde_json::value::RawValue;

use super::{RawObject, fold_key};

/// Checks that an object has the same keys and values in the same order after it is written and
/// read again, and that a second round trip changes nothing.
pub(crate) fn rewritten_is_the_same(text: &str) {
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        return;
    };
    let Ok(object) = RawObject::parse(raw) else {
        return;
    };
    let written = object.to_raw();
    let read_again = RawObject::parse(&written).expect("the written text is an object");
    assert!(
        object.keys().eq(read_again.keys()),
        "{text} is written as {written}"
    );
    for key in object.keys() {
        let value = object
            .get(key)
            .expect("the object contains each of its keys")
            .get();
        assert!(text.contains(value), "{value} does not occur in {text}");
        assert_eq!(
            Some(value),
            read_again.get(key).map(RawValue::get),
            "{text} is written as {written}"
        );
    }
    assert_eq!(read_again.to_raw().get(), written.get());
}

/// Checks that a key folds to the same text as its variants in upper and lower case. Two keys that
/// fold to different texts are therefore different for every reader that ignores case.
pub(crate) fn a_key_folds_like_its_variants(key: &str) {
    let folded = fold_key(key);
    for variant in [key.to_uppercase(), key.to_lowercase(), folded.clone()] {
        assert_eq!(fold_key(&variant), folded, "{key:?} and {variant:?}");
    }
}
