//! From a line's characters to tokens, each with the bytes that it spans: `grammar/arrow.ebnf` in nom.
//!
//! Any text gives tokens, or an error with a span where a double quote is never closed or a block has no end. Nothing
//! here backtracks further than a token, and what searches for a closing quote remembers that there is none, so time is
//! linear in the line's length. Words are not understood here; see [`super::lexicon`].

mod quotes;

use nom::{
    IResult, Parser as _,
    branch::alt,
    bytes::complete::{tag, take_while, take_while1},
    character::complete::{anychar, char, one_of, satisfy},
    combinator::{not, opt, peek, recognize, value, verify},
    sequence::{delimited, terminated},
};

use self::quotes::{UnclosedQuotes, double, quoted};
use super::option_name::OptionName;

/// The characters that are read as an arrow; ASCII `->` is one, too.
pub(crate) const ARROWS: [char; 5] = ['→', '➔', '➜', '⟶', '⇒'];

/// A part of a line, in bytes: the first, and the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// The part of `line` that is meant.
    #[must_use]
    #[inline]
    pub fn of(self, line: &str) -> &str {
        line.get(self.start..self.end).unwrap_or("")
    }
}

/// Lexical type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexKind {
    /// Letters and digits, joined by what joins them inside a word.
    Word,
    /// A string; the span is without the quotes.
    Quoted {
        /// True if backslashes escape characters in it.
        escapes: bool,
    },
    /// A string between backticks: a string, or an id or a word formatted as code.
    Ticked,
    /// `[a7x2]`; the span is without the brackets.
    Bracketed,
    /// The name of `name:value`; the value is the next token.
    OptionName(OptionName),
    /// A value that is no string: everything up to a space.
    Bare,
    /// `--full`, `-n`; the span is without the dashes.
    Flag,
    /// Any other character.
    Mark(char),
    /// The content of a `<<<` block.
    Block,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: LexKind,
    /// Text without quotes or brackets.
    pub(super) text: Span,
    /// The whole of it, quotes and brackets too.
    pub(super) whole: Span,
    /// True if white space stands before it.
    pub(super) gap: bool,
}

/// A line cut into tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    /// Offset of the trailing comment, or of the end of the line.
    pub(super) end: usize,
}

/// Error of the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexError {
    /// A quote that nothing closes.
    UnterminatedQuote(Span),
    /// A block without its `>>>`.
    UnterminatedBlock(Span),
}

type Step<'a, T> = IResult<&'a str, T>;

/// A token before its place is known: the kind, and the text inside the line.
type Raw<'a> = (LexKind, &'a str);

/// Production `line`: cuts `input` into tokens.
pub(super) fn line(input: &str) -> Result<Lexed, LexError> {
    let unclosed = UnclosedQuotes::default();
    let mut lexed = Lexed { tokens: Vec::with_capacity(24), end: input.len() };
    let at = |rest: &str| input.len() - rest.len();
    let mut rest = input;
    let mut spaced = true;
    if let Ok((next, _)) = gap(rest) {
        rest = next;
    }
    if let Ok((next, _)) = marker(rest) {
        rest = next;
    }
    if let Ok((next, _)) = arrow(rest) {
        rest = next;
    }
    while !rest.is_empty() {
        if let Ok((next, _)) = gap(rest) {
            (rest, spaced) = (next, true);
            continue;
        }
        if opening(rest).is_ok() {
            let (_, (kind, text)) =
                block(rest).map_err(|_| LexError::UnterminatedBlock(Span { start: at(rest), end: at(rest) + 3 }))?;
            lexed.end = at(rest);
            lexed.tokens.push(placed(kind, text, input, at(rest), input.len(), spaced));
            return Ok(lexed);
        }
        if spaced && comment(rest).is_ok() {
            lexed.end = at(rest);
            // A comment lasts to the end of the line.
            return Ok(lexed);
        }
        let start = at(rest);
        if let Ok((next, (name, (kind, text)))) = pair(rest, &unclosed) {
            let end = start + name.1.len() + 1;
            lexed.tokens.push(placed(name.0, name.1, input, start, end, spaced));
            lexed.tokens.push(placed(kind, text, input, end, at(next), false));
            (rest, spaced) = (next, false);
            continue;
        }
        let inside_word = !spaced && lexed.tokens.last().is_some_and(|token| token.kind == LexKind::Word);
        match if inside_word && rest.starts_with(['\'', '’', '‘']) {
            mark(rest)
        } else {
            item(rest, spaced, &unclosed)
        } {
            Ok((next, (kind, text))) => {
                lexed.tokens.push(placed(kind, text, input, start, at(next), spaced));
                rest = next;
            }
            // Every character is at least a mark, so only a double quote that nothing closes comes here.
            Err(_) => return Err(LexError::UnterminatedQuote(Span { start, end: input.len() })),
        }
        spaced = false;
    }
    Ok(lexed)
}

/// A token of `input` whose text is the slice `text` of it.
fn placed(kind: LexKind, text: &str, input: &str, start: usize, end: usize, gap: bool) -> Token {
    let first = text.as_ptr() as usize - input.as_ptr() as usize;
    Token { kind, text: Span { start: first, end: first + text.len() }, whole: Span { start, end }, gap }
}

/// Production `marker`: what a list puts before its items.
pub(super) fn marker(input: &str) -> Step<'_, &str> {
    let number = recognize((take_while1(|c: char| c.is_ascii_digit()), one_of(".)")));
    terminated(alt((recognize(one_of("-*+•")), number)), gap).parse(input)
}

/// Production `arrow`: the arrow, and what is taken for it.
pub(super) fn arrow(input: &str) -> Step<'_, &str> {
    alt((recognize(one_of(&ARROWS[..])), tag("->"))).parse(input)
}

/// Production `gap`: white space, and what has no width.
fn gap(input: &str) -> Step<'_, &str> {
    take_while1(is_gap)(input)
}

/// White space, and invisible characters: marks of direction, joiners, a byte order mark, a variation selector.
fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Production `item`: anything but a comment and a pair, which the line looks for itself.
fn item<'a>(input: &'a str, spaced: bool, unclosed: &UnclosedQuotes) -> Step<'a, Raw<'a>> {
    match input.chars().next() {
        Some('"' | '“' | '„' | '”' | '«' | '»' | '‹' | '›' | '「' | '\'' | '‘' | '`') => {
            if let Ok(done) = quoted(input, unclosed) {
                return Ok(done);
            }
            if matches!(input.chars().next(), Some('"' | '“')) { double(input) } else { mark(input) }
        }
        Some('[' | '<') => alt((bracketed, mark)).parse(input),
        Some('-') if spaced => alt((flag, mark)).parse(input),
        _ => alt((word, mark)).parse(input),
    }
}

/// Production `comment`: a remark behind the command.
fn comment(input: &str) -> Step<'_, &str> {
    recognize((alt((tag("#"), tag("//"))), verify(anychar, |c| is_gap(*c) && *c != '\n'), take_while(|c| c != '\n')))
        .parse(input)
}

/// Production `bracketed`. An id in angle brackets needs a digit; without one it is a placeholder.
fn bracketed(input: &str) -> Step<'_, Raw<'_>> {
    let square = delimited(char('['), id, char(']'));
    let has_digit = |text: &&str| text.contains(|c: char| c.is_ascii_digit());
    let angled = verify(delimited(char('<'), id, char('>')), move |text: &&str| has_digit(text));
    let (rest, text) = alt((square, angled)).parse(input)?;
    Ok((rest, (LexKind::Bracketed, text)))
}

/// Production `id`: at least two of production `alnum`.
fn id(input: &str) -> Step<'_, &str> {
    verify(take_while1(|c: char| c.is_ascii_alphanumeric()), |text: &str| (2..=26).contains(&text.len())).parse(input)
}

/// Production `pair`: an option's name, and its value.
fn pair<'a>(input: &'a str, unclosed: &UnclosedQuotes) -> Step<'a, (Raw<'a>, Raw<'a>)> {
    let (rest, (key, name)) = option(input)?;
    let (rest, _) = one_of(":=").parse(rest)?;
    // `to=tree:"t"`: the value is an option of its own.
    not((option, one_of(":="), one_of("\"“"))).parse(rest)?;
    let (rest, given) = value_of(rest, unclosed)?;
    Ok((rest, ((LexKind::OptionName(key), name), given)))
}

/// Production `option`: a name that [`OptionName`] knows.
fn option(input: &str) -> Step<'_, (OptionName, &str)> {
    peek(satisfy(|c| c.is_ascii_alphabetic())).parse(input)?;
    let mut letters = take_while1(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_'));
    let (rest, name) = letters(input)?;
    let named = || OptionName::named(name).or_else(|| OptionName::corrected(name));
    match rest.starts_with([':', '=']).then(named).flatten() {
        Some(key) => Ok((rest, (key, name))),
        _ => Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Tag))),
    }
}

/// Production `value`.
fn value_of<'a>(input: &'a str, unclosed: &UnclosedQuotes) -> Step<'a, Raw<'a>> {
    match input.chars().next() {
        Some('"' | '“' | '„' | '”' | '«' | '»' | '‹' | '›' | '「' | '\'' | '‘' | '`') => {
            quoted(input, unclosed)
        }
        Some('[' | '<') => bracketed(input),
        _ => bare(input),
    }
}

/// Production `bare`: a run of production `barechar`, without a point at its end.
fn bare(input: &str) -> Step<'_, Raw<'_>> {
    let (_, text) = take_while1(is_bare)(input)?;
    let kept = text.trim_end_matches(['.', '!', '?']);
    let text = if kept.is_empty() { text } else { kept };
    Ok((&input[text.len()..], (LexKind::Bare, text)))
}

fn is_bare(c: char) -> bool {
    !is_gap(c) && !matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '“' | '”' | '`')
}

/// Production `flag`.
fn flag(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, _) = (char('-'), opt(char('-'))).parse(input)?;
    let (after, text) =
        verify(take_while1(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')), |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
        })
        .parse(rest)?;
    Ok((after, (LexKind::Flag, text)))
}

/// Production `word`: letters and digits, and what joins them (production `joiner`) where more of them follow.
fn word(input: &str) -> Step<'_, Raw<'_>> {
    let mut end = 0;
    let mut characters = input.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c.is_alphanumeric() || c == '_' {
            end = at + c.len_utf8();
        } else if end == at && end > 0 && is_joiner(c) {
            // Two points are one joiner: the range `5..10`.
            if c == '.' {
                characters.next_if(|(_, next)| *next == '.');
            }
            if !characters.peek().is_some_and(|(_, next)| next.is_alphanumeric() || *next == '_') {
                break;
            }
            end = characters.peek().map_or(end, |(next, _)| *next);
        } else {
            break;
        }
    }
    if end == 0 {
        return Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::AlphaNumeric)));
    }
    Ok((&input[end..], (LexKind::Word, &input[..end])))
}

/// Production `joiner`.
const fn is_joiner(c: char) -> bool {
    matches!(c, '\'' | '’' | '-' | '.' | '/' | '–' | '…' | '@' | '\\')
}

/// Production `mark`: any one character.
fn mark(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, c) = anychar(input)?;
    Ok((rest, (LexKind::Mark(c), &input[..c.len_utf8()])))
}

/// Production `opening`: the mark of a block, to the end of its line. A comment there is none of the content.
fn opening(input: &str) -> Step<'_, &str> {
    let blank = |c| matches!(c, ' ' | '\t' | '\r');
    recognize((tag("<<<"), opt((take_while1(blank), opt(comment))), char('\n'))).parse(input)
}

/// Production `block`: the content between the two marks, to the end of the input.
fn block(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, _) = opening(input)?;
    let body = rest.trim_end_matches(is_gap);
    let content = body.strip_suffix(">>>").and_then(|content| {
        if content.is_empty() {
            Some(content)
        } else {
            content.strip_suffix('\n').map(|c| c.strip_suffix('\r').unwrap_or(c))
        }
    });
    let Some(content) = content else {
        return Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::TakeUntil)));
    };
    value((LexKind::Block, content), tag(rest)).parse(rest)
}

#[cfg(test)]
mod tests;
