//! Operational memory: the agent's pins and stashes in a tree, and the block that shows them.

use super::{
    Answer, AnswerResult, Executor, Position,
    counts::count,
    documents::words,
    escape::{escape, quoted},
    extractive_summary,
    node_format::{self, content, gist, id},
    paginate_result, recent_actions,
};
use crate::{
    arrow::{MemoryView, NodeRange, NodeRef},
    id::{AgentId, TreeId},
    ops::{Loom, OpsError},
    store::Snapshot,
    tokens::estimated_tokens,
    tools::{ErrorCode, ToolError},
    types::{Memory, Node, PinTarget, StashContent, StashKind, first_words, one_line, section},
};

/// Results of one label that are stored at once.
const MAX_SAME_LABELS: usize = 16;
/// Answer within a turn to an agent that keeps nothing. Its prompt has only its newest actions.
const NOTHING_KEPT: &str = "✓ nothing is pinned or stashed; → list changes shows what you did";
/// Maximum characters of a stash in a list.
const STASH_CHARS: usize = 60;
/// Minimum and maximum tokens of a summary. Within them it has a tenth of its source.
const SUMMARY_TOKENS: (u32, u32) = (40, 300);

/// Returns the operational memory block of an agent in a tree.
///
/// # Errors
/// If the store cannot be read.
pub fn block(loom: &Loom, agent: AgentId, tree: TreeId) -> Result<String, ToolError> {
    let snapshot = loom.snapshot()?;
    let memory = snapshot.memory(agent, tree)?;
    let done = recent_actions(&*snapshot, agent, tree)?.phrases(&|_| false);
    let actions = (!done.is_empty()).then(|| format!("Recent actions:\n  {}", done.join(" · ")));
    let mut lines = pinned_lines(&*snapshot, &memory)?;
    lines.extend(actions);
    lines.extend(stashed_line(&memory));
    if lines.is_empty() {
        lines.push("(empty)".to_owned());
    }
    Ok(format!("=== Operational Memory ===\n{}\n===", lines.join("\n")))
}

fn pinned_lines(snapshot: &dyn Snapshot, memory: &Memory) -> Result<Vec<String>, OpsError> {
    let mut lines: Vec<String> = memory.pins.first().map(|_| "Pinned:".to_owned()).into_iter().collect();
    for pin in &memory.pins {
        lines.push(format!("  {}", pinned(snapshot, &pin.target)?));
    }
    Ok(lines)
}

/// Names the stashes on one line; `None` without any.
pub(crate) fn stashed_line(memory: &Memory) -> Option<String> {
    let labels: Vec<String> = memory.stashes.iter().map(|stash| quoted(&stash.label)).collect();
    (!labels.is_empty()).then(|| format!("Stashed (not in context): {}", labels.join(", ")))
}

/// Formats a pin on one line: `[a7x2kq] "…"`, `doc:"notes" §motivation (247 words)`.
///
/// # Errors
/// If the store cannot be read.
pub fn pinned(snapshot: &dyn Snapshot, target: &PinTarget) -> Result<String, OpsError> {
    Ok(match target {
        PinTarget::Node(id) => {
            let node = snapshot.node(*id)?.ok_or_else(|| OpsError::missing("node", id))?;
            let pruned = if node.state.hidden_by.is_some() { " (pruned)" } else { "" };
            format!("{} {}{pruned}", node_format::id(&node), gist(&node))
        }
        PinTarget::Document { id, section: heading } => {
            let found = snapshot.documents()?.into_iter().find(|document| document.id == *id);
            let document = found.ok_or_else(|| OpsError::missing("document", id))?;
            let text = snapshot.document_version(*id, 0)?.map(|version| version.content).unwrap_or_default();
            let (part, length) = match heading {
                None => (String::new(), words(&text)),
                // The section can have been removed since it was pinned.
                Some(name) => {
                    let found = section(&text, name).map(|found| words(&text[found.span]));
                    (format!(" §{}", one_line(name)), found.unwrap_or_else(|_| "gone".to_owned()))
                }
            };
            format!("doc:{}{part} ({length})", quoted(&document.name))
        }
    })
}

impl Executor<'_> {
    pub(super) fn pin(
        &self,
        here: &Position,
        node: Option<&NodeRef>,
        doc: Option<&str>,
        heading: Option<&str>,
    ) -> AnswerResult {
        let (target, name) = match doc {
            Some(doc) => self.document_pin(doc, heading)?,
            None => {
                let node = self.node(here, node)?;
                (PinTarget::Node(node.id), id(&node))
            }
        };
        let receipt = self.actor().pin(here.tree.id, target)?;
        Ok(if receipt.group == 0 { format!("✓ {name} is pinned already") } else { format!("✓ pinned {name}") }.into())
    }

    fn document_pin(&self, doc: &str, heading: Option<&str>) -> Result<(PinTarget, String), ToolError> {
        let document = self.loom.document(doc)?;
        let heading = match heading {
            Some(heading) => Some(section(&self.document_text(&document)?, heading).map_err(OpsError::from)?.title),
            None => None,
        };
        let part = heading.as_deref().map(|name| format!(" §{}", one_line(name))).unwrap_or_default();
        let name = format!("doc:{}{part}", quoted(&document.name));
        Ok((PinTarget::Document { id: document.id, section: heading }, name))
    }

    pub(super) fn stash(
        &self,
        here: &Position,
        label: &str,
        words: Option<&str>,
        content_of: Option<&NodeRef>,
        summary_of: Option<&NodeRange>,
    ) -> AnswerResult {
        let content = match (words, content_of, summary_of) {
            (Some(words), None, None) => {
                super::agent_tree_change::not_empty(words, "a stash")?;
                StashContent::Words(words.to_owned())
            }
            (None, Some(node), None) => StashContent::Node(self.resolve_node(here, node)?.id),
            (None, None, Some(span)) => StashContent::Summary(self.summary(here, span)?),
            _ => {
                let failure = ToolError::new(ErrorCode::InvalidSyntax, "a stash holds one thing");
                return Err(failure.hint("→ stash \"label\" \"text\" · → stash \"label\" content-of:ID"));
            }
        };
        let before = self.load_memory(here)?.stashes.iter().any(|stash| stash.label == label);
        self.actor().stash(here.tree.id, label, content)?;
        let tokens = self.load_memory(here)?.stashes.iter().find(|stash| stash.label == label).map_or(0, |s| s.tokens);
        let again = if before { " in the place of what was there" } else { "" };
        Ok(format!("✓ stashed {} ({}){again}", quoted(label), count(tokens, "token")).into())
    }

    /// Summarizes the part of a path between two nodes. Either node can be the upper one.
    fn summary(&self, here: &Position, span: &NodeRange) -> Result<String, ToolError> {
        let (mut first, mut last) = (self.resolve_node(here, &span.first)?, self.resolve_node(here, &span.last)?);
        if first.depth > last.depth {
            std::mem::swap(&mut first, &mut last);
        }
        let path = self.loom.snapshot()?.path_back(last.id, &here.session.versions, 0)?;
        let Some(from) = path.iter().position(|node| node.id == first.id) else {
            let message = format!("{} is not on the path to {}", id(&first), id(&last));
            return Err(ToolError::new(ErrorCode::NotFound, message));
        };
        let spoken = |node: &&Node| node.purged_at.is_none() && !node.state.excluded;
        let texts: Vec<&str> = path[from..].iter().filter(spoken).map(|node| node.content.as_str()).collect();
        let whole: u32 = texts.iter().map(|text| estimated_tokens(text)).fold(0, u32::saturating_add);
        let text = extractive_summary::summarise(texts, (whole / 10).clamp(SUMMARY_TOKENS.0, SUMMARY_TOKENS.1));
        if text.is_empty() {
            return Err(ToolError::new(ErrorCode::NotFound, "there is nothing to sum up between them"));
        }
        Ok(text)
    }

    /// Recalls the stash or stored result of a label, or one page of it.
    pub(super) fn recall_stash(&self, here: &Position, label: &str) -> AnswerResult {
        let (whole, part) = paginate_result::parse_label(label);
        for (label, part) in [(label, 1), (whole, part)] {
            let Some(text) = self.stored_text(here, label)? else { continue };
            let tool = label.split(' ').next().unwrap_or_default();
            let all = paginate_result::split_pages(&text, self.page_tokens(tool));
            if part > all.len() {
                let message = format!("{} has {}", quoted(label), count(all.len() as u64, "part"));
                return Err(ToolError::new(ErrorCode::NotFound, message));
            }
            return Ok(Answer::Page { text: paginate_result::render_page(&all, part, label), label: quoted(label) });
        }
        let labels: Vec<String> = self.load_memory(here)?.stashes.into_iter().map(|stash| stash.label).collect();
        // An agent without any stash means a search by these words.
        let search = labels.is_empty().then(|| format!("→ recall search {}", quoted(&first_words(label, 80))));
        let failure = ToolError::from(OpsError::unknown("stash", label, labels));
        Err(search.into_iter().fold(failure, ToolError::hint))
    }

    /// Returns the escaped text of a stash or of a stored result.
    fn stored_text(&self, here: &Position, label: &str) -> Result<Option<String>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let words = match snapshot.stashed(self.agent.id(), here.tree.id, label, false)? {
            Some(StashContent::Words(text) | StashContent::Summary(text) | StashContent::Result(text)) => {
                escape(&text).into_owned()
            }
            Some(StashContent::Node(node)) => content(&self.loom.node(node)?).into_owned(),
            // A result was escaped when it was formatted.
            None => return self.stored_result(here, label),
        };
        Ok(Some(format!("stash {}:\n{words}", quoted(label))))
    }

    /// Returns the stored result of a label.
    fn stored_result(&self, here: &Position, label: &str) -> Result<Option<String>, ToolError> {
        let stored = self.loom.snapshot()?.stashed(self.agent.id(), here.tree.id, &self.result_key(label), true)?;
        Ok(match stored {
            Some(StashContent::Result(text)) => Some(text),
            _ => None,
        })
    }

    /// Returns the label under which a result is stored: the workers of a delegation are one agent in one tree.
    pub(super) fn result_key(&self, label: &str) -> String {
        format!("{label} @{}", self.session)
    }

    /// Returns the label for a result: with a number if another result has it.
    pub(super) fn free_label(&self, here: &Position, label: &str, text: &str) -> String {
        let numbered = (2..=MAX_SAME_LABELS).map(|number| format!("{label} ({number})"));
        let is_free = |label: &String| {
            let stored = self.stored_result(here, label).ok().flatten();
            stored.is_none_or(|stored| stored == text)
        };
        std::iter::once(label.to_owned()).chain(numbered).find(is_free).unwrap_or_else(|| label.to_owned())
    }

    pub(super) fn drop_item(&self, here: &Position, pin: Option<&NodeRef>, stash: Option<&str>) -> AnswerResult {
        if let Some(label) = stash {
            self.actor().unstash(here.tree.id, label)?;
            return Ok(format!("✓ dropped stash {}", quoted(label)).into());
        }
        let Some(pin) = pin else {
            let failure = ToolError::new(ErrorCode::InvalidSyntax, "drop what?");
            return Err(failure.hint("→ drop pin:ID · → drop stash:\"label\""));
        };
        let (target, name) = self.find_pin(here, pin)?;
        if self.load_memory(here)?.pins.iter().all(|pin| pin.target != target) {
            return Err(ToolError::new(ErrorCode::NotFound, format!("{name} is not pinned")));
        }
        self.actor().unpin(here.tree.id, target)?;
        Ok(format!("✓ dropped pin {name}").into())
    }

    /// Finds the pin that a reference names. A text is a node's id, a document's name with `§section` or `#section`, or a
    /// bookmark's label.
    fn find_pin(&self, here: &Position, reference: &NodeRef) -> Result<(PinTarget, String), ToolError> {
        let of_node = |node: Node| (PinTarget::Node(node.id), id(&node));
        let Some(text) = reference.id() else { return self.resolve_node(here, reference).map(of_node) };
        let as_node = self.resolve_node(here, &NodeRef::from(text));
        if let Ok(node) = as_node {
            return Ok(of_node(node));
        }
        for pin in self.load_memory(here)?.pins {
            if let PinTarget::Document { id, section } = &pin.target {
                let name = self.document_name(*id)?;
                let heading = section.as_deref().unwrap_or("");
                let fits = text == name && section.is_none()
                    || [" §", "§", " #", "#"].iter().any(|mark| text == format!("{name}{mark}{heading}"));
                if fits {
                    let part = section.as_deref().map(|name| format!(" §{}", one_line(name))).unwrap_or_default();
                    let name = format!("doc:{}{part}", quoted(&name));
                    return Ok((pin.target, name));
                }
            }
        }
        let marked = self.resolve_node(here, &NodeRef::Bookmark { bookmark: text.to_owned() });
        marked.or(as_node).map(of_node)
    }

    pub(super) fn memory(&mut self, here: &Position, view: Option<MemoryView>) -> AnswerResult {
        // The trace includes the earlier lines of this batch.
        self.flush_trace();
        let (agent, tree) = (self.agent.id(), here.tree.id);
        Ok(match view {
            // Within a turn, the prompt has the actions.
            None if self.recalled.is_some() => {
                let memory = self.load_memory(here)?;
                let mut lines = pinned_lines(&*self.loom.snapshot()?, &memory)?;
                lines.extend((!memory.stashes.is_empty()).then(|| self.stashed(here)).transpose()?);
                if lines.is_empty() { NOTHING_KEPT.to_owned().into() } else { lines.join("\n").into() }
            }
            None => block(&self.loom, agent, tree)?.into(),
            Some(MemoryView::Trace) => {
                match recent_actions(&*self.loom.snapshot()?, agent, tree)?.phrases(&|_| false).as_slice() {
                    [] => "Recent actions: none in this tree".to_owned().into(),
                    phrases => format!("Recent actions:\n  {}", phrases.join("\n  ")).into(),
                }
            }
            Some(MemoryView::Stashed) => self.stashed(here)?.into(),
        })
    }

    fn stashed(&self, here: &Position) -> Result<String, ToolError> {
        let stashes = self.load_memory(here)?.stashes;
        if stashes.is_empty() {
            return Ok("Stashed: nothing".to_owned());
        }
        let snapshot = self.loom.snapshot()?;
        let mut lines = Vec::new();
        for stash in &stashes {
            let kind = match stash.kind {
                StashKind::Words | StashKind::Result => "words",
                StashKind::Node => "a node's words",
                StashKind::Summary => "a summary",
            };
            let text = match snapshot.stashed(self.agent.id(), here.tree.id, &stash.label, false)? {
                Some(StashContent::Node(node)) => {
                    let node = self.loom.node(node)?;
                    format!("{} {}", id(&node), quoted(&first_words(&one_line(&content(&node)), STASH_CHARS)))
                }
                Some(StashContent::Words(text) | StashContent::Summary(text) | StashContent::Result(text)) => {
                    quoted(&first_words(&one_line(&text), STASH_CHARS))
                }
                None => String::new(),
            };
            let (age, tokens) = (stash.at.age(here.now), count(stash.tokens, "token"));
            lines.push(format!("  {} · {kind} · {tokens} · {age} · {text}", quoted(&stash.label)));
        }
        Ok(format!("Stashed (→ recall \"label\" shows one):\n{}", lines.join("\n")))
    }

    fn load_memory(&self, here: &Position) -> Result<Memory, ToolError> {
        Ok(self.loom.snapshot()?.memory(self.agent.id(), here.tree.id)?)
    }
}
