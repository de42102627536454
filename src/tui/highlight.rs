//! Syntax highlighting. Building a language's rules and applying them takes milliseconds, so a separate thread does
//! both; it starts with the first code block. Code is drawn plain first and colored once its highlighting is ready, so
//! neither keys nor the first frame wait. Results of recent code are cached.
//!
//! The rules are `synoptic`'s: regular expressions for keywords, strings and comments, under half a megabyte a
//! language. Full grammars (`syntect`) are more exact but take ten of the screen's fifty megabytes.

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
    line_wrap::Piece,
    message::{BackgroundEvent, BackgroundReport},
    theme::{ColorRole, Palette},
};

/// Bytes of a code block that are highlighted; the rest stays plain.
const MAX_CODE_BYTES: usize = 32_000;
/// Bytes of the longest line that is highlighted; longer ones are usually generated.
const MAX_LINE_BYTES: usize = 2_000;
/// Time limit for one code block; the rest stays plain.
const MAX_HIGHLIGHT_TIME: Duration = Duration::from_millis(400);
/// Cached runs, a few megabytes: several times the need of one screen.
const MAX_CACHED_RUNS: usize = 200_000;
/// Bytes of code highlighted for one screen; see [`HighlightBudget`].
const MAX_SCREEN_BYTES: usize = 48_000;

/// Color roles of a code block: lengths in bytes, each with its role.
pub(crate) type StyledRuns = Arc<[(usize, ColorRole)]>;

/// Highlighting thread and its cache. Clones share both.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter(Arc<Mutex<HighlightCache>>);

#[derive(Debug)]
struct HighlightCache {
    cached_runs: usize,
    runs: HashMap<u64, StyledRuns>,
    pending: HashSet<u64>,
    /// Queue of the thread; `None` until the first code block.
    requests: Option<mpsc::Sender<HighlightRequest>>,
    reports: UnboundedSender<BackgroundReport>,
}

/// Code block to highlight.
struct HighlightRequest {
    key: u64,
    language: String,
    code: String,
}

impl Highlighter {
    /// Creates an empty cache. `reports` receives an event after each batch.
    pub(crate) fn new(reports: UnboundedSender<BackgroundReport>) -> Self {
        let (runs, pending) = (HashMap::new(), HashSet::new());
        Self(Arc::new(Mutex::new(HighlightCache { cached_runs: 0, runs, pending, requests: None, reports })))
    }

    fn cache(&self) -> MutexGuard<'_, HighlightCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached runs of a code block, or requests them and returns `None`.
    pub(crate) fn runs(&self, language: &str, code: &str) -> Option<StyledRuns> {
        let key = BuildHasherDefault::<DefaultHasher>::default().hash_one((language, code));
        let mut cache = self.cache();
        if let Some(runs) = cache.runs.get(&key) {
            return Some(runs.clone());
        }
        if cache.pending.insert(key) {
            if cache.requests.is_none() {
                cache.requests = self.start_thread(cache.reports.clone());
            }
            let request = HighlightRequest { key, language: language.to_owned(), code: code.to_owned() };
            // Without the thread, code stays plain.
            let _ = cache.requests.as_ref().map(|requests| requests.send(request));
        }
        None
    }

    /// Starts the thread; it ends with the last clone of the highlighter.
    fn start_thread(&self, reports: UnboundedSender<BackgroundReport>) -> Option<mpsc::Sender<HighlightRequest>> {
        let (sender, requests) = mpsc::channel::<HighlightRequest>();
        let cache = Arc::downgrade(&self.0);
        let work = move || {
            while let Ok(first) = requests.recv() {
                let mut done = Vec::new();
                for HighlightRequest { key, language, code } in std::iter::once(first).chain(requests.try_iter()) {
                    let found = highlight(&language, &code);
                    let Some(cache) = cache.upgrade() else { return };
                    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
                    let cost = found.len() + 16;
                    if cache.cached_runs + cost > MAX_CACHED_RUNS {
                        cache.cached_runs = 0;
                        cache.runs.clear();
                    }
                    cache.cached_runs += cost;
                    cache.runs.insert(key, found);
                    done.push(key);
                }
                if reports.send(BackgroundReport(BackgroundEvent::HighlightReady)).is_err() {
                    return;
                }
                let Some(cache) = cache.upgrade() else { return };
                let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
                cache.pending.retain(|key| !done.contains(key));
            }
        };
        thread::Builder::new().name("loomtree-highlight".to_owned()).spawn(work).ok().map(|_| sender)
    }

    /// Returns whether highlighting requests are pending.
    pub(crate) fn is_busy(&self) -> bool {
        !self.cache().pending.is_empty()
    }
}

/// Remaining bytes of code that one screen may request. Without it, a text with thousands of code blocks would evict
/// its own cache entries and request them again for ever.
#[derive(Debug)]
pub(crate) struct HighlightBudget(Cell<usize>);

impl HighlightBudget {
    pub(crate) const fn full() -> Self {
        Self(Cell::new(MAX_SCREEN_BYTES))
    }

    /// Returns the runs of a code block if the budget allows and they are cached.
    pub(crate) fn spend(&self, highlighter: &Highlighter, language: &str, code: &str) -> Option<StyledRuns> {
        self.0.set(self.0.get().checked_sub(code.len().min(MAX_CODE_BYTES) + 64)?);
        highlighter.runs(language, code)
    }
}

/// Splits code into pieces in the style of their role.
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

/// Common language names with the file extension that `synoptic` knows.
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

/// Columns of a tab. Tabs are replaced by one space before the rules run.
const TAB_COLUMNS: usize = 1;

/// Returns the rules of a language; an empty set if it is unknown.
fn language(name: &str) -> synoptic::Highlighter {
    // A name may have attributes: `rust,ignore`, `{.python}`.
    let name = name.trim_matches(['{', '}', '.']).split([',', ':', ' ']).next().unwrap_or_default().to_lowercase();
    let name = LANGUAGE_ALIASES.iter().find(|(one, _)| *one == name).map_or(name.as_str(), |(_, other)| other);
    synoptic::from_extension(name, TAB_COLUMNS).unwrap_or_else(|| synoptic::Highlighter::new(TAB_COLUMNS))
}

/// Color role of a token kind.
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

/// Computes the runs of a code block.
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
    fn tokens_get_their_color_roles() {
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
    fn aliases_name_languages_with_rules() {
        for (name, rules) in LANGUAGE_ALIASES {
            assert!(ALL.contains(&rules) && !ALL.contains(&name), "{name}: {rules}");
        }
    }

    /// Extensions that `synoptic` has rules for.
    const ALL: [&str; 36] = [
        "rs", "asm", "py", "rb", "cgi", "lua", "r", "go", "js", "ts", "dart", "c", "cpp", "cs", "swift", "json", "kt",
        "java", "vb", "m", "php", "scala", "pl", "hs", "css", "html", "md", "toml", "yaml", "csv", "sh", "sql", "xml",
        "nu", "tex", "diff",
    ];

    #[test]
    fn runs_cover_any_code_exactly() {
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
        texts.extend(["x\n".repeat(2_000), String::new(), "\n\n".to_owned(), "é".to_owned(), "\"".repeat(1_000)]);
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
