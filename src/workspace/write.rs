//! `write_file`: creates or replaces a whole file.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use super::{
    known_files::AgentFiles,
    sandbox_dir,
    tools::{Answer, WorkspaceTool, arguments, blocking, lines},
};
use crate::types::Permission;
use futures_util::future::BoxFuture;

/// Context lines of a diff.
const DIFF_CONTEXT_LINES: usize = 3;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "write_file",
    description: "Writes a whole file of the workspace. A file that is there has to be read before; to change a part of \
                  it, use edit_file.",
    permission: Permission::DocWrite,
    only_confirms: true,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, from the workspace's folder. Folders are made." },
            "content": { "type": "string", "description": "The whole content of the file." },
        },
        "required": ["path", "content"],
    })
}

#[derive(Deserialize)]
struct WriteParams {
    path: String,
    content: String,
}

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let WriteParams { path, content } = arguments(given)?;
        let written = files.root().resolve(&path)?;
        let (reader, content) = (Arc::clone(&files), Arc::new(content));
        let (path, before) = blocking(move || {
            let path = reader.root().canonical(&written)?;
            let before = reader.root().content_if_any(&path)?;
            if let Some(now) = &before {
                reader.check_was_read(&path, now)?;
            }
            Ok((path, before))
        })
        .await?;
        let name = sandbox_dir::display_path(&path);
        if before.as_ref().is_some_and(|now| now.bytes == content.as_bytes()) {
            return Ok(format!("{name} has this content already; nothing was written"));
        }
        let old = before.as_ref().map(|now| String::from_utf8_lossy(&now.bytes).into_owned());
        if !files.state.settings.allowlist.allows_file(&path) {
            let verb = if old.is_some() { "overwrite" } else { "create" };
            let what = format!("{verb} {name} ({})", lines(content.lines().count()));
            files.ask(&TOOL, &name, what, diff(old.as_deref().unwrap_or_default(), &content)).await?;
        }
        let count = lines(content.lines().count());
        let hash = before.map(|now| now.hash);
        blocking(move || files.write_if_unchanged(&path, hash, content.as_bytes())).await?;
        Ok(match old {
            None => format!("created {name} · {count}"),
            Some(old) => format!("overwrote {name} · {count}, before {}", old.lines().count()),
        })
    })
}

/// Formats a change as a unified diff.
pub(super) fn diff(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(DIFF_CONTEXT_LINES).to_string()
}
