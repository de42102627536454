//! What can be open beside the tree, and what is shown for a while: the parts that a model is made of.

use ratatui::text::Line;

use super::{
    editor::Editor,
    message::{GenerationJob, InputPurpose, ItemAction, ListItem, LookupScope, ScreenEffect, ScreenLookup},
    model::ScreenMode,
    theme::ColorRole,
};
use crate::id::NodeId;

/// A text being written.
#[derive(Debug)]
pub(crate) struct TextInput {
    pub(crate) editor: Editor,
    pub(crate) purpose: InputPurpose,
    /// Which line of the history is shown, from the newest.
    pub(crate) history: Option<usize>,
    /// What was written before the history was looked at.
    pub(crate) stash: String,
    /// What it began with.
    pub(crate) initial: String,
}

impl TextInput {
    pub(crate) fn new(purpose: InputPurpose, text: impl Into<String>) -> Self {
        let initial = text.into();
        Self { editor: Editor::new(initial.clone()), purpose, history: None, stash: String::new(), initial }
    }
}

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Plain,
    Search(LookupScope),
    Context,
    Models,
}

/// Things to choose from, narrowed down by typing.
#[derive(Debug)]
pub(crate) struct ListPanel {
    pub(crate) title: String,
    pub(crate) kind: ListKind,
    pub(crate) filter: Editor,
    pub(crate) items: Vec<ListItem>,
    pub(crate) selected: usize,
    /// What it is to show, as long as that is not known.
    pub(crate) awaits: Option<ScreenLookup>,
    /// What is said where there is nothing.
    pub(crate) empty: &'static str,
}

impl ListPanel {
    pub(crate) fn new(title: impl Into<String>, kind: ListKind, empty: &'static str) -> Self {
        let title = title.into();
        Self { title, kind, filter: Editor::default(), items: Vec::new(), selected: 0, awaits: None, empty }
    }

    /// What fits what was typed.
    pub(crate) fn visible_items(&self) -> Vec<&ListItem> {
        if matches!(self.kind, ListKind::Search(_)) {
            return self.items.iter().collect();
        }
        let wanted: Vec<String> = self.filter.text().to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |item: &&ListItem| {
            let words = item.words.to_lowercase();
            wanted.iter().all(|word| words.contains(word))
        };
        self.items.iter().filter(fits).collect()
    }

    /// What choosing comes to now.
    pub(crate) fn selected_action(&self) -> Option<ItemAction> {
        self.visible_items().get(self.selected).map(|item| item.action.clone())
    }
}

/// Something to read.
#[derive(Debug)]
pub(crate) struct PagePanel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) scroll: usize,
}

/// A question with yes and no.
#[derive(Debug)]
pub(crate) struct ConfirmPanel {
    pub(crate) text: String,
    /// More to read before one answers.
    pub(crate) detail: Vec<Line<'static>>,
    pub(crate) scroll: usize,
    pub(crate) yes: ScreenEffect,
    /// What no comes to, and yes for all others like it; a plain question has neither.
    pub(crate) no: Option<ScreenEffect>,
    pub(crate) always: Option<ScreenEffect>,
    /// Where one was before.
    pub(crate) previous_mode: Box<ScreenMode>,
}

impl ConfirmPanel {
    /// Rows of the detail that a screen of this size shows, at least one; see `view::popup::ask`.
    pub(crate) fn page(&self, width: u16, height: u16) -> usize {
        let columns = usize::from(width.saturating_sub(4).clamp(width.min(20), 100)).saturating_sub(4);
        let text = super::text::wrap(&[(self.text.clone(), ratatui::style::Style::new())], columns, &[], &[]).len();
        usize::from(height).saturating_sub(text + 5).max(1)
    }

    /// A question with yes and no, asked over the tree.
    pub(crate) fn plain(text: impl Into<String>, yes: ScreenEffect) -> Self {
        let (detail, previous_mode) = (Vec::new(), Box::default());
        Self { text: text.into(), detail, scroll: 0, yes, no: None, always: None, previous_mode }
    }
}

/// Continuations while they come.
#[derive(Debug)]
pub(crate) struct GenerationPanel {
    pub(crate) job: GenerationJob,
    pub(crate) columns: Vec<GenerationColumn>,
    pub(crate) selected: usize,
    /// Lines that all of them are scrolled on.
    pub(crate) scroll: usize,
    pub(crate) running: bool,
}

/// One of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct GenerationColumn {
    pub(crate) model: String,
    pub(crate) text: String,
    pub(crate) saved: Vec<NodeId>,
    pub(crate) error: Option<String>,
    pub(crate) ended: bool,
}

/// A line that goes away by itself.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) role: ColorRole,
    pub(crate) until: u64,
}

/// Which panes there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PaneLayout {
    #[default]
    Both,
    Text,
    Tree,
}

/// What the next prompt takes, at which node.
#[derive(Debug, Clone)]
pub(crate) struct PanelCost {
    pub(crate) node: NodeId,
    pub(crate) tokens: u32,
    pub(crate) budget: u32,
    pub(crate) money: Option<String>,
}
