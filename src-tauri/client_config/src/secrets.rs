//! Recognizes literal secrets, by the name of their variable, header or option and by their shape.

/// Words that suggest a secret in a name. A word of three letters has to be a whole part of the
/// name.
const NAMES: [&str; 8] = [
    "TOKEN",
    "KEY",
    "SECRET",
    "PASS",
    "AUTH",
    "CREDENTIAL",
    "COOKIE",
    "PAT",
];

/// The beginnings of tokens that services issue.
const PREFIXES: &[&str] = &[
    "AIza",
    "AKIA",
    "ASIA",
    "SG.",
    "dop_v1_",
    "figd_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "gsk_",
    "hf_",
    "lin_api_",
    "npm_",
    "ntn_",
    "pypi-",
    "rk_live_",
    "secret_",
    "shpat_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "tvly-",
    "xapp-",
    "xoxb-",
    "xoxp-",
    "ya29.",
];

/// Words that contain one of the [`NAMES`], but mean something else.
const OTHER_WORDS: [&str; 9] = [
    "AUTHOR",
    "AUTHORITY",
    "AUTHORS",
    "BYPASS",
    "COMPASS",
    "PASSIVE",
    "PASSTHROUGH",
    "TOKENIZER",
    "TOKENIZERS",
];

/// Returns whether the name of a variable, header, option or member suggests a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    split_name(name).any(|part| {
        let is_other = OTHER_WORDS.contains(&part.as_str());
        !is_other
            && NAMES
                .iter()
                .any(|word| part == *word || (word.len() > 3 && part.contains(word)))
    })
}

/// Returns whether the value of a variable or header is likely to be a secret, because of its name
/// or its shape.
pub fn is_likely_secret(name: &str, value: &str) -> bool {
    let by_name = is_secret_name(name) && is_literal(value) && !is_ordinary(value);
    by_name || looks_like_secret(value)
}

/// Returns whether a value is no secret although its name may suggest one: it is a switch, or the
/// path of a file with the secret.
pub(crate) fn is_ordinary(value: &str) -> bool {
    let value = value.trim();
    let is_switch = ["true", "false", "yes", "no", "on", "off"].contains(&value);
    let is_path = ["/", "~/", "./", "../"]
        .iter()
        .any(|start| value.starts_with(start))
        || value.get(1..3) == Some(":\\");
    is_switch || (is_path && !value.contains(['+', '=']))
}

/// Splits `Bearer TOKEN` into the scheme and the rest. The scheme is empty if the value has none.
pub(crate) fn split_scheme(value: &str) -> (&str, &str) {
    let schemes = ["bearer ", "basic ", "token "];
    let length = schemes
        .iter()
        .find(|scheme| {
            value
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
        .map_or(0, |scheme| scheme.len());
    value.split_at(length)
}

/// Returns whether a value is a placeholder that the reader of a README has to replace, such as
/// `<YOUR_TOKEN>` or `xxx`.
pub(crate) fn is_placeholder(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_bracketed = |open: char, close: char| {
        value
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            .is_some_and(|inner| {
                !inner.is_empty()
                    && inner
                        .chars()
                        .all(|c| c.is_alphanumeric() || " _-.'".contains(c))
            })
    };
    if is_bracketed('<', '>') {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let is_filler = value.len() >= 3 && value.chars().all(|c| "xX*.…".contains(c));
    let starts = [
        "your_", "your-", "your ", "my_api", "my-api", "replace", "insert", "enter ", "put_your",
        "put-your",
    ];
    let ends = ["_here", "-here", " here"];
    let has_typical_words = lower.starts_with("your")
        && lower[4..].chars().next().is_some_and(char::is_alphabetic)
        || starts.iter().any(|start| lower.starts_with(start))
        || ends.iter().any(|end| lower.ends_with(end))
        || lower == "changeme";
    is_secret_name(name)
        && (is_filler || has_typical_words || is_bracketed('[', ']') || is_bracketed('{', '}'))
}

/// Returns the parts of `API_KEY`, `api-key` and `apiKey` in upper case.
fn split_name(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let starts_part = c.is_uppercase() && after_lower;
        if !c.is_alphanumeric() || starts_part {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            let part = parts.last_mut().expect("there is at least one part");
            part.extend(c.to_uppercase());
        }
        after_lower = c.is_lowercase();
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

/// Returns whether a value is not empty and contains no reference that a program replaces.
pub(crate) fn is_literal(value: &str) -> bool {
    !value.is_empty() && !value.contains("${") && !value.contains("{env:")
}

/// Returns whether a text looks like a secret: a token of a known service, a JSON Web Token, a
/// header with credentials, a URL with a password or a secret parameter, or a long random text.
pub(crate) fn looks_like_secret(value: &str) -> bool {
    let value = value.trim();
    if !is_literal(value) {
        return false;
    }
    if let Some((scheme, rest)) = value.split_once(' ') {
        let is_scheme =
            ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str());
        return is_scheme && rest.len() >= 8 && !rest.contains(' ');
    }
    let has_prefix = PREFIXES
        .iter()
        .any(|prefix| value.starts_with(prefix) && value.len() >= prefix.len() + 12);
    let is_web_token = value.starts_with("eyJ") && value.matches('.').count() == 2;
    has_prefix || is_web_token || is_secret_url(value) || is_random(value)
}

/// Returns whether a URL has a password, or a parameter that is likely to be a secret.
fn is_secret_url(value: &str) -> bool {
    let Ok(url) = url::Url::parse(value) else {
        return false;
    };
    url.has_host()
        && (url.password().is_some_and(is_literal)
            || url
                .query_pairs()
                .any(|(name, value)| is_secret_name(&name) && is_literal(&value)))
}

/// Returns whether a text looks like hexadecimal or Base64 of at least 128 random bits.
/// Returns false for a text with a `/`, which may be a path or the name of a package.
fn is_random(value: &str) -> bool {
    let count = |test: fn(&char) -> bool| value.chars().filter(test).count();
    let digits = count(char::is_ascii_digit);
    let is_hex = value.len() >= 32
        && value.chars().all(|c| c.is_ascii_hexdigit())
        && digits >= 4
        && digits < value.len();
    let is_base64 = value.len() >= 36
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+=_-".contains(c))
        && digits >= 3
        && count(char::is_ascii_uppercase) >= 3
        && count(char::is_ascii_lowercase) >= 3;
    is_hex || is_base64
}

/// Returns whether an argument contains a secret: by its shape, by its name as in `--api-key=…`,
/// `KEY=…` or a header, or because `previous` is an option for a secret.
pub(crate) fn is_secret_argument(argument: &str, previous: Option<&str>) -> bool {
    if follows_secret_option(argument, previous) {
        return is_literal(argument);
    }
    let has_value = |separator: char| {
        argument.split_once(separator).is_some_and(|(name, value)| {
            !name.contains(['/', ' '])
                && is_literal(value.trim())
                && (is_secret_name(name) || looks_like_secret(value))
        })
    };
    looks_like_secret(argument) || has_value('=') || (has_value(':') && !argument.contains("://"))
}

/// Returns the secret in an argument: the value of `--api-key=…`, of `KEY=…` or of a header, or the
/// whole argument, without a scheme such as `Bearer`. Returns `None` if [`is_secret_argument`] does
/// not consider the argument a secret.
pub fn find_secret_part<'a>(argument: &'a str, previous: Option<&str>) -> Option<&'a str> {
    if !is_secret_argument(argument, previous) {
        return None;
    }
    let is_name = |name: &str| !name.contains(['/', ' ']);
    let named = if follows_secret_option(argument, previous) {
        None
    } else {
        argument
            .split_once('=')
            // In `Authorization: Basic dXNlcjpwYXNz=`, the `=` is padding.
            .filter(|(name, _)| is_name(name))
            .or_else(|| {
                argument
                    .split_once(':')
                    .filter(|(name, _)| is_name(name) && !argument.contains("://"))
            })
    };
    // A `=` at the end of Base64 is padding, and no value.
    let is_value = |value: &str| !value.trim_matches('=').trim().is_empty();
    Some(match named {
        Some((_, value)) if is_value(value) => split_scheme(value.trim()).1.trim(),
        Some(_) | None => split_scheme(argument).1.trim(),
    })
}

/// Returns whether an argument is the value of an option for a secret, as in `--api-key VALUE`.
fn follows_secret_option(argument: &str, previous: Option<&str>) -> bool {
    let follows = previous.is_some_and(|option| {
        option.starts_with('-') && !option.contains('=') && is_secret_name(option)
    });
    follows && !argument.starts_with('-')
}

#[cfg(test)]
mod tests;
