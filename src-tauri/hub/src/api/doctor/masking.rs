//! Masks a spec for a bundle that leaves this computer. If in doubt, a value is masked: the value
//! of a variable is not needed to find out why a server does not start.

use std::collections::BTreeMap;

use drawbridge_client_config::find_secret_part;
use drawbridge_model::{reference::list_references, spec::ServerSpec};
use serde_json::Value;
use url::Url;

pub(super) const MASK: &str = "•••";

/// The minimum length of a value that is masked in the logs. A shorter value is hardly a secret,
/// and masking it wherever it occurs would make the logs unreadable.
const MIN_SECRET_CHARS: usize = 6;

/// The minimum length, in bytes, of a part of a URL's path that may be a key. The part also has to
/// contain a digit. Some services put a key into the path of a server's URL.
const MIN_KEY_BYTES: usize = 16;

/// A spec with possible secrets masked, and the masked values, which have to be masked in the logs
/// too.
pub(super) struct MaskedSpec {
    pub(super) spec: ServerSpec,
    pub(super) secrets: Vec<String>,
}

/// Masks the values of variables and headers, tokens, arguments that look like secrets, possible
/// secrets in URLs, and the members that Drawbridge does not know. References to secrets stay,
/// except in URLs and in unknown members.
pub(super) fn mask_spec(spec: &ServerSpec) -> MaskedSpec {
    let mut found = Secrets::default();
    let masked = ServerSpec {
        args: found.mask_arguments(&spec.args),
        env: found.mask_values(&spec.env),
        headers: found.mask_values(&spec.headers),
        bearer_token: spec
            .bearer_token
            .as_deref()
            .map(|token| found.mask_value(token)),
        oauth: spec.oauth.clone().map(|mut oauth| {
            oauth.client_secret = oauth.client_secret.map(|secret| found.mask_value(&secret));
            oauth
        }),
        url: spec.url.as_deref().map(|url| found.mask_url(url)),
        other: spec
            .other
            .iter()
            .map(|(name, value)| (name.clone(), found.mask_json(value)))
            .collect(),
        ..spec.clone()
    };
    MaskedSpec {
        spec: masked,
        secrets: found.0,
    }
}

/// Masks the user, the password, the values of the parameters, the fragment and possible keys in
/// the path of a URL.
pub(super) fn mask_url(url: &str) -> String {
    Secrets::default().mask_url(url)
}

/// Collects the values that are masked.
#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn add(&mut self, value: &str) {
        let value = value.trim();
        if value.chars().count() >= MIN_SECRET_CHARS {
            self.0.push(value.to_owned());
        }
    }

    fn mask_values(&mut self, values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        values
            .iter()
            .map(|(name, value)| (name.clone(), self.mask_value(value)))
            .collect()
    }

    /// Masks a value, except for its references: `Bearer ${keyring:a.token}` becomes
    /// `•••${keyring:a.token}`.
    fn mask_value(&mut self, value: &str) -> String {
        let references: Vec<&str> = list_references(value).map(|(_, whole)| whole).collect();
        let mut literal = value.to_owned();
        for reference in &references {
            literal = literal.replace(reference, "\n");
        }
        for part in literal.split('\n') {
            self.add(part);
            // A server may log the credentials without the scheme, such as `Bearer`.
            if let Some((_, credentials)) = part.trim().split_once(' ') {
                self.add(credentials);
            }
        }
        let is_reference_alone = literal.trim().is_empty() && !references.is_empty();
        if value.is_empty() || is_reference_alone {
            return value.to_owned();
        }
        format!("{MASK}{}", references.concat())
    }

    fn mask_arguments(&mut self, arguments: &[String]) -> Vec<String> {
        let mut masked = Vec::with_capacity(arguments.len());
        let mut previous: Option<&str> = None;
        for argument in arguments {
            masked.push(if argument.contains("://") {
                self.mask_url(argument)
            } else if let Some(secret) = find_secret_part(argument, previous) {
                self.add(secret);
                argument.replace(secret, MASK)
            } else {
                argument.clone()
            });
            previous = Some(argument);
        }
        masked
    }

    fn mask_url(&mut self, text: &str) -> String {
        // `--url=https://…` is an option with a URL.
        let (option, text) = match text.split_once('=') {
            Some((option, url)) if option.starts_with('-') => (format!("{option}="), url),
            Some(_) | None => (String::new(), text),
        };
        let Ok(url) = Url::parse(text) else {
            self.add(text);
            return format!("{option}{MASK}");
        };
        let mut shown = format!("{option}{}://", url.scheme());
        for secret in [url.username(), url.password().unwrap_or_default()] {
            self.add_url_part(secret);
        }
        if !url.username().is_empty() || url.password().is_some() {
            shown += &format!("{MASK}@");
        }
        shown += url.host_str().unwrap_or_default();
        if let Some(port) = url.port() {
            shown += &format!(":{port}");
        }
        for part in url.path().split('/').skip(1) {
            let may_be_key =
                part.len() >= MIN_KEY_BYTES && part.contains(|c: char| c.is_ascii_digit());
            if may_be_key {
                self.add_url_part(part);
            }
            shown += "/";
            shown += if may_be_key { MASK } else { part };
        }
        if let Some(query) = url.query() {
            self.add(query);
            for (_, value) in url.query_pairs() {
                self.add(&value);
            }
            let names: Vec<_> = url
                .query_pairs()
                .map(|(name, _)| format!("{name}={MASK}"))
                .collect();
            shown += &format!("?{}", names.join("&"));
        }
        if let Some(fragment) = url.fragment() {
            self.add_url_part(fragment);
            shown += &format!("#{MASK}");
        }
        shown
    }

    /// Adds a part of a URL as it is written in the URL, and percent-decoded.
    fn add_url_part(&mut self, part: &str) {
        self.add(part);
        self.add(&percent_encoding::percent_decode_str(part).decode_utf8_lossy());
    }

    fn mask_json(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                self.add(text);
                Value::from(MASK)
            }
            Value::Array(values) => values.iter().map(|value| self.mask_json(value)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.mask_json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Number(number) => {
                self.add(&number.to_string());
                Value::from(MASK)
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}
