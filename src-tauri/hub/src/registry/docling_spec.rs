//! The spec of the server `docling`. While the Docling tools are enabled, Drawbridge adds the
//! server and keeps the version of its package up to date.
//!
//! The command comes from the preset, so each version of Drawbridge pins one version of the
//! package. If the user has not changed the command, Drawbridge raises the version, and enables or
//! disables the server when a person enables or disables the Docling tools. Everything else in the
//! spec file belongs to the user.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use drawbridge_model::{ids::ServerId, spec::ServerSpec};

use super::presets;

/// The id of the server, and of its preset.
const ID: &str = "docling";
/// The argument that names the package, without the version at its end.
const PACKAGE: &str = "docling-mcp[local]==";
const SERVER_PROGRAM: &str = "docling-mcp-server";
const TOOLS_PROGRAM: &str = "docling-tools";
/// The variable with the folder of Docling's models.
const MODELS_VARIABLE: &str = "DOCLING_ARTIFACTS_PATH";
const MODE_VARIABLE: &str = "DOCLING_MCP_CONVERSION_MODE";
/// The tools that may take as long as the conversion of a large document.
const LONG_TOOLS: [&str; 2] = [
    "convert_document_into_docling_document",
    "convert_directory_files_into_docling_document",
];
const LONG_TOOL_MS: u32 = 1_800_000;

pub fn id() -> ServerId {
    ServerId::new(ID)
}

/// Returns the spec with which Drawbridge adds the server, with the folder of Docling's models.
pub fn new_spec(models: &Path) -> ServerSpec {
    let preset = presets::get(ID).expect("there is a preset for docling");
    let none = BTreeMap::new();
    let filled = preset.choice.fill(ID, &none, &none);
    let mut spec = filled.expect("the preset needs no values").spec;
    let models = models.to_string_lossy().into_owned();
    spec.env.insert(MODELS_VARIABLE.into(), models);
    let tools = LONG_TOOLS.map(|tool| (tool.to_owned(), LONG_TOOL_MS));
    spec.timeouts.tools.extend(tools);
    spec.timeouts.total_ms = LONG_TOOL_MS;
    spec
}

/// Returns whether Drawbridge wrote the command, with any version of the package.
pub fn is_own_command(spec: &ServerSpec) -> bool {
    package_version(spec).is_some()
}

/// Returns the spec with the version of the package that this version of Drawbridge pins. Returns
/// `None` if the spec has that version or a later version, or if a person changed the command.
pub fn raise_version(spec: &ServerSpec) -> Option<ServerSpec> {
    let pinned = new_spec(Path::new(""));
    let (current, latest) = (package_version(spec)?, package_version(&pinned)?);
    (current < latest).then(|| ServerSpec {
        args: pinned.args,
        ..spec.clone()
    })
}

/// Returns the version of the package. Returns `None` if the version does not consist of numbers,
/// or if the rest of the command differs from Drawbridge's own.
fn package_version(spec: &ServerSpec) -> Option<Vec<u32>> {
    let pinned = new_spec(Path::new(""));
    if spec.command != pinned.command || spec.args.len() != pinned.args.len() {
        return None;
    }
    let mut version = None;
    for (arg, pinned) in spec.args.iter().zip(&pinned.args) {
        match arg.strip_prefix(PACKAGE) {
            Some(text) if pinned.starts_with(PACKAGE) => {
                version = text.split('.').map(|part| part.parse().ok()).collect();
            }
            Some(_) | None if arg != pinned => return None,
            Some(_) | None => {}
        }
    }
    version
}

/// Returns the program and the arguments that start `docling-tools` of the same package, or `None`
/// if the command does not show where `docling-tools` is.
pub fn tools_command(spec: &ServerSpec) -> Option<(String, Vec<String>)> {
    let command = spec.command.as_deref()?;
    if let Some(at) = spec.args.iter().position(|arg| arg == SERVER_PROGRAM) {
        let mut args = spec.args[..at].to_vec();
        args.push(TOOLS_PROGRAM.into());
        return Some((command.to_owned(), args));
    }
    let program = Path::new(command);
    (program.file_stem()? == SERVER_PROGRAM).then(|| {
        let sibling = program.with_file_name(TOOLS_PROGRAM);
        (sibling.to_string_lossy().into_owned(), Vec::new())
    })
}

/// Returns whether documents are converted on this computer, and not by a Docling Serve instance.
pub fn is_local(spec: &ServerSpec) -> bool {
    spec.env
        .get(MODE_VARIABLE)
        .is_some_and(|mode| mode.eq_ignore_ascii_case("local"))
}

/// Returns the folder in which Docling looks for its models, if the spec names one.
pub fn models_folder(spec: &ServerSpec) -> Option<PathBuf> {
    spec.env.get(MODELS_VARIABLE).map(PathBuf::from)
}

#[cfg(test)]
mod tests;
