//! Conversation with a model outside any session's path: each question is a node, its answer is a node below it, and
//! usage is recorded.
//!
//! The model sees only the system prompt and the messages sent here. A judge can therefore assess work without seeing
//! the conversation that produced it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    GenerateError,
    partial_reply_files::PartialReplyHeader,
    save_reply::{SaveOptions, save},
};
use crate::{
    id::NodeId,
    ops::{Actor, NodeDraft, OpsError},
    provider::{Finish, Message, Model, Prices, Prompt, ProviderError, Request, Sampling},
    store::Mutation,
    tokens::estimated_tokens,
    turn::RoundOutput,
    types::{Agent, AuthorType, Node, Op, Parent},
};

/// Chain of questions and answers, each a child of the one before.
pub(crate) struct SideConversation {
    actor: Actor,
    author: Agent,
    model: Arc<dyn Model>,
    prices: Prices,
    at: NodeId,
    messages: Vec<Message>,
}

impl SideConversation {
    /// Creates a conversation below node `at`. `actor` appends the questions in its session; `author` writes the
    /// answers.
    pub(crate) fn new(
        actor: Actor,
        (author, model): (Agent, Arc<dyn Model>),
        prices: Prices,
        at: NodeId,
        system: &str,
    ) -> Self {
        Self { actor, author, model, prices, at, messages: vec![Message::system(system)] }
    }

    /// Appends a question and returns the answer's node after it was committed. An interrupted answer is an error.
    pub(crate) async fn ask(&mut self, text: &str, cancel: &CancellationToken) -> Result<Node, GenerateError> {
        let draft = NodeDraft { author_type: Some(AuthorType::Tool), keep_position: true, ..NodeDraft::text(text) };
        let question = self.actor.draft(Parent::Node(self.at), draft);
        let parent = question.id;
        let asked = self.actor.submit(Op::Delegate, vec![Mutation::Append(Box::new(question))]);
        asked.await.map_err(OpsError::from)?;
        self.messages.push(Message::user(text));
        let (answer, finish) = self.answer(cancel).await?;
        let header = PartialReplyHeader {
            node: self.actor.loom().node_id(),
            parent,
            author: self.author.id(),
            reference: self.model.reference().to_owned(),
            session: self.actor.session(),
            keep_position: true,
        };
        let estimated = self.messages.iter().map(|message| estimated_tokens(&message.text())).sum();
        let options = SaveOptions {
            release: None,
            estimated,
            header: &header,
            prices: &self.prices,
            sampling: sampling(),
            keep_position: true,
            is_turn: true,
            metadata: None,
            tools: &[],
        };
        let output =
            RoundOutput { text: answer, raw: None, requests: Vec::new(), finish: Some(finish), interrupted: false };
        let node = save(&self.actor, output, &options).await?;
        self.messages.push(Message::assistant(&node.content));
        self.at = node.id;
        Ok(node)
    }

    async fn answer(&self, cancel: &CancellationToken) -> Result<(String, Finish), GenerateError> {
        let request = Request { sampling: sampling(), ..Request::new(Prompt::Chat(self.messages.clone())) };
        let mut reply = self.model.stream(request);
        let mut answer = String::new();
        let finish = tokio::select! {
            end = reply.read_to_string(&mut answer) => end?,
            () = cancel.cancelled() => return Err(ProviderError::Cancelled.into()),
        };
        if answer.trim().is_empty() { Err(GenerateError::Empty) } else { Ok((answer, finish)) }
    }
}

/// Returns the settings of all questions: an answer should depend on chance as little as possible.
fn sampling() -> Sampling {
    Sampling { temperature: Some(0.0), ..Sampling::default() }
}
