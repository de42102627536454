//! The thread that evaluates: one request at a time, its replies side by side.
//!
//! A thread and not a task, for it computes without a pause. What was evaluated of the last prompt is kept, and the next
//! one evaluates only what is new in it; in a conversation that is the last message.

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
    detokenizer::Detokenizer,
    gguf::{Gguf, said},
    llama::{KvBranches, Llama, SharedPrefix},
    sampler::{MAX_TOKENS, Sampler, probabilities},
    template::ChatTemplate,
    tokenizer::LocalTokenizer,
};
use crate::provider::{Finish, FinishReason, Logprob, Prompt, ProviderError, Sampling, Usage, error::clean};

/// How many tokens of a prompt are evaluated at once. More are hardly faster; a cancelled request waits for one.
const CHUNK: usize = 256;

/// One request for several replies.
pub(super) struct WorkerJob {
    pub(super) prompt: Prompt,
    pub(super) sampling: Sampling,
    /// Where the replies go, by their index; closed when nobody wants them any more.
    pub(super) told: UnboundedSender<(usize, WorkerEvent)>,
    /// For each reply, whether its reader is gone.
    pub(super) gone: Arc<[AtomicBool]>,
    pub(super) started: Instant,
}

/// What is told of a reply.
pub(super) enum WorkerEvent {
    /// More of it.
    Text(String),
    /// How it ended.
    End(Result<Finish, ProviderError>),
}

impl WorkerJob {
    fn tell(&self, index: usize, told: WorkerEvent) {
        // Nobody listens: that is looked at before each token.
        let _ = self.told.send((index, told));
    }

    /// Whether nobody wants the replies any more.
    fn check(&self) -> Result<(), WorkerError> {
        if self.told.is_closed() { Err(WorkerError::Cancelled) } else { Ok(()) }
    }
}

/// Why a request was not answered.
enum WorkerError {
    Cancelled,
    Error(ProviderError),
}

impl From<candle_core::Error> for WorkerError {
    fn from(error: candle_core::Error) -> Self {
        Self::Error(ProviderError::configuration(clean(
            &format!("the model cannot be evaluated: {}", said(&error)),
            None,
        )))
    }
}

/// A loaded model and what it evaluated last.
pub(super) struct InferenceEngine {
    llama: Llama,
    vocabulary: Arc<LocalTokenizer>,
    template: Option<ChatTemplate>,
    prefix: SharedPrefix,
    /// How much of the prefix was evaluated in whole chunks, counted from its beginning.
    aligned: usize,
    /// The model as its file names it.
    name: Option<String>,
}

/// One reply that is being written.
struct WorkerReply {
    index: usize,
    sampler: Sampler,
    speech: Detokenizer,
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

    /// Tokens of prompt and reply together.
    pub(super) fn window(&self) -> usize {
        self.llama.window
    }

    /// Answers a request; each reply that somebody still reads has then been told its end.
    pub(super) fn answer(&mut self, job: &WorkerJob) {
        let mut replies: Vec<WorkerReply> =
            (0..job.gone.len()).map(|index| WorkerReply::new(index, &job.sampling)).collect();
        match self.evaluate(job, &mut replies) {
            Ok(()) | Err(WorkerError::Cancelled) => {}
            Err(WorkerError::Error(error)) => {
                for reply in replies {
                    job.tell(reply.index, WorkerEvent::End(Err(error.clone())));
                }
            }
        }
    }

    /// Evaluates the prompt, and then a token of each reply that goes on; replies that ended are taken out.
    fn evaluate(&mut self, job: &WorkerJob, replies: &mut Vec<WorkerReply>) -> Result<(), WorkerError> {
        let tokens = self.tokens(&job.prompt)?;
        let room = self.room(tokens.len(), &job.sampling)?;
        let (first, cached) = self.read(job, &tokens)?;
        let usage = Usage { prompt: tokens.len() as u64, cached: cached as u64, ..Usage::default() };
        let mut weights = vec![first; replies.len()];
        let mut branches = self.llama.branches(replies.len())?;
        loop {
            job.check()?;
            let mut kept: Vec<u32> = Vec::with_capacity(replies.len());
            let mut next = Vec::with_capacity(replies.len());
            let mut ended = Vec::new();
            for ((at, reply), weights) in (0u32..).zip(replies.iter_mut()).zip(&weights) {
                match self.say(job, reply, weights, room) {
                    Ok(token) => {
                        kept.push(at);
                        next.push(token);
                    }
                    Err(reason) => ended.push((reply.index, reply.end(job, &self.name, reason, usage))),
                }
            }
            let last = kept.is_empty();
            if last {
                self.remember(&branches, replies)?;
            } else if kept.len() < replies.len() {
                branches.keep(&kept)?;
                let mut at = 0u32..;
                replies.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
            }
            for (index, end) in ended {
                job.tell(index, WorkerEvent::End(Ok(end)));
            }
            if last {
                return Ok(());
            }
            weights = self.llama.step(&next, &self.prefix, &mut branches)?;
        }
    }

    fn tokens(&self, prompt: &Prompt) -> Result<Vec<u32>, WorkerError> {
        let tokens = match (prompt, &self.template) {
            (Prompt::Chat(messages), Some(template)) => template.frame(messages, &self.vocabulary)?,
            (Prompt::Chat(_), None) => {
                return Err(WorkerError::Error(ProviderError::configuration(
                    "the model's file has no chat template that is known here (ChatML, Llama 3 or Zephyr); it can only \
                     go on with plain text, as in a buffer tree",
                )));
            }
            (Prompt::Raw(text), _) => {
                let begin = self.vocabulary.begin.into_iter();
                begin.chain(self.vocabulary.tokens(text)?).collect()
            }
        };
        if tokens.is_empty() {
            return Err(WorkerError::Error(ProviderError::configuration("the prompt is empty")));
        }
        Ok(tokens)
    }

    /// How many tokens a reply may have.
    fn room(&self, prompt: usize, sampling: &Sampling) -> Result<u64, WorkerError> {
        let window = self.window();
        let left = window.saturating_sub(prompt) as u64;
        if left == 0 {
            return Err(WorkerError::Error(ProviderError::configuration(format!(
                "the prompt is {prompt} tokens long, and the model reads at most {window} together with its reply"
            ))));
        }
        Ok(left.min(u64::from(sampling.max_tokens.unwrap_or(MAX_TOKENS))))
    }

    /// Evaluates what is new in a prompt. Gives the weights of what follows it, and how many tokens were there already.
    ///
    /// In other chunks the same tokens come out a trace different, and after many words that trace is another word. So
    /// where a seed is to repeat a reply, only whole chunks are taken over that were evaluated as they would be now.
    fn read(&mut self, job: &WorkerJob, tokens: &[u32]) -> Result<(Vec<f32>, usize), WorkerError> {
        let same = self.prefix.tokens().iter().zip(tokens).take_while(|(a, b)| a == b).count();
        // The last token's weights were not kept.
        let mut same = same.min(tokens.len() - 1);
        self.aligned = self.aligned.min(same / CHUNK * CHUNK);
        if job.sampling.seed.is_some() {
            same = self.aligned;
        }
        self.prefix.truncate(same);
        let mut weights = Vec::new();
        for chunk in tokens[same..].chunks(CHUNK) {
            job.check()?;
            let (at, whole) = (self.prefix.tokens().len(), chunk.len() == CHUNK);
            weights = self.llama.read(chunk, &mut self.prefix)?;
            if whole && at == self.aligned {
                self.aligned += CHUNK;
            }
        }
        Ok((weights, same))
    }

    /// Draws and says one token; an error is the reason why the reply ends.
    fn say(&self, job: &WorkerJob, reply: &mut WorkerReply, weights: &[f32], room: u64) -> Result<u32, FinishReason> {
        if job.gone[reply.index].load(Ordering::Relaxed) {
            return Err(FinishReason::Interrupted);
        }
        if reply.tokens == room {
            return Err(FinishReason::Length);
        }
        let token = reply.sampler.draw(weights);
        if self.vocabulary.ends(token) {
            return Err(FinishReason::Stop);
        }
        reply.tokens += 1;
        if let Some(others) = job.sampling.logprobs {
            reply.logprobs.push(self.logprob(weights, token, others));
        }
        let (text, stopped) = reply.speech.push(self.vocabulary.said(token));
        reply.show(job, text);
        if stopped { Err(FinishReason::Stop) } else { Ok(token) }
    }

    fn logprob(&self, weights: &[f32], token: u32, others: u8) -> Logprob {
        let said = |token: u32| String::from_utf8_lossy(self.vocabulary.said(token)).into_owned();
        let (logprob, top) = probabilities(weights, token, others);
        let top = top.into_iter().map(|(token, logprob)| (said(token), logprob)).collect();
        Logprob { token: said(token), logprob, top }
    }

    /// Keeps what the only reply, or the last one, was evaluated of: the next prompt may go on from it.
    fn remember(&mut self, branches: &KvBranches, replies: &[WorkerReply]) -> Result<(), WorkerError> {
        if let [reply] = replies {
            self.prefix.adopt(branches, reply.sampler.said())?;
        }
        Ok(())
    }
}

impl WorkerReply {
    fn new(index: usize, sampling: &Sampling) -> WorkerReply {
        let (sampler, speech) = (Sampler::new(sampling, index), Detokenizer::new(&sampling.stop));
        WorkerReply { index, sampler, speech, logprobs: Vec::new(), tokens: 0, first: None }
    }

    fn show(&mut self, job: &WorkerJob, text: String) {
        if !text.is_empty() {
            self.first.get_or_insert_with(|| job.started.elapsed());
            job.tell(self.index, WorkerEvent::Text(text));
        }
    }

    fn end(&mut self, job: &WorkerJob, name: &Option<String>, reason: FinishReason, usage: Usage) -> Finish {
        // The first pays for the prompt; the others have it for nothing.
        let cached = if self.index == 0 { usage.cached } else { usage.prompt };
        let rest = self.speech.end();
        self.show(job, rest);
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
