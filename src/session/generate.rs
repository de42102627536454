//! Generating: several continuations of one node, by one or several models, streaming side by side.
//!
//! Each is saved when it ends, whatever the others do. One that is cut off or cancelled is saved as far as it came,
//! marked as interrupted; one that fails before a word came leaves nothing. How many run at once is up to the model:
//! some servers break one stream off when the next request comes.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    drafts::{DraftFile, Meant},
    envelope::Envelope,
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::prompt::prompt;
use crate::{
    context::{self, ContextError},
    id::NodeId,
    model::{Agent, AuthorType, EdgeKind, Node, Op, Parent},
    ops::{Actor, Draft, OpsError},
    provider::{Event, Finish, FinishReason, Generation, Model, Prices, ProviderError, Request, Sampling},
    store::Mutation,
};

/// What to generate.
pub struct Plan {
    /// The node to continue.
    pub from: NodeId,
    /// The versions to read on the way to it.
    pub versions: Vec<NodeId>,
    /// Who writes: its system prompt, settings and name are used.
    pub author: Agent,
    /// The models; each makes `n` continuations.
    pub models: Vec<Arc<dyn Model>>,
    /// Continuations a model.
    pub n: usize,
    /// How to draw, before the author's own settings.
    pub sampling: Sampling,
    /// How much the author is shown, and how.
    pub context: context::Options,
    /// Ends everything early; what came is saved.
    pub cancel: CancellationToken,
    /// Where words are kept while they stream, so that [`super::recover`] finds them after a kill; `None`: nowhere.
    pub drafts: Option<PathBuf>,
    /// What tokens cost, to be kept with each generation.
    pub prices: Prices,
}

impl Plan {
    /// `n` continuations of a node by one model; what is not said here is the usual.
    #[must_use]
    pub fn new(from: NodeId, author: Agent, model: Arc<dyn Model>, n: usize) -> Self {
        Self {
            from,
            versions: Vec::new(),
            author,
            models: vec![model],
            n,
            sampling: Sampling::default(),
            context: context::Options::default(),
            cancel: CancellationToken::new(),
            drafts: None,
            prices: Prices::default(),
        }
    }

    /// How much the author is shown: no more than the smallest of the models can read.
    pub(super) fn shown(&self) -> context::Options {
        let windows = self.models.iter().filter_map(|model| u32::try_from(model.window()?).ok());
        let mut options = context::Options { window: windows.fold(self.context.window, u32::min), ..self.context };
        // Tokens kept for the reply, where it may be longer than what is kept anyway.
        let asked = self.sampling.max_tokens.or(self.author.profile.max_tokens).map(|n| n.min(options.window / 2));
        let longer = asked.filter(|asked| *asked > options.window - options.budget());
        options.reserve = options.reserve.or(longer);
        options
    }
}

/// What happens while continuations stream. `index` counts from 0: first all of the first model.
#[derive(Debug)]
pub enum Progress {
    /// More text.
    Text {
        /// Which continuation.
        index: usize,
        /// What came.
        text: String,
    },
    /// One ended and is on disk.
    Saved {
        /// Which continuation.
        index: usize,
        /// Its node.
        node: Box<Node>,
        /// Why it ended.
        reason: FinishReason,
    },
    /// One failed.
    Failed {
        /// Which continuation.
        index: usize,
        /// Why.
        error: GenerateError,
        /// What came before, if anything, saved and marked as interrupted.
        saved: Option<Box<Node>>,
    },
}

/// Why nothing, or not all, was generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Reading or saving failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// There is no prompt.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The model failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The reply held no text.
    #[error("the model ended its reply without a word")]
    Empty,
    /// The plan names no model or no continuation.
    #[error("there is nothing to generate: no model, or none of it")]
    Nothing,
}

/// What a stream's task reports.
enum Report {
    Text(String),
    Ended(Result<Finish, ProviderError>),
}

/// One continuation while it streams.
struct Stream {
    meant: Meant,
    text: String,
    file: Option<DraftFile>,
}

impl Stream {
    /// Takes more text in, and keeps it where a kill leaves it.
    fn take(&mut self, text: &str, drafts: Option<&Path>) {
        self.text.push_str(text);
        if self.file.is_none()
            && let Some(folder) = drafts
        {
            self.file = DraftFile::create(folder, &self.meant)
                .inspect_err(|error| tracing::warn!(%error, "words are not kept while they stream"))
                .ok();
        }
        if let Some(file) = &mut self.file {
            file.push(text);
        }
    }
}

/// Runs a plan; `on` hears of everything as it happens. Returns the nodes that were saved, in the order in which they
/// ended. With one continuation the session's position moves to it; with several it stays.
///
/// # Errors
/// If the path cannot be read, or, where nothing at all was saved, the first failure.
pub async fn generate(actor: &Actor, plan: Plan, mut on: impl FnMut(Progress)) -> Result<Vec<Node>, GenerateError> {
    let prompt = prompt(actor, &plan)?;
    let sampling = plan.sampling.clone().or(&own_sampling(&plan.author));
    let request = Request { sampling, ..Request::new(prompt) };
    let all = plan.models.len() * plan.n;
    if all == 0 {
        return Err(GenerateError::Nothing);
    }
    let (reports, mut inbox) = mpsc::channel(64);
    let mut streams = Vec::with_capacity(all);
    for model in &plan.models {
        let lanes = Arc::new(Semaphore::new(model.parallel().max(1)));
        let end = streams.len() + plan.n;
        while streams.len() < end {
            let first = streams.len();
            let together = model.together().clamp(1, end - first);
            for _ in 0..together {
                let meant = Meant {
                    node: actor.loom().node_id(),
                    parent: plan.from,
                    author: plan.author.id(),
                    reference: model.reference().to_owned(),
                };
                streams.push(Stream { meant, text: String::new(), file: None });
            }
            let mut request = request.clone();
            // Requests of one seed would all draw the same.
            request.sampling.seed = request.sampling.seed.map(|seed| seed.wrapping_add((first + plan.n - end) as u64));
            let (model, lanes) = (Arc::clone(model), Arc::clone(&lanes));
            let (reports, cancel) = (reports.clone(), plan.cancel.clone());
            let wanted = first..first + together;
            tokio::spawn(async move { ask(wanted, model, lanes, request, cancel, reports).await });
        }
    }
    drop(reports);
    let mut saved = Vec::new();
    let mut first_error = None;
    while let Some((index, report)) = inbox.recv().await {
        let outcome = match report {
            Report::Text(text) => {
                streams[index].take(&text, plan.drafts.as_deref());
                on(Progress::Text { index, text });
                continue;
            }
            Report::Ended(outcome) => outcome,
        };
        let stream = &mut streams[index];
        let text = std::mem::take(&mut stream.text);
        let (finish, error) = match outcome {
            Ok(finish) if text.is_empty() => (Some(finish), Some(GenerateError::Empty)),
            Ok(finish) => (Some(finish), None),
            Err(error) => {
                let so_far =
                    if let ProviderError::Cut { so_far, .. } = &error { Some((**so_far).clone()) } else { None };
                (so_far, Some(error.into()))
            }
        };
        let node = if text.is_empty() {
            None
        } else {
            let said = Said { text, finish: finish.as_ref(), interrupted: error.is_some(), stay: all > 1 };
            match save(actor, &stream.meant, said, &plan.prices).await {
                Ok(node) => Some(node),
                Err(failed) => {
                    on(Progress::Failed { index, error: failed, saved: None });
                    continue;
                }
            }
        };
        if let Some(file) = stream.file.take() {
            file.done();
        }
        saved.extend(node.clone());
        match (error, node) {
            (None, Some(node)) => {
                let reason = finish.map_or(FinishReason::Interrupted, |f| f.reason);
                on(Progress::Saved { index, node: Box::new(node), reason });
            }
            (error, node) => {
                let error = error.unwrap_or(GenerateError::Empty);
                if let (None, GenerateError::Provider(error)) = (&first_error, &error) {
                    first_error = Some(error.clone());
                }
                on(Progress::Failed { index, error, saved: node.map(Box::new) });
            }
        }
    }
    match (saved.is_empty(), first_error) {
        (true, Some(error)) => Err(error.into()),
        (true, None) => Err(GenerateError::Empty),
        (false, _) => Ok(saved),
    }
}

/// One request, from its place in the queue to its streams.
async fn ask(
    wanted: Range<usize>,
    model: Arc<dyn Model>,
    lanes: Arc<Semaphore>,
    request: Request,
    cancel: CancellationToken,
    reports: mpsc::Sender<(usize, Report)>,
) {
    let lane = tokio::select! {
        // Nobody closes the semaphore.
        lane = lanes.acquire_owned() => Arc::new(lane),
        () = cancel.cancelled() => {
            for index in wanted {
                let _ = reports.send((index, Report::Ended(Err(ProviderError::Cancelled)))).await;
            }
            return;
        }
    };
    let replies = model.stream_several(request, wanted.len());
    for (index, generation) in wanted.zip(replies) {
        let (reports, cancel, lane) = (reports.clone(), cancel.clone(), Arc::clone(&lane));
        tokio::spawn(async move {
            run(index, generation, cancel, reports).await;
            drop(lane);
        });
    }
}

/// One stream to its end.
async fn run(
    index: usize,
    mut generation: Generation,
    cancel: CancellationToken,
    reports: mpsc::Sender<(usize, Report)>,
) {
    let started = Instant::now();
    let mut cancelled = false;
    let ended = loop {
        let next = tokio::select! {
            next = generation.next() => next,
            () = cancel.cancelled(), if !cancelled => {
                // What was received already is still given out.
                cancelled = true;
                generation.cancel();
                continue;
            }
        };
        match next {
            Some(Ok(Event::Text(text))) => {
                if reports.send((index, Report::Text(text))).await.is_err() {
                    return;
                }
            }
            Some(Ok(Event::Done(finish))) => break Ok(finish),
            Some(Err(error)) => break Err(error),
            None => break Ok(unfinished(started.elapsed())),
        }
    };
    // Nobody listens any more only when the caller dropped the whole generation.
    let _ = reports.send((index, Report::Ended(ended))).await;
}

fn unfinished(total: Duration) -> Finish {
    Finish { total, ..Finish::new(FinishReason::Interrupted) }
}

fn own_sampling(author: &Agent) -> Sampling {
    #[allow(clippy::cast_possible_truncation)] // a temperature has one or two digits
    let temperature = author.profile.temperature.map(|t| t as f32);
    Sampling {
        temperature,
        max_tokens: author.profile.max_tokens,
        stop: author.profile.stop.clone(),
        ..Sampling::default()
    }
}

/// What one stream said.
struct Said<'a> {
    text: String,
    finish: Option<&'a Finish>,
    interrupted: bool,
    stay: bool,
}

async fn save(actor: &Actor, meant: &Meant, said: Said<'_>, prices: &Prices) -> Result<Node, GenerateError> {
    let interrupted = said.interrupted || said.finish.is_some_and(|f| f.reason == FinishReason::Interrupted);
    let usage = said.finish.and_then(|f| f.usage);
    let reference = &meant.reference;
    let envelope = said.finish.map_or_else(|| Envelope::interrupted(reference), |f| Envelope::of(reference, f, prices));
    let draft = Draft {
        kind: Some(EdgeKind::Continuation),
        author_type: Some(AuthorType::Model),
        // A cut reply's are often not counted.
        tokens: usage.and_then(|u| u32::try_from(u.output).ok()).filter(|tokens| *tokens > 0),
        interrupted,
        provenance: envelope.json().inspect_err(|error| tracing::warn!(%error, "an envelope is not kept")).ok(),
        stay: said.stay,
        ..Draft::text(said.text)
    };
    let mut new = actor.draft(Parent::Node(meant.parent), draft);
    (new.id, new.author) = (meant.node, meant.author);
    let receipt = actor.submit(Op::Generate, vec![Mutation::Append(Box::new(new))]).await.map_err(OpsError::from)?;
    let id = receipt.nodes.first().map(|n| n.id).ok_or_else(|| OpsError::missing("node", "new"))?;
    Ok(actor.loom().node(id)?)
}
