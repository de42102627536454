//! Texts of nodes and results, cut in the middle to a number of tokens.

use super::node_renderer::{NodeRenderer, escape_headers};
use crate::types::{Node, ceil_char_boundary, floor_char_boundary};

/// Tokens reserved for the marker in a truncated text.
const MARKER_TOKENS: u32 = 40;
/// A text is cut only if it is longer than its limit by more than an eighth: the marker and reading it again cost tokens too.
const MIN_CUT_DIVISOR: u32 = 8;

/// True if a text of so many tokens is long enough to be cut to `most`.
pub(super) fn is_worth_cutting(tokens: u32, most: u32) -> bool {
    tokens > most.saturating_add(most / MIN_CUT_DIVISOR)
}

/// Truncates a node's content to `most` tokens: its beginning and end, with a marker that names the command for the
/// rest.
pub(super) fn truncate_node(renderer: &NodeRenderer, node: &Node, most: u32) -> String {
    let text = renderer.words(node).trim_end_matches('\n');
    let all = renderer.estimate_tokens(text);
    let mut half = text.len() as u64 * u64::from(most.saturating_sub(MARKER_TOKENS)) / u64::from(all.max(1)) / 2;
    loop {
        let bytes = usize::try_from(half).unwrap_or(usize::MAX).min(text.len() / 2);
        let (left, right) = text_ends(text, bytes);
        let gone = all.saturating_sub(renderer.estimate_tokens(left) + renderer.estimate_tokens(right));
        let shown = if renderer.aware {
            // A half may start within a line, so each is escaped separately.
            let (left, right, id) = (escape_headers(left), escape_headers(right), &node.local);
            format!("{left}\n[about {gone} tokens of this node are not shown here · → view {id} full]\n{right}")
        } else {
            format!("{left}\n[…]\n{right}")
        };
        if half == 0 || renderer.estimate_tokens(&shown) <= most {
            return shown;
        }
        half -= half.div_ceil(16);
    }
}

/// Cuts the middle of a text of so many tokens to `most`, with a note.
pub(super) fn cut_middle(renderer: &NodeRenderer, (text, tokens): (&str, u32), most: u32, note: &str) -> String {
    let kept = text.len() as u64 * u64::from(most.saturating_sub(MARKER_TOKENS)) / u64::from(tokens.max(1)) / 2;
    let (left, right) = text_ends(text, usize::try_from(kept).unwrap_or(0));
    let gone = tokens.saturating_sub(renderer.estimate_tokens(left) + renderer.estimate_tokens(right));
    format!("{left}\n[about {gone} tokens are not shown here · {}]\n{right}", note.trim_matches(['[', ']']))
}

/// Returns the beginning and the end of a text, each of at most so many bytes, up to half of the text. Both end at a line's
/// border if there is one in the quarter next to the cut.
fn text_ends(text: &str, bytes: usize) -> (&str, &str) {
    let (left, right) = (floor_char_boundary(text, bytes), ceil_char_boundary(text, text.len() - bytes));
    let is_near = |distance: &usize| *distance <= bytes / 4;
    // A break may follow or precede the cut.
    let last = memchr::memrchr(b'\n', &text.as_bytes()[..(left + 1).min(text.len())]);
    let first = memchr::memchr(b'\n', &text.as_bytes()[right.saturating_sub(1)..]);
    let left = last.filter(|at| is_near(&left.saturating_sub(*at))).unwrap_or(left);
    let right = first.filter(is_near).map_or(right, |distance| right.saturating_sub(1) + distance + 1);
    (&text[..left], &text[right..])
}
