//! Usual places of other programs' conversations, for `loom import` without a path and for `--watch`.

use std::{
    collections::{BTreeSet, HashMap},
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use loomtree::interchange::{self, Format, ImportOptions, Imported};

use super::import::{Args, files_below, files_of, import, print_summary};
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, DIM, count, paint},
    progress,
    sanitize::one_line,
};

/// Folders of each format: variables with the program's folder and the parts below it, and folders in the home folder.
type UsualPlaces = (Format, &'static [(&'static str, &'static str)], &'static [&'static str]);

const USUAL_PLACES: &[UsualPlaces] = &[
    (Format::ClaudeCode, &[("CLAUDE_CONFIG_DIR", "projects")], &[".claude/projects", ".config/claude/projects"]),
    (
        Format::Codex,
        &[("CODEX_HOME", "sessions"), ("CODEX_HOME", "archived_sessions")],
        &[".codex/sessions", ".codex/archived_sessions"],
    ),
    (Format::Gemini, &[], &[".gemini/tmp"]),
    (Format::Pi, &[("PI_CODING_AGENT_SESSION_DIR", ""), ("PI_CODING_AGENT_DIR", "sessions")], &[".pi/agent/sessions"]),
    (
        Format::Llm,
        &[("LLM_USER_PATH", "")],
        &[".config/io.datasette.llm", "Library/Application Support/io.datasette.llm"],
    ),
    (Format::OpenCode, &[("XDG_DATA_HOME", "opencode")], &[".local/share/opencode"]),
    (
        Format::Goose,
        &[("XDG_DATA_HOME", "goose/sessions")],
        &[".local/share/goose/sessions", "Library/Application Support/Block/goose/sessions"],
    ),
    (
        Format::Zed,
        &[("XDG_DATA_HOME", "zed/threads")],
        &[".local/share/zed/threads", "Library/Application Support/Zed/threads"],
    ),
    (
        Format::Cursor,
        &[],
        &[".config/Cursor/User/globalStorage", "Library/Application Support/Cursor/User/globalStorage"],
    ),
];

/// Length of a file, and time of its last change.
type FileState = (u64, Option<SystemTime>);

/// Time between two looks at watched files.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// A folder with conversations of one program.
struct HistorySource {
    format: Format,
    folder: PathBuf,
    files: Vec<PathBuf>,
}

/// Finds the folders that exist and the files in them that are conversations.
fn find_sources() -> Result<Vec<HistorySource>> {
    let home = directories::BaseDirs::new().map(|folders| folders.home_dir().to_owned());
    let mut sources = Vec::new();
    for (format, variables, in_home) in USUAL_PLACES {
        let named =
            variables.iter().filter_map(|(name, below)| Some(PathBuf::from(std::env::var_os(name)?).join(below)));
        let usual = in_home.iter().filter_map(|place| Some(home.as_ref()?.join(place)));
        let folders: BTreeSet<PathBuf> = named.chain(usual).filter(|folder| folder.is_dir()).collect();
        for folder in folders {
            let mut files = files_below(&folder)?;
            files.retain(|file| interchange::detect_path(file) == Some(*format));
            if !files.is_empty() {
                sources.push(HistorySource { format: *format, folder, files });
            }
        }
    }
    Ok(sources)
}

/// Lists the conversations of the usual places, and imports them if the user agrees.
pub(super) fn offer(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let sources = find_sources()?;
    if sources.is_empty() {
        return Err(CliError::Failed {
            message: "no conversations of other programs in the usual places".to_owned(),
            hint: Some("`loom import PATH` imports files and folders".to_owned()),
        });
    }
    let mut new = 0;
    for source in &sources {
        let found = count_source(source, cx)?;
        new += found.nodes;
        print_source(source, &found, cx)?;
    }
    if new == 0 && !cx.out.json {
        writeln!(cx.out, "everything is imported already")?;
    }
    if new == 0 || args.dry_run || !args.yes && !agrees(cx)? {
        return Ok(());
    }
    for source in &sources {
        let options = ImportOptions::default().format(source.format);
        for file in &source.files {
            let imported = import(file, options, cx)?;
            if imported.nodes > 0 || !imported.problems.is_empty() {
                print_summary(file, &imported, cx)?;
            }
        }
    }
    Ok(())
}

/// Counts what an import of a source would add.
fn count_source(source: &HistorySource, cx: &CommandContext<'_>) -> Result<Imported> {
    let bar = progress::bar("reading", source.files.len() as u64, false);
    let mut total = Imported::default();
    for file in &source.files {
        let options = ImportOptions::default().format(source.format).dry_run(true);
        total.add(&import(file, options, cx)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(total)
}

fn print_source(source: &HistorySource, found: &Imported, cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json {
        return Ok(cx.out.json(&serde_json::json!({
            "format": source.format.as_str(), "folder": source.folder, "files": source.files.len(),
            "conversations": found.conversations, "messages": found.messages, "branches": found.branches,
            "new": found.nodes,
        }))?);
    }
    let facts = [
        count(found.conversations, "conversation"),
        count(found.messages, "message"),
        count(found.branches, "new branch"),
        count(found.nodes, "new node"),
    ];
    let folder = one_line(&source.folder.display().to_string());
    writeln!(
        cx.out,
        "{}  {}  {}",
        paint(BOLD, format!("{:<12}", source.format.as_str())),
        paint(DIM, folder),
        facts.join(", ")
    )?;
    Ok(())
}

/// Asks on a terminal; elsewhere names the option that agrees.
fn agrees(cx: &mut CommandContext<'_>) -> Result<bool> {
    if cx.out.json || !io::stdin().is_terminal() {
        writeln!(io::stderr(), "nothing was imported; --yes imports it").map_err(|e| CliError::io("writing", e))?;
        return Ok(false);
    }
    write!(cx.out, "Import it? [y/N] ")?;
    cx.out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|e| CliError::io("reading the terminal", e))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Length and time of a change, by which a change is noticed. A folder changes with the folders in it.
fn state_of(path: &Path) -> io::Result<FileState> {
    let metadata = path.metadata()?;
    let mut newest = metadata.modified().ok();
    if metadata.is_dir() {
        for entry in path.read_dir()? {
            newest = newest.max(entry?.metadata()?.modified().ok());
        }
    }
    Ok((metadata.len(), newest))
}

/// Imports files whenever they change, until the process ends. Without paths, the files of the usual places.
pub(super) fn watch(args: &Args, options: ImportOptions, cx: &mut CommandContext<'_>) -> Result<()> {
    let mut known: HashMap<PathBuf, FileState> = HashMap::new();
    for path in &args.paths {
        files_of(path)?;
    }
    loop {
        let mut files: Vec<(PathBuf, Option<Format>)> = Vec::new();
        for path in &args.paths {
            // A file may vanish while its folder is read; the next round reads it again.
            files.extend(files_of(path).unwrap_or_default().into_iter().map(|file| (file, options.format)));
        }
        if args.paths.is_empty() {
            for source in find_sources()? {
                files.extend(source.files.into_iter().map(|file| (file, Some(source.format))));
            }
        }
        for (file, format) in files {
            let Ok(state) = state_of(&file) else { continue };
            if known.get(&file) == Some(&state) || format.or_else(|| interchange::detect_path(&file)).is_none() {
                continue;
            }
            match import(&file, format.map_or(options, |format| options.format(format)), cx) {
                Ok(imported) if imported.nodes > 0 => {
                    print_summary(&file, &imported, cx)?;
                    cx.out.flush()?;
                }
                Ok(_) => {}
                Err(error @ CliError::Cancelled) => return Err(error),
                // A writer may begin with an empty file, a file may vanish, and the database may be busy.
                Err(error) => {
                    let message = one_line(&error.message());
                    writeln!(io::stderr(), "{message}").map_err(|error| CliError::io("writing", error))?;
                }
            }
            // A line that was not complete is imported with the next change.
            known.insert(file, state);
        }
        std::thread::sleep(WATCH_INTERVAL);
    }
}
