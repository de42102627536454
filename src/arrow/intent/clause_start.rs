//! Reading of the start of a clause: request or not, after polite openings.

use super::{ClauseRole, ClauseStart, IntentParser, Utterance, is_finite, statements::PASTS};
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        lexicon::{self, Form, FunctionWord, Noun, Prep, Verb},
        phrases,
    },
    tools::TABLE,
};

impl IntentParser<'_> {
    /// The first term after politeness, and whether a clause that begins at `at` asks there.
    pub(super) fn head(&mut self, at: usize, first: bool) -> ClauseStart {
        let (start, mut at) = (at, at);
        let mut gerund = false;
        loop {
            let Some(term) = self.terms.get(at) else { return ClauseStart::Other };
            let text = term.text.of(self.line);
            if let Some((length, what)) = phrases::padding(self.line, &self.terms[at..]) {
                at += length;
                self.polite |= what.polite;
                self.doubtful |= what.doubtful;
                gerund |= what.gerund;
                continue;
            }
            let (kind, entry) = (term.kind, term.entry);
            if let Some(start) = self.question_opening(at, first) {
                return start;
            }
            match (kind, entry.func) {
                (
                    TokenKind::Mark(',' | '.' | '!' | '…' | '-' | '—' | '–' | '(' | ':' | '[' | '{' | '$' | '/' | '<'),
                    _,
                ) => at += 1,
                // `oh no, that was wrong, undo it`, `wait, open it`
                (TokenKind::Word, _) if first && self.is_interjection(at) => at += 2,
                // `no wait, redo it`
                (TokenKind::Word, _) if first && self.is_interjection(at + 1) && matches!(text, "no" | "oh" | "ah") => {
                    at += 3;
                }
                // `already read all of it`: here the past looks like the present.
                (_, Some(FunctionWord::Pad))
                    if text.eq_ignore_ascii_case("already") && lexicon::is_unchanged(self.text_at(at + 1)) =>
                {
                    return ClauseStart::Utterance(Utterance::Remark);
                }
                // `never mind the branch, take me back`
                (_, Some(FunctionWord::Not))
                    if text.eq_ignore_ascii_case("never") && self.text_at(at + 1) == "mind" && first =>
                {
                    let comma = (at..self.terms.len()).find(|at| self.terms[*at].is(','));
                    match comma {
                        Some(comma) => at = comma,
                        None => return ClauseStart::Utterance(Utterance::Negated),
                    }
                }
                (_, Some(FunctionWord::Not)) => return ClauseStart::Utterance(Utterance::Negated),
                (_, Some(FunctionWord::If | FunctionWord::Later)) => {
                    return ClauseStart::Utterance(Utterance::Hypothetical);
                }
                (_, Some(FunctionWord::Pad | FunctionWord::Then | FunctionWord::And))
                    if entry.verb.is_none() || entry.func == Some(FunctionWord::Pad) =>
                {
                    self.polite |= matches!(text, "please" | "pls" | "plz" | "kindly" | "Please" | "Kindly");
                    gerund |= self.polite;
                    at += 1;
                }
                (_, Some(FunctionWord::Doubt)) => {
                    self.doubtful = true;
                    at += 1;
                }
                (_, Some(FunctionWord::Lets)) => at += 1,
                // `let us formally resolve`
                (TokenKind::Name, _) if at > start && text.len() > 4 && text.ends_with("ly") => at += 1,
                _ => break,
            }
        }
        self.imperative(at, first, gerund)
    }

    /// True if an imperative stands at `at`.
    pub(super) fn imperative(&mut self, at: usize, first: bool, gerund: bool) -> ClauseStart {
        if at >= self.terms.len() {
            return ClauseStart::Other;
        }
        self.correct_verb(at, first);
        if self.terms[at].kind != TokenKind::Word {
            return ClauseStart::Other;
        }
        if let Some(start) = self.special_imperative(at, first) {
            return start;
        }
        let term = &self.terms[at];
        let Some((verb, form)) = term.entry.verb else { return ClauseStart::Other };
        // `restoring please a7x2`
        // `annotating a7x2: "weak"`
        let content = phrases::bears_content(verb)
            && self.terms.iter().any(AnnotatedToken::is_text)
            && !self.contains_statement(self.end_before_reason(at));
        let gerund = gerund
            || first && form == Form::Ing && (content || self.announces(at, verb))
            || first && self.terms.iter().any(|term| matches!(term.text.of(self.line), "please" | "pls"));
        // `turns 2 through 6 once more, please`
        let counted = term.entry.noun.is_some()
            && self
                .terms
                .get(at + 1)
                .is_some_and(|next| matches!(next.kind, TokenKind::Number(_) | TokenKind::Range(..)));
        if !(form == Form::Base || gerund && (form == Form::Ing || form == Form::Third && !counted)) {
            return ClauseStart::Other;
        }
        // `help wanted`, `link broken`
        let names = term.entry.noun.is_some() && !matches!(verb, Verb::Memory | Verb::List | Verb::Todo);
        if names && matches!(self.verb_at(at + 1), Some((_, Form::Past))) && self.ends(at + 2) {
            return ClauseStart::Other;
        }
        // A verb that another finite verb follows is a noun: `memory is fuzzy here`.
        // `get rid of`
        if verb == Verb::Get && self.text_at(at + 1) == "rid" {
            return ClauseStart::Request(at + 1, Verb::Remove);
        }
        // `recall of turns 5-10 came back cut off`
        let clause =
            || self.terms[at + 1..].iter().take_while(|term| !matches!(term.kind, TokenKind::Mark(',' | ';' | '.')));
        if first
            && self.terms.get(at + 1).is_some_and(|next| next.entry.prep == Some(Prep::Of))
            && clause().any(|term| is_finite(term) || PASTS.contains(&term.text.of(self.line)))
        {
            return ClauseStart::Utterance(Utterance::Remark);
        }
        let finite = self.terms.get(at + 1).is_some_and(|next| is_finite(next) && !next.is_text());
        // `undo takes back one step`
        let third = !phrases::embeds(verb) && matches!(self.verb_at(at + 1), Some((_, Form::Third)));
        if finite || third && self.terms[at + 1].entry.prep.is_none() && self.text_at(at + 1).ends_with("es") {
            return ClauseStart::Other;
        }
        if let Some(start) = self.chained_verb(at, verb, first, gerund) {
            return start;
        }
        // `skip ahead to`
        if verb == Verb::Skip && matches!(self.text_at(at + 1), "ahead" | "to" | "forward" | "on") {
            return ClauseStart::Request(at, Verb::Go);
        }
        if verb == Verb::Skip || verb == Verb::Pause && self.verb_at(at + 1).is_some_and(|(_, form)| form == Form::Ing)
        {
            return ClauseStart::Utterance(Utterance::Negated);
        }
        ClauseStart::Request(at, verb)
    }

    /// `Pinning h1x7 so it stays in view`: true if a form in -ing announces a command. As the subject of a statement, such as
    /// `pruning a7x2 was a mistake`, it has a finite verb; put off, a time.
    fn announces(&self, at: usize, verb: Verb) -> bool {
        let puts_off =
            |at: usize| self.is_word(at, &["next", "later", "soon", "tomorrow", "tonight", "eventually", "often"]);
        // `switching to the leaf`
        let has_place = || {
            let place = |term: &AnnotatedToken| {
                matches!(term.entry.noun, Some(Noun::Root | Noun::Parent | Noun::Leaf | Noun::Sibling))
            };
            verb == Verb::Go && self.terms[at + 1..].iter().any(place)
        };
        // `undoing my last operation`
        let takes_back = || {
            matches!(verb, Verb::Undo | Verb::Redo)
                && self.terms[at + 1..].iter().any(|term| matches!(term.entry.noun, Some(Noun::Change | Noun::Tool)))
        };
        // `recalling what I stashed under "x"`
        let recalls = verb == Verb::Recall && self.func_at(at + 1) == Some(FunctionWord::What);
        // `thinking of pruning a7x2`, `going to prune a7x2`
        let is_other = matches!(verb, Verb::Think | Verb::Get)
            || self.is_word(at, &["going"]) && self.verb_at(at + 2).is_some()
            || !recalls && self.contains_statement(self.end_before_reason(at))
            || (at + 1..self.terms.len()).any(puts_off)
            || self.terms.last().is_some_and(|last| last.is('?'));
        !is_other && (self.has_concrete(at + 1..self.terms.len()) || has_place() || takes_back())
    }

    /// The end of what is announced at `at`, before the reason or the purpose: `pinning a7x2 so it stays`, `…, since it drags`.
    fn end_before_reason(&self, at: usize) -> usize {
        let purposes =
            ["make", "check", "see", "spot", "find", "keep", "avoid", "verify", "compare", "get", "have", "learn"];
        let begins = |at: &usize| {
            let comma = self.terms[at - 1].is(',');
            let mark = matches!(self.terms[*at].kind, TokenKind::Mark(';' | '—' | '–' | '(' | '.'));
            mark || self.is_word(*at, &["so"])
                || self.is_word(*at, &["because"]) && !self.is_word(at + 1, &["of"])
                || comma && self.is_word(*at, &["since", "as", "where", "which", "it", "this"])
                || self.is_word(*at, &["to"]) && self.is_word(at + 1, &purposes)
        };
        (at + 2..self.terms.len()).find(begins).unwrap_or(self.terms.len())
    }

    /// Reads a misspelt or bracketed word as the verb it could be.
    fn correct_verb(&mut self, at: usize, first: bool) {
        let term = &self.terms[at];
        if first
            && (term.kind == TokenKind::Name || term.kind == TokenKind::Id && !term.bracketed)
            && term.entry.verb.is_none()
        {
            let text = term.text.of(self.line);
            if let Some(word) = lexicon::correct_typo(text) {
                let term = &mut self.terms[at];
                (term.entry, term.corrected, term.kind) = (lexicon::look_up(word), true, TokenKind::Word);
            }
        }
        // `[diff] a7x2 b3k9`
        if first && self.terms[at].bracketed {
            let text = self.text_at(at);
            let entry = lexicon::look_up(text);
            let correct_typo = lexicon::correct_typo(text).filter(|_| !entry.is_known());
            let entry = correct_typo.map_or(entry, lexicon::look_up);
            if entry.base().is_some() {
                (self.terms[at].entry, self.terms[at].kind) = (entry, TokenKind::Word);
            }
        }
    }

    /// Reading of an opening whose words mean something else together, or whose verb is a noun.
    fn special_imperative(&mut self, at: usize, first: bool) -> Option<ClauseStart> {
        let term = self.terms[at];
        // `come on`, `hide and seek`
        let idiom = matches!(self.text_at(at), "come" | "Come") && self.text_at(at + 1) == "on"
            || self.func_at(at + 1) == Some(FunctionWord::And) && self.terms[at + 1].entry.prep.is_none();
        // `undo and redo`, `think and then prune a7x2`
        let is_tool = |at: usize| {
            self.verb_at(at).is_some_and(|(_, form)| form == Form::Base)
                && TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(self.text_at(at)))
        };
        let second = at + 2 + usize::from(self.func_at(at + 2) == Some(FunctionWord::Then));
        if idiom && first && is_tool(at) && is_tool(second) && self.text_at(at) != self.text_at(second) {
            return Some(ClauseStart::Utterance(Utterance::Several));
        }
        if idiom && term.entry.verb.is_some() && !matches!(term.entry.verb, Some((Verb::Go | Verb::Take, _))) && first {
            return Some(ClauseStart::Other);
        }
        if phrases::is_prohibition(self.line, &self.terms[at..]) {
            return Some(ClauseStart::Utterance(Utterance::Negated));
        }
        // `git branch -D a7x2`
        if term.entry.noun == Some(Noun::Branch)
            && self
                .terms
                .get(at + 1)
                .is_some_and(|next| next.kind == TokenKind::Flag && matches!(next.text.of(self.line), "D" | "d"))
        {
            return Some(ClauseStart::Request(at, Verb::Prune));
        }
        None
    }

    /// `go look at`, `let go of`: reading of two verbs side by side.
    fn chained_verb(&mut self, at: usize, verb: Verb, first: bool, gerund: bool) -> Option<ClauseStart> {
        // `let it go`
        if self.text_at(at).eq_ignore_ascii_case("let")
            && self.func_at(at + 1) == Some(FunctionWord::It)
            && self.text_at(at + 2) == "go"
            && self.ends(at + 3)
        {
            return Some(ClauseStart::Request(at, Verb::Drop));
        }
        if let Some((chained, Form::Base)) = self.verb_at(at + 1)
            && self.terms[at + 1].entry.noun.is_none()
            && !matches!(chained, Verb::Name | Verb::Limit)
        {
            match (verb, chained) {
                (Verb::Ask, Verb::Go) => return Some(ClauseStart::Request(at, Verb::Drop)),
                (Verb::Go, _) if matches!(self.text_at(at), "go" | "Go") => {
                    return Some(self.imperative(at + 1, first, gerund));
                }
                (Verb::Go, _) => return Some(ClauseStart::Other),
                (Verb::Stash, Verb::Put) => {
                    self.zones[at] = ClauseRole::Main;
                    return Some(ClauseStart::Request(at + 1, Verb::Recall));
                }
                (Verb::Stash, Verb::Carry) => return Some(ClauseStart::Request(at, Verb::Stash)),
                // `bookmark remove a7x2`: the noun comes first.
                (
                    Verb::Stash | Verb::Bookmark | Verb::Pin | Verb::Link | Verb::Memory | Verb::Tree,
                    Verb::Drop | Verb::Remove | Verb::See | Verb::List,
                ) => {
                    self.zones[at] = ClauseRole::Main;
                    return Some(ClauseStart::Request(at + 1, chained));
                }
                _ => {}
            }
        }
        None
    }

    /// True if the word at `at` only calls for attention: `no,`, `wait,`.
    fn is_interjection(&self, at: usize) -> bool {
        matches!(self.text_at(at).to_ascii_lowercase().as_str(), "no" | "nope" | "wait" | "look" | "listen")
            && self.terms.get(at + 1).is_some_and(|next| next.is(','))
            && at + 2 < self.terms.len()
    }
}
