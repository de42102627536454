//! Strings in the quotes of several languages.

use std::cell::Cell;

use nom::{
    Parser as _,
    branch::alt,
    bytes::complete::take_while,
    character::complete::{anychar, char, one_of},
    combinator::verify,
    sequence::delimited,
};

use super::{LexKind, Raw, Step, mark};

/// Closing quotes that a search did not find. Later searches for them are skipped, which keeps the time linear.
#[derive(Default)]
pub(super) struct UnclosedQuotes {
    single: Cell<bool>,
    backtick: Cell<bool>,
    guillemets: Cell<bool>,
    inward: Cell<bool>,
    angles: Cell<bool>,
    corners: Cell<bool>,
    curly: Cell<bool>,
}

/// Production `quoted`: a string in any of the quotes.
pub(super) fn quoted<'a>(input: &'a str, unclosed: &UnclosedQuotes) -> Step<'a, Raw<'a>> {
    match input.chars().next() {
        Some('"') => alt((double, mixed)).parse(input),
        Some('“') => alt((curly, mixed)).parse(input),
        Some('„' | '”') => once(&unclosed.curly, input, curly),
        Some('«') => once(&unclosed.guillemets, input, guillemets),
        Some('»') => once(&unclosed.inward, input, inward),
        Some('‹' | '›') => once(&unclosed.angles, input, angles),
        Some('「') => once(&unclosed.corners, input, corners),
        Some('`') => once(&unclosed.backtick, input, backtick_quoted),
        _ => once(&unclosed.single, input, single),
    }
}

/// Tries `parser` unless it has failed before for want of a closing quote.
fn once<'a>(unclosed: &Cell<bool>, input: &'a str, parser: fn(&'a str) -> Step<'a, Raw<'a>>) -> Step<'a, Raw<'a>> {
    if unclosed.get() {
        return mark(input);
    }
    let done = parser(input);
    unclosed.set(done.is_err());
    done
}

/// Production `double`.
pub(super) fn double(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, text) = delimited(char('"'), |rest| inside(rest, |c| c == '"', |_| true), char('"')).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `curly`.
fn curly(input: &str) -> Step<'_, Raw<'_>> {
    let closes = |c| matches!(c, '”' | '“');
    let (rest, text) = delimited(one_of("“„”"), |rest| inside(rest, closes, |_| true), verify(anychar, |c| closes(*c)))
        .parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `guillemets`.
fn guillemets(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, text) = delimited(char('«'), |rest| inside(rest, |c| c == '»', |_| true), char('»')).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `inward`: guillemets as they are written in German.
fn inward(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, text) = delimited(char('»'), |rest| inside(rest, |c| c == '«', |_| true), char('«')).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `angles`: single guillemets.
fn angles(input: &str) -> Step<'_, Raw<'_>> {
    let closes = |c| matches!(c, '‹' | '›');
    let (rest, text) =
        delimited(one_of("‹›"), |rest| inside(rest, closes, |_| true), verify(anychar, |c| closes(*c))).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `mixed`: one end is straight and the other curly.
fn mixed(input: &str) -> Step<'_, Raw<'_>> {
    let closes = |c| matches!(c, '"' | '”' | '“');
    let (rest, text) = delimited(one_of("\"“"), |rest| inside(rest, closes, |_| true), verify(anychar, |c| closes(*c)))
        .parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `corners`.
fn corners(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, text) = delimited(char('「'), take_while(|c| c != '」'), char('」')).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: false }, text)))
}

/// Production `single`: the closing quote is one that no letter follows, for many an apostrophe looks like it.
fn single(input: &str) -> Step<'_, Raw<'_>> {
    let closes = |c| matches!(c, '\'' | '’');
    let ends = |after: Option<char>| after.is_none_or(|c| !c.is_alphanumeric());
    let (rest, text) =
        delimited(one_of("'‘"), |rest| inside(rest, closes, ends), verify(anychar, |c| closes(*c))).parse(input)?;
    Ok((rest, (LexKind::Quoted { escapes: true }, text)))
}

/// Production `ticked`.
fn backtick_quoted(input: &str) -> Step<'_, Raw<'_>> {
    let (rest, text) = delimited(char('`'), take_while(|c| c != '`'), char('`')).parse(input)?;
    Ok((rest, (LexKind::Ticked, text)))
}

/// The text before the first character that closes and that `ends` a string by what follows it; steps over
/// production `escape`.
fn inside(input: &str, closes: impl Fn(char) -> bool, ends: impl Fn(Option<char>) -> bool) -> Step<'_, &str> {
    let mut characters = input.char_indices();
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if closes(c) && ends(input[at + c.len_utf8()..].chars().next()) {
            return Ok((&input[at..], &input[..at]));
        }
    }
    Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::TakeUntil)))
}
