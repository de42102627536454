//! What a line does as speech: whether it asks for something now, and which of its words ask.
//!
//! An operation's name is also an English noun and verb, so a line that holds one need not ask for it: it may deny it
//! (`don't prune a7x2`), tell of it (`pruned b3k9`), wonder (`was it pruned?`), suppose, or use the word for
//! something else (`a list would kill the rhythm`). What tells them apart is grammar, not vocabulary: whether a verb
//! stands in its base form where an imperative stands, who is the subject, tense, modality, negation. So the line is
//! cut into clauses at its marks and conjunctions; one of them must ask, and only one; a clause that tells (a reason, a
//! remark on the node) may go before or after and is left out of the arguments.

use super::{
    key::Key,
    lex::Bytes,
    lexicon::{self, Form, Func, Noun, Prep, Verb},
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
    fn whole(&mut self) -> (Speech, Option<(usize, Verb)>, usize) {
        match self.head(0, true) {
            Head::Request(verb, group) => return self.request(verb, group),
            Head::Speech(Speech::Question) => {
                // `what came of a7x2? list its continuations`
                for at in 0..self.terms.len() {
                    if self.terms[at].is('?')
                        && let Head::Request(verb, group) = self.head(at + 1, false)
                        && (phrases::embeds(group) || matches!(group, Verb::Recall | Verb::Search | Verb::Grep))
                        && self.points_at_something(verb)
                    {
                        self.zones[..at].fill(Zone::Before);
                        return self.request(verb, group);
                    }
                }
                return (Speech::Question, None, 0);
            }
            Head::Speech(speech) => return (speech, None, 0),
            Head::Other => {}
        }
        // Something stands before: what it is about (`b3k9: prune it`), or why (`it drags, prune it`).
        let mut at = 0;
        while at < self.terms.len() {
            if self.is_boundary(at)
                && let Head::Request(verb, group) = self.head(at + 1, false)
                && (self.points_at_something(verb) || !self.tells(at))
            {
                let arrow = matches!(self.terms[at].shape, Shape::Mark('→' | '➜' | '⇒' | '➔' | '⟶'));
                if arrow && (self.tells(at) || self.terms[..at].iter().any(|term| term.shape == Shape::Name)) {
                    return (Speech::Remark, None, at);
                }
                if matches!(self.text_at(0), "once" | "until" | "after" | "Once" | "Until" | "After") {
                    return (Speech::Hypothetical, None, 0);
                }
                self.zones[..at].fill(Zone::Before);
                return self.request(verb, group);
            }
            at += 1;
        }
        if let Some((verb, group)) = self.behind() {
            if (0..verb).any(|at| matches!(self.func_at(at), Some(Func::Not | Func::If))) {
                return (Speech::Negated, None, 0);
            }
            self.zones[..verb].fill(Zone::Main);
            return self.request(verb, group);
        }
        if self.is_nominal() {
            self.zones.fill(Zone::Main);
            self.nominal = true;
            let text = self.terms.iter().any(Term::is_text);
            let verb = self.terms.iter().position(|term| {
                term.shape == Shape::Word
                    && term.entry.base().is_some()
                    && term.entry.func.is_none()
                    && term.entry.noun.is_none()
            });
            let asked = match verb {
                Some(at) => self.terms[at].entry.base().map(|verb| (at, verb)),
                None if self.terms[0].entry.prep == Some(Prep::Back) => Some((0, Verb::Go)),
                None => Some((self.terms.len(), if text { Verb::Put } else { Verb::Get })),
            };
            return (Speech::Request, asked, 0);
        }
        (Speech::Remark, None, 0)
    }

    /// Whether the verb at `at` has an object, if only a word that points back.
    fn points_at_something(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Key(_))
                || term.entry.noun.is_some()
                || matches!(term.entry.func, Some(Func::It | Func::One | Func::Det))
        })
    }

    /// Whether the verb at `at` has an argument.
    fn has_argument(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Key(_))
                || term.entry.noun.is_some()
        })
    }

    /// Whether what is left of the clause at `at` names nothing: no id, no string, no number.
    fn is_idle(&self, at: usize) -> bool {
        let rest = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ';' | '.' | '?' | '!' | ')' | ':' | '—')));
        !rest.clone().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Range(..) | Shape::Key(_) | Shape::Flag)
        })
    }

    /// Whether the terms before `end` tell something.
    fn tells(&self, end: usize) -> bool {
        self.terms[..end].iter().any(|term| {
            is_finite(term)
                || term.entry.func == Some(Func::Subject)
                || term.shape == Shape::Word && matches!(term.entry.verb, Some((_, Form::Past)))
        })
    }

    /// The first term after politeness, and whether a clause that begins at `at` asks there.
    fn head(&mut self, at: usize, first: bool) -> Head {
        let mut at = at;
        let mut gerund = false;
        loop {
            let Some(term) = self.terms.get(at) else { return Head::Other };
            let text = term.text.of(self.line);
            if let Some((length, what)) = phrases::padding(self.line, &self.terms[at..]) {
                at += length;
                self.polite |= what.polite;
                self.doubtful |= what.doubtful;
                gerund |= what.gerund;
                continue;
            }
            let entry = term.entry;
            match (term.shape, entry.func) {
                (Shape::Mark(',' | '.' | '!' | '…' | '-' | '—' | '–' | '(' | ':' | '[' | '{'), _) => at += 1,
                (_, Some(Func::Not)) => return Head::Speech(Speech::Negated),
                (_, Some(Func::If)) => return Head::Speech(Speech::Hypothetical),
                (_, Some(Func::What)) if first => return self.question(at),
                (_, Some(Func::Sub)) if first && matches!(text, "which" | "where" | "Which" | "Where") => {
                    return self.question(at);
                }
                (_, Some(Func::Why)) => return Head::Speech(Speech::Question),
                (_, Some(Func::Be | Func::Do | Func::Have | Func::Modal)) if first => return self.asking(at),
                (_, Some(Func::Pad | Func::Then | Func::And))
                    if entry.verb.is_none() || entry.func == Some(Func::Pad) =>
                {
                    self.polite |= matches!(text, "please" | "pls" | "plz" | "kindly" | "Please" | "Kindly");
                    gerund |= self.polite;
                    at += 1;
                }
                (_, Some(Func::Doubt)) => {
                    self.doubtful = true;
                    at += 1;
                }
                (_, Some(Func::Lets)) => at += 1,
                (_, Some(Func::Sub)) if first && text.eq_ignore_ascii_case("so") => at += 1,
                _ => break,
            }
        }
        self.imperative(at, first, gerund)
    }

    /// Whether an imperative stands at `at`.
    fn imperative(&mut self, at: usize, first: bool, gerund: bool) -> Head {
        let Some(term) = self.terms.get(at) else { return Head::Other };
        if first
            && (term.shape == Shape::Name || term.shape == Shape::Id && !term.bracketed)
            && term.entry.verb.is_none()
        {
            let text = term.text.of(self.line);
            if let Some(word) = lexicon::slip(text) {
                let term = &mut self.terms[at];
                (term.entry, term.slipped, term.shape) = (lexicon::look_up(word), true, Shape::Word);
            }
        }
        // `[diff] a7x2 b3k9`
        if first && self.terms[at].bracketed {
            let entry = lexicon::look_up(self.text_at(at));
            if entry.base().is_some() {
                (self.terms[at].entry, self.terms[at].shape) = (entry, Shape::Word);
            }
        }
        let term = &self.terms[at];
        if !matches!(term.shape, Shape::Word) {
            return Head::Other;
        }
        // `git branch -D a7x2`
        if term.entry.noun == Some(Noun::Branch)
            && self
                .terms
                .get(at + 1)
                .is_some_and(|next| next.shape == Shape::Flag && matches!(next.text.of(self.line), "D" | "d"))
        {
            return Head::Request(at, Verb::Prune);
        }
        let Some((verb, form)) = term.entry.verb else { return Head::Other };
        if !(form == Form::Base || gerund && matches!(form, Form::Ing | Form::Third)) {
            return Head::Other;
        }
        // A verb that another finite verb follows is a noun: `memory is fuzzy here`.
        // `get rid of`
        if verb == Verb::Get && self.text_at(at + 1) == "rid" {
            return Head::Request(at + 1, Verb::Remove);
        }
        if self.terms.get(at + 1).is_some_and(|next| is_finite(next) && !next.is_text()) {
            return Head::Other;
        }
        // `go look at`, `let go of`
        if let Some((chained, Form::Base)) = self.verb_at(at + 1)
            && self.terms[at + 1].entry.noun.is_none()
            && !matches!(chained, Verb::Name | Verb::Limit)
        {
            match (verb, chained) {
                (Verb::Ask, Verb::Go) => return Head::Request(at, Verb::Drop),
                (Verb::Go, _) if matches!(self.text_at(at), "go" | "Go") => {
                    return self.imperative(at + 1, first, gerund);
                }
                (Verb::Go, _) => return Head::Other,
                (Verb::Stash, Verb::Put) => {
                    self.zones[at] = Zone::Main;
                    return Head::Request(at + 1, Verb::Recall);
                }
                // `bookmark remove a7x2`: the noun comes first.
                (
                    Verb::Stash | Verb::Bookmark | Verb::Pin | Verb::Link | Verb::Memory | Verb::Tree,
                    Verb::Drop | Verb::Remove | Verb::See | Verb::List,
                ) => {
                    self.zones[at] = Zone::Main;
                    return Head::Request(at + 1, chained);
                }
                _ => {}
            }
        }
        if verb == Verb::Skip || verb == Verb::Pause && self.verb_at(at + 1).is_some_and(|(_, form)| form == Form::Ing)
        {
            return Head::Speech(Speech::Negated);
        }
        Head::Request(at, verb)
    }

    fn verb_at(&self, at: usize) -> Option<(Verb, Form)> {
        self.terms.get(at).filter(|term| term.shape == Shape::Word).and_then(|term| term.entry.verb)
    }

    fn func_at(&self, at: usize) -> Option<Func> {
        self.terms
            .get(at)
            .filter(|term| matches!(term.shape, Shape::Word | Shape::Number(_)))
            .and_then(|t| t.entry.func)
    }

    fn text_at(&self, at: usize) -> &str {
        self.terms.get(at).map_or("", |term| term.text.of(self.line))
    }

    /// Whether a clause may end at `at`: a mark, or a conjunction.
    fn is_boundary(&self, at: usize) -> bool {
        let Some(term) = self.terms.get(at) else { return false };
        match term.shape {
            Shape::Mark(
                ',' | ';' | '.' | '!' | '?' | '—' | '–' | '(' | ')' | ':' | '→' | '➜' | '⇒' | '➔' | '⟶' | '-' | '>',
            ) => true,
            Shape::Word => {
                matches!(term.entry.func, Some(Func::And | Func::Or | Func::But | Func::Then))
                    || self.text_at(at) == "so"
            }
            _ => false,
        }
    }

    /// A line that begins with a word for a question: what it asks for, if that can be shown.
    fn question(&mut self, at: usize) -> Head {
        match phrases::question(self.line, &self.terms[at..]) {
            Some(verb) => {
                self.questioned = true;
                Head::Request(at, verb)
            }
            None => Head::Speech(Speech::Question),
        }
    }

    /// A line that begins with an auxiliary verb: `could Gemini carry on from a7x2`.
    fn asking(&mut self, at: usize) -> Head {
        let modal = self.func_at(at) == Some(Func::Modal);
        let named = self.terms.get(at + 1).is_some_and(|term| term.shape == Shape::Name);
        match self.verb_at(at + 2) {
            Some((verb @ (Verb::Continue | Verb::Carry), Form::Base)) if modal && named => {
                self.zones[at + 1] = Zone::Main;
                self.polite = true;
                Head::Request(at + 2, verb)
            }
            // `could a7x2 be merged`
            _ if modal
                && !self.text_at(at).eq_ignore_ascii_case("should")
                && (at..self.terms.len()).any(|at| self.text_at(at) == "be") =>
            {
                self.polite = true;
                Head::Other
            }
            _ => Head::Speech(Speech::Question),
        }
    }

    /// A verb behind what it is about: `a7x2 view`, `b3k9 should be pruned`.
    fn behind(&mut self) -> Option<(usize, Verb)> {
        let subject = self
            .terms
            .iter()
            .position(|term| term.is_id() || term.shape == Shape::File || term.entry.noun.is_some())?;
        for at in subject + 1..self.terms.len() {
            // `a7x2 should read "…"`
            let shall = matches!(self.text_at(at - 1), "should" | "must" | "to" | "shall");
            if shall
                && matches!(self.verb_at(at), Some((Verb::Read | Verb::Respond, Form::Base)))
                && self.terms[at + 1..].iter().take(2).any(Term::is_text)
            {
                return Some((at, Verb::Edit));
            }
            match self.verb_at(at) {
                Some((verb, Form::Past)) if phrases::shall_be(self.line, &self.terms[..at]) => return Some((at, verb)),
                Some((verb, Form::Ing)) if self.text_at(at - 1) == "needs" => return Some((at, verb)),
                Some((verb, Form::Base))
                    if at == subject + 1
                        && (self.terms[subject].is_id() || self.terms[subject].shape == Shape::File) =>
                {
                    return Some((at, verb));
                }
                Some((verb, Form::Base)) if at + 1 == self.terms.len() && self.polite => return Some((at, verb)),
                _ => {}
            }
        }
        None
    }

    /// Whether the line names a thing and says nothing of it: `the siblings of a7x2, please`.
    fn is_nominal(&self) -> bool {
        self.terms.iter().enumerate().all(|(at, term)| {
            let tells = matches!(
                term.entry.func,
                Some(
                    Func::Not
                        | Func::If
                        | Func::Or
                        | Func::Subject
                        | Func::Clause
                        | Func::Would
                        | Func::Sub
                        | Func::What
                        | Func::Why
                        | Func::Doubt
                )
            );
            // `a search for "x"`: a verb behind an article is a noun.
            let noun = at > 0
                && (matches!(self.func_at(at - 1), Some(Func::Det | Func::Adjective))
                    || self.terms[at - 1].entry.noun.is_some())
                && term.entry.base().is_some();
            let past = matches!(term.entry.verb, Some((_, Form::Past)))
                && (at == 0 || self.func_at(at - 1) != Some(Func::Det));
            let acts = past
                || !noun
                    && term.entry.verb.is_some()
                    && term.entry.noun.is_none()
                    && term.entry.func.is_none()
                    && term.entry.lead.is_none();
            (!tells || self.is_limit(at)) && !acts && !is_finite(term) && term.shape != Shape::Name
        })
    }

    /// Reads on from the verb to the end of the line.
    fn request(&mut self, verb: usize, group: Verb) -> (Speech, Option<(usize, Verb)>, usize) {
        self.zones[verb] = Zone::Verb;
        let mut zone = Zone::Main;
        let mut embedded = self.questioned;
        let asked = Some((verb, group));
        let mut at = verb + 1;
        while at < self.terms.len() {
            let term = self.terms[at];
            if term.is(':') && zone != Zone::Tail && phrases::bears_content(group) && self.begins_raw(at + 1, verb) {
                self.raw = self.terms.get(at + 1).map(|next| Bytes { start: next.whole.start, end: self.end });
                return (Speech::Request, asked, verb);
            }
            if self.is_boundary(at) {
                // `prune a7x2?` wonders, `could you prune a7x2?` does not.
                self.doubtful |=
                    term.is('?') && zone != Zone::Tail && !self.polite && !self.questioned && !phrases::embeds(group);
                let or = term.entry.func == Some(Func::Or);
                let vague = matches!(self.text_at(at + 1), "so" | "less" | "fewer" | "more");
                if or && !vague && zone != Zone::Tail {
                    return (Speech::Choice, asked, at);
                }
                match self.segment(at + 1, group, embedded) {
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
                    // `I love a7x2, bookmark it`: the first was only a beginning.
                    Segment::Asks(second, other)
                        if (group == Verb::Get || other == group) && self.only_points(second)
                            || matches!(group, Verb::Take | Verb::Get | Verb::Summarise)
                                && self.func_at(second + 1) == Some(Func::It) =>
                    {
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
                        && !matches!(group, Verb::Get | Verb::Ask)
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
            if term.is('|') && zone != Zone::Tail {
                return (Speech::Several, asked, at);
            }
            // What stands behind `name:` is a value, whatever it says.
            if matches!(self.terms[at - 1].shape, Shape::Key(_)) || self.is_limit(at) {
                self.zones[at] = zone;
                at += 1;
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
                (Shape::Word, Some(Func::Sub)) => zone = self.subordinate(at),
                (Shape::Word, Some(Func::What)) => embedded = true,
                (Shape::Word, Some(Func::If)) => {
                    if !phrases::is_polite_condition(self.line, &self.terms[at..]) {
                        return (Speech::Hypothetical, asked, at);
                    }
                    zone = Zone::Tail;
                }
                (Shape::Word, Some(Func::Not)) if !self.is_no_wait(at, group) => return (Speech::Negated, asked, at),
                (Shape::Word, Some(Func::Subject | Func::Clause | Func::Would)) if !embedded && zone == Zone::Main => {
                    zone = Zone::Tail;
                }
                (Shape::Word, Some(Func::Det)) if self.text_at(at) == "that" && self.is_finite_at(at + 1) => {
                    zone = Zone::Relative;
                }
                _ if group == Verb::Todo
                    && is_finite(&term)
                    && (self.func_at(at + 1) == Some(Func::Do)
                        || matches!(self.verb_at(at + 1), Some((Verb::Finish, Form::Past)))) => {}
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

    /// Whether the clause at `at` has words that the lexicon does not know.
    fn is_strange(&self, at: usize) -> bool {
        let clause = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ';' | '.' | '?' | '!' | ')')));
        clause.clone().any(|term| term.shape == Shape::Name) && clause.count() > 1
    }

    /// `a7x2, the funeral scene`: a noun says again what the id before it names.
    fn names_again(&self, at: usize, from: usize) -> bool {
        matches!(self.terms[at].shape, Shape::Mark(',' | '—' | '–' | '(' | '-'))
            && at > 0
            && self.terms[at - 1].is_id()
            && self.func_at(from) == Some(Func::Det)
            && self.is_idle(from)
            && self.terms[from..].iter().any(|term| term.shape == Shape::Name)
    }

    /// Whether the verb at `at` has no argument of its own but `it`.
    fn only_points(&self, at: usize) -> bool {
        !self.terms[at + 1..].iter().any(|term| term.is_id() || term.shape == Shape::File)
            && self.terms[at + 1..].iter().take(2).any(|term| matches!(term.entry.func, Some(Func::It)))
    }

    /// `no more than`: a limit, no denial.
    fn is_limit(&self, at: usize) -> bool {
        self.func_at(at) == Some(Func::Not) && self.text_at(at + 2) == "than"
    }

    /// `wait:no`, in words.
    fn is_no_wait(&self, at: usize, group: Verb) -> bool {
        matches!(group, Verb::Delegate | Verb::Hand)
            && self.terms[at..].iter().take(4).any(|term| term.text.of(self.line).starts_with("wait"))
            || matches!(group, Verb::Search | Verb::Find)
                && self.terms.get(at + 1).is_some_and(|t| t.shape == Shape::File)
    }

    /// The zone that a subordinating word opens.
    fn subordinate(&self, at: usize) -> Zone {
        let describes = matches!(self.text_at(at), "which" | "whose" | "whom" | "where");
        if describes && !self.terms[at.saturating_sub(1)].is_id() && !self.terms[at - 1].is_text() {
            Zone::Relative
        } else {
            Zone::Tail
        }
    }

    fn is_finite_at(&self, at: usize) -> bool {
        self.terms.get(at).is_some_and(is_finite)
    }

    /// `the text is "…"`: a verb that only joins an argument to its name.
    fn is_gloss(&self, at: usize) -> bool {
        let named = self.terms[..at].last().is_some_and(|term| term.entry.lead.is_some() || term.entry.noun.is_some());
        let given = self.terms[at + 1..]
            .iter()
            .take(2)
            .any(|t| t.is_text() || matches!(t.shape, Shape::Number(_) | Shape::Mark(':')));
        named && given
    }

    /// Whether unquoted content begins at `at`.
    fn begins_raw(&self, at: usize, verb: usize) -> bool {
        let todo = self.terms[verb].entry.verb.is_some_and(|(verb, _)| verb == Verb::Todo)
            && matches!(self.verb_at(at), Some((Verb::Add | Verb::Resume | Verb::Cancel | Verb::Finish, _)) | None)
            && (self.verb_at(at).is_some() || self.func_at(at) == Some(Func::Do));
        if todo || self.terms.get(at).is_some_and(|next| next.is('{') || next.is('[')) {
            return false;
        }
        if let Some(Shape::Key(key)) =
            at.checked_sub(2).and_then(|before| self.terms.get(before)).map(|term| term.shape)
        {
            return key.is_content() && self.terms.get(at).is_some_and(|next| next.gap && !next.is_text());
        }
        let named = at.checked_sub(2).filter(|before| *before > verb).is_some_and(|before| {
            let is_role = before > 0 && self.terms[before - 1].entry.prep == Some(Prep::As);
            !is_role && Key::named(self.text_at(before)).is_some_and(|key| !key.is_content())
        });
        self.terms.get(at).is_some_and(|next| {
            let leads = next.entry.lead.is_some() || matches!(next.entry.noun, Some(Noun::Label | Noun::Text));
            let leads = leads && self.terms[at + 1..].iter().take(3).any(Term::is_text);
            next.gap && !next.is_text() && !matches!(next.shape, Shape::Key(_)) && !leads && !named
        })
    }

    /// What the part of the line that begins at `at` does.
    fn segment(&mut self, at: usize, group: Verb, embedded: bool) -> Segment {
        let mut from = at;
        while matches!(self.func_at(from), Some(Func::Pad | Func::And | Func::Then | Func::Lets | Func::But))
            && self.terms[from].entry.prep.is_none()
        {
            from += 1;
        }
        if let Some((length, _)) = self.terms.get(from..).and_then(|terms| phrases::padding(self.line, terms)) {
            if phrases::wants(self.line, &self.terms[from..]) {
                return Segment::Wants(from + length + 1);
            }
            if self.func_at(from) == Some(Func::Subject) {
                return Segment::Tells;
            }
            from += length;
        }
        let Some(term) = self.terms.get(from).copied() else { return Segment::Arguments(from) };
        if is_finite(&term)
            && term.entry.func != Some(Func::Clause)
            && !embedded
            && from == at
            && !self.terms[at - 1].is('?')
            && !self.is_gloss(from)
        {
            return Segment::Remarks;
        }
        // `…, because "it drags"` gives a reason as an argument.
        if term.entry.func == Some(Func::Sub) && self.terms[from + 1..].iter().take(2).any(Term::is_text) {
            return Segment::Arguments(from);
        }
        match (term.shape, term.entry.func) {
            (Shape::Word, Some(Func::Clause | Func::Subject | Func::Would)) => return Segment::Tells,
            (Shape::Word, Some(Func::Sub)) if !embedded => return Segment::Tells,
            (Shape::Word, Some(Func::If)) => {
                let polite = phrases::is_polite_condition(self.line, &self.terms[from..]);
                return if polite { Segment::Tells } else { Segment::Supposes };
            }
            _ => {}
        }
        if let Head::Request(verb, other) = self.imperative(from, false, false)
            && !(term.entry.noun.is_some() && self.is_argument(verb, group))
        {
            return Segment::Asks(verb, other);
        }
        let denial = self.terms[from..].iter().take_while(|term| !matches!(term.shape, Shape::Mark(_)));
        if denial.clone().count() <= 3
            && denial.clone().all(|term| term.shape != Shape::Id)
            && denial.last().is_some_and(|term| term.entry.func == Some(Func::Not))
        {
            return Segment::Denies;
        }
        for next in from..self.terms.len() {
            if next > from && self.is_boundary(next) {
                break;
            }
            let denies = next > from && self.func_at(next) == Some(Func::Not);
            if (denies || is_finite(&self.terms[next])) && !embedded && !self.is_gloss(next) {
                return Segment::Tells;
            }
        }
        Segment::Arguments(from)
    }

    /// Whether a word that could be a verb is rather the noun that names an argument: `…, note "why"`.
    fn is_argument(&self, at: usize, group: Verb) -> bool {
        let next = self.terms.get(at + 1);
        match self.terms[at].entry.noun {
            Some(Noun::Annotation) => matches!(group, Verb::Link) || phrases::embeds(group),
            Some(Noun::Label) => true,
            Some(Noun::Copy | Noun::Link | Noun::Pin | Noun::Stash | Noun::Bookmark) => {
                next.is_none_or(|next| next.entry.prep.is_some()) && phrases::embeds(group)
            }
            _ => next.is_some_and(|next| next.is(':') || next.is('=')) && self.terms[at].entry.lead.is_some(),
        }
    }
}

/// What a part of a line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment {
    /// It holds more arguments, from this term on.
    Arguments(usize),
    /// It says what is wanted besides: `I want three of them`.
    Wants(usize),
    /// It says something of what stands before: `view(a7x2) is what it printed`.
    Remarks,
    /// It takes back what was asked: `no`.
    Denies,
    /// It tells something.
    Tells,
    /// It makes the request depend on something.
    Supposes,
    /// It asks for something, too.
    Asks(usize, Verb),
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
