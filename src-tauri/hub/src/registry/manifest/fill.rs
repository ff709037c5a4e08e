//! Makes a spec from a choice (a package or a remote of a manifest) and a person's values.

use std::collections::BTreeMap;

use drawbridge_model::{
    manifest::{InputFormat, InputKind, ManifestInput},
    reference::begins_reference,
    spec::{ServerSpec, SpecError},
};

use super::choice::{Argument, Choice, Problem};

/// A spec and the secret values, which go to the secret store. The keys of the maps are the names
/// of the environment variables and headers that get the values.
pub struct FilledSpec {
    pub spec: ServerSpec,
    pub secret_env: BTreeMap<String, String>,
    pub secret_headers: BTreeMap<String, String>,
}

/// The reason why no spec can be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("this choice cannot be used: {0}")]
    Problem(#[from] Problem),
    #[error("these inputs have no value: {}", describe_inputs(.0))]
    Missing(Vec<ManifestInput>),
    #[error("there is no input '{name}'; the inputs are: {inputs}")]
    Unknown { name: String, inputs: String },
    #[error("'{name}' must be {rule}")]
    InvalidValue { name: String, rule: String },
    #[error(
        "'{0}' cannot be kept secret, because other programs can read it in the arguments or the URL"
    )]
    ExposedSecret(String),
    #[error("the spec is invalid: {0}")]
    Spec(#[from] SpecError),
}

/// The value of an input.
struct InputValue {
    value: String,
    /// Whether the value goes to the secret store.
    is_secret: bool,
}

/// The values, by the names of their inputs.
type InputValues = BTreeMap<String, InputValue>;

impl Choice {
    /// Makes the spec of a server with this name. `plain` and `secret` have a person's values, by
    /// the names of their inputs. The values in `secret` go to the secret store even if the
    /// manifest does not mark them as secret.
    ///
    /// # Errors
    /// Returns an error if a value is missing, is invalid, has no input, or is secret but would be
    /// readable by others, or if the choice or the resulting spec cannot be used.
    pub fn fill(
        &self,
        name: &str,
        plain: &BTreeMap<String, String>,
        secret: &BTreeMap<String, String>,
    ) -> Result<FilledSpec, FillError> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone().into());
        }
        let values = self.collect_values(plain, secret)?;
        let value = |name: &str| values.get(name).map(|input| input.value.as_str());
        let is_secret = |name: &str| values.get(name).is_some_and(|input| input.is_secret);
        let mut filled = FilledSpec {
            spec: ServerSpec {
                name: name.to_owned(),
                command: self.command.clone(),
                args: self
                    .args
                    .iter()
                    .flat_map(|argument| argument_words(argument, &values))
                    .collect(),
                required_env: self.required_env(),
                lifecycle: self.lifecycle,
                cwd: self.cwd.clone(),
                url: self.url.as_ref().and_then(|url| url.fill(value)),
                transport: self.transport,
                ..ServerSpec::default()
            },
            secret_env: BTreeMap::new(),
            secret_headers: BTreeMap::new(),
        };
        let env = (&self.env, &mut filled.spec.env, &mut filled.secret_env);
        let headers = (
            &self.headers,
            &mut filled.spec.headers,
            &mut filled.secret_headers,
        );
        for (templates, plain, secret) in [env, headers] {
            for (name, template) in templates {
                let members = if template.inputs().any(is_secret) {
                    &mut *secret
                } else {
                    &mut *plain
                };
                members.extend(template.fill(value).map(|value| (name.clone(), value)));
            }
        }
        filled.spec.check()?;
        // Parts of the manifest that are harmless alone can form a reference to a secret when they
        // are joined. Only the person may write such a reference.
        let given = self.given.iter().map(|(_, value)| value);
        let mut entered = plain.values().chain(secret.values()).chain(given);
        let has_reference = filled
            .spec
            .values_with_references()
            .any(|value| begins_reference(value));
        if has_reference && !entered.any(|value| begins_reference(value)) {
            return Err(Problem::SecretReference.into());
        }
        Ok(filled)
    }

    /// Returns the variables without which the server must not start.
    fn required_env(&self) -> Vec<String> {
        let given = self.given.iter().map(|(input, _)| input);
        let required: Vec<&str> = (self.inputs.iter().chain(given))
            .filter(|input| input.required)
            .map(|input| input.name.as_str())
            .collect();
        self.env
            .iter()
            .filter(|(_, template)| template.inputs().any(|input| required.contains(&input)))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Returns the values of all inputs that have a value.
    fn collect_values(
        &self,
        plain: &BTreeMap<String, String>,
        secret: &BTreeMap<String, String>,
    ) -> Result<InputValues, FillError> {
        let is_input = |name: &&String| self.inputs.iter().any(|input| input.name == **name);
        if let Some(name) = plain
            .keys()
            .chain(secret.keys())
            .find(|name| !is_input(name))
        {
            let names: Vec<_> = self
                .inputs
                .iter()
                .map(|input| format!("'{}'", input.name))
                .collect();
            let inputs = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            return Err(FillError::Unknown {
                name: name.clone(),
                inputs,
            });
        }
        let (mut values, mut missing) = (InputValues::new(), Vec::new());
        for (input, value) in &self.given {
            check_value(input, value)?;
            values.insert(
                input.name.clone(),
                InputValue {
                    value: value.clone(),
                    is_secret: input.secret,
                },
            );
        }
        for input in &self.inputs {
            let secret_value = secret.get(&input.name);
            // The default applies only if the person entered no value. An empty value counts as
            // entered: the input then has no value.
            let value = secret_value
                .or_else(|| plain.get(&input.name))
                .or(input.default.as_ref());
            match value.filter(|value| !value.trim().is_empty()) {
                None if input.required => missing.push(input.clone()),
                None => {}
                Some(value) => {
                    check_value(input, value)?;
                    let is_exposed = matches!(input.kind, InputKind::Argument | InputKind::Url);
                    if secret_value.is_some() && is_exposed {
                        return Err(FillError::ExposedSecret(input.name.clone()));
                    }
                    values.insert(
                        input.name.clone(),
                        InputValue {
                            value: value.clone(),
                            is_secret: input.secret || secret_value.is_some(),
                        },
                    );
                }
            }
        }
        if missing.is_empty() {
            Ok(values)
        } else {
            Err(FillError::Missing(missing))
        }
    }
}

fn argument_words(argument: &Argument, values: &InputValues) -> Vec<String> {
    let value = |name: &str| values.get(name).map(|input| input.value.as_str());
    match argument {
        Argument::Words(words) => words
            .iter()
            .map(|word| word.fill(value))
            .collect::<Option<_>>()
            .unwrap_or_default(),
        Argument::Switch(flag, input) => (value(input) == Some("true"))
            .then(|| flag.clone())
            .into_iter()
            .collect(),
        Argument::Repeated(words) => {
            let inputs = || words.iter().flat_map(|word| word.inputs());
            let repetitions = inputs()
                .map(|input| lines(value(input)).count())
                .max()
                .unwrap_or(1);
            // If a value has fewer lines than the others, its last line is repeated.
            let line = |input: &str, index: usize| lines(value(input)).take(index + 1).last();
            let fill_words = |index| {
                words
                    .iter()
                    .map(|word| word.fill(|input| line(input, index)))
                    .collect::<Option<Vec<_>>>()
            };
            (0..repetitions).filter_map(fill_words).flatten().collect()
        }
    }
}

fn lines(value: Option<&str>) -> impl Iterator<Item = &str> {
    value
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

fn check_value(input: &ManifestInput, value: &str) -> Result<(), FillError> {
    let invalid = |rule: String| {
        Err(FillError::InvalidValue {
            name: input.name.clone(),
            rule,
        })
    };
    let values: Vec<&str> = if input.repeated {
        lines(Some(value)).collect()
    } else {
        vec![value]
    };
    if !input.choices.is_empty()
        && !values
            .iter()
            .all(|value| input.choices.iter().any(|choice| choice == value))
    {
        return invalid(format!("one of {}", input.choices.join(", ")));
    }
    match input.format {
        InputFormat::Number if !values.iter().all(|value| value.parse::<f64>().is_ok()) => {
            invalid("a number".into())
        }
        InputFormat::Boolean
            if !values
                .iter()
                .all(|value| matches!(*value, "true" | "false")) =>
        {
            invalid("true or false".into())
        }
        InputFormat::Text | InputFormat::Number | InputFormat::Boolean | InputFormat::Path => {
            Ok(())
        }
    }
}

fn describe_inputs(inputs: &[ManifestInput]) -> String {
    let describe = |input: &ManifestInput| {
        if input.description.is_empty() {
            input.name.clone()
        } else {
            format!("{} ({})", input.name, input.description)
        }
    };
    inputs.iter().map(describe).collect::<Vec<_>>().join("; ")
}
