//! Corrections of tokens that depend on those around them.

use super::{
    AnnotatedToken, TokenKind, could_be_id,
    fixed_phrases::{drop_idle_words, read_continuations},
    is_number_id,
    nominal_request::make_imperative,
};
use crate::{
    arrow::{
        lexicon::{self, Entry, Form, FunctionWord, Noun, Prep, Verb},
        node_words,
        option_name::OptionName,
    },
    tools::TABLE,
};

/// Most tokens of a description and the mark behind it.
const MAX_DESCRIPTION: usize = 6;

/// Corrects tokens that depend on those around them: numbers that are ids, operations in the place of options.
pub(super) fn reclassify(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let last = terms.last().filter(|last| last.kind == TokenKind::Word && terms.len() > 3);
    let ends_in_tool = last.is_some_and(|last| TABLE.iter().any(|row| row.name == last.text.of(line)));
    // `pin:a7x2`: the operation itself stands where an option's name does.
    if let Some(first) = terms.first_mut()
        && matches!(first.kind, TokenKind::OptionName(_))
    {
        let entry = lexicon::look_up(first.text.of(line));
        // `label:"x" content-of:a7x2 stash`: the operation stands at the end.
        if entry.base().is_some() && !ends_in_tool {
            (first.kind, first.entry) = (TokenKind::Word, entry);
        }
    }
    drop_true_values(line, terms);
    said_before(line, terms);
    drop_idle_words(line, terms);
    make_imperative(line, terms);
    // `…, beginning at a7x2`
    if let Some(at) = (1..terms.len().saturating_sub(1)).find(|at| {
        let leads = matches!(terms[*at].entry.prep, Some(Prep::At | Prep::With | Prep::From));
        leads && !terms[at - 1].is_text() && terms[at - 1].text.of(line) == "beginning" && terms[at + 1].is_id()
    }) {
        terms[at].entry = lexicon::look_up("from");
        terms.remove(at - 1);
    }
    // `everything that's been pruned`
    for at in 1..terms.len().saturating_sub(1) {
        let next = &terms[at + 1];
        let is_passive = next.text.of(line) == "been" || matches!(next.entry.verb, Some((_, Form::Past)));
        let follows_noun = terms[at - 1].entry.noun.is_some();
        if is_passive && follows_noun && matches!(terms[at].text.of(line), "that's" | "that’s") {
            terms[at].entry = lexicon::look_up("that");
        }
    }
    // `"x" — post that as a reply`: the text before it.
    if terms.first().is_some_and(AnnotatedToken::is_text) {
        for at in 2..terms.len() {
            let object = terms[at - 1].entry.verb.is_some() || terms[at - 1].entry.prep == Some(Prep::With);
            let ends = terms.get(at + 1).is_none_or(|next| {
                matches!(next.kind, TokenKind::Mark(_)) || next.entry.prep.is_some_and(|prep| prep != Prep::Of)
            });
            if object && ends && matches!(terms[at].text.of(line), "that" | "this") {
                terms[at].entry = lexicon::look_up("it");
            }
        }
    }
    node_words::fold_references(line, terms);
    read_continuations(line, terms);
    bookmarked(line, terms);
    numbers(line, terms);
    appositions(line, terms);
    if id_for_word(line, terms) {
        (terms[1].kind, terms[1].entry) = (TokenKind::Name, Entry::default());
    }
    // `into one happy node: "…"`: no id is a sentence.
    for at in 2..terms.len() {
        if terms[at - 2].kind == TokenKind::OptionName(OptionName::Node)
            && terms[at - 1].is(':')
            && terms[at].is_text()
            && terms[at].text.of(line).contains(' ')
        {
            terms[at - 2].kind = TokenKind::Word;
        }
    }
}

/// Removes `before` at the end of a clause, where it means `earlier`: `where did we mention "x" before?`
fn said_before(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let is_adverb = |at: usize| {
        let ends = terms.get(at + 1).is_none_or(|next| matches!(next.kind, TokenKind::Mark('?' | '.' | ',' | ';')));
        let says = |term: &AnnotatedToken| matches!(term.entry.verb, Some((Verb::Respond | Verb::Recall, _)));
        ends && terms[at].kind == TokenKind::Word && terms[at].text.of(line) == "before" && terms[..at].iter().any(says)
    };
    if let Some(at) = (2..terms.len()).find(|at| is_adverb(*at)) {
        terms.remove(at);
    }
}

/// Removes the value of a switch that is on: `resume=true`, `failed: yes`.
fn drop_true_values(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let resumes = |at: &usize| {
        terms[*at - 1].kind == TokenKind::OptionName(OptionName::Resume)
            && matches!(terms[*at].text.of(line), "true" | "yes")
    };
    if let Some(at) = (1..terms.len()).find(resumes) {
        (terms[at - 1].kind, terms[at - 1].entry) = (TokenKind::Word, lexicon::look_up("resume"));
        terms.remove(at);
    }
    let is_value = |at: usize| {
        let switch = matches!(terms[at - 2].kind, TokenKind::Word) && !terms[at - 1].gap;
        let joins = terms[at - 1].is('=') || terms[at - 1].is(':');
        switch && joins && at > 2 && !terms[at].is_text() && matches!(terms[at].text.of(line), "true" | "True" | "yes")
    };
    if let Some(at) = (2..terms.len()).find(|at| is_value(*at)) {
        terms.drain(at - 1..=at);
        drop_true_values(line, terms);
    }
}

/// Makes `bookmarks` of `the nodes that have been bookmarked` and `the bookmarked nodes` at the end of a line.
fn bookmarked(line: &str, terms: &mut Vec<AnnotatedToken>) {
    const CLAUSE: &[&str] =
        &["that", "which", "that's", "are", "is", "were", "was", "has", "have", "had", "been", "we", "i", "you"];
    const NOUNS: &[&str] = &["nodes", "messages", "places", "everything", "all", "what"];
    let is = |at: usize, words: &[&str]| !terms[at].is_text() && words.contains(&terms[at].text.of(line));
    let marked = |at: &usize| is(*at, &["bookmarked", "starred"]);
    let shows = terms.iter().find_map(|term| term.entry.base());
    let Some(last) = terms.len().checked_sub(1).filter(|last| *last > 0) else { return };
    if !matches!(shows, Some(Verb::See | Verb::List | Verb::Get | Verb::Tell)) {
        return;
    }
    let noun = match Some(last).filter(marked) {
        Some(last) => (1..last).rfind(|at| !is(*at, CLAUSE)).filter(|at| is(*at, NOUNS)),
        None => Some(last - 1).filter(|at| marked(at) && *at > 0 && is(last, NOUNS)),
    };
    if let Some(noun) = noun {
        let end = terms[last].whole.end;
        terms.truncate(noun + 1);
        (terms[noun].kind, terms[noun].entry) = (TokenKind::Word, lexicon::look_up("bookmarks"));
        terms[noun].whole.end = end;
    }
}

/// Corrects numbers: ids of digits, ranges and hundreds of several tokens, words that look like numbers.
fn numbers(line: &str, terms: &mut Vec<AnnotatedToken>) {
    for at in 0..terms.len() {
        if matches!(terms[at].kind, TokenKind::Number(_)) && is_number_id(terms[at].text.of(line)) && !counts(terms, at)
        {
            terms[at].kind = TokenKind::Id;
        }
    }
    // `--lines 5:15`
    if let Some(at) = terms.windows(4).position(|four| {
        let counts = matches!(four[0].kind, TokenKind::OptionName(OptionName::Lines | OptionName::Turns))
            || matches!(four[0].entry.noun, Some(Noun::Line | Noun::Turn));
        counts && four[2].is(':') && !four[2].gap && !four[3].gap
    }) && let (TokenKind::Number(from), TokenKind::Number(to)) = (terms[at + 1].kind, terms[at + 3].kind)
    {
        let end = terms[at + 3];
        let range = &mut terms[at + 1];
        (range.kind, range.text.end, range.whole.end) = (TokenKind::Range(from, to), end.text.end, end.whole.end);
        terms.drain(at + 2..at + 4);
    }
    // `a second copy`: one more, and no number.
    for at in 1..terms.len() {
        if terms[at].entry.noun == Some(Noun::Copy) && terms[at - 1].text.of(line) == "second" {
            terms[at - 1].kind = TokenKind::Word;
        }
    }
    // `no. 5`: a number's sign, and no denial.
    for at in 2..terms.len() {
        let modifier = terms[at - 1].is('.') && !terms[at - 1].gap && matches!(terms[at].kind, TokenKind::Number(_));
        if modifier && terms[at - 2].text.of(line).eq_ignore_ascii_case("no") {
            terms[at - 2].entry = lexicon::look_up("the");
        }
    }
}

/// Removes what describes a node whose id follows it: `the tavern scene, a7x2, …`, `the second attempt (a7x2)`.
fn appositions(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let mut at = 1;
    while at + 2 < terms.len() {
        if let Some((id, closed)) = described_id(line, terms, at) {
            if closed {
                terms.remove(id + 1);
            }
            terms.drain(at..id);
        }
        at += 1;
    }
}

/// The place of the id that a description at `at` belongs to, and whether a mark closes it.
fn described_id(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<(usize, bool)> {
    let is = |at: usize, words: &[&str]| {
        terms.get(at).is_some_and(|term| words.iter().any(|word| term.text.of(line).eq_ignore_ascii_case(word)))
    };
    let leads = at == 1 && terms[0].entry.prep.is_some();
    if leads || !is(at, &["the", "my", "our", "your", "this", "that"]) {
        return None;
    }
    let mark = (at + 2..terms.len().min(at + MAX_DESCRIPTION)).find(|at| terms[*at].is(',') || terms[*at].is('('))?;
    let id = mark + 1;
    let is_word = |term: &AnnotatedToken| {
        let ordinal = matches!(term.kind, TokenKind::Number(_));
        let known = term.entry.prep.is_some() || term.entry.option.is_some() || term.entry.noun.is_some();
        ordinal || matches!(term.kind, TokenKind::Word | TokenKind::Name) && !known
    };
    let (words, noun) = (&terms[at + 1..mark - 1], &terms[mark - 1]);
    let is_message = matches!(
        noun.entry.noun,
        Some(Noun::Node | Noun::Alternative | Noun::Reply | Noun::Version | Noun::Start | Noun::End | Noun::Decision)
    );
    // `the opening`
    let is_ing = noun.entry.noun.is_none() && matches!(noun.entry.verb, Some((_, Form::Ing)));
    let is_name = is_message || is_ing || noun.entry == Entry::default();
    let next = terms.get(id + 1);
    let closed = next.is_some_and(|next| next.is(if terms[mark].is('(') { ')' } else { ',' }));
    let goes_on = next.is_none_or(|next| {
        next.is_text() || matches!(next.kind, TokenKind::Mark(_)) || next.entry.prep.is_some() && !is_message
    });
    let is_id = terms.get(id).is_some_and(AnnotatedToken::is_id);
    (is_id && is_name && words.iter().all(is_word) && (closed || goes_on)).then_some((id, closed))
}

/// True if the number at `at` counts something, or says where: nothing else makes a number of four digits one.
fn counts(terms: &[AnnotatedToken], at: usize) -> bool {
    let unit = |term: &AnnotatedToken| {
        matches!(
            term.entry.noun,
            Some(Noun::Token | Noun::Line | Noun::Turn | Noun::Character | Noun::Word | Noun::Level | Noun::Maximum)
        )
    };
    let before = at.checked_sub(1).map(|before| &terms[before]);
    before.is_some_and(|before| {
        unit(before)
            || matches!(
                before.kind,
                TokenKind::OptionName(_) | TokenKind::Flag | TokenKind::Mark(':' | '=' | '-') | TokenKind::Number(_)
            )
            || matches!(before.entry.prep, Some(Prep::At | Prep::By | Prep::About | Prep::Through))
            || before.entry.func == Some(FunctionWord::Adjective) && before.entry.prep.is_none()
    }) || terms.get(at + 1).is_some_and(unit)
        || terms.get(at + 1..).is_some_and(|rest| rest.iter().take(3).any(unit))
            && !terms[at..].iter().any(AnnotatedToken::is_id)
}

/// True if the second term is rather an id than the word it looks like: `edit dead "…"`. It stands where the canonical
/// form has an id, and as a participle or an adjective it has nothing to go with there. An id that is none is answered
/// with an error; a word that is passed over makes another node's command of the line.
fn id_for_word(line: &str, terms: &[AnnotatedToken]) -> bool {
    let [verb, word, rest @ ..] = terms else { return false };
    let entry = word.entry;
    let idle = entry.noun.is_none() && entry.prep.is_none() && entry.option.is_none() && entry.number.is_none();
    let participle = entry.func.is_none() && matches!(entry.verb, Some((_, Form::Past)));
    word.kind == TokenKind::Word
        && idle
        && (participle || entry.func == Some(FunctionWord::Adjective))
        && could_be_id(word.text.of(line))
        && rest.first().is_none_or(|next| {
            next.is_text()
                || matches!(next.kind, TokenKind::OptionName(_) | TokenKind::Flag)
                || matches!(next.entry.prep, Some(Prep::To | Prep::From | Prep::Under))
        })
        && TABLE.iter().any(|row| row.name == verb.text.of(line) && row.forms.iter().any(|form| form.contains(" ID")))
}
