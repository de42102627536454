//! Requests of a generation to its models.

use std::{ops::Range, sync::Arc};

use super::{
    super::{
        generate_error::GenerateError,
        generate_request::Progress,
        model_request_task::{ModelRequestTask, report_panic, stream_broken},
        partial_reply_files::PartialReplyHeader,
        prompt::{TurnProgress, offered_author, prompt},
        save_reply::record_system_prompt,
    },
    GenerationDriver,
};
use crate::{
    id::NodeId,
    provider::{Request, ToolDefinition},
    tools,
};

impl<F: FnMut(Progress)> GenerationDriver<F> {
    /// Sends the model requests of a range of slots that share one prompt.
    pub(super) async fn request_models(&mut self, slots: Range<usize>, round: u32) -> Result<(), GenerateError> {
        let session = match (round, self.actor.session()) {
            (1, _) | (_, None) => None,
            (_, Some(session)) => Some(self.actor.loom().session(session)?),
        };
        let (from, versions) = match &session {
            Some(session) => (session.position.unwrap_or(self.request.from), session.versions.as_slice()),
            None => (self.request.from, self.request.versions.as_slice()),
        };
        let first = Arc::clone(&self.slots[slots.start].model);
        let progress = TurnProgress { rounds: &self.rounds, scope: self.scope };
        let assembled = prompt(&self.actor, &self.request, &*first, (from, versions), &progress)?;
        if self.actor.agent() == self.request.author.id() {
            record_system_prompt(&self.actor, assembled.system).await?;
        }
        let (prompt, estimated) = (assembled.prompt, assembled.report.total);
        self.in_view = assembled.report.nodes_in_full();
        self.lease(from).await?;
        let sampling = self.request.effective_sampling();
        let request = Request { sampling, tools: self.native_tools(), ..Request::new(prompt) };
        let mut first = slots.start;
        while first < slots.end {
            let model = Arc::clone(&self.slots[first].model);
            let of_model = (first / self.request.n + 1) * self.request.n;
            let together = model.max_choices_per_request().clamp(1, of_model.min(slots.end) - first);
            let mut request = request.clone();
            // Requests with equal seeds would return equal replies.
            let own = (first % self.request.n) as u64;
            request.sampling.seed = request.sampling.seed.map(|seed| seed.wrapping_add(own));
            let mut stops = Vec::with_capacity(together);
            for index in first..first + together {
                let header = self.partial_header(from, model.reference());
                let slot = &mut self.slots[index];
                (slot.partial_header, slot.stop, slot.estimated) =
                    (header, self.request.cancel.child_token(), estimated);
                slot.seed = request.sampling.seed;
                stops.push(slot.stop.clone());
            }
            let request_permits = Arc::clone(&self.slots[first].request_permits);
            let (slots, cancel) = (first..first + together, self.request.cancel.clone());
            let task = ModelRequestTask { model, request_permits, request, slots: slots.clone(), stops, cancel };
            report_panic(tokio::spawn(task.run(self.reports.clone())), slots, &self.reports, stream_broken);
            first += together;
        }
        Ok(())
    }

    /// Returns the tool definitions for the provider's tool-call API; empty if native tools are off.
    fn native_tools(&self) -> Vec<ToolDefinition> {
        let Some(commands) = self.request.commands.as_ref().filter(|commands| commands.native) else {
            return Vec::new();
        };
        let tools = tools::native(offered_author(&self.request).profile.permissions, commands.tools.tools());
        let definition = |tool: tools::NativeToolSpec| ToolDefinition {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        };
        tools.into_iter().map(definition).collect()
    }

    /// Returns the header of the file that holds a reply while it streams.
    pub(super) fn partial_header(&self, parent: NodeId, reference: &str) -> PartialReplyHeader {
        let node = self.actor.loom().node_id();
        PartialReplyHeader {
            node,
            parent,
            author: self.request.author.id(),
            reference: reference.to_owned(),
            session: self.actor.session(),
            keep_position: self.request.keep_position || self.request.continuations() > 1,
        }
    }
}
