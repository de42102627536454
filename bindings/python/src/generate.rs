//! Continuations by models: a Python callable, or a model that a reference names.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use loomtree::{
    Error,
    ops::Actor,
    provider::{
        self, Finish, FinishReason, Generation, Model, Names, Prompt, ProviderError, Request, Sampling, StreamError,
        chat_messages,
    },
    session::{GenerateRequest, Progress, generate},
    types,
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyCFunction, PyDict, PyString},
};
use tokio::sync::mpsc;

use crate::{callback_threads::RunningCall, convert::to_python, errors::raise};

/// Interval of looks for a signal such as Ctrl+C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
/// Pieces of text that wait for the store.
const CHANNEL_PIECES: usize = 64;
/// Replies of an asynchronous function at the same time.
const PARALLEL_REPLIES: usize = 16;

/// The model of a request.
#[derive(FromPyObject)]
pub(crate) enum ModelArg {
    /// A reference, such as `ollama:llama3.2`.
    Reference(String),
    /// A function of the messages, which returns a text or the pieces of one.
    Callable(Py<PyAny>),
}

/// A Python function as a model.
struct PythonModel {
    reference: String,
    function: Arc<Py<PyAny>>,
    /// Context variables of the caller, such as those of a tracer.
    context: Arc<Py<PyAny>>,
    parallel: usize,
    window: Option<usize>,
    /// The first exception of the function, which the caller of the generation gets.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Model for PythonModel {
    fn reference(&self) -> &str {
        &self.reference
    }

    fn stream(&self, request: Request) -> Generation {
        let (function, raised) = (Arc::clone(&self.function), Arc::clone(&self.raised));
        let context = Arc::clone(&self.context);
        Generation::spawn(move |mut sink| async move {
            let (pieces, mut text) = mpsc::channel(CHANNEL_PIECES);
            let running = RunningCall::begin();
            let mut call = tokio::task::spawn_blocking(move || {
                let _running = running;
                Python::attach(|py| call(py, (&function, &context), &request.prompt, pieces)).map_err(|error| {
                    let message = error.to_string();
                    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    message
                })
            });
            // The traceback of an exception may keep the sender, so the end of the call counts, and not that of the channel.
            let result = loop {
                tokio::select! {
                    biased;
                    Some(piece) = text.recv() => sink.text(piece).await?,
                    result = &mut call => break result.unwrap_or_else(|error| Err(error.to_string())),
                }
            };
            while let Ok(piece) = text.try_recv() {
                sink.text(piece).await?;
            }
            let cause = match result {
                Ok(()) => return Ok(Finish::new(FinishReason::Stop)),
                Err(message) => StreamError::Server(message),
            };
            Err(match sink.has_emitted() {
                true => {
                    let so_far = Box::new(Finish::new(FinishReason::Interrupted));
                    ProviderError::Interrupted { cause, so_far }
                }
                false => ProviderError::Broken { cause },
            })
        })
    }

    fn parallel(&self) -> usize {
        self.parallel
    }

    fn window(&self) -> Option<usize> {
        self.window
    }
}

/// Calls the function with the prompt, in a copy of the caller's context, and sends what it returns. What is asynchronous runs
/// in the event loop of all models, until the reader is gone.
fn call(
    py: Python<'_>,
    (function, context): (&Py<PyAny>, &Py<PyAny>),
    prompt: &Prompt,
    pieces: mpsc::Sender<String>,
) -> PyResult<()> {
    let prompt = match prompt {
        Prompt::Chat(messages) => to_python(py, &chat_messages(messages))?,
        Prompt::Raw(text) => PyString::new(py, text).into_any(),
    };
    let context = context.bind(py).call_method0("copy")?;
    let result = context.call_method1("run", (function, prompt))?;
    let is_asynchronous = result.hasattr("__await__")? || result.hasattr("__aiter__")?;
    let result = if is_asynchronous {
        let run = py.import("loomtree._model_loop")?.getattr("run")?;
        let (reader, sender) = (pieces.clone(), pieces.clone());
        let is_gone = PyCFunction::new_closure(py, None, None, move |_, _| reader.is_closed())?;
        let send = move |arguments: &Bound<'_, pyo3::types::PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let piece: String = arguments.get_item(0)?.extract()?;
            Ok::<bool, PyErr>(arguments.py().detach(|| sender.blocking_send(piece).is_ok()))
        };
        let send = PyCFunction::new_closure(py, None, None, send)?;
        context.call_method1("run", (run, result, send, is_gone))?
    } else {
        result
    };
    // The reader may have ended; then the rest of the text has no reader.
    let send = |piece: String| py.detach(|| pieces.blocking_send(piece).is_ok());
    if let Ok(text) = result.extract::<String>() {
        send(text);
        return Ok(());
    }
    let wrong = || PyTypeError::new_err("a model returns a str or the pieces of one");
    if result.is_instance_of::<PyDict>() || result.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let iterator = result.try_iter().map_err(|_| wrong())?;
    let next = py.import("builtins")?.getattr("next")?;
    loop {
        let piece = context.call_method1("run", (&next, &iterator, &iterator))?;
        if piece.is(&iterator) || !send(piece.extract()?) {
            return Ok(());
        }
    }
}

/// A request for continuations.
pub(crate) struct Continuation {
    pub(crate) from: types::Node,
    pub(crate) author: types::Agent,
    pub(crate) model: ModelArg,
    pub(crate) n: usize,
    pub(crate) window: Option<usize>,
    pub(crate) instruction: Option<String>,
    pub(crate) sampling: Sampling,
    pub(crate) on_text: Option<Py<PyAny>>,
}

/// Returns the number of replies that a function may write at the same time: an asynchronous one is written for it.
fn parallel_of(py: Python<'_>, function: &Py<PyAny>) -> PyResult<usize> {
    let inspect = py.import("inspect")?;
    let own = function.bind(py);
    let call = own.getattr("__call__")?;
    for test in ["iscoroutinefunction", "isasyncgenfunction"] {
        let test = inspect.getattr(test)?;
        if test.call1((own,))?.extract()? || test.call1((&call,))?.extract()? {
            return Ok(PARALLEL_REPLIES);
        }
    }
    Ok(1)
}

/// Runs a request on a runtime of its own. Ctrl+C cancels it, and what was written by then is saved.
pub(crate) fn run(py: Python<'_>, actor: &Actor, asked: Continuation) -> PyResult<Vec<types::Node>> {
    let has_settings = asked.sampling != Sampling::default();
    let (parallel, context) = match &asked.model {
        ModelArg::Callable(_) if has_settings => {
            let message =
                "temperature, max_tokens, seed and stop are for models of a reference; a function sets its own";
            return Err(PyValueError::new_err(message));
        }
        ModelArg::Callable(function) => {
            (parallel_of(py, function)?, py.import("contextvars")?.call_method0("copy_context")?.unbind())
        }
        ModelArg::Reference(_) => (1, py.None()),
    };
    let raised = Arc::new(Mutex::new(None));
    let keep = |error: PyErr| {
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let on_text = asked.on_text;
    let result = py.detach(|| {
        runtime.block_on(async {
            let model: Arc<dyn Model> = match asked.model {
                ModelArg::Reference(name) => {
                    provider::open(Some(&name), &Names::new(), &|name| std::env::var(name).ok()).await?
                }
                ModelArg::Callable(function) => Arc::new(PythonModel {
                    reference: Python::attach(|py| reference_of(py, &function)),
                    function: Arc::new(function),
                    context: Arc::new(context),
                    parallel,
                    window: asked.window,
                    raised: Arc::clone(&raised),
                }),
            };
            let request = GenerateRequest::new(asked.from.id, asked.author, model, asked.n)
                .instruction(asked.instruction)
                .sampling(asked.sampling);
            let cancel = request.cancel.clone();
            let emit = |progress| {
                if let (Some(function), Progress::Text { index, text }) = (&on_text, progress)
                    && let Err(error) = Python::attach(|py| function.call1(py, (index, text)))
                {
                    keep(error);
                    cancel.cancel();
                }
            };
            let generation = generate(actor, request, emit);
            tokio::pin!(generation);
            loop {
                tokio::select! {
                    nodes = &mut generation => return nodes.map_err(Error::from),
                    () = tokio::time::sleep(SIGNAL_INTERVAL) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            keep(error);
                            cancel.cancel();
                        }
                    }
                }
            }
        })
    });
    // A function that ignores its cancelled generation ends later, on its own thread. The interpreter waits for it.
    py.detach(|| runtime.shutdown_background());
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => result.map_err(raise),
    }
}

/// Returns the name under which replies of a function are stored.
fn reference_of(py: Python<'_>, function: &Py<PyAny>) -> String {
    let name = function.bind(py).getattr("__name__").and_then(|name| name.extract::<String>());
    format!("python:{}", name.unwrap_or_else(|_| "model".to_owned()))
}
