//! A request behind a statement that names what it is about: `I read a7x2 twice, and it adds nothing; hide it`.
//!
//! Only the words behind the last boundary ask for something, so they are read as a line of their own, with the name in place
//! of the pronoun: `hide a7x2`. The statement itself may say anything, but it must not ask, suppose or quote.

use std::sync::LazyLock;

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::{self, Utterance},
    lexicon::{self, Form, FunctionWord, Prep},
    word_pattern::{Pattern, PatternTable, is_in},
};

/// Most boundaries, from the end of the line, behind which a request is looked for.
const MAX_BOUNDARIES: usize = 4;
/// Fewest words of a statement.
const MIN_WORDS: usize = 4;
/// Connectives between a statement and the request that follows from it, behind a comma.
static CONSEQUENCES: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        ["and so|therefore|hence|thus", "so|hence|therefore|thus|accordingly|consequently", "which is why"]
            .map(|it| (it, ())),
    )
});
/// Purposes of a request that may name no node.
static PURPOSE: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        "i|we need|want|wanted|have to know|check|verify|understand|learn|remember|find|see|hear|judge|feel|watch",
    )
});
/// Words by which a clause introduces what follows as a report or an example; separated by spaces.
const REPORTS: &str = "say says said saying tell tells told write writes wrote written ask asks asked answer answered suggest \
    suggests suggested propose proposes proposed claims claimed reads means meant quote quoted example instance usage rule plan \
    idea option choice alternative advice suggestion title heading command line syntax form theory tempting";
/// Words that leave it open whether a request follows, or when; separated by spaces.
const OPEN: &str =
    "maybe perhaps unsure later tomorrow supposed pretend imagine yet unless until if whether should sure";
/// Words that begin a clause which forbids or supposes; separated by spaces.
const OPENINGS: &str = "do don't dont never please stop avoid once when whenever before after as suppose assuming provided either this that here";
/// Nouns by which a request points back: `that node`, `the scene`; separated by spaces.
const POINTED: &str = "node one branch reply message passage scene paragraph thing turn post draft version part bit";
/// Words that point at a person, or at the position; separated by spaces.
const OTHERS: &str = "him her his them their he she they these those this here";

/// A line that is read in place of another one.
pub(super) struct SubstitutedLine {
    pub(super) line: String,
    /// True unless the statement names a node and the request none. Such a request acts on no node, since it would take the position.
    pub(super) names_node: bool,
}

/// True if a statement may end before the last word of a line.
pub(super) fn has_boundary(line: &str, terms: &[AnnotatedToken]) -> bool {
    (MIN_WORDS..terms.len()).any(|at| request_start(line, terms, at).is_some())
}

/// The readings of a line as the request behind one of its last boundaries.
pub(super) fn readings(line: &str, terms: &[AnnotatedToken]) -> Vec<SubstitutedLine> {
    let starts = (1..terms.len()).rev().filter_map(|at| request_start(line, terms, at));
    starts.take(MAX_BOUNDARIES).filter_map(|(end, start)| reading(line, &terms[..end], &terms[start..])).collect()
}

/// The end of the statement and the start of the request, if a boundary stands at `at`.
fn request_start(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<(usize, usize)> {
    let next = terms.get(at + 1).filter(|_| matches!(terms[at].kind, TokenKind::Mark(_)))?;
    let is_strong = matches!(terms[at].kind, TokenKind::Mark(';' | '.' | '!' | '?' | ':' | '—' | '–')) && next.gap;
    let words = |at: usize| terms.get(at).map_or("", |term| term.text.of(line));
    let behind = CONSEQUENCES.matches(&words, at + 1).next().map(|(behind, ())| behind);
    let is_weak = terms[at].is(',') && next.entry.base().is_some() && next.entry.noun.is_none();
    match behind {
        Some(behind) if is_strong || terms[at].is(',') => Some((at, behind)),
        _ => (is_strong || is_weak).then_some((at, at + 1)),
    }
}

/// The request with the name from the statement in place of what points back to it.
fn reading(line: &str, statement: &[AnnotatedToken], request: &[AnnotatedToken]) -> Option<SubstitutedLine> {
    let (first, last) = (request.first()?, request.last()?);
    // `…, so we read it` reports.
    let is_reported = first.entry.func == Some(FunctionWord::Subject)
        && request.get(1).is_some_and(|verb| verb.entry.base().is_some());
    // `I'm done here. Back to the root`
    let leads = matches!(first.entry.prep, Some(Prep::Back | Prep::Up))
        && request.iter().take(3).any(|term| term.entry.prep == Some(Prep::To));
    let begins = first.entry.base().is_some()
        || matches!(first.entry.func, Some(FunctionWord::Pad | FunctionWord::What))
        || leads;
    if is_reported || !begins || request.iter().any(|term| is(line, term, OTHERS)) || !states(line, statement) {
        return None;
    }
    let is_name = |term: &&AnnotatedToken| term.is_id() || term.kind == TokenKind::File;
    let names: Vec<&str> = statement.iter().filter(is_name).map(|term| term.whole.of(line)).collect();
    // `the parent of a7x2`, `the note on a7x2`
    let is_of =
        |pair: &[AnnotatedToken]| is_name(&&pair[1]) && !matches!(pair[0].entry.prep, None | Some(Prep::In | Prep::To));
    let only = names.first().filter(|name| names.iter().all(|other| other.eq_ignore_ascii_case(name)));
    let only = only.filter(|_| !statement.windows(2).any(is_of));
    let mut words = String::with_capacity(line.len());
    let (mut at, mut from, mut points) = (0, first.whole.start, false);
    while at < request.len() {
        let Some((length, reference)) = reference(line, request, at) else {
            at += 1;
            continue;
        };
        let name = match reference {
            BackReference::Only => only?,
            BackReference::First | BackReference::Second if names.len() != 2 => return None,
            BackReference::First => names[0],
            BackReference::Second => names[1],
        };
        words.push_str(&line[from..request[at].whole.start]);
        words.push_str(name);
        (from, points) = (request[at + length - 1].whole.end, true);
        at += length;
    }
    words.push_str(&line[from..last.whole.end]);
    // A comma is no end of a statement unless the request points back, or alone names something.
    let is_joined = line[statement[statement.len() - 1].whole.end..].starts_with(',');
    let is_personal = matches!(statement[0].entry.func, Some(FunctionWord::Subject | FunctionWord::Clause));
    // `you mustn't, I repeat mustn't, prune a7x2`
    let denies = |term: &AnnotatedToken| term.entry.func == Some(FunctionWord::Not);
    let is_denied =
        statement.last().is_some_and(denies) || is(line, &statement[0], "you") && statement.iter().any(denies);
    let is_whole = names.is_empty() && !is_denied && (is_personal || request.iter().any(AnnotatedToken::is_concrete));
    if is_joined && !points && !is_whole {
        return None;
    }
    let names_node = points || names.is_empty() || request.iter().any(|term| is_name(&term));
    Some(SubstitutedLine { line: words, names_node })
}

/// The thing that a word points back to.
enum BackReference {
    /// The only one named.
    Only,
    /// The first of two.
    First,
    /// The second of two.
    Second,
}

/// The thing that the words from `at` point back to, with their number.
fn reference(line: &str, request: &[AnnotatedToken], at: usize) -> Option<(usize, BackReference)> {
    let is = |at: usize, words: &str| request.get(at).is_some_and(|term| is(line, term, words));
    let ends = |at: usize| request.get(at).is_none_or(|term| matches!(term.kind, TokenKind::Mark(_)));
    if is(at, "the") && is(at + 1, "former latter") {
        return Some((2, if is(at + 1, "former") { BackReference::First } else { BackReference::Second }));
    }
    if is(at, "that the") && is(at + 1, POINTED) && !request.get(at + 2).is_some_and(AnnotatedToken::is_id) {
        return Some((2, BackReference::Only));
    }
    let before = at.checked_sub(1).map(|before| request[before].entry);
    let leads = before.is_some_and(|before| matches!(before.prep, Some(Prep::From | Prep::To | Prep::Under)));
    // `view it`, `attach to it`; but `it repeats b3k9` is a statement.
    let is_object = before.is_some_and(|before| before.verb.is_some() || before.prep.is_some() || ends(at + 1));
    (is(at, "there") && leads || is(at, "it") && is_object || is(at, "that") && ends(at + 1))
        .then_some((1, BackReference::Only))
}

/// True if the terms only say something: they ask for nothing, suppose nothing and quote nothing that follows.
fn states(line: &str, statement: &[AnnotatedToken]) -> bool {
    let words = statement.iter().filter(|term| !matches!(term.kind, TokenKind::Mark(_))).count();
    let begins = |at: usize| at == 0 || matches!(statement[at - 1].kind, TokenKind::Mark(_));
    let opens = (0..statement.len()).any(|at| begins(at) && is(line, &statement[at], OPENINGS));
    let leaves_open = |term: &AnnotatedToken| {
        matches!(term.entry.func, Some(FunctionWord::If | FunctionWord::Doubt)) || term.is('?') || is(line, term, OPEN)
    };
    // The clause before the boundary introduces what follows: `the rule says: prune a7x2`.
    let clause = statement.rsplit(|term| matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '—' | '–'))).next();
    let reports = clause.is_some_and(|clause| clause.iter().any(|term| is(line, term, REPORTS)));
    let asks = |at: usize| {
        let entry = statement[at].entry;
        begins(at) && matches!(entry.verb, Some((_, Form::Base))) && entry.noun.is_none()
    };
    let is_purpose = is_purpose(line, statement);
    if words < MIN_WORDS
        || opens
        || reports && !is_purpose
        || statement.iter().any(leaves_open)
        || (0..statement.len()).any(asks)
    {
        return false;
    }
    let mut terms = statement.to_vec();
    let speech = intent::read(line, &mut terms, statement[statement.len() - 1].whole.end).speech;
    // `I read a7x2 twice`
    let reads = statement.len() > 1
        && statement[0].entry.func == Some(FunctionWord::Subject)
        && lexicon::is_unchanged(statement[1].text.of(line));
    (matches!(speech, Utterance::Remark | Utterance::Negated) || is_purpose || reads)
        && statement.iter().any(|term| is_said(line, term))
}

/// True for a purpose that names no node: `I need to know what the human asked for`.
fn is_purpose(line: &str, statement: &[AnnotatedToken]) -> bool {
    let words = |at: usize| statement.get(at).map_or("", |term| term.text.of(line));
    let starts = |at: usize| at == 0 || statement[at - 1].entry.func == Some(FunctionWord::And);
    let begins = (0..statement.len()).any(|at| starts(at) && PURPOSE.end(&words, at).is_some());
    let wonders = |term: &AnnotatedToken| {
        matches!(term.entry.func, Some(FunctionWord::What | FunctionWord::Why)) || is(line, term, "which where")
    };
    begins && statement.iter().any(wonders) && !statement.iter().any(|term| term.is_concrete())
}

/// True for the verb of a statement, or its subject.
fn is_said(line: &str, term: &AnnotatedToken) -> bool {
    let ends = |ending: &str| term.kind == TokenKind::Name && term.text.of(line).ends_with(ending);
    intent::is_finite(term)
        || matches!(term.entry.verb, Some((_, Form::Past | Form::Third)))
        || matches!(term.entry.func, Some(FunctionWord::Subject | FunctionWord::Do))
        || ends("s")
        || ends("ed")
}

fn is(line: &str, term: &AnnotatedToken, words: &str) -> bool {
    matches!(term.kind, TokenKind::Word | TokenKind::Name) && is_in(words, term.text.of(line))
}
