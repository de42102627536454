//! Saves replies in the order of their requests, so that siblings keep the order of the columns they streamed in.
//!
//! Siblings are ordered by their commits. A reply that ends before its predecessors therefore waits; its text is in its
//! partial reply file meanwhile, so a kill loses nothing.

use super::GenerationDriver;
use crate::{
    agent::{RoundOutput, TurnInput},
    provider::FinishReason,
    session::{
        request::{GenerateError, Progress},
        save_reply::{self, SaveOptions},
    },
};

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Saves finished replies whose predecessors are saved or have failed.
    pub(super) async fn save_finished(&mut self) {
        for index in 0..self.seats.len() {
            if let Some(said) = self.seats[index].unsaved.take() {
                match self.save(index, said).await {
                    Ok(input) => self.happened(index, input).await,
                    Err(error) => self.failed(index, error).await,
                }
            }
            if !self.seats[index].turn.is_over() {
                return;
            }
        }
    }

    /// Appends a reply as a node, and emits its event.
    pub(super) async fn save(&mut self, index: usize, said: RoundOutput) -> Result<TurnInput, GenerateError> {
        let (interrupted, usage) = (said.interrupted, said.finish.as_ref().and_then(|finish| finish.usage));
        let reason = said.finish.as_ref().map_or(FinishReason::Stop, |finish| finish.reason.clone());
        // Others still write at a position that several continue.
        let free = self.leased.take_if(|_| self.seats.len() == 1);
        let saving = SaveOptions {
            free,
            estimated: self.seats[index].estimated,
            meant: &self.seats[index].meant,
            prices: &self.plan.prices,
            stay: self.plan.stay || self.seats.len() > 1,
            turn: self.plan.commands.is_some(),
        };
        let node = save_reply::save(&self.actor, said, &saving).await?;
        let seat = &mut self.seats[index];
        if let Some(file) = seat.file.take() {
            file.done();
        }
        self.saved.push(node.clone());
        if interrupted {
            seat.cut = Some(Box::new(node));
        } else {
            (self.on)(Progress::Saved { index, node: Box::new(node), usage, reason });
        }
        Ok(TurnInput::Saved)
    }
}
