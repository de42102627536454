//! Checks of the database: file, schema, integrity, disk space and leftover files.

use std::{
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use loomtree::{
    session::system::{SystemClock, os_ids},
    store::{Inspection, Location, OpenOptions, Store as _, StoreError, VerifyReport, sidecar_path},
};

use super::finding::Finding;
use crate::cli::{args::GlobalArgs, command_context, config::Config, output::count};

const AREA: &str = "Database";

/// Maximum wait for another process's lock, in seconds.
const MAX_LOCK_WAIT_SECONDS: u32 = 2;
/// Size of the write-ahead log above which a reader probably blocks its checkpoint, in bytes.
const LARGE_WAL_BYTES: u64 = 64 << 20;
/// Free disk space below which commits may soon fail, in bytes.
const LOW_DISK_BYTES: u64 = 64 << 20;

pub(super) fn check(globals: &GlobalArgs, config: &Config, full: bool) -> Vec<Finding> {
    let path = match command_context::location(globals) {
        Ok(Location::File(path)) => path,
        Ok(server) => return connection(&server, config, full),
        Err(error) => return vec![Finding::problem(AREA, error.message(), "set HOME, or name a file with --db")],
    };
    let mut findings = Vec::new();
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => {
            let message = format!("{} is a folder", path.display());
            return vec![Finding::problem(AREA, message, "name the file of the database with --db")];
        }
        Ok(metadata) => {
            findings.push(file(&path, &metadata));
            findings.extend(wal(&path));
            findings.extend(space(&path, metadata.len()));
            findings.extend(content(&path, config, full));
            findings.extend(write_lock(&path, config));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("there is no database at {} yet", path.display());
            findings.push(Finding::note(AREA, message, "`loom new \"First words\"` makes it"));
            findings.extend(space(&path, 0));
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return vec![Finding::problem(AREA, message, "correct the permissions, or name another file with --db")];
        }
    }
    findings.extend(leftovers(&path));
    findings
}

/// Connects to a server's database, and verifies it if `full`.
fn connection(location: &Location, config: &Config, full: bool) -> Vec<Finding> {
    let ids = match os_ids() {
        Ok(ids) => ids,
        Err(error) => return vec![Finding::problem(AREA, error.to_string(), "the system gives no random numbers")],
    };
    let wait = Duration::from_secs(config.wait_seconds().min(MAX_LOCK_WAIT_SECONDS).into());
    let options = OpenOptions::new(Arc::new(SystemClock), ids).wait(wait).create(false).read_only(true);
    let store = match options.connect(location) {
        Ok(store) => store,
        Err(error) => {
            return vec![Finding::problem(AREA, error.to_string(), "check the URL, the server and its rights")];
        }
    };
    let mut findings = vec![Finding::ok(AREA, format!("{location}, schema as this build writes it"))];
    if full {
        findings.extend(report(store.verify(&mut |_| {})));
    }
    findings
}

fn file(path: &Path, metadata: &Metadata) -> Finding {
    let message = format!("{}, {}{}", path.display(), size(metadata.len()), mode(metadata));
    if others_write(metadata) {
        return Finding::note(AREA, message, "others may change it: `chmod go-w` takes that permission away");
    }
    Finding::ok(AREA, message)
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> String {
    format!(", mode {:o}", std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777)
}

#[cfg(unix)]
fn others_write(metadata: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o022 != 0
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> String {
    String::new()
}

#[cfg(not(unix))]
fn others_write(_: &Metadata) -> bool {
    false
}

fn wal(path: &Path) -> Option<Finding> {
    let bytes = fs::metadata(sidecar_path(path, "-wal")).ok()?.len();
    let message = format!("write-ahead log: {}", size(bytes));
    Some(if bytes > LARGE_WAL_BYTES {
        Finding::note(AREA, message, "a program that has the file open keeps the log; end it, then run any command")
    } else {
        Finding::ok(AREA, message)
    })
}

/// Checks whether another process holds the write lock.
#[cfg(unix)]
fn write_lock(path: &Path, config: &Config) -> Option<Finding> {
    let pid = super::write_lock::holder(&sidecar_path(path, "-shm"))?;
    let message = format!("process {pid} holds the write lock");
    let advice = format!("wait until it is done, or end it; other writers give up after {} s", config.wait_seconds());
    Some(Finding::note(AREA, message, advice))
}

#[cfg(not(unix))]
fn write_lock(_: &Path, _: &Config) -> Option<Finding> {
    None
}

/// Checks the free space of the disk of the database file.
fn space(path: &Path, file: u64) -> Option<Finding> {
    let full = std::path::absolute(path).ok()?;
    let free = free_bytes(full.ancestors().find(|folder| folder.exists())?)?;
    let message = format!("free disk space: {}", size(free));
    Some(if free < LOW_DISK_BYTES {
        Finding::problem(AREA, message, "make room: commits fail when the disk is full")
    } else if free < file {
        Finding::note(AREA, message, "make room: a backup or a migration needs as much as the file")
    } else {
        Finding::ok(AREA, message)
    })
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Checks schema, integrity and journal.
fn content(path: &Path, config: &Config, full: bool) -> Vec<Finding> {
    let ids = match os_ids() {
        Ok(ids) => ids,
        Err(error) => return vec![Finding::problem(AREA, error.to_string(), "the system gives no random numbers")],
    };
    let wait = Duration::from_secs(config.wait_seconds().min(MAX_LOCK_WAIT_SECONDS).into());
    let options = OpenOptions::new(Arc::new(SystemClock), ids).wait(wait).create(false);
    let inspection = match options.inspect(path) {
        Ok(inspection) => inspection,
        Err(error) => return vec![Finding::problem(AREA, error.to_string(), advice(&error))],
    };
    let mut findings = vec![schema(&inspection)];
    findings.extend(inspection.problems.iter().map(damage));
    if inspection.problems.is_empty() {
        let entries = inspection.entries;
        findings.push(Finding::ok(AREA, format!("quick check: no damage, {entries} journal entries")));
    }
    if full && inspection.schema == inspection.supported {
        findings.extend(verified(&options.read_only(true), path));
    }
    findings
}

fn schema(inspection: &Inspection) -> Finding {
    let Inspection { schema, supported, .. } = inspection;
    if schema < supported {
        let message = format!("schema {schema}; this build writes {supported}");
        return Finding::note(
            AREA,
            message,
            "the next command that opens it migrates it, after a copy is made beside it",
        );
    }
    Finding::ok(AREA, format!("schema {schema}, as this build writes it"))
}

fn verified(options: &OpenOptions, path: &Path) -> Vec<Finding> {
    report(options.open(path).and_then(|store| store.verify(&mut |_| {})))
}

/// Returns the findings of a full check.
fn report(verified: loomtree::store::Result<VerifyReport>) -> Vec<Finding> {
    match verified {
        Ok(report) if report.problems.is_empty() => {
            let checked = format!("{}, {}", count(report.trees, "tree"), count(report.nodes, "node"));
            vec![Finding::ok(AREA, format!("full check: no damage in {checked}"))]
        }
        Ok(report) => report.problems.iter().map(damage).collect(),
        Err(error) => vec![Finding::problem(AREA, error.to_string(), advice(&error))],
    }
}

fn damage(problem: &String) -> Finding {
    Finding::problem(AREA, problem, "`loom rebuild` corrects counts; replace damaged content by a backup")
}

fn advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => "update loomtree, or name another file with --db",
        StoreError::Busy { .. } => "end the process that holds the lock, or try again",
        StoreError::NotADatabase { .. } => "name the database with --db",
        StoreError::Damaged { .. } | StoreError::Undecodable(_) => "replace it by a backup",
        StoreError::MigrationDiffers { .. } => "use the program that wrote the file",
        StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. } => {
            "correct the permissions of the file and its folder, or name another file with --db"
        }
        _ => "copy the file before anything else, then run `loom verify`",
    }
}

/// Checks for abandoned partial replies, interrupted migrations and copies of older schemas.
fn leftovers(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let partials = files(&sidecar_path(path, ".drafts"), |name| name.ends_with(".draft"));
    let abandoned = partials.iter().filter(|partial| is_abandoned(partial)).count() as u64;
    if abandoned > 0 {
        let message = format!("{} of interrupted replies", count(abandoned, "draft"));
        findings.push(Finding::note(AREA, message, "the next command that opens the database saves them as nodes"));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return findings;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let copies = format!("{name}.schema-");
    let of = |end: &str| files(folder, |name| name.starts_with(&copies) && name.ends_with(end));
    for part in of(".part") {
        let message = format!("{} was left by a migration that was cut off", part.display());
        findings.push(Finding::note(AREA, message, "remove it when no other loom runs"));
    }
    for copy in of(".bak") {
        let message = format!("{} is a copy from before a migration", copy.display());
        findings.push(Finding::note(AREA, message, "remove it when you no longer need it"));
    }
    findings
}

/// True if no process writes the partial reply: its lock is free.
fn is_abandoned(partial: &Path) -> bool {
    File::open(partial).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Returns the entries of a folder whose names match, sorted; empty if the folder cannot be read.
pub(super) fn files(folder: &Path, matches: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(&matches)).map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes >> 20),
    }
}
