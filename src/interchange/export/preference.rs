//! Preference pairs: where several replies of models follow one node, one was chosen.
//!
//! The chosen reply is the bookmarked one, else the only one that was continued. The others are rejected. A place where
//! that does not decide gives no pair.

use std::{collections::BTreeMap, io::Write};

use serde_json::{Value, json};

use super::{chat, json_line::write_line, tree_export::TreeExport};
use crate::{
    id::NodeId,
    interchange::InterchangeError,
    ops::selected_version,
    store::ChildFilter,
    types::{AuthorType, EdgeKind, Node},
};

/// Writes a line for each pair, in the form of TRL or of OpenAI.
pub(super) fn write(export: &mut TreeExport<'_>, is_openai: bool, out: &mut dyn Write) -> Result<(), InterchangeError> {
    export.require_dialogue()?;
    // Parents in insertion order, with the number of their replies.
    let mut parents: BTreeMap<u64, NodeId> = BTreeMap::new();
    export.each_node(&mut |_, node| {
        if node.state.continuations > 0 {
            parents.insert(node.seq, node.id);
        }
        Ok(())
    })?;
    for parent in parents.into_values() {
        let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(true);
        let mut replies = export.snapshot.children(parent, &filter)?;
        // The newest text of an edited reply counts.
        for reply in &mut replies {
            if let Some(version) = export.whole_version(selected_version(export.snapshot, reply, &[])?)? {
                reply.content = version.content;
            }
        }
        replies.retain(|reply| reply.role() == AuthorType::Model && !reply.content.trim().is_empty());
        if replies.len() < 2 {
            continue;
        }
        replies.retain(|reply| export.admits(reply));
        let Some(chosen) = chosen_of(&replies) else {
            export.report.leave_out("places without a choice", u64::from(replies.len() > 1));
            continue;
        };
        // The path to a reply has the newest version of each message before it.
        let mut path = export.snapshot.path_back(chosen.id, &[], 0)?;
        path.pop();
        let prompt = chat::messages(export, &path)?;
        if prompt.is_empty() {
            export.report.leave_out("replies without a prompt", 1);
            continue;
        }
        let message = |reply: &Node| json!([{ "role": "assistant", "content": reply.content }]);
        for rejected in replies.iter().filter(|reply| reply.id != chosen.id && reply.content != chosen.content) {
            export.report.written += 1;
            write_line(out, &pair(&prompt, message(chosen), message(rejected), is_openai))?;
        }
    }
    Ok(())
}

fn pair(prompt: &[Value], chosen: Value, rejected: Value, is_openai: bool) -> Value {
    if is_openai {
        json!({
            "input": { "messages": prompt, "tools": [], "parallel_tool_calls": true },
            "preferred_output": chosen,
            "non_preferred_output": rejected,
        })
    } else {
        json!({ "prompt": prompt, "chosen": chosen, "rejected": rejected })
    }
}

/// Returns the reply that was preferred, if exactly one was.
fn chosen_of(replies: &[Node]) -> Option<&Node> {
    let only = |is_chosen: &dyn Fn(&Node) -> bool| {
        let mut chosen = replies.iter().filter(|reply| is_chosen(reply));
        chosen.next().filter(|_| chosen.next().is_none())
    };
    if replies.iter().any(|reply| reply.state.bookmark.is_some()) {
        return only(&|reply| reply.state.bookmark.is_some());
    }
    only(&|reply| reply.state.continuations > 0)
}
