//! The inference thread: evaluates one request at a time, and its replies in parallel.
//!
//! A thread and not a task, because it computes without yielding. The evaluated tokens of the last prompt stay in memory,
//! and the next prompt evaluates only its new part. In a conversation that is the last message.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::mpsc::UnboundedSender, time::Instant};

use super::{
    chat_template::ChatTemplate,
    detokenizer::Detokenizer,
    gguf::{Gguf, error_message},
    llama::{KvBranches, Llama, SharedPrefix},
    sampler::{DEFAULT_MAX_TOKENS, Sampler, logprobs},
    tokenizer::LocalTokenizer,
};
use crate::provider::{Finish, FinishReason, Logprob, Prompt, ProviderError, Sampling, Usage, error::clean};

/// Number of prompt tokens per evaluation. Larger chunks are hardly faster, and cancellation waits for one chunk.
const CHUNK_TOKENS: usize = 256;

/// One request for several replies.
pub(super) struct WorkerJob {
    pub(super) prompt: Prompt,
    pub(super) sampling: Sampling,
    /// Channel for events with the index of their reply; closed if the request was cancelled.
    pub(super) events: UnboundedSender<(usize, WorkerEvent)>,
    /// For each reply, true if its receiver was dropped.
    pub(super) receiver_gone: Arc<[AtomicBool]>,
    pub(super) started: Instant,
}

/// Event of a reply.
pub(super) enum WorkerEvent {
    /// The next piece of text.
    Text(String),
    /// The terminal event.
    End(Result<Finish, ProviderError>),
}

impl WorkerJob {
    fn send(&self, index: usize, event: WorkerEvent) {
        // A closed channel is detected before each token.
        let _ = self.events.send((index, event));
    }

    /// Returns an error if the request was cancelled.
    fn check_cancelled(&self) -> Result<(), WorkerError> {
        if self.events.is_closed() { Err(WorkerError::Cancelled) } else { Ok(()) }
    }
}

/// Reason why a request ended early.
enum WorkerError {
    Cancelled,
    Error(ProviderError),
}

impl From<candle_core::Error> for WorkerError {
    fn from(error: candle_core::Error) -> Self {
        Self::Error(ProviderError::configuration(clean(
            &format!("the model cannot be evaluated: {}", error_message(&error)),
            None,
        )))
    }
}

/// A loaded model with the tokens it evaluated last.
pub(super) struct InferenceEngine {
    llama: Llama,
    vocabulary: Arc<LocalTokenizer>,
    template: Option<ChatTemplate>,
    prefix: SharedPrefix,
    /// Number of tokens at the start of the prefix that were evaluated in full chunks.
    aligned: usize,
    /// Name of the model in its file.
    name: Option<String>,
}

/// State of one reply.
struct WorkerReply {
    index: usize,
    sampler: Sampler,
    detokenizer: Detokenizer,
    logprobs: Vec<Logprob>,
    tokens: u64,
    first: Option<Duration>,
}

impl InferenceEngine {
    pub(super) fn load(path: &Path) -> candle_core::Result<InferenceEngine> {
        let mut gguf = Gguf::open(path)?;
        let vocabulary = LocalTokenizer::read(&gguf)?;
        let template = ChatTemplate::find(&gguf);
        let name = gguf.text("general.name").map(|name| clean(name, None));
        let llama = Llama::load(&mut gguf)?;
        let prefix = llama.prefix()?;
        Ok(InferenceEngine { llama, vocabulary: Arc::new(vocabulary), template, prefix, aligned: 0, name })
    }

    pub(super) fn vocabulary(&self) -> Arc<LocalTokenizer> {
        Arc::clone(&self.vocabulary)
    }

    /// Returns the context window in tokens, for prompt and reply together.
    pub(super) fn window(&self) -> usize {
        self.llama.window
    }

    /// Evaluates a request; sends the terminal event of each reply that still has a receiver.
    pub(super) fn answer(&mut self, job: &WorkerJob) {
        let mut replies: Vec<WorkerReply> =
            (0..job.receiver_gone.len()).map(|index| WorkerReply::new(index, &job.sampling)).collect();
        match self.evaluate(job, &mut replies) {
            Ok(()) | Err(WorkerError::Cancelled) => {}
            Err(WorkerError::Error(error)) => {
                for reply in replies {
                    job.send(reply.index, WorkerEvent::End(Err(error.clone())));
                }
            }
        }
    }

    /// Evaluates the prompt, then one token of each unfinished reply at a time; removes finished replies.
    fn evaluate(&mut self, job: &WorkerJob, replies: &mut Vec<WorkerReply>) -> Result<(), WorkerError> {
        let tokens = self.tokens(&job.prompt)?;
        let limit = self.max_reply_tokens(tokens.len(), &job.sampling)?;
        let (first, cached) = self.evaluate_prompt(job, &tokens)?;
        let usage = Usage { prompt: tokens.len() as u64, cached: cached as u64, ..Usage::default() };
        let mut logits = vec![first; replies.len()];
        let mut branches = self.llama.branches(replies.len())?;
        loop {
            job.check_cancelled()?;
            let mut unfinished: Vec<u32> = Vec::with_capacity(replies.len());
            let mut next = Vec::with_capacity(replies.len());
            let mut ended = Vec::new();
            for ((at, reply), logits) in (0u32..).zip(replies.iter_mut()).zip(&logits) {
                match self.next_token(job, reply, logits, limit) {
                    Ok(token) => {
                        unfinished.push(at);
                        next.push(token);
                    }
                    Err(reason) => ended.push((reply.index, reply.end(job, &self.name, reason, usage))),
                }
            }
            let last = unfinished.is_empty();
            if last {
                self.keep_reply(&branches, replies)?;
            } else if unfinished.len() < replies.len() {
                branches.retain(&unfinished)?;
                let mut at = 0u32..;
                replies.retain(|_| at.next().is_some_and(|at| unfinished.contains(&at)));
            }
            for (index, end) in ended {
                job.send(index, WorkerEvent::End(Ok(end)));
            }
            if last {
                return Ok(());
            }
            logits = self.llama.step(&next, &self.prefix, &mut branches)?;
        }
    }

    fn tokens(&self, prompt: &Prompt) -> Result<Vec<u32>, WorkerError> {
        let tokens = match (prompt, &self.template) {
            (Prompt::Chat(messages), Some(template)) => template.render(messages, &self.vocabulary)?,
            (Prompt::Chat(_), None) => {
                return Err(WorkerError::Error(ProviderError::configuration(
                    "the model's file has no supported chat template (ChatML, Llama 3 or Zephyr); it can only \
                     continue plain text, as in a buffer tree",
                )));
            }
            (Prompt::Raw(text), _) => {
                let begin = self.vocabulary.begin.into_iter();
                begin.chain(self.vocabulary.encode(text)?).collect()
            }
        };
        if tokens.is_empty() {
            return Err(WorkerError::Error(ProviderError::configuration("the prompt is empty")));
        }
        Ok(tokens)
    }

    /// Returns the maximum number of tokens of a reply.
    fn max_reply_tokens(&self, prompt: usize, sampling: &Sampling) -> Result<u64, WorkerError> {
        let window = self.window();
        let left = window.saturating_sub(prompt) as u64;
        if left == 0 {
            return Err(WorkerError::Error(ProviderError::configuration(format!(
                "the prompt has {prompt} tokens; the model's window for prompt and reply is {window} tokens"
            ))));
        }
        Ok(left.min(u64::from(sampling.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))))
    }

    /// Evaluates the new part of a prompt. Returns the logits after its end, and the number of tokens from the cache.
    ///
    /// The same tokens in other chunks give slightly different numbers, and finally a different reply. So if the request
    /// has a seed, only full chunks are reused, which were evaluated with the same boundaries.
    fn evaluate_prompt(&mut self, job: &WorkerJob, tokens: &[u32]) -> Result<(Vec<f32>, usize), WorkerError> {
        let same = self.prefix.tokens().iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The last token is evaluated again, because its logits are not stored.
        let mut same = same.min(tokens.len() - 1);
        self.aligned = self.aligned.min(same / CHUNK_TOKENS * CHUNK_TOKENS);
        if job.sampling.seed.is_some() {
            same = self.aligned;
        }
        self.prefix.truncate(same);
        let mut logits = Vec::new();
        for chunk in tokens[same..].chunks(CHUNK_TOKENS) {
            job.check_cancelled()?;
            let (at, whole) = (self.prefix.tokens().len(), chunk.len() == CHUNK_TOKENS);
            logits = self.llama.evaluate(chunk, &mut self.prefix)?;
            if whole && at == self.aligned {
                self.aligned += CHUNK_TOKENS;
            }
        }
        Ok((logits, same))
    }

    /// Draws and emits one token; an error is the reason for the end of the reply.
    fn next_token(
        &self,
        job: &WorkerJob,
        reply: &mut WorkerReply,
        logits: &[f32],
        limit: u64,
    ) -> Result<u32, FinishReason> {
        if job.receiver_gone[reply.index].load(Ordering::Relaxed) {
            return Err(FinishReason::Interrupted);
        }
        if reply.tokens == limit {
            return Err(FinishReason::Length);
        }
        let token = reply.sampler.draw(logits);
        if self.vocabulary.is_end(token) {
            return Err(FinishReason::Stop);
        }
        reply.tokens += 1;
        if let Some(others) = job.sampling.logprobs {
            reply.logprobs.push(self.logprob(logits, token, others));
        }
        let (text, stopped) = reply.detokenizer.push(self.vocabulary.bytes(token));
        reply.emit(job, text);
        if stopped { Err(FinishReason::Stop) } else { Ok(token) }
    }

    fn logprob(&self, logits: &[f32], token: u32, others: u8) -> Logprob {
        let token_text = |token: u32| String::from_utf8_lossy(self.vocabulary.bytes(token)).into_owned();
        let (logprob, top) = logprobs(logits, token, others);
        let top = top.into_iter().map(|(token, logprob)| (token_text(token), logprob)).collect();
        Logprob { token: token_text(token), logprob, top }
    }

    /// Appends the last reply to the prefix, because the next prompt may contain it.
    fn keep_reply(&mut self, branches: &KvBranches, replies: &[WorkerReply]) -> Result<(), WorkerError> {
        if let [reply] = replies {
            self.prefix.adopt(branches, reply.sampler.drawn())?;
        }
        Ok(())
    }
}

impl WorkerReply {
    fn new(index: usize, sampling: &Sampling) -> WorkerReply {
        let (sampler, detokenizer) = (Sampler::new(sampling, index), Detokenizer::new(&sampling.stop));
        WorkerReply { index, sampler, detokenizer, logprobs: Vec::new(), tokens: 0, first: None }
    }

    fn emit(&mut self, job: &WorkerJob, text: String) {
        if !text.is_empty() {
            self.first.get_or_insert_with(|| job.started.elapsed());
            job.send(self.index, WorkerEvent::Text(text));
        }
    }

    fn end(&mut self, job: &WorkerJob, name: &Option<String>, reason: FinishReason, usage: Usage) -> Finish {
        // The first reply accounts for the prompt; the others count it as cached.
        let cached = if self.index == 0 { usage.cached } else { usage.prompt };
        let rest = self.detokenizer.flush();
        self.emit(job, rest);
        Finish {
            logprobs: std::mem::take(&mut self.logprobs),
            model: name.clone(),
            usage: Some(Usage { output: self.tokens, cached, ..usage }),
            first_token: self.first,
            total: job.started.elapsed(),
            ..Finish::new(reason)
        }
    }
}
