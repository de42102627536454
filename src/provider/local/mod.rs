//! A model in the box: a GGUF of the Llama family, evaluated by this process on its processor.
//!
//! For those who have no key and no server, and for tests that want a real model. Replies to one prompt share its
//! evaluation, so several cost little more than one; and what two prompts begin with alike is evaluated once.
//!
//! The arithmetic is `candle`'s, the forward pass is in `llama`. How many threads write is decided by `candle`: as many as
//! `CANDLE_NUM_THREADS` says, else as the processor has cores, which is slow where others use these. The program sets it
//! to 1; a library's host does as it sees fit.
//!
//! Left out: graphics cards, tools of the model's own (it writes arrow lines like others), images.

mod detokenizer;
mod gguf;
mod llama;
mod sampler;
mod template;
mod tokenizer;
mod worker;

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

use super::{Generation, Model, ProviderError, Request, Sampling, error::clean};
use tokenizer::LocalTokenizer;
use worker::{InferenceEngine, WorkerEvent, WorkerJob};

/// The most replies that are written side by side; more wait for them.
const MOST_TOGETHER: usize = 16;

/// A model that this process evaluates.
#[derive(Debug)]
pub struct Local {
    reference: String,
    sampling: Sampling,
    window: usize,
    vocabulary: Arc<LocalTokenizer>,
    jobs: mpsc::Sender<WorkerJob>,
}

impl Local {
    /// Loads the file at `path`, on a thread of its own that goes on to answer. `sampling` is for requests that say
    /// nothing else.
    ///
    /// # Errors
    /// A configuration error if the file cannot be read, or is no model of the Llama family.
    pub async fn load(reference: &str, path: &Path, sampling: Sampling) -> Result<Local, ProviderError> {
        let (jobs, queue) = mpsc::channel::<WorkerJob>();
        let (loaded, ready) = oneshot::channel();
        let file = path.to_owned();
        let work = move || match InferenceEngine::load(&file) {
            Ok(mut engine) => {
                // Nobody waits any more: then the queue is closed too.
                let _ = loaded.send(Ok((engine.window(), engine.vocabulary())));
                queue.into_iter().for_each(|job| engine.answer(&job));
            }
            Err(error) => drop(loaded.send(Err(gguf::said(&error)))),
        };
        let fail = |what: &str| {
            ProviderError::configuration(clean(&format!("{} cannot be loaded: {what}", path.display()), None))
        };
        std::thread::Builder::new().name("loomtree-local".to_owned()).spawn(work).map_err(|e| fail(&e.to_string()))?;
        let (window, vocabulary) = ready.await.map_err(|_| fail("it is damaged"))?.map_err(|error| fail(&error))?;
        Ok(Local { reference: reference.to_owned(), sampling, window, vocabulary, jobs })
    }

    fn several(&self, request: &Request, n: usize) -> Vec<Generation> {
        let (told, mut heard) = unbounded_channel();
        let gone: Arc<[AtomicBool]> = (0..n).map(|_| AtomicBool::new(false)).collect();
        let job = WorkerJob {
            prompt: request.prompt.clone(),
            sampling: request.sampling.clone().or(&self.sampling),
            told,
            gone: Arc::clone(&gone),
            started: Instant::now(),
        };
        // If the thread is gone, so is the job, and with it what fills the channel.
        let _ = self.jobs.send(job);
        Generation::several(n, move |mut sinks| async move {
            let mut open = vec![true; n];
            while let Some((index, told)) = heard.recv().await {
                match told {
                    WorkerEvent::Text(text) => {
                        if sinks[index].text(text).await.is_err() {
                            gone[index].store(true, Ordering::Relaxed);
                        }
                    }
                    WorkerEvent::End(last) => {
                        open[index] = false;
                        sinks[index].end(last).await;
                    }
                }
            }
            for (sink, _) in sinks.iter_mut().zip(open).filter(|(_, open)| *open) {
                sink.end(Err(ProviderError::configuration("the model's thread has stopped; its file may be damaged")))
                    .await;
            }
        })
    }
}

impl Model for Local {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn stream(&self, request: Request) -> Generation {
        self.several(&request, 1).remove(0)
    }

    fn stream_n(&self, request: Request, n: usize) -> Vec<Generation> {
        let mut replies = Vec::with_capacity(n);
        while replies.len() < n {
            let mut request = request.clone();
            // Each reply has a seed of its own.
            request.sampling.seed = request.sampling.seed.map(|seed| seed.wrapping_add(replies.len() as u64));
            replies.extend(self.several(&request, MOST_TOGETHER.min(n - replies.len())));
        }
        replies
    }

    fn max_choices_per_request(&self) -> usize {
        MOST_TOGETHER
    }

    fn parallel(&self) -> usize {
        1
    }

    fn count(&self, text: &str) -> Option<usize> {
        self.vocabulary.tokens(text).ok().map(|tokens| tokens.len())
    }

    fn window(&self) -> Option<usize> {
        // Who asks this counts by estimate, which may be too low.
        Some(self.window - self.window / 8)
    }
}

#[cfg(test)]
mod tests;
