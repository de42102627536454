//! The window: the nodes of a path that a prompt contains when not all of them fit.
//!
//! **Start of a stable window.** A window that moves by one message per turn changes every prompt near its beginning. A
//! full stable window may therefore start at any node of its oldest quarter (half, if it is small). It starts at the node
//! whose depth is divisible by the highest power of two; consecutive numbers contain only one such. That node stays the
//! start until it leaves this part or a more divisible one enters. Both ends of the part only move towards newer nodes.
//! So the start moves by about the part's length at a time, and no state has to be stored.

use crate::{
    id::NodeId,
    ops::selected_version,
    store::{ChildFilter, Result as StoreResult, Snapshot},
    types::{AuthorType, EdgeKind, Node, Role, Tree},
};

use super::{
    ContextError, ContextOptions, OmissionReason, Rendering, Strategy,
    cut_middle::is_worth_cutting,
    node_renderer::NodeRenderer,
    past_commands::{self, PastCommands},
    past_host_results::HostResultTokens,
    path::ContextPath,
    prompt_piece::MESSAGE_OVERHEAD_TOKENS,
};

/// Tokens reserved for the note on omitted nodes.
const NOTE_TOKENS: u32 = 40;
/// Minimum tokens of a conversation: the note, the header and marker of the newest node, and some text.
pub(super) const MIN_WINDOW_TOKENS: u32 = 160;
/// Limits a tool result to a sixteenth of the budget, and any other node to a quarter.
const TOOL_RESULT_DIVISOR: u32 = 16;
const NODE_DIVISOR: u32 = 4;
/// Stable windows of fewer tokens drop half of their nodes at once instead of a quarter.
const SMALL_WINDOW_TOKENS: u32 = 16_000;
/// Maximum nodes of the beginning of a path.
const MAX_HEAD_NODES: usize = 64;

/// Node that was considered for the window.
pub(super) struct WindowCandidate {
    pub(super) node: Node,
    /// Tokens of the node, including its header.
    pub(super) tokens: u32,
    /// Reason for omission regardless of the budget.
    pub(super) excluded_by: Option<OmissionReason>,
    /// True if the node alone is too long; `tokens` is then its limit.
    pub(super) truncated: bool,
    /// Commands and thoughts of an own reply of an earlier turn, or imported calls.
    pub(super) past_commands: Option<PastCommands>,
    /// Results of host tools after the reply; empty if there are none.
    pub(super) results: String,
}

/// Selected part of a path.
pub(super) struct Window {
    /// First nodes of the path, for the strategy `middle`.
    pub(super) head: Vec<WindowCandidate>,
    /// Considered nodes from the newest back, in path order.
    pub(super) candidates: Vec<WindowCandidate>,
    /// Index of the first selected candidate.
    pub(super) start: usize,
    /// True if nodes before the selection do not fit.
    pub(super) full: bool,
    /// Depth of the first node that may be included.
    pub(super) base: u32,
}

impl Window {
    /// Number of nodes above the first candidate.
    pub(super) fn earlier(&self) -> u32 {
        self.omitted_above(self.candidates.first())
    }

    /// Number of nodes above a candidate that may be included and are not in the head.
    pub(super) fn omitted_above(&self, first: Option<&WindowCandidate>) -> u32 {
        let above = first.map_or(0, |seen| seen.node.depth);
        above.saturating_sub(self.base + u32::try_from(self.head.len()).unwrap_or(u32::MAX))
    }
}

/// Parameters of the selection.
pub(super) struct WindowParams<'a> {
    pub(super) renderer: &'a NodeRenderer,
    pub(super) options: &'a ContextOptions,
    pub(super) tree: &'a Tree,
    pub(super) versions: &'a [NodeId],
    /// First node to include, if not the root.
    pub(super) context_start: Option<NodeId>,
    /// Tokens for the conversation.
    pub(super) tokens: u32,
    /// Token limit of a conversation that does not fit whole; at most `tokens`. The rest is reserve for what changes
    /// within a turn.
    pub(super) steady_tokens: u32,
}

impl WindowParams<'_> {
    /// Reads a path backwards until the budget is used, and selects the window.
    pub(super) fn choose(&self, snapshot: &dyn Snapshot, to: NodeId) -> Result<Window, ContextError> {
        let first = self.context_start.map(|first| snapshot.node(first)).transpose()?.flatten();
        let base = first.as_ref().map_or(0, |first| first.depth);
        let mut path = ContextPath::new(snapshot, to, self.versions);
        let (mut seen, mut used, mut passed) = (Vec::<WindowCandidate>::new(), 0u32, 0u32);
        let mut included = 0;
        let (mut results, mut human_shown) = (HostResultTokens::new(self.steady_tokens), false);
        // Omitted nodes have no tokens, but reading them has a cost.
        while passed <= self.tokens && (used <= self.tokens || included < self.options.recent) {
            let mean = (used / u32::try_from(seen.len().max(1)).unwrap_or(u32::MAX)).max(1);
            let want = if seen.is_empty() { 0 } else { self.tokens.saturating_sub(used) / mean + 8 };
            // After a move to another branch the path may not contain the first node; then it is read to the root.
            let begins = seen.last().is_some_and(|last: &WindowCandidate| Some(last.node.id) == self.context_start);
            let Some(node) = path.next(want)?.filter(|_| !begins) else { break };
            let mut next = self.candidate(node);
            self.add_past_commands(snapshot, &mut next, &mut results)?;
            self.limit_length(&mut next, &mut human_shown);
            used = used.saturating_add(next.tokens);
            match next.excluded_by {
                Some(_) => passed += MESSAGE_OVERHEAD_TOKENS,
                None => included += 1,
            }
            seen.push(next);
        }
        let most = if self.options.strategy == Strategy::Stop { self.tokens } else { self.steady_tokens };
        if used <= most {
            let full = passed > self.tokens && seen.last().is_some_and(|last| last.node.depth > base);
            seen.reverse();
            return Ok(Window { head: Vec::new(), candidates: seen, start: 0, full, base });
        }
        let above = seen.last().map_or(0, |last| last.node.depth);
        if self.options.strategy == Strategy::Stop {
            let mean = used / u32::try_from(seen.len()).unwrap_or(u32::MAX);
            let over = (used - self.tokens).saturating_add(mean.saturating_mul(above));
            return Err(ContextError::TooLong { over, exact: above == 0, budget: self.options.prompt_tokens() });
        }
        let head = match self.options.strategy {
            Strategy::Middle => self.head(snapshot, first, above)?,
            _ => self.lead_message(snapshot, first, &mut seen)?.into_iter().collect(),
        };
        let taken: u32 = head.iter().map(|first| first.tokens).sum();
        let note = if self.renderer.aware { NOTE_TOKENS } else { 0 };
        let room = self.steady_tokens.saturating_sub(taken + note);
        let oldest_kept = self.shorten_recent(&mut seen, room);
        let start = self.opening(&seen, self.start(&seen, room).max(oldest_kept));
        if seen[start].tokens > room {
            seen[start].shorten(room, self.renderer);
        }
        seen.reverse();
        let start = seen.len() - 1 - start;
        Ok(Window { head, full: seen[start].node.depth > base, candidates: seen, start, base })
    }

    fn candidate(&self, node: Node) -> WindowCandidate {
        let out = self.renderer.omission_reason(&node);
        let tokens = match out {
            Some(_) => 0,
            None => {
                self.renderer.estimate_tokens(&self.renderer.header(&node, None))
                    + self.renderer.tokens(&node)
                    + MESSAGE_OVERHEAD_TOKENS
            }
        };
        WindowCandidate {
            node,
            tokens,
            excluded_by: out,
            truncated: false,
            past_commands: None,
            results: String::new(),
        }
    }

    /// Adds what was done with a reply. A reply of commands alone is included for that.
    fn add_past_commands(
        &self,
        snapshot: &dyn Snapshot,
        next: &mut WindowCandidate,
        shown: &mut HostResultTokens,
    ) -> StoreResult<()> {
        let can_act = matches!(next.excluded_by, None | Some(OmissionReason::Empty));
        if !can_act || self.renderer.is_current(&next.node) {
            return Ok(());
        }
        let Some(commands) = past_commands::read(snapshot, self.renderer, &next.node)? else { return Ok(()) };
        if next.excluded_by.take().is_some() {
            next.tokens =
                self.renderer.estimate_tokens(&self.renderer.header(&next.node, None)) + MESSAGE_OVERHEAD_TOKENS;
        }
        next.tokens += self.renderer.estimate_tokens(&commands.text) + 1;
        next.past_commands = Some(commands);
        shown.set_results(next, self.options.prompt_tokens() / TOOL_RESULT_DIVISOR, self.renderer);
        Ok(())
    }

    /// Limits the tokens of a long node, so that it does not take the place of older ones. The newest message of a human
    /// or to a worker has no limit, nor has the node that the context begins with.
    fn limit_length(&self, next: &mut WindowCandidate, human_shown: &mut bool) {
        let is_first = Some(next.node.id) == self.context_start;
        if next.excluded_by.is_some() || self.options.strategy == Strategy::Stop || !next.results.is_empty() || is_first
        {
            return;
        }
        let (role, tool) = (next.node.role(), &next.node.tool);
        // A worker gets its messages from the program, and they answer no call.
        let asks =
            role == AuthorType::Human || role == AuthorType::Tool && tool.name.is_none() && tool.call_id.is_none();
        let divisor = match role {
            _ if asks && !*human_shown => {
                *human_shown = true;
                return;
            }
            AuthorType::Tool => TOOL_RESULT_DIVISOR,
            _ => NODE_DIVISOR,
        };
        let most = (self.options.prompt_tokens() / divisor).max(MIN_WINDOW_TOKENS);
        if is_worth_cutting(next.tokens, most) && !self.renderer.is_current(&next.node) {
            (next.tokens, next.truncated) = (most, true);
        }
    }

    /// Returns the index of the window's oldest node. `seen` is newest first; the newest node is always included.
    fn start(&self, seen: &[WindowCandidate], room: u32) -> usize {
        let newest = seen.iter().position(|seen| seen.excluded_by.is_none()).unwrap_or(0);
        // The oldest part of a full window, which goes at once: a quarter, or half of a small one.
        let newer = match self.options.rendering {
            Rendering::Stable if room < SMALL_WINDOW_TOKENS => room / 2,
            Rendering::Stable => room - room / 4,
            _ => room,
        };
        let (mut used, mut start) = (0u32, newest);
        for (at, next) in seen.iter().enumerate().filter(|(_, next)| next.excluded_by.is_none()) {
            used = used.saturating_add(next.tokens);
            if used > room {
                break;
            }
            let better = next.node.depth.trailing_zeros() > seen[start].node.depth.trailing_zeros();
            if used <= newer || better {
                start = at;
            }
        }
        start
    }

    /// Shortens the longest of the newest nodes until as many fit as the options ask for. Returns the index of the oldest
    /// of them.
    fn shorten_recent(&self, seen: &mut [WindowCandidate], room: u32) -> usize {
        let most = self.options.recent.min(room / MIN_WINDOW_TOKENS).max(1) as usize;
        let included = seen.iter().enumerate().filter(|(_, next)| next.excluded_by.is_none());
        let recent: Vec<usize> = included.map(|(at, _)| at).take(most).collect();
        let mut lengths: Vec<u32> = recent.iter().map(|at| seen[*at].tokens).collect();
        lengths.sort_unstable();
        let (mut left, mut others) = (room, u32::try_from(lengths.len()).unwrap_or(u32::MAX));
        // Short nodes leave the rest of their share to longer ones.
        let limit = lengths.into_iter().find_map(|tokens| {
            let share = left / others.max(1);
            (left, others) = (left.saturating_sub(tokens), others.saturating_sub(1));
            (tokens > share).then_some(share)
        });
        if let Some(limit) = limit {
            for at in &recent {
                if seen[*at].tokens > limit {
                    seen[*at].shorten(limit, self.renderer);
                }
            }
        }
        recent.last().copied().unwrap_or(0)
    }

    /// Returns the message that applies to the whole conversation: the root if it is a system message, or the node that the
    /// context begins with. It gets up to half of the budget. If it is the last of `seen`, it is removed there.
    fn lead_message(
        &self,
        snapshot: &dyn Snapshot,
        first: Option<Node>,
        seen: &mut Vec<WindowCandidate>,
    ) -> StoreResult<Option<WindowCandidate>> {
        let is_first = |last: &WindowCandidate| match self.context_start {
            Some(first) => last.node.id == first,
            None => last.node.begins_path(),
        };
        let is_last = seen.len() > 1 && seen.last().is_some_and(is_first);
        let candidate = match (first, self.tree.root) {
            _ if is_last => seen.last().map(|last| last.node.clone()),
            (Some(first), _) => Some(first),
            (None, Some(root)) => {
                snapshot.node(root)?.map(|root| selected_version(snapshot, &root, self.versions)).transpose()?
            }
            (None, None) => None,
        };
        let candidate = candidate.map(|node| self.candidate(node));
        let leads = |root: &WindowCandidate| {
            root.excluded_by.is_none()
                && (self.context_start.is_some() || self.renderer.role(&root.node) == Role::System)
                && (is_last || seen.last().is_some_and(|last| !is_first(last)))
        };
        let Some(mut root) = candidate.filter(leads) else { return Ok(None) };
        if is_last {
            seen.pop();
        }
        if root.tokens > self.steady_tokens / 2 {
            (root.tokens, root.truncated) = (self.steady_tokens / 2, true);
        }
        Ok(Some(root))
    }

    /// Returns the start of a conversation without headers. Some providers require that the user speaks first.
    fn opening(&self, seen: &[WindowCandidate], start: usize) -> usize {
        if self.renderer.aware {
            return start;
        }
        let opens = |at: &usize| seen[*at].excluded_by.is_none() && self.renderer.role(&seen[*at].node) == Role::User;
        (0..=start).rev().find(opens).unwrap_or(start)
    }

    /// Reads the first nodes of the path, up to a tenth of the budget and above the depth `above`.
    ///
    /// A path is known from its end. From the root it can be followed only to the first branch point, so the selection
    /// ends there. Reading the whole path would cost time proportional to its length.
    fn head(&self, snapshot: &dyn Snapshot, first: Option<Node>, above: u32) -> StoreResult<Vec<WindowCandidate>> {
        let most = self.options.prompt_tokens() / 10;
        let root = match first {
            Some(first) => Some(first),
            None => self.tree.root.map(|root| snapshot.node(root)).transpose()?.flatten(),
        };
        let mut next = root.map(|root| selected_version(snapshot, &root, self.versions)).transpose()?;
        let (mut head, mut used) = (Vec::<WindowCandidate>::new(), 0u32);
        while let Some(node) = next.take().filter(|node| node.depth < above && head.len() < MAX_HEAD_NODES) {
            if node.state.continuations == 1 && node.state.versions == 0 {
                let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 1 };
                next = snapshot.children(node.id, &filter)?.pop().filter(|child| child.state.versions == 0);
            }
            let seen = self.candidate(node);
            used = used.saturating_add(seen.tokens);
            if used > most {
                // The root is always included, truncated if needed.
                if head.is_empty() && most >= MIN_WINDOW_TOKENS {
                    head.push(WindowCandidate { tokens: most, truncated: true, ..seen });
                }
                break;
            }
            head.push(seen);
        }
        Ok(head)
    }
}

/// Formats the note in the place of the messages that the window leaves out.
pub(super) fn omitted_note(earlier: u32) -> String {
    let messages = if earlier == 1 { "1 earlier message is" } else { &format!("{earlier} earlier messages are") };
    let them = if earlier == 1 { "it" } else { "them" };
    format!("[Note: {messages} in the archive, not shown. → recall search \"…\" finds {them}.]")
}
