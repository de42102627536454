//! `list_files`: lists the files below a folder. If there are too many, deep folders are collapsed into counts, so that
//! the answer covers the whole folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    known_files::AgentFiles,
    sandbox_dir,
    tools::{Answer, MAX_ANSWER_BYTES, WorkspaceTool, arguments, blocking},
    walk::{self, Deadline},
};
use crate::{exec::counts::count, types::Permission};
use futures_util::future::BoxFuture;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "list_files",
    description: "Lists the files of the workspace, or of a folder in it, without caches and what .gitignore names.",
    permission: Permission::DocRead,
    only_confirms: false,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The folder; without it, all of the workspace." },
            "files": { "type": "string", "description": "A glob that they must fit, such as *.rs or src/**/*.md." },
        },
    })
}

#[derive(Deserialize)]
struct ListParams {
    path: Option<String>,
    files: Option<String>,
}

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let params: ListParams = arguments(given)?;
        let (deadline, _waiting) = Deadline::begin();
        blocking(move || list(&files, &params, &deadline)).await
    })
}

fn list(files: &AgentFiles, params: &ListParams, deadline: &Deadline) -> Answer {
    let start = walk::start(files.root(), params.path.as_deref())?;
    let found = walk::files(files.root(), &start, params.files.as_deref(), deadline)?;
    let place = walk::display_folder(&start);
    let more = if found.incomplete { " or more" } else { "" };
    let mut text = format!("{place} · {}{more}", count(found.files.len() as u64, "file"));
    let base = if start == Path::new(".") { 0 } else { start.components().count() };
    let deepest = found.files.iter().map(|path| path.components().count()).max().unwrap_or(0);
    let lines =
        (base + 1..=deepest).rev().map(|depth| collapse_folders(&found.files, depth)).find(|lines| fits_answer(lines));
    let folded_away = lines.as_ref().is_some_and(|lines| lines.len() < found.files.len());
    let lines = lines.unwrap_or_else(|| collapse_folders(&found.files, base + 1));
    for (at, line) in lines.iter().enumerate() {
        if text.len() > MAX_ANSWER_BYTES {
            text.push_str(&format!("\n… {} more; name a path, or files by a glob", lines.len() - at));
            return Ok(text);
        }
        text.push('\n');
        text.push_str(line);
    }
    if folded_away {
        text.push_str("\n… to list a folder with a count: → list_files path:\"…\"");
    }
    Ok(text)
}

fn fits_answer(lines: &[String]) -> bool {
    lines.iter().map(|line| line.len() + 1).sum::<usize>() <= MAX_ANSWER_BYTES
}

/// Formats the paths, with folders deeper than `depth` collapsed into counts.
fn collapse_folders(files: &[PathBuf], depth: usize) -> Vec<String> {
    let mut folders: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for path in files {
        let deep = path.components().count() > depth;
        let kept: PathBuf = path.components().take(depth).collect();
        *folders.entry(kept).or_default() += u64::from(deep);
    }
    let line = |(path, inside): (PathBuf, u64)| match inside {
        0 => sandbox_dir::display_path(&path),
        inside => format!("{}/ ({})", sandbox_dir::display_path(&path), count(inside, "file")),
    };
    folders.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_folders_become_counts() {
        let files: Vec<PathBuf> = ["a", "src/b", "src/x/c", "src/x/d", "src/y/e"].map(PathBuf::from).to_vec();
        assert_eq!(collapse_folders(&files, 3), ["a", "src/b", "src/x/c", "src/x/d", "src/y/e"]);
        assert_eq!(collapse_folders(&files, 2), ["a", "src/b", "src/x/ (2 files)", "src/y/ (1 file)"]);
        assert_eq!(collapse_folders(&files, 1), ["a", "src/ (4 files)"]);
    }
}
