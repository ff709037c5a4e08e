//! `drawbridge roots`: manages the folders that servers get as roots if a client has none.

use clap::Subcommand;
use drawbridge_hub::api::settings::{ChangeSettings, ShowSettings};

use crate::{context::Context, exit::Failure, output, text::escape};

#[derive(Subcommand)]
pub(crate) enum Roots {
    /// List the folders
    List,
    /// Add folders
    Add {
        /// The folders, as paths or file:// URLs
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<String>,
    },
    /// Remove folders
    Remove {
        /// The folders, as shown by `roots list`, or as paths
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<String>,
    },
}

impl Roots {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let current = context.run(ShowSettings {}).await?.roots;
        let roots = match self {
            Self::List => current,
            Self::Add { folders } => {
                let added = folders.iter().map(|folder| to_absolute(folder));
                save_roots(context, current.into_iter().chain(added).collect()).await?
            }
            Self::Remove { folders } => {
                let removed: Vec<String> = folders.iter().map(|folder| to_url(folder)).collect();
                if let Some(unknown) = removed.iter().find(|url| !current.contains(url)) {
                    return Err(Failure::UnknownRoot {
                        folder: unknown.clone(),
                    });
                }
                let remaining = current.into_iter().filter(|root| !removed.contains(root));
                save_roots(context, remaining.collect()).await?
            }
        };
        output::print_answer(context.json, &roots, |roots| match roots.as_slice() {
            [] => {
                "No roots. Servers get a folder only if the client has roots or a project folder."
                    .into()
            }
            roots => roots
                .iter()
                .map(|root| escape(root))
                .collect::<Vec<_>>()
                .join("\n"),
        })
    }
}

async fn save_roots(context: &Context, roots: Vec<String>) -> Result<Vec<String>, Failure> {
    let change = ChangeSettings {
        roots: Some(roots),
        ..ChangeSettings::default()
    };
    Ok(context.run(change).await?.roots)
}

/// Makes a path absolute, because the hub may have another working folder. Returns a `file://` URL
/// unchanged.
fn to_absolute(folder: &str) -> String {
    if folder.starts_with("file://") {
        return folder.to_owned();
    }
    std::path::absolute(folder).map_or_else(
        |_| folder.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// Returns the `file://` URL of a folder. The folder need not exist.
fn to_url(folder: &str) -> String {
    let absolute = to_absolute(folder);
    url::Url::from_file_path(&absolute).map_or(absolute, |url| url.to_string())
}
