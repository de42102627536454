//! Reading of a request: from its verb to the end of the line, clause by clause.

use super::{ClauseRole, IntentParser, Utterance, clause::Clause, is_finite};
use crate::arrow::{
    annotate_tokens::TokenKind,
    lex::Span,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    phrases,
};

/// Utterance type, verb, and index of the token that decided the type.
pub(super) type ClauseReading = (Utterance, Option<(usize, Verb)>, usize);

/// Position and state of the reader behind the verb.
pub(super) struct Cursor {
    pub(super) verb: usize,
    pub(super) group: Verb,
    pub(super) zone: ClauseRole,
    /// True inside an indirect question, where a finite verb states nothing.
    embedded: bool,
    pub(super) at: usize,
}

impl IntentParser<'_> {
    /// Reads from the verb to the end of the line.
    pub(super) fn request(&mut self, verb: usize, group: Verb) -> ClauseReading {
        self.zones[verb] = ClauseRole::Verb;
        // `tell me which documents there are`
        let asks = |at| self.terms.get(at..).is_some_and(|terms| phrases::asks_which(self.line, terms));
        let group =
            if phrases::asks_for_information(group) && (asks(verb + 1) || asks(verb + 2)) { Verb::List } else { group };
        if let Some((second, other)) = self.light_verb_only(verb, group) {
            return self.restart(second, other);
        }
        let mut c = Cursor { verb, group, zone: ClauseRole::Main, embedded: self.questioned, at: verb + 1 };
        while c.at < self.terms.len() {
            let decided = self
                .request_colon(&c)
                .or_else(|| if self.is_boundary(c.at) { self.next_clause(&mut c) } else { self.next_term(&mut c) });
            if let Some(reading) = decided {
                return reading;
            }
        }
        (Utterance::Request, Some((verb, group)), verb)
    }

    /// Reads the request that begins at `second` instead of the one before it.
    pub(super) fn restart(&mut self, second: usize, other: Verb) -> ClauseReading {
        self.zones[..second].fill(ClauseRole::Before);
        self.request(second, other)
    }

    /// Reading of a colon that ends the request: a remark in the form of a definition, or unquoted content.
    fn request_colon(&mut self, c: &Cursor) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let (term, asked) = (self.terms[at], Some((verb, group)));
        // `usage: annotate ID "text"`, `think of a7x2 as a hinge`
        let shows = term.is(':') && at == verb + 1 && matches!(self.text_at(verb), "usage" | "Usage" | "man");
        let likens = group == Verb::Think && term.entry.prep == Some(Prep::As);
        // `usage: recall` asks for help on it.
        let names_only = at + 2 == self.terms.len() && self.names_tool(at + 1);
        if shows && !names_only || likens {
            return Some((Utterance::Remark, asked, at));
        }
        // `undo (v.): to reverse`
        if term.is(':') && self.terms[at - 1].is(')') && self.terms[verb + 1].is('(') && !self.has_argument(at) {
            return Some((Utterance::Remark, asked, at));
        }
        let bears = phrases::bears_content(group) && self.begins_raw(at + 1, verb) || self.begins_instruction(c);
        if term.is(':') && c.zone != ClauseRole::Tail && bears {
            // `TODO: decide whether to prune it`, as comments in code say it
            if at == verb + 1 && matches!(self.text_at(verb), "TODO" | "NOTE") {
                return Some((Utterance::Remark, asked, at));
            }
            let end = self.end_of_raw(at + 1, verb);
            self.raw = self.terms.get(at + 1).map(|next| Span { start: next.whole.start, end });
            return Some((Utterance::Request, asked, verb));
        }
        None
    }

    /// Reads the clause behind the mark or conjunction at the cursor.
    fn next_clause(&mut self, c: &mut Cursor) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let (term, asked) = (self.terms[at], Some((verb, group)));
        // `prune a7x2?` wonders, `could you prune a7x2?` does not.
        self.doubtful |= term.is('?')
            && c.zone != ClauseRole::Tail
            && !self.polite
            && !self.questioned
            && !phrases::embeds(group)
            && group != Verb::Think;
        // `list a7x2 links — or was it b3k9?`
        // `before I touch either`
        let or_at = |at: usize| {
            self.func_at(at) == Some(FunctionWord::Or) && !(self.text_at(at) == "either" && self.ends(at + 1))
        };
        let or = or_at(at) || matches!(term.kind, TokenKind::Mark('—' | '–' | '?')) && or_at(at + 1);
        let vague = matches!(self.text_at(at + 1), "so" | "less" | "fewer" | "more");
        if or && !vague && c.zone != ClauseRole::Tail {
            return Some((Utterance::Choice, asked, at));
        }
        // What follows a question is no part of it.
        c.embedded &= !term.is('?');
        match self.segment(at + 1, group, c.embedded) {
            Clause::Request(second, other) => return self.second_request(c, second, other),
            Clause::Contrast(until) => {
                self.zones[at..until].fill(ClauseRole::Skip);
                c.at = until;
                return None;
            }
            Clause::Statement if self.attributes(at + 1) => return Some((Utterance::Remark, asked, at)),
            Clause::Negation if c.zone != ClauseRole::Tail => return Some((Utterance::Negated, asked, at)),
            Clause::Comment if c.zone != ClauseRole::Tail => return Some((Utterance::Remark, asked, at)),
            Clause::Statement | Clause::Negation | Clause::Comment => c.zone = ClauseRole::Tail,
            Clause::Desire(from) => {
                c.zone = ClauseRole::Relative;
                c.at = from;
                return None;
            }
            Clause::Condition => return Some((Utterance::Hypothetical, asked, at)),
            Clause::Arguments(from) => {
                // Behind a mark, words that name no argument and are not known tell something.
                let marked = matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '!' | '—' | '–' | '-'));
                let tells = marked
                    && c.zone != ClauseRole::Tail
                    && !self.names_author(from)
                    && self.has_no_argument(from)
                    && self.is_strange(from);
                let aside = term.is('(') && self.has_no_argument(at + 1) || self.names_again(at, from);
                if tells {
                    c.zone = ClauseRole::Aside;
                } else if aside {
                    c.zone = ClauseRole::Relative;
                } else if matches!(c.zone, ClauseRole::Relative | ClauseRole::Aside) || self.gives_content(at, group) {
                    c.zone = ClauseRole::Main;
                }
                c.at = from;
                return None;
            }
        }
        c.at += 1;
        None
    }

    /// Reads the word or argument at the cursor.
    fn next_term(&mut self, c: &mut Cursor) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let (term, asked) = (self.terms[at], Some((verb, group)));
        if self.opens_purpose(c) {
            c.zone = ClauseRole::Aside;
        }
        if matches!(c.zone, ClauseRole::Tail | ClauseRole::Aside) {
            self.zones[at] = c.zone;
            c.at += 1;
            return None;
        }
        let chained = term.is('&') && self.terms.get(at + 1).is_some_and(|next| next.is('&'));
        // `tree | depth: 3`
        let divides =
            term.is('|') && self.terms.get(at + 1).is_some_and(|next| matches!(next.kind, TokenKind::OptionName(_)));
        if divides {
            c.at += 1;
            return None;
        }
        // `switch to parent & list siblings`, `memory trace + memory stashed`
        let joins = (term.is('&') || term.is('+'))
            && self.verb_at(at + 1).is_some_and(|(_, form)| form == Form::Base)
            && self.terms[at + 1].entry.func.is_none();
        if (term.is('|') || chained || joins) && c.zone != ClauseRole::Tail {
            return Some((Utterance::Several, asked, at));
        }
        // What stands behind `name:` is a value, whatever it says.
        if matches!(self.terms[at - 1].kind, TokenKind::OptionName(_)) || self.is_limit(at) {
            self.zones[at] = c.zone;
            c.at += 1;
            return None;
        }
        // `think about whether …`: what is thought of is anything.
        if group == Verb::Think
            && at == verb + 1
            && !(self.text_at(at) == "of" && self.text_at(at + 2) == "as")
            && self.asks_no_more(at)
        {
            self.doubtful |= (at..self.terms.len()).any(|at| self.func_at(at) == Some(FunctionWord::Doubt));
            return Some((Utterance::Request, asked, verb));
        }
        // `the node we're on`, `the node I am at`
        let be = match self.text_at(at) {
            "we're" | "i'm" | "I'm" => at,
            "we" | "I" | "i" if self.is_word(at + 1, &["am", "are"]) => at + 1,
            _ => usize::MAX,
        };
        if be < self.terms.len()
            && self.func_at(at - 1).is_none()
            && self.terms[at - 1].entry.noun.is_some()
            && matches!(self.terms.get(be + 1).and_then(|next| next.entry.prep), Some(Prep::On | Prep::At | Prep::In))
        {
            self.zones[at..be + 2].fill(c.zone);
            c.at = be + 2;
            return None;
        }
        if let Some(reading) = self.next_word(c) {
            return Some(reading);
        }
        self.zones[at] = c.zone;
        c.at += 1;
        None
    }

    /// `for reference`, `to check its ending`: true if the preposition at the cursor says why, not what.
    fn opens_purpose(&self, c: &Cursor) -> bool {
        let Cursor { verb, group, at, .. } = *c;
        let term = self.terms[at];
        // `delegate "x" to hana`
        let next = self.terms.get(at + 1);
        let names_agent = group == Verb::Delegate
            && next.is_some_and(|next| next.kind == TokenKind::Name || next.corrected)
            && self.ends(at + 2);
        if names_agent {
            return false;
        }
        let purpose = match term.entry.prep {
            // `the help page for split`
            Some(Prep::For) if self.terms[verb..at].iter().any(|term| term.entry.noun == Some(Noun::Help)) => false,
            Some(Prep::For) => !matches!(group, Verb::Search | Verb::Find | Verb::Grep | Verb::Recall | Verb::See),
            Some(Prep::To) => {
                self.verb_at(at + 1).is_some_and(|(_, form)| form == Form::Base)
                    && !matches!(group, Verb::Get | Verb::Ask | Verb::Tell)
            }
            Some(Prep::Before) => !self.ends_in_place(at + 1),
            _ => false,
        };
        purpose
            && at > verb + 1
            && c.zone == ClauseRole::Main
            && self.has_no_argument(at + 1)
            && term.kind == TokenKind::Word
            && !self.terms[at + 1..]
                .iter()
                .take(3)
                .any(|next| matches!(next.entry.noun, Some(Noun::Context | Noun::Stash | Noun::Todo)))
    }

    /// Effect of the word at the cursor on the clause: it may end the arguments, or decide the utterance type.
    fn next_word(&mut self, c: &mut Cursor) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let (term, asked) = (self.terms[at], Some((verb, group)));
        match (term.kind, term.entry.func) {
            (TokenKind::Word, Some(FunctionWord::Sub))
                if self.terms[at + 1..].iter().take(2).any(|t| {
                    t.is_text()
                        || matches!(t.kind, TokenKind::Number(_)) && self.text_at(at) != "because"
                        || matches!(t.entry.noun, Some(Noun::Depth | Noun::Turn | Noun::Level))
                }) => {}
            (TokenKind::Word, Some(FunctionWord::Sub)) if c.embedded || phrases::embeds(group) && at <= verb + 2 => {
                c.embedded = true
            }
            // `continue until a7x2 is resolved`
            (TokenKind::Word, Some(FunctionWord::Sub))
                if matches!(self.text_at(at), "until" | "till") && group == Verb::Continue =>
            {
                return Some((Utterance::Hypothetical, asked, at));
            }
            (TokenKind::Word, Some(FunctionWord::Sub)) => c.zone = self.subordinate(at),
            (TokenKind::Word, Some(FunctionWord::What)) => c.embedded = true,
            (TokenKind::Word, Some(FunctionWord::Doubt)) => self.doubtful = true,
            (TokenKind::Word, _) if c.zone == ClauseRole::Main && self.is_deferred(at, group) => {
                return Some((Utterance::Hypothetical, asked, at));
            }
            (TokenKind::Word, Some(FunctionWord::If)) => {
                if !phrases::is_polite_condition(self.line, &self.terms[at..]) {
                    return Some((Utterance::Hypothetical, asked, at));
                }
                c.zone = ClauseRole::Tail;
            }
            (TokenKind::Word, Some(FunctionWord::Not)) if self.denies(at, group) => {
                return Some((Utterance::Negated, asked, at));
            }
            (TokenKind::Word, Some(FunctionWord::Subject))
                if matches!(self.text_at(at), "someone" | "somebody" | "anyone") => {}
            (TokenKind::Word, Some(FunctionWord::Subject | FunctionWord::Clause | FunctionWord::Would))
                if !c.embedded && c.zone == ClauseRole::Main =>
            {
                c.zone = ClauseRole::Tail;
            }
            // `now that the chapter is done`
            (TokenKind::Word, Some(FunctionWord::Det))
                if self.text_at(at) == "that" && matches!(self.text_at(at - 1), "now" | "given" | "seeing") =>
            {
                c.zone = ClauseRole::Tail;
            }
            // `as it stands`, `as we said`
            (TokenKind::Word, _)
                if matches!(self.text_at(at), "as" | "like")
                    && c.zone == ClauseRole::Main
                    && matches!(self.func_at(at + 1), Some(FunctionWord::Subject | FunctionWord::It))
                    && !self.ends(at + 2)
                    && self.has_no_argument(at + 1) =>
            {
                c.zone = ClauseRole::Aside;
            }
            // `decide that the narrator stays unnamed`
            (TokenKind::Word, Some(FunctionWord::Det)) if at == verb + 1 && self.is_decided_clause(at, group) => {
                self.raw = Some(Span { start: self.terms[at + 1].whole.start, end: self.end });
                return Some((Utterance::Request, asked, verb));
            }
            (TokenKind::Word, Some(FunctionWord::Det)) if self.text_at(at) == "that" && self.is_finite_at(at + 1) => {
                c.zone = ClauseRole::Relative;
            }
            _ => return self.finite_verb(c),
        }
        None
    }

    /// A finite verb makes a statement. Inside a description of a noun it says nothing about the request.
    fn finite_verb(&self, c: &mut Cursor) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let (term, asked) = (self.terms[at], Some((verb, group)));
        match () {
            _ if group == Verb::Todo
                && is_finite(&term)
                && !matches!(self.text_at(at), "was" | "were" | "had" | "got")
                && (self.terms.get(at + 1).is_some_and(|next| next.entry.func == Some(FunctionWord::Do))
                    || self.func_at(at + 1) == Some(FunctionWord::Infinitive)
                        && matches!(
                            self.verb_at(at + 2),
                            Some((Verb::Finish | Verb::Cancel | Verb::Check, Form::Past))
                        )
                    || matches!(self.verb_at(at + 1), Some((Verb::Finish, Form::Past)))) => {}
            // `every version a7x2 has been through`
            _ if is_finite(&term)
                && phrases::embeds(group)
                && (self.is_contact_clause(at) || self.func_at(at - 1) == Some(FunctionWord::It)) =>
            {
                c.zone = ClauseRole::Relative;
            }
            _ if is_finite(&term) && !c.embedded && c.zone == ClauseRole::Main && at > verb && !self.is_gloss(at) => {
                return Some((Utterance::Remark, asked, at));
            }
            _ => {}
        }
        None
    }
}
