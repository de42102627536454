//! Operational memory in a prompt: pins with their content, the last actions, and the labels of stashes.
//!
//! `→ memory` prints the same without the content of pins, because the prompt has it already.

use crate::{
    exec::{RecentActions, escape, pinned, recent_actions, stashed_line},
    id::{AgentId, NodeId, TreeId},
    ops::OpsError,
    store::{Snapshot, StoreError},
    tokens::TokenizerFamily,
    types::{PinTarget, section, truncate_bytes},
};

use super::{Inclusion, OmissionReason, PinReport, node_renderer::escape_headers};

/// Minimum tokens of a truncated pin; a smaller one is omitted.
const MIN_PIN_TOKENS: u32 = 24;

/// Operational memory, as an agent's prompt shows it.
#[derive(Debug, Default)]
pub(super) struct MemoryBlock {
    pinned: Vec<String>,
    actions: RecentActions,
    stashed: Option<String>,
    /// Report of each pin.
    pub(super) pins: Vec<PinReport>,
}

impl MemoryBlock {
    /// Formats the block without the actions that the prompt shows; empty without content.
    pub(super) fn text(&self, is_shown: &dyn Fn(NodeId) -> bool) -> String {
        let mut lines = self.pinned.clone();
        let actions = self.actions.phrases(is_shown);
        if !actions.is_empty() {
            lines.push(format!("Recent actions:\n  {}", actions.join(" · ")));
        }
        lines.extend(self.stashed.clone());
        if lines.is_empty() { String::new() } else { format!("=== Operational Memory ===\n{}\n===", lines.join("\n")) }
    }
}

/// Reads the memory. Pins get at most `share` tokens. A worker of a delegation sees no last actions, which are those of
/// the agent that it works for.
pub(super) fn read(
    snapshot: &dyn Snapshot,
    (agent, tree, is_worker): (AgentId, TreeId, bool),
    tokenizer: TokenizerFamily,
    share: u32,
) -> Result<MemoryBlock, StoreError> {
    let memory = snapshot.memory(agent, tree)?;
    let (mut lines, mut pins, mut left) = (Vec::new(), Vec::new(), share);
    if !memory.pins.is_empty() {
        lines.push("Pinned:".to_owned());
    }
    for pin in &memory.pins {
        let name = pinned(snapshot, &pin.target).map_err(into_store_error)?;
        let words = PinContent::read(snapshot, &pin.target)?;
        let (text, inclusion) = words.fit(left, tokenizer);
        left = left.saturating_sub(tokenizer.tokens(&text));
        let mut line = format!("  {name}");
        // Content that the line shows in full is not repeated.
        let said = text.is_empty() || inclusion == Inclusion::Full && name.contains(&format!("\"{text}\""));
        if !said {
            line.push_str("\n    ");
            line.push_str(&text.replace('\n', "\n    "));
        }
        pins.push(PinReport { target: pin.target.clone(), name, tokens: tokenizer.tokens(&line), inclusion });
        lines.push(line);
    }
    let actions = if is_worker { RecentActions::default() } else { recent_actions(snapshot, agent, tree)? };
    let stashed = stashed_line(&memory);
    Ok(MemoryBlock { pinned: lines, actions, stashed, pins })
}

/// Pinned objects cannot be deleted, so only store errors remain.
fn into_store_error(error: OpsError) -> StoreError {
    match error {
        OpsError::Store(error) => error,
        other => StoreError::Undecodable(other.to_string()),
    }
}

/// Content of a pin.
struct PinContent {
    text: String,
    /// Command that prints the whole content.
    command: String,
    /// Reason for omission regardless of the budget.
    excluded_by: Option<OmissionReason>,
}

impl PinContent {
    fn read(snapshot: &dyn Snapshot, target: &PinTarget) -> Result<Self, StoreError> {
        Ok(match target {
            PinTarget::Node(id) => {
                let Some(node) = snapshot.node(*id)? else { return Ok(Self::missing()) };
                let pruned = node.state.hidden_by.is_some().then_some(OmissionReason::Pruned);
                let excluded = node.state.excluded.then_some(OmissionReason::Excluded);
                let purged = node.purged_at.is_some().then_some(OmissionReason::Purged);
                let command = format!("→ view {} full", node.local);
                Self { text: node.content, command, excluded_by: pruned.or(excluded).or(purged) }
            }
            PinTarget::Document { id, section: heading } => {
                let named = snapshot.documents()?.into_iter().find(|document| document.id == *id);
                let (Some(document), Some(version)) = (named, snapshot.document_version(*id, 0)?) else {
                    return Ok(Self::missing());
                };
                let mut command = format!("→ read doc:{}", escape::quoted(&document.name));
                let text = match heading {
                    None => version.content,
                    Some(heading) => {
                        command.push_str(&format!(" section:{}", escape::quoted(heading)));
                        match section(&version.content, heading) {
                            Ok(found) => version.content[found.span].to_owned(),
                            // The section may have been removed after it was pinned.
                            Err(_) => return Ok(Self::missing()),
                        }
                    }
                };
                Self { text, command, excluded_by: None }
            }
        })
    }

    fn missing() -> Self {
        Self { text: String::new(), command: String::new(), excluded_by: Some(OmissionReason::Empty) }
    }

    /// Returns the content up to a token limit, with the command that prints the rest.
    fn fit(&self, tokens: u32, tokenizer: TokenizerFamily) -> (String, Inclusion) {
        let text = self.text.trim_matches('\n');
        if let Some(reason) = self.excluded_by {
            return (String::new(), Inclusion::Omitted(reason));
        }
        let all = tokenizer.tokens(text);
        if all <= tokens {
            return (escape_headers(text).into_owned(), Inclusion::Full);
        }
        if tokens < MIN_PIN_TOKENS {
            return (format!("[about {all} tokens · {}]", self.command), Inclusion::Omitted(OmissionReason::Budget));
        }
        let mut share = text.len() as u64 * u64::from(tokens) / u64::from(all);
        let mut start = truncate_bytes(text, usize::try_from(share).unwrap_or(usize::MAX));
        while tokenizer.tokens(start) > tokens {
            share -= (share / 16).max(1);
            start = truncate_bytes(text, usize::try_from(share).unwrap_or(usize::MAX));
        }
        let rest = all.saturating_sub(tokenizer.tokens(start));
        (
            format!("{}\n[about {rest} tokens more · {}]", escape_headers(start), self.command),
            Inclusion::Truncated(OmissionReason::Budget),
        )
    }
}
