//! Folder that paths cannot escape: `cap-std` opens every path component by component below it.
//!
//! The operating system resolves the path, not this program's text handling. `..`, symbolic links and folders that are
//! exchanged between check and use either stay below the root or fail. A symbolic link to a target inside works. Pipes
//! and devices are never opened for waiting.
//!
//! Not detected: hard links to files outside. Reading shows such a file; writing replaces the link and leaves the other
//! file unchanged.

use std::{
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};

use crate::{
    exec::escape::quoted,
    tools::{ErrorCode, ToolError},
};

/// Maximum bytes of a file that tools change or read as a whole.
pub(super) const MAX_EDIT_BYTES: u64 = 4 << 20;

/// Folder that paths cannot escape.
#[derive(Debug)]
pub(super) struct SandboxDir {
    dir: Dir,
    path: PathBuf,
}

/// Content of a file with its hash.
pub(super) struct FileContent {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: blake3::Hash,
}

impl FileContent {
    fn of(bytes: Vec<u8>) -> Self {
        Self { hash: blake3::hash(&bytes), bytes }
    }
}

impl SandboxDir {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        Ok(Self { dir: Dir::open_ambient_dir(&path, ambient_authority())?, path })
    }

    /// Returns the canonical path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Converts a path as a model writes it, relative or absolute, to a path relative to the root. Does not access the
    /// file system.
    pub(super) fn resolve(&self, written: &str) -> Result<PathBuf, ToolError> {
        let path = Path::new(written.trim());
        let path =
            if path.is_absolute() { path.strip_prefix(&self.path).map_err(|_| outside_error(written))? } else { path };
        // `.` is dropped. `..` stays, because its meaning behind a link is only known to the operating system.
        let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        Ok(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
    }

    /// Resolves links and `..`, so that two names of a file compare equal. For a missing file, resolves its folder.
    pub(super) fn canonical(&self, path: &Path) -> Result<PathBuf, ToolError> {
        match self.dir.canonicalize(path) {
            Ok(real) => Ok(if real.as_os_str().is_empty() { PathBuf::from(".") } else { real }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.dir.symlink_metadata(path).is_ok() {
                    let message = format!("{} is a symbolic link to nothing", display_path(path));
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                }
                match (path.parent(), path.file_name()) {
                    (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => {
                        Ok(self.canonical(parent)?.join(name))
                    }
                    (_, Some(name)) => Ok(PathBuf::from(name)),
                    _ => Err(self.failure(path, &error)),
                }
            }
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Returns the metadata of a path; `None` if it does not exist.
    pub(super) fn metadata(&self, path: &Path) -> Result<Option<Metadata>, ToolError> {
        match self.dir.metadata(path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failure(path, &error)),
        }
    }

    /// Opens a regular file for reading.
    pub(super) fn file(&self, path: &Path) -> Result<File, ToolError> {
        let fail = |error: io::Error| self.failure(path, &error);
        // Opening some devices has side effects, so the type is checked before the open and again on the open file.
        is_file(path, &self.dir.metadata(path).map_err(fail)?)?;
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCKING_FLAGS);
        let file = self.dir.open_with(path, &options).map_err(fail)?;
        is_file(path, &file.metadata().map_err(fail)?)?;
        Ok(file)
    }

    /// Reads a whole file for a change.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` above [`MAX_EDIT_BYTES`].
    pub(super) fn content(&self, path: &Path) -> Result<FileContent, ToolError> {
        let mut bytes = Vec::new();
        let read = self.file(path)?.take(MAX_EDIT_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failure(path, &error))?;
        if bytes.len() as u64 > MAX_EDIT_BYTES {
            let message =
                format!("{} has more than {} MiB, too much for this tool", display_path(path), MAX_EDIT_BYTES >> 20);
            return Err(ToolError::new(ErrorCode::LimitExceeded, message));
        }
        Ok(FileContent::of(bytes))
    }

    /// Reads a whole file; `None` if it does not exist.
    pub(super) fn content_if_any(&self, path: &Path) -> Result<Option<FileContent>, ToolError> {
        match self.metadata(path)? {
            Some(_) => self.content(path).map(Some),
            None => Ok(None),
        }
    }

    /// Replaces a file atomically. The path must come from [`SandboxDir::canonical`], because a link at its end would
    /// be replaced.
    pub(super) fn replace_file(&self, path: &Path, bytes: &[u8]) -> Result<blake3::Hash, ToolError> {
        let fail = |error: io::Error| self.failure(path, &error);
        let name = path.file_name().ok_or_else(|| outside_error(&path.to_string_lossy()))?;
        let folder = self.parent(path).map_err(fail)?;
        let known = folder.metadata(name).ok();
        if let Some(known) = &known {
            is_file(path, known)?;
            if known.permissions().readonly() {
                return Err(ToolError::new(ErrorCode::Conflict, format!("{} is write-protected", display_path(path))));
            }
        }
        let temporary = format!(".loom-{:016x}", rand::random::<u64>());
        let written = (|| {
            let mut file = folder.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?;
            if let Some(known) = &known {
                file.set_permissions(known.permissions())?;
            }
            file.write_all(bytes)?;
            file.sync_all()?;
            folder.rename(&temporary, &folder, name)
        })();
        if let Err(error) = written {
            // The temporary file may not exist.
            let _ = folder.remove_file(&temporary);
            return Err(fail(error));
        }
        Ok(blake3::hash(bytes))
    }

    /// Opens the parent folder of a canonical path and creates missing folders. Follows no link: a link that replaced a
    /// folder after the approval causes an error.
    fn parent(&self, path: &Path) -> io::Result<Dir> {
        let mut folder = self.dir.try_clone()?;
        for part in path.parent().into_iter().flat_map(Path::components) {
            let name = match part {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            };
            folder = match folder_in(&folder, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match folder.create_dir(name) {
                        // Another agent created it concurrently.
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                        _ => folder_in(&folder, name)?,
                    }
                }
                opened => opened?,
            };
        }
        Ok(folder)
    }

    /// Returns similar names in the folder of a path.
    fn similar_names(&self, path: &Path) -> Vec<String> {
        let Some(name) = path.file_name() else { return Vec::new() };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Ok(entries) = self.dir.read_dir(parent) else { return Vec::new() };
        let names = entries.take(10_000).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let near = nearest_names(&name.to_string_lossy(), names);
        near.into_iter().map(|name| display_path(&parent.join(name))).collect()
    }

    /// Converts an I/O error to a tool error.
    pub(super) fn failure(&self, path: &Path, error: &io::Error) -> ToolError {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        let name = display_path(path);
        match error.kind() {
            NotFound => {
                let failure = ToolError::new(ErrorCode::NotFound, format!("no file {name}"));
                let similar = self.similar_names(path);
                if similar.is_empty() { failure } else { failure.hint(format!("there is {}", similar.join(", "))) }
            }
            // `cap-std` reports an escape without an OS error number; errors of the OS have one.
            PermissionDenied if error.raw_os_error().is_none() => outside_error(&path.to_string_lossy()),
            IsADirectory => ToolError::new(ErrorCode::Conflict, format!("{name} is a folder")),
            NotADirectory => ToolError::new(ErrorCode::NotFound, format!("{name} is below a file, not a folder")),
            _ => ToolError::new(ErrorCode::Conflict, format!("{name}: {error}")),
        }
    }
}

/// Opens a subfolder; fails for a symbolic link.
#[cfg(unix)]
fn folder_in(folder: &Dir, name: &std::ffi::OsStr) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::from_std_file(std::fs::File::from(openat(folder, name, flags, Mode::empty())?)))
}

/// Opens a subfolder; fails for a symbolic link. The check and the open are not atomic here.
#[cfg(not(unix))]
fn folder_in(folder: &Dir, name: &std::ffi::OsStr) -> io::Result<Dir> {
    if folder.symlink_metadata(name)?.is_symlink() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    folder.open_dir(name)
}

/// Flags for opening a pipe without waiting for its other end.
#[cfg(unix)]
#[allow(clippy::cast_possible_wrap)] // the bits of a flag, whatever the system counts them as
const NONBLOCKING_FLAGS: i32 = (rustix::fs::OFlags::NONBLOCK.bits() | rustix::fs::OFlags::NOCTTY.bits()) as i32;

fn is_file(path: &Path, metadata: &Metadata) -> Result<(), ToolError> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "a folder" } else { "no regular file (a pipe, a socket or a device)" };
    Err(ToolError::new(ErrorCode::Conflict, format!("{} is {what}", display_path(path))))
}

/// Returns up to three names with the smallest edit distance, which is at most a third of the length.
fn nearest_names(written: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let written = written.to_lowercase();
    let most = (written.chars().count() / 3).max(1);
    let distance = |name: &String| strsim::osa_distance(&written, &name.to_lowercase());
    let mut near: Vec<(usize, String)> =
        names.map(|name| (distance(&name), name)).filter(|(distance, _)| *distance <= most).collect();
    near.sort();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name).collect()
}

fn outside_error(written: &str) -> ToolError {
    let message = format!("{} is outside of the workspace", quoted(written));
    ToolError::new(ErrorCode::PermissionDenied, message)
        .hint("paths are from the workspace's folder, such as src/main.rs")
}

/// Formats a path with `/` for messages.
pub(super) fn display_path(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}
