//! Authorship inside a node: which parts of an edited text are still a model's. Front ends that edit a buffer tree as one
//! text show it.

use similar::{ChangeTag, TextDiff};

use crate::{
    store::{Result, Snapshot},
    types::{AuthorType, EdgeKind, Node},
};

/// Versions of a node that are compared to determine authorship.
const MAX_VERSIONS: usize = 12;
/// Bytes of a node up to which authorship is computed by a diff.
const MAX_DIFF_BYTES: usize = 24_000;

/// Authorship of a node's content: lengths in bytes, and whether a model wrote them.
pub(crate) type Authorship = Vec<(usize, bool)>;

/// Computes the authorship of an edited text: unchanged parts keep their author, the rest is the editor's.
fn inherit_authorship(before: &str, authorship: &Authorship, after: &str, by_model: bool) -> Authorship {
    if before.len().max(after.len()) > MAX_DIFF_BYTES {
        return vec![(after.len(), by_model)];
    }
    let mut owners = authorship.iter().flat_map(|(length, model)| std::iter::repeat_n(*model, *length));
    let mut found: Authorship = Vec::new();
    let mut push = |length: usize, model: bool| match found.last_mut() {
        Some((same, last)) if *last == model => *same += length,
        _ => found.push((length, model)),
    };
    let diff = TextDiff::configure().timeout(std::time::Duration::from_millis(200)).diff_chars(before, after);
    for change in diff.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Insert => push(length, by_model),
            ChangeTag::Delete => drop(owners.by_ref().take(length).count()),
            ChangeTag::Equal => {
                for _ in 0..length {
                    push(1, owners.next().unwrap_or(by_model));
                }
            }
        }
    }
    found
}

/// Returns the authorship of a version: unchanged parts keep the author that they had in the version before.
pub(crate) fn authorship(snapshot: &dyn Snapshot, node: &Node) -> Result<Authorship> {
    let mut versions = vec![node.clone()];
    while versions.len() < MAX_VERSIONS
        && let Some(last) = versions.last().filter(|last| last.kind == EdgeKind::Version)
        && let Some(before) = last.edited_from.map(|id| snapshot.node(id)).transpose()?.flatten()
    {
        versions.push(before);
    }
    let mut before: Option<(String, Authorship)> = None;
    for node in versions.into_iter().rev() {
        let by_model = node.author_type == AuthorType::Model;
        let authorship = match &before {
            None => vec![(node.content.len(), by_model)],
            Some((words, authorship)) => inherit_authorship(words, authorship, &node.content, by_model),
        };
        before = Some((node.content, authorship));
    }
    Ok(before.map(|(_, authorship)| authorship).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_model_text_keeps_its_author() {
        let authorship = inherit_authorship("the sea answered.", &vec![(17, true)], "the grey sea answered!", false);
        let text = "the grey sea answered!";
        let mut at = 0;
        let mine: String = authorship
            .iter()
            .map(|(length, model)| {
                let piece = if *model { "" } else { &text[at..at + length] };
                at += length;
                piece
            })
            .collect();
        assert_eq!(at, text.len());
        assert_eq!(mine, "grey !");
    }
}
