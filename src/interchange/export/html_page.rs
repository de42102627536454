//! The web page with a tree in one file: the scripts and styles that the server sends, and the tree as JSON. It needs no
//! server and no network: the policy in its head allows its own script and style by their hashes, and nothing else.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use serde::Serialize;

use super::{sha256, tree_export::TreeExport};
use crate::{
    id::NodeId,
    interchange::InterchangeError,
    markdown_tokens::{self, MarkdownToken},
    types::{AuthorType, EdgeKind, Node, Timestamp},
    web_page_files,
};

/// Node of the file. Other nodes are named by their index.
#[derive(Serialize)]
struct PageNode<'a> {
    id: NodeId,
    local_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    /// Node whose version it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    version_of: Option<usize>,
    author: &'a str,
    author_type: AuthorType,
    role: AuthorType,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bookmark: Option<&'a str>,
    excluded: bool,
    pruned: bool,
    interrupted: bool,
    markdown: Vec<MarkdownToken>,
    left_out: usize,
    /// Text of the thought that belongs to `parent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<&'a str>,
}

pub(super) fn write(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), InterchangeError> {
    let (style, script) = (web_page_files::styles(), web_page_files::script("offline.js"));
    let title = escape(&export.tree.title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <noscript>This file shows a tree of conversations with JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"tree\">",
        sha256::base64_hash(&script),
        sha256::base64_hash(&style),
    )?;
    let mut json = ScriptText(out);
    json.write_all(b"{\"tree\":")?;
    serde_json::to_writer(&mut json, &export.tree).map_err(io::Error::from)?;
    json.write_all(b",\"nodes\":[")?;
    export.report.written = write_nodes(export, &mut json)?;
    json.write_all(b"]}")?;
    Ok(write!(out, "</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n")?)
}

/// Writes the nodes that may be exported, parents first. Nodes below one that is left out hang on the nearest one above. The
/// parts of a node are one version, with their whole text.
fn write_nodes(export: &mut TreeExport<'_>, json: &mut ScriptText<'_>) -> Result<u64, InterchangeError> {
    // Indexes of the nodes on which continuations hang, and of the originals that are written.
    let mut places: HashMap<NodeId, Option<usize>> = HashMap::new();
    let mut originals: HashMap<NodeId, usize> = HashMap::new();
    // Versions that are written in place of an original that is left out.
    let mut replacements: HashSet<NodeId> = HashSet::new();
    let mut written = 0_usize;
    export.each_node(&mut |export, node| {
        let place = |of: Option<NodeId>| of.and_then(|id| places.get(&id).copied().flatten());
        let (parent, version_of, node) = match node.kind {
            EdgeKind::Continuation => {
                let (id, parent) = (node.id, place(node.parent));
                let first = export.first_version(node)?;
                places.insert(id, if first.is_some() { Some(written) } else { parent });
                if let Some(first) = &first {
                    originals.insert(id, written);
                    replacements.extend(Some(first.id).filter(|first| *first != id));
                }
                (parent, None, first)
            }
            EdgeKind::Version => {
                let original = export.snapshot.original(&node)?.id;
                let version_of = originals.get(&original).copied();
                // A part can have continuations of its own.
                places.insert(node.id, place(Some(original)));
                let is_written = export.admits(&node) && version_of.is_some() && !replacements.contains(&node.id);
                (None, version_of, if is_written { export.whole_version(node)? } else { None })
            }
            EdgeKind::Thought => {
                let parent = node.parent.and_then(|id| originals.get(&id).copied());
                let is_written = export.admits(&node) && parent.is_some();
                (parent, None, Some(node).filter(|_| is_written))
            }
            _ => return Ok(()),
        };
        if let Some(node) = node {
            if written > 0 {
                json.write_all(b",\n")?;
            }
            write_node(export, &node, (parent, version_of), json)?;
            written += 1;
        }
        Ok(())
    })?;
    Ok(written as u64)
}

fn write_node(
    export: &TreeExport<'_>,
    node: &Node,
    (parent, version_of): (Option<usize>, Option<usize>),
    json: &mut ScriptText<'_>,
) -> Result<(), InterchangeError> {
    let is_thought = node.kind == EdgeKind::Thought;
    let (markdown, left_out) = if is_thought { (Vec::new(), 0) } else { markdown_tokens::tokens(&node.content) };
    let page_node = PageNode {
        id: node.id,
        local_id: node.local.to_string(),
        parent,
        version_of,
        author: export.agents.get(&node.author).map_or("unknown", String::as_str),
        author_type: node.author_type,
        role: node.role(),
        created_at: node.created_at,
        tokens: node.tokens,
        bookmark: node.state.bookmark.as_deref(),
        excluded: node.state.excluded,
        pruned: node.state.hidden_by.is_some(),
        interrupted: node.interrupted,
        markdown,
        left_out,
        thought: is_thought.then_some(node.content.as_str()),
    };
    Ok(serde_json::to_writer(json, &page_node).map_err(io::Error::from)?)
}

/// Writer of JSON inside an element: no text can end the element, because `<` is written as an escape.
struct ScriptText<'a>(&'a mut dyn Write);

impl Write for ScriptText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = bytes.split(|byte| *byte == b'<');
        if let Some(first) = parts.next() {
            self.0.write_all(first)?;
        }
        for part in parts {
            self.0.write_all(b"\\u003c")?;
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
