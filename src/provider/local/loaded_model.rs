//! A loaded model: the thread that evaluates its requests, and the streams of its replies.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use tokio::{
    sync::{mpsc::unbounded_channel, oneshot},
    time::Instant,
};

use super::{
    gguf, llama,
    tokenizer::LocalTokenizer,
    worker::{InferenceEngine, WorkerEvent, WorkerJob},
};
use crate::provider::{Generation, Model, ProviderError, Request, Sampling, error::clean};

/// Number of replies evaluated in parallel; further replies wait.
const MAX_CHOICES_PER_REQUEST: usize = 16;

/// Returns the window of the file at `path` in tokens; `None` if it cannot be read. The weights are not loaded.
pub(in crate::provider) fn window(path: &Path) -> Option<usize> {
    Some(usable_window(llama::window(&gguf::Gguf::open(path).ok()?).ok()?))
}

/// Subtracts a margin for callers that estimate token counts too low.
const fn usable_window(window: usize) -> usize {
    window - window / 8
}

/// A built-in local model, loaded and ready.
#[derive(Debug)]
pub struct LoadedModel {
    reference: String,
    sampling: Sampling,
    window: usize,
    vocabulary: Arc<LocalTokenizer>,
    jobs: mpsc::Sender<WorkerJob>,
}

impl LoadedModel {
    /// Loads the file at `path` on a new thread, which then evaluates requests.
    ///
    /// `sampling` holds the defaults for options that a request leaves unset.
    ///
    /// # Errors
    /// Returns a configuration error if the file cannot be read or is not a model of the Llama family.
    pub async fn load(reference: &str, path: &Path, sampling: Sampling) -> Result<LoadedModel, ProviderError> {
        let (jobs, queue) = mpsc::channel::<WorkerJob>();
        let (loaded, ready) = oneshot::channel();
        let file = path.to_owned();
        let work = move || match InferenceEngine::load(&file) {
            Ok(mut engine) => {
                // An error means that `load` was cancelled; then the queue is closed too.
                let _ = loaded.send(Ok((engine.window(), engine.vocabulary())));
                queue.into_iter().for_each(|job| engine.answer(&job));
            }
            Err(error) => drop(loaded.send(Err(gguf::error_message(&error)))),
        };
        let fail = |what: &str| {
            ProviderError::configuration(clean(&format!("{} cannot be loaded: {what}", path.display()), None))
        };
        std::thread::Builder::new().name("loomtree-local".to_owned()).spawn(work).map_err(|e| fail(&e.to_string()))?;
        let (window, vocabulary) = ready.await.map_err(|_| fail("it is damaged"))?.map_err(|error| fail(&error))?;
        Ok(LoadedModel { reference: reference.to_owned(), sampling, window, vocabulary, jobs })
    }

    fn stream_choices(&self, request: &Request, n: usize) -> Vec<Generation> {
        let (events, mut received) = unbounded_channel();
        let receiver_gone: Arc<[AtomicBool]> = (0..n).map(|_| AtomicBool::new(false)).collect();
        let job = WorkerJob {
            prompt: request.prompt.clone(),
            sampling: request.sampling.clone().or(&self.sampling),
            events,
            receiver_gone: Arc::clone(&receiver_gone),
            started: Instant::now(),
        };
        // If the thread has ended, the job is dropped with its sender, and the loop below ends.
        let _ = self.jobs.send(job);
        Generation::spawn_n(n, move |mut sinks| async move {
            let mut open = vec![true; n];
            while let Some((index, event)) = received.recv().await {
                match event {
                    WorkerEvent::Text(text) => {
                        if sinks[index].text(text).await.is_err() {
                            receiver_gone[index].store(true, Ordering::Relaxed);
                        }
                    }
                    WorkerEvent::End(last) => {
                        open[index] = false;
                        sinks[index].end(last).await;
                    }
                }
            }
            for (sink, _) in sinks.iter_mut().zip(open).filter(|(_, open)| *open) {
                sink.end(Err(ProviderError::configuration("the model's thread has ended; its file may be damaged")))
                    .await;
            }
        })
    }
}

impl Model for LoadedModel {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn sampling(&self) -> Sampling {
        self.sampling.clone()
    }

    fn stream(&self, request: Request) -> Generation {
        self.stream_choices(&request, 1).remove(0)
    }

    fn stream_n(&self, request: Request, n: usize) -> Vec<Generation> {
        let mut replies = Vec::with_capacity(n);
        while replies.len() < n {
            let mut request = request.clone();
            // Each reply has its own seed.
            request.sampling.seed = request.sampling.seed.map(|seed| seed.wrapping_add(replies.len() as u64));
            replies.extend(self.stream_choices(&request, MAX_CHOICES_PER_REQUEST.min(n - replies.len())));
        }
        replies
    }

    fn max_choices_per_request(&self) -> usize {
        MAX_CHOICES_PER_REQUEST
    }

    fn parallel(&self) -> usize {
        1
    }

    fn count(&self, text: &str) -> Option<usize> {
        self.vocabulary.encode(text).ok().map(|tokens| tokens.len())
    }

    fn window(&self) -> Option<usize> {
        Some(usable_window(self.window))
    }
}
