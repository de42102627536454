//! The terminal: taken over, given back whatever happens, and the loop between. The only part that touches it.

use std::{
    io::{self, BufWriter, Stdout, Write as _},
    panic,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crossterm::{
    cursor::{MoveTo, RestorePosition, SavePosition, Show},
    event::{
        self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, EventStream,
    },
    execute, queue,
    terminal::{self, Clear, ClearType, DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen},
};
use futures_util::{FutureExt as _, StreamExt as _};
use ratatui::{
    Terminal,
    backend::{Backend, CrosstermBackend},
};

use super::{
    ScreenSetup,
    app::{App, TerminalRequest},
    message::{BackgroundReport, ScreenMessage},
    wide_graphemes::{self, WideGraphemeRows},
};

/// The shortest time between two frames that only the background asked for.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// How long a frame waits for what a key had read.
const MAX_SCREEN_WAIT: Duration = Duration::from_millis(8);
/// Keys and the like that are taken in before a frame at most.
const MAX_EVENTS_PER_FRAME: usize = 256;
/// How long is looked for an event that is there. Without any time crossterm's source looks at none, not even at those
/// that it has read.
const POLL_TIMEOUT: Duration = Duration::from_micros(50);
/// How long is waited at the end for what is being written.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the screen ended otherwise than the person wished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The terminal cannot be read or written.
    #[error("the terminal: {0}")]
    Io(#[from] io::Error),
    /// What was to be shown cannot be read.
    #[error("{0}")]
    Open(String),
    /// The process was asked to end; everything is saved and the terminal given back.
    #[error("ended by a signal")]
    Signal,
}

/// Whether the terminal is taken over now: the hook of panics and the guard both give it back, once.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);
/// Held while a frame is written, and from a panic of another thread to the end: a frame would take the terminal again.
static DRAW_LOCK: Mutex<()> = Mutex::new(());

/// Gives the terminal back when it goes.
struct RawModeGuard;

impl RawModeGuard {
    fn acquire() -> io::Result<Self> {
        TERMINAL_TAKEN.store(true, Ordering::SeqCst);
        // From here on the guard gives back whatever was taken.
        let guard = Self;
        terminal::enable_raw_mode()?;
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste,
            // What a terminal draws wider than it is counted does not go on in the next row.
            DisableLineWrap,
            Clear(ClearType::All)
        )?;
        Ok(guard)
    }
}

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn restore_terminal() {
    if TERMINAL_TAKEN.swap(false, Ordering::SeqCst) {
        // There is nobody to tell if the terminal is gone. A thread that panics may not take standard output's lock, which
        // the one that draws holds; so this goes by it.
        let mut bytes = Vec::new();
        let _ = execute!(bytes, EnableLineWrap, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = write_unlocked(&bytes);
        let _ = terminal::disable_raw_mode();
    }
}

/// Writes to standard output, whoever holds its lock.
#[cfg(unix)]
fn write_unlocked(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(rustix::stdio::stdout(), bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Writes to standard output.
#[cfg(not(unix))]
fn write_unlocked(bytes: &[u8]) -> io::Result<()> {
    io::stdout().write_all(bytes)
}

/// A panic's message has to reach the person's terminal, not a screen that is about to go.
fn install_panic_hook() {
    let before = panic::take_hook();
    let screen = std::thread::current().id();
    panic::set_hook(Box::new(move |what| {
        let held = TERMINAL_TAKEN.load(Ordering::SeqCst);
        let elsewhere = std::thread::current().id() != screen;
        // A frame that is being written is waited for, but not for ever: the terminal may take no more.
        let wait = |_: &u32| std::thread::sleep(Duration::from_millis(5));
        let _quiet = (0..40).filter(|_| elsewhere).inspect(wait).find_map(|_| DRAW_LOCK.try_lock().ok());
        restore_terminal();
        before(what);
        // Without a thread of the background the screen would wait for ever.
        if held && elsewhere {
            std::process::exit(101);
        }
    }));
}

/// Shows the screen until the person leaves.
///
/// Takes standard input and output, which have to be a terminal.
///
/// # Errors
/// If the terminal cannot be used, nothing can be shown, or the process is told to end.
pub fn run(setup: ScreenSetup) -> Result<(), TerminalError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (width, height) = terminal::size()?;
    let mut app = App::new(setup, runtime.handle().clone(), width, height).map_err(TerminalError::Open)?;
    install_panic_hook();
    let ended = runtime.block_on(async {
        let mut screen = Screen::acquire()?;
        let ended = screen.run(&mut app).await;
        drop(screen);
        ended
    });
    app.close(CLOSE_TIMEOUT);
    ended
}

/// A terminal of which it is known that nothing is on it.
fn blank() -> io::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())))
}

struct Screen {
    guard: Option<RawModeGuard>,
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    events: Option<EventStream>,
    wide_rows: WideGraphemeRows,
}

/// Signals that end the program, and the one that it goes on by.
struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 5],
}

/// What a signal means here.
enum SignalAction {
    Exit,
    Continue,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            // SIGCONT has no name in tokio; its number differs from system to system, as rustix knows.
            let resume = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
            let kinds =
                [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), resume];
            let [terminate, hangup, interrupt, quit, resume] = kinds.map(signal);
            Ok(Self { signals: [terminate?, hangup?, interrupt?, quit?, resume?] })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Forgets what ctrl-c and ctrl-\ meant for another program that had the terminal.
    fn drain_interrupts(&mut self) {
        #[cfg(unix)]
        for signal in &mut self.signals[2..4] {
            while signal.recv().now_or_never().flatten().is_some() {}
        }
    }

    async fn next(&mut self) -> SignalAction {
        #[cfg(unix)]
        {
            let [terminate, hangup, interrupt, quit, resume] = &mut self.signals;
            tokio::select! {
                _ = terminate.recv() => SignalAction::Exit,
                _ = hangup.recv() => SignalAction::Exit,
                _ = interrupt.recv() => SignalAction::Exit,
                _ = quit.recv() => SignalAction::Exit,
                _ = resume.recv() => SignalAction::Continue,
            }
        }
        #[cfg(not(unix))]
        std::future::pending().await
    }
}

impl Screen {
    fn acquire() -> io::Result<Self> {
        let guard = RawModeGuard::acquire()?;
        Ok(Self {
            guard: Some(guard),
            terminal: blank()?,
            events: Some(EventStream::new()),
            wide_rows: WideGraphemeRows::default(),
        })
    }

    /// Forgets what the terminal shows, so that everything is drawn. (`Terminal::clear` would ask the terminal where its
    /// cursor is, and wait for an answer.)
    fn reset(&mut self) -> io::Result<()> {
        self.terminal = blank()?;
        self.wide_rows = WideGraphemeRows::default();
        Ok(())
    }

    /// Takes the terminal again and draws everything anew.
    fn resume(&mut self, app: &mut App) -> io::Result<()> {
        self.guard = None;
        self.guard = Some(RawModeGuard::acquire()?);
        self.reset()?;
        if self.events.is_none() {
            self.events = Some(EventStream::new());
        }
        let (width, height) = terminal::size()?;
        app.send(ScreenMessage::Resize(width, height));
        Ok(())
    }

    /// Draws what has changed.
    fn draw(&mut self, app: &App) -> io::Result<()> {
        let drawn = self.terminal.draw(|frame| app.draw(frame))?;
        let whole = self.wide_rows.update(drawn.buffer);
        if whole.is_empty() {
            return Ok(());
        }
        let backend = self.terminal.backend_mut();
        queue!(backend, SavePosition)?;
        for (y, row) in &whole {
            queue!(backend, MoveTo(0, *y), Clear(ClearType::CurrentLine))?;
            let cells = wide_graphemes::cells(*y, row).map(|(place, cell)| (place.x, place.y, cell));
            Backend::draw(backend, cells)?;
        }
        queue!(backend, RestorePosition)?;
        io::Write::flush(backend)
    }

    /// Draws and hears until the end.
    async fn run(&mut self, app: &mut App) -> Result<(), TerminalError> {
        let mut signals = Signals::listen()?;
        let (mut drawn, mut due) = (Instant::now(), Some(Instant::now()));
        loop {
            if due.is_some_and(|due| due <= Instant::now()) {
                let _drawing = DRAW_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
                self.draw(app)?;
                (drawn, due) = (Instant::now(), None);
            }
            let wake = [due.map(|due| due.saturating_duration_since(Instant::now())), app.next_wake()]
                .into_iter()
                .flatten()
                .min();
            let Some(events) = &mut self.events else { return Ok(()) };
            tokio::select! {
                event = events.next() => {
                    let Some(event) = event else { return Ok(()) };
                    let (mut resized, mut events_taken, mut next) = (false, 0, Some(event?));
                    // What has come by now is shown in one frame: a text that is pasted key by key, a slow line's burst.
                    while let Some(event) = next.take() {
                        resized |= matches!(event, Event::Resize(..));
                        send_event(app, event);
                        events_taken += 1;
                        // Past the stream, whose waker would be lost: an event that is there is read at once.
                        if events_taken < MAX_EVENTS_PER_FRAME && !app.needs_terminal() && event::poll(POLL_TIMEOUT)? {
                            next = Some(event::read()?);
                        }
                    }
                    if resized {
                        // Sizes in between may have passed unseen and taken what was shown with them.
                        execute!(io::stdout(), Clear(ClearType::All))?;
                        self.reset()?;
                    }
                    // A frame before what the key asked for is seen would only keep that waiting.
                    let soon = Instant::now() + if app.is_loading() { MAX_SCREEN_WAIT } else { Duration::ZERO };
                    due = Some(due.map_or(soon, |due| due.min(soon)));
                }
                report = app.next_report() => {
                    // What a model says comes faster than anybody reads; what a key asked for is shown at once.
                    let is_stream_text = report.as_ref().is_none_or(BackgroundReport::is_stream_text);
                    if let Some(report) = report {
                        app.send(ScreenMessage::Report(report));
                        app.process_reports();
                    }
                    due = if is_stream_text { due.or(Some(drawn + MIN_FRAME_INTERVAL)) } else { Some(Instant::now()) };
                }
                () = tokio::time::sleep(wake.unwrap_or(MIN_FRAME_INTERVAL)), if wake.is_some() => {
                    if app.tick() {
                        due = Some(Instant::now());
                    }
                }
                signal = signals.next() => match signal {
                    SignalAction::Exit => return Err(TerminalError::Signal),
                    SignalAction::Continue => {
                        self.resume(app)?;
                        due = Some(Instant::now());
                    }
                },
            }
            for request in app.take_terminal_requests() {
                self.perform(app, request)?;
                signals.drain_interrupts();
                due = Some(Instant::now());
            }
            if app.has_ended() {
                return Ok(());
            }
        }
    }

    fn perform(&mut self, app: &mut App, request: TerminalRequest) -> io::Result<()> {
        match request {
            TerminalRequest::Redraw => {
                execute!(io::stdout(), Clear(ClearType::All))?;
                self.reset()
            }
            TerminalRequest::Suspend => {
                self.guard = None;
                suspend_process()?;
                self.resume(app)
            }
            TerminalRequest::OpenEditor(text, purpose) => {
                // The editor is to get every key.
                self.events = None;
                self.guard = None;
                let edited = edit(app.editor(), &text);
                self.resume(app)?;
                match edited {
                    Ok(text) => app.editor_closed(purpose, text),
                    Err(_) => app.editor_closed(purpose, None),
                }
                Ok(())
            }
        }
    }
}

fn send_event(app: &mut App, event: Event) {
    match event {
        Event::Key(key) => app.send(ScreenMessage::Key(key)),
        Event::Paste(text) => app.send(ScreenMessage::Paste(text)),
        Event::Mouse(mouse) => app.send(ScreenMessage::Mouse(mouse)),
        Event::Resize(width, height) => app.send(ScreenMessage::Resize(width, height)),
        Event::FocusGained | Event::FocusLost => {}
    }
}

/// Stops the process as ctrl-z does elsewhere, with the programs that it was started by or with.
fn suspend_process() -> io::Result<()> {
    #[cfg(unix)]
    {
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // The signal may reach another thread a moment later; this one must not draw before that.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Has the person edit a text; `None` if it came back as it was, or the editor failed.
fn edit(command: &str, text: &str) -> io::Result<Option<String>> {
    let mut file = tempfile::Builder::new().prefix("loom-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // As git does it: the command may have arguments of its own.
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{command} \"$@\""))
        .arg(command)
        .arg(file.path())
        .status()?;
    let edited = std::fs::read_to_string(file.path())?;
    // Editors end files with a line feed.
    let edited = if text.ends_with('\n') { edited } else { edited.trim_end_matches('\n').to_owned() };
    Ok((status.success() && edited != text).then_some(edited))
}
