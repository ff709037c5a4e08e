//! `drawbridge man`: writes the manual pages, one for the program and one for each of its commands.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Command};
use serde::Serialize;

use crate::{context::Context, exit::Failure, output::print_answer, text::escape};

#[derive(Args)]
pub(crate) struct Man {
    /// The folder for the pages, which is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The pages that were written.
#[derive(Serialize)]
struct Pages {
    folder: PathBuf,
    count: usize,
}

impl Man {
    /// Writes the pages of `program`.
    pub(crate) fn run(&self, context: &Context, program: Command) -> Result<(), Failure> {
        let create_error = |source| Failure::CreateFile {
            file: self.folder.clone(),
            source,
        };
        fs::create_dir_all(&self.folder).map_err(create_error)?;
        let pages = Pages {
            folder: self.folder.clone(),
            count: write_pages(program, &self.folder).map_err(create_error)?,
        };
        print_answer(context.json, &pages, |pages| {
            format!(
                "{} manual pages are in {}.",
                pages.count,
                escape(&pages.folder.to_string_lossy())
            )
        })
    }
}

/// Writes a page for the program and for each of its commands that is not hidden, and returns the
/// number of pages.
fn write_pages(program: Command, folder: &Path) -> io::Result<usize> {
    let count = count_pages(&program);
    clap_mangen::generate_to(program, folder)?;
    Ok(count)
}

fn count_pages(command: &Command) -> usize {
    let shown = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    1 + shown.map(count_pages).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_pages_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("other.1"), "").expect("a file of another program");
        let program = Command::new("drawbridge")
            .subcommand(Command::new("servers").subcommand(Command::new("add")))
            .subcommand(Command::new("internal").hide(true));
        let count = write_pages(program, folder.path()).expect("pages");
        assert_eq!(count, 3);
        assert!(folder.path().join("drawbridge-servers-add.1").exists());
        assert!(!folder.path().join("drawbridge-internal.1").exists());
    }
}
