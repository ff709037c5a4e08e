//! URI templates (RFC 6570). Only the literal texts outside the expressions count.

/// Returns the literal texts of a template, in order. Between two texts is an expression. The first
/// and the last text may be empty.
fn literals(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').enumerate().map(|(index, part)| {
        if index == 0 {
            part
        } else {
            part.split_once('}').map_or("", |(_, literal)| literal)
        }
    })
}

/// Returns how many bytes of a template are literal.
pub(super) fn literal_length(template: &str) -> usize {
    literals(template).map(str::len).sum()
}

/// Returns whether a template begins with a literal scheme, such as `file:`. A template without a
/// literal scheme could match any URI.
pub(in crate::catalog) fn has_scheme(template: &str) -> bool {
    let literal = literals(template).next().unwrap_or_default();
    literal.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Returns whether a URI may result from a template.
pub(super) fn matches(uri: &str, template: &str) -> bool {
    let mut literals = literals(template);
    let Some(mut rest) = literals.next().and_then(|first| uri.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for literal in literals {
        let Some(at) = rest.find(literal) else {
            return false;
        };
        rest = &rest[at + literal.len()..];
        last = Some(literal);
    }
    match last {
        None => rest.is_empty(),
        Some(literal) => literal.is_empty() || uri.ends_with(literal),
    }
}
