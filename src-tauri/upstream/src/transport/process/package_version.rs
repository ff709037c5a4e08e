//! Finds the version of a package, or the digest of an image, that the next start would use without
//! a download.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use drawbridge_model::{
    reference::has_reference,
    spec::{
        ServerSpec,
        package::{Package, PackageKind},
    },
};
use serde::Deserialize;
use tokio::fs;

use super::{
    environment, find_program, home_dir,
    runtime::{self, ProgramError},
};

/// Why the version of a package is not known.
#[derive(Debug, thiserror::Error)]
pub enum PackageVersionError {
    #[error("Drawbridge does not know where {program} keeps its packages")]
    UnknownProgram { program: String },
    #[error("it is the address of a repository or a file")]
    Address,
    #[error("'{program}' was not found on the server's PATH")]
    ProgramNotFound { program: String },
    #[error("'{program}' cannot be asked. {source}")]
    Failed {
        program: String,
        #[source]
        source: ProgramError,
    },
    #[error("{program} has not downloaded it yet. Start the server once, then try again")]
    NotDownloaded { program: String },
    #[error("the image was built on this computer, and no registry gave it a digest")]
    NoDigest,
}

/// Runs programs in the environment and the folder of a server.
struct Runner {
    env: BTreeMap<String, String>,
    folder: PathBuf,
}

/// The members of a `package.json` that matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PackageJson {
    version: Option<String>,
    dependencies: BTreeMap<String, String>,
    #[serde(rename = "_npx")]
    npx: Option<NpxMember>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NpxMember {
    packages: Vec<String>,
}

/// Returns the version of a package, or the digest of an image, that the next start of the server
/// would use without a download.
///
/// # Errors
/// Returns an error if the package was never downloaded, or if its version cannot be found.
pub async fn find_version(
    spec: &ServerSpec,
    package: &Package<'_>,
) -> Result<String, PackageVersionError> {
    if package.with_version("").is_none() {
        return Err(PackageVersionError::Address);
    }
    // Variables with secrets are left out: no program that runs here needs a secret.
    let mut env = spec.env.clone();
    env.retain(|_, value| !has_reference(value));
    let mut env = environment::build_environment(&env, "").await;
    env.remove(environment::RUN_ID_VARIABLE);
    let folder = spec.cwd.as_ref().map(PathBuf::from).or_else(home_dir);
    let runner = Runner {
        env,
        folder: folder.unwrap_or_else(|| PathBuf::from(".")),
    };
    match package.kind {
        PackageKind::Npx => runner.find_npm_version(package).await,
        PackageKind::Uv => runner.find_uv_version(package).await,
        PackageKind::Image => runner.find_digest(package).await,
        PackageKind::OtherNpm | PackageKind::OtherPython => {
            Err(PackageVersionError::UnknownProgram {
                program: package.program.to_owned(),
            })
        }
    }
}

impl Runner {
    /// Runs a command, and returns its output without the white space at both ends.
    async fn run(&self, program: &str, args: &[&str]) -> Result<String, PackageVersionError> {
        let path = &self.env["PATH"];
        let Some(file) = find_program(program, path, &self.folder) else {
            let program = program.to_owned();
            return Err(PackageVersionError::ProgramNotFound { program });
        };
        let output = runtime::query_program(&file, args, &self.env, Some(&self.folder))
            .await
            .map_err(|source| PackageVersionError::Failed {
                program: program.to_owned(),
                source,
            })?;
        Ok(output.trim().to_owned())
    }

    /// Looks where npx looks: in the packages of the server's folder, in the global packages, and
    /// in the cache of npx. For a package with a range or tag, looks only in the cache.
    async fn find_npm_version(&self, package: &Package<'_>) -> Result<String, PackageVersionError> {
        if package.text == package.name {
            for place in [&["root"][..], &["root", "--global"]] {
                let folder = PathBuf::from(self.run("npm", place).await?);
                if let Some(version) = read_version(&folder.join(package.name)).await {
                    return Ok(version);
                }
            }
        }
        let cache = PathBuf::from(self.run("npm", &["config", "get", "cache"]).await?);
        find_in_npx_cache(&cache.join("_npx"), package)
            .await
            .ok_or_else(|| not_downloaded(package))
    }

    /// Asks Python in the environment of the package, which uv starts without a download.
    async fn find_uv_version(&self, package: &Package<'_>) -> Result<String, PackageVersionError> {
        let code = format!(
            "import importlib.metadata as m; print(m.version({:?}))",
            package.index_name()
        );
        let options = package.options.iter().map(String::as_str);
        // uv refuses an option that is given twice.
        let mut args: Vec<_> = options.filter(|option| *option != "--offline").collect();
        args.push("--offline");
        if !package.is_option {
            args.extend(["--from", package.text]);
        }
        args.extend(["python", "-c", &code]);
        match self.run(package.program, &args).await {
            Err(PackageVersionError::Failed {
                source: ProgramError::Failed(_),
                ..
            }) => Err(not_downloaded(package)),
            answer => answer,
        }
    }

    async fn find_digest(&self, package: &Package<'_>) -> Result<String, PackageVersionError> {
        let format = "{{range .RepoDigests}}{{println .}}{{end}}";
        let args = ["image", "inspect", "--format", format, package.text];
        let digests = match self.run(package.program, &args).await {
            Err(PackageVersionError::Failed { .. }) => {
                // The image is missing, or the daemon does not answer. In the latter case, `ps`
                // fails too.
                self.run(package.program, &["ps", "--last", "1", "--quiet"])
                    .await?;
                return Err(not_downloaded(package));
            }
            answer => answer?,
        };
        let short = |name: &str| {
            let name = name.strip_prefix("docker.io/").unwrap_or(name);
            name.strip_prefix("library/").unwrap_or(name).to_owned()
        };
        digests
            .lines()
            .filter_map(|line| line.split_once('@'))
            .find(|(name, _)| short(name) == short(package.name))
            .map(|(_, digest)| digest.to_owned())
            .ok_or(PackageVersionError::NoDigest)
    }
}

fn not_downloaded(package: &Package<'_>) -> PackageVersionError {
    PackageVersionError::NotDownloaded {
        program: package.program.to_owned(),
    }
}

/// Returns the version of the package in the cache of npx, which has a folder for each set of
/// packages. If several folders have the package, the latest installation counts.
async fn find_in_npx_cache(cache: &Path, package: &Package<'_>) -> Option<String> {
    let mut newest: Option<(SystemTime, String)> = None;
    let mut entries = fs::read_dir(cache).await.ok()?;
    while let Ok(Some(entry)) = entries.next_entry().await {
        let folder = entry.path();
        let Some(package_json) = read_package_json(&folder).await else {
            continue;
        };
        let is_for_package = match &package_json.npx {
            Some(npx) => npx.packages.iter().any(|text| text == package.text),
            // Older versions of npm do not say for which packages they made the folder.
            None => package_json.dependencies.contains_key(package.name),
        };
        let installed = folder.join("node_modules").join(package.name);
        let Some(version) = read_version(&installed).await.filter(|_| is_for_package) else {
            continue;
        };
        let metadata = fs::metadata(installed.join("package.json")).await.ok()?;
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if newest.as_ref().is_none_or(|(latest, _)| *latest < modified) {
            newest = Some((modified, version));
        }
    }
    newest.map(|(_, version)| version)
}

async fn read_version(package: &Path) -> Option<String> {
    read_package_json(package).await?.version
}

async fn read_package_json(folder: &Path) -> Option<PackageJson> {
    let text = fs::read(folder.join("package.json")).await.ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(all(test, unix))]
mod tests;
