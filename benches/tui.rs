//! The screen on a large tree, as one table: `cargo bench --bench tui`. `-- --nodes N` sets its size. Everything is done
//! but the terminal: what is read, laid out and drawn into cells.
// A bench prints its table, stops at what goes wrong, and divides counts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

mod common;

use std::{
    io::{Read as _, Write as _},
    path::Path,
    process::Command,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use crossterm::event::{KeyCode, KeyEvent};
use loomtree::{
    context,
    id::{NodeId, TreeId},
    provider::{Model, Prices, Scripted},
    session::ToolAccess,
    tui::{App, ApprovalQueue, KeyMap, Palette, ScreenMessage, ScreenSetup},
};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use ratatui::{Terminal, backend::TestBackend};
use tokio::runtime::Runtime;

/// A large screen.
const SIZE: (u16, u16) = (200, 60);
const KEYS: usize = 400;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["child", path, tree, at] = words.as_slice() {
        return child(path.as_ref(), tree.parse().unwrap(), at.parse().unwrap());
    }
    let at = words.iter().position(|word| *word == "--nodes");
    table(at.and_then(|at| words.get(at + 1)).map_or(1_000_000, |number| number.parse().unwrap()));
}

fn row(what: &str, measured: &str, limit: &str, ok: bool) {
    println!("| {what:<44} | {measured:<34} | {limit:<8} | {:<6} |", if ok { "ok" } else { "MISSED" });
}

fn table(nodes: usize) {
    let folder = common::memory_folder();
    let path = folder.path().join("loom.db");
    let (tree, tip) = {
        let owner = common::owner(&path, 1);
        let (tree, _, tip) = common::grow(&owner, nodes);
        (tree, tip)
    };
    println!("A tree of {nodes} nodes on a screen of {} × {}.\n", SIZE.0, SIZE.1);
    println!("| {:<44} | {:<34} | {:<8} | {:<6} |", "what", "measured", "limit", "");
    println!("|{}|{}|{}|{}|", "-".repeat(46), "-".repeat(36), "-".repeat(10), "-".repeat(8));
    let this = std::env::current_exe().unwrap();
    let output =
        Command::new(this).args(["child"]).arg(&path).args([tree.to_string(), tip.to_string()]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    print!("{said}");
    in_a_terminal(&path, tree, tip);
}

/// The built program in a pseudo-terminal: from the start to the first screen, from a key to what it draws, and at rest.
fn in_a_terminal(path: &Path, tree: TreeId, at: NodeId) {
    // The session that the program goes on with.
    let owner = common::owner(path, 3);
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    owner.start_session(&workspace.to_string_lossy(), tree, Some(at)).unwrap();
    drop(owner);
    let pair = native_pty_system().openpty(PtySize { rows: SIZE.1, cols: SIZE.0, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_loom"));
    command.args(["--db", &path.to_string_lossy()]);
    command.env("TERM", "xterm-256color");
    command.env("HOME", &workspace);
    command.cwd(&workspace);
    let mut output = pair.master.try_clone_reader().unwrap();
    let (sender, bytes) = mpsc::channel();
    let began = Instant::now();
    let mut child = pair.slave.spawn_command(command).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(read @ 1..) = output.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    // Until the terminal is quiet; when the first words came is what counts.
    let first = |began: Instant| -> Duration {
        let mut at = None;
        while let Ok(bytes) = bytes.recv_timeout(Duration::from_millis(if at.is_none() { 5_000 } else { 150 })) {
            if bytes.len() > 30 {
                at.get_or_insert(began.elapsed());
            }
        }
        at.unwrap_or(Duration::from_secs(5))
    };
    let shown = first(began);
    row("program to first screen, in a terminal", &millis(&[shown]), "50 ms", shown.as_millis() < 50);
    let mut input = pair.master.take_writer().unwrap();
    let keys: Vec<Duration> = (0..40)
        .map(|_| {
            let began = Instant::now();
            input.write_all(b"h").unwrap();
            input.flush().unwrap();
            first(began)
        })
        .collect();
    row("key to screen, in a terminal", &millis(&keys), "16 ms", worst(&keys).as_millis() < 16);
    if let Some(before) = worked(child.process_id()) {
        std::thread::sleep(Duration::from_secs(5));
        let after = worked(child.process_id()).unwrap_or(before);
        let share = (after - before) / 5.0 * 100.0;
        row("at rest, of one core", &format!("{share:.2} %"), "none", share < 0.5);
    }
    child.kill().unwrap();
    let _ = child.wait();
}

/// Seconds that a process has computed, where the system says.
fn worked(process: Option<u32>) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process?)).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn setup(path: &Path, tree: TreeId, at: NodeId) -> ScreenSetup {
    let owner = common::owner(path, 2);
    let loom = owner.loom().clone();
    let model: Arc<dyn Model> = Arc::new(Scripted::new([]));
    ScreenSetup {
        agent: loom.agent("owner").unwrap(),
        loom,
        workspace: "/bench".to_owned(),
        tree,
        position: at,
        session: None,
        versions: Vec::new(),
        commands: ToolAccess::new(Arc::new(model)),
        model: None,
        models: Vec::new(),
        context: context::ContextOptions::default(),
        tools: None,
        consent: ApprovalQueue::default(),
        drafts: None,
        prices: Prices::default(),
        count: 3,
        palette: Palette::Dark,
        keys: KeyMap::default(),
        editor: String::new(),
        tour: false,
    }
}

/// A process of its own, so that its memory is its own.
fn child(path: &Path, tree: TreeId, at: NodeId) {
    let runtime = Runtime::new().unwrap();
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    let began = Instant::now();
    let mut app = App::new(setup(path, tree, at), runtime.handle().clone(), SIZE.0, SIZE.1).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    let first = began.elapsed();
    app.settle(Duration::from_secs(30));
    row("open to first frame", &millis(&[first]), "50 ms", first.as_millis() < 50);

    let frames = timed(|_| {
        terminal.draw(|frame| app.draw(frame)).unwrap();
    });
    row("a frame", &millis(&frames), "4 ms", worst(&frames).as_millis() < 4);

    for (what, key, key_back) in [
        ("a key to the frame that shows it: parent", KeyCode::Left, KeyCode::Left),
        ("sibling, child", KeyCode::Right, KeyCode::Down),
        ("line of the outline", KeyCode::Char('K'), KeyCode::Char('K')),
    ] {
        let keys = timed(|number| {
            let code = if number % 2 == 0 { key } else { key_back };
            app.send(ScreenMessage::Key(KeyEvent::from(code)));
            app.settle(Duration::from_secs(30));
            terminal.draw(|frame| app.draw(frame)).unwrap();
        });
        row(what, &millis(&keys), "16 ms", worst(&keys).as_millis() < 16);
    }
    // A key that is held: all are sent before the first is answered.
    let began = Instant::now();
    for _ in 0..KEYS {
        app.send(ScreenMessage::Key(KeyEvent::from(KeyCode::Left)));
        app.process_reports();
        terminal.draw(|frame| app.draw(frame)).unwrap();
    }
    app.settle(Duration::from_secs(30));
    let each = began.elapsed() / u32::try_from(KEYS).unwrap();
    row("a key that is held, each", &millis(&[each]), "16 ms", each.as_millis() < 16);
    if let Some(megabytes) = resident() {
        row("memory, resident", &format!("{megabytes:.1} MB"), "50 MB", megabytes < 50.0);
    }
}

fn timed(mut run: impl FnMut(usize)) -> Vec<Duration> {
    (0..KEYS)
        .map(|number| {
            let began = Instant::now();
            run(number);
            began.elapsed()
        })
        .collect()
}

/// The 99th of a hundred: one in a hundred may have met another program.
fn worst(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

fn millis(times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    match sorted.as_slice() {
        [one] => format!("{:.2} ms", ms(*one)),
        many => format!("{:.2} ms, 99th of 100 {:.2} ms", ms(many[many.len() / 2]), ms(worst(many))),
    }
}

/// Megabytes of this process in memory, where the system says.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
