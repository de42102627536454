//! The screen in a real pseudo-terminal: the built program is started, typed to, resized and killed, and what it draws is
//! read as a terminal reads it.

#![cfg(all(unix, feature = "tui"))]
// What fails here fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/cli.rs"]
mod cli;

use std::{
    io::{Read as _, Write},
    num::NonZero,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cli::Home;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long a screen is waited for; nothing takes so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// No terminal has no lines.
fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// The program in a terminal.
struct Window {
    screen: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written to the terminal.
    bytes: Arc<Mutex<Vec<u8>>>,
    input: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Window {
    fn open(home: &Home, columns: u16, rows: u16, more: &[(&str, &str)]) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let ready = home.command(&[]);
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

    /// Waits until the screen is as wanted.
    #[track_caller]
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !wanted(&self.screen()) {
            assert!(Instant::now() < until, "never {what}:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(some(rows), some(columns));
        self.master.resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for the end, and returns the exit code.
    fn ends(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last is still to be read.
                std::thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The terminal is as it was: the main screen, a cursor, no mouse, no bracketed paste, and its modes.
    #[track_caller]
    fn is_restored(&self) {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        assert!(!screen.alternate_screen(), "the other screen is left on");
        assert!(!screen.hide_cursor(), "the cursor is left hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is left on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }

    /// Whether the terminal driver gives lines as they are edited, not keys.
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
fn a_new_user_walks_the_sample_and_leaves() {
    let home = Home::new();
    let mut window = Window::open(&home, 80, 24, &[]);
    window.shows("tour 1/6");
    window.shows("The light at Marrow Point");
    window.keys("l");
    window.shows("· depth 1");
    window.keys("\x1b[C");
    window.shows("branch 1/2");
    window.keys("j");
    window.shows("branch 2/2");
    window.keys("iA line of mine.\r");
    window.until("saved", |screen| {
        let said = screen.contains("A line of mine.") && !screen.contains("› ");
        said && screen.trim_end().ends_with("saved")
    });
    window.keys("q");
    assert_eq!(window.ends(), 0);
    window.is_restored();
    // It is there for every other face too.
    assert!(home.ok(&["view"]).contains("A line of mine."));
}

#[test]
fn the_same_walk_at_every_size() {
    let home = Home::new();
    home.ok(&["demo"]);
    for (columns, rows) in [(40, 12), (80, 24), (200, 60)] {
        let mut window = Window::open(&home, columns, rows, &[("NO_COLOR", "1")]);
        window.shows("saved");
        window.keys("0");
        window.shows("depth 0");
        window.keys("lll");
        window.shows("depth 3");
        window.keys("?");
        window.shows("─ keys ─");
        window.keys("\x1b");
        window.until("closed", |screen| !screen.contains("─ keys ─"));
        for line in window.screen().lines() {
            assert!(line.chars().count() <= usize::from(columns), "{line:?}");
        }
        window.keys("q");
        assert_eq!(window.ends(), 0);
    }
}

#[test]
fn resizing_draws_anew_down_to_almost_nothing() {
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
fn a_signal_gives_the_terminal_back() {
    let home = Home::new();
    home.ok(&["demo"]);
    for signal in ["-TERM", "-HUP"] {
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
fn stopped_and_continued_it_draws_anew() {
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

#[test]
fn a_kill_loses_nothing_that_was_shown_as_saved() {
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
fn the_editor_gets_the_text_and_gives_it_back() {
    let home = Home::new();
    home.ok(&["demo"]);
    let script = home.file("edit.sh");
    std::fs::write(&script, "#!/bin/sh\nprintf ' And more.' >> \"$1\"\n").unwrap();
    let editor = format!("sh {}", script.display());
    let mut window = Window::open(&home, 80, 24, &[("EDITOR", &editor)]);
    window.shows("saved");
    window.keys("E");
    window.shows("And more.");
    window.keys("q");
    assert_eq!(window.ends(), 0);
    window.is_restored();
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
fn without_a_terminal_it_says_what_to_use() {
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
fn keys_and_colours_are_the_persons() {
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
