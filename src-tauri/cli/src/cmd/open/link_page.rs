//! A page that redirects a browser to a sign-in link. The launcher of the browser gets the path of
//! the page instead of the link, because other users can read a program's arguments, but not the
//! page.

use std::{
    env,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::exit::Failure;

/// A page in a folder of its own. Dropping the value removes the page and the folder.
pub(super) struct LinkPage {
    file: PathBuf,
    _folder: TempDir,
}

impl LinkPage {
    /// Writes the page, which only this user can read, to the user's runtime folder or, if there is
    /// none, to the folder for temporary files.
    pub(super) fn write(url: &str) -> Result<Self, Failure> {
        let parent = env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|folder| folder.is_dir())
            .unwrap_or_else(env::temp_dir);
        let folder = create_folder(&parent)?;
        let file = folder.path().join("sign-in.html");
        let create_error = |source| Failure::CreateFile {
            file: file.clone(),
            source,
        };
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut page = options.open(&file).map_err(create_error)?;
        page.write_all(render_page(url).as_bytes())
            .map_err(create_error)?;
        Ok(Self {
            file,
            _folder: folder,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.file
    }
}

fn create_folder(parent: &Path) -> Result<TempDir, Failure> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("drawbridge-sign-in-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder
        .tempdir_in(parent)
        .map_err(|source| Failure::CreateFile {
            file: parent.to_path_buf(),
            source,
        })
}

fn render_page(url: &str) -> String {
    let url = escape_html(url);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Drawbridge</title>\
         <p><a rel=\"noreferrer\" href=\"{url}\">Open Drawbridge</a></p></html>\n"
    )
}

fn escape_html(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        match c {
            '&' | '<' | '>' | '"' | '\'' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            other => escaped.push(other),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_the_page_and_it_is_removed() {
        use std::os::unix::fs::PermissionsExt;

        let page = LinkPage::write("http://127.0.0.1:8765/#login=a&b").expect("written");
        let file = page.path().to_path_buf();
        let folder = file.parent().expect("a folder").to_path_buf();
        let mode = |path: &Path| {
            let metadata = std::fs::metadata(path).expect("metadata");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
        let text = std::fs::read_to_string(&file).expect("read");
        assert!(
            text.contains("url=http://127.0.0.1:8765/#login=a&#38;b\""),
            "{text}"
        );
        drop(page);
        assert!(!folder.exists());
    }
}
