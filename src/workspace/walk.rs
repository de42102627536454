//! File walk as ripgrep does it: honors `.gitignore` and `.ignore`, skips `.git`, does not follow symbolic links. Folders with
//! a `CACHEDIR.TAG`, such as cargo's `target`, are skipped too.
//!
//! The walk returns only names. If a folder is replaced by a link during the walk, names outside may appear; contents
//! are read through [`SandboxDir`], which stays inside.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use ignore::{WalkBuilder, overrides::OverrideBuilder};

use super::sandbox_dir::{self, SandboxDir};
use crate::tools::{ErrorCode, ToolError};

/// Maximum number of files.
const MAX_FILES: usize = 100_000;
/// Maximum time.
const MAX_WALK_TIME: Duration = Duration::from_secs(20);

/// Deadline of a walk, which also ends when the caller drops its handle.
pub(super) struct Deadline {
    until: Instant,
    waiting: Weak<()>,
}

impl Deadline {
    /// Starts the time limit. The walk runs while the caller holds the returned handle.
    pub(super) fn begin() -> (Self, Arc<()>) {
        let waiting = Arc::new(());
        (Self { until: Instant::now() + MAX_WALK_TIME, waiting: Arc::downgrade(&waiting) }, waiting)
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiting.strong_count() == 0 || Instant::now() >= self.until
    }
}

/// Files found by a walk.
#[derive(Default)]
pub(super) struct WalkResult {
    /// Sorted paths from the root: regular files and links.
    pub(super) files: Vec<PathBuf>,
    /// True if the walk stopped before its end.
    pub(super) incomplete: bool,
}

/// Returns the files below `start` that match a glob: `*.rs` at any depth, `src/**/*.rs` from the root.
pub(super) fn files(
    root: &SandboxDir,
    start: &Path,
    glob: Option<&str>,
    deadline: &Deadline,
) -> Result<WalkResult, ToolError> {
    // Without `.` in the path, which `src/*.rs` would not match.
    let folder: PathBuf = root.path().join(start).components().collect();
    let mut builder = WalkBuilder::new(folder);
    builder.hidden(false).git_global(false).require_git(false).sort_by_file_name(std::cmp::Ord::cmp);
    builder.filter_entry(|entry| {
        let is_cache = || entry.depth() > 0 && entry.path().join("CACHEDIR.TAG").is_file();
        entry.file_name() != ".git" && !is_cache()
    });
    if let Some(glob) = glob {
        let wrong = |error: ignore::Error| ToolError::new(ErrorCode::InvalidSyntax, format!("files: {error}"));
        let mut only = OverrideBuilder::new(root.path());
        only.add(glob.trim_start_matches("./")).map_err(wrong)?;
        builder.overrides(only.build().map_err(wrong)?);
    }
    let mut walk = WalkResult::default();
    for entry in builder.build() {
        if walk.files.len() >= MAX_FILES || deadline.is_over() {
            walk.incomplete = true;
            break;
        }
        // Folders that cannot be read are skipped.
        let Ok(entry) = entry else { continue };
        let listed = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        if let Ok(path) = entry.path().strip_prefix(root.path())
            && listed
        {
            walk.files.push(path.to_owned());
        }
    }
    Ok(walk)
}

/// Resolves the folder or file at which a search starts.
pub(super) fn start(root: &SandboxDir, written: Option<&str>) -> Result<PathBuf, ToolError> {
    let path = root.resolve(written.unwrap_or("."))?;
    let real = root.canonical(&path)?;
    match root.metadata(&real)? {
        Some(_) => Ok(real),
        None => Err(root.failure(&path, &std::io::ErrorKind::NotFound.into())),
    }
}

/// Describes the start of a search in words.
pub(super) fn display_folder(start: &Path) -> String {
    if start == Path::new(".") { "the workspace".to_owned() } else { sandbox_dir::display_path(start) }
}
