//! Turns of speech around a request: how one asks politely, what one adds to a verb, which questions a command answers.

mod politeness;
mod questions;
mod second_verb;

use self::politeness::{DOUBTFUL, PLAIN, POLITE, opening};
pub(super) use self::{
    politeness::{LEAVE, LEISURE, leaves_open},
    questions::question,
    second_verb::goes_with,
};
use super::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Verb},
};

/// Properties of the request that follows a polite opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Politeness {
    /// It can only be a request.
    pub(super) polite: bool,
    /// It is only thought about.
    pub(super) doubtful: bool,
    /// The verb that follows may stand in `-ing`.
    pub(super) gerund: bool,
}

/// Beginnings that say what shall not be done, or not yet.
const PROHIBITIONS: &[(&str, &str)] = &[
    ("hold", "off"),
    ("lay", "off"),
    ("put", "off"),
    ("back", "off"),
    ("steer", "clear"),
    ("stay", "away"),
    ("keep", "away"),
    ("keep", "from"),
    ("think", "twice"),
    ("think", "better"),
    ("hold", "back"),
    ("hang", "on"),
    ("come", "on"),
    ("remember", "to"),
    ("next", "time"),
    ("as", "soon"),
    ("as", "long"),
    // What comes next in a film.
    ("cut", "to"),
];

/// True if `terms` begin with a verb that says what shall not be done: `hold off on pruning a7x2`.
pub(super) fn is_prohibition(line: &str, terms: &[AnnotatedToken]) -> bool {
    PROHIBITIONS.iter().any(|(verb, particle)| begins(line, terms, &[verb, particle]))
}

fn word<'a>(line: &'a str, terms: &[AnnotatedToken], at: usize) -> &'a str {
    terms.get(at).map_or("", |term| term.text.of(line))
}

fn func(terms: &[AnnotatedToken], at: usize) -> Option<FunctionWord> {
    terms.get(at).filter(|term| matches!(term.kind, TokenKind::Word)).and_then(|term| term.entry.func)
}

fn verb(terms: &[AnnotatedToken], at: usize) -> Option<(Verb, Form)> {
    terms.get(at).filter(|term| matches!(term.kind, TokenKind::Word)).and_then(|term| term.entry.verb)
}

fn begins(line: &str, terms: &[AnnotatedToken], phrase: &[&str]) -> bool {
    phrase.iter().enumerate().all(|(at, part)| word(line, terms, at).eq_ignore_ascii_case(part))
}

/// The politeness that `terms` begin with: their number and their effect.
pub(super) fn padding(line: &str, terms: &[AnnotatedToken]) -> Option<(usize, Politeness)> {
    let first = terms.first()?;
    if !matches!(first.kind, TokenKind::Word | TokenKind::Name) {
        return None;
    }
    let second = word(line, terms, 1);
    let is_request = |at: usize| verb(terms, at).is_some_and(|(_, form)| form == Form::Base);
    if let Some((length, padding)) = opening(|at| word(line, terms, at))
        // `take a look`, but not `have a bookmark`.
        && (length != 2 || !matches!(second, "a" | "another") || is_request(2) && terms[2].entry.noun.is_none())
        // `help me with merge` is no politeness.
        && (length != 2 || !word(line, terms, 0).eq_ignore_ascii_case("help") || is_request(2))
    {
        return Some((length, padding));
    }
    // `take a proper look`, `do a deep web search`
    if ["take", "have", "do", "run"].iter().any(|light| begins(line, terms, &[light, "a"])) {
        let at = (3..5).find(|at| matches!(verb(terms, *at), Some((Verb::See | Verb::Search, Form::Base))));
        let describes = |term: &AnnotatedToken| !(term.is_id() || term.is_text() || term.entry.verb.is_some());
        if let Some(at) = at.filter(|at| terms[2..*at].iter().all(describes))
            && (at > 3 || matches!(terms[2].entry.noun, None | Some(Noun::Level)))
        {
            return Some((at, PLAIN));
        }
    }
    // `hang on, …` only calls for attention; `hang on to a7x2` does not.
    let attends = ["hold", "hang"].iter().any(|w| word(line, terms, 0).eq_ignore_ascii_case(w));
    if attends && word(line, terms, 1) == "on" && terms.get(2).is_some_and(|next| next.is(',')) {
        return Some((3, PLAIN));
    }
    if word(line, terms, 0).eq_ignore_ascii_case("to") && verb(terms, 1).is_some_and(|(_, form)| form == Form::Base) {
        return Some((1, PLAIN));
    }
    // `must go to a7x2`
    if word(line, terms, 0).eq_ignore_ascii_case("must") && verb(terms, 1).is_some_and(|(_, form)| form == Form::Base) {
        return Some((1, POLITE));
    }
    match first.entry.func {
        // `could you please`, `may I`; `should we` is a question.
        Some(FunctionWord::Modal)
            if func(terms, 1) == Some(FunctionWord::Subject)
                && !is_modal_question(word(line, terms, 0), word(line, terms, 1)) =>
        {
            let mut at = 2;
            while func(terms, at) == Some(FunctionWord::Pad) {
                at += 1;
            }
            Some((at, POLITE))
        }
        Some(FunctionWord::Subject | FunctionWord::Would) => subject(line, terms),
        // `do show me`
        Some(FunctionWord::Do)
            if word(line, terms, 0).eq_ignore_ascii_case("do")
                && verb(terms, 1).is_some_and(|(_, f)| f == Form::Base) =>
        {
            Some((1, POLITE))
        }
        _ => None,
    }
}

/// `should we`, `shall I`, `could anyone`: a question, not a request.
fn is_modal_question(modal: &str, subject: &str) -> bool {
    modal.eq_ignore_ascii_case("should")
        || modal.eq_ignore_ascii_case("ought")
        || modal.eq_ignore_ascii_case("shall") && subject.eq_ignore_ascii_case("i")
        || matches!(subject, "anyone" | "nobody" | "everyone" | "they")
}

/// `I'd like to`, `we should`, `I want`: what a first person says before what it wants.
fn subject(line: &str, terms: &[AnnotatedToken]) -> Option<(usize, Politeness)> {
    let who = word(line, terms, 0).to_ascii_lowercase();
    if !matches!(who.as_str(), "i" | "we" | "you" | "i'd" | "we'd" | "i'll") {
        return None;
    }
    let skip = |mut at: usize| {
        while matches!(func(terms, at), Some(FunctionWord::Pad)) && terms[at].entry.verb.is_none()
            || terms.get(at).is_some_and(|term| term.kind == TokenKind::Name && term.text.of(line).ends_with("ly"))
        {
            at += 1;
        }
        at
    };
    let mut at = skip(1);
    // `I think I'd like to`: how sure one is of what one wants changes nothing of it.
    if matches!(word(line, terms, at).to_ascii_lowercase().as_str(), "think" | "guess" | "believe" | "reckon")
        && let Some(rest) = terms.get(at + 1..)
        && matches!(func(rest, 0), Some(FunctionWord::Subject | FunctionWord::Would))
    {
        return subject(line, rest).map(|(length, padding)| (at + 1 + length, padding));
    }
    // `I'd rather like to`
    if word(line, terms, at) == "rather" && wanting(word(line, terms, at + 1)) {
        at += 1;
    }
    let mut padding = PLAIN;
    if func(terms, at) == Some(FunctionWord::Modal) {
        match word(line, terms, at).to_ascii_lowercase().as_str() {
            "might" | "may" | "could" | "can" => padding = DOUBTFUL,
            _ => {}
        }
        at = skip(at + 1);
    } else if who == "i'll" {
    } else if who == "i'd" || who == "we'd" {
        // `I'd leave it out` is an opinion, `I'd like` a wish.
        if verb(terms, at).is_none_or(|(verb, _)| verb != Verb::Get) {
            padding = DOUBTFUL;
        }
    } else if states_step(terms, at) {
        // `next we copy a7x2 under the root`
        return Some((at, PLAIN));
    } else if verb(terms, at).is_none_or(|(verb, form)| !matches!(verb, Verb::Get | Verb::Decide) || form != Form::Base)
    {
        return None;
    }
    // `I have pruned a7x2`; of `I have read a7x2` the form is also that of a request.
    let done = verb(terms, skip(at + 1)).is_some_and(|(verb, form)| {
        let unchanged = matches!(verb, Verb::Read | Verb::Split | Verb::Put | Verb::Respond);
        form == Form::Past || unchanged && terms[skip(at + 1)].entry.noun.is_none()
    });
    let reports = at == skip(1) && terms.get(at + 1..).is_some_and(reports_state);
    if word(line, terms, at).eq_ignore_ascii_case("have") && (done || reports) {
        return None;
    }
    let wants = verb(terms, at) == Some((Verb::Get, Form::Base)) && wanting(word(line, terms, at));
    if wants {
        let mut after = skip(at + 1);
        if word(line, terms, after) == "that" && func(terms, after + 1) == Some(FunctionWord::Subject) {
            after += 1;
        }
        if func(terms, after) == Some(FunctionWord::Subject) {
            after += 1;
        }
        let to = word(line, terms, after).eq_ignore_ascii_case("to");
        let infinitive = skip(after + usize::from(to));
        if to
            || verb(terms, infinitive).is_some_and(|(_, form)| form == Form::Base)
                && terms[infinitive].entry.func.is_none()
        {
            return Some((infinitive, POLITE));
        }
        // `I like a7x2` asks for nothing.
        let likes = matches!(word(line, terms, at), "like" | "love" | "wish")
            && at == skip(1)
            && matches!(who.as_str(), "i" | "we" | "you");
        return (!likes || word(line, terms, at) == "wish").then_some((at, POLITE));
    }
    verb(terms, at).filter(|(_, form)| *form == Form::Base).map(|_| (at, padding))
}

/// True for the object and the participle of `we have a7x2 already excluded`.
fn reports_state(object: &[AnnotatedToken]) -> bool {
    let ends = |term: &&AnnotatedToken| !matches!(term.kind, TokenKind::Mark(_));
    let is_past =
        |term: &AnnotatedToken| term.kind == TokenKind::Word && matches!(term.entry.verb, Some((_, Form::Past)));
    object.first().is_some_and(AnnotatedToken::is_id) && object.iter().take_while(ends).any(is_past)
}

/// True if a verb at `at` and its object say a step that is taken now: `we copy a7x2`.
fn states_step(terms: &[AnnotatedToken], at: usize) -> bool {
    let acts = |(verb, form): (Verb, Form)| {
        form == Form::Base
            && !matches!(
                verb,
                Verb::Get | Verb::Decide | Verb::Think | Verb::See | Verb::Find | Verb::Recall | Verb::Keep
            )
    };
    let ends = |term: &&AnnotatedToken| !matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '?' | '—' | '–'));
    let object = |term: &AnnotatedToken| {
        term.is_id()
            || term.is_text()
            || matches!(term.kind, TokenKind::File | TokenKind::Number(_))
            || matches!(term.entry.noun, Some(Noun::Parent | Noun::Root | Noun::Leaf | Noun::Next | Noun::Previous))
            || term.entry.noun == Some(Noun::Context)
    };
    verb(terms, at).is_some_and(acts)
        && terms[at].entry.func.is_none()
        && terms[at + 1..].iter().take_while(ends).any(object)
        && !terms.iter().any(|term| term.is('?') || term.entry.func == Some(FunctionWord::Doubt))
}

fn wanting(word: &str) -> bool {
    ["want", "need", "like", "love", "wish"].iter().any(|w| w.eq_ignore_ascii_case(word))
}

/// True if `terms` express a wish: `I want three of them`.
pub(super) fn wants(line: &str, terms: &[AnnotatedToken]) -> bool {
    // `we may want them in the end`
    let is_open = |at: usize| matches!(word(line, terms, at), "may" | "might");
    padding(line, terms)
        .is_some_and(|(length, _)| (0..=length).any(|at| wanting(word(line, terms, at))) && !(0..=length).any(is_open))
}

/// True if `terms` express a wish, or begin with a polite request: `I would ask you to`.
pub(super) fn asks_politely(line: &str, terms: &[AnnotatedToken]) -> bool {
    wants(line, terms) || padding(line, terms).is_some_and(|(length, padding)| length > 3 && padding.polite)
}

/// True if a number behind the verb says how often or how many.
pub(super) const fn counts(verb: Verb) -> bool {
    matches!(verb, Verb::Continue | Verb::Carry | Verb::Undo | Verb::Redo | Verb::Make | Verb::Add | Verb::Todo)
}

/// True if the verb takes words as they stand after a colon.
pub(super) const fn bears_content(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Annotate
            | Verb::Respond
            | Verb::Edit
            | Verb::Merge
            | Verb::Stash
            | Verb::Decide
            | Verb::Todo
            | Verb::Write
            | Verb::Delegate
            | Verb::Hand
            | Verb::Search
            | Verb::Think
            | Verb::Put
            | Verb::Add
            | Verb::Make
            | Verb::Leave
            | Verb::Record
            | Verb::Replace
            | Verb::Find
            | Verb::Recall
            | Verb::Grep
            | Verb::Bookmark
    )
}

/// True if the verb takes a clause: `show me how it looks`.
pub(super) const fn embeds(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::See
            | Verb::Get
            | Verb::List
            | Verb::Compare
            | Verb::Check
            | Verb::Find
            | Verb::Help
            | Verb::Ask
            | Verb::Tell
    )
}

/// True if the verb asks for information.
pub(super) const fn asks_for_information(verb: Verb) -> bool {
    embeds(verb) || matches!(verb, Verb::Remind)
}

/// `which documents`: true if `terms` ask for a list of what belongs to no node.
pub(super) fn asks_which(line: &str, terms: &[AnnotatedToken]) -> bool {
    let kind = word(line, terms, 1);
    matches!(word(line, terms, 0).to_ascii_lowercase().as_str(), "which" | "what")
        && matches!(kind, "documents" | "docs" | "files" | "agents" | "trees" | "bookmarks" | "changes")
}

/// `if you can`: a condition that is none.
pub(super) fn is_polite_condition(line: &str, terms: &[AnnotatedToken]) -> bool {
    let length = terms.iter().take_while(|term| !matches!(term.kind, TokenKind::Mark(_))).count();
    word(line, terms, 0).eq_ignore_ascii_case("if")
        && !terms.iter().any(|term| matches!(term.text.of(line), "otherwise" | "else"))
        && terms.get(1..length).is_some_and(|condition| leaves_open(line, condition, LEAVE))
}

/// True if `terms` end in what makes a participle a request: `should be`, `is to be`, `could a7x2 be`.
pub(super) fn is_passive_request(line: &str, terms: &[AnnotatedToken]) -> bool {
    let Some(be) = terms.iter().rposition(|term| matches!(word(line, std::slice::from_ref(term), 0), "be" | "is"))
    else {
        return false;
    };
    let near = terms.len() - be <= 2;
    let asks = terms[..be].iter().enumerate().any(|(at, term)| {
        let text = term.text.of(line).to_ascii_lowercase();
        match text.as_str() {
            "that" if terms[be].text.of(line) == "is" => {
                at > 0 && matches!(terms[at - 1].text.of(line), "want" | "wish" | "like" | "sure")
                    || at > 1 && begins(line, &terms[at - 2..], &["to", "it"])
            }
            _ if terms[be].text.of(line) == "is" => false,
            "should" | "must" | "to" | "please" | "shall" | "let" => be - at <= 4 || text == "let",
            "can" | "could" | "may" => {
                at == 0
                    || text == "can"
                        && be == at + 1
                        && terms[..at].iter().any(|term| term.is_id() || term.is_text() || term.kind == TokenKind::File)
            }
            "that" => {
                at > 0
                    && matches!(
                        terms[at - 1].text.of(line),
                        "ask" | "request" | "propose" | "suggest" | "wish" | "move" | "recommend" | "direct"
                    )
            }
            _ => false,
        }
    });
    near && asks
}
