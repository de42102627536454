//! Parser of one line: a command, or an error with what was understood.
//!
//! The steps, each a module: `lex` cuts the line into tokens, `annotate_tokens` looks them up, `intent` finds out whether
//! the line is a request and where it stands, `classify` which operation is meant, `args` and `bind` with which arguments. Each step
//! may doubt, and doubt adds up: a line is run only if what is left of confidence is enough for what its operation can
//! do. Everything else is refused, which costs a model one more line; a wrong operation costs more.

mod apostrophes;
mod caveat_phrases;
mod caveats;
mod collect_args;
mod coverage;
mod decoration;
mod deferrals;
mod error;
mod json_line;
mod leading_phrase;
mod leading_statement;
mod node_arguments;
mod non_request_markers;
mod penalties;
mod referring_request;
mod target;
mod trailing_statement;
mod trailing_words;
mod unsupported_words;

use std::borrow::Cow;

pub use self::error::{ParseError, ParseErrorCode};
use self::{
    collect_args::collect_args,
    decoration::without_decoration,
    error::{bind_error, incomplete, lex_error, not_a_request, other_node_error, refuse, unsure},
    json_line::tool_call,
    node_arguments::{moves_place, names_two, promote_bare_ids},
    penalties::{incomplete_tail, penalties},
    trailing_statement::TrailingStatement,
};
use super::{
    Command,
    annotate_tokens::{self, AnnotatedToken},
    bind::{self, BindError, Binder},
    classify::{self, Candidate},
    intent::{self, Intent, Utterance},
    json_call, lex,
    lexicon::{self, Verb},
    node_words,
};
use crate::tools::{MAX_CONTENT_BYTES, SideEffect, Tool};

/// The longest line: content at its limit, escaped, and what stands around it.
const MAX_LINE_BYTES: usize = 4 * MAX_CONTENT_BYTES;

/// The most tokens that are read as words of a request. Clauses are looked through more than once, so this bounds the
/// time; a content without quotes may be longer.
const MAX_WORDS: usize = 256;

/// Most times that the words of a line are corrected: a corrected word may show that the next one is no name.
const MAX_CORRECTIONS: usize = 3;

/// A line that was parsed to a command.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedLine {
    /// The command that the line requests.
    pub command: Command,
    /// Confidence up to 1, never below the threshold of the operation.
    pub confidence: f32,
}

/// Parses one arrow line: with or without its arrow, with its block if it has one.
///
/// ```
/// use loomtree::arrow;
///
/// let parsed = arrow::parse("→ let's look at a7x2 in full").unwrap();
/// assert_eq!(parsed.command.to_string(), "view a7x2 full");
/// assert!(arrow::parse("→ don't prune a7x2").is_err());
/// ```
///
/// # Errors
///
/// A [`ParseError`], where the line is not one command beyond reasonable doubt.
pub fn parse(line: &str) -> Result<ParsedLine, ParseError> {
    let mut trace = ParseTrace::default();
    parse_traced(line, &mut trace)
}

/// Results of the steps, for [`super::explain()`].
#[derive(Debug, Default)]
pub(super) struct ParseTrace {
    pub(super) terms: Vec<AnnotatedToken>,
    pub(super) intent: Option<Intent>,
    pub(super) candidate: Option<Candidate>,
    pub(super) penalties: Vec<(&'static str, f32)>,
    pub(super) needed: f32,
    /// The line that `terms` are of, if another one was read: with its typos corrected, or the request behind a statement.
    pub(super) reading: Option<String>,
}

/// Goes through all steps, and leaves what they found in `trace`.
pub(super) fn parse_traced(line: &str, trace: &mut ParseTrace) -> Result<ParsedLine, ParseError> {
    if line.len() > MAX_LINE_BYTES {
        let message = format!("a line is at most {MAX_LINE_BYTES} bytes");
        return Err(invalid(ParseErrorCode::LimitExceeded, line, message));
    }
    let Some(straight) = apostrophes::straighten(line) else { return parse_straight(line, trace) };
    let mut read = parse_straight(&straight.text, trace);
    if let Err(error) = &mut read {
        error.span = straight.original(error.span);
    }
    trace.reading.get_or_insert(straight.text);
    read
}

/// Goes through all steps with a line whose apostrophes are straight.
fn parse_straight(line: &str, trace: &mut ParseTrace) -> Result<ParsedLine, ParseError> {
    let (line, thought) = thought(line);
    if let Some(why) = non_request_markers::refused(line) {
        return Err(invalid(ParseErrorCode::InvalidSyntax, line, why));
    }
    let bare = without_decoration(line);
    let line = bare.as_ref();
    // `📦 ❌ prune a7x2`
    if let Cow::Owned(_) = &bare
        && let Some(why) = non_request_markers::refused(line)
    {
        return Err(invalid(ParseErrorCode::InvalidSyntax, line, why));
    }
    if let Some(call) = json_call::read(line) {
        return tool_call(line, call);
    }
    let read = parse_words(line, thought, trace);
    if let Some((parsed, behind)) = with_phrase_behind(line, thought, trace, read.is_ok()) {
        *trace = behind;
        return Ok(parsed);
    }
    if let Err(error) = &read
        && error.code == ParseErrorCode::InvalidSyntax
        && let Some((parsed, behind)) = behind_statement(line, thought, trace)
    {
        *trace = behind;
        return Ok(parsed);
    }
    read
}

/// Parses a line with its leading phrase behind the request, unless the line is read already and the phrase limits nothing.
fn with_phrase_behind(
    line: &str,
    thought: Option<&str>,
    trace: &ParseTrace,
    is_read: bool,
) -> Option<(ParsedLine, ParseTrace)> {
    let line = trace.reading.as_deref().unwrap_or(line);
    let reordered = leading_phrase::reordered(line, &trace.terms).filter(|reordered| reordered.limits || !is_read)?;
    let mut trace = ParseTrace::default();
    let parsed = parse_words(&reordered.line, thought, &mut trace).ok()?;
    trace.reading.get_or_insert(reordered.line);
    // `within 3 tries, undo` counts no changes.
    (!matches!(parsed.command.tool(), Tool::Undo | Tool::Redo)).then_some((parsed, trace))
}

/// Parses the request behind a statement that names what it is about.
fn behind_statement(line: &str, thought: Option<&str>, trace: &ParseTrace) -> Option<(ParsedLine, ParseTrace)> {
    if trace.terms.len() > MAX_WORDS || !referring_request::has_boundary(line, &trace.terms) {
        return None;
    }
    let lexed = lex::line(line).ok()?;
    let terms = annotate_tokens::terms(line, &lexed);
    if caveat_phrases::find(line, &terms, terms.len()).or_else(|| deferrals::find(line, &terms)).is_some() {
        return None;
    }
    referring_request::readings(line, &terms).into_iter().find_map(|reading| {
        let mut trace = ParseTrace::default();
        let parsed = parse_words(&reading.line, thought, &mut trace).ok()?;
        let goes = parsed.command.tool() == Tool::Switch;
        let asks = trace.intent.as_ref().is_some_and(|intent| intent.verb.is_some() && (goes || !intent.nominal));
        let fits = asks && (reading.names_node || !parsed.command.tool().acts_on_nodes());
        trace.reading.get_or_insert(reading.line);
        fits.then_some((parsed, trace))
    })
}

/// Parses a line in words, with its options. If it is doubtful or no command, its misspelt words are corrected.
fn parse_words(line: &str, thought: Option<&str>, trace: &mut ParseTrace) -> Result<ParsedLine, ParseError> {
    let read = parse_spelt(line, thought, trace);
    let speech = trace.intent.as_ref().map(|intent| intent.speech);
    let doubts = match &read {
        // `view a7x2 ful`: the word is no remark.
        Ok(parsed) => parsed.confidence < 1.0,
        // `teh tree, but sumary only`
        Err(_) => matches!(speech, Some(Utterance::Request | Utterance::Remark)),
    };
    let corrects = |parsed: &ParsedLine| match &read {
        // `serach the archve for "x"`: the archive is no web.
        Ok(read) => {
            parsed.command.tool() == read.command.tool()
                || read.command.tool() == Tool::Search && parsed.command.tool() == Tool::Recall
        }
        // `help wether`: a tool's name is suggested.
        Err(_) => !matches!(parsed.command, Command::Help { .. }),
    };
    if doubts
        && let Some((parsed, corrected)) = with_typos_corrected(line, thought)
        && corrects(&parsed)
    {
        *trace = corrected;
        return Ok(parsed);
    }
    read
}

/// Parses a line with its unknown words replaced by those that they may be typos of. `None` if there are none, or no command.
fn with_typos_corrected(line: &str, thought: Option<&str>) -> Option<(ParsedLine, ParseTrace)> {
    let mut corrected = Cow::Borrowed(line);
    for _ in 0..MAX_CORRECTIONS {
        let terms = annotate_tokens::terms(&corrected, &lex::line(&corrected).ok()?);
        if caveats::in_words(&corrected, &terms).is_some() {
            return None;
        }
        corrected = annotate_tokens::correct_typos(&corrected, &terms)?.into();
        let mut trace = ParseTrace::default();
        if let Ok(parsed) = parse_spelt(&corrected, thought, &mut trace) {
            trace.reading.get_or_insert(corrected.into_owned());
            return Some((parsed, trace));
        }
    }
    None
}

/// Parses a line in words as they are spelt, but for the verb.
fn parse_spelt(line: &str, thought: Option<&str>, trace: &mut ParseTrace) -> Result<ParsedLine, ParseError> {
    let lexed = lex::line(line).map_err(|error| lex_error(line, error))?;
    trace.terms = annotate_tokens::terms(line, &lexed);
    if trace.terms.is_empty() {
        return Err(invalid(ParseErrorCode::InvalidSyntax, line, "the line is empty"));
    }
    let reserved = caveats::in_words(line, &trace.terms);
    let is_long = trace.terms.len() > MAX_WORDS;
    let statement = if is_long || reserved.is_some() { None } else { trailing_statement::find(line, &trace.terms) };
    // `view a7x2 (I want to compare it with b3k9)`
    if let Some(statement) = statement.filter(|statement| statement.is_purpose)
        && let Some((parsed, before)) = without_statement(line, &lexed, statement)
        && parsed.command.tool() == Tool::View
    {
        *trace = before;
        return Ok(parsed);
    }
    let read = parse_terms(line, thought, lexed.end, reserved, trace);
    if read.is_ok() || reserved.is_some() || is_long {
        return read;
    }
    let speech = trace.intent.as_ref().map(|intent| intent.speech);
    if !matches!(speech, Some(Utterance::Request | Utterance::Remark | Utterance::Several)) {
        return read;
    }
    let mut terms = annotate_tokens::terms(line, &lexed);
    if let Some(begin) = leading_statement::request_start(line, &terms) {
        let mut behind = ParseTrace { terms: terms.split_off(begin.at), ..ParseTrace::default() };
        if let Ok(parsed) = parse_terms(line, thought, lexed.end, None, &mut behind)
            && (!begin.only_looks
                || parsed.command.tool().spec().side_effect == SideEffect::ReadOnly
                    && parsed.command.tool() != Tool::Search)
        {
            *trace = behind;
            return Ok(parsed);
        }
    }
    // `prune a7x2, it repeats b3k9`
    if let Some((parsed, before)) = statement.and_then(|statement| without_statement(line, &lexed, statement)) {
        *trace = before;
        return Ok(parsed);
    }
    read
}

/// Parses a line up to a statement behind its request. `None` if there is no command without it.
fn without_statement(line: &str, lexed: &lex::Lexed, statement: TrailingStatement) -> Option<(ParsedLine, ParseTrace)> {
    let mut terms = annotate_tokens::terms(line, lexed);
    terms.truncate(statement.at);
    if caveats::in_words(line, &terms).is_some() {
        return None;
    }
    let mut before = ParseTrace { terms, ..ParseTrace::default() };
    let parsed = parse_terms(line, None, lexed.end, None, &mut before).ok()?;
    let verb = before.candidate.and_then(|candidate| before.terms.get(candidate.verb));
    let has_verb = verb.is_some_and(|verb| verb.entry.verb.is_some());
    let is_whole = before.intent.as_ref().is_some_and(|intent| intent.raw.is_none());
    let tool = parsed.command.tool();
    let fits = match tool {
        // What is undone is not named by its words.
        Tool::Undo | Tool::Redo => false,
        Tool::Write | Tool::Stash if statement.is_source => true,
        _ if statement.is_source => false,
        _ if statement.is_apart && may_have_remark(tool) => true,
        _ => statement.fits_change || tool.spec().side_effect == SideEffect::ReadOnly,
    };
    // `a summary of the tree, I was away all weekend`
    let asks = has_verb || tool == Tool::Tree;
    (asks && is_whole && fits).then_some((parsed, before))
}

/// True for an operation behind which a sentence of its own may stand. Behind one that hides, moves or removes, and behind a
/// piece of work, the sentence may limit it.
const fn may_have_remark(tool: Tool) -> bool {
    !matches!(
        tool,
        Tool::Prune
            | Tool::Move
            | Tool::Exclude
            | Tool::Drop
            | Tool::Unlink
            | Tool::Unbookmark
            | Tool::Delegate
            | Tool::Todo
    )
}

/// Parses the terms of `trace`; `reserved` is the word of a reservation in them.
fn parse_terms(
    line: &str,
    thought: Option<&str>,
    end: usize,
    reserved: Option<lex::Span>,
    trace: &mut ParseTrace,
) -> Result<ParsedLine, ParseError> {
    let words = trace.terms.len();
    let first = trace.terms.first().map_or(0, |term| term.whole.start);
    trace.terms.truncate(MAX_WORDS);
    let intent = &*trace.intent.insert(intent::read(line, &mut trace.terms, end));
    if words > MAX_WORDS && intent.raw.is_none() {
        let message = format!("a command has at most {MAX_WORDS} words and marks outside quotes");
        return Err(invalid(ParseErrorCode::LimitExceeded, line, message));
    }
    if intent.speech != Utterance::Request {
        return Err(not_a_request(line, &trace.terms, intent));
    }
    trace.candidate = classify::classify(line, &trace.terms, intent);
    let Some(mut candidate) = trace.candidate else {
        return Err(not_a_request(line, &trace.terms, intent));
    };
    if let Some(end) = incomplete_tail(line, &trace.terms, intent, &candidate) {
        return Err(incomplete(line, end, &trace.terms, candidate.tool));
    }
    let mut arguments = collect_args(line, &trace.terms, intent, &candidate);
    let moves = candidate.tool == Tool::Switch && candidate.group == Verb::Move;
    if moves && (names_two(line, &arguments, &candidate) || moves_place(line, &trace.terms, intent, &candidate)) {
        candidate.tool = Tool::Move;
    }
    let tool = candidate.tool;
    // Content without quotes may say anything.
    let reserved = reserved.filter(|span| intent.raw.is_none_or(|raw| span.start < raw.start));
    // `every morning, search the web for "x"`; without quotes, the words may be what is searched for.
    let is_quoted = trace.terms.iter().any(AnnotatedToken::is_text);
    let defers = |span: &lex::Span| match tool {
        Tool::Search => is_quoted || span.start <= first,
        Tool::Think => span.start <= first,
        _ => false,
    };
    let reserved = reserved.filter(|span| !matches!(tool, Tool::Search | Tool::Think | Tool::Help) || defers(span));
    let reserved = reserved.or_else(|| caveats::in_request(line, &trace.terms, intent, &candidate));
    if let Some(word) = reserved.or_else(|| unsupported_words::find(line, &trace.terms, intent, &candidate)) {
        return Err(bind_error(line, &trace.terms, tool, BindError::Unexpected(word)));
    }
    let said = verb_text(line, &trace.terms, &candidate);
    promote_bare_ids(line, &trace.terms, &mut arguments, &candidate, &said);
    node_words::promote_places(line, &mut trace.terms, intent, &mut arguments, &mut candidate)
        .map_err(|place| other_node_error(line, place, tool))?;
    trace.candidate = Some(candidate);
    let bound = bind::bind(
        tool,
        Binder {
            arguments: &mut arguments,
            tool,
            at: candidate.verb,
            features: candidate.features,
            verb: candidate.group,
            verb_text: &said,
        },
    );
    let mut command = bound.map_err(|error| bind_error(line, &trace.terms, tool, error))?;
    if let (Command::Think { content }, Some(thought)) = (&mut command, thought) {
        *content = Some(thought.to_owned());
    }
    let lost = unsupported_words::lost_limit(line, &trace.terms, intent, &candidate, &command);
    let lost = lost.or_else(|| trailing_words::find(&trace.terms, intent, &arguments, &candidate, &command));
    if let Some(word) = lost.or_else(|| coverage::dropped_word(&trace.terms, intent, &arguments, &candidate)) {
        return Err(bind_error(line, &trace.terms, tool, BindError::Unexpected(word)));
    }
    trace.penalties = penalties(&trace.terms, intent, &arguments, &candidate);
    trace.needed = penalties::confidence_threshold(tool);
    let confidence = trace.penalties.iter().fold(1.0, |sum, (_, doubt)| sum - doubt);
    if confidence < trace.needed {
        return Err(unsure(line, &arguments, &command));
    }
    Ok(ParsedLine { command, confidence })
}

/// An error without a span, a reading or suggestions.
fn invalid(code: ParseErrorCode, line: &str, message: impl Into<String>) -> ParseError {
    refuse(code, line, None, message.into(), String::new(), Vec::new())
}

/// The verb in lower case, with its typo corrected.
fn verb_text(line: &str, terms: &[AnnotatedToken], candidate: &Candidate) -> String {
    terms.get(candidate.verb).map_or_else(String::new, |term| {
        let said = term.text.of(line);
        lexicon::correct_typo(said).filter(|_| term.corrected).unwrap_or(said).to_ascii_lowercase()
    })
}

/// A `think` with its thought: the line itself, and what stands between it and the line `←`.
fn thought(line: &str) -> (&str, Option<&str>) {
    let Some((first, rest)) = line.split_once('\n') else { return (line, None) };
    match rest.trim_end().strip_suffix('←') {
        Some("") => (first, Some("")),
        Some(thought) if thought.ends_with('\n') => (first, Some(&thought[..thought.len() - 1])),
        _ => (line, None),
    }
}
