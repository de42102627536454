//! Two branches compared, word by word.

use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use super::{Asked, PATH};
use crate::{
    id::NodeId,
    model::Node,
    ops::Result,
    tui::{
        message::Answer,
        text::{self, Piece},
        theme::{Palette, Role},
    },
};

impl Asked<'_> {
    /// Two branches, word by word, from where they part.
    pub(super) fn diff(&self, one: NodeId, other: NodeId) -> Result<Answer> {
        let snapshot = self.loom.snapshot()?;
        let read = |id| snapshot.path_back(id, &self.about.versions, PATH);
        let (left, right) = (read(one)?, read(other)?);
        let common = left.iter().zip(&right).take_while(|(left, right)| left.id == right.id).count();
        let text =
            |path: &[Node]| path[common..].iter().map(|node| node.content.trim_end()).collect::<Vec<_>>().join("\n\n");
        let palette = self.about.palette;
        let pieces = compared(&text(&left), &text(&right), palette);
        let name = |path: &[Node]| path.last().map(|node| node.local.to_string()).unwrap_or_default();
        let parted = match left.get(common.saturating_sub(1)) {
            Some(node) if common > 0 => format!("they part after {}", node.local),
            _ => "they share no beginning".to_owned(),
        };
        let mut lines = vec![
            Line::from(vec![
                Span::styled(name(&left), palette.style(Role::Gone)),
                Span::raw(" → "),
                Span::styled(name(&right), palette.style(Role::Added)),
                self.dim(format!("   {parted}")),
            ]),
            Line::default(),
        ];
        if pieces.is_empty() {
            lines.push(Line::from(self.dim("there is no difference")));
        }
        lines.extend(text::wrap(&pieces, self.about.columns, &[], &[]));
        Ok(Answer::Page("two branches".to_owned(), lines))
    }
}

/// Two texts in one: what went, what came, and what is in both. Changes with nothing but spaces between them are one change.
fn compared(before: &str, after: &str, palette: Palette) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut gone, mut added, mut space) = (String::new(), String::new(), String::new());
    let flush = |gone: &mut String, added: &mut String, pieces: &mut Vec<Piece>| {
        let plain = palette == Palette::Plain;
        // A space that both end with is in both.
        let shared = gone.ends_with(' ') && added.ends_with(' ');
        if shared {
            gone.pop();
            added.pop();
        }
        let both = !gone.is_empty() && !added.is_empty();
        for (text, role, open, close) in [(gone, Role::Gone, "[-", "-]"), (added, Role::Added, "{+", "+}")] {
            let text = std::mem::take(text);
            if !text.is_empty() {
                // Without colours, signs say which is which.
                let text = if plain { format!("{open}{text}{close}") } else { text };
                let apart = both && role == Role::Gone && !plain && !text.ends_with(char::is_whitespace);
                pieces.push((text, palette.style(role)));
                if apart {
                    pieces.push((" ".to_owned(), palette.style(Role::Words)));
                }
            }
        }
        if shared {
            pieces.push((" ".to_owned(), palette.style(Role::Words)));
        }
    };
    let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(1)).diff_words(before, after);
    for change in diff.iter_all_changes() {
        let open = !gone.is_empty() || !added.is_empty();
        match change.tag() {
            ChangeTag::Equal if open && change.value().trim().is_empty() => space.push_str(change.value()),
            ChangeTag::Equal => {
                flush(&mut gone, &mut added, &mut pieces);
                let kept = std::mem::take(&mut space) + change.value();
                pieces.push((kept, palette.style(Role::Words)));
            }
            tag => {
                let between = std::mem::take(&mut space);
                if !between.is_empty() {
                    gone.push_str(&between);
                    added.push_str(&between);
                }
                if tag == ChangeTag::Delete { gone.push_str(change.value()) } else { added.push_str(change.value()) }
            }
        }
    }
    flush(&mut gone, &mut added, &mut pieces);
    pieces
}
