//! Terminal: setup, restoration and the event loop. No other module touches it.

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
#[cfg(unix)]
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
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

/// Minimum time between two frames that only streamed text requests.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// Time that a frame waits for the screen query of a key.
const MAX_SCREEN_WAIT: Duration = Duration::from_millis(8);
/// Events processed before a frame, at most.
const MAX_EVENTS_PER_FRAME: usize = 256;
/// Time to poll for a pending event. With zero, crossterm returns no event, not even one that it has read.
const POLL_TIMEOUT: Duration = Duration::from_micros(50);
/// Time to wait at the end for pending writes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Error of the terminal interface.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// Reading or writing the terminal failed.
    #[error("the terminal: {0}")]
    Io(#[from] io::Error),
    /// The application could not be opened.
    #[error("{0}")]
    Open(String),
    /// A signal ended the process; everything is saved and the terminal restored.
    #[error("ended by a signal")]
    Signal,
}

/// True while the terminal is in raw mode. Panic hook and guard both restore it, once.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);
/// Held while a frame is written, and after a panic of another thread until exit: a frame would overwrite the restored
/// terminal.
static DRAW_LOCK: Mutex<()> = Mutex::new(());

/// Restores the terminal when dropped.
struct RawModeGuard;

impl RawModeGuard {
    fn acquire() -> io::Result<Self> {
        TERMINAL_TAKEN.store(true, Ordering::SeqCst);
        // From here on the guard restores the terminal.
        let guard = Self;
        terminal::enable_raw_mode()?;
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste,
            // Graphemes drawn wider than computed must not wrap.
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
        // Errors are ignored: the terminal may be gone. A panicking thread must not take standard output's lock, which
        // the drawing thread may hold, so this writes past it.
        let mut bytes = Vec::new();
        let _ = execute!(bytes, EnableLineWrap, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = write_unlocked(&bytes);
        let _ = terminal::disable_raw_mode();
    }
}

/// Writes to standard output without its lock.
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

/// Installs a panic hook that restores the terminal first, so that the message stays visible.
fn install_panic_hook() {
    let before = panic::take_hook();
    let screen = std::thread::current().id();
    panic::set_hook(Box::new(move |what| {
        let held = TERMINAL_TAKEN.load(Ordering::SeqCst);
        let elsewhere = std::thread::current().id() != screen;
        // Waits for a frame in progress, but not for ever: the terminal may be blocked.
        let wait = |_: &u32| std::thread::sleep(Duration::from_millis(5));
        let _quiet = (0..40).filter(|_| elsewhere).inspect(wait).find_map(|_| DRAW_LOCK.try_lock().ok());
        restore_terminal();
        before(what);
        // Without a background thread the screen would hang.
        if held && elsewhere {
            std::process::exit(101);
        }
    }));
}

/// Runs the screen until the user quits.
///
/// Standard input and output have to be a terminal.
///
/// # Errors
/// If the terminal cannot be used, nothing can be shown, or a signal ends the process.
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

/// Creates a terminal that is assumed to be empty.
fn blank() -> io::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())))
}

struct Screen {
    guard: Option<RawModeGuard>,
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    events: Option<EventStream>,
    wide_rows: WideGraphemeRows,
}

/// Signals that end or resume the process.
struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 5],
    #[cfg(windows)]
    close: tokio::signal::windows::CtrlClose,
}

/// Reaction to a signal.
enum SignalAction {
    Exit,
    #[cfg(unix)]
    Continue,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            // tokio has no name for SIGCONT; rustix knows its number on each system.
            let resume = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
            let kinds =
                [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), resume];
            let [terminate, hangup, interrupt, quit, resume] = kinds.map(signal);
            Ok(Self { signals: [terminate?, hangup?, interrupt?, quit?, resume?] })
        }
        #[cfg(windows)]
        Ok(Self { close: tokio::signal::windows::ctrl_close()? })
    }

    /// Drops pending SIGINT and SIGQUIT, which were sent to another program on the terminal.
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
        #[cfg(windows)]
        {
            self.close.recv().await;
            SignalAction::Exit
        }
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

    /// Marks the terminal as empty, so that everything is drawn. (`Terminal::clear` would query the cursor and wait for
    /// the reply.)
    fn reset(&mut self) -> io::Result<()> {
        self.terminal = blank()?;
        self.wide_rows = WideGraphemeRows::default();
        Ok(())
    }

    /// Takes over the terminal again and redraws everything.
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

    /// Draws changed cells, and rewrites rows with ambiguous graphemes.
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

    /// Runs the event loop.
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
                    // Pending events share one frame: a text pasted key by key, or a burst on a slow connection.
                    while let Some(event) = next.take() {
                        resized |= matches!(event, Event::Resize(..));
                        send_event(app, event);
                        events_taken += 1;
                        // Reads past the stream, whose waker would be lost: a pending event is read at once.
                        if events_taken < MAX_EVENTS_PER_FRAME && !app.needs_terminal() && event::poll(POLL_TIMEOUT)? {
                            next = Some(event::read()?);
                        }
                    }
                    if resized {
                        // Intermediate sizes may have been missed and have cleared cells.
                        execute!(io::stdout(), Clear(ClearType::All))?;
                        self.reset()?;
                    }
                    // An earlier frame would only delay the result of the key.
                    let soon = Instant::now() + if app.is_loading() { MAX_SCREEN_WAIT } else { Duration::ZERO };
                    due = Some(due.map_or(soon, |due| due.min(soon)));
                }
                report = app.next_report() => {
                    // Streamed text arrives faster than users read; results of keys are drawn at once.
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
                    #[cfg(unix)]
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
                // The editor must receive every key.
                self.events = None;
                self.guard = None;
                let edited = edit(app.editor(), &text);
                self.resume(app)?;
                app.editor_closed(purpose, edited.map_err(|error| format!("the editor failed: {error}")));
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

/// Suspends the process group, as ctrl-z does in other programs.
fn suspend_process() -> io::Result<()> {
    #[cfg(unix)]
    {
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // Another thread may get the signal a moment later; this one must not draw before.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Opens a text in the user's editor. `None` if it is unchanged.
fn edit(command: &str, text: &str) -> io::Result<Option<String>> {
    let mut file = tempfile::Builder::new().prefix("loom-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // As in git, the command may contain arguments.
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{command} \"$@\""))
        .arg(command)
        .arg(file.path())
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{command}: {status}")));
    }
    let edited = std::fs::read_to_string(file.path())?;
    // Editors append a line feed.
    let edited = if text.ends_with('\n') { edited } else { edited.trim_end_matches('\n').to_owned() };
    Ok((edited != text).then_some(edited))
}
