//! Layout of the screen: a function of its size, the pane layout and the open input.

use ratatui::layout::Rect;

use super::model::{PaneLayout, ScreenMode, ScreenModel, TextInput};
use crate::tools::Tool;

/// Areas of the screen's parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScreenLayout {
    pub(crate) title: Rect,
    pub(crate) tree: Rect,
    /// Line between the panes.
    pub(crate) rule: Rect,
    pub(crate) text: Rect,
    pub(crate) input: Rect,
    pub(crate) status: Rect,
}

/// Screen width in columns below which the panes are stacked.
const MIN_TWO_PANE_COLUMNS: u16 = 72;

impl ScreenModel {
    /// Computes the areas from the size, the pane layout and the open input alone.
    pub(crate) fn areas(&self) -> ScreenLayout {
        let (width, height) = (self.width, self.height);
        let title = Rect::new(0, 0, width, height.min(1));
        let status = Rect::new(0, height.saturating_sub(1), width, u16::from(height > 1));
        let input = self.input_rows(height.saturating_sub(2));
        let middle = Rect::new(0, 1, width, height.saturating_sub(2 + input));
        let input = Rect::new(0, middle.bottom(), width, input);
        let none = Rect::new(0, middle.y, 0, middle.height);
        let (tree, rule, text) = match self.layout {
            PaneLayout::Text => (none, none, middle),
            PaneLayout::Tree => (middle, none, none),
            PaneLayout::Both if width < MIN_TWO_PANE_COLUMNS => {
                // Stacked: a third of the rows for the tree.
                let upper = (middle.height / 3).max(3).min(middle.height);
                let tree = Rect { height: upper, ..middle };
                let rule = Rect { y: tree.bottom(), height: u16::from(middle.height > upper), ..middle };
                let text = Rect { y: rule.bottom(), height: middle.height.saturating_sub(upper + 1), ..middle };
                (tree, rule, text)
            }
            PaneLayout::Both => {
                let left = (width * 2 / 5).clamp(30, 64);
                let tree = Rect { width: left, ..middle };
                let rule = Rect { x: left, width: 1, ..middle };
                (tree, rule, Rect { x: left + 1, width: width - left - 1, ..middle })
            }
        };
        ScreenLayout { title, tree, rule, text, input, status }
    }

    /// Rows of the text input, at least one.
    fn input_rows(&self, available_rows: u16) -> u16 {
        let ScreenMode::Input(TextInput { purpose, editor, .. }) = &self.mode else { return available_rows.min(1) };
        let max_rows = if purpose.is_place() || purpose.tool() == Some(Tool::Edit) {
            available_rows.saturating_sub(4)
        } else {
            available_rows / 2
        };
        let max_rows = max_rows.max(1).min(available_rows);
        let seen = editor.rows(usize::from(max_rows), usize::from(max_rows));
        u16::try_from(seen.rows.len()).unwrap_or(max_rows).min(max_rows)
    }

    /// Columns of the open text input.
    pub(crate) fn input_columns(&self) -> usize {
        match &self.mode {
            ScreenMode::Buffer(_) => usize::from(self.areas().text.width).saturating_sub(2).max(2),
            _ => usize::from(self.width).saturating_sub(4).max(2),
        }
    }

    /// Lays out the open input for the current size.
    pub(crate) fn fit_inputs(&mut self) {
        let columns = self.input_columns();
        match &mut self.mode {
            ScreenMode::Input(text_input) => text_input.editor.fit(columns),
            ScreenMode::Buffer(buffer) => buffer.editor.fit(columns),
            _ => {}
        }
    }
}
