//! Recording of calls whose client sends the whole conversation: the longest stored prefix is found, and the rest is
//! appended. A changed earlier message becomes a branch.
//!
//! Each message has a chain hash of its own canonical form and of the message before it. System prompt and tools are not
//! part of the chain, because clients change them from call to call; they are stored with the reply.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    caller::Caller,
    error::{ApiError, Result},
    openai::message_text,
    state::AppState,
    stored_prefix,
};
use crate::{
    id::{AgentId, NodeId},
    ops::{NodeDraft, TreeDraft},
    provider::Money,
    store::Mutation,
    types::{AuthorType, Json, NewNode, Op, Parent, ToolCallFields},
};

/// Calls that wait for being recorded at most; further ones are not recorded.
const MAX_WAITING_CALLS: usize = 1_024;

/// Records a call.
type Recorder = Box<dyn FnOnce(&AppState) + Send>;

/// Calls that wait for being recorded, in the order in which their answers ended: the next call of a conversation
/// continues the nodes of the one before it.
pub(super) struct CallQueue(mpsc::Sender<Option<Recorder>>);

impl CallQueue {
    /// Creates a queue and its other end, for [`record_calls`].
    pub(super) fn new() -> (Self, mpsc::Receiver<Option<Recorder>>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_CALLS);
        (Self(sender), receiver)
    }

    /// Adds a call without waiting. Returns false if the queue is full.
    pub(super) fn push(&self, recorder: impl FnOnce(&AppState) + Send + 'static) -> bool {
        self.0.try_send(Some(Box::new(recorder))).is_ok()
    }

    /// Ends [`record_calls`] after the calls that wait.
    pub(super) async fn end(&self) {
        // An error means that it has ended.
        let _ = self.0.send(None).await;
    }
}

/// Records calls one after the other on a thread for blocking calls, until the queue is ended.
pub(super) fn record_calls(state: &AppState, mut calls: mpsc::Receiver<Option<Recorder>>) {
    while let Some(Some(recorder)) = calls.blocking_recv() {
        if catch_unwind(AssertUnwindSafe(|| recorder(state))).is_err() {
            state.metrics.unrecorded.inc();
        }
    }
}

/// A call of a model: what was sent, and what came back.
#[derive(Default)]
pub(super) struct RecordedCall {
    /// Messages as sent, system prompts among them.
    pub(super) messages: Vec<Value>,
    /// Reply as messages or items.
    pub(super) replies: Vec<Value>,
    /// Node of the first reply; `None`: a new one.
    pub(super) id: Option<NodeId>,
    pub(super) tools: Value,
    pub(super) model: String,
    /// Agent that wrote the reply; `None`: the subject.
    pub(super) author: Option<AgentId>,
    /// System prompt outside of the messages.
    pub(super) system: Value,
    pub(super) usage: Value,
    pub(super) cost: Option<Money>,
    pub(super) interrupted: bool,
}

/// Stores a call. Returns the first node of the reply. Only calls of a [`CallQueue`] may do this: two at a time could both
/// store the same message.
pub(super) fn record(state: &AppState, caller: &Caller, call: RecordedCall) -> Result<NodeId> {
    let loom = state.loom();
    let owner = state.actor(caller)?;
    let author = match call.author {
        Some(author) => author,
        None => loom.agent("subject")?.id(),
    };
    let (system, messages): (Vec<Value>, Vec<Value>) =
        call.messages.into_iter().partition(|message| matches!(message["role"].as_str(), Some("system" | "developer")));
    let all: Vec<&Value> = messages.iter().chain(&call.replies).collect();
    let mut hash = blake3::hash(caller.project.as_deref().unwrap_or_default().as_bytes());
    let sources: Vec<String> = all
        .iter()
        .map(|message| {
            hash = stored_prefix::chain(hash, &stored_prefix::canonical(message));
            format!("call:{}", hash.to_hex())
        })
        .collect();
    let (known, mut last) = stored_prefix::longest_prefix(state, &sources[..messages.len()])?;
    let (mut mutations, mut first_reply) = (Vec::new(), None);
    for (at, message) in all.iter().enumerate().skip(known) {
        let parent = match last {
            Some(last) => Parent::Node(last),
            None => {
                let id = loom.tree_id();
                mutations.push(Mutation::CreateTree(TreeDraft::new("").into_parts(id, loom.now()).0));
                Parent::Root(id)
            }
        };
        let mut node: NewNode = owner.draft(parent, draft(message));
        // The same reply a second time is a node of its own, which later calls do not continue.
        let is_new = at < messages.len() || loom.snapshot()?.source(&sources[at])?.is_none();
        node.source = is_new.then(|| sources[at].clone());
        if at >= messages.len() {
            (node.author, node.interrupted) = (author, call.interrupted);
        }
        if at == messages.len() {
            node.id = call.id.unwrap_or(node.id);
            first_reply = Some(node.id);
            let system = if call.system.is_null() { json!(system) } else { call.system.clone() };
            let mut details =
                json!({ "model": call.model, "usage": call.usage, "system": system, "tools": call.tools });
            if let Some(cost) = &call.cost {
                details["cost"] = json!(cost);
            }
            node.provenance = Some(Json::from(details));
        }
        last = Some(node.id);
        mutations.push(Mutation::Append(Box::new(node)));
    }
    let id = first_reply.ok_or_else(|| ApiError::invalid("the call has no reply"))?;
    let receipt = owner.commit(Op::Import, mutations)?;
    state.metrics.appends.inc_by(receipt.nodes.len() as u64);
    if known == 0 {
        let node = loom.node(id)?;
        let root = loom.tree(node.tree)?.root.unwrap_or(id);
        state.assign_project(caller, node.tree, root)?;
    }
    Ok(id)
}

fn draft(message: &Value) -> NodeDraft {
    let author_type = match message["role"].as_str() {
        Some("assistant") => AuthorType::Model,
        Some("tool") => AuthorType::Tool,
        None if message["type"] == "function_call_output" => AuthorType::Tool,
        None => AuthorType::Model,
        _ => AuthorType::Human,
    };
    let calls = message.get("tool_calls").filter(|calls| calls.is_array()).cloned().map(Json::from);
    let call_id = message["tool_call_id"].as_str().map(str::to_owned);
    NodeDraft {
        author_type: Some(author_type),
        tool: ToolCallFields { calls, call_id, ..ToolCallFields::default() },
        metadata: Some(Json::from(json!({ "message": message }))),
        ..NodeDraft::text(message_text(&message["content"]))
    }
}
