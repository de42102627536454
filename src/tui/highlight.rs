//! Code in colours. A language's rules take some milliseconds to be made and its code some more to be read, so that is done
//! on a thread of its own, begun by the first code that is seen: code is shown plain first and coloured when its colours are
//! known, and neither a key nor the first screen waits for them. They are kept for the code that was shown last.
//!
//! The rules are `synoptic`'s: regular expressions that tell words, strings and comments apart, in less than half a megabyte
//! a language. Whole grammars (`syntect`) see more and take ten, of the fifty that the screen may have.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use ratatui::style::Style;
use synoptic::TokOpt;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    message::{BackgroundEvent, BackgroundReport},
    text::Piece,
    theme::{ColorRole, Palette},
};

/// Bytes of a piece of code that are looked at; what follows is plain.
const MAX_CODE_BYTES: usize = 32_000;
/// The longest line that is looked at, in bytes: what a program wrote for programs.
const MAX_LINE_BYTES: usize = 2_000;
/// How long is spent on a piece of code; what was not reached by then is plain.
const MAX_HIGHLIGHT_TIME: Duration = Duration::from_millis(400);
/// Runs that are kept, some megabytes: several times what one screen shows.
const MAX_CACHED_RUNS: usize = 200_000;
/// Bytes of code that are coloured on one screen; see [`HighlightBudget`].
const MAX_SCREEN_BYTES: usize = 48_000;

/// What the bytes of a piece of code are, run by run: lengths, and the role of each.
pub(crate) type StyledRuns = Arc<[(usize, ColorRole)]>;

/// The colours of code as far as they are known. A clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter(Arc<Mutex<HighlightCache>>);

#[derive(Debug)]
struct HighlightCache {
    cached_runs: usize,
    runs: HashMap<u64, StyledRuns>,
    pending: HashSet<u64>,
    /// The thread, once there was code.
    requests: Option<mpsc::Sender<HighlightRequest>>,
    reports: UnboundedSender<BackgroundReport>,
}

/// A piece of code whose colours are looked for.
struct HighlightRequest {
    key: u64,
    language: String,
    code: String,
}

impl Highlighter {
    /// No colours yet; `tell` hears when there are more.
    pub(crate) fn new(reports: UnboundedSender<BackgroundReport>) -> Self {
        let (runs, pending) = (HashMap::new(), HashSet::new());
        Self(Arc::new(Mutex::new(HighlightCache { cached_runs: 0, runs, pending, requests: None, reports })))
    }

    fn cache(&self) -> MutexGuard<'_, HighlightCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The colours of a piece of code, if they are known by now; else they are looked for.
    pub(crate) fn runs(&self, language: &str, code: &str) -> Option<StyledRuns> {
        let key = BuildHasherDefault::<DefaultHasher>::default().hash_one((language, code));
        let mut known = self.cache();
        if let Some(runs) = known.runs.get(&key) {
            return Some(runs.clone());
        }
        if known.pending.insert(key) {
            if known.requests.is_none() {
                known.requests = self.start_thread(known.reports.clone());
            }
            let wanted = HighlightRequest { key, language: language.to_owned(), code: code.to_owned() };
            // Without the thread code stays plain.
            let _ = known.requests.as_ref().map(|thread| thread.send(wanted));
        }
        None
    }

    /// Starts the thread; it ends when nobody wants colours any more.
    fn start_thread(&self, reports: UnboundedSender<BackgroundReport>) -> Option<mpsc::Sender<HighlightRequest>> {
        let (sender, wanted) = mpsc::channel::<HighlightRequest>();
        let known = Arc::downgrade(&self.0);
        let work = move || {
            while let Ok(first) = wanted.recv() {
                let mut done = Vec::new();
                for HighlightRequest { key, language, code } in std::iter::once(first).chain(wanted.try_iter()) {
                    let found = highlight(&language, &code);
                    let Some(known) = known.upgrade() else { return };
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    let more = found.len() + 16;
                    if known.cached_runs + more > MAX_CACHED_RUNS {
                        known.cached_runs = 0;
                        known.runs.clear();
                    }
                    known.cached_runs += more;
                    known.runs.insert(key, found);
                    done.push(key);
                }
                if reports.send(BackgroundReport(BackgroundEvent::HighlightReady)).is_err() {
                    return;
                }
                let Some(known) = known.upgrade() else { return };
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.pending.retain(|key| !done.contains(key));
            }
        };
        thread::Builder::new().name("loomtree-colours".to_owned()).spawn(work).ok().map(|_| sender)
    }

    /// Whether colours are being looked for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.cache().pending.is_empty()
    }
}

/// What is left of what one screen may ask for. Without a limit a text of thousands of pieces would push its own colours
/// out of what is kept, and ask for them for ever.
#[derive(Debug)]
pub(crate) struct HighlightBudget(Cell<usize>);

impl HighlightBudget {
    pub(crate) const fn full() -> Self {
        Self(Cell::new(MAX_SCREEN_BYTES))
    }

    /// The colours of a piece of code, if they can be paid and are known.
    pub(crate) fn spend(&self, highlighter: &Highlighter, language: &str, code: &str) -> Option<StyledRuns> {
        self.0.set(self.0.get().checked_sub(code.len().min(MAX_CODE_BYTES) + 64)?);
        highlighter.runs(language, code)
    }
}

/// Code in its colours.
pub(crate) fn styled_pieces(code: &str, runs: &StyledRuns, palette: Palette) -> Vec<Piece> {
    let base = palette.style(ColorRole::Code);
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

/// Languages as people write them, and as the rules call them: by the ends of their files' names.
const LANGUAGE_ALIASES: [(&str, &str); 31] = [
    ("rust", "rs"),
    ("python", "py"),
    ("py3", "py"),
    ("javascript", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("node", "js"),
    ("typescript", "ts"),
    ("golang", "go"),
    ("csharp", "cs"),
    ("c#", "cs"),
    ("kotlin", "kt"),
    ("haskell", "hs"),
    ("perl", "cgi"),
    ("matlab", "m"),
    ("nushell", "nu"),
    ("latex", "tex"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("ini", "toml"),
    ("cfg", "toml"),
    ("patch", "diff"),
    ("svg", "xml"),
    ("shell", "sh"),
    ("zsh", "sh"),
    ("console", "sh"),
    ("dockerfile", "sh"),
    ("make", "sh"),
    ("makefile", "sh"),
    ("scss", "css"),
];

/// Columns of a tab. The rules count none: tabs are spaces to them.
const TAB_COLUMNS: usize = 1;

/// The rules of the language of this name; none if nobody knows it.
fn language(name: &str) -> synoptic::Highlighter {
    // A name may carry more: `rust,ignore`, `{.python}`.
    let name = name.trim_matches(['{', '}', '.']).split([',', ':', ' ']).next().unwrap_or_default().to_lowercase();
    let name = LANGUAGE_ALIASES.iter().find(|(one, _)| *one == name).map_or(name.as_str(), |(_, other)| other);
    synoptic::from_extension(name, TAB_COLUMNS).unwrap_or_else(|| synoptic::Highlighter::new(TAB_COLUMNS))
}

/// How what the rules tell apart looks.
fn role(kind: &str) -> ColorRole {
    match kind {
        "comment" => ColorRole::Dim,
        "string" | "digit" | "boolean" | "character" => ColorRole::Literal,
        "keyword" | "tag" | "heading" | "header" | "macro" => ColorRole::Keyword,
        "function" | "struct" | "attribute" | "key" => ColorRole::Name,
        "insertion" => ColorRole::Good,
        "deletion" => ColorRole::Error,
        _ => ColorRole::Code,
    }
}

/// The colours of a piece of code.
pub(crate) fn highlight(name: &str, code: &str) -> StyledRuns {
    let mut rules = language(name);
    let mut runs: Vec<(usize, ColorRole)> = Vec::new();
    let mut push = |length: usize, role: ColorRole| match runs.last_mut() {
        Some((same, last)) if *last == role => *same += length,
        _ if length > 0 => runs.push((length, role)),
        _ => {}
    };
    let (began, mut used) = (Instant::now(), 0);
    for (at, line) in code.split('\n').enumerate() {
        if at > 0 {
            push(1, ColorRole::Code);
        }
        used += line.len() + 1;
        if used > MAX_CODE_BYTES || line.len() > MAX_LINE_BYTES || began.elapsed() > MAX_HIGHLIGHT_TIME {
            break;
        }
        let line = line.replace('\t', " ");
        rules.append(&line);
        for token in rules.line(at, &line) {
            match token {
                TokOpt::Some(words, kind) => push(words.len(), role(&kind)),
                TokOpt::None(words) => push(words.len(), ColorRole::Code),
            }
        }
    }
    runs.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(language: &str, code: &str) -> Vec<(String, ColorRole)> {
        let runs = highlight(language, code);
        let mut from = 0;
        let piece = |(length, role): &(usize, ColorRole)| {
            from += length;
            (code[from - length..from].trim().to_owned(), *role)
        };
        runs.iter().map(piece).filter(|(words, _)| !words.is_empty()).collect()
    }

    #[track_caller]
    fn is(language: &str, code: &str, words: &str, expected: ColorRole) {
        let roles = roles(language, code);
        let found = roles.iter().find(|(piece, _)| piece.contains(words)).map(|(_, role)| *role);
        assert_eq!(found, Some(expected), "{words} in {roles:?}");
    }

    #[test]
    fn words_of_a_language_are_told_apart() {
        let rust = "fn light(\n) -> u8 { // to sea\n\tlet lamp = \"漢字\"; 7\n}";
        is("rust", rust, "fn", ColorRole::Keyword);
        is("rust", rust, "light", ColorRole::Name);
        is("rust", rust, "// to sea", ColorRole::Dim);
        is("rust", rust, "\"漢字\"", ColorRole::Literal);
        is("rust", rust, "7", ColorRole::Literal);
        is("rust,ignore", rust, "lamp", ColorRole::Code);
        is("Python", "def f():\n  \"\"\"says\n  so\"\"\"\n  return 1", "return", ColorRole::Keyword);
        is("Python", "def f():\n  \"\"\"says\n  so\"\"\"\n  return 1", "so", ColorRole::Literal);
        is("typescript", "const a: string = 'x'", "const", ColorRole::Keyword);
        is("toml", "# about\nkey = 1", "# about", ColorRole::Dim);
        is("diff", "- one\n+ two\n", "+ two", ColorRole::Good);
        is("klingon", "if 'qapla' 7", "if 'qapla' 7", ColorRole::Code);
        is("text", "if 'qapla' 7", "if 'qapla' 7", ColorRole::Code);
    }

    #[test]
    fn the_names_of_languages_are_names_of_rules() {
        for (name, rules) in LANGUAGE_ALIASES {
            assert!(ALL.contains(&rules) && !ALL.contains(&name), "{name}: {rules}");
        }
    }

    /// Every language that there are rules for.
    const ALL: [&str; 36] = [
        "rs", "asm", "py", "rb", "cgi", "lua", "r", "go", "js", "ts", "dart", "c", "cpp", "cs", "swift", "json", "kt",
        "java", "vb", "m", "php", "scala", "pl", "hs", "css", "html", "md", "toml", "yaml", "csv", "sh", "sql", "xml",
        "nu", "tex", "diff",
    ];

    #[test]
    fn the_runs_are_the_code_whatever_it_is() {
        let pieces = [
            "\u{1b}]0;x\u{7}\"\\\u{202e} ",
            "/* `${`${`\r",
            "\0 👩‍👩‍👧 <!-- <script>",
            "\"\"\"'",
            "漢字 \"漢\\",
            "\"{}{{\" f\"{a!r}\" '",
            "\t\"\t*/ /*",
            "e\u{301}\"",
            "\u{200b}\"",
            "${`${`}",
            "\"\\",
            "\n",
            "```\n",
            "r#\"",
            "{% #{ $(",
            "\n\n  - ",
        ];
        let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut any = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            pieces[usize::from(seed.to_be_bytes()[3]) % pieces.len()]
        };
        let mut texts: Vec<String> = (0..40).map(|_| (0..12).map(|_| any()).collect()).collect();
        texts.extend(["x\n".repeat(20_000), String::new(), "\n\n".to_owned(), "é".to_owned(), "\"".repeat(5_000)]);
        for language in ALL {
            for code in &texts {
                let runs = highlight(language, code);
                let styled = styled_pieces(code, &runs, Palette::Dark);
                let whole: String = styled.iter().map(|(text, _)| text.as_str()).collect();
                assert_eq!(&whole, code, "{language}");
            }
        }
    }
}
