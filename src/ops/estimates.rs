//! Estimates: what a model counted where so many tokens were estimated corrects the next estimate.

use super::Actor;
use crate::{
    store::{Mutation, Pending},
    types::Op,
};

impl Actor {
    /// Keeps how many tokens a model counted in a prompt of so many estimated ones: the report's total, and the provider's
    /// usage. It can as well go into the change that saves the reply: [`Mutation::RecordTokenUsage`].
    pub fn reckon(&self, model: &str, estimated: u64, reported: u64) -> Pending {
        self.submit(Op::Generate, vec![Mutation::RecordTokenUsage { model: model.to_owned(), estimated, reported }])
    }
}
