//! The files below a folder, as ripgrep sees them: without what `.gitignore` and `.ignore` leave out, without `.git`, and
//! not through symbolic links.
//!
//! Only names come from here. Should a folder become a link to another place meanwhile, names of that place might be seen;
//! what stands in files is read by way of the root, which goes nowhere else.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use ignore::{WalkBuilder, overrides::OverrideBuilder};

use super::root::{self, SandboxDir};
use crate::arrow::run::{ErrorCode, ToolError};

/// Files that are looked at.
const FILES: usize = 100_000;
/// How long it may take.
const TIME: Duration = Duration::from_secs(20);

/// Ends a walk when its time is over, or when nobody waits for it any more.
pub(super) struct Deadline {
    until: Instant,
    waiting: Weak<()>,
}

impl Deadline {
    /// Beginning now, as long as somebody holds what comes with it.
    pub(super) fn begin() -> (Self, Arc<()>) {
        let waiting = Arc::new(());
        (Self { until: Instant::now() + TIME, waiting: Arc::downgrade(&waiting) }, waiting)
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiting.strong_count() == 0 || Instant::now() >= self.until
    }
}

/// What was found.
#[derive(Default)]
pub(super) struct WalkEntry {
    /// Paths from the root, in order; what is no file is left out, links are not.
    pub(super) files: Vec<PathBuf>,
    /// Whether there may be more.
    pub(super) cut: bool,
}

/// The files below `start`, of those that fit a glob: `*.rs` anywhere, `src/**/*.rs` from the root.
pub(super) fn files(
    root: &SandboxDir,
    start: &Path,
    glob: Option<&str>,
    patience: &Deadline,
) -> Result<WalkEntry, ToolError> {
    let mut builder = WalkBuilder::new(root.path().join(start));
    builder.hidden(false).git_global(false).require_git(false).sort_by_file_name(std::cmp::Ord::cmp);
    builder.filter_entry(|entry| entry.file_name() != ".git");
    if let Some(glob) = glob {
        let wrong = |error: ignore::Error| ToolError::new(ErrorCode::InvalidSyntax, format!("files: {error}"));
        let mut only = OverrideBuilder::new(root.path());
        only.add(glob.trim_start_matches("./")).map_err(wrong)?;
        builder.overrides(only.build().map_err(wrong)?);
    }
    let mut found = WalkEntry::default();
    for entry in builder.build() {
        if found.files.len() >= FILES || patience.is_over() {
            found.cut = true;
            break;
        }
        // A folder that cannot be read is passed over, as it is for whoever lists by hand.
        let Ok(entry) = entry else { continue };
        let listed = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        if let Ok(path) = entry.path().strip_prefix(root.path())
            && listed
        {
            found.files.push(path.to_owned());
        }
    }
    Ok(found)
}

/// The folder, or the file, where a search begins.
pub(super) fn start(root: &SandboxDir, written: Option<&str>) -> Result<PathBuf, ToolError> {
    let path = root.resolve(written.unwrap_or("."))?;
    let real = root.canonical(&path)?;
    match root.metadata(&real)? {
        Some(_) => Ok(real),
        None => Err(root.failure(&path, &std::io::ErrorKind::NotFound.into())),
    }
}

/// Where it begins, in words.
pub(super) fn display_folder(start: &Path) -> String {
    if start == Path::new(".") { "the workspace".to_owned() } else { root::display_path(start) }
}
