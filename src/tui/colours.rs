//! Code in colours. What says which words of a language are what is a large thing to load (tens of milliseconds at a
//! language's first line), so it is done on a thread of its own, begun by the first code that is seen: code is shown plain
//! first and coloured when its colours are known, and neither a key nor the first screen waits for them. They are kept for
//! the code that was shown last.
//!
//! The grammars are those that `syntect` brings; what they say of a word is brought to the few colours of the palette.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use ratatui::style::Style;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    message::{Heard, Report},
    text::Piece,
    theme::{Palette, Role},
};

/// Bytes of a piece of code that are looked at; what follows is plain.
const MOST: usize = 32_000;
/// The longest line that is looked at, in bytes: rules that look back and forth take long on what a program wrote.
const LONGEST: usize = 2_000;
/// How long is spent on a piece of code; what was not reached by then is plain.
const PATIENCE: Duration = Duration::from_millis(400);
/// Runs that are kept, some megabytes: several times what one screen shows.
const KEPT: usize = 200_000;
/// Bytes of code that are coloured on one screen; see [`Purse`].
const SCREEN: usize = 48_000;

/// What the bytes of a piece of code are, run by run: lengths, and the role of each.
pub(crate) type Runs = Arc<[(usize, Role)]>;

/// The colours of code as far as they are known. A clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct Colours(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    kept: usize,
    runs: HashMap<u64, Option<Runs>>,
    asked: HashSet<u64>,
    /// The thread, once there was code.
    wanted: Option<mpsc::Sender<Wanted>>,
    tell: UnboundedSender<Report>,
}

/// A piece of code whose colours are looked for.
struct Wanted {
    key: u64,
    language: String,
    code: String,
}

impl Colours {
    /// No colours yet; `tell` hears when there are more.
    pub(crate) fn new(tell: UnboundedSender<Report>) -> Self {
        let (runs, asked) = (HashMap::new(), HashSet::new());
        Self(Arc::new(Mutex::new(Known { kept: 0, runs, asked, wanted: None, tell })))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The colours of a piece of code, if they are known by now; else they are looked for.
    pub(crate) fn of(&self, language: &str, code: &str) -> Option<Runs> {
        let key = BuildHasherDefault::<DefaultHasher>::default().hash_one((language, code));
        let mut known = self.known();
        if let Some(runs) = known.runs.get(&key) {
            return runs.clone();
        }
        if known.asked.insert(key) {
            if known.wanted.is_none() {
                known.wanted = self.begin(known.tell.clone());
            }
            let wanted = Wanted { key, language: language.to_owned(), code: code.to_owned() };
            // Without the thread code stays plain.
            let _ = known.wanted.as_ref().map(|thread| thread.send(wanted));
        }
        None
    }

    /// Starts the thread; it ends when nobody wants colours any more.
    fn begin(&self, tell: UnboundedSender<Report>) -> Option<mpsc::Sender<Wanted>> {
        let (sender, wanted) = mpsc::channel::<Wanted>();
        let known = Arc::downgrade(&self.0);
        let work = move || {
            while let Ok(first) = wanted.recv() {
                let mut done = Vec::new();
                for Wanted { key, language, code } in std::iter::once(first).chain(wanted.try_iter()) {
                    let found = runs(&language, &code);
                    let Some(known) = known.upgrade() else { return };
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    let more = found.as_ref().map_or(0, |runs| runs.len()) + 16;
                    if known.kept + more > KEPT {
                        known.kept = 0;
                        known.runs.clear();
                    }
                    known.kept += more;
                    known.runs.insert(key, found);
                    done.push(key);
                }
                if tell.send(Report(Heard::Coloured)).is_err() {
                    return;
                }
                let Some(known) = known.upgrade() else { return };
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.asked.retain(|key| !done.contains(key));
            }
        };
        thread::Builder::new().name("loomtree-colours".to_owned()).spawn(work).ok().map(|_| sender)
    }

    /// Whether colours are being looked for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.known().asked.is_empty()
    }
}

/// What is left of what one screen may ask for. Without a limit a text of thousands of pieces would push its own colours
/// out of what is kept, and ask for them for ever.
#[derive(Debug)]
pub(crate) struct Purse(Cell<usize>);

impl Purse {
    pub(crate) const fn full() -> Self {
        Self(Cell::new(SCREEN))
    }

    /// The colours of a piece of code, if they can be paid and are known.
    pub(crate) fn spend(&self, colours: &Colours, language: &str, code: &str) -> Option<Runs> {
        self.0.set(self.0.get().checked_sub(code.len().min(MOST) + 64)?);
        colours.of(language, code)
    }
}

/// Code in its colours.
pub(crate) fn painted(code: &str, runs: &Runs, palette: Palette) -> Vec<Piece> {
    let base = palette.style(Role::Code);
    let mut from = 0;
    let mut pieces: Vec<Piece> = Vec::with_capacity(runs.len() + 1);
    let mut push = |text: Option<&str>, style: Style| pieces.push((text.unwrap_or_default().to_owned(), style));
    for (length, role) in runs.iter() {
        push(code.get(from..from + length), palette.style(*role));
        from += length;
    }
    push(code.get(from..), base);
    pieces
}

/// The languages, loaded when they are first asked for.
static LANGUAGES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Languages that are read as another one, which looks much the same.
const ALIKE: [(&str, &str); 14] = [
    ("typescript", "js"),
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("toml", "properties"),
    ("ini", "properties"),
    ("console", "sh"),
    ("zsh", "sh"),
    ("shell", "sh"),
    ("kotlin", "java"),
    ("svg", "xml"),
];

/// The language of this name, if it is known.
fn language(name: &str) -> Option<&'static SyntaxReference> {
    // A name may carry more: `rust,ignore`, `{.python}`.
    let name = name.trim_matches(['{', '}', '.']).split([',', ':', ' ']).next()?.to_lowercase();
    let name = ALIKE.iter().find(|(one, _)| *one == name).map_or(name.as_str(), |(_, other)| other);
    LANGUAGES.find_syntax_by_token(name).filter(|found| found.name != "Plain Text")
}

/// What scopes come to, the narrower before the wider; what is in none of them looks like code.
const ROLES: [(&str, Role); 15] = [
    ("comment", Role::Dim),
    ("string", Role::Literal),
    ("constant.other.symbol", Role::Code),
    ("constant", Role::Literal),
    ("keyword.operator.word", Role::Keyword),
    ("keyword.operator", Role::Code),
    ("keyword", Role::Keyword),
    ("storage", Role::Keyword),
    ("entity.name.tag", Role::Keyword),
    ("entity.name", Role::Name),
    ("entity.other.attribute-name", Role::Name),
    ("support.function", Role::Name),
    ("variable.function", Role::Name),
    ("markup.inserted", Role::Good),
    ("markup.deleted", Role::Error),
];

/// The same, as the grammars write them.
static SCOPES: LazyLock<Vec<(Scope, Role)>> =
    LazyLock::new(|| ROLES.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role))).collect());

/// What a word is that stands in these scopes, by the innermost that says something.
fn role(scopes: &[Scope]) -> Role {
    let of = |scope: &Scope| SCOPES.iter().find(|(wanted, _)| wanted.is_prefix_of(*scope)).map(|(_, role)| *role);
    scopes.iter().rev().find_map(of).unwrap_or(Role::Code)
}

/// The colours of a piece of code; `None` if nobody knows the language.
pub(crate) fn runs(name: &str, code: &str) -> Option<Runs> {
    let mut state = ParseState::new(language(name)?);
    let mut stack = ScopeStack::new();
    let mut runs: Vec<(usize, Role)> = Vec::new();
    let mut push = |length: usize, role: Role| match runs.last_mut() {
        Some((same, last)) if *last == role => *same += length,
        _ if length > 0 => runs.push((length, role)),
        _ => {}
    };
    let (began, mut used) = (Instant::now(), 0);
    for line in code.split_inclusive('\n') {
        used += line.len();
        if used > MOST || line.len() > LONGEST || began.elapsed() > PATIENCE {
            break;
        }
        // The rules go by line ends.
        let whole = if line.ends_with('\n') { line.to_owned() } else { format!("{line}\n") };
        let Ok(changes) = state.parse_line(&whole, &LANGUAGES) else { break };
        let mut from = 0;
        for (at, change) in changes {
            let at = at.min(line.len());
            push(at.saturating_sub(from), role(stack.as_slice()));
            from = from.max(at);
            if stack.apply(&change).is_err() {
                break;
            }
        }
        push(line.len() - from, role(stack.as_slice()));
    }
    Some(runs.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(language: &str, code: &str) -> Vec<(String, Role)> {
        let runs = runs(language, code).unwrap();
        let mut from = 0;
        let piece = |(length, role): &(usize, Role)| {
            from += length;
            (code[from - length..from].trim().to_owned(), *role)
        };
        runs.iter().map(piece).filter(|(words, _)| !words.is_empty()).collect()
    }

    #[track_caller]
    fn is(language: &str, code: &str, words: &str, expected: Role) {
        let roles = roles(language, code);
        let found = roles.iter().find(|(piece, _)| piece.contains(words)).map(|(_, role)| *role);
        assert_eq!(found, Some(expected), "{words} in {roles:?}");
    }

    #[test]
    fn words_of_a_language_are_told_apart() {
        let rust = "fn light(\n) -> u8 { // to sea\n    let lamp = \"漢字\"; 7\n}";
        is("rust", rust, "fn", Role::Keyword);
        is("rust", rust, "light", Role::Name);
        is("rust", rust, "// to sea", Role::Dim);
        is("rust", rust, "\"漢字\"", Role::Literal);
        is("rust", rust, "7", Role::Literal);
        is("rust,ignore", rust, "lamp", Role::Code);
        is("Python", "def f():\n  \"\"\"says\n  so\"\"\"\n  return 1", "return", Role::Keyword);
        is("ts", "const a = 'x'", "const", Role::Keyword);
        is("toml", "# about\nkey = 1", "# about", Role::Dim);
        is("diff", "- one\n+ two\n", "+ two", Role::Good);
        assert!(runs("klingon", "qapla'").is_none() && runs("", "x").is_none() && runs("text", "x").is_none());
    }

    #[test]
    fn the_runs_are_the_code_whatever_it_is() {
        let hostile = "\u{1b}]0;x\u{7}\"\\\u{202e} /* `${`${`\r\n\0 👩‍👩‍👧 <!-- <script> \"\"\"'";
        for language in ["rust", "python", "js", "html", "sh", "json", "yaml", "c++", "markdown", "sql"] {
            for code in [hostile, &hostile.repeat(400), &"x\n".repeat(40_000), "", "\n\n", "é"] {
                let runs = runs(language, code).unwrap();
                let painted = painted(code, &runs, Palette::Dark);
                let whole: String = painted.iter().map(|(text, _)| text.as_str()).collect();
                assert_eq!(whole, code, "{language}");
            }
        }
    }
}
