//! Key bindings as data. One table holds each action's keys, its name in a key map file and its help. The bindings, the
//! `?` page, the file reader and the table of the reference derive from it.

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // `KEYS` describes each action
pub enum KeyAction {
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

/// Group of related keys in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGroup {
    /// Moving in the tree.
    Walk,
    /// Writing messages and generating continuations.
    Write,
    /// Changing existing nodes and branches.
    Change,
    /// Reading, searching and opening other things.
    Look,
    /// Keys of the program itself.
    Program,
}

impl KeyGroup {
    /// Returns the group's heading in the help.
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

    /// All groups, in the order of the help.
    pub const ALL: [Self; 5] = [Self::Walk, Self::Write, Self::Change, Self::Look, Self::Program];
}

/// Row of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Action of the keys.
    pub action: KeyAction,
    /// Name in a key map file.
    pub name: &'static str,
    /// Default keys, as named in a key map file.
    pub keys: &'static [&'static str],
    /// Group in the help.
    pub group: KeyGroup,
    /// Short description for the help.
    pub help: &'static str,
}

const fn bind(
    action: KeyAction,
    name: &'static str,
    keys: &'static [&'static str],
    group: KeyGroup,
    help: &'static str,
) -> Binding {
    Binding { action, name, keys, group, help }
}

/// Key bindings of the tree view.
pub const KEYS: &[Binding] = &[
    bind(KeyAction::Parent, "parent", &["left", "h"], KeyGroup::Walk, "to the node before"),
    bind(KeyAction::Child, "child", &["right", "l"], KeyGroup::Walk, "to the continuation visited last"),
    bind(KeyAction::Next, "next", &["down", "j"], KeyGroup::Walk, "to the next branch beside this one"),
    bind(KeyAction::Previous, "previous", &["up", "k"], KeyGroup::Walk, "to the branch before this one"),
    bind(KeyAction::LineDown, "line_down", &["J"], KeyGroup::Walk, "to the next line of the outline"),
    bind(KeyAction::LineUp, "line_up", &["K"], KeyGroup::Walk, "to the line before it"),
    bind(KeyAction::Root, "root", &["home", "0"], KeyGroup::Walk, "to the root"),
    bind(KeyAction::End, "end", &["end", "$"], KeyGroup::Walk, "to the end of this branch"),
    bind(KeyAction::Back, "back", &["backspace"], KeyGroup::Walk, "to where you were before"),
    bind(KeyAction::PageDown, "page_down", &["pagedown", "ctrl-f"], KeyGroup::Walk, "read on"),
    bind(KeyAction::PageUp, "page_up", &["pageup", "ctrl-b"], KeyGroup::Walk, "read back"),
    bind(KeyAction::Fold, "fold", &["z"], KeyGroup::Walk, "fold this branch, or open it"),
    bind(KeyAction::Hoist, "hoist", &["Z"], KeyGroup::Walk, "show this branch alone, or all again"),
    bind(KeyAction::Say, "say", &["i", "tab"], KeyGroup::Write, "write a line: the next node, or an → command"),
    bind(KeyAction::Generate, "generate", &["space", "enter", "g"], KeyGroup::Write, "have models continue here"),
    bind(KeyAction::Answer, "answer", &["r"], KeyGroup::Write, "have the collaborator answer, with commands"),
    bind(KeyAction::Count, "count", &["n"], KeyGroup::Write, "how many continuations; also a digit"),
    bind(KeyAction::Models, "models", &["m"], KeyGroup::Write, "pick models"),
    bind(KeyAction::Edit, "edit", &["e"], KeyGroup::Change, "edit this node"),
    bind(KeyAction::EditOutside, "edit_outside", &["E"], KeyGroup::Change, "the same in $EDITOR"),
    bind(KeyAction::Annotate, "annotate", &["a"], KeyGroup::Change, "write a note on it"),
    bind(KeyAction::Bookmark, "bookmark", &["b"], KeyGroup::Change, "bookmark it, or remove the bookmark"),
    bind(KeyAction::NextBookmark, "next_bookmark", &["B"], KeyGroup::Walk, "to the next bookmark"),
    bind(KeyAction::Bookmarks, "bookmarks", &["'"], KeyGroup::Look, "all bookmarks"),
    bind(KeyAction::Mark, "mark", &["x"], KeyGroup::Change, "mark it for merge, copy, move, diff"),
    bind(KeyAction::Merge, "merge", &["M"], KeyGroup::Change, "write a node that merges the marked ones"),
    bind(KeyAction::Split, "split", &["S"], KeyGroup::Change, "cut it in two at a place you choose"),
    bind(KeyAction::CopyHere, "copy_here", &["Y"], KeyGroup::Change, "copy the marked branch under this node"),
    bind(KeyAction::MoveHere, "move_here", &["V"], KeyGroup::Change, "move the marked branch under this node"),
    bind(KeyAction::Prune, "prune", &["p", "delete"], KeyGroup::Change, "prune this branch"),
    bind(KeyAction::Restore, "restore", &["R"], KeyGroup::Change, "pruned branches, to bring one back"),
    bind(KeyAction::Undo, "undo", &["u"], KeyGroup::Change, "undo your last change"),
    bind(KeyAction::Redo, "redo", &["ctrl-r", "U"], KeyGroup::Change, "redo it"),
    bind(KeyAction::Pin, "pin", &["P"], KeyGroup::Change, "pin it in the context, or unpin it"),
    bind(KeyAction::Exclude, "exclude", &["X"], KeyGroup::Change, "exclude it from what models read, or include it"),
    bind(KeyAction::Version, "version", &[">"], KeyGroup::Walk, "to the next version of this node"),
    bind(KeyAction::VersionBack, "version_back", &["<"], KeyGroup::Walk, "to the previous version"),
    bind(KeyAction::Search, "search", &["/"], KeyGroup::Look, "search as you type; tab: path, tree, everything"),
    bind(KeyAction::Diff, "diff", &["d"], KeyGroup::Look, "compare with the marked branch, or the one before"),
    bind(KeyAction::Context, "context", &["c"], KeyGroup::Look, "what a model would get, and what it costs"),
    bind(KeyAction::Trees, "trees", &["t"], KeyGroup::Look, "trees"),
    bind(KeyAction::Sessions, "sessions", &["s"], KeyGroup::Look, "sessions"),
    bind(KeyAction::Documents, "documents", &["D"], KeyGroup::Look, "documents"),
    bind(KeyAction::Command, "command", &[":"], KeyGroup::Program, "a command, such as :chat, :title, :new"),
    bind(KeyAction::Reading, "reading", &["v"], KeyGroup::Look, "read as conversation, or as prose"),
    bind(KeyAction::Layout, "layout", &["w"], KeyGroup::Look, "tree and text, text alone, tree alone"),
    bind(KeyAction::Help, "help", &["?", "f1"], KeyGroup::Program, "every key"),
    bind(KeyAction::Cancel, "cancel", &["esc"], KeyGroup::Program, "stop what runs, close what is open"),
    bind(KeyAction::Redraw, "redraw", &["ctrl-l"], KeyGroup::Program, "redraw the screen"),
    bind(KeyAction::Suspend, "suspend", &["ctrl-z"], KeyGroup::Program, "back to the shell; fg comes back"),
    bind(KeyAction::Quit, "quit", &["q", "ctrl-c"], KeyGroup::Program, "leave; asks if a text is not saved"),
];

/// Key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord(KeyCode, KeyModifiers);

impl Chord {
    /// Converts a key event. Shift is dropped for characters, whose case shows it.
    pub(crate) fn from_event(event: &KeyEvent) -> Self {
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

    /// Parses a key name: `j`, `ctrl-r`, `alt-enter`, `pagedown`, `f1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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

/// Returns the character of a one-character text.
fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Mapping from keys to actions.
#[derive(Debug, Clone)]
pub struct KeyMap {
    chords: HashMap<Chord, KeyAction>,
    /// Key names of each action, for the help.
    names: HashMap<KeyAction, Vec<String>>,
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
    /// Parses a key map file: YAML, one action a line with a key or list of keys. Actions that the file does not name
    /// keep their default keys, except keys that it binds to other actions.
    ///
    /// # Errors
    /// A sentence that describes the first mistake.
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
            let binding = binding.ok_or_else(|| format!("there is no action {name:?}; the reference lists them"))?;
            let keys = match keys {
                Keys::One(key) => vec![key],
                Keys::Many(keys) => keys,
            };
            for key in &keys {
                let chord = Chord::parse(key).ok_or_else(|| format!("{name}: {key:?} is no key"))?;
                if let Some(other) = taken.insert(chord, name.clone()).filter(|other| *other != name) {
                    return Err(format!("{key:?} is both {other} and {name}"));
                }
            }
            map.bind(binding.action, keys);
        }
        Ok(map)
    }

    fn bind(&mut self, action: KeyAction, keys: Vec<String>) {
        self.chords.retain(|_, bound| *bound != action);
        for key in &keys {
            if let Some(chord) = Chord::parse(key) {
                self.chords.insert(chord, action);
                for names in self.names.values_mut() {
                    names.retain(|name| Chord::parse(name) != Some(chord));
                }
            }
        }
        self.names.insert(action, keys);
    }

    /// Returns the action of a key event, if it is bound.
    pub(crate) fn action(&self, event: &KeyEvent) -> Option<KeyAction> {
        self.chords.get(&Chord::from_event(event)).copied()
    }

    /// Returns the key names of an action.
    pub(crate) fn names(&self, action: KeyAction) -> &[String] {
        self.names.get(&action).map_or(&[], Vec::as_slice)
    }

    /// Label of an action's first key, for hints.
    pub(crate) fn hint(&self, action: KeyAction) -> &str {
        self.names(action).first().map_or("?", |name| key_label(name))
    }
}

/// Label of a key for display.
pub(crate) fn key_label(name: &str) -> &str {
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
    fn every_key_of_the_table_parses_and_has_one_action() {
        let (mut names, mut chords) = (Vec::new(), HashMap::new());
        for binding in KEYS {
            assert!(!names.contains(&binding.name), "{} occurs twice", binding.name);
            names.push(binding.name);
            for key in binding.keys {
                let chord = Chord::parse(key).unwrap_or_else(|| panic!("{key} does not parse"));
                let before = chords.insert(chord, binding.name);
                assert!(before.is_none(), "{key} is both {before:?} and {}", binding.name);
            }
        }
    }

    #[test]
    fn a_file_changes_keys_and_its_mistakes_are_reported() {
        let map = KeyMap::read("parent: a\nchild: [right, ctrl-p]\n").unwrap();
        let key = |c, held| KeyEvent::new(KeyCode::Char(c), held);
        assert_eq!(map.action(&key('a', KeyModifiers::NONE)), Some(KeyAction::Parent));
        assert_eq!(map.action(&key('h', KeyModifiers::NONE)), None);
        assert_eq!(map.action(&key('p', KeyModifiers::CONTROL)), Some(KeyAction::Child));
        assert!(map.names(KeyAction::Annotate).is_empty(), "its key was taken");
        assert_eq!(map.action(&key('p', KeyModifiers::NONE)), Some(KeyAction::Prune));
        for (text, said) in [
            ("fly: x", "no action \"fly\"; the reference lists them"),
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
    fn shift_is_part_of_the_letter() {
        let map = KeyMap::default();
        let shifted = KeyEvent::new(KeyCode::Char('z'), KeyModifiers::SHIFT);
        assert_eq!(map.action(&shifted), Some(KeyAction::Hoist));
        assert_eq!(map.action(&KeyEvent::new(KeyCode::Char('Z'), KeyModifiers::SHIFT)), Some(KeyAction::Hoist));
    }
}
