//! A document that a client sent, and the private file that holds it during the conversion.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use drawbridge_model::random;

use super::DoclingError;

/// The size of the largest document, in MiB. In base64 it fits into the longest message of a
/// client, 16 MiB.
pub(super) const MAX_MIB: usize = 10;
const MAX_DOCUMENT_BYTES: usize = MAX_MIB * 1024 * 1024;
const MAX_FILE_NAME_BYTES: usize = 255;

/// The extensions of the documents that Docling 2.143 converts, except for sounds, videos and
/// archives.
pub(super) const FORMATS: [&str; 53] = [
    "pdf", "docx", "dotx", "docm", "dotm", "doc", "dot", "rtf", "odt", "ott", "pptx", "potx",
    "ppsx", "pptm", "potm", "ppsm", "ppt", "pot", "pps", "odp", "otp", "xlsx", "xlsm", "xltx",
    "xltm", "xls", "xlt", "ods", "ots", "csv", "html", "htm", "xhtml", "mhtml", "md", "markdown",
    "txt", "adoc", "asciidoc", "tex", "latex", "xml", "nxml", "json", "vtt", "eml", "msg", "epub",
    "jpg", "jpeg", "png", "tif", "tiff",
];
/// The extensions of the documents for which Docling needs its models.
const WITH_MODELS: [&str; 6] = ["pdf", "jpg", "jpeg", "png", "tif", "tiff"];

/// Accepts base64 with and without padding, because models write both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A document of a known type.
#[derive(Debug)]
pub(super) struct Document {
    bytes: Vec<u8>,
    extension: &'static str,
}

/// The file of a document. Dropping the value removes the file.
pub(super) struct DocumentFile {
    folder: PathBuf,
    path: PathBuf,
}

impl Document {
    /// Reads a document. Only the extension of its name is used.
    ///
    /// # Errors
    /// Returns an error if the content is empty, too large or not base64, or if the name is a path,
    /// is too long, contains a control character, or has no known extension.
    pub(super) fn decode(content: &str, file_name: &str) -> Result<Self, DoclingError> {
        let extension = find_format(file_name)?;
        // Base64 is often wrapped into lines.
        let content: Vec<u8> = content
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        // Padding makes the document at most two bytes shorter than this estimate.
        if content.len() / 4 * 3 > MAX_DOCUMENT_BYTES + 2 {
            return Err(DoclingError::TooLarge {
                size: content.len() / 4 * 3,
            });
        }
        let bytes = BASE64.decode(&content)?;
        match bytes.len() {
            0 => Err(DoclingError::Empty),
            1..=MAX_DOCUMENT_BYTES => Ok(Self { bytes, extension }),
            size => Err(DoclingError::TooLarge { size }),
        }
    }

    pub(super) fn needs_models(&self) -> bool {
        WITH_MODELS.contains(&self.extension)
    }

    /// Writes the document to a new file below `inbox`, for this user only.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) async fn store(self, inbox: PathBuf) -> Result<DocumentFile, DoclingError> {
        let written = tokio::task::spawn_blocking(move || {
            let folder = inbox.join(random::id());
            let path = folder.join(format!("document.{}", self.extension));
            let file = DocumentFile { folder, path };
            create_private_folder(&file.folder)?;
            create_private_file(&file.path)?.write_all(&self.bytes)?;
            Ok::<_, io::Error>(file)
        });
        written
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(DoclingError::Io)
    }
}

impl DocumentFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DocumentFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(
                "cannot remove a client's document, {}: {error}; the next start removes it",
                self.path.display()
            );
        }
    }
}

/// Returns the extension of a document's name if Docling converts documents of this type.
fn find_format(file_name: &str) -> Result<&'static str, DoclingError> {
    let is_path = file_name.contains(['/', '\\']) || file_name.chars().any(char::is_control);
    if is_path || file_name.len() > MAX_FILE_NAME_BYTES {
        return Err(DoclingError::FileName);
    }
    let (stem, extension) = file_name
        .trim()
        .rsplit_once('.')
        .ok_or(DoclingError::FileName)?;
    if stem.trim_matches('.').is_empty() {
        return Err(DoclingError::FileName);
    }
    let extension = extension.to_ascii_lowercase();
    FORMATS
        .into_iter()
        .find(|format| *format == extension)
        .ok_or(DoclingError::Format(extension))
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create_private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;
