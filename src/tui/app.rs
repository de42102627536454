//! Application: the model and the threads that perform its effects. No method blocks, except [`App::settle`] and
//! [`App::close`].

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ratatui::Frame;
use tokio::{
    runtime::Handle,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use super::{
    ScreenSetup,
    generation_jobs::GenerationJobs,
    highlight::Highlighter,
    message::{
        BackgroundEvent, BackgroundReport, GenerationEvent, InputPurpose, ScreenEffect, ScreenMessage, WriteRequest,
    },
    model::{FilePanel, ModelInit, ScreenMode, ScreenModel},
    path_cache::PathCache,
    queries::LookupContext,
    query_threads::{QueryThreads, ReadRequest},
    screen_query::load_screen,
    update::update,
    view, write_thread,
};
use crate::session::Decision;

/// Effect that needs the terminal.
#[derive(Debug, Clone)]
pub(crate) enum TerminalRequest {
    /// Opens a text in the user's editor.
    OpenEditor(String, InputPurpose),
    Redraw,
    Suspend,
}

/// Screen without a terminal: receives messages, draws frames.
///
/// A tokio runtime's handle runs the models' streams.
pub struct App {
    model: ScreenModel,
    inbox: UnboundedReceiver<BackgroundReport>,
    readers: QueryThreads,
    writes: Option<mpsc::Sender<WriteRequest>>,
    writer: Option<JoinHandle<()>>,
    /// True if the running import or export is to end.
    cancel_file: Arc<AtomicBool>,
    jobs: GenerationJobs,
    terminal_requests: Vec<TerminalRequest>,
    /// Read and write requests without a reply.
    pending_replies: usize,
    began: Instant,
    setup: ScreenSetup,
}

impl App {
    /// Opens a screen of this size. The first query runs here, so the first frame shows its result.
    ///
    /// # Errors
    /// If a thread cannot be started, or the tree cannot be read.
    pub fn new(setup: ScreenSetup, runtime: Handle, width: u16, height: u16) -> Result<Self, String> {
        let (reports, inbox) = unbounded_channel();
        let init = ModelInit {
            agent: setup.agent.id(),
            session: setup.session,
            tree: setup.tree,
            cursor: setup.position,
            versions: setup.versions.clone(),
            count: setup.count,
            configured_models: setup.models.clone(),
            default_model: setup.model.clone(),
            palette: setup.palette,
            highlighter: Highlighter::new(reports.clone()),
            keys: setup.keys.clone(),
            tour: setup.tour,
        };
        setup.consent.connect(reports.clone());
        let failed = |error: std::io::Error| format!("starting threads: {error}");
        let mut model = ScreenModel::new(init, width, height);
        // Created before the first query, so that no later change is missed.
        let watch = setup.loom.store().watch().map_err(|error| error.to_string())?;
        // On this thread: nothing can be drawn before.
        let (mut path_cache, mut first) = (PathCache::default(), Vec::new());
        for effect in model.load_screen() {
            if let ScreenEffect::LoadScreen(query) = effect {
                let screen = load_screen(&setup.loom, &query, &mut path_cache)
                    .map_err(|error| write_thread::error_line(&error))?;
                first.push(BackgroundReport(BackgroundEvent::ScreenLoaded(query.number, Ok(Box::new(screen)))));
            }
        }
        let readers = QueryThreads::start(&setup.loom, &reports, watch, path_cache).map_err(failed)?;
        let cancel_file = Arc::new(AtomicBool::new(false));
        let (requests, writer) =
            write_thread::start(setup.clone(), reports.clone(), Arc::clone(&cancel_file)).map_err(failed)?;
        let mut app = Self {
            model,
            inbox,
            readers,
            writes: Some(requests),
            writer: Some(writer),
            cancel_file,
            jobs: GenerationJobs::new(setup.clone(), runtime, reports),
            terminal_requests: Vec::new(),
            pending_replies: 0,
            began: Instant::now(),
            setup,
        };
        for report in first {
            app.send(ScreenMessage::Report(report));
        }
        Ok(app)
    }

    /// Applies a message and starts its effects.
    pub fn send(&mut self, message: ScreenMessage) {
        self.tick();
        if let ScreenMessage::Report(BackgroundReport(event)) = &message {
            self.count_reply(event);
        }
        for effect in update(&mut self.model, message) {
            self.perform(effect);
        }
    }

    /// Updates the clock. Returns whether the screen changed by that.
    pub fn tick(&mut self) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let changed = self.model.tick(now);
        for effect in self.model.refresh_presence() {
            self.perform(effect);
        }
        if let Some((node, writes)) = self.model.cursor_to_show().zip(self.writes.as_ref()) {
            let _ = writes.send(WriteRequest::ShowCursor(node));
        }
        changed
    }

    /// Time until the screen changes by itself. `None`: never.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.model.next_wake()?);
        Some(until.saturating_sub(self.began.elapsed()))
    }

    fn count_reply(&mut self, event: &BackgroundEvent) {
        match event {
            BackgroundEvent::ScreenLoaded(..)
            | BackgroundEvent::QueryDone(..)
            | BackgroundEvent::WriteDone(_)
            | BackgroundEvent::Superseded => self.pending_replies = self.pending_replies.saturating_sub(1),
            BackgroundEvent::Generation(number, GenerationEvent::Finished(..))
            | BackgroundEvent::CommandsDone(number, _) => self.jobs.remove(*number),
            _ => {}
        }
    }

    fn perform(&mut self, effect: ScreenEffect) {
        match effect {
            ScreenEffect::LoadScreen(query) => self.read(ReadRequest::LoadScreen(query)),
            ScreenEffect::Query(lookup) => {
                let context = LookupContext::new(&self.model, &self.setup);
                self.read(ReadRequest::Query(lookup, Box::new(context)));
            }
            ScreenEffect::Write(request) => {
                self.pending_replies += 1;
                if FilePanel::of(&request).is_some() {
                    self.cancel_file.store(false, Ordering::Relaxed);
                }
                // The thread lives as long as the application.
                let _ = self.writes.as_ref().map(|writes| writes.send(request));
            }
            ScreenEffect::Generate(job) => self.jobs.start(job, self.model.session),
            ScreenEffect::RunCommands(command_job) => self.jobs.run(command_job, self.model.session),
            ScreenEffect::CancelFile => self.cancel_file.store(true, Ordering::Relaxed),
            ScreenEffect::Cancel(number, column) => self.jobs.cancel(number, column),
            ScreenEffect::AnswerApproval(number, yes, always) => {
                let decision = if yes { Decision::Yes } else { Decision::No(None) };
                self.setup.consent.answer(number, decision, always);
            }
            ScreenEffect::OpenEditor(text, purpose) => {
                self.terminal_requests.push(TerminalRequest::OpenEditor(text, purpose))
            }
            ScreenEffect::Redraw => self.terminal_requests.push(TerminalRequest::Redraw),
            ScreenEffect::Suspend => self.terminal_requests.push(TerminalRequest::Suspend),
            ScreenEffect::Quit => self.model.has_ended = true,
        }
    }

    fn read(&mut self, request: ReadRequest) {
        self.pending_replies += 1;
        self.readers.send(request);
    }

    /// Returns whether a screen query is in progress.
    #[must_use]
    pub(crate) fn is_loading(&self) -> bool {
        self.model.is_loading
    }

    /// Draws the screen into a frame.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(&self.model, frame);
    }

    /// Waits for the next report of a background thread.
    pub async fn next_report(&mut self) -> Option<BackgroundReport> {
        self.inbox.recv().await
    }

    /// Processes all reports received so far. Returns whether there were any.
    pub fn process_reports(&mut self) -> bool {
        let mut received = false;
        while let Ok(report) = self.inbox.try_recv() {
            received = true;
            self.send(ScreenMessage::Report(report));
        }
        received
    }

    /// Blocks until all requests and generations are done, at most `longest`. Returns whether they are.
    pub fn settle(&mut self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while Instant::now() < until {
            self.process_reports();
            let idle = !self.model.is_loading
                && self.model.pending_writes == 0
                && !self.jobs.is_busy()
                && !self.awaits_reply();
            let idle = idle && !self.model.highlighter.is_busy();
            if idle {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn awaits_reply(&self) -> bool {
        matches!(&self.model.mode, ScreenMode::List(list) if list.awaits.is_some()) || self.pending_replies > 0
    }

    /// Returns whether the user has quit.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.model.has_ended
    }

    /// Returns whether the terminal's owner has to act before the next event: a terminal request, or the end.
    pub(crate) fn needs_terminal(&self) -> bool {
        !self.terminal_requests.is_empty() || self.has_ended()
    }

    /// Removes and returns the pending terminal requests.
    pub(crate) fn take_terminal_requests(&mut self) -> Vec<TerminalRequest> {
        std::mem::take(&mut self.terminal_requests)
    }

    /// Applies the text from the user's editor.
    pub(crate) fn editor_closed(&mut self, purpose: InputPurpose, text: Result<Option<String>, String>) {
        self.send(ScreenMessage::Report(BackgroundReport(BackgroundEvent::EditorClosed(purpose, text))));
    }

    /// Shell command that edits a file.
    pub(crate) fn editor(&self) -> &str {
        &self.setup.editor
    }

    /// Ends the application: cancels generations, saves partial replies and completes all write requests.
    pub fn close(mut self, longest: Duration) {
        self.jobs.cancel_all();
        self.cancel_file.store(true, Ordering::Relaxed);
        let background = std::sync::Arc::clone(&self.setup.commands.background);
        background.stop();
        let until = Instant::now() + longest;
        while (self.jobs.is_busy() || background.running() > 0) && Instant::now() < until {
            self.process_reports();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.writes.take();
        if let Some(writer) = self.writer.take() {
            // The panic hook has reported a panic of the thread.
            let _ = writer.join();
        }
    }
}
