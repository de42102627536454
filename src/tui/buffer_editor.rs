//! Editor for the text of a path without node boundaries. Each byte records its node and whether a model wrote it. So
//! saving creates versions of the changed nodes only, and model text stays visible as such.

use std::ops::Range;

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{
    editor::Editor,
    line_wrap::Piece,
    theme::{ColorRole, Palette},
};
use crate::{exec::authorship::Authorship, id::NodeId, types::AuthorType};

/// A node's part of the text, as read from the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProsePart {
    pub(crate) id: NodeId,
    pub(crate) content: String,
    pub(crate) author: AuthorType,
    pub(crate) authorship: Authorship,
}

/// Part that a byte belongs to, and whether a model wrote it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProseMark {
    part: usize,
    model: bool,
}

/// Text with its cursor, and the origin of each byte.
#[derive(Debug)]
pub(crate) struct BufferEditor {
    pub(crate) editor: Editor,
    parts: Vec<ProsePart>,
    marks: Vec<ProseMark>,
    /// Text that is being saved; keys wait until that has ended.
    pub(crate) saving_text: Option<String>,
    /// Text whose save failed.
    pub(crate) refused_text: Option<String>,
    /// True while another version of the cursor's node is being loaded.
    pub(crate) awaits_version: bool,
    /// True if the last node was the current version of its place when the text was opened.
    pub(crate) is_current: bool,
}

/// Changes to save: new contents of nodes, and text after the last node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BufferEdit {
    pub(crate) edits: Vec<(NodeId, String)>,
    pub(crate) appended: Option<String>,
}

impl BufferEditor {
    /// Opens the parts, with the cursor at their end.
    pub(crate) fn open(parts: &[ProsePart], is_current: bool) -> Self {
        let mut marks = Vec::new();
        for (part, at) in parts.iter().zip(0..) {
            for (length, model) in &part.authorship {
                marks.extend(std::iter::repeat_n(ProseMark { part: at, model: *model }, *length));
            }
        }
        let text: String = parts.iter().map(|part| part.content.as_str()).collect();
        Self {
            editor: Editor::new(text),
            parts: parts.to_vec(),
            marks,
            saving_text: None,
            refused_text: None,
            awaits_version: false,
            is_current,
        }
    }

    /// Applies an edit and updates the origin of the changed bytes.
    pub(crate) fn edit<T>(&mut self, change: impl FnOnce(&mut Editor) -> T) -> T {
        let before = self.editor.text().to_owned();
        let done = change(&mut self.editor);
        let after = self.editor.text();
        if before != after {
            let (gone, new) = changed_ranges(&before, after);
            let mark = self.mark_for_insert(gone.start);
            self.marks.splice(gone, std::iter::repeat_n(mark, new.len()));
        }
        done
    }

    /// Origin of text inserted at a position: the part before it. Text after a model's last part forms a new part.
    fn mark_for_insert(&self, at: usize) -> ProseMark {
        let before = at.checked_sub(1).and_then(|before| self.marks.get(before));
        let part = match before {
            None => 0,
            Some(mark) => {
                let models = self.parts.get(mark.part).is_some_and(|part| part.author == AuthorType::Model);
                if at == self.marks.len() && models { self.parts.len() } else { mark.part }
            }
        };
        ProseMark { part, model: false }
    }

    /// Node that the cursor is in.
    pub(crate) fn node_at_cursor(&self) -> Option<NodeId> {
        let at = self.editor.cursor().saturating_sub(1);
        let part = self.marks.get(at).map_or(0, |mark| mark.part);
        self.parts.get(part).or(self.parts.last()).map(|part| part.id)
    }

    /// Changes since the text was opened.
    pub(crate) fn changes(&self) -> BufferEdit {
        let text = self.editor.text();
        let mut now = vec![String::new(); self.parts.len() + 1];
        for (at, c) in text.char_indices() {
            if let Some(part) = self.marks.get(at).and_then(|mark| now.get_mut(mark.part)) {
                part.push(c);
            }
        }
        let appended = now.pop().filter(|appended| !appended.is_empty());
        let edits = self.parts.iter().zip(now).filter(|(part, now)| part.content != *now);
        BufferEdit { edits: edits.map(|(part, now)| (part.id, now)).collect(), appended }
    }

    /// Returns whether the text differs from the stored one.
    pub(crate) fn is_changed(&self) -> bool {
        let text = self.editor.text();
        let whole: usize = self.parts.iter().map(|part| part.content.len()).sum();
        let mut before = self.parts.iter().flat_map(|part| part.content.bytes());
        text.len() != whole || !text.bytes().all(|byte| before.next() == Some(byte))
    }

    /// Text of a row, each piece in its author's color.
    pub(crate) fn line(&self, row: &Range<usize>, palette: Palette) -> Line<'static> {
        let style = |model| palette.style(if model { ColorRole::ModelWords } else { ColorRole::Words });
        let mut spans = Vec::new();
        let mut from = row.start;
        for run in self.marks[row.clone()].chunk_by(|one, other| one.model == other.model) {
            // Marks cover whole characters, so runs never split one.
            let to = from + run.len();
            spans.push(Span::styled(self.editor.line(&(from..to)), style(run[0].model)));
            from = to;
        }
        Line::from(spans)
    }
}

/// Splits a node's content into pieces in their author's style.
pub(crate) fn authored_pieces(content: &str, authorship: &Authorship, model: Style, person: Style) -> Vec<Piece> {
    let mut from = 0;
    let mut pieces = Vec::new();
    for (length, by_model) in authorship {
        let words = content.get(from..from + length).unwrap_or_default().to_owned();
        pieces.push((words, if *by_model { model } else { person }));
        from += length;
    }
    pieces
}

/// Removed and inserted byte ranges between two texts, on character boundaries.
fn changed_ranges(before: &str, after: &str) -> (Range<usize>, Range<usize>) {
    let front = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let front = (0..=front).rev().find(|at| before.is_char_boundary(*at) && after.is_char_boundary(*at)).unwrap_or(0);
    let most = before.len().min(after.len()) - front;
    let back = before.bytes().rev().zip(after.bytes().rev()).take(most).take_while(|(one, other)| one == other).count();
    let boundary =
        |back: &usize| before.is_char_boundary(before.len() - back) && after.is_char_boundary(after.len() - back);
    let back = (0..=back).rev().find(boundary).unwrap_or(0);
    (front..before.len() - back, front..after.len() - back)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u8, content: &str, author: AuthorType) -> ProsePart {
        let authorship = vec![(content.len(), author == AuthorType::Model)];
        ProsePart { id: NodeId::from_bytes([number; 16]), content: content.to_owned(), author, authorship }
    }

    fn buffer() -> BufferEditor {
        let parts = [part(1, "One day ", AuthorType::Human), part(2, "the sea answered.", AuthorType::Model)];
        BufferEditor::open(&parts, true)
    }

    #[test]
    fn inserted_text_belongs_to_the_node_before_it() {
        let mut buffer = buffer();
        buffer.edit(|editor| {
            editor.set_cursor(4);
            editor.insert("fine ");
        });
        buffer.edit(|editor| {
            editor.set_cursor(20);
            editor.insert("grey ");
        });
        let edit = buffer.changes();
        assert_eq!(edit.edits.len(), 2);
        assert_eq!(edit.edits[0].1, "One fine day ");
        assert_eq!(edit.edits[1].1, "the seagrey  answered.");
        assert_eq!(edit.appended, None);
    }

    #[test]
    fn text_after_model_text_becomes_a_new_node() {
        let mut buffer = buffer();
        assert!(!buffer.is_changed());
        buffer.edit(|editor| editor.insert(" Ingrid"));
        buffer.edit(|editor| editor.insert(" slept."));
        let edit = buffer.changes();
        assert_eq!(edit.edits, []);
        assert_eq!(edit.appended.unwrap(), " Ingrid slept.");
        assert!(buffer.is_changed());
    }

    #[test]
    fn deleting_across_a_boundary_changes_both_nodes() {
        let mut buffer = buffer();
        buffer.edit(|editor| {
            let text = editor.text().replace("day the", "");
            editor.set(text);
        });
        let words: Vec<String> = buffer.changes().edits.into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["One ", " sea answered."]);
    }

    #[test]
    fn changed_ranges_are_on_character_boundaries() {
        assert_eq!(changed_ranges("aäb", "aöb"), (1..3, 1..3));
        assert_eq!(changed_ranges("aa", "aaa").1.len(), 1);
        assert_eq!(changed_ranges("漢字", "漢"), (3..6, 3..3));
    }
}
