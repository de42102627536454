//! A text being written: its characters and the cursor among them. The input line, the editing of a node and every other
//! field use it, so they all know the same keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{style::Style, text::Line};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

use super::text;

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// The cursor, as a byte position between two graphemes.
    at: usize,
    /// What was last cut, to be put in again.
    cut: String,
}

impl Editor {
    /// A text with the cursor behind it.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { at: text.len(), text, cut: String::new() }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The cursor, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Puts the cursor at a byte, or at the grapheme before it.
    pub(crate) fn place(&mut self, at: usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        self.at = at;
    }

    /// Another text, with the cursor behind it.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.at = self.text.len();
    }

    /// Puts text in at the cursor. Line ends become line feeds.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.at, &text);
        self.at += text.len();
    }

    /// Whether the cursor is in the first or the last line.
    pub(crate) fn at_edge(&self, up: bool) -> bool {
        if up { !self.text[..self.at].contains('\n') } else { !self.text[self.at..].contains('\n') }
    }

    /// Does what a key says, if it is one that edits.
    pub(crate) fn key(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('a') if control => self.at = self.line_start(),
            KeyCode::Char('e') if control => self.at = self.line_end(),
            KeyCode::Char('b') if control => self.at = self.left(self.at),
            KeyCode::Char('f') if control => self.at = self.right(self.at),
            KeyCode::Char('d') if control => self.remove(self.at, self.right(self.at)),
            KeyCode::Char('h') if control => self.remove(self.left(self.at), self.at),
            KeyCode::Char('w') if control => self.take(self.word_left(), self.at),
            KeyCode::Char('u') if control => self.take(self.line_start(), self.at),
            KeyCode::Char('k') if control => {
                let end = self.line_end();
                self.take(self.at, if end == self.at { self.right(end) } else { end });
            }
            KeyCode::Char('y') if control => self.insert(&self.cut.clone()),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Char('b') if alt => self.at = self.word_left(),
            KeyCode::Char('f') if alt => self.at = self.word_right(),
            KeyCode::Char('d') if alt => self.take(self.at, self.word_right()),
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if alt || control => self.take(self.word_left(), self.at),
            KeyCode::Backspace => self.remove(self.left(self.at), self.at),
            KeyCode::Delete => self.remove(self.at, self.right(self.at)),
            KeyCode::Left if control || alt => self.at = self.word_left(),
            KeyCode::Right if control || alt => self.at = self.word_right(),
            KeyCode::Left => self.at = self.left(self.at),
            KeyCode::Right => self.at = self.right(self.at),
            KeyCode::Home if control => self.at = 0,
            KeyCode::End if control => self.at = self.text.len(),
            KeyCode::Home => self.at = self.line_start(),
            KeyCode::End => self.at = self.line_end(),
            KeyCode::Up => self.vertical(true),
            KeyCode::Down => self.vertical(false),
            _ => return false,
        }
        true
    }

    fn left(&self, at: usize) -> usize {
        GraphemeCursor::new(at, self.text.len(), true).prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn right(&self, at: usize) -> usize {
        let next = GraphemeCursor::new(at, self.text.len(), true).next_boundary(&self.text, 0);
        next.ok().flatten().unwrap_or(self.text.len())
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.at].split_word_bound_indices().rev();
        words.find(|(_, word)| !word.trim().is_empty()).map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let mut words = self.text[self.at..].split_word_bound_indices();
        let next = words.find(|(_, word)| !word.trim().is_empty());
        next.map_or(self.text.len(), |(at, word)| self.at + at + word.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |at| self.at + at)
    }

    fn remove(&mut self, from: usize, to: usize) {
        if from < to {
            self.text.replace_range(from..to, "");
            self.at = from;
        }
    }

    fn take(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.text[from..to].to_owned();
            self.remove(from, to);
        }
    }

    fn vertical(&mut self, up: bool) {
        let start = self.line_start();
        let column = self.text[start..self.at].graphemes(true).count();
        let target = if up {
            if start == 0 {
                self.at = 0;
                return;
            }
            self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1)
        } else {
            let end = self.line_end();
            if end == self.text.len() {
                self.at = end;
                return;
            }
            end + 1
        };
        let end = self.text[target..].find('\n').map_or(self.text.len(), |at| target + at);
        let line = &self.text[target..end];
        self.at = line.grapheme_indices(true).nth(column).map_or(end, |(at, _)| target + at);
    }

    /// The text in lines of at most `room` columns, and the cursor's line and column among them.
    pub(crate) fn lines(&self, room: usize, style: Style) -> (Vec<Line<'static>>, (usize, usize)) {
        let room = room.max(2);
        let (mut lines, mut cursor) = (Vec::new(), (0, 0));
        let mut from = 0;
        // Line by line, so that each line of the text begins a line of the screen.
        for line in self.text.split('\n') {
            let end = from + line.len();
            let rows = text::wrap(&[(line.to_owned(), style)], room, &[], &[]);
            if (from..=end).contains(&self.at) {
                // What stands before the cursor is wrapped as it is in the whole, but for the word that it is in.
                let before = &line[..self.at - from];
                let word = line[self.at - from..].split(char::is_whitespace).next().unwrap_or("");
                let held = text::wrap(&[(format!("{before}{word}"), style)], room, &[], &[]);
                let mut row = held.len() - 1;
                let behind = text::width(&tidy(word));
                let width = held.last().map_or(0, text::line_width);
                let trailing = before.len() - before.trim_end_matches(' ').len();
                let mut column = if word.is_empty() { width + trailing } else { width.saturating_sub(behind) };
                if column >= room {
                    (row, column) = (row + 1, 0);
                }
                cursor = (lines.len() + row, column);
            }
            lines.extend(rows);
            from = end + 1;
        }
        while lines.len() <= cursor.0 {
            lines.push(Line::default());
        }
        (lines, cursor)
    }
}

fn tidy(text: &str) -> String {
    text.chars().map(crate::model::harmless).collect()
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
        assert_eq!(editor.at(), 1);
        press(&mut editor, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(editor.text(), "a");
    }

    #[test]
    fn words_are_cut_and_put_in_again() {
        let mut editor = Editor::new("one two");
        press(&mut editor, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(editor.text(), "one ");
        press(&mut editor, KeyCode::Char('a'), KeyModifiers::CONTROL);
        press(&mut editor, KeyCode::Char('y'), KeyModifiers::CONTROL);
        assert_eq!((editor.text(), editor.at()), ("twoone ", 3));
    }

    #[test]
    fn the_cursor_goes_up_and_down_in_its_column() {
        let mut editor = Editor::new("long line\nab\nlong");
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.at(), 12);
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.at(), 2);
        assert!(editor.at_edge(true) && !editor.at_edge(false));
    }

    #[test]
    fn the_cursor_stands_where_the_text_is() {
        let at = |text: &str, at: usize, room: usize| {
            let mut editor = Editor::new(text);
            editor.place(at);
            editor.lines(room, Style::new()).1
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
