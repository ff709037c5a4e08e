//! The fuzz targets, and the inputs that are kept for each.
//!
//! A target checks properties that hold for any input. The modules `properties` of the product
//! define them, and the module `fuzzing` of each crate exports them. `cargo xtask fuzz` runs a
//! target with libFuzzer; the test of this crate runs every target once with each kept input.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use arbitrary_json::{Choices, split_bytes};
use drawbridge_client_config::fuzzing as client_config;
use drawbridge_hub::fuzzing as hub;
use drawbridge_jsonrpc::fuzzing as jsonrpc;
use drawbridge_model::fuzzing as model;
use drawbridge_store::fuzzing as store;
use drawbridge_upstream::fuzzing as upstream;

/// A function that checks one input, and panics if a property does not hold.
pub type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("client_file", client_file),
    ("client_message", client_message),
    ("content", content),
    ("display", display),
    ("import", import),
    ("manifest", manifest),
    ("path", path),
    ("raw_object", raw_object),
    ("redactor", redactor),
    ("registry_page", registry_page),
    ("rule", rule),
    ("schema", schema),
    ("server_events", server_events),
    ("server_message", server_message),
    ("spec", spec),
    ("sse_opening", sse_opening),
    ("stdio_lines", stdio_lines),
];

/// A client's configuration file. The first byte chooses the format and the change.
fn client_file(input: &[u8]) {
    if let Some((choice, text)) = input.split_first() {
        client_config::edit(*choice, &String::from_utf8_lossy(text));
    }
}

/// A client's message: the input itself, and JSON generated from it.
fn client_message(input: &[u8]) {
    jsonrpc::client_message(input);
    jsonrpc::client_message(Choices::new(input).message().as_bytes());
}

/// JSON of a server with texts that a model reads: the input itself, JSON generated from it, and
/// the input as the text of a tool's result.
fn content(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    hub::content(&text);
    let mut choices = Choices::new(input);
    hub::content(&choices.value());
    let text = serde_json::Value::from(text);
    hub::content(&format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{}}}"#,
        choices.value()
    ));
}

/// Foreign text, as terminals and notifications show it.
fn display(input: &[u8]) {
    model::escaped_text(&String::from_utf8_lossy(input));
    model::escaped_json(&Choices::new(input).value());
}

/// Text that a person pastes to add servers.
fn import(input: &[u8]) {
    client_config::import(&String::from_utf8_lossy(input));
}

/// A manifest of a server.
fn manifest(input: &[u8]) {
    hub::manifest(&String::from_utf8_lossy(input));
}

/// A folder of a rule, and the path in a call: the first line, and the rest.
fn path(input: &[u8]) {
    let (folder, path) = split_line(input);
    hub::path(&folder, &path);
}

/// A JSON object: the input itself, and an object generated from it.
fn raw_object(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        jsonrpc::object(text);
    }
    let mut choices = Choices::new(input);
    let members = choices.members();
    jsonrpc::object(&choices.object(&members));
}

/// JSON or other text, from which a secret is removed.
fn redactor(input: &[u8]) {
    store::redactor(&String::from_utf8_lossy(input));
    store::redactor(&Choices::new(input).value());
}

/// An answer of the official registry: the input itself, and a page with generated entries.
fn registry_page(input: &[u8]) {
    hub::registry_page(input);
    let value = Choices::new(input).value();
    let server = format!(r#"{{"name":"a/b","remotes":{value},"packages":{value}}}"#);
    let page = format!(r#"{{"servers":[{{"server":{server},"_meta":{value}}},{value}]}}"#);
    hub::registry_page(page.as_bytes());
}

/// The conditions of a rule, and the arguments of a call: the first line, and the rest.
fn rule(input: &[u8]) {
    let (conditions, arguments) = split_line(input);
    hub::rule(&conditions, &arguments);
    hub::rule(&conditions, &Choices::new(arguments.as_bytes()).value());
}

/// The schema of a tool, and the arguments of a call: the first line, and the rest.
fn schema(input: &[u8]) {
    let (schema, arguments) = split_line(input);
    hub::schema(&schema, &arguments);
}

/// The body of a stream of events. The first four bytes set the sizes of its pieces, as in
/// [`stdio_lines`].
fn server_events(input: &[u8]) {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    jsonrpc::events(&split_bytes(bytes, sizes));
}

/// A server's message: the input itself, and JSON generated from it.
fn server_message(input: &[u8]) {
    jsonrpc::server_message(input);
    jsonrpc::server_message(Choices::new(input).message().as_bytes());
}

/// Two specs of servers, one in each line.
fn spec(input: &[u8]) {
    let (first, second) = split_line(input);
    model::specs(&first, &second);
}

/// The beginning of a stream on which a server names its endpoint. The first four bytes set the
/// sizes of its pieces, as in [`stdio_lines`].
fn sse_opening(input: &[u8]) {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    upstream::opening(&split_bytes(bytes, sizes));
}

/// A server's stdout. The first four bytes of the input, each plus 1, are the sizes of the pieces
/// into which the rest is split; the sizes repeat.
fn stdio_lines(input: &[u8]) {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    upstream::lines(&split_bytes(bytes, sizes));
}

/// Splits the input at its first line break.
fn split_line(input: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(input);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    (first.to_owned(), rest.to_owned())
}

/// Returns the path of the file with the kept inputs of a target: one input in each line, in hex.
pub fn corpus_file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(format!("{target}.hex"))
}

/// Reads the kept inputs of a target. A target without a file has none.
///
/// # Errors
/// Returns an error if the file cannot be read, or if a line is not in hex.
pub fn read_corpus(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let text = match fs::read_to_string(corpus_file(target)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    text.lines()
        .map(|line| hex::decode(line).map_err(io::Error::other))
        .collect()
}

/// Replaces the kept inputs of a target, and sorts them, so that a diff shows the added inputs.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_corpus(target: &str, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let lines: String = inputs
        .iter()
        .map(|input| format!("{}\n", hex::encode(input)))
        .collect();
    fs::write(corpus_file(target), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_accepts_its_kept_inputs() {
        for (name, target) in TARGETS {
            let inputs = read_corpus(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(inputs.len() > 3, "{name} has {} kept inputs", inputs.len());
            target(&[]);
            for input in &inputs {
                target(input);
            }
        }
    }

    #[test]
    fn the_targets_are_sorted_and_each_kept_file_belongs_to_a_target() {
        let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for entry in fs::read_dir(folder).expect("read the corpus") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|stem| stem.to_str());
            assert!(
                name.is_some_and(|name| names.contains(&name)),
                "{} belongs to no target",
                path.display()
            );
        }
    }
}
