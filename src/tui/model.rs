//! Everything that the screen shows and the keys change, in one value. It holds what was last seen of the store, never a
//! way to it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

pub(crate) use super::overlays::{
    ConfirmPanel, GenerationColumn, GenerationPanel, ListKind, ListPanel, Notice, PagePanel, PaneLayout, PanelCost,
    TextInput,
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

/// How long a notice is shown, in milliseconds, and an error.
const NOTICE_MS: u64 = 4_000;
const ERROR_NOTICE_MS: u64 = 9_000;
/// How long is waited at least before it is looked whether others are still there.
const MIN_PRESENCE_REFRESH_MS: u64 = 1_000;
/// Nodes whose last visited continuation is remembered.
const MAX_VISITED: usize = 20_000;
/// Lines of history that are kept.
const MAX_HISTORY_LINES: usize = 200;
/// The most continuations that are asked for at once.
pub(crate) const MAX_CONTINUATIONS: usize = 9;

/// What the keys are for at the moment.
#[derive(Debug, Default)]
pub(crate) enum ScreenMode {
    /// Walking the tree.
    #[default]
    Tree,
    /// Writing a text.
    Input(TextInput),
    /// Choosing from a list.
    List(ListPanel),
    /// Reading a page.
    Page(PagePanel),
    /// Answering a question.
    Confirm(Box<ConfirmPanel>),
    /// Watching continuations grow.
    Generating,
    /// Writing in the text of a buffer tree.
    Buffer(BufferEditor),
}

/// The whole.
#[derive(Debug)]
pub(crate) struct ScreenModel {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) palette: Palette,
    pub(crate) highlighter: Highlighter,
    pub(crate) keys: KeyMap,
    pub(crate) mode: ScreenMode,
    /// Milliseconds since the beginning.
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
    /// Where one was before, the newest last.
    pub(crate) back_stack: Vec<NodeId>,
    /// Steps that wait for a look that is under way.
    pub(crate) steps: VecDeque<NavigationStep>,
    /// Number of the last look, and whether it is under way.
    pub(crate) query_number: u64,
    pub(crate) is_loading: bool,
    /// What was typed before it was known what for.
    pub(crate) type_ahead: TypeAhead,
    /// Whether something changed since the look under way began.
    pub(crate) stale: bool,
    /// Whether the cursor was put elsewhere since then.
    pub(crate) cursor_moved: bool,
    /// The cursor's line in the tree pane.
    pub(crate) cursor_row: usize,
    /// Lines that the text is scrolled back; less than none: on.
    pub(crate) scroll: isize,
    pub(crate) layout: PaneLayout,
    pub(crate) reading: ReadingMode,
    pub(crate) marked: Vec<NodeId>,

    pub(crate) count: usize,
    pub(crate) models: Vec<String>,
    /// The model that continues where none is taken, if one is set up.
    pub(crate) default_model: Option<String>,
    /// Whether the collaborator has the tools for the folder.
    pub(crate) tools: bool,
    /// What agents ask that was not put yet.
    pub(crate) approvals: VecDeque<(u64, ApprovalRequest)>,
    pub(crate) generation_panel: Option<GenerationPanel>,
    /// Arrow lines of the person's that run.
    pub(crate) command_jobs: Vec<CommandJob>,
    /// Who answers, where a session of theirs was gone on with.
    pub(crate) responder: Option<Responder>,
    pub(crate) jobs: u64,
    /// Whether the collaborator is to answer what is being said.
    pub(crate) answer_after_append: bool,
    pub(crate) cost: Option<PanelCost>,
    pub(crate) history: Vec<String>,
    /// What was written last and left without being saved.
    pub(crate) unsaved_input: Option<TextInput>,
    pub(crate) notice: Option<Notice>,
    /// When the first of the others is gone, unless it is heard of again.
    pub(crate) presence_expires_at: Option<u64>,
    /// Deeds that are on their way to the disk.
    pub(crate) pending_writes: usize,
    /// The step of the tour, if it is on.
    pub(crate) tour: Option<usize>,
    pub(crate) has_ended: bool,
}

/// What a model begins with.
#[derive(Debug, Clone)]
pub(crate) struct ModelInit {
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: TreeId,
    pub(crate) cursor: NodeId,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) count: usize,
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
            stale: false,
            cursor_moved: false,
            cursor_row: usize::MAX,
            scroll: 0,
            layout: PaneLayout::Both,
            reading: ReadingMode::Transcript,
            marked: Vec::new(),
            count: init.count.clamp(1, MAX_CONTINUATIONS),
            models: Vec::new(),
            default_model: init.default_model,
            tools: false,
            approvals: VecDeque::new(),
            generation_panel: None,
            command_jobs: Vec::new(),
            responder: None,
            jobs: 0,
            answer_after_append: false,
            cost: None,
            history: Vec::new(),
            unsaved_input: None,
            notice: None,
            presence_expires_at: None,
            pending_writes: 0,
            tour: init.tour.then_some(0),
            has_ended: false,
        }
    }

    /// Says something for a while.
    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Dim, until: self.now + NOTICE_MS });
    }

    /// Says what went wrong, for a while.
    pub(crate) fn notify_error(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Error, until: self.now + ERROR_NOTICE_MS });
    }

    /// When something on the screen changes by itself, in milliseconds since the beginning.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        self.notice.as_ref().map(|notice| notice.until).into_iter().chain(self.presence_expires_at).min()
    }

    /// Looks whether somebody is still there who may have left; nobody says so.
    pub(crate) fn refresh_presence(&mut self) -> Vec<ScreenEffect> {
        if self.presence_expires_at.take_if(|gone| *gone <= self.now).is_some() {
            self.load_screen()
        } else {
            Vec::new()
        }
    }

    /// The time is now so much. Whether something on the screen changed by that.
    pub(crate) fn tick(&mut self, now: u64) -> bool {
        self.now = now;
        let over = self.notice.as_ref().is_some_and(|notice| notice.until <= now);
        if over {
            self.notice = None;
        }
        over
    }

    /// The node under the cursor.
    pub(crate) fn node(&self) -> Option<&Node> {
        self.screen.as_ref().map(|screen| &screen.node)
    }

    /// Has the screen read anew: at once, or when the look under way is done.
    pub(crate) fn load_screen(&mut self) -> Vec<ScreenEffect> {
        if self.is_loading {
            self.stale = true;
            return Vec::new();
        }
        self.query_number += 1;
        self.is_loading = true;
        self.stale = false;
        self.cursor_moved = false;
        let areas = self.areas();
        let query = ScreenQuery {
            cursor: self.cursor,
            steps: self.steps.drain(..).collect(),
            versions: self.versions.clone(),
            folds: Arc::clone(&self.folds),
            visited: Arc::clone(&self.visited),
            hoist: self.hoist,
            // The cursor may stand anywhere on the screen.
            above: usize::from(self.height),
            below: usize::from(self.height),
            columns: usize::from(areas.text.width).saturating_sub(2).max(8),
            rows: usize::from(areas.text.height) * 2 + self.scroll.unsigned_abs(),
            reading: self.reading,
            palette: self.palette,
            highlighter: self.highlighter.clone(),
            agent: self.agent,
            session: self.session,
            number: self.query_number,
        };
        vec![ScreenEffect::LoadScreen(Arc::new(query))]
    }

    /// Takes a step as soon as the ones before it are taken.
    pub(crate) fn step(&mut self, step: NavigationStep) -> Vec<ScreenEffect> {
        // The wheel turns faster than anybody can look.
        if self.steps.len() < super::type_ahead::MAX_PENDING_STEPS {
            self.steps.push_back(step);
        }
        self.scroll = 0;
        self.load_screen()
    }

    /// Goes to a node of this tree.
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

    /// Takes in what was seen.
    pub(crate) fn apply_screen(&mut self, screen: Box<ScreenData>) {
        // Where nothing stepped, one stands elsewhere because what one stood on is gone.
        let passed = if screen.trail.passed.is_empty() { &[self.cursor][..] } else { &screen.trail.passed };
        let back = if passed.last() == Some(&screen.node.id) { &passed[..passed.len() - 1] } else { passed };
        if !back.is_empty() {
            self.back_stack.extend(back);
            if self.back_stack.len() > 1_000 {
                self.back_stack.drain(..500);
            }
        }
        self.cursor = screen.node.id;
        self.versions.clone_from(&screen.versions);
        self.presence_expires_at = screen.presence_expires_in.map(|gone| self.now + gone.max(MIN_PRESENCE_REFRESH_MS));
        self.hoist = screen.hoist;
        self.remember_visits(&screen);
        self.unfold(&screen);
        let rows = usize::from(self.areas().tree.height).max(1);
        self.cursor_row = self.row_for_cursor(&screen, rows);
        self.screen = Some(screen);
    }

    /// Opens what is folded above the cursor: whoever goes into a branch wants to see where that is.
    fn unfold(&mut self, screen: &ScreenData) {
        let above = screen.path.iter().filter(|node| node.id != screen.node.id);
        let folded: Vec<NodeId> = above.map(|node| node.id).filter(|id| self.folds.contains(id)).collect();
        // What was opened on the way is seen as such already.
        self.stale |= !folded.is_empty();
        if !folded.is_empty() || !screen.trail.unfolded.is_empty() {
            let open = |id: &NodeId| folded.contains(id) || screen.trail.unfolded.contains(id);
            Arc::make_mut(&mut self.folds).retain(|id| !open(id));
        }
    }

    /// Remembers which continuations lead here.
    fn remember_visits(&mut self, screen: &ScreenData) {
        let visited = Arc::make_mut(&mut self.visited);
        if visited.len() > MAX_VISITED {
            visited.clear();
        }
        visited.extend(&screen.trail.visited);
        visited.extend(continuation_choices(&screen.path));
    }

    /// The line of the tree pane that the cursor is shown in: where its line was, if that was on the screen; else as near
    /// as it can be.
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
        // No empty lines above what there is, nor below it while there is more above.
        let below = window.rows.len() - window.cursor_row;
        let row = if below < rows { row.max(rows - below) } else { row };
        row.min(window.cursor_row).min(rows - 1)
    }

    /// Keeps a line that was written.
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
            default_model: None,
            palette: Palette::Plain,
            highlighter: Highlighter::new(reports),
            keys: KeyMap::default(),
            tour: false,
        };
        ScreenModel::new(init, 80, 24)
    }

    #[test]
    fn what_is_said_goes_away_by_itself_and_errors_stay_longer() {
        let mut model = model();
        assert_eq!(model.next_wake(), None, "at rest nothing is waited for");
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
