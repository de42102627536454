//! What a line does as speech: whether it asks for something now, and which of its words ask.
//!
//! An operation's name is also an English noun and verb, so a line that holds one need not ask for it: it may deny it
//! (`don't prune a7x2`), tell of it (`pruned b3k9`), wonder (`was it pruned?`), suppose, or use the word for
//! something else (`a list would kill the rhythm`). What tells them apart is grammar, not vocabulary: whether a verb
//! stands in its base form where an imperative stands, who is the subject, tense, modality, negation. So the line is
//! cut into clauses at its marks and conjunctions; one of them must ask, and only one; a clause that tells (a reason, a
//! remark on the node) may go before or after and is left out of the arguments.

mod behind;
mod clause;
mod head;
mod look;
mod stance;
mod whole;

use self::clause::Segment;
use super::{
    lex::Bytes,
    lexicon::{Form, Func, Noun, Prep, Verb},
    phrases,
    terms::{Shape, Term},
};

/// What a line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
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
pub(super) enum Zone {
    /// It holds the line together, or is only polite.
    Skip,
    /// It stands before the clause that asks.
    Before,
    /// It is the verb.
    Verb,
    /// It belongs to what is asked.
    Main,
    /// As [`Zone::Main`], inside a clause that describes a noun: `the branch that starts at a7x2`.
    Relative,
    /// It says what for; the arguments go on behind the next mark.
    Aside,
    /// It belongs to a reason or a remark.
    Tail,
}

/// A line as speech.
#[derive(Debug, Clone)]
pub(super) struct Act {
    pub(super) speech: Speech,
    /// The verb's place, and what it does.
    pub(super) verb: Option<(usize, Verb)>,
    pub(super) zones: Vec<Zone>,
    /// Content without quotes, after a colon.
    pub(super) raw: Option<Bytes>,
    /// Whether it is only thought about: `maybe`, `we could`.
    pub(super) doubtful: bool,
    /// Whether it only names a thing, without a verb.
    pub(super) nominal: bool,
    /// Where speech was decided.
    pub(super) at: usize,
}

/// How a clause begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    Request(usize, Verb),
    Speech(Speech),
    /// It says something, or is a part of a line.
    Other,
}

/// Reads a line's terms.
pub(super) struct Reader<'a> {
    line: &'a str,
    terms: &'a mut Vec<Term>,
    zones: Vec<Zone>,
    raw: Option<Bytes>,
    doubtful: bool,
    polite: bool,
    nominal: bool,
    questioned: bool,
    end: usize,
}

/// Finds what `terms` do. Words that are read as slips of verbs are changed in place.
pub(super) fn read(line: &str, terms: &mut Vec<Term>, end: usize) -> Act {
    let zones = vec![Zone::Skip; terms.len()];
    let mut reader = Reader {
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
    let Reader { zones, raw, doubtful, nominal, .. } = reader;
    Act { speech, verb, zones, raw, doubtful, nominal, at }
}

impl Reader<'_> {
    /// Reads on from the verb to the end of the line.
    fn request(&mut self, verb: usize, group: Verb) -> (Speech, Option<(usize, Verb)>, usize) {
        self.zones[verb] = Zone::Verb;
        let mut zone = Zone::Main;
        let mut embedded = self.questioned;
        let asked = Some((verb, group));
        let mut at = verb + 1;
        if let Some((second, other)) = self.begins_only(verb, group) {
            self.zones[..second].fill(Zone::Before);
            return self.request(second, other);
        }
        while at < self.terms.len() {
            let term = self.terms[at];
            // `usage: annotate ID "text"`, `think of a7x2 as a hinge`
            let shows = term.is(':') && at == verb + 1 && matches!(self.text_at(verb), "usage" | "Usage" | "man");
            let likens = group == Verb::Think && term.entry.prep == Some(Prep::As);
            if shows || likens {
                return (Speech::Remark, asked, at);
            }
            // `undo (v.): to reverse`
            if term.is(':') && self.terms[at - 1].is(')') && self.terms[verb + 1].is('(') && !self.has_argument(at) {
                return (Speech::Remark, asked, at);
            }
            if term.is(':') && zone != Zone::Tail && phrases::bears_content(group) && self.begins_raw(at + 1, verb) {
                // `TODO: decide whether to prune it`, as comments in code say it
                if at == verb + 1 && matches!(self.text_at(verb), "TODO" | "NOTE") {
                    return (Speech::Remark, asked, at);
                }
                self.raw = self.terms.get(at + 1).map(|next| Bytes { start: next.whole.start, end: self.end });
                return (Speech::Request, asked, verb);
            }
            if self.is_boundary(at) {
                // `prune a7x2?` wonders, `could you prune a7x2?` does not.
                self.doubtful |= term.is('?')
                    && zone != Zone::Tail
                    && !self.polite
                    && !self.questioned
                    && !phrases::embeds(group)
                    && group != Verb::Think;
                let or = term.entry.func == Some(Func::Or);
                let vague = matches!(self.text_at(at + 1), "so" | "less" | "fewer" | "more");
                if or && !vague && zone != Zone::Tail {
                    return (Speech::Choice, asked, at);
                }
                match self.segment(at + 1, group, embedded) {
                    // `keep a7x2 in sight, pin it`: the name of the operation is what counts.
                    Segment::Asks(second, other) if zone != Zone::Tail && self.is_said_again(asked, second, other) => {
                        self.zones[..second].fill(Zone::Before);
                        return self.request(second, other);
                    }
                    Segment::Asks(second, Verb::Help) if group == Verb::Help && self.names_tool(second + 1) => {
                        return (Speech::Several, asked, second);
                    }
                    Segment::Asks(second, other) if zone != Zone::Tail && self.repeats(asked, second, other) => {
                        // `what does a7x2 say? open it in full`
                        let tells = |at| matches!(self.func_at(at), Some(Func::If | Func::What | Func::Why));
                        let looks = phrases::embeds(group) && phrases::embeds(other);
                        let looks = looks && !(second..self.terms.len()).any(tells);
                        zone = if looks { Zone::Main } else { Zone::Tail };
                        at = second;
                    }
                    Segment::Contrasts(until) => {
                        self.zones[at..until].fill(Zone::Skip);
                        at = until;
                        continue;
                    }
                    Segment::Tells if self.attributes(at + 1) => return (Speech::Remark, asked, at),
                    Segment::Denies if zone != Zone::Tail => return (Speech::Negated, asked, at),
                    Segment::Tells | Segment::Denies => zone = Zone::Tail,
                    Segment::Asks(second, Verb::Get | Verb::Make) if !self.has_argument(second) => zone = Zone::Tail,
                    // `leave this behind and go to the root`
                    Segment::Asks(second, other) if group == Verb::Leave && self.text_at(at - 1) == "behind" => {
                        self.zones[..second].fill(Zone::Before);
                        return self.request(second, other);
                    }
                    Segment::Asks(second, other)
                        if phrases::goes_with(group, other, self.line, &self.terms[second..]) =>
                    {
                        zone = Zone::Main;
                        self.zones[second] = Zone::Main;
                        at = second + 1;
                        continue;
                    }
                    // `see where a7x2 goes, try four continuations`
                    Segment::Asks(second, other @ (Verb::Try | Verb::Continue | Verb::Get | Verb::Make))
                        if group == Verb::See
                            && matches!(self.func_at(verb + 1), Some(Func::Sub | Func::What))
                            && other != group
                            && !self.terms[second..].iter().any(Term::is_id) =>
                    {
                        self.zones[..second].fill(Zone::Before);
                        return self.request(second, other);
                    }
                    // `I love a7x2, bookmark it`: the first was only a beginning.
                    Segment::Asks(second, other)
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
                            ) && self.func_at(second + 1) == Some(Func::It) =>
                    {
                        // `I'd say a7x2 belongs there, move it`
                        self.doubtful &= group != Verb::Respond;
                        self.zones[..second].fill(Zone::Before);
                        return self.request(second, other);
                    }
                    Segment::Asks(second, _) => return (Speech::Several, asked, second),
                    Segment::Wants(from) => {
                        zone = Zone::Relative;
                        at = from;
                        continue;
                    }
                    Segment::Remarks if zone != Zone::Tail => return (Speech::Remark, asked, at),
                    Segment::Remarks => zone = Zone::Tail,
                    Segment::Supposes => return (Speech::Hypothetical, asked, at),
                    Segment::Arguments(from) => {
                        // Behind a mark, words that name no argument and are not known tell something.
                        let marked = matches!(term.shape, Shape::Mark(',' | ';' | '.' | '!' | '—' | '–' | '-'));
                        let tells = marked && zone != Zone::Tail && self.is_idle(from) && self.is_strange(from);
                        let aside = term.is('(') && self.is_idle(at + 1) || self.names_again(at, from);
                        if tells {
                            zone = Zone::Aside;
                        } else if aside {
                            zone = Zone::Relative;
                        } else if matches!(zone, Zone::Relative | Zone::Aside) {
                            zone = Zone::Main;
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
                && zone == Zone::Main
                && self.is_idle(at + 1)
                && term.shape == Shape::Word
                && !self.terms[at + 1..]
                    .iter()
                    .take(3)
                    .any(|next| matches!(next.entry.noun, Some(Noun::Context | Noun::Stash | Noun::Todo)))
            {
                zone = Zone::Aside;
            }
            if matches!(zone, Zone::Tail | Zone::Aside) {
                self.zones[at] = zone;
                at += 1;
                continue;
            }
            let chained = term.is('&') && self.terms.get(at + 1).is_some_and(|next| next.is('&'));
            if (term.is('|') || chained) && zone != Zone::Tail {
                return (Speech::Several, asked, at);
            }
            // What stands behind `name:` is a value, whatever it says.
            if matches!(self.terms[at - 1].shape, Shape::Key(_)) || self.is_limit(at) {
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
                self.doubtful |= (at..self.terms.len()).any(|at| self.func_at(at) == Some(Func::Doubt));
                return (Speech::Request, asked, verb);
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
            match (term.shape, term.entry.func) {
                (Shape::Word, Some(Func::Sub))
                    if self.terms[at + 1..].iter().take(2).any(|t| {
                        t.is_text()
                            || matches!(t.shape, Shape::Number(_))
                            || matches!(t.entry.noun, Some(Noun::Depth | Noun::Turn | Noun::Level))
                    }) => {}
                (Shape::Word, Some(Func::Sub)) if embedded || phrases::embeds(group) && at <= verb + 2 => {
                    embedded = true
                }
                // `move a7x2 so that it hangs under b3k9`
                (Shape::Word, Some(Func::Sub)) if group == Verb::Move && !self.is_idle(at + 1) => {
                    zone = Zone::Relative;
                }
                // `continue until a7x2 is resolved`
                (Shape::Word, Some(Func::Sub))
                    if matches!(self.text_at(at), "until" | "till") && group == Verb::Continue =>
                {
                    return (Speech::Hypothetical, asked, at);
                }
                (Shape::Word, Some(Func::Sub)) => zone = self.subordinate(at),
                (Shape::Word, Some(Func::What)) => embedded = true,
                (Shape::Word, Some(Func::Doubt)) => self.doubtful = true,
                (Shape::Word, _) if zone == Zone::Main && self.puts_off(at, group) => {
                    return (Speech::Hypothetical, asked, at);
                }
                (Shape::Word, Some(Func::If)) => {
                    if !phrases::is_polite_condition(self.line, &self.terms[at..]) {
                        return (Speech::Hypothetical, asked, at);
                    }
                    zone = Zone::Tail;
                }
                (Shape::Word, Some(Func::Not)) if self.denies(at, group) => return (Speech::Negated, asked, at),
                (Shape::Word, Some(Func::Subject)) if matches!(self.text_at(at), "someone" | "somebody" | "anyone") => {
                }
                (Shape::Word, Some(Func::Subject | Func::Clause | Func::Would)) if !embedded && zone == Zone::Main => {
                    zone = Zone::Tail;
                }
                // `now that the chapter is done`
                (Shape::Word, Some(Func::Det))
                    if self.text_at(at) == "that" && matches!(self.text_at(at - 1), "now" | "given" | "seeing") =>
                {
                    zone = Zone::Tail;
                }
                // `as it stands`, `as we said`
                (Shape::Word, _)
                    if matches!(self.text_at(at), "as" | "like")
                        && zone == Zone::Main
                        && matches!(self.func_at(at + 1), Some(Func::Subject | Func::It))
                        && !self.ends(at + 2)
                        && self.is_idle(at + 1) =>
                {
                    zone = Zone::Aside;
                }
                (Shape::Word, Some(Func::Det)) if self.text_at(at) == "that" && self.is_finite_at(at + 1) => {
                    zone = Zone::Relative;
                }
                _ if group == Verb::Todo
                    && is_finite(&term)
                    && !matches!(self.text_at(at), "was" | "were" | "had" | "got")
                    && (self.func_at(at + 1) == Some(Func::Do)
                        || matches!(self.verb_at(at + 1), Some((Verb::Finish, Form::Past)))) => {}
                // `every version a7x2 has been through`
                _ if is_finite(&term)
                    && phrases::embeds(group)
                    && (self.is_contact_clause(at) || self.func_at(at - 1) == Some(Func::It)) =>
                {
                    zone = Zone::Relative;
                }
                _ if is_finite(&term) && !embedded && zone == Zone::Main && at > verb && !self.is_gloss(at) => {
                    return (Speech::Remark, asked, at);
                }
                _ => {}
            }
            self.zones[at] = zone;
            at += 1;
        }
        (Speech::Request, asked, verb)
    }
}

/// Whether a term is a verb that a subject goes with: `is`, `has`, `seems`.
pub(super) fn is_finite(term: &Term) -> bool {
    if !matches!(term.shape, Shape::Word) || term.entry.noun.is_some() {
        return false;
    }
    match term.entry.func {
        Some(Func::Be | Func::Have | Func::Modal | Func::Clause) => true,
        Some(Func::Do) => term.text.end - term.text.start != 4,
        _ => matches!(term.entry.verb, Some((_, Form::Third))) && term.entry.lead.is_none(),
    }
}
