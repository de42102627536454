//! A page of a tree in one file, without scripts: branches are folded and unfolded by the browser itself.

use std::io::Write;

use super::{
    ArchiveError, TreeExport,
    outline::{NodeRun, runs},
};
use crate::types::AuthorType;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}article{margin:.8rem 0;padding:.5rem .8rem;border-left:3px solid #bbb;white-space:pre-wrap;\
overflow-wrap:anywhere}article.human{border-color:#2a6}article.model{border-color:#36c}\
header{font-size:.8rem;color:#666}details{margin-left:1rem}summary{cursor:pointer;color:#36c}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}header{color:#999}}";

/// A step of the walk over the runs.
enum PageStep {
    Open(usize, bool),
    Close,
}

pub(super) fn write(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), ArchiveError> {
    let runs = runs(export)?;
    export.report.written = runs.len() as u64;
    let title = escape(&export.tree.title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <h1>{title}</h1>\n"
    )?;
    // A stack instead of recursion: a tree may be deeper than the thread's stack.
    let roots = (0..runs.len()).rev().filter(|index| runs[*index].parent.is_none());
    let mut steps: Vec<PageStep> = roots.map(|root| PageStep::Open(root, false)).collect();
    while let Some(step) = steps.pop() {
        match step {
            PageStep::Close => writeln!(out, "</details>")?,
            PageStep::Open(index, is_branch) => {
                let run = &runs[index];
                if is_branch {
                    let label = escape(&run.label(80));
                    writeln!(out, "<details><summary>{label}</summary>")?;
                    steps.push(PageStep::Close);
                }
                write_run(export, run, out)?;
                let branches = run.children.iter().rev();
                steps.extend(branches.map(|child| PageStep::Open(*child, true)));
            }
        }
    }
    Ok(writeln!(out, "</html>")?)
}

fn write_run(export: &TreeExport<'_>, run: &NodeRun, out: &mut dyn Write) -> Result<(), ArchiveError> {
    for node in &run.nodes {
        let class = match node.role() {
            AuthorType::Human => "human",
            AuthorType::Model => "model",
            AuthorType::Tool => "tool",
            AuthorType::System => "system",
        };
        let mark = node.state.bookmark.as_ref().map(|label| format!(" · ★ {}", escape(label))).unwrap_or_default();
        writeln!(
            out,
            "<article class=\"{class}\" id=\"{}\"><header>{} · {}{mark}</header>{}</article>",
            node.local,
            escape(&export.speaker(node)),
            node.local,
            escape(node.content.trim_end())
        )?;
    }
    Ok(())
}

/// Escapes a text for HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}
