//! The small commands: what is written from the code, and pictures of it.

use std::{fs, path::Path};

use crate::{
    step::{self, Outcome, cargo, root},
    test,
};

/// Writes `ui/src/ipc/bindings.ts`.
pub(crate) fn bindings() -> Outcome {
    let mut command = cargo(&["test", "--package", "drawbridge-hub", "--lib", "the_bindings_of_the_ui"]);
    step::run(command.env("DRAWBRIDGE_WRITE_BINDINGS", "1"))
}

/// Takes the pictures in `docs/screenshots`, as `cargo xtask test` takes them in `test-output`.
pub(crate) fn screenshots() -> Outcome {
    test::test(&["every_screen".to_owned()])?;
    copy(&root().join("test-output/screens"), &root().join("docs/screenshots"))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let because = |e: std::io::Error| format!("copy {} to {}: {e}", from.display(), to.display());
    fs::create_dir_all(to).map_err(because)?;
    for entry in fs::read_dir(from).map_err(because)? {
        let path = entry.map_err(because)?.path();
        if let (Some(name), true) = (path.file_name(), path.extension().is_some_and(|kind| kind == "png")) {
            fs::copy(&path, to.join(name)).map_err(because)?;
        }
    }
    Ok(())
}
