//! Sums up the accesses of a server's processes, in bounded memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use drawbridge_model::access_report::{
    AccessSummary, AddressUse, FileAccess, FileUse, ProgramUse, RefusedCall,
};

/// How many files and folders are listed. If there are more, folders stand for the files in them.
const MAX_FILES: usize = 256;
/// How many addresses are listed, and how many programs. If there are more, they are only counted.
const MAX_OTHERS: usize = 128;
/// Names of folders that hold many files, mostly of packages, and that are listed as a whole.
const PACKAGE_FOLDERS: &[&str] = &[
    "node_modules",
    "site-packages",
    "dist-packages",
    "__pycache__",
    ".git",
];
/// Folders in the home folder that are listed as a whole.
const CACHES: &[&str] = &[".npm", ".bun", ".local/share/uv"];
/// The folder in the home folder whose subfolders are each listed as a whole.
const CACHE_PARENT: &str = ".cache";

/// A file, how it was used, and whether the use was refused. Refused and allowed uses are listed
/// separately.
type FileKey = (PathBuf, FileAccess, bool);

#[derive(Debug, Clone, Copy)]
struct Uses {
    /// The number of files for which the entry stands.
    files: u32,
    is_folder: bool,
    /// Whether the entry is a folder that stands for the files in it.
    is_folded: bool,
}

/// The files, addresses and programs that the processes of a server have used so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    home: Option<PathBuf>,
    files: BTreeMap<FileKey, Uses>,
    addresses: BTreeSet<AddressUse>,
    programs: BTreeSet<ProgramUse>,
    refused_calls: BTreeSet<RefusedCall>,
    // `AccessSummary` describes these four counters.
    pub(super) ordinary: u32,
    pub(super) elsewhere: u32,
    pub(super) unreadable: u32,
    omitted: u32,
    uses_io_uring: bool,
    has_news: bool,
}

impl Summary {
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self {
            home,
            ..Self::default()
        }
    }

    /// Adds a file that has not been added before.
    pub(super) fn add_file(
        &mut self,
        path: PathBuf,
        access: FileAccess,
        is_folder: bool,
        refused: bool,
    ) {
        let folder = self.find_folded_folder(&path, access, refused);
        let is_folded = folder.is_some();
        let key = (folder.unwrap_or(path), access, refused);
        let new = Uses {
            files: 0,
            is_folder: is_folder || is_folded,
            is_folded,
        };
        let is_new = !self.files.contains_key(&key);
        let uses = self.files.entry(key).or_insert(new);
        uses.files = if uses.is_folded {
            uses.files.saturating_add(1)
        } else {
            1
        };
        self.has_news |= is_new;
        if self.files.len() > MAX_FILES {
            self.fold();
        }
    }

    pub(super) fn add_address(&mut self, address: AddressUse) {
        let is_known = self.addresses.contains(&address);
        if !is_known && self.addresses.len() >= MAX_OTHERS {
            self.omitted = self.omitted.saturating_add(1);
        } else {
            self.has_news |= self.addresses.insert(address);
        }
    }

    pub(super) fn add_program(&mut self, program: ProgramUse) {
        let is_known = self.programs.contains(&program);
        if !is_known && self.programs.len() >= MAX_OTHERS {
            self.omitted = self.omitted.saturating_add(1);
        } else {
            self.has_news |= self.programs.insert(program);
        }
    }

    pub(super) fn add_refused_call(&mut self, call: RefusedCall) {
        self.has_news |= self.refused_calls.insert(call);
    }

    pub(super) fn record_io_uring(&mut self) {
        self.has_news |= !self.uses_io_uring;
        self.uses_io_uring = true;
    }

    /// Returns whether something was listed since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    pub(super) fn to_report(&self) -> AccessSummary {
        let files = self.files.iter();
        AccessSummary {
            files: files
                .map(|((path, access, refused), uses)| FileUse {
                    path: path.to_string_lossy().into_owned(),
                    access: *access,
                    is_folder: uses.is_folder,
                    files: uses.files,
                    refused: *refused,
                })
                .collect(),
            addresses: self.addresses.iter().cloned().collect(),
            programs: self.programs.iter().cloned().collect(),
            refused_calls: self.refused_calls.iter().copied().collect(),
            ordinary: self.ordinary,
            omitted: self.omitted,
            elsewhere: self.elsewhere,
            unreadable: self.unreadable,
            uses_io_uring: self.uses_io_uring,
        }
    }

    /// Returns the folder that stands for a file, if there is one.
    fn find_folded_folder(
        &self,
        path: &Path,
        access: FileAccess,
        refused: bool,
    ) -> Option<PathBuf> {
        let is_folded = |folder: &&Path| {
            let key = (folder.to_path_buf(), access, refused);
            self.files.get(&key).is_some_and(|uses| uses.is_folded)
        };
        let folder = path.ancestors().find(is_folded).map(Path::to_owned);
        folder.or_else(|| find_package_folder(path, self.home.as_deref()))
    }

    /// Makes folders stand for the files in them until few enough entries are left.
    fn fold(&mut self) {
        while self.files.len() > MAX_FILES - MAX_FILES / 4 && self.fold_once() {}
    }

    /// Replaces the entries of one folder by that folder: the folder with the most entries or, if
    /// several folders have as many entries, the deepest of these. If no folder has more than one
    /// entry, chooses the deepest folder. The root folder is the last resort. Returns `false` if
    /// there is no entry to replace.
    fn fold_once(&mut self) -> bool {
        let mut holders: BTreeMap<FileKey, usize> = BTreeMap::new();
        for (path, access, refused) in self.files.keys() {
            if let Some(parent) = path.parent() {
                let key = (parent.to_owned(), *access, *refused);
                *holders.entry(key).or_default() += 1;
            }
        }
        let rank = |((folder, ..), held): &(FileKey, usize)| {
            let depth = folder.components().count();
            // A single entry is replaced too, because its folder may then be one of several entries
            // in the folder above.
            let (first, second) = if *held > 1 {
                (*held, depth)
            } else {
                (depth, *held)
            };
            (depth > 1, *held > 1, first, second)
        };
        let Some((folded, _)) = holders.into_iter().max_by_key(rank) else {
            return false;
        };
        let (folder, access, refused) = &folded;
        let mut files = 0_u32;
        self.files.retain(|(path, other, was_refused), uses| {
            let is_inside = other == access && was_refused == refused && path.starts_with(folder);
            if is_inside {
                files = files.saturating_add(uses.files);
            }
            !is_inside
        });
        let uses = Uses {
            files,
            is_folder: true,
            is_folded: true,
        };
        self.files.insert(folded, uses);
        true
    }
}

/// Returns the folder of packages, or the cache, that holds a file.
fn find_package_folder(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if let Some((home, below)) = home.and_then(|home| Some((home, path.strip_prefix(home).ok()?))) {
        if let Some(cache) = CACHES.iter().find(|cache| below.starts_with(cache)) {
            return Some(home.join(cache));
        }
        if let Ok(below) = below.strip_prefix(CACHE_PARENT) {
            let cache = below.components().next()?;
            return Some(home.join(CACHE_PARENT).join(cache));
        }
    }
    let is_package_folder = |component: &Component<'_>| {
        let name = component.as_os_str().to_str();
        name.is_some_and(|name| PACKAGE_FOLDERS.contains(&name))
    };
    let position = path
        .components()
        .position(|part| is_package_folder(&part))?;
    Some(path.components().take(position + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(summary: &mut Summary, path: &str) {
        summary.add_file(PathBuf::from(path), FileAccess::Read, false, false);
    }

    fn listed(summary: &Summary) -> Vec<(String, u32)> {
        let files = summary.to_report().files.into_iter();
        files.map(|file| (file.path, file.files)).collect()
    }

    #[test]
    fn the_files_of_packages_and_caches_are_one_entry() {
        let mut summary = Summary::new(Some(PathBuf::from("/home/me")));
        for path in [
            "/home/me/app/node_modules/a/index.js",
            "/home/me/app/node_modules/a/node_modules/b/index.js",
            "/home/me/.npm/_npx/1/package.json",
            "/home/me/.cache/uv/archive/1/x.py",
            "/home/me/.cache/pip/1",
            "/home/me/notes.txt",
        ] {
            read(&mut summary, path);
        }
        let expected = [
            ("/home/me/.cache/pip", 1),
            ("/home/me/.cache/uv", 1),
            ("/home/me/.npm", 1),
            ("/home/me/app/node_modules", 2),
            ("/home/me/notes.txt", 1),
        ];
        assert_eq!(
            listed(&summary),
            expected.map(|(path, files)| (path.to_owned(), files))
        );
    }

    #[test]
    fn the_fullest_folder_stands_for_its_files_if_there_are_too_many() {
        let mut summary = Summary::default();
        read(&mut summary, "/home/me/other/a");
        summary.add_file("/home/me/data/0".into(), FileAccess::Write, false, false);
        for number in 0..2 * MAX_FILES {
            read(&mut summary, &format!("/home/me/data/{number}"));
        }
        let folded = u32::try_from(2 * MAX_FILES).expect("a small number");
        let expected = [
            ("/home/me/data", folded),
            ("/home/me/data/0", 1),
            ("/home/me/other/a", 1),
        ];
        assert_eq!(
            listed(&summary),
            expected.map(|(path, files)| (path.to_owned(), files))
        );
    }

    #[test]
    fn the_summary_stays_small_whatever_is_used() {
        let mut summary = Summary::default();
        for number in 0..10 * MAX_FILES {
            read(&mut summary, &format!("/srv/{}/{number}/x", number % 7));
            read(&mut summary, &format!("/{number}"));
            summary.add_program(ProgramUse {
                path: format!("/{number}"),
                refused: false,
            });
        }
        let report = summary.to_report();
        assert!(report.files.len() <= MAX_FILES, "{}", report.files.len());
        assert_eq!(report.programs.len(), MAX_OTHERS);
        let omitted = u32::try_from(10 * MAX_FILES - MAX_OTHERS).expect("a small number");
        assert_eq!(report.omitted, omitted);
        let files: u32 = report.files.iter().map(|file| file.files).sum();
        assert_eq!(
            files,
            u32::try_from(20 * MAX_FILES).expect("a small number")
        );
    }

    #[test]
    fn only_a_new_entry_is_news() {
        let mut summary = Summary::default();
        assert!(!summary.take_news());
        read(&mut summary, "/a/node_modules/x");
        assert!(summary.take_news());
        read(&mut summary, "/a/node_modules/y");
        summary.ordinary += 1;
        assert!(!summary.take_news());
    }
}
