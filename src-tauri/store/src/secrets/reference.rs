//! `${keyring:NAME}`: the reference of a spec to a secret.

const OPEN: &str = "${keyring:";

/// Returns the reference to the secret with this name.
pub fn format_reference(name: &str) -> String {
    format!("{OPEN}{name}}}")
}

/// Returns the names that a text refers to, in order of appearance.
pub fn referenced_names(text: &str) -> Vec<String> {
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
        let text = format!(
            "Bearer {} and {}",
            format_reference("a.b"),
            format_reference("c")
        );
        assert_eq!(referenced_names(&text), ["a.b", "c"]);
    }

    #[test]
    fn malformed_references_are_ignored() {
        assert!(referenced_names("${HOME} ${keyring:open keyring:x}").len() == 1);
        assert!(referenced_names("${keyring:never closed").is_empty());
    }
}
