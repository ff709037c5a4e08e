//! `drawbridge folders`: manages the shared folders, whose files clients can read.

use std::path::{self, PathBuf};

use clap::Subcommand;
use drawbridge_hub::api::folders::{AddFolder, FolderView, FoldersView, ListFolders, RemoveFolder};

use crate::{context::Context, exit::Failure, table::Table};

#[derive(Subcommand)]
pub(crate) enum Folders {
    /// List the shared folders
    List,
    /// Share a folder, or change how it is shared
    ///
    /// Also enables the server `folders`, unless you have enabled or disabled it before.
    Add {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Also share hidden files, and files whose names suggest that they hold secrets
        #[arg(long)]
        all_files: bool,
    },
    /// Stop sharing a folder
    Remove {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl Folders {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.run_and_print(ListFolders {}, format_folders).await,
            Self::Add { folder, all_files } => {
                let add = AddFolder {
                    path: absolute(folder)?,
                    all_files,
                };
                context.run_and_print(add, format_folders).await
            }
            Self::Remove { folder } => {
                let remove = RemoveFolder {
                    path: absolute(folder)?,
                };
                context.run_and_print(remove, format_folders).await
            }
        }
    }
}

/// Returns the absolute path, because the hub may have another working folder.
fn absolute(folder: PathBuf) -> Result<String, Failure> {
    Ok(path::absolute(folder)?.display().to_string())
}

fn format_folders(view: &FoldersView) -> String {
    let mut table = Table::new(["FOLDER", "FILES", "PROBLEM"]);
    for FolderView {
        path,
        all_files,
        problem,
    } in &view.folders
    {
        let files = if *all_files {
            "all"
        } else {
            "without hidden files and likely secrets"
        };
        table.add_row([path.as_str(), files, problem.as_str()]);
    }
    let mut lines =
        table.format_or("No folder is shared. Share one with `drawbridge folders add DIR`.");
    if !view.enabled && !view.folders.is_empty() {
        lines.push_str(
            "\nThe server `folders` is disabled, so clients see none of these folders. Enable it with `drawbridge servers enable folders`.",
        );
    }
    lines
}
