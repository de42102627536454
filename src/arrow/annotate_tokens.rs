//! Tokens with what they may mean: ids distinguished from words, numbers from ranges, every word looked up.

mod adjacent_tokens;
mod fixed_phrases;
mod nominal_request;
mod numbers;
mod paraphrases;
mod typos;

pub(super) use self::fixed_phrases::pattern_word;
pub(super) use self::numbers::number;
pub(super) use self::typos::correct_typos;
use self::{adjacent_tokens::reclassify, numbers::hyphenated};
use super::{
    Relative,
    lex::{LexKind, Lexed, Span, Token as LexToken},
    lexicon::{self, Entry, FunctionWord, Noun, Prep},
    option_name::OptionName,
};
use crate::recall::TimeSpec;

/// Type of a token after lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word of the lexicon.
    Word,
    /// A word that the lexicon does not know: a name, or a word of quoted prose.
    Name,
    /// A node's id.
    Id,
    /// Two ids, as `a7x2-b3k9`; the byte where the second begins, and where the first ends.
    IdRange { ends: usize, begins: usize },
    /// A place relative to the position, as a noun phrase: `the parent`.
    Place(Relative),
    /// The label of `bookmark:"label"`, and whether it has escapes.
    BookmarkLabel { escapes: bool },
    /// The agent of `@agent` or `where the agent is`.
    AgentPosition { escapes: bool },
    /// A whole number.
    Number(u32),
    /// Two numbers, as `5-10`.
    Range(u32, u32),
    /// A string.
    Text { escapes: bool },
    /// A name with a point or a slash in it: a document, or a site.
    File,
    /// The name of `name:value`.
    OptionName(OptionName),
    /// `--name`.
    Flag,
    /// Another character.
    Mark(char),
    /// The content of a block.
    Block,
}

/// A term and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnnotatedToken {
    pub(super) kind: TokenKind,
    pub(super) entry: Entry,
    pub(super) text: Span,
    pub(super) whole: Span,
    pub(super) gap: bool,
    /// True if the word was read as another one, by a slip.
    pub(super) corrected: bool,
    /// True if it says by its form that it is an id: `[a7x2]`.
    pub(super) bracketed: bool,
}

impl AnnotatedToken {
    /// A token that is a name as long as nothing else is known of it.
    fn name(token: &LexToken) -> Self {
        Self {
            kind: TokenKind::Name,
            entry: Entry::default(),
            text: token.text,
            whole: token.whole,
            gap: token.gap,
            corrected: false,
            bracketed: false,
        }
    }

    /// True if it is this character.
    pub(super) fn is(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    /// True if it is an id, whatever that names.
    pub(super) const fn is_id(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::Id
                | TokenKind::IdRange { .. }
                | TokenKind::Place(_)
                | TokenKind::BookmarkLabel { .. }
                | TokenKind::AgentPosition { .. }
        )
    }

    /// True if it names something: an id, a string, a document, a number or an option.
    pub(super) const fn is_concrete(&self) -> bool {
        self.is_id()
            || self.is_text()
            || matches!(
                self.kind,
                TokenKind::File
                    | TokenKind::Number(_)
                    | TokenKind::Range(..)
                    | TokenKind::OptionName(_)
                    | TokenKind::Flag
            )
    }

    /// True if it is a string.
    pub(super) const fn is_text(&self) -> bool {
        matches!(self.kind, TokenKind::Text { .. } | TokenKind::Block)
    }
}

/// True if the option before says what the next word is.
fn leads_to_name(line: &str, terms: &[AnnotatedToken]) -> bool {
    let name = match terms {
        [.., name, mark] if mark.is(':') || mark.is('=') => Some(name),
        [.., name] => Some(name),
        [] => None,
    };
    let key = name.and_then(|name| match name.kind {
        TokenKind::OptionName(key) => Some(key),
        TokenKind::Flag => OptionName::named(name.text.of(line)),
        _ => None,
    });
    key.is_some_and(OptionName::is_named)
}

/// True if the first word of a line is the name of an option, and neither a verb nor what the line is about: `tokens: 200`.
fn leads_line(line: &str, name: &AnnotatedToken) -> bool {
    let counts = OptionName::named(name.text.of(line)).is_some_and(OptionName::counts);
    name.entry.base().is_none() && (name.entry.noun.is_none() || counts)
}

/// True if the place `parent` stands before a colon and the text that is written there: `reply to parent: "text"`.
fn leads_to_content(before: &AnnotatedToken, place: &AnnotatedToken, next: Option<&LexToken>, line: &str) -> bool {
    let is_written = next.is_some_and(|next| next.gap && matches!(next.kind, LexKind::Quoted { .. }));
    is_written
        && place.text.of(line) == "parent"
        && (before.entry.verb.is_some() || matches!(before.entry.prep, Some(Prep::To | Prep::On | Prep::Under)))
}

/// The option of a recall that the last term leads to, if `text` is a moment.
fn moment_option(line: &str, terms: &[AnnotatedToken], text: &str) -> Option<OptionName> {
    let key = match terms.last()?.text.of(line) {
        "since" => OptionName::From,
        "until" | "till" => OptionName::To,
        _ => return None,
    };
    text.parse::<TimeSpec>().is_ok().then_some(key)
}

/// The terms of a line.
pub(super) fn terms(line: &str, lexed: &Lexed) -> Vec<AnnotatedToken> {
    let mut terms: Vec<AnnotatedToken> = Vec::with_capacity(lexed.tokens.len() + 2);
    for (at, token) in lexed.tokens.iter().enumerate() {
        let text = token.text.of(line);
        let mut term = AnnotatedToken::name(token);
        match token.kind {
            LexKind::Quoted { escapes } => {
                term.kind = TokenKind::Text { escapes };
                // `turns="40..44"`
                if terms.last().is_some_and(|name| matches!(name.kind, TokenKind::OptionName(key) if key.counts()))
                    && let counted @ (TokenKind::Number(_) | TokenKind::Range(..)) = shape(text)
                {
                    term.kind = counted;
                }
            }
            LexKind::Ticked => annotate_backticked(text, &mut term),
            // `view a7x2 [full]`
            LexKind::Bracketed if lexicon::look_up(text).names_argument() && !could_be_id(text) => {
                word(text, &mut term)
            }
            LexKind::Bracketed => (term.kind, term.bracketed) = (TokenKind::Id, true),
            LexKind::OptionName(key) => term.kind = TokenKind::OptionName(key),
            LexKind::Flag => {
                term.kind = TokenKind::Flag;
                term.entry = lexicon::look_up(text);
            }
            LexKind::Mark(c) => term.kind = TokenKind::Mark(c),
            LexKind::Block => term.kind = TokenKind::Block,
            LexKind::Bare
                if terms.last().is_some_and(|name| name.kind == TokenKind::OptionName(OptionName::SummaryOf)) =>
            {
                word(text, &mut term);
                // A span is two ids, whatever they look like.
                if let Some((ends, begins)) = halves(text) {
                    term.kind = TokenKind::IdRange { ends, begins };
                }
            }
            // `by:tool`, `scope: tree`: the value is a name, and says nothing of the line.
            LexKind::Word | LexKind::Bare if leads_to_name(line, &terms) => {}
            // `since yesterday`, `until 2h`: a moment, and no clause.
            LexKind::Word | LexKind::Bare if let Some(key) = moment_option(line, &terms, text) => {
                if let Some(word) = terms.last_mut() {
                    (word.kind, word.entry) = (TokenKind::OptionName(key), Entry::default());
                }
            }
            LexKind::Word | LexKind::Bare => word(text, &mut term),
        }
        if names_thing(terms.last(), &term, text) {
            term.kind = TokenKind::Name;
        }
        // `limit=3 from: 2d`
        let follows_value =
            matches!(terms.as_slice(), [.., name, _, _] if matches!(name.kind, TokenKind::OptionName(_)));
        // `label: "x"`, `node = a7x2`: the name of an option, unless it is the verb or what `as` says.
        if matches!(token.kind, LexKind::Mark(':' | '='))
            && let [before @ .., name] = terms.as_mut_slice()
            && matches!(name.kind, TokenKind::Word | TokenKind::Name)
            && before.last().map_or(leads_line(line, name), |before| {
                before.entry.prep != Some(Prep::As)
                    && !matches!(before.entry.func, Some(FunctionWord::Det | FunctionWord::Adjective))
                    && (!matches!(before.kind, TokenKind::Number(_)) || follows_value)
                    && !leads_to_content(before, name, lexed.tokens.get(at + 1), line)
            })
            && let Some(key) = OptionName::named(name.text.of(line))
                .or_else(|| (term.is('=') && name.text.of(line) == "view").then_some(OptionName::What))
                .or_else(|| (term.is('=') && name.text.of(line) == "root").then_some(OptionName::From))
        {
            name.kind = TokenKind::OptionName(key);
        }
        terms.push(term);
    }
    numbers::join(line, &mut terms);
    reclassify(line, &mut terms);
    terms
}

/// True for `psql` of `the tool psql`: a name without digits, and no id.
fn names_thing(before: Option<&AnnotatedToken>, term: &AnnotatedToken, text: &str) -> bool {
    let noun = before.and_then(|before| before.entry.noun);
    matches!(noun, Some(Noun::Tool | Noun::Agent | Noun::Doc))
        && term.kind == TokenKind::Id
        && !term.bracketed
        && !text.bytes().any(|byte| byte.is_ascii_digit())
}

/// True if a word that the lexicon does not know could be an id without digits: of the letters of Crockford's base 32.
pub(super) fn could_be_id(text: &str) -> bool {
    (4..=26).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() && !b"ilou".contains(&b))
}

/// Finds out what stands between backticks: a text, or a word of the line.
fn annotate_backticked(text: &str, term: &mut AnnotatedToken) {
    if !text.contains(char::is_whitespace) {
        word(text, term);
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if term.kind != TokenKind::Name || plain {
            return;
        }
    }
    term.kind = TokenKind::Text { escapes: false };
}

/// Finds out what a word is.
fn word(text: &str, term: &mut AnnotatedToken) {
    term.entry = lexicon::look_up(text);
    if term.entry.is_known() {
        term.kind =
            term.entry.number.filter(|_| text.len() > 1).map_or(TokenKind::Word, |n| TokenKind::Number(u32::from(n)));
        return;
    }
    let bare = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
    if bare.len() < text.len() {
        term.text.end = term.text.start + bare.len();
        let entry = lexicon::look_up(bare);
        if entry.is_known() {
            (term.entry, term.kind) = (entry, TokenKind::Word);
            return;
        }
    }
    // `_a7x2_`: emphasis of Markdown
    if let Some(id) = bare.strip_prefix('_').and_then(|id| id.strip_suffix('_')).filter(|id| is_id(id)) {
        (term.kind, term.text.start) = (TokenKind::Id, term.text.start + 1);
        term.text.end = term.text.start + id.len();
        return;
    }
    // `node/a7x2`, as in a path
    if let Some(id) = bare.strip_prefix("node/").filter(|id| is_id(id)) {
        (term.kind, term.text.start) = (TokenKind::Id, term.text.start + bare.len() - id.len());
        return;
    }
    term.kind = shape(bare);
    // A long noun that is misspelt: `continuatons`.
    if term.kind == TokenKind::Name
        && bare.len() > 6
        && let Some(word) = lexicon::correct_typo(bare)
        && lexicon::look_up(word).noun.is_some()
    {
        (term.entry, term.kind, term.corrected) = (lexicon::look_up(word), TokenKind::Word, true);
    }
    // Four consonants are no word of any story.
    let consonants = |b: u8| b.is_ascii_lowercase() && !b"aeiouy".contains(&b);
    if term.kind == TokenKind::Name && bare.len() == 4 && bare.bytes().all(consonants) {
        term.kind = TokenKind::Id;
    }
}

/// The shape of a word that the lexicon does not know.
fn shape(text: &str) -> TokenKind {
    if let Some(number) = number(text) {
        return number;
    }
    if is_id(text) {
        return TokenKind::Id;
    }
    if let Some((first, begins)) = halves(text) {
        let (a, b) = (&text[..first], &text[begins..]);
        let plain = |half: &str| half.trim_start_matches(['L', 'l']).parse();
        match (plain(a), plain(b)) {
            (Ok(a), Ok(b)) => return TokenKind::Range(a, b),
            _ if text.contains('-')
                && let Some(number) = hyphenated(a, b) =>
            {
                return TokenKind::Number(number);
            }
            _ if is_id(a) && is_id(b) => return TokenKind::IdRange { ends: first, begins },
            _ => {}
        }
    }
    let name = text.rsplit('/').next().unwrap_or("");
    let pointed = name.rsplit_once('.').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_alphabetic()));
    if pointed || text.contains('/') { TokenKind::File } else { TokenKind::Name }
}

/// True if a word looks like an id: letters and digits, at least three, with a digit among them.
pub(super) fn is_id(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if !(3..=26).contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_alphanumeric()) || digits == 0 {
        return false;
    }
    let leading = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.len() {
        3 => digits < 3 && leading != 2 && text.as_bytes()[1].is_ascii_alphanumeric() && leading + digits != 4,
        _ => digits < text.len() || text.len() >= 6,
    }
}

/// True if digits alone may be an id: shorter ones count something.
pub(super) fn is_number_id(text: &str) -> bool {
    (4..=26).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Offsets of the end of the first half of a range and of the start of the second.
fn halves(text: &str) -> Option<(usize, usize)> {
    let at = text.find(['-', '–', '…', '.'])?;
    let begins =
        at + text[at..].chars().take_while(|c| matches!(c, '-' | '–' | '…' | '.')).map(char::len_utf8).sum::<usize>();
    (begins < text.len() && at > 0 && &text[at..begins] != ".").then_some((at, begins))
}
