//! Targets of some mutations: the original place of a pin or stash, the scope of a purge, the subject of an inverse.

use serde::{Deserialize, Serialize};

use super::Mutation;
use crate::{
    id::{NodeId, SessionId, TreeId},
    types::{PinTarget, Subject, Timestamp},
};

/// Original position of a pin or stash that an undo restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PriorPlacement {
    /// Row number, which orders pins and stashes.
    pub number: u64,
    /// Original creation time.
    pub since: Timestamp,
}

/// The scope of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PurgeTarget {
    /// A single node.
    Node(NodeId),
    /// Every node that a session caused or received, and the session's state.
    Session(SessionId),
    /// Every node of a tree, and the tree's title, description and system context.
    Tree(TreeId),
}

/// The part of the model that a mutation changes.
pub(super) enum MutationFamily {
    Node,
    Tree,
    Agent,
    Session,
    Document,
    Memory,
    Unjournaled,
    Todo,
    Purge(PurgeTarget),
    Undo,
}

impl Mutation {
    /// Returns the part of the model that it changes.
    pub(super) fn family(&self) -> MutationFamily {
        match self {
            Self::Append(_)
            | Self::Prune { .. }
            | Self::Restore { .. }
            | Self::SetExcluded { .. }
            | Self::SetBookmark { .. }
            | Self::CopyBranch { .. }
            | Self::AppendDelegationEvent { .. } => MutationFamily::Node,
            Self::CreateTree(_) | Self::UpdateTree { .. } | Self::SetArchived { .. } => MutationFamily::Tree,
            Self::CreateAgent(_) | Self::UpdateAgent(_) | Self::SetAgentRemoved { .. } => MutationFamily::Agent,
            Self::CreateSession(_)
            | Self::UpdateSession { .. }
            | Self::Record { .. }
            | Self::ReceiveTurn { .. }
            | Self::SetRecordRemoved { .. } => MutationFamily::Session,
            Self::Link(_)
            | Self::SetLinkRemoved { .. }
            | Self::CreateDocument { .. }
            | Self::WriteDocument { .. }
            | Self::RevertDocument { .. }
            | Self::SetDocumentRemoved { .. } => MutationFamily::Document,
            Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Stash { .. }
            | Self::Unstash { .. }
            | Self::RecordActions { .. } => MutationFamily::Memory,
            Self::Lease { .. }
            | Self::Release { .. }
            | Self::ShowCursor { .. }
            | Self::SaveSummary { .. }
            | Self::SaveEmbeddings { .. }
            | Self::RecordTokenUsage { .. }
            | Self::RecordSystemPrompt { .. } => MutationFamily::Unjournaled,
            Self::AddTodo(_) | Self::FinishTodo { .. } | Self::UpdateTodo { .. } | Self::CarryOverTodo { .. } => {
                MutationFamily::Todo
            }
            Self::Purge(target) => MutationFamily::Purge(*target),
            Self::Undo { .. } => MutationFamily::Undo,
        }
    }

    /// Returns the subject of an entry with this inverse, if it is no node, and whether the entry replaced an earlier value.
    pub(super) fn describe_inverse(&self) -> (Option<Subject>, bool) {
        match self {
            Self::SetBookmark { label, .. } => (None, label.is_some()),
            Self::SetArchived { archived, .. } => (None, !archived),
            Self::SetRecordRemoved { removed, .. } => (None, !removed),
            Self::RevertDocument { document, .. } => (Some(Subject::Document(*document)), true),
            Self::SetDocumentRemoved { document, removed } => (Some(Subject::Document(*document)), !removed),
            Self::UpdateAgent(agent) => (Some(Subject::Agent(agent.id)), true),
            Self::SetAgentRemoved { agent, removed } => (Some(Subject::Agent(*agent)), !removed),
            Self::Pin { target: PinTarget::Document { id, .. }, .. } => (Some(Subject::Document(*id)), true),
            Self::Unpin { target: PinTarget::Document { id, .. }, .. } => (Some(Subject::Document(*id)), false),
            Self::Stash { label, .. } => (Some(Subject::Stash(label.clone())), true),
            Self::Unstash { label, .. } => (Some(Subject::Stash(label.clone())), false),
            _ => (None, false),
        }
    }
}
