//! Runs the built program in a pseudo-terminal.

#![allow(clippy::unwrap_used, dead_code)] // what fails here fails the test

use std::{
    io::{Read as _, Write as _},
    num::NonZero,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem as _};

use super::cli::Home;

/// The program in a pseudo-terminal.
pub(crate) struct Terminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keys: Box<dyn std::io::Write + Send>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
    // Dropping the master closes the terminal.
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Terminal {
    /// Starts the program in a home.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(home, args, &[])
    }

    /// Starts the program in a home, with more variables of the environment.
    pub(crate) fn start_with(home: &Home, args: &[&str], more: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = NativePtySystem::default().openpty(size).unwrap();
        let like = home.command(args);
        let mut command = CommandBuilder::new(like.get_program());
        command.env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("TERM", "xterm");
        more.iter().for_each(|(name, value)| command.env(name, value));
        command.cwd(home.file(""));
        command.args(like.get_args());
        let child = pair.slave.spawn_command(command).unwrap();
        let (mut output, keys) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let screen = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                screen.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, shown, reader, _master: pair.master }
    }

    /// Returns all output so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until a text was printed `count` times.
    #[track_caller]
    pub(crate) fn wait(&self, wanted: &str, count: usize) {
        let begun = Instant::now();
        while self.text().matches(wanted).count() < count {
            assert!(begun.elapsed() < Duration::from_secs(20), "{wanted:?} is not shown: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a text was printed after another one.
    #[track_caller]
    pub(crate) fn wait_after(&self, first: &str, wanted: &str) {
        let begun = Instant::now();
        while !self.text().rsplit_once(first).is_some_and(|(_, rest)| rest.contains(wanted)) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{wanted:?} is not shown: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the emulated screen contains a text.
    #[track_caller]
    pub(crate) fn sees(&self, wanted: &str) {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(wanted) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{wanted:?} is not on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the text of the emulated screen.
    pub(crate) fn screen(&self) -> String {
        let [rows, columns] = [24, 80].map(|size| NonZero::new(size).unwrap());
        let mut screen = vt100::Parser::new(rows, columns, 0);
        screen.process(&self.shown.lock().unwrap());
        screen.screen().contents()
    }

    /// Presses keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the program ends and its output is read; returns its exit code. Ctrl-D must follow a shown prompt: the terminal does not
    /// keep the end of input for a line editor that starts later.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> u32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap()
                && (self.reader.is_finished() || begun.elapsed() > Duration::from_secs(10))
            {
                return status.exit_code();
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not end: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test leaves no process.
        let _ = self.child.kill();
    }
}
