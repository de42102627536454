//! A statement behind a request: `prune a7x2 (it repeats b3k9)`. The nodes that it names are no arguments, so a line that
//! cannot be read as a whole is read again up to it.
//!
//! A statement can also take a request back, postpone it or move it to another node. Behind a command that changes something only
//! short ones of known form are dropped.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::is_finite,
    lexicon::{Form, FunctionWord},
    word_pattern,
};

/// Subjects of a statement; separated by spaces.
const SUBJECTS: &str =
    "it it's that's this that these those they they're i i'd i've i'm we we've we're he she there there's";
/// Words that begin a reason.
const REASONS: &str = "because since as too long short";
/// Nouns of a comparison: `a duplicate of b3k9`.
const COMPARISONS: &str = "duplicate repeat echo repetition";
/// Verbs of a comparison, and of an impression: `it repeats b3k9`, `b3k9 felt too neat`.
const COMPARES: &str = "repeats repeat covers cover duplicates duplicate echoes echo contradicts mirrors restates overlaps felt feels sounds";
/// Verbs in the past without the ending of one.
const PAST: &str = "felt has had is are was were made took gave got said ran left came went fell read says fits";
/// Words that say that there is more to do, or less, or another thing, or later; separated by spaces.
const CHANGES: &str = "keep keeps kept stay stays leave wait waits hold need needs needed still mean means meant instead rather actually \
    sorry oops no also likewise unless until later tomorrow once when next then else other others except but or not \
    never don't can't won't if whether perhaps maybe probably already done please wrong example quote quoted says said say asked \
    asks wrote told idea plan option one ones either neither first last under below beneath so and before after soon above \
    depends hinges requires required planned scheduled time friday monday none only well child children parent rest";
/// Ends of a statement that ask for the same again: `b3k9 too`.
const AGAIN: &str = "too also well either likewise";
/// Verbs by which a statement on a node asks for something: `b3k9 goes under c1d2`.
const REQUESTS: &str =
    "goes go comes come belongs stays should must moves takes gets deserves blocks spares survives remains forbids";
/// Verbs that ask for a thing, unless for an action.
const WISHES: &str = "want wants wanted wish wishes wished prefer prefers preferred";
/// Numbers that order things.
const ORDINALS: &str = "second third fourth fifth";
/// Most tokens of a statement.
const MAX_STATEMENT_TOKENS: usize = 24;
/// Most words of a statement that is dropped behind a change.
const MAX_WORDS_OF_CHANGE: usize = 7;

/// A statement behind a request.
#[derive(Clone, Copy)]
pub(super) struct TrailingStatement {
    /// Position of the mark before it.
    pub(super) at: usize,
    /// True if it says what the request is for: `view a7x2 (I want to compare it with b3k9)`.
    pub(super) is_purpose: bool,
    /// True if it may stand behind a command that changes something.
    pub(super) fits_change: bool,
    /// True if it names only the source of the text before it.
    pub(super) is_source: bool,
    /// True if it is a sentence of its own, behind a dash, a colon or a text. It may stand behind a command that hides nothing.
    pub(super) is_apart: bool,
}

/// Finds the statement behind a request.
pub(super) fn find(line: &str, terms: &[AnnotatedToken]) -> Option<TrailingStatement> {
    let is_question = terms.first().is_some_and(|first| first.entry.func == Some(FunctionWord::Modal));
    // `edit a7x2 "text" The old wording gave it away.`
    let begins_sentence = |at: usize| {
        let next = &terms[at + 1];
        let is_capital = next.text.of(line).starts_with(char::is_uppercase);
        terms[at].is_text() && is_capital && (next.entry.func == Some(FunctionWord::Det) || is_in(line, next, SUBJECTS))
    };
    (2..terms.len().saturating_sub(2)).find_map(|at| {
        let end = match terms[at].kind {
            TokenKind::Text { .. } if begins_sentence(at) => terms.len(),
            TokenKind::Mark(':') if terms[at + 1].gap && !terms[at + 1].is_text() => terms.len(),
            TokenKind::Mark('(') if terms.last().is_some_and(|last| last.is(')')) => terms.len() - 1,
            TokenKind::Mark(',' | ';' | '.' | '—' | '–' | '-') if terms[at + 1].gap => terms.len(),
            TokenKind::Mark('?') if is_question && terms[at + 1].gap => terms.len(),
            _ => return None,
        };
        let ends = terms[..end].iter().rev().take_while(|term| term.is('.') || term.is('!')).count();
        let words = terms.get(at + 1..end - ends)?;
        // A longer text is no remark. The limit also bounds the time of a line with many marks.
        if words.len() > MAX_STATEMENT_TOKENS {
            return None;
        }
        let is_reference = |word: &str| words.len() == 2 && is_in(line, &words[0], word) && words[1].is_id();
        // `… append "a fact" (from b3k9)`, `edit a7x2 "text" (see b3k9)`
        let is_source = terms[at - 1].is_text() && is_reference("from");
        let is_purpose = states_purpose(line, words);
        let compares = states(line, words) && compares(line, words) && !terms[at].is('?');
        // `exclude a7x2 — too long, adds nothing`
        let is_reason = is_in(line, &words[0], "too because since") && words.len() <= MAX_WORDS_OF_CHANGE;
        let fits_change =
            compares || is_source || terms[at - 1].is_text() && is_reference("see") || is_reason && states(line, words);
        let is_strong =
            matches!(terms[at].kind, TokenKind::Mark(':' | '—' | '–' | '.' | ';' | '(') | TokenKind::Text { .. });
        // `restore a7x2, Ada found the source`
        let names_person = words.first().is_some_and(|first| is_person(line, first));
        let is_apart = (is_strong || names_person) && states(line, words) || is_strong && describes(line, words);
        (is_purpose || fits_change || is_apart || states(line, words)).then_some(TrailingStatement {
            at: at + usize::from(terms[at].is_text()),
            is_purpose,
            fits_change,
            is_source,
            is_apart,
        })
    })
}

/// True if the words only say what a thing is: `a clean start for the second version`.
fn describes(line: &str, words: &[AnnotatedToken]) -> bool {
    let article = words.first().is_some_and(|first| is_in(line, first, "a an"));
    article
        && words.len() > 2
        && !words
            .iter()
            .any(|term| is_open(line, term) || term.is_id() || term.entry.base().is_some() && term.entry.noun.is_none())
}

/// True if the words say what a request is for: `I want to see whether it holds`.
fn states_purpose(line: &str, words: &[AnnotatedToken]) -> bool {
    let is = |at: usize, list: &str| words.get(at).is_some_and(|term| is_in(line, term, list));
    // `… before we go on`
    let end = (0..words.len()).find(|at| is(*at, "before") && is(at + 1, "we i")).unwrap_or(words.len());
    let wants = is(0, "i we") && is(1, "want need wanted hope") || is(0, "i'd we'd") && is(1, "like love");
    let verb = 3;
    let begins =
        wants && is(2, "to") && is(verb, "see check know compare find verify understand look hear judge feel learn");
    // `I want to see whether …`, `I want to see why …`
    let behind = verb + 1 + usize::from(is(verb + 1, "whether if why"));
    // `view a7x2, I want to see b3k9`
    let names_other = is(verb, "see look") && words.iter().any(AnnotatedToken::is_id);
    begins
        && !names_other
        && end > behind
        && !words[behind..end].iter().any(|term| {
            is_open(line, term)
                || is_in(line, term, "full whole entire all every")
                || term.kind == TokenKind::Word && is_argument(term)
        })
}

/// True for a word that may be an argument of a command that looks: `I want to see it in full`, `I want to see three versions`.
fn is_argument(term: &AnnotatedToken) -> bool {
    term.entry.option.is_some() || term.entry.noun.is_some_and(|noun| noun != crate::arrow::lexicon::Noun::Text)
}

/// True for a statement of a comparison or an impression: `it repeats b3k9`, `a duplicate of b3k9`, `b3k9 felt too neat`.
fn compares(line: &str, words: &[AnnotatedToken]) -> bool {
    let is = |at: usize, list: &str| words.get(at).is_some_and(|term| is_in(line, term, list));
    let first_is_id = words.first().is_some_and(AnnotatedToken::is_id);
    let verb = if is(1, "just only") { 2 } else { 1 };
    let by_verb = (first_is_id || is(0, "it this that they")) && is(verb, COMPARES);
    let by_noun = is(0, "a an") && is(1, COMPARISONS) && is(2, "of") && words.get(3).is_some_and(AnnotatedToken::is_id);
    words.len() <= MAX_WORDS_OF_CHANGE && (by_verb || by_noun)
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
        () => (first.is_id() || is_person(line, first)) && words.get(verb).is_some_and(is_verb),
    };
    // `…, I want b3k9`, `…. It was a mistake, restore b3k9`
    let asks = |at: usize| {
        let wants = is(at, WISHES) && !is(at + 1, "to");
        let is_base = matches!(words[at].entry.verb, Some((_, Form::Base)));
        wants || is(at, REQUESTS) || is_base && matches!(words[at - 1].kind, TokenKind::Mark(_))
    };
    begins
        && !is_correction
        && !words.iter().any(|term| is_open(line, term))
        && !(1..words.len()).any(asks)
        && !is(words.len() - 1, AGAIN)
}

/// True for a name with a capital letter: `Ada`.
fn is_person(line: &str, term: &AnnotatedToken) -> bool {
    term.kind == TokenKind::Name && term.text.of(line).starts_with(char::is_uppercase)
}

/// True for a word that leaves open what a statement is about.
fn is_open(line: &str, term: &AnnotatedToken) -> bool {
    use FunctionWord::{Doubt, If, Modal, Not, Or, Would};
    term.is_text()
        || term.is('?')
        || term.is(':')
        || matches!(term.kind, TokenKind::Number(_))
            && term.entry.func != Some(FunctionWord::Adjective)
            && !is_in(line, term, ORDINALS)
        || matches!(
            term.kind,
            TokenKind::File
                | TokenKind::Flag
                | TokenKind::OptionName(_)
                | TokenKind::Range(..)
                | TokenKind::Mark('(' | ';' | '.' | '—' | '–')
        )
        || matches!(term.entry.func, Some(If | Not | Modal | Would | Or | Doubt)) && !is_in(line, term, "nothing none")
        || is_in(line, term, CHANGES)
}

fn is_in(line: &str, term: &AnnotatedToken, list: &str) -> bool {
    word_pattern::is_in(list, term.text.of(line))
}
