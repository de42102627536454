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
    Setup,
    colours::Colours,
    generate::Jobs,
    kept::Kept,
    look::look,
    lookup::About,
    message::{Deed, Effect, Growing, Heard, Message, Purpose, Report},
    model::{Beginning, Mode, Model},
    reader::{Readers, Request},
    update::update,
    view, writer,
};
use crate::session::Verdict;

/// What only the one who holds the terminal can do.
#[derive(Debug, Clone)]
pub(crate) enum Wish {
    /// Open a text in the person's editor.
    Editor(String, Purpose),
    Redraw,
    Suspend,
}

/// The screen without a terminal: takes messages, draws frames.
///
/// Made on a tokio runtime's handle, on which models stream.
pub struct App {
    model: Model,
    inbox: UnboundedReceiver<Report>,
    readers: Readers,
    deeds: Option<mpsc::Sender<Deed>>,
    writing: Option<JoinHandle<()>>,
    jobs: Jobs,
    wishes: Vec<Wish>,
    /// Requests that are not answered yet.
    waiting: usize,
    began: Instant,
    setup: Setup,
}

impl App {
    /// Opens a screen of this size on what the setup says. The first look is taken here: what is drawn next shows it.
    ///
    /// # Errors
    /// If a thread cannot be started, or the tree cannot be read.
    pub fn new(setup: Setup, runtime: Handle, width: u16, height: u16) -> Result<Self, String> {
        let (tell, inbox) = unbounded_channel();
        let begin = Beginning {
            agent: setup.agent.id(),
            session: setup.session,
            tree: setup.tree,
            at: setup.position,
            versions: setup.versions.clone(),
            count: setup.count,
            usual: setup.model.clone(),
            palette: setup.palette,
            colours: Colours::new(tell.clone()),
            keys: setup.keys.clone(),
            tour: setup.tour,
        };
        setup.consent.attend(tell.clone());
        let failed = |error: std::io::Error| format!("starting threads: {error}");
        let mut model = Model::new(begin, width, height);
        // Before the first look: what comes after that is a change.
        let watch = setup.loom.store().watch().map_err(|error| error.to_string())?;
        // On this thread: there is nothing to show before.
        let (mut kept, mut first) = (Kept::default(), Vec::new());
        for effect in model.look() {
            if let Effect::Look(wanted) = effect {
                let sight = look(&setup.loom, &wanted, &mut kept).map_err(|error| writer::speech(&error))?;
                first.push(Report(Heard::Seen(wanted.number, Ok(Box::new(sight)))));
            }
        }
        let readers = Readers::start(&setup.loom, &tell, watch, kept).map_err(failed)?;
        let (deeds, writing) = writer::start(setup.clone(), tell.clone()).map_err(failed)?;
        let mut app = Self {
            model,
            inbox,
            readers,
            deeds: Some(deeds),
            writing: Some(writing),
            jobs: Jobs::new(setup.clone(), runtime, tell),
            wishes: Vec::new(),
            waiting: 0,
            began: Instant::now(),
            setup,
        };
        for report in first {
            app.send(Message::Report(report));
        }
        Ok(app)
    }

    /// Takes a message in, and begins what it comes to.
    pub fn send(&mut self, message: Message) {
        self.tick();
        if let Message::Report(Report(heard)) = &message {
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

    fn answered(&mut self, heard: &Heard) {
        match heard {
            Heard::Seen(..) | Heard::Answered(..) | Heard::Done(_) | Heard::Passed => {
                self.waiting = self.waiting.saturating_sub(1)
            }
            Heard::Grew(number, Growing::Ended(..)) | Heard::Ran(number, _) => self.jobs.ended(*number),
            _ => {}
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Look(look) => self.ask(Request::Look(look)),
            Effect::Ask(question) => {
                let about = About::of(&self.model, &self.setup);
                self.ask(Request::Ask(question, Box::new(about)));
            }
            Effect::Do(deed) => {
                self.waiting += 1;
                // The thread is there as long as this is.
                let _ = self.deeds.as_ref().map(|deeds| deeds.send(deed));
            }
            Effect::Generate(job) => self.jobs.start(job, self.model.session),
            Effect::Run(errand) => self.jobs.run(errand, self.model.session),
            Effect::Cancel(number, column) => self.jobs.cancel(number, column),
            Effect::Consent(number, yes, always) => {
                let verdict = if yes { Verdict::Yes } else { Verdict::No(None) };
                self.setup.consent.answer(number, verdict, always);
            }
            Effect::Editor(text, purpose) => self.wishes.push(Wish::Editor(text, purpose)),
            Effect::Redraw => self.wishes.push(Wish::Redraw),
            Effect::Suspend => self.wishes.push(Wish::Suspend),
            Effect::Quit => self.model.ended = true,
        }
    }

    fn ask(&mut self, request: Request) {
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
    pub async fn report(&mut self) -> Option<Report> {
        self.inbox.recv().await
    }

    /// Takes in what has been reported by now: whether there was something.
    pub fn hear(&mut self) -> bool {
        let mut heard = false;
        while let Ok(report) = self.inbox.try_recv() {
            heard = true;
            self.send(Message::Report(report));
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
        matches!(&self.model.mode, Mode::Choose(list) if list.awaits.is_some()) || self.waiting > 0
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
    pub(crate) fn wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// What a person's editor gave back.
    pub(crate) fn edited(&mut self, purpose: Purpose, text: Option<String>) {
        self.send(Message::Report(Report(Heard::Edited(purpose, text))));
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
