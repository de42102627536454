//! Token usage: a model's count for an estimated prompt calibrates later estimates.

use super::Actor;
use crate::{
    store::{Mutation, PendingCommit},
    types::Op,
};

impl Actor {
    /// Records the estimated and the counted tokens of a prompt. [`Mutation::RecordTokenUsage`] does the same within another
    /// change, such as a saved reply.
    pub fn record_token_usage(&self, model: &str, estimated: u64, reported: u64) -> PendingCommit {
        self.submit(Op::Generate, vec![Mutation::RecordTokenUsage { model: model.to_owned(), estimated, reported }])
    }
}
