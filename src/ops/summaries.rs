//! Summaries: saved after a model wrote them, so that each is generated once.

use super::{Actor, Result};
use crate::{
    store::{Mutation, Receipt},
    types::{Op, SummarySubject},
};

impl Actor {
    /// Saves a model's summary, replacing an earlier one. `made_of` is a document's version, or a tree's number of
    /// nodes; 0 for a node. `after` is the newest journal entry at the time of reading.
    ///
    /// # Errors
    /// If the summary is empty, its subject does not exist, content was purged since, or the store fails.
    pub fn save_summary(
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
