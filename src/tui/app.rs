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
    screen_query::look,
    update::update,
    view, write_thread,
};
use crate::session::Decision;

/// What only the one who holds the terminal can do.
#[derive(Debug, Clone)]
pub(crate) enum TerminalRequest {
    /// Open a text in the person's editor.
    Editor(String, InputPurpose),
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
    deeds: Option<mpsc::Sender<WriteRequest>>,
    writing: Option<JoinHandle<()>>,
    jobs: GenerationJobs,
    wishes: Vec<TerminalRequest>,
    /// Requests that are not answered yet.
    waiting: usize,
    began: Instant,
    setup: ScreenSetup,
}

impl App {
    /// Opens a screen of this size on what the setup says. The first look is taken here: what is drawn next shows it.
    ///
    /// # Errors
    /// If a thread cannot be started, or the tree cannot be read.
    pub fn new(setup: ScreenSetup, runtime: Handle, width: u16, height: u16) -> Result<Self, String> {
        let (tell, inbox) = unbounded_channel();
        let begin = ModelInit {
            agent: setup.agent.id(),
            session: setup.session,
            tree: setup.tree,
            at: setup.position,
            versions: setup.versions.clone(),
            count: setup.count,
            usual: setup.model.clone(),
            palette: setup.palette,
            colours: Highlighter::new(tell.clone()),
            keys: setup.keys.clone(),
            tour: setup.tour,
        };
        setup.consent.attend(tell.clone());
        let failed = |error: std::io::Error| format!("starting threads: {error}");
        let mut model = ScreenModel::new(begin, width, height);
        // Before the first look: what comes after that is a change.
        let watch = setup.loom.store().watch().map_err(|error| error.to_string())?;
        // On this thread: there is nothing to show before.
        let (mut kept, mut first) = (PathCache::default(), Vec::new());
        for effect in model.look() {
            if let ScreenEffect::Look(wanted) = effect {
                let sight = look(&setup.loom, &wanted, &mut kept).map_err(|error| write_thread::speech(&error))?;
                first.push(BackgroundReport(BackgroundEvent::Seen(wanted.number, Ok(Box::new(sight)))));
            }
        }
        let readers = QueryThreads::start(&setup.loom, &tell, watch, kept).map_err(failed)?;
        let (deeds, writing) = write_thread::start(setup.clone(), tell.clone()).map_err(failed)?;
        let mut app = Self {
            model,
            inbox,
            readers,
            deeds: Some(deeds),
            writing: Some(writing),
            jobs: GenerationJobs::new(setup.clone(), runtime, tell),
            wishes: Vec::new(),
            waiting: 0,
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
        if let ScreenMessage::Report(BackgroundReport(heard)) = &message {
            self.answered(heard);
        }
        for effect in update(&mut self.model, message) {
            self.perform(effect);
        }
    }

    /// Lets time pass: whether something changed by that.
    pub fn tick(&mut self) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let changed = self.model.tick(now);
        for effect in self.model.miss() {
            self.perform(effect);
        }
        changed
    }

    /// In how long the screen changes by itself, if it does.
    #[must_use]
    pub fn wakes(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.model.wakes()?);
        Some(until.saturating_sub(self.began.elapsed()))
    }

    fn answered(&mut self, heard: &BackgroundEvent) {
        match heard {
            BackgroundEvent::Seen(..)
            | BackgroundEvent::Answered(..)
            | BackgroundEvent::Done(_)
            | BackgroundEvent::Passed => self.waiting = self.waiting.saturating_sub(1),
            BackgroundEvent::Grew(number, GenerationEvent::Ended(..)) | BackgroundEvent::Ran(number, _) => {
                self.jobs.ended(*number)
            }
            _ => {}
        }
    }

    fn perform(&mut self, effect: ScreenEffect) {
        match effect {
            ScreenEffect::Look(look) => self.ask(ReadRequest::Look(look)),
            ScreenEffect::Ask(question) => {
                let about = LookupContext::of(&self.model, &self.setup);
                self.ask(ReadRequest::Ask(question, Box::new(about)));
            }
            ScreenEffect::Do(deed) => {
                self.waiting += 1;
                // The thread is there as long as this is.
                let _ = self.deeds.as_ref().map(|deeds| deeds.send(deed));
            }
            ScreenEffect::Generate(job) => self.jobs.start(job, self.model.session),
            ScreenEffect::Run(errand) => self.jobs.run(errand, self.model.session),
            ScreenEffect::Cancel(number, column) => self.jobs.cancel(number, column),
            ScreenEffect::Consent(number, yes, always) => {
                let verdict = if yes { Decision::Yes } else { Decision::No(None) };
                self.setup.consent.answer(number, verdict, always);
            }
            ScreenEffect::Editor(text, purpose) => self.wishes.push(TerminalRequest::Editor(text, purpose)),
            ScreenEffect::Redraw => self.wishes.push(TerminalRequest::Redraw),
            ScreenEffect::Suspend => self.wishes.push(TerminalRequest::Suspend),
            ScreenEffect::Quit => self.model.ended = true,
        }
    }

    fn ask(&mut self, request: ReadRequest) {
        self.waiting += 1;
        self.readers.ask(request);
    }

    /// Whether the screen is being read anew.
    #[must_use]
    pub(crate) fn is_looking(&self) -> bool {
        self.model.looking
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(&self.model, frame);
    }

    /// Waits for the next report of the background.
    pub async fn report(&mut self) -> Option<BackgroundReport> {
        self.inbox.recv().await
    }

    /// Takes in what has been reported by now: whether there was something.
    pub fn hear(&mut self) -> bool {
        let mut heard = false;
        while let Ok(report) = self.inbox.try_recv() {
            heard = true;
            self.send(ScreenMessage::Report(report));
        }
        heard
    }

    /// Waits until everything that was asked for is done, generations too, at most so long: whether it is.
    pub fn settle(&mut self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while Instant::now() < until {
            self.hear();
            let idle = !self.model.looking && self.model.unsaved == 0 && !self.jobs.is_busy() && !self.waits();
            let idle = idle && !self.model.colours.is_busy();
            if idle {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn waits(&self) -> bool {
        matches!(&self.model.mode, ScreenMode::Choose(list) if list.awaits.is_some()) || self.waiting > 0
    }

    /// Whether the person has left.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.model.ended
    }

    /// Whether something is to be done before more is heard: only the terminal's holder can do it, or the person leaves.
    pub(crate) fn is_wanting(&self) -> bool {
        !self.wishes.is_empty() || self.has_ended()
    }

    /// What only the terminal's holder can do, to be done now.
    pub(crate) fn wishes(&mut self) -> Vec<TerminalRequest> {
        std::mem::take(&mut self.wishes)
    }

    /// What a person's editor gave back.
    pub(crate) fn edited(&mut self, purpose: InputPurpose, text: Option<String>) {
        self.send(ScreenMessage::Report(BackgroundReport(BackgroundEvent::Edited(purpose, text))));
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
            self.hear();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.deeds.take();
        if let Some(writing) = self.writing.take() {
            // A panic in it was told already.
            let _ = writing.join();
        }
    }
}
