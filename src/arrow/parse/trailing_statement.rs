//! A statement behind a request: `prune a7x2 (it repeats b3k9)`. The nodes that it names are no arguments, so a line that
//! cannot be read as a whole is read again up to it.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::is_finite,
    lexicon::{Form, FunctionWord},
};

/// Subjects of a statement; separated by spaces.
const SUBJECTS: &str =
    "it it's that's this that these those they they're i i'd i've i'm we we've we're he she there there's";
/// Words that begin a reason or a source.
const REASONS: &str = "because since as too long short see";
/// Nouns of a comparison: `a duplicate of b3k9`.
const COMPARISONS: &str = "duplicate copy repeat echo repetition variant version rewrite remake";
/// Verbs in the past without the ending of one.
const PAST: &str = "felt has had is are was were made took gave got said ran left came went fell read says fits";
/// Words that say that there is more to do, or less, or another thing; separated by spaces.
const CHANGES: &str = "keep keeps kept stay stays leave wait waits hold need needs needed still mean means meant instead rather actually \
    sorry oops no also likewise unless until later tomorrow once when next then else other others except but or not \
    never don't can't won't if whether perhaps maybe probably already done please wrong example quote quoted says said say asked \
    asks wrote told idea plan option one ones either neither first last under below beneath";
/// Verbs that ask for a thing, unless for an action.
const WISHES: &str = "want wants wanted wish wishes wished prefer prefers preferred";
/// Ends of a statement that ask for the same again: `b3k9 too`.
const AGAIN: &str = "too also well either likewise";
/// Verbs by which a statement on a node asks for something: `b3k9 goes under c1d2`.
const REQUESTS: &str = "goes go comes come belongs stays should must";

/// The end of a request before a statement.
#[derive(Clone, Copy)]
pub(super) struct RequestEnd {
    pub(super) at: usize,
    /// True if the statement is no part of the request whatever its words: it is in brackets, or says what the request is for.
    pub(super) is_certain: bool,
}

/// Finds where a request ends before a statement.
pub(super) fn request_end(line: &str, terms: &[AnnotatedToken]) -> Option<RequestEnd> {
    let is_question = terms.first().is_some_and(|first| first.entry.func == Some(FunctionWord::Modal));
    (2..terms.len().saturating_sub(2)).find_map(|at| {
        let is_bracket = terms[at].is('(');
        let end = match terms[at].kind {
            TokenKind::Mark('(') if terms.last().is_some_and(|last| last.is(')')) => terms.len() - 1,
            TokenKind::Mark(',' | ';' | '.' | '—' | '–' | '-') if terms[at + 1].gap => terms.len(),
            TokenKind::Mark('?') if is_question && terms[at + 1].gap => terms.len(),
            _ => return None,
        };
        let statement = &terms[at + 1..end];
        // `… append "a fact" (from b3k9)`
        let is_source = terms[at - 1].is_text() && is_in(line, &statement[0], "from") && statement.len() == 2;
        let has_purpose = states_purpose(line, statement);
        let is_statement = has_purpose || is_source || states(line, statement);
        is_statement.then_some(RequestEnd { at, is_certain: is_bracket || has_purpose })
    })
}

/// True if the words say what a request is for: `I want to see whether it holds`.
fn states_purpose(line: &str, words: &[AnnotatedToken]) -> bool {
    let is = |at: usize, list: &str| words.get(at).is_some_and(|term| is_in(line, term, list));
    let wants = is(0, "i we") && is(1, "want need wanted hope") || is(0, "i'd we'd") && is(1, "like love");
    let has_argument = |term: &AnnotatedToken| {
        term.is_text()
            || matches!(term.kind, TokenKind::Flag | TokenKind::OptionName(_) | TokenKind::Mark('(' | ';' | ':'))
    };
    wants
        && is(2, "to")
        && is(3, "see check know compare find verify understand look read try start make learn be")
        && words.len() > 4
        && !words.iter().any(has_argument)
}

/// True if the words say something of a thing, and ask for nothing.
fn states(line: &str, words: &[AnnotatedToken]) -> bool {
    let is = |at: usize, list: &str| words.get(at).is_some_and(|term| is_in(line, term, list));
    let is_verb = |term: &AnnotatedToken| {
        let ends = |ending: &str| term.kind == TokenKind::Name && term.text.of(line).ends_with(ending);
        let is_past = matches!(term.entry.verb, Some((_, Form::Past | Form::Third)));
        is_finite(term) || is_past || is_in(line, term, PAST) || ends("s") || ends("ed")
    };
    let [first, _, ..] = words else { return false };
    let verb = if is(1, "only just") { 2 } else { 1 };
    // `prune a7x2, that is, its children`
    let is_correction = is(0, "that") && is(1, "is") && words.get(2).is_none_or(|mark| mark.is(','));
    let is_noun_phrase = first.entry.func == Some(FunctionWord::Det) && !is(0, SUBJECTS);
    let begins = match () {
        () if is(0, SUBJECTS) || is(0, REASONS) => true,
        () if is_noun_phrase => is(1, COMPARISONS) || !is(1, "same") && words[2..].iter().any(is_verb),
        () => {
            first.is_id()
                && words.get(verb).is_some_and(is_verb)
                && !words.iter().any(|term| is_in(line, term, REQUESTS))
        }
    };
    let is_open = |term: &AnnotatedToken| {
        use FunctionWord::{Doubt, If, Modal, Not, Or, Would};
        term.is_text()
            || term.is('?')
            || term.is(':')
            || matches!(
                term.kind,
                TokenKind::File | TokenKind::Mark('(' | ';') | TokenKind::Flag | TokenKind::OptionName(_)
            )
            || matches!(term.entry.func, Some(If | Not | Modal | Would | Or | Doubt))
            || is_in(line, term, CHANGES)
    };
    // `…, I want b3k9`, `…. It was a mistake, restore b3k9`
    let asks = |at: usize| {
        let wants = is(at, WISHES) && !is(at + 1, "to");
        let is_base = matches!(words[at].entry.verb, Some((_, Form::Base))) && words[at].entry.noun.is_none();
        wants || is_base && matches!(words[at - 1].kind, TokenKind::Mark(_))
    };
    begins && !is_correction && !words.iter().any(is_open) && !(1..words.len()).any(asks) && !is(words.len() - 1, AGAIN)
}

fn is_in(line: &str, term: &AnnotatedToken, list: &str) -> bool {
    list.split_ascii_whitespace().any(|word| term.text.of(line).eq_ignore_ascii_case(word))
}
