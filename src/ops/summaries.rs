//! Summaries: kept where a model made one, so that it is made once.

use super::{Actor, Result};
use crate::{
    store::{Mutation, Receipt},
    types::{Op, SummarySubject},
};

impl Actor {
    /// Keeps what a model said that something is about, in the place of what was said before. `made_of` is a document's
    /// version, or how many nodes a tree had; 0 for a node. `after` is the journal's last entry when the words were read.
    ///
    /// # Errors
    /// If it says nothing, it is of what is not there, something was purged since, or the store fails.
    pub fn keep_summary(
        &self,
        of: SummarySubject,
        (made_of, after): (u64, u64),
        model: &str,
        content: &str,
    ) -> Result<Receipt> {
        let (model, content) = (model.to_owned(), content.to_owned());
        self.commit(Op::Memory, vec![Mutation::SaveSummary { of, made_of, after, model, content }])
    }
}
