//! Literal secrets in a spec: finds them in variables, headers, tokens, arguments and the URL, and
//! replaces them by references to the secret store.

use std::{collections::BTreeSet, mem, ops::Range};

use drawbridge_model::{
    reference::{Reference, list_references},
    spec::ServerSpec,
};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::secrets;

/// A part of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Command,
    /// The index in `args`.
    Arg(usize),
    Cwd,
    Url,
    Env(String),
    Header(String),
    BearerToken,
    /// The client secret of `oauth`.
    ClientSecret,
}

/// Returns the text with which a spec refers to a secret.
pub(crate) fn reference(secret_name: &str) -> String {
    format!("${{keyring:{secret_name}}}")
}

/// A part of a spec that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralPart {
    pub place: Place,
    /// The name for the secret in the secret store.
    pub secret_name: String,
    /// The bytes of the secret in the text at `place`.
    range: Range<usize>,
    /// The secret, as the spec has it.
    raw: String,
    /// The secret; percent-decoded if `place` is the spec's URL.
    value: String,
}

impl LiteralPart {
    /// Returns the secret, percent-decoded if it is in the spec's URL.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the secret as the spec has it, percent-encoded in a URL.
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

/// Returns the literal secrets of a spec: values of variables and headers; tokens; secrets in
/// arguments, such as the value of `--api-key`; and in URLs, the password or user name, parameters,
/// and parts of the path.
pub fn find_literals(id: &str, spec: &ServerSpec) -> Vec<LiteralPart> {
    find_and_name(id, spec, BTreeSet::new())
}

fn find_and_name(id: &str, spec: &ServerSpec, mut used: BTreeSet<String>) -> Vec<LiteralPart> {
    let referenced = spec
        .values_with_references()
        .flat_map(|text| list_references(text))
        .filter_map(|(reference, _)| match reference {
            Reference::Keyring(name) => Some(name.to_owned()),
            Reference::Env(_) | Reference::Command(_) => None,
        });
    used.extend(referenced);
    let mut finder = Finder {
        id,
        used,
        found: Vec::new(),
    };
    let members = spec
        .env
        .iter()
        .map(|(name, value)| (Place::Env(name.clone()), name, value))
        .chain(
            spec.headers
                .iter()
                .map(|(name, value)| (Place::Header(name.clone()), name, value)),
        );
    for (place, name, value) in members {
        if secrets::is_likely_secret(name, value) && !is_ordinary(name, value) {
            finder.add(place, name, value, 0..value.len());
        }
    }
    let client_secret = spec
        .oauth
        .as_ref()
        .and_then(|client| client.client_secret.as_ref());
    for (place, name, value) in [
        (
            Place::BearerToken,
            "bearer_token",
            spec.bearer_token.as_ref(),
        ),
        (Place::ClientSecret, "oauth_client", client_secret),
    ] {
        if let Some(value) = value.filter(|value| secrets::is_literal(value)) {
            finder.add(place, name, value, 0..value.len());
        }
    }
    for (index, argument) in spec.args.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|index| spec.args.get(index));
        finder.find_in_argument(index, argument, previous.map(String::as_str));
    }
    if let Some(url) = &spec.url {
        for (name, range) in find_in_url(url) {
            finder.add(Place::Url, &name, url, range);
        }
    }
    finder.found
}

/// Moves the literal secrets out of the spec, and leaves references to the secret store. Returns
/// the names and values to store there. Does not choose a name in `used`, which has the names to
/// which something other than the spec refers.
pub fn move_literals(
    id: &str,
    spec: &mut ServerSpec,
    used: BTreeSet<String>,
) -> Vec<(String, String)> {
    let mut literals = find_and_name(id, spec, used);
    // The last literal comes first, so that the ranges of earlier literals in a text stay right.
    literals.reverse();
    for literal in &literals {
        let text = text_at(spec, &literal.place);
        text.replace_range(literal.range.clone(), &reference(&literal.secret_name));
    }
    literals.reverse();
    literals
        .into_iter()
        .map(|mut literal| (literal.secret_name, mem::take(&mut literal.value)))
        .collect()
}

fn text_at<'a>(spec: &'a mut ServerSpec, place: &Place) -> &'a mut String {
    let text = match place {
        Place::Command => spec.command.as_mut(),
        Place::Arg(index) => spec.args.get_mut(*index),
        Place::Cwd => spec.cwd.as_mut(),
        Place::Url => spec.url.as_mut(),
        Place::Env(name) => spec.env.get_mut(name),
        Place::Header(name) => spec.headers.get_mut(name),
        Place::BearerToken => spec.bearer_token.as_mut(),
        Place::ClientSecret => spec
            .oauth
            .as_mut()
            .and_then(|client| client.client_secret.as_mut()),
    };
    text.expect("the literal was found in this place")
}

struct Finder<'a> {
    id: &'a str,
    /// The names that are taken, by existing references and by the secrets found here.
    used: BTreeSet<String>,
    found: Vec<LiteralPart>,
}

impl Finder<'_> {
    fn add(&mut self, place: Place, name: &str, text: &str, range: Range<usize>) {
        let raw = text[range.clone()].to_owned();
        let value = if place == Place::Url {
            // A value that is not UTF-8 could not be put back.
            let Ok(value) = percent_decode_str(&raw).decode_utf8() else {
                return;
            };
            value.into_owned()
        } else {
            raw.clone()
        };
        let base = format!("{}.{}", self.id, to_key(name));
        let secret_name = (1..)
            .map(|number| match number {
                1 => base.clone(),
                _ => format!("{base}_{number}"),
            })
            .find(|name| self.used.insert(name.clone()))
            .expect("there are more numbers than secrets");
        self.found.push(LiteralPart {
            place,
            secret_name,
            range,
            raw,
            value,
        });
    }

    fn find_in_argument(&mut self, index: usize, argument: &str, previous: Option<&str>) {
        let place = Place::Arg(index);
        // A URL is an argument of its own, or follows an option, as in `--url=https://…`.
        let start = match argument.split_once('=') {
            Some((option, url)) if !option.contains("://") && url.contains("://") => {
                argument.len() - url.len()
            }
            Some(_) | None => 0,
        };
        let in_url = find_in_url(&argument[start..]);
        if !in_url.is_empty() {
            for (name, range) in in_url {
                let range = start + range.start..start + range.end;
                self.add(place.clone(), &name, argument, range);
            }
            return;
        }
        let Some(part) = secrets::find_secret_part(argument, previous) else {
            return;
        };
        let start = part.as_ptr() as usize - argument.as_ptr() as usize;
        let name = match argument[..start].split(['=', ':', ' ']).next() {
            Some(name) if !name.is_empty() => name.to_owned(),
            Some(_) | None => previous
                .filter(|option| option.starts_with('-'))
                .map_or_else(|| format!("argument_{}", index + 1), str::to_owned),
        };
        if !part.is_empty() && !is_ordinary(&name, part) {
            self.add(place, &name, argument, start..start + part.len());
        }
    }
}

/// Returns the secrets in a URL, each with a name: the password or, if it is missing or empty, the
/// user name; the values of parameters whose name or value suggests a secret; and parts of the path
/// that look like a secret.
fn find_in_url(text: &str) -> Vec<(String, Range<usize>)> {
    let Ok(url) = Url::parse(text) else {
        return Vec::new();
    };
    let Some(scheme) = text.find("://").filter(|_| url.has_host()) else {
        return Vec::new();
    };
    let start = scheme + 3;
    let end_of = |from: usize, ends: &[char]| {
        text[from..]
            .find(ends)
            .map_or(text.len(), |length| from + length)
    };
    let authority = start..end_of(start, &['/', '\\', '?', '#']);
    let mut found = Vec::new();
    if let Some(length) = text[authority.clone()].rfind('@') {
        let user_info = start..start + length;
        match text[user_info.clone()].find(':') {
            Some(colon) if colon + 1 == length => found.push(("url_user", start..start + colon)),
            Some(colon) => {
                found.push(("url_password", start + colon + 1..user_info.end));
            }
            None => found.push(("url_user", user_info)),
        }
    }
    let mut found: Vec<(String, Range<usize>)> = found
        .into_iter()
        .map(|(name, range)| (name.to_owned(), range))
        .collect();
    let path = authority.end..end_of(authority.end, &['?', '#']);
    let mut at = path.start;
    for part in text[path.clone()].split('/') {
        if secrets::looks_like_secret(part) {
            found.push(("url_path".to_owned(), at..at + part.len()));
        }
        at += part.len() + 1;
    }
    if text[path.end..].starts_with('?') {
        let query = path.end + 1..end_of(path.end, &['#']);
        let mut at = query.start;
        for pair in text[query].split('&') {
            if let Some((name, value)) = pair.split_once('=')
                && (secrets::is_secret_name(name) || secrets::looks_like_secret(value))
            {
                let begin = at + name.len() + 1;
                found.push((name.to_owned(), begin..begin + value.len()));
            }
            at += pair.len() + 1;
        }
    }
    found.retain(|(name, range)| {
        let value = &text[range.clone()];
        secrets::is_literal(value) && !is_ordinary(name, value)
    });
    found
}

/// Returns whether a value is a switch, a path, a number of tokens, or a placeholder.
fn is_ordinary(name: &str, value: &str) -> bool {
    let is_count = name.to_ascii_lowercase().contains("tokens") && value.parse::<u64>().is_ok();
    is_count || secrets::is_ordinary(value) || secrets::is_placeholder(name, value)
}

/// Returns a name as a part of a secret's name: `--api-key` becomes `api-key`.
pub(crate) fn to_key(name: &str) -> String {
    let key: String = name
        .trim_start_matches('-')
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    if key.is_empty() {
        "value".to_owned()
    } else {
        key
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_model::spec::ServerSpec;
    use serde_json::{Value, json};

    use super::*;

    /// Returns the spec without its literals, and the names and values for the secret store.
    fn moved(spec: &Value) -> (Value, Vec<(String, String)>) {
        let mut spec: ServerSpec = serde_json::from_value(spec.clone()).expect("a spec");
        let moved = move_literals("s", &mut spec, BTreeSet::new());
        (serde_json::to_value(&spec).expect("JSON"), moved)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_value_after_an_option_is_moved_as_a_whole() {
        for value in [
            "c2VjcmV0a2V5MTIzNDU2==",
            "c2VjcmV0a2V5MTIzNDU=",
            "1234567890:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
        ] {
            let (spec, secrets) = moved(&json!({"command": "x", "args": ["--api-key", value]}));
            assert_eq!(spec["args"], json!(["--api-key", "${keyring:s.api-key}"]));
            assert_eq!(secrets, [pair("s.api-key", value)]);
        }
    }

    #[test]
    fn a_literal_gets_no_name_to_which_the_spec_refers_already() {
        let spec = json!({
            "command": "x",
            "env": {"API_KEY": "${keyring:s.API_KEY}"},
            "args": ["-e", "API_KEY=ghp_0123456789abcdef0123"],
        });
        let (spec, secrets) = moved(&spec);
        assert_eq!(spec["env"]["API_KEY"], "${keyring:s.API_KEY}");
        let [(name, value)] = secrets.as_slice() else {
            panic!("{secrets:?}");
        };
        assert_eq!(
            (name.as_str(), value.as_str()),
            ("s.API_KEY_2", "ghp_0123456789abcdef0123")
        );
    }

    #[test]
    fn a_literal_gets_no_name_to_which_something_else_refers() {
        let spec = json!({"command": "x", "env": {"API_KEY": "ghp_0123456789abcdef0123"}});
        let mut spec: ServerSpec = serde_json::from_value(spec).expect("a spec");
        let used = BTreeSet::from(["s.API_KEY".to_owned()]);
        let moved = move_literals("s", &mut spec, used);
        assert_eq!(moved, [pair("s.API_KEY_2", "ghp_0123456789abcdef0123")]);
    }

    #[test]
    fn a_literal_in_a_url_has_an_encoded_and_a_decoded_form() {
        let spec = json!({"url": "https://h.example/mcp?api_key=a%2Fbcdefgh"});
        let spec: ServerSpec = serde_json::from_value(spec).expect("a spec");
        let found = find_literals("s", &spec);
        let forms: Vec<_> = found
            .iter()
            .map(|part| (part.raw(), part.value()))
            .collect();
        assert_eq!(forms, [("a%2Fbcdefgh", "a/bcdefgh")]);
    }

    #[test]
    fn literal_secrets_in_every_form_of_argument_are_moved() {
        let key = "sk-abcdefghijklmnop1234";
        for (argument, expected, name, value) in [
            (
                vec!["--api-key", key],
                vec!["--api-key", "${keyring:s.api-key}"],
                "s.api-key",
                key,
            ),
            (
                vec!["--token=ghp_0123456789abcdef0123"],
                vec!["--token=${keyring:s.token}"],
                "s.token",
                "ghp_0123456789abcdef0123",
            ),
            (
                vec![key],
                vec!["${keyring:s.argument_1}"],
                "s.argument_1",
                key,
            ),
            (
                vec!["-e", "DB_PASSWORD=hunter2"],
                vec!["-e", "DB_PASSWORD=${keyring:s.DB_PASSWORD}"],
                "s.DB_PASSWORD",
                "hunter2",
            ),
            (
                vec!["--header", "Authorization: Bearer abcdef0123456789"],
                vec![
                    "--header",
                    "Authorization: Bearer ${keyring:s.Authorization}",
                ],
                "s.Authorization",
                "abcdef0123456789",
            ),
            (
                vec!["--header", "Authorization: Basic dXNlcjpwYXNzd29yZDE="],
                vec![
                    "--header",
                    "Authorization: Basic ${keyring:s.Authorization}",
                ],
                "s.Authorization",
                "dXNlcjpwYXNzd29yZDE=",
            ),
            (
                vec!["https://sk_live_x:@h.example/"],
                vec!["https://${keyring:s.url_user}:@h.example/"],
                "s.url_user",
                "sk_live_x",
            ),
            (
                vec!["postgres://u:p%40ss@db/app"],
                vec!["postgres://u:${keyring:s.url_password}@db/app"],
                "s.url_password",
                "p%40ss",
            ),
            (
                vec!["--url=https://h/mcp?a=1&api_key=hunter2"],
                vec!["--url=https://h/mcp?a=1&api_key=${keyring:s.api_key}"],
                "s.api_key",
                "hunter2",
            ),
        ] {
            let (spec, secrets) = moved(&json!({"command": "c", "args": argument}));
            assert_eq!(spec["args"], json!(expected), "{argument:?}");
            assert_eq!(secrets, [pair(name, value)], "{argument:?}");
        }
    }

    #[test]
    fn the_secrets_of_a_url_are_moved_and_decoded() {
        let (spec, secrets) = moved(&json!({
            "url": "https://me:p%40ss@h.example/mcp?api_key=a%2Fb&page=2&token=tttt"
        }));
        assert_eq!(
            spec["url"],
            "https://me:${keyring:s.url_password}@h.example/mcp?api_key=${keyring:s.api_key}&page=2&token=${keyring:s.token}"
        );
        assert_eq!(
            secrets,
            [
                pair("s.url_password", "p@ss"),
                pair("s.api_key", "a/b"),
                pair("s.token", "tttt")
            ]
        );
        let (spec, secrets) =
            moved(&json!({"url": "https://0f8fad5bd9cb469fa16570867728950e@h/mcp"}));
        assert_eq!(spec["url"], "https://${keyring:s.url_user}@h/mcp");
        assert_eq!(secrets.len(), 1);
    }

    #[test]
    fn variables_arguments_and_tokens_are_moved_under_different_names() {
        let (spec, secrets) = moved(&json!({
            "command": "c",
            "args": ["--token", "first-token", "--token", "second-token"],
            "env": {"DATABASE_URL": "postgres://u:p@db/app", "MODE": "fast"},
        }));
        assert_eq!(spec["env"]["DATABASE_URL"], "${keyring:s.DATABASE_URL}");
        assert_eq!(spec["env"]["MODE"], "fast");
        assert_eq!(
            secrets,
            [
                pair("s.DATABASE_URL", "postgres://u:p@db/app"),
                pair("s.token", "first-token"),
                pair("s.token_2", "second-token"),
            ]
        );
        let (spec, secrets) = moved(&json!({"url": "https://h/mcp", "bearer_token": "t0ken"}));
        assert_eq!(spec["bearer_token"], "${keyring:s.bearer_token}");
        assert_eq!(secrets, [pair("s.bearer_token", "t0ken")]);
    }

    #[test]
    fn ordinary_values_references_and_placeholders_stay() {
        for spec in [
            json!({"command": "npx", "args": ["-y", "pkg@1.2.3", "--port=3000", "--key", "/home/me/key.pem", "--max-tokens", "4096"]}),
            json!({"command": "c", "args": ["--api-key", "${keyring:s.api-key}"], "env": {"API_KEY": "<YOUR_API_KEY>"}}),
            json!({"url": "https://h.example/mcp?page=2&api_key=${keyring:s.api_key}"}),
            json!({"url": "https://h.example/api/mcp/s/weather"}),
        ] {
            let (after, secrets) = moved(&spec);
            assert_eq!(secrets, [], "{spec}");
            assert_eq!(after, spec);
        }
    }
}
