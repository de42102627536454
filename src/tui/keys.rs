//! Keys as data. One table says which keys there are, what they are called in a key map file, and what they do; the
//! bindings, the help that `?` shows, the file's reader and the guide are all made of it.

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the table below says of each what it does
pub enum Action {
    Parent,
    Child,
    Next,
    Previous,
    LineDown,
    LineUp,
    Root,
    End,
    Back,
    PageDown,
    PageUp,
    Fold,
    Hoist,
    Say,
    Generate,
    Answer,
    Count,
    Models,
    Edit,
    EditOutside,
    Annotate,
    Bookmark,
    NextBookmark,
    Bookmarks,
    Mark,
    Merge,
    Split,
    CopyHere,
    MoveHere,
    Prune,
    Restore,
    Undo,
    Redo,
    Pin,
    Exclude,
    Version,
    VersionBack,
    Search,
    Diff,
    Context,
    Trees,
    Sessions,
    Documents,
    Command,
    Reading,
    Layout,
    Help,
    Cancel,
    Redraw,
    Suspend,
    Quit,
}

/// What keys of one kind have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Getting about.
    Walk,
    /// Saying and generating.
    Write,
    /// Changing what is there.
    Change,
    /// Looking at other things.
    Look,
    /// The program.
    Program,
}

impl Group {
    /// Its heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Walk => "Walk",
            Self::Write => "Write",
            Self::Change => "Change",
            Self::Look => "Look",
            Self::Program => "Program",
        }
    }

    /// All of them, in the order in which help shows them.
    pub const ALL: [Self; 5] = [Self::Walk, Self::Write, Self::Change, Self::Look, Self::Program];
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// What happens.
    pub action: Action,
    /// How a key map file calls it.
    pub name: &'static str,
    /// The keys that do it unless a file says otherwise.
    pub keys: &'static [&'static str],
    /// Where it stands in the help.
    pub group: Group,
    /// What it does, in a few words.
    pub help: &'static str,
}

const fn bind(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    group: Group,
    help: &'static str,
) -> Binding {
    Binding { action, name, keys, group, help }
}

/// Every key of the tree.
pub const KEYS: &[Binding] = &[
    bind(Action::Parent, "parent", &["left", "h"], Group::Walk, "to the node before"),
    bind(Action::Child, "child", &["right", "l"], Group::Walk, "to the continuation visited last"),
    bind(Action::Next, "next", &["down", "j"], Group::Walk, "to the next branch beside this one"),
    bind(Action::Previous, "previous", &["up", "k"], Group::Walk, "to the branch before this one"),
    bind(Action::LineDown, "line_down", &["J"], Group::Walk, "to the next line of the outline"),
    bind(Action::LineUp, "line_up", &["K"], Group::Walk, "to the line before it"),
    bind(Action::Root, "root", &["home", "0"], Group::Walk, "to the root"),
    bind(Action::End, "end", &["end", "$"], Group::Walk, "to the end of this branch"),
    bind(Action::Back, "back", &["backspace"], Group::Walk, "to where you were before"),
    bind(Action::PageDown, "page_down", &["pagedown", "ctrl-f"], Group::Walk, "read on"),
    bind(Action::PageUp, "page_up", &["pageup", "ctrl-b"], Group::Walk, "read back"),
    bind(Action::Fold, "fold", &["z"], Group::Walk, "fold this branch, or open it"),
    bind(Action::Hoist, "hoist", &["Z"], Group::Walk, "show this branch alone, or all again"),
    bind(Action::Say, "say", &["i", "tab"], Group::Write, "write a line: the next node, or an → command"),
    bind(Action::Generate, "generate", &["space", "enter", "g"], Group::Write, "have models continue here"),
    bind(Action::Answer, "answer", &["r"], Group::Write, "have the collaborator answer, with commands"),
    bind(Action::Count, "count", &["n"], Group::Write, "how many continuations; also a digit"),
    bind(Action::Models, "models", &["m"], Group::Write, "pick models"),
    bind(Action::Edit, "edit", &["e"], Group::Change, "edit this node"),
    bind(Action::EditOutside, "edit_outside", &["E"], Group::Change, "the same in $EDITOR"),
    bind(Action::Annotate, "annotate", &["a"], Group::Change, "write a note on it"),
    bind(Action::Bookmark, "bookmark", &["b"], Group::Change, "bookmark it, or take the mark off"),
    bind(Action::NextBookmark, "next_bookmark", &["B"], Group::Walk, "to the next bookmark"),
    bind(Action::Bookmarks, "bookmarks", &["'"], Group::Look, "all bookmarks"),
    bind(Action::Mark, "mark", &["x"], Group::Change, "mark it for merge, copy, move, diff"),
    bind(Action::Merge, "merge", &["M"], Group::Change, "write a node that draws on the marked ones"),
    bind(Action::Split, "split", &["S"], Group::Change, "cut it in two at a place you choose"),
    bind(Action::CopyHere, "copy_here", &["Y"], Group::Change, "copy the marked branch under this node"),
    bind(Action::MoveHere, "move_here", &["V"], Group::Change, "move the marked branch under this node"),
    bind(Action::Prune, "prune", &["p", "delete"], Group::Change, "prune this branch"),
    bind(Action::Restore, "restore", &["R"], Group::Change, "pruned branches, to bring one back"),
    bind(Action::Undo, "undo", &["u"], Group::Change, "take your last change back"),
    bind(Action::Redo, "redo", &["ctrl-r", "U"], Group::Change, "do it again"),
    bind(Action::Pin, "pin", &["P"], Group::Change, "pin it in the context, or let go of it"),
    bind(Action::Exclude, "exclude", &["X"], Group::Change, "keep it out of what models read, or not"),
    bind(Action::Version, "version", &[">"], Group::Walk, "to the next wording of this place"),
    bind(Action::VersionBack, "version_back", &["<"], Group::Walk, "to the wording before"),
    bind(Action::Search, "search", &["/"], Group::Look, "search as you type; tab: path, tree, everything"),
    bind(Action::Diff, "diff", &["d"], Group::Look, "compare with the marked branch, or the one before"),
    bind(Action::Context, "context", &["c"], Group::Look, "what a model would get, and what it costs"),
    bind(Action::Trees, "trees", &["t"], Group::Look, "trees"),
    bind(Action::Sessions, "sessions", &["s"], Group::Look, "sessions"),
    bind(Action::Documents, "documents", &["D"], Group::Look, "documents"),
    bind(Action::Command, "command", &[":"], Group::Program, "a command, such as :chat, :title, :new"),
    bind(Action::Reading, "reading", &["v"], Group::Look, "read as conversation, or as prose"),
    bind(Action::Layout, "layout", &["w"], Group::Look, "tree and text, text alone, tree alone"),
    bind(Action::Help, "help", &["?", "f1"], Group::Program, "every key"),
    bind(Action::Cancel, "cancel", &["esc"], Group::Program, "stop what runs, close what is open"),
    bind(Action::Redraw, "redraw", &["ctrl-l"], Group::Program, "draw the screen anew"),
    bind(Action::Suspend, "suspend", &["ctrl-z"], Group::Program, "back to the shell; fg comes back"),
    bind(Action::Quit, "quit", &["q", "ctrl-c"], Group::Program, "leave; everything is saved"),
];

/// A key with what is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord(KeyCode, KeyModifiers);

impl Chord {
    /// The chord of an event. Shift says nothing where the character tells already.
    pub(crate) fn of(event: &KeyEvent) -> Self {
        let held = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        match event.code {
            KeyCode::Char(c) => {
                let held = held - KeyModifiers::SHIFT;
                let shifted = event.modifiers.contains(KeyModifiers::SHIFT) && held.is_empty();
                Self(KeyCode::Char(if shifted { c.to_ascii_uppercase() } else { c }), held)
            }
            KeyCode::BackTab => Self(KeyCode::BackTab, held - KeyModifiers::SHIFT),
            code => Self(code, held),
        }
    }

    /// Reads what a key map file or the table calls a key: `j`, `ctrl-r`, `alt-enter`, `pagedown`, `f1`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut held = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let prefix =
                [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];
            let Some((word, modifier)) =
                prefix.into_iter().find(|(word, _)| rest.starts_with(word) && rest.len() > word.len())
            else {
                break;
            };
            held |= modifier;
            rest = &rest[word.len()..];
        }
        let code = match rest {
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
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "backspace" => KeyCode::Backspace,
            "delete" => KeyCode::Delete,
            "insert" => KeyCode::Insert,
            _ => match (rest.strip_prefix('f').and_then(|n| n.parse().ok()), single(rest)) {
                (Some(number @ 1..=24), _) => KeyCode::F(number),
                (_, Some(c)) => KeyCode::Char(c),
                _ => return None,
            },
        };
        Some(Self(code, held))
    }
}

/// The one character of a text.
fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Which key does what.
#[derive(Debug, Clone)]
pub struct KeyMap {
    chords: HashMap<Chord, Action>,
    /// What each action's keys are called, for the help.
    names: HashMap<Action, Vec<String>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        let mut map = Self { chords: HashMap::new(), names: HashMap::new() };
        for binding in KEYS {
            map.bind(binding.action, binding.keys.iter().map(|key| (*key).to_owned()).collect());
        }
        map
    }
}

impl KeyMap {
    /// Reads a key map file: YAML, an action's name and its key or list of keys a line. An action that is not named keeps
    /// its keys, but for those that another one takes.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Keys {
            One(String),
            Many(Vec<String>),
        }
        let wanted: Option<HashMap<String, Keys>> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        let mut wanted: Vec<_> = wanted.unwrap_or_default().into_iter().collect();
        wanted.sort_by(|one, other| one.0.cmp(&other.0));
        let mut map = Self::default();
        let mut taken: HashMap<Chord, String> = HashMap::new();
        for (name, keys) in wanted {
            let binding = KEYS.iter().find(|binding| binding.name == name);
            let binding = binding.ok_or_else(|| format!("there is no action {name:?}; `?` and the guide list them"))?;
            let keys = match keys {
                Keys::One(key) => vec![key],
                Keys::Many(keys) => keys,
            };
            for key in &keys {
                let chord = Chord::read(key).ok_or_else(|| format!("{name}: {key:?} is no key"))?;
                if let Some(other) = taken.insert(chord, name.clone()).filter(|other| *other != name) {
                    return Err(format!("{key:?} is both {other} and {name}"));
                }
            }
            map.bind(binding.action, keys);
        }
        Ok(map)
    }

    fn bind(&mut self, action: Action, keys: Vec<String>) {
        self.chords.retain(|_, bound| *bound != action);
        for key in &keys {
            if let Some(chord) = Chord::read(key) {
                self.chords.insert(chord, action);
                for names in self.names.values_mut() {
                    names.retain(|name| Chord::read(name) != Some(chord));
                }
            }
        }
        self.names.insert(action, keys);
    }

    /// What a key does.
    pub(crate) fn action(&self, event: &KeyEvent) -> Option<Action> {
        self.chords.get(&Chord::of(event)).copied()
    }

    /// What an action's keys are called.
    pub(crate) fn names(&self, action: Action) -> &[String] {
        self.names.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The key to name where a hint is given.
    pub(crate) fn hint(&self, action: Action) -> &str {
        self.names(action).first().map_or("?", |name| shown(name))
    }
}

/// How a key is written where people read it.
pub(crate) fn shown(name: &str) -> &str {
    match name {
        "left" => "←",
        "right" => "→",
        "up" => "↑",
        "down" => "↓",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_a_key_and_has_one_meaning() {
        let (mut names, mut chords) = (Vec::new(), HashMap::new());
        for binding in KEYS {
            assert!(!names.contains(&binding.name), "{} stands twice", binding.name);
            names.push(binding.name);
            for key in binding.keys {
                let chord = Chord::read(key).unwrap_or_else(|| panic!("{key} is no key"));
                let before = chords.insert(chord, binding.name);
                assert!(before.is_none(), "{key} is both {before:?} and {}", binding.name);
            }
        }
    }

    #[test]
    fn a_file_changes_keys_and_its_mistakes_are_told() {
        let map = KeyMap::read("parent: a\nchild: [right, ctrl-p]\n").unwrap();
        let key = |c, held| KeyEvent::new(KeyCode::Char(c), held);
        assert_eq!(map.action(&key('a', KeyModifiers::NONE)), Some(Action::Parent));
        assert_eq!(map.action(&key('h', KeyModifiers::NONE)), None);
        assert_eq!(map.action(&key('p', KeyModifiers::CONTROL)), Some(Action::Child));
        assert!(map.names(Action::Annotate).is_empty(), "its key was taken");
        assert_eq!(map.action(&key('p', KeyModifiers::NONE)), Some(Action::Prune));
        for (text, said) in [
            ("fly: x", "no action \"fly\""),
            ("parent: hyper-x", "no key"),
            ("parent: x\nchild: x", "both child and parent"),
            ("- a", "invalid type"),
        ] {
            let error = KeyMap::read(text).unwrap_err();
            assert!(error.contains(said), "{error:?}");
        }
        assert!(KeyMap::read("# nothing\n").is_ok());
    }

    #[test]
    fn shift_is_told_by_the_letter() {
        let map = KeyMap::default();
        let shifted = KeyEvent::new(KeyCode::Char('z'), KeyModifiers::SHIFT);
        assert_eq!(map.action(&shifted), Some(Action::Hoist));
        assert_eq!(map.action(&KeyEvent::new(KeyCode::Char('Z'), KeyModifiers::SHIFT)), Some(Action::Hoist));
    }
}
