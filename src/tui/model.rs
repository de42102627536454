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
    screen_query::{LookStep, ReadingMode, ScreenData, ScreenQuery, ways},
    theme::{ColorRole, Palette},
    type_ahead::TypeAhead,
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    session::ApprovalRequest,
    types::Node,
};

/// How long a notice is shown, in milliseconds, and an error.
const NOTICE: u64 = 4_000;
const ERROR: u64 = 9_000;
/// How long is waited at least before it is looked whether others are still there.
const PATIENCE: u64 = 1_000;
/// Nodes whose last visited continuation is remembered.
const VISITED: usize = 20_000;
/// Lines of history that are kept.
const HISTORY: usize = 200;
/// The most continuations that are asked for at once.
pub(crate) const MOST: usize = 9;

/// What the keys are for at the moment.
#[derive(Debug, Default)]
pub(crate) enum ScreenMode {
    /// Walking the tree.
    #[default]
    Walk,
    /// Writing a text.
    Type(TextInput),
    /// Choosing from a list.
    Choose(ListPanel),
    /// Reading a page.
    Read(PagePanel),
    /// Answering a question.
    Ask(Box<ConfirmPanel>),
    /// Watching continuations grow.
    Grow,
    /// Writing in the text of a buffer tree.
    Write(BufferEditor),
}

/// The whole.
#[derive(Debug)]
pub(crate) struct ScreenModel {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) palette: Palette,
    pub(crate) colours: Highlighter,
    pub(crate) keys: KeyMap,
    pub(crate) mode: ScreenMode,
    /// Milliseconds since the beginning.
    pub(crate) now: u64,

    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: TreeId,
    pub(crate) at: NodeId,
    pub(crate) sight: Option<Box<ScreenData>>,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) folds: Arc<HashSet<NodeId>>,
    pub(crate) visited: Arc<HashMap<NodeId, NodeId>>,
    pub(crate) hoist: Option<NodeId>,
    /// Where one was before, the newest last.
    pub(crate) back: Vec<NodeId>,
    /// Steps that wait for a look that is under way.
    pub(crate) steps: VecDeque<LookStep>,
    /// Number of the last look, and whether it is under way.
    pub(crate) looks: u64,
    pub(crate) looking: bool,
    /// What was typed before it was known what for.
    pub(crate) ahead: TypeAhead,
    /// Whether something changed since the look under way began.
    pub(crate) stale: bool,
    /// Whether the cursor was put elsewhere since then.
    pub(crate) moved: bool,
    /// The cursor's line in the tree pane.
    pub(crate) row: usize,
    /// Lines that the text is scrolled back; less than none: on.
    pub(crate) scroll: isize,
    pub(crate) layout: PaneLayout,
    pub(crate) reading: ReadingMode,
    pub(crate) marked: Vec<NodeId>,

    pub(crate) count: usize,
    pub(crate) models: Vec<String>,
    /// The model that continues where none is taken, if one is set up.
    pub(crate) usual: Option<String>,
    /// Whether the collaborator has the tools for the folder.
    pub(crate) tools: bool,
    /// What agents ask that was not put yet.
    pub(crate) asked: VecDeque<(u64, ApprovalRequest)>,
    pub(crate) growth: Option<GenerationPanel>,
    /// Arrow lines of the person's that run.
    pub(crate) errands: Vec<CommandJob>,
    /// Who answers, where a session of theirs was gone on with.
    pub(crate) with: Option<Responder>,
    pub(crate) jobs: u64,
    /// Whether the collaborator is to answer what is being said.
    pub(crate) answer_after_say: bool,
    pub(crate) cost: Option<PanelCost>,
    pub(crate) history: Vec<String>,
    /// What was written last and left without being saved.
    pub(crate) left: Option<TextInput>,
    pub(crate) notice: Option<Notice>,
    /// When the first of the others is gone, unless it is heard of again.
    pub(crate) gone: Option<u64>,
    /// Deeds that are on their way to the disk.
    pub(crate) unsaved: usize,
    /// The step of the tour, if it is on.
    pub(crate) tour: Option<usize>,
    pub(crate) ended: bool,
}

/// What a model begins with.
#[derive(Debug, Clone)]
pub(crate) struct ModelInit {
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    pub(crate) tree: TreeId,
    pub(crate) at: NodeId,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) count: usize,
    pub(crate) usual: Option<String>,
    pub(crate) palette: Palette,
    pub(crate) colours: Highlighter,
    pub(crate) keys: KeyMap,
    pub(crate) tour: bool,
}

impl ScreenModel {
    pub(crate) fn new(begin: ModelInit, width: u16, height: u16) -> Self {
        Self {
            width,
            height,
            palette: begin.palette,
            colours: begin.colours,
            keys: begin.keys,
            mode: ScreenMode::Walk,
            now: 0,
            agent: begin.agent,
            session: begin.session,
            tree: begin.tree,
            at: begin.at,
            sight: None,
            versions: begin.versions,
            folds: Arc::default(),
            visited: Arc::default(),
            hoist: None,
            back: Vec::new(),
            steps: VecDeque::new(),
            looks: 0,
            looking: false,
            ahead: TypeAhead::default(),
            stale: false,
            moved: false,
            row: usize::MAX,
            scroll: 0,
            layout: PaneLayout::Both,
            reading: ReadingMode::Talk,
            marked: Vec::new(),
            count: begin.count.clamp(1, MOST),
            models: Vec::new(),
            usual: begin.usual,
            tools: false,
            asked: VecDeque::new(),
            growth: None,
            errands: Vec::new(),
            with: None,
            jobs: 0,
            answer_after_say: false,
            cost: None,
            history: Vec::new(),
            left: None,
            notice: None,
            gone: None,
            unsaved: 0,
            tour: begin.tour.then_some(0),
            ended: false,
        }
    }

    /// Says something for a while.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Dim, until: self.now + NOTICE });
    }

    /// Says what went wrong, for a while.
    pub(crate) fn fail(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role: ColorRole::Error, until: self.now + ERROR });
    }

    /// When something on the screen changes by itself, in milliseconds since the beginning.
    pub(crate) fn wakes(&self) -> Option<u64> {
        self.notice.as_ref().map(|notice| notice.until).into_iter().chain(self.gone).min()
    }

    /// Looks whether somebody is still there who may have left; nobody says so.
    pub(crate) fn miss(&mut self) -> Vec<ScreenEffect> {
        if self.gone.take_if(|gone| *gone <= self.now).is_some() { self.look() } else { Vec::new() }
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
        self.sight.as_ref().map(|sight| &sight.at)
    }

    /// Has the screen read anew: at once, or when the look under way is done.
    pub(crate) fn look(&mut self) -> Vec<ScreenEffect> {
        if self.looking {
            self.stale = true;
            return Vec::new();
        }
        self.looks += 1;
        self.looking = true;
        self.stale = false;
        self.moved = false;
        let areas = self.areas();
        let look = ScreenQuery {
            at: self.at,
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
            colours: self.colours.clone(),
            agent: self.agent,
            session: self.session,
            number: self.looks,
        };
        vec![ScreenEffect::Look(Arc::new(look))]
    }

    /// Takes a step as soon as the ones before it are taken.
    pub(crate) fn step(&mut self, step: LookStep) -> Vec<ScreenEffect> {
        // The wheel turns faster than anybody can look.
        if self.steps.len() < super::type_ahead::STEPS {
            self.steps.push_back(step);
        }
        self.scroll = 0;
        self.look()
    }

    /// Goes to a node of this tree.
    pub(crate) fn go(&mut self, to: NodeId) -> Vec<ScreenEffect> {
        if to != self.at {
            self.back.push(self.at);
        }
        self.at = to;
        self.moved = self.looking;
        self.scroll = 0;
        self.steps.clear();
        self.look()
    }

    /// Takes in what was seen.
    pub(crate) fn saw(&mut self, sight: Box<ScreenData>) {
        // Where nothing stepped, one stands elsewhere because what one stood on is gone.
        let stood = if sight.trail.stood.is_empty() { &[self.at][..] } else { &sight.trail.stood };
        let left = if stood.last() == Some(&sight.at.id) { &stood[..stood.len() - 1] } else { stood };
        if !left.is_empty() {
            self.back.extend(left);
            if self.back.len() > 1_000 {
                self.back.drain(..500);
            }
        }
        self.at = sight.at.id;
        self.versions.clone_from(&sight.versions);
        self.gone = sight.gone.map(|gone| self.now + gone.max(PATIENCE));
        self.hoist = sight.hoist;
        self.remember(&sight);
        self.unfold(&sight);
        let rows = usize::from(self.areas().tree.height).max(1);
        self.row = self.scrolled(&sight, rows);
        self.sight = Some(sight);
    }

    /// Opens what is folded above the cursor: whoever goes into a branch wants to see where that is.
    fn unfold(&mut self, sight: &ScreenData) {
        let above = sight.path.iter().filter(|node| node.id != sight.at.id);
        let shut: Vec<NodeId> = above.map(|node| node.id).filter(|id| self.folds.contains(id)).collect();
        // What was opened on the way is seen as such already.
        self.stale |= !shut.is_empty();
        if !shut.is_empty() || !sight.trail.opened.is_empty() {
            let open = |id: &NodeId| shut.contains(id) || sight.trail.opened.contains(id);
            Arc::make_mut(&mut self.folds).retain(|id| !open(id));
        }
    }

    /// Remembers which continuations lead here.
    fn remember(&mut self, sight: &ScreenData) {
        let visited = Arc::make_mut(&mut self.visited);
        if visited.len() > VISITED {
            visited.clear();
        }
        visited.extend(&sight.trail.visited);
        visited.extend(ways(&sight.path));
    }

    /// The line of the tree pane that the cursor is shown in: where its line was, if that was on the screen; else as near
    /// as it can be.
    fn scrolled(&self, sight: &ScreenData, rows: usize) -> usize {
        let margin = (rows / 6).min(3);
        let window = &sight.window;
        let shown = self.sight.as_ref().filter(|_| self.row != usize::MAX).and_then(|before| {
            let old =
                before.window.rows.iter().position(|row| row.node().is_some_and(|node| node.id == sight.at.id))?;
            (old + self.row).checked_sub(before.window.here)
        });
        let row = shown.unwrap_or(if self.row == usize::MAX { rows / 3 } else { rows / 2 });
        let row = row.clamp(margin, rows.saturating_sub(margin + 1).max(margin));
        // No empty lines above what there is, nor below it while there is more above.
        let below = window.rows.len() - window.here;
        let row = if below < rows { row.max(rows - below) } else { row };
        row.min(window.here).min(rows - 1)
    }

    /// Keeps a line that was written.
    pub(crate) fn record(&mut self, line: &str) {
        if self.history.last().is_none_or(|last| last != line) && !line.trim().is_empty() {
            self.history.push(line.to_owned());
            if self.history.len() > HISTORY {
                self.history.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ScreenModel {
        let (tell, _) = tokio::sync::mpsc::unbounded_channel();
        let begin = ModelInit {
            agent: AgentId::from_bytes([1; 16]),
            session: None,
            tree: TreeId::from_bytes([2; 16]),
            at: NodeId::from_bytes([3; 16]),
            versions: Vec::new(),
            count: 3,
            usual: None,
            palette: Palette::Plain,
            colours: Highlighter::new(tell),
            keys: KeyMap::default(),
            tour: false,
        };
        ScreenModel::new(begin, 80, 24)
    }

    #[test]
    fn what_is_said_goes_away_by_itself_and_errors_stay_longer() {
        let mut model = model();
        assert_eq!(model.wakes(), None, "at rest nothing is waited for");
        model.tick(1_000);
        model.say("done");
        assert_eq!(model.wakes(), Some(1_000 + NOTICE));
        assert!(!model.tick(NOTICE) && model.notice.is_some());
        assert!(model.tick(1_000 + NOTICE) && model.notice.is_none());
        model.fail("it went wrong");
        assert!(!model.tick(1_000 + NOTICE + ERROR - 1) && model.notice.is_some());
        assert!(model.tick(1_000 + NOTICE + ERROR) && model.notice.is_none());
        assert_eq!(model.wakes(), None);
    }
}
