//! `cargo xtask install` and `uninstall`: a release build in this user's folders on Linux, with an
//! entry in the menu of the desktop.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    run,
    step::{Outcome, root},
};

const PROGRAMS: [&str; 2] = ["drawbridge", "drawbridge-desktop"];
// The sources are relative to the root of the repository, and the places of the installed files are
// relative to the user's folder for shared data.
const ICON_SOURCE: &str = "icons/128x128.png";
const ICON: &str = "icons/hicolor/128x128/apps/drawbridge.png";
const MENU_ENTRY: &str = "applications/drawbridge.desktop";
const FILE_TYPE_SOURCE: &str = "packaging/app.drawbridge.desktop.xml";
const FILE_TYPE: &str = "mime/packages/app.drawbridge.desktop.xml";

/// The folders of this user for programs and for shared data (XDG base directories).
struct Folders {
    programs: PathBuf,
    data: PathBuf,
}

impl Folders {
    fn of_user() -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err(
                "`install` supports only Linux so far; on other systems use `cargo xtask run --release`"
                    .to_owned(),
            );
        }
        let home = env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
            .ok_or("HOME is not set to the path of a folder")?;
        let folder = |variable: &str, default: &str| {
            env::var_os(variable)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(default))
        };
        Ok(Self {
            programs: folder("XDG_BIN_HOME", ".local/bin"),
            data: folder("XDG_DATA_HOME", ".local/share"),
        })
    }

    fn list_files(&self) -> Vec<PathBuf> {
        let programs = PROGRAMS.map(|program| self.programs.join(program));
        programs
            .into_iter()
            .chain([ICON, MENU_ENTRY, FILE_TYPE].map(|file| self.data.join(file)))
            .collect()
    }
}

/// Builds the optimized app and installs it for this user.
pub(crate) fn install() -> Outcome {
    let folders = Folders::of_user()?;
    run::build(true)?;
    let built = PROGRAMS.map(|program| run::program_path(true, program));
    let [command_line, app] = built;
    install_files(&folders, [&command_line?, &app?])?;
    update_caches(&folders);
    println!("Drawbridge is installed:");
    for file in folders.list_files() {
        println!("  {}", file.display());
    }
    println!("Start it from the menu of your desktop, or run `drawbridge-desktop`.");
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|folder| folder == folders.programs) {
        println!(
            "{} is not in your PATH. Add it, so that you can run `drawbridge` in a terminal.",
            folders.programs.display()
        );
    }
    println!("`cargo xtask uninstall` removes these files. Your data and settings stay.");
    Ok(())
}

/// Removes the files that [`install`] has installed.
pub(crate) fn uninstall() -> Outcome {
    let folders = Folders::of_user()?;
    for file in folders.list_files() {
        match fs::remove_file(&file) {
            Ok(()) => println!("removed {}", file.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot remove {}: {error}", file.display())),
        }
    }
    update_caches(&folders);
    Ok(())
}

/// Updates the desktop's caches of file types and menu entries. A desktop that lacks one of these
/// programs does not have the cache of that program.
fn update_caches(folders: &Folders) {
    for (program, folder) in [
        ("update-mime-database", "mime"),
        ("update-desktop-database", "applications"),
    ] {
        let folder = folders.data.join(folder);
        if folder.is_dir() {
            let _ = Command::new(program).arg(folder).status();
        }
    }
}

fn install_files(folders: &Folders, programs: [&Path; 2]) -> Outcome {
    for (name, source) in PROGRAMS.iter().zip(programs) {
        replace_file(&folders.programs.join(name), |new| {
            fs::copy(source, new).map(drop)
        })?;
    }
    let icon = root().join(ICON_SOURCE);
    replace_file(&folders.data.join(ICON), |new| {
        fs::copy(&icon, new).map(drop)
    })?;
    let file_type = root().join(FILE_TYPE_SOURCE);
    replace_file(&folders.data.join(FILE_TYPE), |new| {
        fs::copy(&file_type, new).map(drop)
    })?;
    let entry = format_menu_entry(&folders.programs.join("drawbridge-desktop"))?;
    replace_file(&folders.data.join(MENU_ENTRY), |new| fs::write(new, &entry))
}

/// Writes a new file beside the old file, and gives it the name of the old file, because a running
/// program cannot be overwritten.
fn replace_file(file: &Path, write: impl FnOnce(&Path) -> std::io::Result<()>) -> Outcome {
    let new = file.with_extension("new");
    let result = file
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| write(&new))
        .and_then(|()| fs::rename(&new, file));
    result.map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Returns the menu entry that starts a program (Desktop Entry Specification).
///
/// # Errors
/// Returns an error if the path has characters that an entry cannot contain.
fn format_menu_entry(program: &Path) -> Result<String, String> {
    let path = program
        .to_str()
        .filter(|path| !path.contains(['"', '`', '$', '\\', '%', '\n']))
        .ok_or_else(|| format!("a menu entry cannot contain {}", program.display()))?;
    Ok(format!(
        "[Desktop Entry]\n\
         Type=Application\n\
         Version=1.0\n\
         Name=Drawbridge\n\
         Comment=Decide which tools your AI clients may use\n\
         Exec=\"{path}\" %u\n\
         MimeType=application/x-mcpb;x-scheme-handler/drawbridge;\n\
         Icon=drawbridge\n\
         Categories=Utility;\n\
         Keywords=MCP;AI;approvals;\n\
         Terminal=false\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_has_programs_an_icon_and_a_menu_entry_and_replaces_an_older_installation() {
        let folder = env::temp_dir().join(format!("drawbridge-install-{}", std::process::id()));
        let folders = Folders {
            programs: folder.join("bin"),
            data: folder.join("share"),
        };
        let source = folder.join("built");
        for version in ["one", "two"] {
            fs::create_dir_all(&folder).expect("create the folder");
            fs::write(&source, version).expect("write the program");
            install_files(&folders, [&source, &source]).expect("installed");
            for program in PROGRAMS {
                let installed = folders.programs.join(program);
                assert_eq!(fs::read_to_string(installed).expect("a program"), version);
            }
        }
        let entry = fs::read_to_string(folders.data.join(MENU_ENTRY)).expect("an entry");
        let exec = format!(
            "Exec=\"{}\" %u",
            folder.join("bin/drawbridge-desktop").display()
        );
        assert!(entry.lines().any(|line| line == exec), "{entry}");
        assert!(folders.list_files().iter().all(|file| file.is_file()));
        fs::remove_dir_all(&folder).expect("remove the folder");
    }

    #[test]
    fn a_path_that_an_entry_would_misread_is_refused() {
        assert!(format_menu_entry(Path::new("/opt/50%/drawbridge")).is_err());
        assert!(format_menu_entry(Path::new("/opt/my programs/drawbridge")).is_ok());
    }
}
