//! `diff`: the difference of two nodes, where their paths diverge, and what stands between.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::{
    Answer, AnswerResult, AuthorNames, Executor, Position, counts, escape,
    node_format::{self, content, id, mention},
    word_diff::{WordChange, word_changes},
};
use crate::{
    arrow::NodeRef,
    id::NodeId,
    tools::{ErrorCode, ToolError},
    types::Node,
};

/// The maximum number of lines or words of both texts that are compared.
const MAX_DIFF_ITEMS: usize = 20_000;
/// The maximum nodes between a branch point and a compared node that are shown, and the characters of each.
const MAX_WAY_NODES: usize = 8;
const MAX_WAY_CHARS: usize = 400;
/// The least share of common words, in percent, with which the differences of texts are marked.
const MIN_SIMILARITY: usize = 40;

impl Executor<'_> {
    pub(super) fn diff(&self, here: &Position, nodes: &[NodeRef]) -> AnswerResult {
        let [first, second] = nodes else {
            let message = format!("two nodes are compared, and {} were named", nodes.len());
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint("→ diff ID ID"));
        };
        let (first, second) = (self.resolve_node(here, first)?, self.resolve_node(here, second)?);
        let snapshot = self.loom.snapshot()?;
        let path = |to: NodeId| snapshot.path_back(to, &here.session.versions, 0);
        let (one, two) = (path(first.id)?, path(second.id)?);
        let shared = one.iter().zip(&two).take_while(|(a, b)| a.id == b.id).count();
        let mut text = format!("{} ↔ {} · {}\n", id(&first), id(&second), describe_divergence(&one, &two, shared));
        if shared < one.len() && shared < two.len() {
            let names = self.author_names()?;
            for (path, end) in [(&one, &first), (&two, &second)] {
                push_way(&mut text, &path[shared..path.len() - 1], end, &names);
            }
        }
        text.push_str(&diff_text(&first, &second));
        Ok(Answer::about(text, format!("{} {}", first.local, second.local)))
    }
}

/// Describes where two paths diverge that have their first `shared` nodes in common.
fn describe_divergence(one: &[Node], two: &[Node], shared: usize) -> String {
    match one.get(..shared).and_then(<[Node]>::last) {
        Some(_) if shared == one.len() && shared == two.len() => "the same node".to_owned(),
        Some(_) if shared == one.len() => format!("the second is {} below the first", below(two, one)),
        Some(_) if shared == two.len() => format!("the first is {} below the second", below(one, two)),
        Some(node) => format!("their paths part after {} (depth:{})", id(node), node.depth),
        None => "their paths have nothing in common".to_owned(),
    }
}

/// Appends the nodes between a branch point and a compared node.
fn push_way(text: &mut String, way: &[Node], end: &Node, names: &AuthorNames) {
    let Some(first) = way.first() else { return };
    let _ = writeln!(text, "before {}:", id(end));
    for node in way.iter().take(MAX_WAY_NODES) {
        let _ =
            writeln!(text, "  {} {} · {}", id(node), names.full(node), node_format::gist_within(node, MAX_WAY_CHARS));
    }
    if let Some(more) = way.len().checked_sub(MAX_WAY_NODES).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … {more} more (→ view branch:{} from:{})", mention(end), mention(first));
    }
}

fn below(longer: &[Node], shorter: &[Node]) -> String {
    counts::count((longer.len() - shorter.len()) as u64, "step")
}

/// Compares two nodes: word by word if both are one paragraph, else line by line.
fn diff_text(first: &Node, second: &Node) -> String {
    let (old, new) = (first.content.as_str(), second.content.as_str());
    if old == new {
        return "the words are the same".to_owned();
    }
    let words = |text: &str| text.split_whitespace().count();
    if words(old) + words(new) > MAX_DIFF_ITEMS {
        return format!("too long to be compared: {} and {}", size(words(old)), size(words(new)));
    }
    if similarity(old, new) < MIN_SIMILARITY {
        let (old, new) = (content(first), content(second));
        return format!("they have little in common\n{}:\n{old}\n{}:\n{new}", id(first), id(second));
    }
    if !old.trim_end().contains('\n') && !new.trim_end().contains('\n') {
        return diff_words(old, new);
    }
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for (at, group) in diff.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            text.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            // Lines of content must not read as a result or a header.
            for line in escape::escape(change.value().trim_end_matches(['\n', '\r'])).split('\n') {
                let _ = writeln!(text, "{sign} {line}");
            }
        }
    }
    text.trim_end().to_owned()
}

/// Returns the share of words that two texts have in common, in percent.
fn similarity(old: &str, new: &str) -> usize {
    let (mut common, mut all) = (0, 0);
    for change in TextDiff::from_words(old, new).iter_all_changes().filter(|change| !change.value().trim().is_empty()) {
        let both = change.tag() == ChangeTag::Equal;
        common += if both { 2 } else { 0 };
        all += if both { 2 } else { 1 };
    }
    common * 100 / all.max(1)
}

fn size(words: usize) -> String {
    counts::count(words as u64, "word")
}

/// Marks deletions and insertions in one paragraph: `the [-old-]{+new+} word`.
fn diff_words(old: &str, new: &str) -> String {
    let mut text = String::new();
    for WordChange { same, gone, added } in word_changes(old, new) {
        text.push_str(&same);
        for (changed, open, close) in [(gone, "[-", "-]"), (added, "{+", "+}")] {
            if !changed.is_empty() {
                text.push_str(&format!("{open}{changed}{close}"));
            }
        }
    }
    escape::escape(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_marks_deleted_and_inserted_words() {
        assert_eq!(diff_words("a quick fox", "a slow fox"), "a [-quick-]{+slow+} fox");
        assert_eq!(diff_words("one", "one two"), "one{+ two+}");
        assert_eq!(diff_words("[a7x2kq] human", "[a7x2kq] model"), "\\[a7x2kq] [-human-]{+model+}");
    }
}
