//! Model of the screen: everything that it shows and that keys change, in one value. It holds the last data read from
//! the store, never a handle on it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

pub(crate) use super::overlays::{
    ConfirmPanel, FilePanel, GenerationColumn, GenerationPanel, ListKind, ListPanel, Notice, PagePanel, PaneLayout,
    PanelCost, SubmittedText, TextInput,
};
use super::{
    buffer_editor::BufferEditor,
    highlight::Highlighter,
    keys::KeyMap,
    message::{CommandJob, Responder, ScreenEffect},
    screen_query::{NavigationStep, ReadingMode, ScreenData, ScreenQuery, continuation_choices},
    theme::{ColorRole, Palette},
    type_ahead::TypeAhead,
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    session::ApprovalRequest,
    types::Node,
};

/// Display time of a notice and of an error, in milliseconds.
const NOTICE_MS: u64 = 4_000;
const ERROR_NOTICE_MS: u64 = 9_000;
/// Nodes whose last visited continuation is remembered.
const MAX_VISITED: usize = 20_000;
/// Minimum interval between presence refreshes, and between writes of the own cursor, in milliseconds.
pub(super) const PRESENCE_INTERVAL_MS: u64 = 1_000;
/// Lines of the input history.
const MAX_HISTORY_LINES: usize = 200;
/// Continuations of one generation, at most.
pub(crate) const MAX_CONTINUATIONS: usize = 9;

/// Mode of the screen; it decides which handler gets a key.
#[derive(Debug, Default)]
pub(crate) enum ScreenMode {
    /// Navigation in the tree.
    #[default]
    Tree,
    /// Text input at the bottom.
    Input(TextInput),
    /// A list over the panes.
    List(ListPanel),
    /// A page over the panes.
    Page(PagePanel),
    /// A dialog with yes and no.
    Confirm(Box<ConfirmPanel>),
    /// Continuations side by side.
    Generating,
    /// Editing the text of a buffer tree.
    Buffer(BufferEditor),
}

/// State of the whole screen.
#[derive(Debug)]
pub(crate) struct ScreenModel {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) palette: Palette,
    pub(crate) highlighter: Highlighter,
    pub(crate) keys: KeyMap,
    pub(crate) mode: ScreenMode,
    /// Milliseconds since the application started.
    pub(crate) now: u64,

    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: TreeId,
    pub(crate) cursor: NodeId,
    pub(crate) screen: Option<Box<ScreenData>>,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) folds: Arc<HashSet<NodeId>>,
    pub(crate) visited: Arc<HashMap<NodeId, NodeId>>,
    pub(crate) hoist: Option<NodeId>,
    /// Earlier cursor positions, the newest last.
    pub(crate) back_stack: Vec<NodeId>,
    /// Steps that wait for the screen query in progress.
    pub(crate) steps: VecDeque<NavigationStep>,
    /// Number of the last screen query; `is_loading` while it runs.
    pub(crate) query_number: u64,
    pub(crate) is_loading: bool,
    /// Input that waits until its target is known.
    pub(crate) type_ahead: TypeAhead,
    /// True if the screen has to be queried again after the current query.
    pub(crate) needs_reload: bool,
    /// True if the cursor moved since the current query began.
    pub(crate) cursor_moved: bool,
    /// Row of the cursor in the tree pane; `usize::MAX` until the first screen.
    pub(crate) cursor_row: usize,
    /// Lines that the text is scrolled up; negative: down.
    pub(crate) scroll: isize,
    pub(crate) layout: PaneLayout,
    pub(crate) reading: ReadingMode,
    pub(crate) marked: Vec<NodeId>,

    pub(crate) count: usize,
    pub(crate) models: Vec<String>,
    /// Names of the configured models.
    pub(crate) configured_models: Vec<String>,
    /// Reference of the default model: the configured one, or the one that the first generation found.
    pub(crate) default_model: Option<String>,
    /// True if the collaborator gets the tools of the folder.
    pub(crate) tools: bool,
    /// Approval requests that were not shown yet, with their numbers.
    pub(crate) approvals: VecDeque<(u64, ApprovalRequest)>,
    pub(crate) generation_panel: Option<GenerationPanel>,
    /// Command jobs that run.
    pub(crate) command_jobs: Vec<CommandJob>,
    /// Agent that answers, if the user resumed a session of it.
    pub(crate) responder: Option<Responder>,
    pub(crate) last_job: u64,
    /// True if the collaborator answers the node being appended.
    pub(crate) answer_after_append: bool,
    pub(crate) cost: Option<PanelCost>,
    /// Newest journal entry of the tree that was read; `None` before the tree's first screen.
    pub(crate) seen_entry: Option<u64>,
    pub(crate) history: Vec<String>,
    /// Text that the user left unsaved; opened again for the same purpose.
    pub(crate) unsaved_input: Option<TextInput>,
    /// Text that is being saved, and the number of writes until its own has ended.
    pub(crate) submitted: Option<(usize, SubmittedText)>,
    /// Prose that could not be saved, and the node at which it is opened again instead of the stored text.
    pub(crate) unsaved_prose: Option<(NodeId, BufferEditor)>,
    /// True if the newest message was not sent or could not be saved, and is in the history alone.
    pub(crate) has_unsent_message: bool,
    /// Node at which the input was opened.
    pub(crate) input_node: Option<NodeId>,
    /// Input whose text is open in the user's editor.
    pub(crate) edited_outside: Option<TextInput>,
    pub(crate) notice: Option<Notice>,
    pub(crate) file_panel: Option<FilePanel>,
    /// Time at which the first present agent counts as gone, in milliseconds since the start.
    pub(crate) presence_expires_at: Option<u64>,
    /// Cursor that others see; `None` if it has to be shown again.
    pub(crate) shown_cursor: Option<NodeId>,
    /// Earliest time of the next write of the cursor.
    pub(crate) next_cursor_write: u64,
    /// Write requests that have not finished.
    pub(crate) pending_writes: usize,
    /// Current step of the tour; `None`: no tour.
    pub(crate) tour: Option<usize>,
    pub(crate) has_ended: bool,
}

/// Initial values of a model.
#[derive(Debug, Clone)]
pub(crate) struct ModelInit {
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: TreeId,
    pub(crate) cursor: NodeId,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) count: usize,
    pub(crate) configured_models: Vec<String>,
    pub(crate) default_model: Option<String>,
    pub(crate) palette: Palette,
    pub(crate) highlighter: Highlighter,
    pub(crate) keys: KeyMap,
    pub(crate) tour: bool,
}

impl ScreenModel {
    pub(crate) fn new(init: ModelInit, width: u16, height: u16) -> Self {
        Self {
            width,
            height,
            palette: init.palette,
            highlighter: init.highlighter,
            keys: init.keys,
            mode: ScreenMode::Tree,
            now: 0,
            agent: init.agent,
            session: init.session,
            tree: init.tree,
            cursor: init.cursor,
            screen: None,
            versions: init.versions,
            folds: Arc::default(),
            visited: Arc::default(),
            hoist: None,
            back_stack: Vec::new(),
            steps: VecDeque::new(),
            query_number: 0,
            is_loading: false,
            type_ahead: TypeAhead::default(),
            needs_reload: false,
            cursor_moved: false,
            cursor_row: usize::MAX,
            scroll: 0,
            layout: PaneLayout::Both,
            reading: ReadingMode::Transcript,
            marked: Vec::new(),
            count: init.count.clamp(1, MAX_CONTINUATIONS),
            models: Vec::new(),
            configured_models: init.configured_models,
            default_model: init.default_model,
            tools: false,
            approvals: VecDeque::new(),
            generation_panel: None,
            command_jobs: Vec::new(),
            responder: None,
            last_job: 0,
            answer_after_append: false,
            cost: None,
            seen_entry: None,
            history: Vec::new(),
            unsaved_input: None,
            submitted: None,
            input_node: None,
            unsaved_prose: None,
            has_unsent_message: false,
            edited_outside: None,
            notice: None,
            file_panel: None,
            presence_expires_at: None,
            shown_cursor: None,
            next_cursor_write: 0,
            pending_writes: 0,
            tour: init.tour.then_some(0),
            has_ended: false,
        }
    }

    /// Shows a notice for some seconds.
    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Dim, until: self.now + NOTICE_MS });
    }

    /// Shows an error for some seconds.
    pub(crate) fn notify_error(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Error, until: self.now + ERROR_NOTICE_MS });
    }

    /// Next time at which the screen changes by itself, in milliseconds since the start.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        let notice = self.notice.as_ref().map(|notice| notice.until);
        [notice, self.presence_expires_at, self.cursor_due_at()].into_iter().flatten().min()
    }

    /// Sets the time. Returns whether the screen changed by that.
    pub(crate) fn tick(&mut self, now: u64) -> bool {
        self.now = now;
        let over = self.notice.as_ref().is_some_and(|notice| notice.until <= now);
        if over {
            self.notice = None;
        }
        over
    }

    /// Node under the cursor; `None` before the first screen.
    pub(crate) fn node(&self) -> Option<&Node> {
        self.screen.as_ref().map(|screen| &screen.node)
    }

    /// Queries the screen: at once, or after the query in progress.
    pub(crate) fn load_screen(&mut self) -> Vec<ScreenEffect> {
        if self.is_loading {
            self.needs_reload = true;
            return Vec::new();
        }
        self.query_number += 1;
        self.is_loading = true;
        self.needs_reload = false;
        self.cursor_moved = false;
        let areas = self.areas();
        let query = ScreenQuery {
            cursor: self.cursor,
            steps: self.steps.drain(..).collect(),
            versions: self.versions.clone(),
            folds: Arc::clone(&self.folds),
            visited: Arc::clone(&self.visited),
            hoist: self.hoist,
            // The cursor may be on any row.
            above: usize::from(self.height),
            below: usize::from(self.height),
            columns: usize::from(areas.text.width).saturating_sub(2).max(8),
            rows: usize::from(areas.text.height) * 2 + self.scroll.unsigned_abs(),
            reading: self.reading,
            palette: self.palette,
            highlighter: self.highlighter.clone(),
            agent: self.agent,
            session: self.session,
            seen_entry: self.seen_entry,
            number: self.query_number,
        };
        vec![ScreenEffect::LoadScreen(Arc::new(query))]
    }

    /// Queues a step; the next screen query takes it.
    pub(crate) fn step(&mut self, step: NavigationStep) -> Vec<ScreenEffect> {
        // The wheel produces steps faster than queries finish.
        if self.steps.len() < super::type_ahead::MAX_PENDING_STEPS {
            self.steps.push_back(step);
        }
        self.scroll = 0;
        self.load_screen()
    }

    /// Moves the cursor to a node of this tree.
    pub(crate) fn go_to(&mut self, to: NodeId) -> Vec<ScreenEffect> {
        if to != self.cursor {
            self.back_stack.push(self.cursor);
        }
        self.cursor = to;
        self.cursor_moved = self.is_loading;
        self.scroll = 0;
        self.steps.clear();
        self.load_screen()
    }

    /// Applies the result of a screen query.
    pub(crate) fn apply_screen(&mut self, screen: Box<ScreenData>) {
        // Without steps the cursor moved only if its node is gone.
        let passed = if screen.trail.passed.is_empty() { &[self.cursor][..] } else { &screen.trail.passed };
        let back = if passed.last() == Some(&screen.node.id) { &passed[..passed.len() - 1] } else { passed };
        if !back.is_empty() {
            self.back_stack.extend(back);
            if self.back_stack.len() > 1_000 {
                self.back_stack.drain(..500);
            }
        }
        self.cursor = screen.node.id;
        self.seen_entry = Some(screen.newest_entry);
        if let Some(change) = &screen.change_by_others {
            self.notify(change.clone());
        }
        self.versions.clone_from(&screen.versions);
        self.presence_expires_at = screen.presence_expires_in.map(|gone| self.now + gone.max(PRESENCE_INTERVAL_MS));
        self.hoist = screen.hoist;
        self.remember_visits(&screen);
        self.unfold(&screen);
        let rows = usize::from(self.areas().tree.height).max(1);
        self.cursor_row = self.row_for_cursor(&screen, rows);
        self.screen = Some(screen);
    }

    /// Unfolds the nodes above the cursor, so that its place in the tree is visible.
    fn unfold(&mut self, screen: &ScreenData) {
        let above = screen.path.iter().filter(|node| node.id != screen.node.id);
        let folded: Vec<NodeId> = above.map(|node| node.id).filter(|id| self.folds.contains(id)).collect();
        // The query has already drawn what its own steps unfolded.
        self.needs_reload |= !folded.is_empty();
        if !folded.is_empty() || !screen.trail.unfolded.is_empty() {
            let open = |id: &NodeId| folded.contains(id) || screen.trail.unfolded.contains(id);
            Arc::make_mut(&mut self.folds).retain(|id| !open(id));
        }
    }

    /// Remembers the continuations on the path to the cursor.
    fn remember_visits(&mut self, screen: &ScreenData) {
        let visited = Arc::make_mut(&mut self.visited);
        if visited.len() > MAX_VISITED {
            visited.clear();
        }
        visited.extend(&screen.trail.visited);
        visited.extend(continuation_choices(&screen.path));
    }

    /// Row of the tree pane for the cursor: its line's old row if it was visible, else as near as possible.
    fn row_for_cursor(&self, screen: &ScreenData, rows: usize) -> usize {
        let margin = (rows / 6).min(3);
        let window = &screen.window;
        let shown = self.screen.as_ref().filter(|_| self.cursor_row != usize::MAX).and_then(|before| {
            let old =
                before.window.rows.iter().position(|row| row.node().is_some_and(|node| node.id == screen.node.id))?;
            (old + self.cursor_row).checked_sub(before.window.cursor_row)
        });
        let row = shown.unwrap_or(if self.cursor_row == usize::MAX { rows / 3 } else { rows / 2 });
        let row = row.clamp(margin, rows.saturating_sub(margin + 1).max(margin));
        // Avoids empty rows above the first line, and below the last while more lines are above.
        let below = window.rows.len() - window.cursor_row;
        let row = if below < rows { row.max(rows - below) } else { row };
        row.min(window.cursor_row).min(rows - 1)
    }

    /// Appends an input line to the history.
    pub(crate) fn record_history(&mut self, line: &str) {
        if self.history.last().is_none_or(|last| last != line) && !line.trim().is_empty() {
            self.history.push(line.to_owned());
            if self.history.len() > MAX_HISTORY_LINES {
                self.history.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ScreenModel {
        let (reports, _) = tokio::sync::mpsc::unbounded_channel();
        let init = ModelInit {
            agent: AgentId::from_bytes([1; 16]),
            session: None,
            tree: TreeId::from_bytes([2; 16]),
            cursor: NodeId::from_bytes([3; 16]),
            versions: Vec::new(),
            count: 3,
            configured_models: Vec::new(),
            default_model: None,
            palette: Palette::Plain,
            highlighter: Highlighter::new(reports),
            keys: KeyMap::default(),
            tour: false,
        };
        ScreenModel::new(init, 80, 24)
    }

    #[test]
    fn notices_disappear_and_errors_stay_longer() {
        let mut model = model();
        assert_eq!(model.next_wake(), None, "an idle screen has no timer");
        model.tick(1_000);
        model.notify("done");
        assert_eq!(model.next_wake(), Some(1_000 + NOTICE_MS));
        assert!(!model.tick(NOTICE_MS) && model.notice.is_some());
        assert!(model.tick(1_000 + NOTICE_MS) && model.notice.is_none());
        model.notify_error("it went wrong");
        assert!(!model.tick(1_000 + NOTICE_MS + ERROR_NOTICE_MS - 1) && model.notice.is_some());
        assert!(model.tick(1_000 + NOTICE_MS + ERROR_NOTICE_MS) && model.notice.is_none());
        assert_eq!(model.next_wake(), None);
    }
}
