//! `${keyring:NAME}`: the reference of a spec to a secret.

const OPEN: &str = "${keyring:";

/// Returns the reference to the secret with this name.
pub fn reference(name: &str) -> String {
    format!("{OPEN}{name}}}")
}

/// Returns the names that a text refers to, in order of appearance.
pub fn names(text: &str) -> Vec<String> {
    text.split(OPEN)
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_in_a_text_is_found() {
        let text = format!("Bearer {} and {}", reference("a.b"), reference("c"));
        assert_eq!(names(&text), ["a.b", "c"]);
    }

    #[test]
    fn what_is_no_reference_is_not_found() {
        assert!(names("${HOME} ${keyring:open keyring:x}").len() == 1);
        assert!(names("${keyring:never closed").is_empty());
    }
}
