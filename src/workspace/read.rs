//! `read_file`: returns a page of numbered lines.
//!
//! The line numbers tell the model the next `from`. With the bar after them, no line of a file can look like a command
//! or an answer.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read as _},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    known_files::AgentFiles,
    sandbox_dir,
    tools::{Answer, MAX_ANSWER_BYTES, WorkspaceTool, arguments, blocking, lines},
};
use crate::{
    tools::{ErrorCode, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Maximum lines of an answer.
const MAX_LINES: usize = 400;
/// Maximum bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 1_000;
/// Maximum bytes of a file that are scanned.
const MAX_SCANNED_BYTES: u64 = 256 << 20;

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "read_file",
    description: "Reads a text file of the workspace, each line with its number and a bar, which are not part of it.",
    permission: Permission::DocRead,
    only_confirms: false,
    parameters,
    run,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, from the workspace's folder." },
            "from": { "type": "integer", "description": "The first line, counted from 1." },
            "lines": { "type": "integer", "description": "How many lines at most." },
        },
        "required": ["path"],
    })
}

#[derive(Deserialize)]
struct ReadParams {
    path: String,
    from: Option<usize>,
    lines: Option<usize>,
}

fn run(files: Arc<AgentFiles>, given: Value) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        let params: ReadParams = arguments(given)?;
        blocking(move || read(&files, &params)).await
    })
}

fn read(files: &AgentFiles, params: &ReadParams) -> Answer {
    let path = files.root().resolve(&params.path)?;
    let file = files.root().file(&path)?;
    let fail = |error: io::Error| files.root().failure(&path, &error);
    let size = file.metadata().map_err(fail)?.len();
    let from = params.from.unwrap_or(1).max(1);
    let most = params.lines.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
    let (page, by) = if size <= sandbox_dir::MAX_EDIT_BYTES {
        let content = files.root().content(&path)?;
        let real = files.root().canonical(&path)?;
        let by = files.modified_by(&real, &content);
        files.record_read(&real, content.hash);
        (read_page(Cursor::new(content.bytes), from, most).map_err(fail)?, by)
    } else {
        (read_page(BufReader::with_capacity(64 * 1024, file.take(MAX_SCANNED_BYTES)), from, most).map_err(fail)?, None)
    };
    let name = sandbox_dir::display_path(&path);
    let Some(page) = page else {
        return Err(ToolError::new(
            ErrorCode::Conflict,
            format!("{name} is binary ({size} bytes); only text can be read"),
        ));
    };
    let mut text = match (page.all, size > MAX_SCANNED_BYTES) {
        (0, _) => format!("{name} is empty"),
        (all, false) => format!("{name} · {}", lines(all)),
        (all, true) => format!("{name} · {size} bytes, of which the first {MAX_SCANNED_BYTES} have {}", lines(all)),
    };
    if let Some(by) = by {
        text.push_str(&format!(" · last changed by {by}"));
    }
    if page.lossy {
        text.push_str(" · not UTF-8: invalid bytes are shown as �");
    }
    text.push('\n');
    text.push_str(&page.text);
    if page.shown == 0 && page.all > 0 {
        text.push_str(&format!("there is no line {from}"));
    } else if page.next <= page.all {
        let left = lines(page.all + 1 - page.next);
        text.push_str(&format!("… {left} more: → read_file path:\"{name}\" from:{}", page.next));
    }
    Ok(text)
}

/// Page of a file.
struct FilePage {
    text: String,
    /// Number of lines in the page.
    shown: usize,
    /// First line after the page, counted from 1.
    next: usize,
    /// Number of lines in the file.
    all: usize,
    lossy: bool,
}

/// Reads a page from line `from`; `None` if the file is binary.
fn read_page(mut reader: impl BufRead, from: usize, most: usize) -> io::Result<Option<FilePage>> {
    let mut page = FilePage { text: String::new(), shown: 0, next: from, all: 0, lossy: false };
    let mut line = Vec::new();
    loop {
        let Some(length) = next_line(&mut reader, &mut line)? else { return Ok(Some(page)) };
        if line.contains(&0) {
            return Ok(None);
        }
        page.all += 1;
        if page.all < from || page.shown >= most || page.text.len() >= MAX_ANSWER_BYTES {
            continue;
        }
        let kept = line.strip_suffix(b"\r").unwrap_or(&line);
        let text = String::from_utf8_lossy(kept);
        // A character that the truncation splits does not make the file lossy.
        let cut = length > line.len();
        page.lossy |= std::str::from_utf8(kept).is_err_and(|error| !cut || error.error_len().is_some());
        page.text.push_str(&format!("{:>4}│{}", page.all, text.trim_end_matches(if cut { '\u{fffd}' } else { '\n' })));
        if cut {
            page.text.push_str(&format!("… [{} bytes more in this line]", length - line.len()));
        }
        page.text.push('\n');
        (page.shown, page.next) = (page.shown + 1, page.all + 1);
    }
}

/// Reads a line without its terminator, at most [`MAX_LINE_BYTES`] of it. Returns its full length, or `None` at the
/// end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<usize>> {
    line.clear();
    let (mut length, mut started) = (0, false);
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(started.then_some(length));
        }
        started = true;
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&piece[..piece.len().min(MAX_LINE_BYTES.saturating_sub(line.len()))]);
        length += piece.len();
        let read = piece.len() + usize::from(end.is_some());
        reader.consume(read);
        if end.is_some() {
            return Ok(Some(length));
        }
    }
}
