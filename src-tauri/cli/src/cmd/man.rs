//! `drawbridge man`: writes the manual pages, one for each command.

use std::{fs, path::PathBuf};

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
        clap_mangen::generate_to(program, &self.folder).map_err(create_error)?;
        let pages = Pages {
            folder: self.folder.clone(),
            count: fs::read_dir(&self.folder).map_err(create_error)?.count(),
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
