//! Names that look alike to a person.

use drawbridge_model::invisible_chars::is_hidden;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Returns whether two names can be mistaken for each other: they differ at most in case, width,
/// separators (spaces, hyphens and underscores), hidden characters, or letters that look the same.
pub(super) fn is_look_alike(a: &str, b: &str) -> bool {
    let (a, b) = (fold(a), fold(b));
    lowercase_skeleton(&a) == lowercase_skeleton(&b)
        || skeleton_of_lowercase(&a) == skeleton_of_lowercase(&b)
}

/// Removes differences in width, separators and hidden characters.
fn fold(name: &str) -> String {
    let visible: String = name.nfkc().filter(|c| !is_hidden(*c)).collect();
    let words: Vec<_> = visible
        .split([' ', '-', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    words.join("-")
}

/// Returns the skeleton in lower case. An upper-case I looks like a lower-case L only before the
/// case is folded.
fn lowercase_skeleton(name: &str) -> String {
    skeleton(name).collect::<String>().to_lowercase()
}

/// Returns the skeleton of the lower-case name. Some letters look alike only in lower case.
fn skeleton_of_lowercase(name: &str) -> String {
    skeleton(&name.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::is_look_alike;

    #[test]
    fn names_that_a_person_can_mistake_for_each_other_are_look_alikes() {
        for other in [
            "GitHub",
            " github ",
            "gi\u{200b}thub",
            "g\u{456}thub",
            "ｇｉｔｈｕｂ",
        ] {
            assert!(is_look_alike("github", other), "{other}");
        }
        assert!(is_look_alike("My Server", "my-server"));
        assert!(is_look_alike("my  server", "my_server"));
        assert!(is_look_alike("aI", "al"));
        assert!(is_look_alike("v0", "vO"));
    }

    #[test]
    fn different_names_do_not_look_alike() {
        for (a, b) in [
            ("github", "gitlab"),
            ("file-system", "filesystem"),
            ("server-1", "server-2"),
            ("", "a"),
        ] {
            assert!(!is_look_alike(a, b), "{a} {b}");
        }
    }
}
