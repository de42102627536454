//! Saves replies in the order of their requests, so that siblings keep the order of the columns they streamed in.
//!
//! Siblings are ordered by their commits. A reply that ends before its predecessors therefore waits; its text is in its
//! partial reply file meanwhile, so a kill loses nothing.

use super::GenerationDriver;
use crate::{
    provider::{FinishReason, Sampling},
    session::{
        generate_error::GenerateError,
        generate_request::Progress,
        partial_reply_files::PartialReplyFile,
        save_reply::{self, SaveOptions},
    },
    turn::{RoundOutput, TurnInput},
};

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Appends text to the slot's partial-reply file.
    pub(super) fn append_partial(&mut self, index: usize, text: &str) {
        let Some(folder) = self.request.partials_dir.as_deref() else { return };
        let slot = &mut self.slots[index];
        slot.file.get_or_insert_with(|| PartialReplyFile::create(folder, &slot.partial_header)).push(text);
    }

    /// Saves finished replies whose predecessors are saved or have failed.
    pub(super) async fn save_finished(&mut self) {
        for index in 0..self.slots.len() {
            if let Some(output) = self.slots[index].unsaved.take() {
                match self.save(index, output).await {
                    Ok(input) => self.step(index, input).await,
                    Err(error) => self.fail(index, error).await,
                }
            }
            if !self.slots[index].turn.is_over() {
                return;
            }
        }
    }

    /// Appends a reply as a node, and emits its event.
    pub(super) async fn save(&mut self, index: usize, output: RoundOutput) -> Result<TurnInput, GenerateError> {
        let (interrupted, usage) = (output.interrupted, output.finish.as_ref().and_then(|finish| finish.usage));
        let reason = output.finish.as_ref().map_or(FinishReason::Stop, |finish| finish.reason.clone());
        // With several continuations the other streams still need the lease.
        let release = self.leased.take_if(|_| self.slots.len() == 1);
        let options = SaveOptions {
            release,
            estimated: self.slots[index].estimated,
            header: &self.slots[index].partial_header,
            prices: &self.request.prices,
            sampling: Sampling { seed: self.slots[index].seed, ..self.request.effective_sampling() }
                .or(&self.slots[index].model.sampling()),
            keep_position: self.request.keep_position || self.slots.len() > 1,
            is_turn: self.request.commands.is_some(),
            metadata: self.request.metadata.as_ref(),
            tools: self.request.commands.as_ref().map_or(&[], |commands| commands.tools.tools()),
        };
        let saved = save_reply::save(&self.actor, output, &options).await;
        if saved.is_err() {
            // The lease is released at the end.
            self.leased = self.leased.or(release);
        }
        let node = saved?;
        let slot = &mut self.slots[index];
        if let Some(file) = slot.file.take() {
            file.delete();
        }
        self.saved.push(node.clone());
        if interrupted {
            slot.interrupted_node = Some(Box::new(node));
        } else {
            (self.on_progress)(Progress::Saved { index, node: Box::new(node), usage, reason });
        }
        Ok(TurnInput::Saved)
    }
}
