//! Properties of conditions that hold for any rule and any arguments.

use std::path::Path;

use drawbridge_jsonrpc::json;
use drawbridge_model::policy::Condition;
use serde_json::value::RawValue;

use super::{
    Conditions, Folders, MatchMode, canonical_text,
    paths::{Folder, normalize},
};

const FOLDERS: Folders<'static> = Folders {
    cwd: None,
    project: None,
};

/// Checks that conditions that hold with [`MatchMode::Must`] also hold with [`MatchMode::May`], and
/// that the spelling of the arguments makes no difference.
pub(crate) fn spellings_of_arguments_match_alike(conditions: &str, arguments: &str) {
    let Ok(conditions) = serde_json::from_str::<Vec<Condition>>(conditions) else {
        return;
    };
    let Ok(compiled) = Conditions::compile(&conditions) else {
        return;
    };
    if json::depth_exceeds(arguments.as_bytes(), json::MAX_DEPTH) {
        return;
    }
    let Ok(arguments) = RawValue::from_string(arguments.to_owned()) else {
        return;
    };
    let other = RawValue::from_string(respell(arguments.get())).expect("JSON in another spelling");
    assert_eq!(
        canonical_text(&arguments),
        canonical_text(&other),
        "{arguments} and {other}"
    );
    let folders = Folders {
        cwd: Some(Path::new("/tmp")),
        project: Some(Path::new("/tmp/project")),
    };
    for folders in [FOLDERS, folders] {
        let holds = |arguments, mode| compiled.all_hold(arguments, folders, mode);
        let must = holds(&arguments, MatchMode::Must);
        let may = holds(&arguments, MatchMode::May);
        assert!(may || !must, "{conditions:?} and {arguments}");
        assert_eq!(holds(&other, MatchMode::Must), must, "{arguments}: {other}");
        assert_eq!(holds(&other, MatchMode::May), may, "{arguments}: {other}");
    }
}

/// Checks that [`Folder::may_contain`] holds for each path for which [`Folder::must_contain`]
/// holds. If the path is a URL, it must also be inside the folder for a server that decodes
/// nothing. Also checks that [`normalize`] removes each `..`, and does not change its own result.
pub(crate) fn a_path_that_must_be_inside_may_be_inside(folder: &str, path: &str) {
    let plain = normalize(Path::new(path));
    assert_eq!(normalize(&plain), plain, "{path:?}");
    assert!(
        !plain.components().any(|part| part.as_os_str() == ".."),
        "{path:?} became {plain:?}"
    );
    let Ok(folder) = Folder::new(folder) else {
        return;
    };
    let folders = Folders {
        cwd: Some(Path::new("/tmp")),
        project: Some(Path::new("/tmp/project")),
    };
    for folders in [FOLDERS, folders] {
        let must = folder.must_contain(path, folders);
        assert!(
            !must || folder.may_contain(path, folders),
            "{folder:?} and {path:?}"
        );
        // A server may also use the text after `file://` without decoding it.
        if must && let Some(plain) = path.strip_prefix("file://") {
            assert!(
                folder.must_contain(plain, folders) || plain.starts_with("localhost/"),
                "{folder:?} and {path:?}"
            );
        }
    }
}

/// Returns the same JSON with other spaces, and with letters in strings written as escapes.
fn respell(text: &str) -> String {
    let (mut out, mut is_string, mut is_escaped) = (String::new(), false, false);
    for c in text.chars() {
        if !is_string {
            is_string = c == '"';
            match c {
                ',' | ':' | '[' | '{' => out.extend([c, ' ', '\n']),
                _ => out.push(c),
            }
        } else if is_escaped {
            is_escaped = false;
            out.push(c);
        } else if c.is_ascii_lowercase() && !out.ends_with('u') && !is_in_escape(&out) {
            out.push_str(&format!("\\u{:04X}", u32::from(c)));
        } else {
            is_escaped = c == '\\';
            is_string = c != '"';
            out.push(c);
        }
    }
    out
}

/// Returns whether a text ends within a `\u` escape.
fn is_in_escape(text: &str) -> bool {
    let Some(at) = text.rfind("\\u") else {
        return false;
    };
    let backslashes = text[..=at].chars().rev().take_while(|c| *c == '\\').count();
    backslashes % 2 == 1 && text.len() - at < 6
}
