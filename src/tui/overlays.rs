//! State of the panels that open over the tree: inputs, lists, pages, dialogs and continuations.

use ratatui::text::Line;

use super::{
    buffer_editor::BufferEditor,
    editor::Editor,
    message::{GenerationJob, InputPurpose, ItemAction, ListItem, ScreenEffect, ScreenLookup, WriteRequest},
    model::ScreenMode,
    search_scope::LookupScope,
    theme::ColorRole,
};
use crate::{id::NodeId, types::one_line};

/// Text input with its purpose.
#[derive(Debug)]
pub(crate) struct TextInput {
    pub(crate) editor: Editor,
    pub(crate) purpose: InputPurpose,
    /// Index of the history line that is shown, from the newest.
    pub(crate) history: Option<usize>,
    /// Text from before the user opened the history.
    pub(crate) stash: String,
    /// Text that the input was opened with.
    pub(crate) initial: String,
}

impl TextInput {
    pub(crate) fn new(purpose: InputPurpose, text: impl Into<String>) -> Self {
        let initial = text.into();
        Self { editor: Editor::new(initial.clone()), purpose, history: None, stash: String::new(), initial }
    }
}

/// Typed text that is being saved. If that fails, it is shown again.
#[derive(Debug)]
pub(crate) enum SubmittedText {
    Input(TextInput),
    Buffer(BufferEditor),
}

/// Kind of a list; it decides about filter and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Plain,
    Search(LookupScope),
    Context,
    Models,
}

/// List of items that typing filters.
#[derive(Debug)]
pub(crate) struct ListPanel {
    pub(crate) title: String,
    pub(crate) kind: ListKind,
    pub(crate) filter: Editor,
    pub(crate) items: Vec<ListItem>,
    pub(crate) selected: usize,
    /// Lookup whose result fills the list, until it arrives.
    pub(crate) awaits: Option<ScreenLookup>,
    /// Text shown if the list is empty.
    pub(crate) empty: &'static str,
}

impl ListPanel {
    pub(crate) fn new(title: impl Into<String>, kind: ListKind, empty: &'static str) -> Self {
        let title = title.into();
        Self { title, kind, filter: Editor::default(), items: Vec::new(), selected: 0, awaits: None, empty }
    }

    /// Items that match the filter; a search shows all its hits.
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

    /// Action of the selected item.
    pub(crate) fn selected_action(&self) -> Option<ItemAction> {
        self.visible_items().get(self.selected).map(|item| item.action.clone())
    }
}

#[derive(Debug)]
pub(crate) struct PagePanel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) scroll: usize,
}

/// Dialog with yes and no.
#[derive(Debug)]
pub(crate) struct ConfirmPanel {
    pub(crate) text: String,
    /// Details that the user scrolls through before the answer.
    pub(crate) detail: Vec<Line<'static>>,
    pub(crate) scroll: usize,
    pub(crate) yes: ScreenEffect,
    /// Effects of "no" and of "always"; a plain question has neither.
    pub(crate) no: Option<ScreenEffect>,
    pub(crate) always: Option<ScreenEffect>,
    /// Mode to return to.
    pub(crate) previous_mode: Box<ScreenMode>,
}

impl ConfirmPanel {
    /// Rows of the detail on a screen of this size, at least one; must match `view::popup::confirm`.
    pub(crate) fn page(&self, width: u16, height: u16) -> usize {
        let columns = usize::from(width.saturating_sub(4).clamp(width.min(20), 100)).saturating_sub(4);
        let text =
            super::line_wrap::wrap(&[(self.text.clone(), ratatui::style::Style::new())], columns, &[], &[]).len();
        usize::from(height).saturating_sub(text + 5).max(1)
    }

    /// True if "yes" is accepted: a dialog of an agent has to be scrolled to its end first.
    pub(crate) fn is_read(&self, width: u16, height: u16) -> bool {
        self.no.is_none() || self.scroll >= self.detail.len().saturating_sub(self.page(width, height))
    }

    /// Dialog without details, opened over the tree.
    pub(crate) fn plain(text: impl Into<String>, yes: ScreenEffect) -> Self {
        let (detail, previous_mode) = (Vec::new(), Box::default());
        Self { text: text.into(), detail, scroll: 0, yes, no: None, always: None, previous_mode }
    }
}

/// Continuations side by side.
#[derive(Debug)]
pub(crate) struct GenerationPanel {
    pub(crate) job: GenerationJob,
    pub(crate) columns: Vec<GenerationColumn>,
    pub(crate) selected: usize,
    /// Lines that every column is scrolled down.
    pub(crate) scroll: usize,
    pub(crate) running: bool,
}

/// State of one continuation.
#[derive(Debug, Clone, Default)]
pub(crate) struct GenerationColumn {
    pub(crate) model: String,
    pub(crate) text: String,
    pub(crate) saved: Vec<NodeId>,
    pub(crate) error: Option<String>,
    pub(crate) ended: bool,
    /// Todos that the turn left open, as a line.
    pub(crate) left_open: Option<String>,
}

/// Message that disappears at `until`, in milliseconds since the start.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) role: ColorRole,
    pub(crate) until: u64,
}

/// The import or export that runs.
#[derive(Debug, Clone)]
pub(crate) struct FilePanel {
    /// Words for the work, such as `importing chats.json`.
    pub(crate) work: String,
    /// Bytes read or written so far.
    pub(crate) done: u64,
    /// Bytes of the file; 0 if unknown.
    pub(crate) total: u64,
}

impl FilePanel {
    /// Creates the panel of a request; `None` if it is neither an import nor an export.
    pub(crate) fn of(request: &WriteRequest) -> Option<Self> {
        let (verb, path) = match request {
            WriteRequest::Import(path) => ("importing", path),
            WriteRequest::Export(_, _, path) => ("writing", path),
            _ => return None,
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Some(Self { work: format!("{verb} {}", one_line(&name)), done: 0, total: 0 })
    }

    /// Returns the line that the screen shows.
    pub(crate) fn line(&self) -> String {
        let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
        let progress = match (self.done, self.total) {
            (0, _) => String::new(),
            (done, 0) => format!(" · {}", megabytes(done)),
            (done, total) => {
                format!(" · {} of {} · {} %", megabytes(done), megabytes(total), done.min(total) * 100 / total)
            }
        };
        format!("{}{progress} · esc cancels", self.work)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PaneLayout {
    #[default]
    Both,
    Text,
    Tree,
}

/// Size and price of the prompt at a node.
#[derive(Debug, Clone)]
pub(crate) struct PanelCost {
    pub(crate) node: NodeId,
    pub(crate) tokens: u32,
    pub(crate) budget: u32,
    pub(crate) money: Option<String>,
}
