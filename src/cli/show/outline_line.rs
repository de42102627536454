//! One line of an outline: guides, the node's head and text, and the mark of the current position.

use loomtree::types::{Node, Timestamp};
use unicode_width::UnicodeWidthStr as _;

use super::{author, marks, text_or_calls};
use crate::cli::{
    output::{BOLD, DIM, ID, paint},
    sanitize::cut,
};

/// Minimum columns of a node's text.
const MIN_TEXT_COLUMNS: usize = 12;

/// A line under construction, with its width in columns.
struct StyledLine {
    text: String,
    columns: usize,
}

impl StyledLine {
    fn push(&mut self, style: anstyle::Style, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.columns += piece.width();
        self.text.push_str(&paint(style, piece));
    }

    fn gap(&mut self) {
        self.columns += 2;
        self.text.push_str("  ");
    }
}

/// One line of an outline.
#[derive(Debug)]
pub(crate) struct OutlineLine {
    /// The branch guides before the text.
    pub(crate) guides: String,
    pub(crate) what: LineKind,
}

/// The content of a line.
#[derive(Debug)]
pub(crate) enum LineKind {
    /// A node; true if its continuations are omitted.
    Node(Box<Node>, bool),
    /// The number of folded nodes of a run.
    Folded(usize),
    /// The number of omitted siblings; `None` if pruned ones may be among them.
    Siblings(Option<usize>),
}

impl OutlineLine {
    /// Returns the printed line, at most `width` columns if the guides leave room for that.
    pub(crate) fn draw(&self, name: &str, is_current: bool, now: Timestamp, width: usize) -> String {
        let mut line = StyledLine { text: String::new(), columns: 0 };
        line.push(BOLD, if is_current { "* " } else { "  " });
        line.push(DIM, &self.guides);
        match &self.what {
            LineKind::Folded(folded) => line.push(DIM, &format!("⋮ {folded} more")),
            LineKind::Siblings(Some(more)) => line.push(DIM, &format!("… {more} more")),
            LineKind::Siblings(None) => line.push(DIM, "… more"),
            LineKind::Node(node, more) => {
                node_line(&mut line, node, name, now);
                line.gap();
                let tail = match (is_current, *more) {
                    (true, true) => "  ← you are here ▸",
                    (true, false) => "  ← you are here",
                    (false, true) => " ▸",
                    (false, false) => "",
                };
                let room = width.saturating_sub(line.columns + tail.width()).max(MIN_TEXT_COLUMNS);
                let words = cut(&text_or_calls(node), room);
                // A reply of tool calls alone is no passage.
                let is_dim = node.state.hidden_by.is_some() || node.content.trim().is_empty();
                let style = if is_dim { DIM } else { anstyle::Style::new() };
                line.push(style, &words);
                line.push(BOLD, tail);
            }
        }
        line.text
    }

    /// Returns the node of the line, if it shows one.
    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.what {
            LineKind::Node(node, _) => Some(node),
            _ => None,
        }
    }

    /// True if nodes after the line are omitted.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.what, LineKind::Node(_, true) | LineKind::Siblings(_))
    }
}

fn node_line(line: &mut StyledLine, node: &Node, name: &str, now: Timestamp) {
    line.push(ID, node.local.as_str());
    line.gap();
    let (name, style) = author(name, node.author_type);
    line.push(style, &name);
    line.push(DIM, &format!(" {}", node.created_at.age(now)));
    for (mark, style) in marks(node) {
        line.gap();
        line.push(style, &mark);
    }
}
