//! Intent of a line: request, negation, question, condition or comment, and the position of the request.
//!
//! An operation's name is also an English noun and verb, so a line that holds one need not ask for it: it may deny it
//! (`don't prune a7x2`), tell of it (`pruned b3k9`), wonder (`was it pruned?`), suppose, or use the word for
//! something else (`a list would kill the rhythm`). What tells them apart is grammar, not vocabulary: whether a verb
//! stands in its base form where an imperative stands, who is the subject, tense, modality, negation. So the line is
//! cut into clauses at its marks and conjunctions; one of them must ask, and only one; a clause that tells (a reason, a
//! remark on the node) may go before or after and is left out of the arguments.

mod clause;
mod clause_start;
mod locate;
mod predicates;
mod rejections;
mod verb_final;

use self::{clause::Clause, predicates::is_finite};
use super::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::Span,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    phrases,
};

/// Type of utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Utterance {
    /// It asks for something.
    Request,
    /// It says what shall not be done.
    Negated,
    /// It supposes something.
    Hypothetical,
    /// It asks whether or why, which no command answers.
    Question,
    /// It asks for two things.
    Several,
    /// It leaves a choice.
    Choice,
    /// It says something; no verb stands where one asks.
    Remark,
}

/// A term's place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClauseRole {
    /// It holds the line together, or is only polite.
    Skip,
    /// It stands before the clause that asks.
    Before,
    /// It is the verb.
    Verb,
    /// It belongs to what is asked.
    Main,
    /// As [`ClauseRole::Main`], inside a clause that describes a noun: `the branch that starts at a7x2`.
    Relative,
    /// It says what for; the arguments go on behind the next mark.
    Aside,
    /// It belongs to a reason or a remark.
    Tail,
}

/// A line as speech.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    pub(super) speech: Utterance,
    /// The verb's place, and what it does.
    pub(super) verb: Option<(usize, Verb)>,
    pub(super) zones: Vec<ClauseRole>,
    /// Content without quotes, after a colon.
    pub(super) raw: Option<Span>,
    /// True if it is only thought about: `maybe`, `we could`.
    pub(super) doubtful: bool,
    /// True if it only names a thing, without a verb.
    pub(super) nominal: bool,
    /// Index of the token that decided the utterance type.
    pub(super) at: usize,
}

/// Reading of the start of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClauseStart {
    Request(usize, Verb),
    Utterance(Utterance),
    /// It says something, or is a part of a line.
    Other,
}

/// Reads a line's terms.
pub(super) struct IntentParser<'a> {
    line: &'a str,
    terms: &'a mut Vec<AnnotatedToken>,
    zones: Vec<ClauseRole>,
    raw: Option<Span>,
    doubtful: bool,
    polite: bool,
    nominal: bool,
    questioned: bool,
    end: usize,
}

/// Finds what `terms` do. Words that are read as slips of verbs are changed in place.
pub(super) fn read(line: &str, terms: &mut Vec<AnnotatedToken>, end: usize) -> Intent {
    let zones = vec![ClauseRole::Skip; terms.len()];
    let mut reader = IntentParser {
        line,
        terms,
        zones,
        raw: None,
        doubtful: false,
        polite: false,
        nominal: false,
        questioned: false,
        end,
    };
    let (speech, verb, at) = reader.whole();
    let IntentParser { zones, raw, doubtful, nominal, .. } = reader;
    Intent { speech, verb, zones, raw, doubtful, nominal, at }
}

impl IntentParser<'_> {
    /// Reads on from the verb to the end of the line.
    fn request(&mut self, verb: usize, group: Verb) -> (Utterance, Option<(usize, Verb)>, usize) {
        self.zones[verb] = ClauseRole::Verb;
        let mut zone = ClauseRole::Main;
        let mut embedded = self.questioned;
        let asked = Some((verb, group));
        let mut at = verb + 1;
        if let Some((second, other)) = self.light_verb_only(verb, group) {
            self.zones[..second].fill(ClauseRole::Before);
            return self.request(second, other);
        }
        while at < self.terms.len() {
            let term = self.terms[at];
            // `usage: annotate ID "text"`, `think of a7x2 as a hinge`
            let shows = term.is(':') && at == verb + 1 && matches!(self.text_at(verb), "usage" | "Usage" | "man");
            let likens = group == Verb::Think && term.entry.prep == Some(Prep::As);
            if shows || likens {
                return (Utterance::Remark, asked, at);
            }
            // `undo (v.): to reverse`
            if term.is(':') && self.terms[at - 1].is(')') && self.terms[verb + 1].is('(') && !self.has_argument(at) {
                return (Utterance::Remark, asked, at);
            }
            if term.is(':')
                && zone != ClauseRole::Tail
                && phrases::bears_content(group)
                && self.begins_raw(at + 1, verb)
            {
                // `TODO: decide whether to prune it`, as comments in code say it
                if at == verb + 1 && matches!(self.text_at(verb), "TODO" | "NOTE") {
                    return (Utterance::Remark, asked, at);
                }
                self.raw = self.terms.get(at + 1).map(|next| Span { start: next.whole.start, end: self.end });
                return (Utterance::Request, asked, verb);
            }
            if self.is_boundary(at) {
                // `prune a7x2?` wonders, `could you prune a7x2?` does not.
                self.doubtful |= term.is('?')
                    && zone != ClauseRole::Tail
                    && !self.polite
                    && !self.questioned
                    && !phrases::embeds(group)
                    && group != Verb::Think;
                let or = term.entry.func == Some(FunctionWord::Or);
                let vague = matches!(self.text_at(at + 1), "so" | "less" | "fewer" | "more");
                if or && !vague && zone != ClauseRole::Tail {
                    return (Utterance::Choice, asked, at);
                }
                match self.segment(at + 1, group, embedded) {
                    // `keep a7x2 in sight, pin it`: the name of the operation is what counts.
                    Clause::Request(second, other)
                        if zone != ClauseRole::Tail && self.is_said_again(asked, second, other) =>
                    {
                        self.zones[..second].fill(ClauseRole::Before);
                        return self.request(second, other);
                    }
                    Clause::Request(second, Verb::Help) if group == Verb::Help && self.names_tool(second + 1) => {
                        return (Utterance::Several, asked, second);
                    }
                    Clause::Request(second, other)
                        if zone != ClauseRole::Tail && self.repeats(asked, second, other) =>
                    {
                        // `what does a7x2 say? open it in full`
                        let tells = |at| {
                            matches!(self.func_at(at), Some(FunctionWord::If | FunctionWord::What | FunctionWord::Why))
                        };
                        let looks = phrases::embeds(group) && phrases::embeds(other);
                        let looks = looks && !(second..self.terms.len()).any(tells);
                        zone = if looks { ClauseRole::Main } else { ClauseRole::Tail };
                        at = second;
                    }
                    Clause::Contrast(until) => {
                        self.zones[at..until].fill(ClauseRole::Skip);
                        at = until;
                        continue;
                    }
                    Clause::Statement if self.attributes(at + 1) => return (Utterance::Remark, asked, at),
                    Clause::Negation if zone != ClauseRole::Tail => return (Utterance::Negated, asked, at),
                    Clause::Statement | Clause::Negation => zone = ClauseRole::Tail,
                    Clause::Request(second, Verb::Get | Verb::Make) if !self.has_argument(second) => {
                        zone = ClauseRole::Tail
                    }
                    // `leave this behind and go to the root`
                    Clause::Request(second, other) if group == Verb::Leave && self.text_at(at - 1) == "behind" => {
                        self.zones[..second].fill(ClauseRole::Before);
                        return self.request(second, other);
                    }
                    Clause::Request(second, other)
                        if phrases::goes_with(group, other, self.line, &self.terms[second..]) =>
                    {
                        zone = ClauseRole::Main;
                        self.zones[second] = ClauseRole::Main;
                        at = second + 1;
                        continue;
                    }
                    // `see where a7x2 goes, try four continuations`
                    Clause::Request(second, other @ (Verb::Try | Verb::Continue | Verb::Get | Verb::Make))
                        if group == Verb::See
                            && matches!(self.func_at(verb + 1), Some(FunctionWord::Sub | FunctionWord::What))
                            && other != group
                            && !self.terms[second..].iter().any(AnnotatedToken::is_id) =>
                    {
                        self.zones[..second].fill(ClauseRole::Before);
                        return self.request(second, other);
                    }
                    // `I love a7x2, bookmark it`: the first was only a beginning.
                    Clause::Request(second, other)
                        if (group == Verb::Get || other == group) && self.only_points(second)
                            || self.text_at(verb).eq_ignore_ascii_case("let") && self.only_points(second)
                            || self.is_named_first(verb, at) && self.only_points(second)
                            || matches!(
                                group,
                                Verb::Take
                                    | Verb::Get
                                    | Verb::Summarise
                                    | Verb::Lift
                                    | Verb::Keep
                                    | Verb::Recall
                                    | Verb::Respond
                            ) && self.func_at(second + 1) == Some(FunctionWord::It) =>
                    {
                        // `I'd say a7x2 belongs there, move it`
                        self.doubtful &= group != Verb::Respond;
                        self.zones[..second].fill(ClauseRole::Before);
                        return self.request(second, other);
                    }
                    Clause::Request(second, _) => return (Utterance::Several, asked, second),
                    Clause::Desire(from) => {
                        zone = ClauseRole::Relative;
                        at = from;
                        continue;
                    }
                    Clause::Comment if zone != ClauseRole::Tail => return (Utterance::Remark, asked, at),
                    Clause::Comment => zone = ClauseRole::Tail,
                    Clause::Condition => return (Utterance::Hypothetical, asked, at),
                    Clause::Arguments(from) => {
                        // Behind a mark, words that name no argument and are not known tell something.
                        let marked = matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '!' | '—' | '–' | '-'));
                        let tells =
                            marked && zone != ClauseRole::Tail && self.has_no_argument(from) && self.is_strange(from);
                        let aside = term.is('(') && self.has_no_argument(at + 1) || self.names_again(at, from);
                        if tells {
                            zone = ClauseRole::Aside;
                        } else if aside {
                            zone = ClauseRole::Relative;
                        } else if matches!(zone, ClauseRole::Relative | ClauseRole::Aside) {
                            zone = ClauseRole::Main;
                        }
                        at = from;
                        continue;
                    }
                }
                at += 1;
                continue;
            }
            // `for reference`, `to check its ending`: why, not what.
            let purpose = match term.entry.prep {
                Some(Prep::For) => !matches!(group, Verb::Search | Verb::Find | Verb::Grep | Verb::Recall | Verb::See),
                Some(Prep::To) => {
                    self.verb_at(at + 1).is_some_and(|(_, form)| form == Form::Base)
                        && !matches!(group, Verb::Get | Verb::Ask | Verb::Tell)
                }
                Some(Prep::Before) => true,
                _ => false,
            };
            if purpose
                && at > verb + 1
                && zone == ClauseRole::Main
                && self.has_no_argument(at + 1)
                && term.kind == TokenKind::Word
                && !self.terms[at + 1..]
                    .iter()
                    .take(3)
                    .any(|next| matches!(next.entry.noun, Some(Noun::Context | Noun::Stash | Noun::Todo)))
            {
                zone = ClauseRole::Aside;
            }
            if matches!(zone, ClauseRole::Tail | ClauseRole::Aside) {
                self.zones[at] = zone;
                at += 1;
                continue;
            }
            let chained = term.is('&') && self.terms.get(at + 1).is_some_and(|next| next.is('&'));
            if (term.is('|') || chained) && zone != ClauseRole::Tail {
                return (Utterance::Several, asked, at);
            }
            // What stands behind `name:` is a value, whatever it says.
            if matches!(self.terms[at - 1].kind, TokenKind::OptionName(_)) || self.is_limit(at) {
                self.zones[at] = zone;
                at += 1;
                continue;
            }
            // `think about whether …`: what is thought of is anything.
            if group == Verb::Think
                && at == verb + 1
                && !(self.text_at(at) == "of" && self.text_at(at + 2) == "as")
                && self.asks_no_more(at)
            {
                self.doubtful |= (at..self.terms.len()).any(|at| self.func_at(at) == Some(FunctionWord::Doubt));
                return (Utterance::Request, asked, verb);
            }
            // `the node we're on`
            if matches!(self.text_at(at), "we're" | "i'm" | "I'm")
                && self.func_at(at - 1).is_none()
                && self.terms[at - 1].entry.noun.is_some()
                && matches!(
                    self.terms.get(at + 1).and_then(|next| next.entry.prep),
                    Some(Prep::On | Prep::At | Prep::In)
                )
            {
                self.zones[at..at + 2].fill(zone);
                at += 2;
                continue;
            }
            match (term.kind, term.entry.func) {
                (TokenKind::Word, Some(FunctionWord::Sub))
                    if self.terms[at + 1..].iter().take(2).any(|t| {
                        t.is_text()
                            || matches!(t.kind, TokenKind::Number(_))
                            || matches!(t.entry.noun, Some(Noun::Depth | Noun::Turn | Noun::Level))
                    }) => {}
                (TokenKind::Word, Some(FunctionWord::Sub)) if embedded || phrases::embeds(group) && at <= verb + 2 => {
                    embedded = true
                }
                // `move a7x2 so that it hangs under b3k9`
                (TokenKind::Word, Some(FunctionWord::Sub)) if group == Verb::Move && !self.has_no_argument(at + 1) => {
                    zone = ClauseRole::Relative;
                }
                // `continue until a7x2 is resolved`
                (TokenKind::Word, Some(FunctionWord::Sub))
                    if matches!(self.text_at(at), "until" | "till") && group == Verb::Continue =>
                {
                    return (Utterance::Hypothetical, asked, at);
                }
                (TokenKind::Word, Some(FunctionWord::Sub)) => zone = self.subordinate(at),
                (TokenKind::Word, Some(FunctionWord::What)) => embedded = true,
                (TokenKind::Word, Some(FunctionWord::Doubt)) => self.doubtful = true,
                (TokenKind::Word, _) if zone == ClauseRole::Main && self.is_deferred(at, group) => {
                    return (Utterance::Hypothetical, asked, at);
                }
                (TokenKind::Word, Some(FunctionWord::If)) => {
                    if !phrases::is_polite_condition(self.line, &self.terms[at..]) {
                        return (Utterance::Hypothetical, asked, at);
                    }
                    zone = ClauseRole::Tail;
                }
                (TokenKind::Word, Some(FunctionWord::Not)) if self.denies(at, group) => {
                    return (Utterance::Negated, asked, at);
                }
                (TokenKind::Word, Some(FunctionWord::Subject))
                    if matches!(self.text_at(at), "someone" | "somebody" | "anyone") => {}
                (TokenKind::Word, Some(FunctionWord::Subject | FunctionWord::Clause | FunctionWord::Would))
                    if !embedded && zone == ClauseRole::Main =>
                {
                    zone = ClauseRole::Tail;
                }
                // `now that the chapter is done`
                (TokenKind::Word, Some(FunctionWord::Det))
                    if self.text_at(at) == "that" && matches!(self.text_at(at - 1), "now" | "given" | "seeing") =>
                {
                    zone = ClauseRole::Tail;
                }
                // `as it stands`, `as we said`
                (TokenKind::Word, _)
                    if matches!(self.text_at(at), "as" | "like")
                        && zone == ClauseRole::Main
                        && matches!(self.func_at(at + 1), Some(FunctionWord::Subject | FunctionWord::It))
                        && !self.ends(at + 2)
                        && self.has_no_argument(at + 1) =>
                {
                    zone = ClauseRole::Aside;
                }
                (TokenKind::Word, Some(FunctionWord::Det))
                    if self.text_at(at) == "that" && self.is_finite_at(at + 1) =>
                {
                    zone = ClauseRole::Relative;
                }
                _ if group == Verb::Todo
                    && is_finite(&term)
                    && !matches!(self.text_at(at), "was" | "were" | "had" | "got")
                    && (self.func_at(at + 1) == Some(FunctionWord::Do)
                        || matches!(self.verb_at(at + 1), Some((Verb::Finish, Form::Past)))) => {}
                // `every version a7x2 has been through`
                _ if is_finite(&term)
                    && phrases::embeds(group)
                    && (self.is_contact_clause(at) || self.func_at(at - 1) == Some(FunctionWord::It)) =>
                {
                    zone = ClauseRole::Relative;
                }
                _ if is_finite(&term) && !embedded && zone == ClauseRole::Main && at > verb && !self.is_gloss(at) => {
                    return (Utterance::Remark, asked, at);
                }
                _ => {}
            }
            self.zones[at] = zone;
            at += 1;
        }
        (Utterance::Request, asked, verb)
    }
}
