//! The differences between the accepted spec of a server and the offered spec, which is in the
//! server's file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentDefence;

use super::{DefinitionPolicy, Isolation, Lifecycle, ServerSpec, Validate, Visibility};

/// A field of a spec that differs from the accepted spec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct SpecChange {
    /// A JSON pointer into the file, such as `/args` or `/env/TOKEN`.
    pub field: String,
    /// The accepted value; null if the field was not set.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub accepted: Option<Value>,
    /// The offered value; null if the field is not set.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub offered: Option<Value>,
}

/// Returns whether a person has to accept `offered`, although it has the same identity as
/// `accepted`. Without a person, a change of the file must not let the server do more than before.
pub fn needs_acceptance(accepted: &ServerSpec, offered: &ServerSpec) -> bool {
    // Each field is named, so that a new field does not compile until it has a place here.
    let ServerSpec {
        // Part of the identity.
        command: _,
        args: _,
        env: _,
        cwd: _,
        url: _,
        headers: _,
        bearer_token: _,
        oauth: _,
        transport: _,
        sandbox: _,
        builtin: _,
        // How long Drawbridge waits, how often it tries and how it speaks to the server. These
        // fields let the server do nothing that it could not do before.
        protocol_version: _,
        timeouts: _,
        retries: _,
        cache_ttl_ms: _,
        // The variables that the server needs to start.
        required_env: _,
        // Members that have no effect.
        other: _,
        // The names that people and clients see, and the runtime that the spec claims.
        name,
        prefix,
        runtime_hint,
        // Whether the accepted program may be replaced.
        program_changes,
        // Fields that a change of the file may restrict without a person.
        enabled,
        lifecycle,
        isolation,
        visibility,
        definitions,
        validate,
        content_defence,
        allowed_tools,
        fallback,
        cache_results_ms,
    } = offered;
    *name != accepted.name
        || *prefix != accepted.prefix
        || *runtime_hint != accepted.runtime_hint
        || *program_changes != accepted.program_changes
        || *enabled && !accepted.enabled
        || lifecycle_rank(*lifecycle) > lifecycle_rank(accepted.lifecycle)
        || isolation_rank(*isolation) > isolation_rank(accepted.isolation)
        || visibility_rank(*visibility) > visibility_rank(accepted.visibility)
        || definitions_rank(*definitions) > definitions_rank(accepted.definitions)
        || validate_rank(*validate) > validate_rank(accepted.validate)
        || content_defence_rank(*content_defence) > content_defence_rank(accepted.content_defence)
        || allows_more(accepted.allowed_tools.as_ref(), allowed_tools.as_ref())
        || !is_subsequence(fallback, &accepted.fallback)
        || *cache_results_ms > accepted.cache_results_ms
}

/// Returns the fields in which two specs differ, sorted by their JSON pointers.
pub fn list_changes(accepted: &ServerSpec, offered: &ServerSpec) -> Vec<SpecChange> {
    let (accepted, offered) = (fields(accepted), fields(offered));
    let mut names: Vec<_> = accepted.keys().chain(offered.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|name| accepted.get(*name) != offered.get(*name))
        .map(|name| SpecChange {
            field: name.clone(),
            accepted: accepted.get(name).cloned(),
            offered: offered.get(name).cloned(),
        })
        .collect()
}

/// Returns the fields as Drawbridge writes them to a file (without those that have their default
/// values), by their JSON pointers. The members of an object are fields of their own.
fn fields(spec: &ServerSpec) -> serde_json::Map<String, Value> {
    let Ok(Value::Object(members)) = serde_json::to_value(spec) else {
        unreachable!("a spec is written as a JSON object")
    };
    let mut fields = serde_json::Map::new();
    for (name, value) in members {
        if let Value::Object(inner) = value {
            fields.extend(inner.into_iter().map(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("/{name}/{key}"), value)
            }));
        } else {
            fields.insert(format!("/{name}"), value);
        }
    }
    fields
}

/// Returns a higher number for a lifecycle that allows more: clients share more state if a process
/// outlives a call.
fn lifecycle_rank(lifecycle: Lifecycle) -> u8 {
    match lifecycle {
        Lifecycle::Transient => 0,
        Lifecycle::Singleton => 1,
    }
}

fn isolation_rank(isolation: Isolation) -> u8 {
    match isolation {
        Isolation::PerClient => 0,
        Isolation::Shared => 1,
    }
}

fn visibility_rank(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Deferred => 0,
        Visibility::Visible => 1,
    }
}

fn definitions_rank(definitions: DefinitionPolicy) -> u8 {
    match definitions {
        DefinitionPolicy::Ask => 0,
        DefinitionPolicy::Keep => 1,
        DefinitionPolicy::Trust => 2,
    }
}

fn validate_rank(validate: Validate) -> u8 {
    match validate {
        Validate::Strict => 0,
        Validate::Coercible => 1,
        Validate::Off => 2,
    }
}

fn content_defence_rank(defence: ContentDefence) -> u8 {
    match defence {
        ContentDefence::Ask => 0,
        ContentDefence::Mark => 1,
        ContentDefence::Off => 2,
    }
}

/// Returns whether `offered` has a tool that `accepted` does not have. `None` stands for all tools.
fn allows_more(accepted: Option<&Vec<String>>, offered: Option<&Vec<String>>) -> bool {
    match (accepted, offered) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(accepted), Some(offered)) => offered.iter().any(|tool| !accepted.contains(tool)),
    }
}

/// Returns whether `part` is `whole` with some items left out.
fn is_subsequence<T: PartialEq>(part: &[T], whole: &[T]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|item| rest.any(|other| other == item))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: Value) -> ServerSpec {
        let mut members = json!({"command": "x"});
        let object = members.as_object_mut().expect("an object");
        object.extend(value.as_object().expect("an object").clone());
        serde_json::from_value(members).expect("a spec")
    }

    #[test]
    fn a_file_may_narrow_a_server_but_not_widen_it() {
        let pairs = [
            (json!({"allowed_tools": ["a"]}), json!({})),
            (
                json!({"allowed_tools": []}),
                json!({"allowed_tools": ["a"]}),
            ),
            (json!({"enabled": false}), json!({})),
            (json!({}), json!({"fallback": ["b"]})),
            (
                json!({"definitions": "ask"}),
                json!({"definitions": "keep"}),
            ),
            (json!({"isolation": "per_client"}), json!({})),
            (json!({"lifecycle": "transient"}), json!({})),
            (json!({"visibility": "deferred"}), json!({})),
            (json!({"validate": "strict"}), json!({})),
            (json!({}), json!({"validate": "off"})),
            (json!({"content_defence": "mark"}), json!({})),
            (
                json!({"content_defence": "ask"}),
                json!({"content_defence": "mark"}),
            ),
            (json!({}), json!({"cache_results_ms": 1})),
        ];
        for (narrow, wide) in pairs {
            let (narrow, wide) = (spec(narrow), spec(wide));
            assert!(needs_acceptance(&narrow, &wide), "{narrow:?} {wide:?}");
            assert!(!needs_acceptance(&wide, &narrow), "{narrow:?} {wide:?}");
        }
    }

    #[test]
    fn some_changes_need_acceptance_in_both_directions() {
        let pairs = [
            (json!({"name": "a"}), json!({"name": "b"})),
            (json!({}), json!({"prefix": ""})),
            (json!({}), json!({"runtime_hint": "npx"})),
            (json!({}), json!({"program_changes": true})),
            (
                json!({"fallback": ["a", "b"]}),
                json!({"fallback": ["b", "a"]}),
            ),
        ];
        for (first, second) in pairs {
            let (first, second) = (spec(first), spec(second));
            assert!(needs_acceptance(&first, &second), "{first:?} {second:?}");
            assert!(needs_acceptance(&second, &first), "{first:?} {second:?}");
        }
    }

    #[test]
    fn timeouts_and_unknown_members_do_not_need_acceptance() {
        let accepted = spec(json!({}));
        let offered = spec(json!({
            "timeouts": {"call_ms": 1}, "retries": 9, "cache_ttl_ms": 1, "note": "mine",
            "protocol_version": "2025-06-18"
        }));
        assert!(!needs_acceptance(&accepted, &offered));
    }

    #[test]
    fn changes_are_listed_field_by_field() {
        let accepted = spec(json!({"args": ["a"], "env": {"A": "1", "B": "2"}}));
        let offered = spec(json!({"args": ["b"], "env": {"A": "1", "C": "3"}}));
        let changes: Vec<_> = list_changes(&accepted, &offered)
            .into_iter()
            .map(|change| (change.field, change.accepted, change.offered))
            .collect();
        let expected = [
            ("/args".to_owned(), Some(json!(["a"])), Some(json!(["b"]))),
            ("/env/B".to_owned(), Some(json!("2")), None),
            ("/env/C".to_owned(), None, Some(json!("3"))),
        ];
        assert_eq!(changes, expected);
    }
}
