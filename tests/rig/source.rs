//! The repository's own text, for the tests of its structure: files, code without comments, names
//! in use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{canary::list_files, paths};

/// A file of the repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path from the root, with `/` as separator.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    /// Returns whether the file contains only tests.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let is_below = |folder: &str| self.path.contains(&format!("/{folder}/"));
        name == "tests.rs" || name.contains(".test.") || is_below("tests") || is_below("test")
    }

    /// Returns the module to which the file belongs: the first path component below `folder`,
    /// without its extension.
    pub fn module(&self, folder: &str) -> String {
        let below = self
            .path
            .strip_prefix(folder)
            .unwrap_or(&self.path)
            .trim_start_matches('/');
        let first = below.split('/').next().unwrap_or_default();
        first.split('.').next().unwrap_or_default().to_owned()
    }
}

/// Returns the files below a folder that have one of the extensions, except files in folders of
/// dependencies and build output. Returns an empty list if the folder does not exist.
pub fn list_sources(folder: &str, extensions: &[&str]) -> Vec<SourceFile> {
    let root = paths::repository_root();
    let mut sources: Vec<SourceFile> = list_files(&root.join(folder))
        .into_iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extensions.iter().any(|listed| extension == *listed))
        })
        .filter_map(|path| read(&root, &path))
        .filter(|source| {
            !["node_modules/", "/.venv/", "/dist/", "/gen/"]
                .iter()
                .any(|part| source.path.contains(part))
        })
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// Returns all text files that are tracked, or untracked and not ignored.
#[track_caller]
pub fn list_repository_files() -> Vec<SourceFile> {
    let root = paths::repository_root();
    list_repository_paths()
        .iter()
        .filter_map(|path| read(&root, &root.join(path)))
        .collect()
}

/// Returns the paths of all files that are tracked, or untracked and not ignored.
#[track_caller]
pub fn list_repository_paths() -> Vec<String> {
    let root = paths::repository_root();
    let mut command = Command::new("git");
    command
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(&root);
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("git is needed to list the files: {e}"));
    assert!(
        output.status.success(),
        "git lists the files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    list.split('\0')
        .filter(|path| !path.is_empty() && root.join(path).exists())
        .map(str::to_owned)
        .collect()
}

fn read(root: &Path, path: &PathBuf) -> Option<SourceFile> {
    let text = fs::read_to_string(path).ok()?;
    let path = path
        .strip_prefix(root)
        .ok()?
        .to_string_lossy()
        .replace('\\', "/");
    Some(SourceFile { path, text })
}

/// Returns Rust code without its comments. String literals are kept.
pub fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if first == '"' {
            let end = find_end_of_string(rest);
            code.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            // A character literal may contain a quote.
            let width = if rest.starts_with("'\"'") {
                3
            } else {
                first.len_utf8()
            };
            code.push_str(&rest[..width]);
            rest = &rest[width..];
        }
    }
    code
}

fn find_end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the code up to its unit tests.
pub fn without_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
}

/// Returns whether `name` occurs as a whole word. A name that ends with `::` also matches as the
/// beginning of a path.
pub fn contains_word(code: &str, name: &str) -> bool {
    let is_word_character = |character: char| character.is_alphanumeric() || character == '_';
    let is_path = name.ends_with("::");
    code.match_indices(name).any(|(index, _)| {
        let has_word_before = code[..index]
            .chars()
            .next_back()
            .is_some_and(is_word_character);
        let has_word_after = code[index + name.len()..]
            .chars()
            .next()
            .is_some_and(is_word_character);
        !has_word_before && (is_path || !has_word_after)
    })
}

/// Returns the first components of all paths that begin with `crate::`, for `crate::a::b` and
/// `crate::{a, b::c}` alike.
pub fn used_modules(code: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (index, prefix) in code.match_indices("crate::") {
        let rest = &code[index + prefix.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            modules.extend(first_components(group));
        } else {
            modules.push(first_component(rest));
        }
    }
    modules.retain(|module| !module.is_empty());
    modules.sort();
    modules.dedup();
    modules
}

/// Returns the first component of each entry of a use group, up to its closing brace.
fn first_components(group: &str) -> Vec<String> {
    let mut components = vec![first_component(group.trim_start())];
    let mut depth = 0;
    for (index, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => components.push(first_component(group[index + 1..].trim_start())),
            _ => {}
        }
    }
    components
}

fn first_component(text: &str) -> String {
    text.chars()
        .take_while(|character| character.is_alphanumeric() || *character == '_')
        .collect()
}
