//! The names that most applications use: `use loomtree::prelude::*;`.

pub use crate::{
    Error,
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, Loom, NodeDraft, SessionDraft, TreeDraft},
    provider::{self, Model, Scripted},
    recall,
    session::{self, GenerateRequest, Progress, generate},
    store::{ChildFilter, JournalFilter, SessionFilter, Snapshot, TreeFilter},
    types::{Agent, JournalEntry, Mode, Node, Parent, Session, Tree},
};
