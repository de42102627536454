//! Tests of the screen in a pseudo-terminal: the built program is started, typed to, resized and killed, and its output
//! is read by a terminal emulator.

#![cfg(all(unix, feature = "tui"))]
// A failure here fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::cli;

use std::{
    io::{Read as _, Write},
    num::NonZero,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cli::Home;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// The longest wait for a screen, well above any real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal has at least one line.
fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// The program in a terminal.
struct Window {
    screen: Arc<Mutex<vt100::Parser>>,
    /// All bytes written to the terminal.
    bytes: Arc<Mutex<Vec<u8>>>,
    input: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Window {
    fn open(home: &Home, columns: u16, rows: u16, more: &[(&str, &str)]) -> Self {
        Self::start(&home.command(&[]), columns, rows, more)
    }

    fn start(ready: &std::process::Command, columns: u16, rows: u16, more: &[(&str, &str)]) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(ready.get_program());
        command.args(ready.get_args());
        command.env_clear();
        for (name, value) in ready.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in more {
            command.env(name, value);
        }
        command.cwd(ready.get_current_dir().unwrap());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(some(rows), some(columns), 0)));
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (shown, kept) = (Arc::clone(&screen), Arc::clone(&bytes));
        let mut output = pair.master.try_clone_reader().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().process(&buffer[..read]);
                kept.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
        });
        let input = pair.master.take_writer().unwrap();
        Self { screen, bytes, input, master: pair.master, child }
    }

    fn keys(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Returns the end of the output, escaped.
    fn last_output(&self) -> String {
        let bytes = self.bytes.lock().unwrap();
        bytes[bytes.len().saturating_sub(500)..].escape_ascii().to_string()
    }

    /// Waits until the screen satisfies a condition.
    #[track_caller]
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !wanted(&self.screen()) {
            assert!(Instant::now() < until, "never {what}:\n{}\nafter {}", self.screen(), self.last_output());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Asserts that no line is wider than the screen.
    #[track_caller]
    fn fits(&self, columns: u16) {
        for line in self.screen().lines() {
            assert!(line.chars().count() <= usize::from(columns), "{line:?}");
        }
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(some(rows), some(columns));
        self.master.resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    fn signal(&self, name: &str) {
        let line = format!("kill {name} {}", self.child.process_id().unwrap());
        assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    /// Waits until the program ends; returns the exit code.
    fn ends(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // The last output may be unread yet.
                std::thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// True if the alternate screen is shown.
    fn is_alternate(&self) -> bool {
        self.screen.lock().unwrap().screen().alternate_screen()
    }

    /// Asserts that the terminal is restored: main screen, cursor, no mouse, no bracketed paste, and its modes.
    #[track_caller]
    fn is_restored(&self) {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        assert!(!screen.alternate_screen(), "the other screen is left on");
        assert!(!screen.hide_cursor(), "the cursor is left hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is left on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }

    /// True if the terminal driver is in line mode.
    fn is_cooked(&self) -> bool {
        let modes = self.master.get_termios();
        modes.is_some_and(|modes| format!("{:?}", modes.local_flags).contains("ICANON"))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_new_user_gets_the_sample_and_quits() {
    let home = Home::new();
    let mut window = Window::open(&home, 80, 24, &[("LOOM_MODEL", "scripted:words")]);
    window.shows("tour 1/6 → follows");
    window.shows("The light at Marrow Point");
    window.keys("l");
    window.shows("· depth 1");
    window.shows("tour 2/6");
    window.keys("\x1b[C");
    window.shows("branch 1/2");
    window.keys("j");
    window.shows("branch 2/2");
    window.shows("tour 3/6");
    window.keys("h");
    window.shows("tour 4/6");
    window.keys("j");
    window.keys("i");
    window.shows("a message, or");
    window.keys("A line of mine.\r");
    window.until("saved", |screen| {
        let said = screen.contains("A line of mine.") && !screen.contains("› ");
        said && screen.trim_end().ends_with("saved")
    });
    window.shows("tour 5/6");
    window.keys(" ");
    window.shows("choose one");
    window.keys("1");
    window.shows("tour 6/6");
    window.keys("?");
    window.shows("─ keys ─");
    window.keys("q");
    window.shows("that was the tour");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    window.is_restored();
    // Other front ends see the same tree.
    assert!(home.ok(&["view"]).contains("A line of mine."));
    // The key had its effect once.
    let window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    assert!(!window.screen().contains("tour"));
}

#[test]
fn navigation_works_at_every_size() {
    for (columns, rows) in [(40, 12), (80, 24), (200, 60)] {
        let home = Home::new();
        home.ok(&["demo"]);
        let mut window = Window::open(&home, columns, rows, &[("NO_COLOR", "1"), ("LOOM_MODEL", "scripted:words")]);
        window.shows("saved");
        window.keys("0");
        window.shows("depth 0");
        window.keys("lll");
        window.shows("depth 3");
        window.keys("?");
        window.shows("─ keys ─");
        window.fits(columns);
        window.keys("q");
        window.until("closed", |screen| !screen.contains("─ keys ─"));
        window.keys(" ");
        window.shows("space takes it");
        window.fits(columns);
        window.keys("2");
        window.shows("depth 4");
        window.keys("a漢字 noted\r");
        window.shows("漢字 noted");
        window.keys("/log book");
        window.shows("─ search this tree");
        window.shows("log book");
        window.fits(columns);
        window.keys("\r");
        window.until("there", |screen| !screen.contains("─ search"));
        window.keys("0ll");
        window.shows("depth 2");
        window.keys("p");
        window.shows("Prune this node and");
        window.fits(columns);
        window.keys("y");
        window.shows("pruned · u undoes it");
        window.keys("u");
        window.shows("undone: pruned");
        window.keys("c");
        window.shows("in all,");
        window.fits(columns);
        window.keys("q");
        window.until("closed", |screen| !screen.contains("in all,"));
        window.keys("iAt this size.\r");
        window.until("said", |screen| screen.contains("At this size.") && screen.trim_end().ends_with("saved"));
        window.fits(columns);
        window.keys("q");
        assert_eq!(window.ends(), 0);
        window.is_restored();
    }
}

#[test]
fn resizing_redraws_down_to_one_cell() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    for (columns, rows) in [(40, 12), (10, 3), (1, 1), (120, 40), (80, 24)] {
        window.resize(columns, rows);
        std::thread::sleep(Duration::from_millis(30));
    }
    window.shows("saved");
    window.shows("The light at Marrow Point");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    window.is_restored();
}

#[test]
fn a_signal_restores_the_terminal() {
    let home = Home::new();
    home.ok(&["demo"]);
    for signal in ["-TERM", "-HUP", "-INT", "-QUIT"] {
        let mut window = Window::open(&home, 80, 24, &[]);
        window.shows("saved");
        assert!(!window.is_cooked());
        window.signal(signal);
        assert_ne!(window.ends(), 0);
        window.is_restored();
        assert!(window.is_cooked());
    }
}

#[test]
fn stop_and_continue_redraws() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    let before = window.bytes.lock().unwrap().len();
    window.signal("-STOP");
    window.signal("-CONT");
    window.until("drawn anew", |_| {
        let bytes = window.bytes.lock().unwrap();
        String::from_utf8_lossy(&bytes[before..]).contains("Marrow")
    });
    window.keys("q");
    assert_eq!(window.ends(), 0);
}

/// Under a shell with job control: ctrl-z returns the terminal to the shell, `fg` restores the screen.
#[test]
fn suspend_in_a_shell_restores_both_screens() {
    let home = Home::new();
    home.ok(&["demo"]);
    let loom = home.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-i").env_clear().current_dir(home.file(""));
    for (name, value) in loom.get_envs() {
        shell.env(name, value.unwrap());
    }
    let line: Vec<String> = std::iter::once(loom.get_program())
        .chain(loom.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut window = Window::start(&shell, 100, 24, &[("PS1", "ready> "), ("ENV", "/dev/null")]);
    window.shows("ready> ");
    window.keys(&format!("{}\r", line.join(" ")));
    window.shows("saved");
    assert!(window.is_alternate());
    for _ in 0..2 {
        window.keys("\x1a");
        window.until("the shell again", |screen| !window.is_alternate() && screen.trim_end().ends_with("ready>"));
        window.is_restored();
        // The shell restores line mode with echo for programs.
        window.keys("stty -a; echo asked\r");
        window.shows("\nasked");
        let modes = window.screen();
        assert!(modes.contains(" icanon") && modes.contains(" echo "), "{modes}");
        window.keys("clear; fg\r");
        window
            .until("the screen again", |screen| window.is_alternate() && screen.contains("The light at Marrow Point"));
    }
    window.keys("0");
    window.shows("· depth 0");
    window.keys("q");
    window.until("the shell at last", |screen| !window.is_alternate() && screen.trim_end().ends_with("ready>"));
    window.is_restored();
    window.keys("echo code $?\r");
    window.shows("\ncode 0");
    window.keys("exit\r");
    assert_eq!(window.ends(), 0);
}

#[test]
fn a_key_redraws_the_screen() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    // Output of another program over the screen.
    window.screen.lock().unwrap().process(b"\x1b[5;1HBroadcast message from root");
    window.shows("Broadcast");
    window.keys("\x0c");
    window.until("drawn anew", |screen| !screen.contains("Broadcast") && screen.contains("Marrow"));
    window.keys("q");
    assert_eq!(window.ends(), 0);
}

/// Runs the screen as a host, on the file that another test names.
fn screen_of_a_host(commands: loomtree::session::ToolAccess, consent: loomtree::tui::ApprovalQueue) {
    use loomtree::{
        context,
        provider::Prices,
        session::open,
        store::TreeFilter,
        tui::{KeyMap, Palette, ScreenSetup, run},
    };
    let loom = open(std::env::var_os("LOOM_OF_THE_TEST").unwrap()).unwrap();
    let tree = loom.snapshot().unwrap().trees(TreeFilter::default().archived(false).limit(1)).unwrap().remove(0);
    let ended = run(ScreenSetup {
        agent: loom.agent("owner").unwrap(),
        loom,
        workspace: "/work".to_owned(),
        tree: tree.id,
        position: tree.root.unwrap(),
        session: None,
        versions: Vec::new(),
        commands,
        model: None,
        tools: None,
        consent,
        models: Vec::new(),
        context: context::ContextOptions::default(),
        drafts: None,
        prices: Prices::default(),
        count: 1,
        palette: Palette::Plain,
        keys: KeyMap::default(),
        editor: "true".to_owned(),
        tour: false,
    });
    panic!("it should have ended by the panic: {ended:?}");
}

/// Models of a host that panic.
#[derive(Debug)]
struct Panics;

impl loomtree::session::ModelResolver for Panics {
    fn open<'a>(
        &'a self,
        _: &'a loomtree::types::Agent,
    ) -> loomtree::session::BoxFuture<'a, Result<Arc<dyn loomtree::provider::Model>, loomtree::tools::ToolError>> {
        Box::pin(async { panic!("the model fell over") })
    }
}

/// A host whose models panic on a background thread.
#[test]
#[ignore = "another test runs it in a terminal"]
fn a_host_whose_models_panic() {
    screen_of_a_host(loomtree::session::ToolAccess::new(Arc::new(Panics)), loomtree::tui::ApprovalQueue::default());
}

/// A host that waits for an answer on its own thread, and panics when the drawing thread wakes it.
#[test]
#[ignore = "another test runs it in a terminal"]
fn a_host_that_panics_when_it_is_answered() {
    use loomtree::session::{Approval as _, ApprovalRequest};
    use std::task::{Context, Wake};
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the waker fell over");
        }
    }
    let consent = loomtree::tui::ApprovalQueue::default();
    let asks = consent.clone();
    std::thread::spawn(move || {
        let [tool, subject, what, detail] = ["host", "", "may it fall over?", ""].map(str::to_owned);
        let asking = ApprovalRequest { tool, subject, summary: what, details: detail, agent: None, node: None };
        let waker = Arc::new(Panics).into();
        loop {
            // Questions need the screen.
            let mut answer = asks.ask(&asking);
            while answer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                std::thread::park();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    screen_of_a_host(loomtree::session::ToolAccess::new(Arc::new(self::Panics)), consent);
}

#[test]
fn a_panic_of_any_thread_restores_the_terminal_and_prints_its_message() {
    for (host, shown, key, message) in [
        ("a_host_whose_models_panic", "saved", " ", "the model fell over"),
        ("a_host_that_panics_when_it_is_answered", "may it fall over?", "y", "the waker fell over"),
    ] {
        let home = Home::new();
        home.ok(&["demo"]);
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        let host = format!("tui_terminal::{host}");
        program.args([host.as_str(), "--exact", "--ignored", "--nocapture"]);
        program.current_dir(home.file("")).env("LOOM_OF_THE_TEST", home.file("loom.db")).env("RUST_BACKTRACE", "0");
        let mut window = Window::start(&program, 80, 24, &[]);
        window.shows(shown);
        assert!(window.is_alternate() && !window.is_cooked());
        window.keys(key);
        // The message is on the main screen, where it stays.
        window.until("a message", |screen| !window.is_alternate() && screen.contains(message));
        assert_eq!(window.ends(), 101);
        window.is_restored();
        assert!(window.is_cooked());
        assert!(!window.screen().contains("depth 0"), "{}", window.screen());
    }
}

#[test]
fn a_kill_loses_no_saved_node() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    window.keys("iKept through a kill.\r");
    window.until("saved", |screen| {
        let said = screen.contains("Kept through a kill.") && !screen.contains("› ");
        said && screen.trim_end().ends_with("saved")
    });
    window.signal("-KILL");
    window.ends();
    assert!(home.ok(&["view"]).contains("Kept through a kill."));
}

#[test]
fn the_editor_edits_the_text() {
    let home = Home::new();
    home.ok(&["demo"]);
    let script = home.file("edit.sh");
    std::fs::write(&script, "#!/bin/sh\nprintf ' And more.' >> \"$1\"\n").unwrap();
    let editor = format!("sh {}", script.display());
    let mut window = Window::open(&home, 80, 24, &[("EDITOR", &editor)]);
    window.shows("saved");
    window.keys("E");
    window.shows("And more.");
    // Text in an input line can be edited too, and returns to that input line.
    window.keys("iBegun here.");
    window.shows("› Begun here.");
    window.keys("\x07");
    window.shows("Begun here. And more.");
    window.shows("· depth 9");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    window.is_restored();
}

#[test]
fn a_text_is_kept_if_the_users_editor_fails() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[("EDITOR", "/no/such/editor")]);
    window.shows("saved");
    window.keys("iHalf a sentence");
    window.shows("› Half a sentence");
    window.keys("\x07");
    window.shows("› Half a sentence");
    window.keys("\x1b");
    window.shows("not sent");
    window.keys("q");
    window.shows("A text is not saved");
    window.keys("y");
    assert_eq!(window.ends(), 0);
}

#[test]
fn pasted_text_is_text_and_content_never_reaches_the_terminal_as_codes() {
    let home = Home::new();
    home.start("A title \u{1b}]0;owned\u{7} and \u{9b}31m red.");
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("␛]0;owned␇");
    window.keys("\x1b[200~two\nlines q\x1b[201~");
    window.shows("lines q");
    window.keys("\r");
    window.shows("· depth 1");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    let bytes = window.bytes.lock().unwrap();
    assert!(!bytes.windows(5).any(|bytes| bytes == b"\x1b]0;o"), "a title was set");
}

#[test]
fn a_text_typed_key_by_key_is_read_completely() {
    let home = Home::new();
    home.start("A terminal that marks no paste.");
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("marks no paste");
    window.keys("i");
    // This is more than a terminal buffers for a program that does not read, so another thread writes it.
    let text = format!("{}the very end", "All of it came at once. ".repeat(800));
    let mut input = std::mem::replace(&mut window.input, Box::new(std::io::sink()));
    let writer = std::thread::spawn(move || {
        input.write_all(text.as_bytes()).unwrap();
        input
    });
    window.shows("the very end");
    window.input = writer.join().unwrap();
    window.keys("\r");
    window.shows("· depth 1");
    window.keys("q");
    assert_eq!(window.ends(), 0);
}

/// The terminal of this test draws the parts of a family and of a flag side by side, as many do; the program counts two
/// columns for each. Incremental drawing must equal a full redraw.
#[test]
fn wide_graphemes_leave_no_remains() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    for text in ["漢字 テスト e\u{301} ", "👩‍👩‍👧‍👦", " 🇩🇪 🏳️‍🌈", "\u{200d}👍🏽"]
    {
        window.keys("i");
        window.shows("a message, or");
        for c in text.chars() {
            window.keys(&c.to_string());
            std::thread::sleep(Duration::from_millis(10));
        }
        window.keys("\r");
        window.until("said", |screen| !screen.contains("› ") && screen.trim_end().ends_with("saved"));
    }
    let at_rest = |window: &Window| {
        let mut last = window.screen();
        loop {
            std::thread::sleep(Duration::from_millis(300));
            let now = window.screen();
            if now == last {
                return now;
            }
            last = now;
        }
    };
    for keys in ["h", "h", "h", "0", "w", "w", "v"] {
        window.keys(keys);
        let drawn = at_rest(&window);
        window.keys("\x0c");
        // Blank cells are equal, whatever their style.
        let spaces =
            |screen: &str| screen.replace('\u{a0}', " ").lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(spaces(&drawn), spaces(&at_rest(&window)), "after {keys}");
    }
    window.keys("q");
    assert_eq!(window.ends(), 0);
}

/// Random bytes from a seed.
#[test]
fn random_bytes_never_break_the_terminal() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..3 {
        let mut window = Window::open(&home, 80, 24, &[("EDITOR", "true"), ("LOOM_MODEL", "scripted:words")]);
        window.shows("Marrow");
        let mut bytes = Vec::new();
        while bytes.len() < 600 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let byte = seed.to_be_bytes()[3];
            // Ctrl-c would end the program; ctrl-s would stop the output for good once the terminal is in line mode.
            if !matches!(byte, 3 | 19) {
                bytes.push(byte);
            }
        }
        for part in bytes.chunks(40) {
            if window.child.try_wait().unwrap().is_none() {
                // A `q` may have ended the program.
                let _ = window.input.write_all(part);
                let _ = window.input.flush();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if window.child.try_wait().unwrap().is_none() {
            window.signal("-TERM");
        }
        let code = window.ends();
        assert_ne!(code, 101, "it panicked:\n{}", window.screen());
        window.is_restored();
        assert!(window.is_cooked());
    }
    home.ok(&["verify"]);
}

#[test]
fn without_a_terminal_a_hint_is_printed() {
    let home = Home::new();
    let ran = home.run(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("loom tree"), "{}", ran.err);
    home.ok(&["demo"]);
    let mut window = Window::open(&home, 80, 24, &[("TERM", "dumb")]);
    window.shows("loom tree");
    assert_eq!(window.ends(), 0);
}

#[test]
fn keys_and_colours_are_configurable() {
    let home = Home::new();
    home.ok(&["demo"]);
    let folder = home.file(".config/loomtree");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("keys.yaml"), "quit: Q\nroot: [r]\nanswer: []\n").unwrap();
    let mut window = Window::open(&home, 80, 24, &[("NO_COLOR", "1")]);
    window.shows("saved");
    window.keys("r");
    window.shows("depth 0");
    let colours = window.bytes.lock().unwrap().windows(5).any(|bytes| bytes == b"38;5;");
    assert!(!colours, "NO_COLOR is not heard");
    window.keys("Q");
    assert_eq!(window.ends(), 0);
    std::fs::write(folder.join("keys.yaml"), "fly: Q\n").unwrap();
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("no action \"fly\"");
    assert_eq!(window.ends(), 2);
}

/// A long import shows its progress and ends with Esc. The messages so far are whole, and another import adds the rest.
#[test]
fn an_import_is_cancelled_by_a_key() {
    let home = Home::new();
    home.ok(&["demo"]);
    let mut lines =
        String::from(r#"{"type":"session","version":3,"id":"long","timestamp":"2026-03-01T10:00:00Z","cwd":"/w"}"#);
    for number in 0..60_000 {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"m{}\"", number - 1) };
        lines.push_str(&format!(
            "\n{{\"type\":\"message\",\"id\":\"m{number}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"line {number}\"}}}}"
        ));
    }
    std::fs::write(home.file("long.jsonl"), lines).unwrap();
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("saved");
    window.keys(":");
    window.keys("import long.jsonl\r");
    window.shows("esc cancels");
    window.shows(" MB · ");
    window.keys("\u{1b}");
    window.shows("cancelled after");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    home.ok(&["verify"]);
    let dry = &home.json(&["import", "--dry-run", "long.jsonl"])[0];
    let (new, known) = (dry["nodes"].as_u64().unwrap(), dry["skipped"].as_u64().unwrap());
    assert!(new > 0 && known > 1_000 && new + known > 60_000, "{dry}");
}
