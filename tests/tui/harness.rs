//! Test harness: a screen of any size on a sample tree, with a scripted model.

use std::{sync::Arc, time::Duration};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use loomtree::{
    context,
    id::NodeId,
    provider::{Model, Prices, Scripted, ScriptedReply},
    session::ToolAccess,
    tui::{App, ApprovalQueue, KeyMap, Palette, ScreenMessage, ScreenSetup},
    types::Mode,
};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};
use tokio::runtime::Runtime;

use crate::play::Play;

/// Time limit for background work; exceeding it fails the test.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Harness {
    pub(crate) play: Play,
    pub(crate) app: App,
    terminal: Terminal<TestBackend>,
    runtime: TestRuntime,
}

/// Runtime that is dropped without waiting, so that a failing test ends at once.
struct TestRuntime(Option<Runtime>);

impl Drop for TestRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Harness {
    /// Screen of 80 columns by 24 rows, at the branch point of the sample tree.
    pub(crate) fn new() -> Self {
        Self::at(Play::new(), |play| play.marie, 80, 24, [])
    }

    pub(crate) fn with_size(width: u16, height: u16) -> Self {
        Self::at(Play::new(), |play| play.marie, width, height, [])
    }

    /// Screen of 100 columns by 24 rows whose model gives these replies.
    pub(crate) fn with_replies(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::at(Play::new(), |play| play.marie, 100, 24, replies)
    }

    pub(crate) fn buffer_tree() -> Self {
        Self::at(Play::of(Mode::Buffer), |play| play.marie, 80, 24, [])
    }

    pub(crate) fn at(
        play: Play,
        at: impl Fn(&Play) -> NodeId,
        width: u16,
        height: u16,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        Self::with_setup(play, at, (width, height), replies, |_| {})
    }

    /// Screen with a changed setup.
    pub(crate) fn with_setup(
        play: Play,
        at: impl Fn(&Play) -> NodeId,
        (width, height): (u16, u16),
        replies: impl IntoIterator<Item = ScriptedReply>,
        change: impl FnOnce(&mut ScreenSetup),
    ) -> Self {
        let runtime = Runtime::new().unwrap();
        let model: Arc<dyn Model> = Arc::new(Scripted::new(replies).with_reference("test:scripted"));
        let mut setup = ScreenSetup {
            loom: play.loom.clone(),
            agent: play.loom.agent("owner").unwrap(),
            workspace: "/work".to_owned(),
            tree: play.tree,
            position: at(&play),
            session: None,
            versions: Vec::new(),
            commands: ToolAccess::new(Arc::new(model)),
            model: Some("test:scripted".to_owned()),
            models: vec!["fast".to_owned(), "slow".to_owned()],
            context: context::ContextOptions::default(),
            tools: None,
            consent: ApprovalQueue::default(),
            drafts: None,
            prices: serde_json::from_str::<Prices>(r#"{"test:*": {"input": 1000, "output": 1}}"#).unwrap(),
            count: 3,
            palette: Palette::Plain,
            keys: KeyMap::default(),
            editor: "true".to_owned(),
            tour: false,
        };
        change(&mut setup);
        let app = App::new(setup, runtime.handle().clone(), width, height).unwrap();
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut harness = Self { play, app, terminal, runtime: TestRuntime(Some(runtime)) };
        harness.settle();
        harness
    }

    /// Waits until all background work is done.
    pub(crate) fn settle(&mut self) {
        assert!(self.app.settle(SETTLE_TIMEOUT), "the screen never settles:\n{}", self.screen());
    }

    /// Presses a key, named as in a key map file, and waits for its effects.
    pub(crate) fn press(&mut self, key: &str) -> &mut Self {
        self.send(key);
        self.settle();
        self
    }

    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.press(key);
        }
        self
    }

    /// Presses a key without waiting.
    pub(crate) fn send(&mut self, key: &str) -> &mut Self {
        self.app.send(ScreenMessage::Key(event(key)));
        self
    }

    /// Types a text and waits for its effects.
    pub(crate) fn type_text(&mut self, text: &str) -> &mut Self {
        self.type_queued(text);
        self.settle();
        self
    }

    /// Types a text and waits after each character.
    pub(crate) fn type_slowly(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.app.send(ScreenMessage::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
            self.settle();
        }
        self
    }

    /// Types a text without waiting.
    pub(crate) fn type_queued(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.app.send(ScreenMessage::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits, with the clock running, until a predicate holds for the screen.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> &mut Self {
        for _ in 0..4_000 {
            self.app.tick();
            self.app.process_reports();
            if wanted(&self.screen()) {
                return self;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("timed out waiting for {what:?}:\n{}", self.screen());
    }

    /// Sends a mouse event at a text and waits for its effects.
    #[track_caller]
    pub(crate) fn mouse(&mut self, kind: MouseEventKind, text: &str) -> &mut Self {
        let (column, row) = self.position_of(text);
        self.app.send(ScreenMessage::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self.settle();
        self
    }

    #[track_caller]
    pub(crate) fn click(&mut self, text: &str) -> &mut Self {
        self.mouse(MouseEventKind::Down(MouseButton::Left), text)
    }

    /// Column and row of a text's first occurrence on the screen.
    #[track_caller]
    fn position_of(&mut self, text: &str) -> (u16, u16) {
        let screen = self.screen();
        let found = screen.lines().enumerate().find_map(|(y, line)| Some((line.find(text)?, y, line)));
        let Some((at, y, line)) = found else { panic!("{text:?} is not on the screen:\n{screen}") };
        let x = unicode_width::UnicodeWidthStr::width(&line[..at]);
        (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
    }

    /// Sends a numbered mouse or paste event at some position.
    pub(crate) fn random_input(&mut self, number: usize, place: usize) {
        let area = *self.terminal.backend().buffer().area();
        let at = |most: u16, step: usize| u16::try_from(place * step % usize::from(most.max(1))).unwrap();
        let (column, row) = (at(area.width, 17), at(area.height, 7));
        let left = MouseButton::Left;
        self.app.send(match number {
            0 => ScreenMessage::Paste("漢字\r\n\u{1b}[31m two".to_owned()),
            number => {
                let kinds = [
                    MouseEventKind::Down(left),
                    MouseEventKind::Up(left),
                    MouseEventKind::ScrollUp,
                    MouseEventKind::ScrollDown,
                    MouseEventKind::Drag(left),
                ];
                let kind = kinds[number - 1];
                ScreenMessage::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
            }
        });
        self.settle();
    }

    /// Text of the screen.
    pub(crate) fn screen(&mut self) -> String {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
        text(self.terminal.backend().buffer())
    }

    /// Style of a text's first occurrence.
    #[track_caller]
    pub(crate) fn style_of(&mut self, text: &str) -> ratatui::style::Style {
        let place = self.position_of(text);
        self.terminal.backend().buffer()[place].style()
    }

    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on the screen:\n{screen}");
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on the screen:\n{screen}");
        self
    }

    /// Text of the screen with dots in place of short ids.
    pub(crate) fn masked(&mut self) -> String {
        let mut screen = self.screen();
        for node in self.play.loom.snapshot().unwrap().nodes_after(self.play.tree, 0, 10_000).unwrap() {
            let id = node.local.as_str();
            screen = screen.replace(id, &".".repeat(id.len()));
        }
        screen
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.app.send(ScreenMessage::Resize(width, height));
        self.terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        self.settle();
        self
    }

    /// Short id of the cursor's node, from the status line.
    pub(crate) fn cursor(&mut self) -> String {
        let screen = self.screen();
        screen.lines().last().unwrap().split_whitespace().next().unwrap_or_default().to_owned()
    }
}

/// Converts cells to lines of text.
pub(crate) fn text(buffer: &Buffer) -> String {
    let area = buffer.area();
    let mut lines = Vec::new();
    for y in area.top()..area.bottom() {
        let mut line = String::new();
        let mut skip = 0;
        for x in area.left()..area.right() {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// Converts a key name to an event.
pub(crate) fn event(key: &str) -> KeyEvent {
    let (held, name) = match key.rsplit_once('-') {
        Some((held, name)) if !name.is_empty() && !held.is_empty() => (held, name),
        _ => ("", key),
    };
    let mut modifiers = KeyModifiers::NONE;
    for held in held.split('-').filter(|held| !held.is_empty()) {
        modifiers |= match held {
            "ctrl" => KeyModifiers::CONTROL,
            "alt" => KeyModifiers::ALT,
            "shift" => KeyModifiers::SHIFT,
            other => panic!("{other} is nothing that is held"),
        };
    }
    let code = match name {
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "f1" => KeyCode::F(1),
        other => KeyCode::Char(other.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}
