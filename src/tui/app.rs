//! The model with what does its effects. Nothing here waits, but for [`App::settle`].

use std::{
    sync::mpsc,
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
    generate::GenerationJobs,
    highlight::Highlighter,
    message::{
        BackgroundEvent, BackgroundReport, GenerationEvent, InputPurpose, ScreenEffect, ScreenMessage, WriteRequest,
    },
    model::{ModelInit, ScreenMode, ScreenModel},
    path_cache::PathCache,
    queries::LookupContext,
    query_threads::{QueryThreads, ReadRequest},
    screen_query::load_screen,
    update::update,
    view, write_thread,
};
use crate::session::Decision;

/// What only the one who holds the terminal can do.
#[derive(Debug, Clone)]
pub(crate) enum TerminalRequest {
    /// Open a text in the person's editor.
    OpenEditor(String, InputPurpose),
    Redraw,
    Suspend,
}

/// The screen without a terminal: takes messages, draws frames.
///
/// Made on a tokio runtime's handle, on which models stream.
pub struct App {
    model: ScreenModel,
    inbox: UnboundedReceiver<BackgroundReport>,
    readers: QueryThreads,
    writes: Option<mpsc::Sender<WriteRequest>>,
    writer: Option<JoinHandle<()>>,
    jobs: GenerationJobs,
    terminal_requests: Vec<TerminalRequest>,
    /// Requests that are not answered yet.
    pending_replies: usize,
    began: Instant,
    setup: ScreenSetup,
}

impl App {
    /// Opens a screen of this size on what the setup says. The first look is taken here: what is drawn next shows it.
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
            default_model: setup.model.clone(),
            palette: setup.palette,
            highlighter: Highlighter::new(reports.clone()),
            keys: setup.keys.clone(),
            tour: setup.tour,
        };
        setup.consent.connect(reports.clone());
        let failed = |error: std::io::Error| format!("starting threads: {error}");
        let mut model = ScreenModel::new(init, width, height);
        // Before the first look: what comes after that is a change.
        let watch = setup.loom.store().watch().map_err(|error| error.to_string())?;
        // On this thread: there is nothing to show before.
        let (mut path_cache, mut first) = (PathCache::default(), Vec::new());
        for effect in model.load_screen() {
            if let ScreenEffect::LoadScreen(query) = effect {
                let screen = load_screen(&setup.loom, &query, &mut path_cache)
                    .map_err(|error| write_thread::error_line(&error))?;
                first.push(BackgroundReport(BackgroundEvent::ScreenLoaded(query.number, Ok(Box::new(screen)))));
            }
        }
        let readers = QueryThreads::start(&setup.loom, &reports, watch, path_cache).map_err(failed)?;
        let (requests, writer) = write_thread::start(setup.clone(), reports.clone()).map_err(failed)?;
        let mut app = Self {
            model,
            inbox,
            readers,
            writes: Some(requests),
            writer: Some(writer),
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

    /// Takes a message in, and begins what it comes to.
    pub fn send(&mut self, message: ScreenMessage) {
        self.tick();
        if let ScreenMessage::Report(BackgroundReport(event)) = &message {
            self.count_reply(event);
        }
        for effect in update(&mut self.model, message) {
            self.perform(effect);
        }
    }

    /// Lets time pass: whether something changed by that.
    pub fn tick(&mut self) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let changed = self.model.tick(now);
        for effect in self.model.refresh_presence() {
            self.perform(effect);
        }
        changed
    }

    /// In how long the screen changes by itself, if it does.
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
                // The thread is there as long as this is.
                let _ = self.writes.as_ref().map(|writes| writes.send(request));
            }
            ScreenEffect::Generate(job) => self.jobs.start(job, self.model.session),
            ScreenEffect::RunCommands(command_job) => self.jobs.run(command_job, self.model.session),
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

    /// Whether the screen is being read anew.
    #[must_use]
    pub(crate) fn is_loading(&self) -> bool {
        self.model.is_loading
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(&self.model, frame);
    }

    /// Waits for the next report of the background.
    pub async fn next_report(&mut self) -> Option<BackgroundReport> {
        self.inbox.recv().await
    }

    /// Takes in what has been reported by now: whether there was something.
    pub fn process_reports(&mut self) -> bool {
        let mut received = false;
        while let Ok(report) = self.inbox.try_recv() {
            received = true;
            self.send(ScreenMessage::Report(report));
        }
        received
    }

    /// Waits until everything that was asked for is done, generations too, at most so long: whether it is.
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

    /// Whether the person has left.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.model.has_ended
    }

    /// Whether something is to be done before more is heard: only the terminal's holder can do it, or the person leaves.
    pub(crate) fn needs_terminal(&self) -> bool {
        !self.terminal_requests.is_empty() || self.has_ended()
    }

    /// What only the terminal's holder can do, to be done now.
    pub(crate) fn take_terminal_requests(&mut self) -> Vec<TerminalRequest> {
        std::mem::take(&mut self.terminal_requests)
    }

    /// What a person's editor gave back.
    pub(crate) fn editor_closed(&mut self, purpose: InputPurpose, text: Option<String>) {
        self.send(ScreenMessage::Report(BackgroundReport(BackgroundEvent::EditorClosed(purpose, text))));
    }

    /// The command that edits a file.
    pub(crate) fn editor(&self) -> &str {
        &self.setup.editor
    }

    /// Ends: what is being written is saved as far as it came, and every deed is on the disk.
    pub fn close(mut self, longest: Duration) {
        self.jobs.cancel_all();
        let background = std::sync::Arc::clone(&self.setup.commands.background);
        background.stop();
        let until = Instant::now() + longest;
        while (self.jobs.is_busy() || background.running() > 0) && Instant::now() < until {
            self.process_reports();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.writes.take();
        if let Some(writer) = self.writer.take() {
            // A panic in it was told already.
            let _ = writer.join();
        }
    }
}
