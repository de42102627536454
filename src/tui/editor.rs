//! Text editor: characters and a cursor. Every input field uses it, so all have the same keys.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

use super::editor_wrap::{self, VisualRows};
use crate::types::floor_char_boundary;

/// Text with a cursor between graphemes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// Byte position between two graphemes.
    cursor: usize,
    /// Text of the last cut, which ctrl-y inserts.
    cut: String,
    /// Columns to wrap at; 0: a single line.
    max_columns: usize,
    /// Column that the up and down keys try to keep.
    column: Option<usize>,
}

impl Editor {
    /// Creates an editor with the cursor at the text's end.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text, ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Cursor position in bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to a byte position, or to the character boundary before it.
    pub(crate) fn set_cursor(&mut self, at: usize) {
        (self.cursor, self.column) = (floor_char_boundary(&self.text, at), None);
    }

    /// Replaces the text and moves the cursor to its end.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Inserts text at the cursor. Line ends become line feeds.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Returns whether the cursor is in the first (`up`) or last row.
    pub(crate) fn at_edge(&self, up: bool) -> bool {
        let seen = self.rows(0, 0);
        if up { seen.top } else { seen.bottom }
    }

    /// Sets the columns to wrap at.
    pub(crate) fn fit(&mut self, max_columns: usize) {
        self.max_columns = max_columns;
    }

    /// Handles a key; ignores keys that do not edit.
    pub(crate) fn key(&mut self, key: &KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('a') if control => self.cursor = self.line_start(),
            KeyCode::Char('e') if control => self.cursor = self.line_end(),
            KeyCode::Char('b') if control => self.cursor = self.left(self.cursor),
            KeyCode::Char('f') if control => self.cursor = self.right(self.cursor),
            KeyCode::Char('d') if control => self.remove(self.cursor, self.right(self.cursor)),
            KeyCode::Char('h') if control => self.remove(self.left(self.cursor), self.cursor),
            KeyCode::Char('w') if control => self.cut_range(self.word_left(), self.cursor),
            KeyCode::Char('u') if control => self.cut_range(self.line_start(), self.cursor),
            KeyCode::Char('k') if control => {
                let end = self.line_end();
                self.cut_range(self.cursor, if end == self.cursor { self.right(end) } else { end });
            }
            KeyCode::Char('y') if control => self.insert(&self.cut.clone()),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Char('b') if alt => self.cursor = self.word_left(),
            KeyCode::Char('f') if alt => self.cursor = self.word_right(),
            KeyCode::Char('d') if alt => self.cut_range(self.cursor, self.word_right()),
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if alt || control => self.cut_range(self.word_left(), self.cursor),
            KeyCode::Backspace => self.remove(self.left(self.cursor), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.right(self.cursor)),
            KeyCode::Left if control || alt => self.cursor = self.word_left(),
            KeyCode::Right if control || alt => self.cursor = self.word_right(),
            KeyCode::Left => self.cursor = self.left(self.cursor),
            KeyCode::Right => self.cursor = self.right(self.cursor),
            KeyCode::Home if control => self.cursor = 0,
            KeyCode::End if control => self.cursor = self.text.len(),
            KeyCode::Home => self.cursor = self.row_end(true),
            KeyCode::End => self.cursor = self.row_end(false),
            KeyCode::Up => return self.vertical(true, 1),
            KeyCode::Down => return self.vertical(false, 1),
            _ => return,
        }
        self.column = None;
    }

    fn left(&self, at: usize) -> usize {
        GraphemeCursor::new(at, self.text.len(), true).prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn right(&self, at: usize) -> usize {
        let next = GraphemeCursor::new(at, self.text.len(), true).next_boundary(&self.text, 0);
        next.ok().flatten().unwrap_or(self.text.len())
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.cursor].split_word_bound_indices().rev();
        words.find(|(_, word)| !word.trim().is_empty()).map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let mut words = self.text[self.cursor..].split_word_bound_indices();
        let next = words.find(|(_, word)| !word.trim().is_empty());
        next.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to {
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    fn cut_range(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.text[from..to].to_owned();
            self.remove(from, to);
        }
    }

    /// Moves the cursor by rows in its column; beyond the first or last row, to the text's start or end.
    pub(crate) fn vertical(&mut self, up: bool, by: usize) {
        let seen = if up { self.rows(by, 0) } else { self.rows(0, by) };
        let (row, column) = seen.cursor;
        let column = self.column.unwrap_or(column);
        let target = if up { row.checked_sub(by) } else { Some(row + by).filter(|to| *to < seen.rows.len()) };
        self.cursor = match target {
            Some(to) => editor_wrap::byte_at_column(&self.text, &seen.rows[to], column),
            None if up => 0,
            None => self.text.len(),
        };
        self.column = Some(column);
    }

    /// Start or end of the cursor's row.
    fn row_end(&self, start: bool) -> usize {
        let seen = self.rows(0, 0);
        let row = &seen.rows[seen.cursor.0];
        if start { row.start } else { editor_wrap::byte_at_column(&self.text, row, usize::MAX) }
    }

    /// Rows around the cursor: at most `above` above it and `below` below.
    pub(crate) fn rows(&self, above: usize, below: usize) -> VisualRows {
        editor_wrap::rows_around(&self.text, self.cursor, self.max_columns, above, below)
    }

    /// Displayed text of a row.
    pub(crate) fn line(&self, row: &Range<usize>) -> String {
        self.text[row.clone()].graphemes(true).map(|grapheme| editor_wrap::displayed(grapheme).0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, code: KeyCode, modifiers: KeyModifiers) {
        editor.key(&KeyEvent::new(code, modifiers));
    }

    #[test]
    fn keys_edit_whole_graphemes() {
        let mut editor = Editor::new("a👩‍👩‍👧e\u{301}");
        press(&mut editor, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(editor.text(), "a👩‍👩‍👧");
        press(&mut editor, KeyCode::Left, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 1);
        press(&mut editor, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(editor.text(), "a");
    }

    #[test]
    fn words_are_cut_and_pasted() {
        let mut editor = Editor::new("one two");
        press(&mut editor, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(editor.text(), "one ");
        press(&mut editor, KeyCode::Char('a'), KeyModifiers::CONTROL);
        press(&mut editor, KeyCode::Char('y'), KeyModifiers::CONTROL);
        assert_eq!((editor.text(), editor.cursor()), ("twoone ", 3));
    }

    #[test]
    fn the_cursor_moves_by_visual_rows_and_keeps_its_column() {
        let mut editor = Editor::new("long line\nab\nlong");
        editor.fit(40);
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 12);
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 4);
        assert!(editor.at_edge(true) && !editor.at_edge(false));
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 0);
        // One line, wrapped to three rows.
        let mut editor = Editor::new("one two three four");
        editor.fit(8);
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 12, "under the end of four, in three");
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 4);
        press(&mut editor, KeyCode::End, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 7);
        press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
        press(&mut editor, KeyCode::Home, KeyModifiers::NONE);
        assert_eq!(editor.cursor(), 8);
    }

    #[test]
    fn the_cursor_position_matches_the_text() {
        let at = |text: &str, at: usize, max_columns: usize| {
            let mut editor = Editor::new(text);
            editor.fit(max_columns);
            editor.set_cursor(at);
            editor.rows(9, 9).cursor
        };
        assert_eq!(at("one two", 7, 20), (0, 7));
        assert_eq!(at("one two ", 8, 20), (0, 8));
        assert_eq!(at("one two three", 13, 8), (1, 5));
        assert_eq!(at("one two three", 8, 8), (1, 0));
        assert_eq!(at("a\nb", 2, 8), (1, 0));
        assert_eq!(at("abcdefgh", 8, 8), (1, 0));
        assert_eq!(at("漢字", 3, 8), (0, 2));
    }
}
