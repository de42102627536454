//! Position of the request in a line: at the start, after a mark, or after its object.

use std::sync::LazyLock;

use super::{ClauseRole, ClauseStart, IntentParser, Utterance, request::ClauseReading};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::ARROWS,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    phrases,
    word_pattern::PatternTable,
};

/// Openings by which what follows is not done, or not now.
static NOT_NOW: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        [
            "in|under|on|by no case|circumstances|account|way|means|event",
            "at no point|time|stage|moment",
            "at some later? point|time|stage|moment",
            "in the worst|best|ideal case|world|event",
            "in my|our|your wildest? dreams|dream|imagination",
            "from tomorrow|monday|next",
        ]
        .map(|opening| (opening, ())),
    )
});

impl IntentParser<'_> {
    /// Utterance type of the line, the verb of the request, and the index of the token that decided it.
    pub(super) fn whole(&mut self) -> ClauseReading {
        if self.is_unreal() {
            return (Utterance::Hypothetical, None, 0);
        }
        self.drop_courtesy();
        if let Some(speech) = self.opening() {
            return (speech, None, 0);
        }
        match self.head(0, true) {
            ClauseStart::Request(verb, group) => return self.request(verb, group),
            ClauseStart::Utterance(Utterance::Question) => {
                return self.request_after_question().unwrap_or((Utterance::Question, None, 0));
            }
            ClauseStart::Utterance(Utterance::Negated) => {
                if let Some(reading) = self.request_after_denial() {
                    return reading;
                }
                let Some((verb, group)) = self.opposite() else { return (Utterance::Negated, None, 0) };
                self.zones[..verb].fill(ClauseRole::Before);
                return self.request(verb, group);
            }
            ClauseStart::Utterance(speech) => return (speech, None, 0),
            ClauseStart::Other => {}
        }
        if let Some(verb) = self.recorded_decision() {
            return self.request(verb, Verb::Decide);
        }
        // Something stands before: what it is about (`b3k9: prune it`), or why (`it drags, prune it`).
        let mut at = 0;
        while at < self.terms.len() {
            // `with a7x2 and b3k9 I want a diff`
            if at > 1
                && self.func_at(at) == Some(FunctionWord::Subject)
                && (phrases::asks_politely(self.line, &self.terms[at..]) || self.answers(at))
                && !self.contains_statement(at)
                && let ClauseStart::Request(verb, group) = self.head(at, false)
            {
                self.zones[..at].fill(ClauseRole::Before);
                return self.request(verb, group);
            }
            // `at the end of letter.md add "x"`
            if self.is_placed(at)
                && let ClauseStart::Request(verb, group) = self.imperative(at, false, false)
            {
                self.zones[..at].fill(ClauseRole::Main);
                return self.request(verb, group);
            }
            if self.is_boundary(at)
                && let Some((verb, group)) = self.behind().filter(|(verb, _)| *verb < at)
                && matches!(self.verb_at(verb), Some((_, Form::Past)))
                && !(0..verb).any(|at| matches!(self.func_at(at), Some(FunctionWord::Not | FunctionWord::If)))
            {
                return self.request_behind(verb, group);
            }
            if let Some(reading) = self.request_after_mark(at) {
                return reading;
            }
            at += 1;
        }
        if let Some((verb, group)) = self.behind() {
            if (0..verb).any(|at| matches!(self.func_at(at), Some(FunctionWord::Not | FunctionWord::If))) {
                return (Utterance::Negated, None, 0);
            }
            // `before anyone prunes it, its sources should be checked`
            let when = matches!(self.text_at(0), "before" | "Before" | "after" | "After" | "once" | "until");
            if self.reports(verb) && !self.wished || when {
                return (Utterance::Remark, None, 0);
            }
            return self.request_behind(verb, group);
        }
        self.request_without_verb().unwrap_or((Utterance::Remark, None, 0))
    }

    /// Reading of the request behind words that deny nothing that is asked: `nothing useful here, go to the next sibling`.
    fn request_after_denial(&mut self) -> Option<ClauseReading> {
        let comma = self.terms.iter().position(|term| matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '!')))?;
        let idle =
            self.is_word(0, &["no", "nothing", "nah", "nope"]) || self.is_word(0, &["not"]) && self.is_word(1, &["so"]);
        let acts = |at: usize| self.terms[at].entry.verb.is_some() && self.terms[at].entry.noun.is_none();
        let is_idle = idle && !self.has_concrete(0..comma) && !(1..comma).any(acts);
        if !is_idle {
            return None;
        }
        match self.head(comma + 1, false) {
            ClauseStart::Request(verb, group) if self.has_object(verb) => {
                self.zones[..comma].fill(ClauseRole::Skip);
                Some(self.request(verb, group))
            }
            _ => None,
        }
    }

    /// `I would prune a7x2 if I could`: true if the line says what the speaker cannot do.
    fn is_unreal(&self) -> bool {
        let would = self.is_word(0, &["i'd", "we'd"]) || self.is_word(0, &["i", "we"]) && self.is_word(1, &["would"]);
        let could = |at: usize| {
            self.is_word(at, &["if"]) && self.is_word(at + 1, &["i", "we"]) && self.is_word(at + 2, &["could"])
        };
        let wishes = (1..4).any(|at| self.is_word(at, &["like", "love", "appreciate", "be", "prefer"]));
        would && !wishes && (2..self.terms.len()).any(could)
    }

    /// Utterance type of a line whose first words alone decide it.
    fn opening(&self) -> Option<Utterance> {
        if self.only_names() {
            return Some(Utterance::Several);
        }
        // `e.g. prune a7x2`
        if matches!(self.text_at(0).to_ascii_lowercase().as_str(), "e.g" | "eg" | "i.e" | "ie" | "cf" | "viz") {
            return Some(Utterance::Remark);
        }
        // `in no case prune a7x2`, `at some point, prune a7x2`
        if NOT_NOW.matches(&|at| self.text_at(at), 0).next().is_some() {
            return Some(Utterance::Negated);
        }
        // `you mustn't, I repeat, mustn't prune a7x2`
        let forbids = ["mustn't", "shouldn't", "can't", "cannot", "mustnt", "shouldnt"];
        let is_forbidden =
            self.is_word(1, &forbids) || self.is_word(1, &["must", "may", "should"]) && self.is_word(2, &["not"]);
        if self.is_word(0, &["you"]) && is_forbidden || self.is_withdrawn() {
            return Some(Utterance::Negated);
        }
        // `in case it rains, prune a7x2`, `help yourself to the cake`
        if self.is_word(0, &["in"]) && self.is_word(1, &["case"]) && self.func_at(2) != Some(FunctionWord::Subject) {
            return Some(Utterance::Hypothetical);
        }
        if self.is_word(0, &["help"]) && self.is_word(1, &["yourself", "yourselves"]) {
            return Some(Utterance::Remark);
        }
        // `same for a7x2`, `again with a7x2`
        let repeats = self.is_word(0, &["same", "again", "ditto", "likewise"]) && self.is_word(1, &["for", "with"]);
        // `one could prune a7x2`
        if repeats || self.is_word(0, &["one"]) && self.func_at(1) == Some(FunctionWord::Modal) {
            return Some(Utterance::Remark);
        }
        None
    }

    /// `list a7x2 siblings, oh, I see them already, no need`: true if the line ends by taking its request back.
    fn is_withdrawn(&self) -> bool {
        let Some(last) = (0..self.terms.len()).rfind(|at| !matches!(self.terms[*at].kind, TokenKind::Mark(_))) else {
            return false;
        };
        let ends = |first: &str, second: &str| {
            last > 2
                && self.is_word(last, &[second])
                && self.is_word(last - 1, &[first])
                && matches!(self.terms[last - 2].kind, TokenKind::Mark(_))
        };
        [
            ("no", "need"),
            ("never", "mind"),
            ("forget", "it"),
            ("scratch", "that"),
            ("forget", "that"),
            ("not", "needed"),
        ]
        .into_iter()
        .any(|(first, second)| ends(first, second))
    }

    /// Reading of a line that names a direction or a thing.
    fn request_without_verb(&mut self) -> Option<ClauseReading> {
        // `back to the parent, this attempt does not compile`
        if let Some(mark) = self.direction_end() {
            self.zones[..mark].fill(ClauseRole::Main);
            self.zones[mark..].fill(ClauseRole::Tail);
            self.nominal = true;
            return Some((Utterance::Request, Some((0, Verb::Go)), 0));
        }
        if let Some((named, told)) = self.reasoned_thing() {
            self.zones[..named].fill(ClauseRole::Main);
            self.zones[named..told].fill(ClauseRole::Tail);
            self.zones[told..].fill(ClauseRole::Main);
            self.nominal = true;
            return Some((Utterance::Request, Some(self.named()), 0));
        }
        // An id alone says nothing of what shall be done with it.
        if self.is_nominal(self.terms.len()) && (self.terms.len() > 1 || self.terms[0].entry.is_known()) {
            self.zones.fill(ClauseRole::Main);
            self.nominal = true;
            return Some((Utterance::Request, Some(self.named()), 0));
        }
        None
    }

    /// The ends of a thing that the line names, and of the reason or the purpose that follows it: `a copy of a7x2 under b3k9, for
    /// the other ending`. A text may stand behind both: `a note for a7x2, before I forget: "t"`.
    fn reasoned_thing(&self) -> Option<(usize, usize)> {
        let is_mark = |at: &usize| matches!(self.terms[*at].kind, TokenKind::Mark(',' | ';' | '—' | '–'));
        let named = (1..self.terms.len()).find(is_mark)?;
        let is_between = |at: &usize| is_mark(at) || self.func_at(*at) == Some(FunctionWord::Pad);
        let start = (named..self.terms.len()).find(|at| !is_between(at))?;
        let gives_text = matches!(&self.terms[..], [.., mark, text] if mark.is(':') && text.is_text());
        let told = self.terms.len() - if gives_text { 2 } else { 0 };
        let opens = self.is_word(start, &["because", "since", "as", "before", "for", "while"]);
        // `…, for the other ending, is missing`, `…, for now not`, `…, because it already exists`: said of the thing.
        let is_purpose = self.is_word(start, &["for"]);
        let is_open = |at: usize| {
            let (func, verb) = (self.func_at(at), self.verb_at(at));
            self.terms[at].is_concrete()
                || matches!(self.terms[at].kind, TokenKind::Mark(_)) && !(self.terms[at].is('.') && at + 1 == told)
                || matches!(func, Some(FunctionWord::If | FunctionWord::Or | FunctionWord::Doubt))
                || self.is_word(at, &["already", "exists", "existed"])
                || (is_purpose || at == start + 1)
                    && (func == Some(FunctionWord::Not)
                        || self.is_finite_at(at)
                        || matches!(verb, Some((_, Form::Past))))
        };
        let is_thing = self.terms[..named].iter().any(|term| term.entry.noun.is_some() && !term.is_text());
        let reasoned = opens && start + 1 < told && !(start..told).any(is_open);
        (is_thing && reasoned && self.is_nominal(named)).then_some((named, told))
    }

    /// The end of a direction without a verb, if a statement follows it.
    fn direction_end(&mut self) -> Option<usize> {
        let leads =
            matches!(self.terms[0].entry.prep, Some(Prep::Back | Prep::Up | Prep::Down | Prep::Over | Prep::On));
        let to = (1..self.terms.len().min(3)).find(|at| self.terms[*at].entry.prep == Some(Prep::To));
        let mark = to
            .filter(|_| leads)
            .and_then(|to| (to + 2..self.terms.len().min(to + 4)).find(|at| self.is_boundary(*at)))?;
        let is_place = |term: &AnnotatedToken| {
            let places = [Noun::Root, Noun::Parent, Noun::Leaf, Noun::Next, Noun::Previous];
            term.is_id() || term.entry.noun.is_some_and(|noun| places.contains(&noun))
        };
        if !self.terms[..mark].iter().any(is_place) {
            return None;
        }
        let tail = mark + 1..self.terms.len();
        let opens = |at: usize| {
            matches!(
                self.func_at(at),
                Some(FunctionWord::If | FunctionWord::Or | FunctionWord::Doubt | FunctionWord::Then)
            )
        };
        let has_subject = matches!(
            self.func_at(tail.start),
            Some(FunctionWord::Det | FunctionWord::Subject | FunctionWord::It | FunctionWord::Clause)
        ) || self.is_word(tail.start, &["since", "because", "as"]);
        let is_named = |term: &AnnotatedToken| term.is_concrete() && !matches!(term.kind, TokenKind::Number(_));
        let states = has_subject
            && tail.len() > 2
            && !tail.clone().any(opens)
            && !self.terms[tail].iter().any(|term| is_named(term) || is_place(term));
        states.then_some(mark)
    }

    /// `it is hereby decided: "x"`: the participle of a decision that the line records.
    fn recorded_decision(&self) -> Option<usize> {
        let verb = (0..self.terms.len().min(4)).find(|at| self.verb_at(*at) == Some((Verb::Decide, Form::Past)))?;
        let records = matches!(self.text_at(0).to_ascii_lowercase().as_str(), "it" | "it's" | "decided" | "resolved")
            && self.terms[verb + 1..].iter().take(2).any(AnnotatedToken::is_text)
            && !(0..verb).any(|at| matches!(self.text_at(at), "was" | "were" | "had"));
        // `we have decided: "x"`
        let announces = self.is_word(0, &["we", "we've", "i", "i've"])
            && self.is_word(verb, &["decided", "agreed", "resolved"])
            && (1..verb).all(|at| self.is_word(at, &["have", "hereby", "now", "finally", "just"]))
            && matches!(&self.terms[verb + 1..], [mark, text] | [mark, text, _] if mark.is(':') && text.is_text())
            && self.is_last(verb + 3);
        (records || announces).then_some(verb)
    }

    /// Reading of the request that begins behind the mark, conjunction or `please` at `at`.
    fn request_after_mark(&mut self, at: usize) -> Option<ClauseReading> {
        if (self.is_boundary(at) && self.func_at(at) != Some(FunctionWord::Or) || self.has_please(at))
            && let ClauseStart::Request(verb, group) = self.head(at + 1, false)
            && !self.labels_stash(verb)
            && (self.has_object(verb)
                || !self.contains_statement(at)
                || verb + 1 == self.terms.len() && matches!(group, Verb::Undo | Verb::Redo))
        {
            let arrow = matches!(self.terms[at].kind, TokenKind::Mark(c) if ARROWS.contains(&c));
            if arrow
                && (self.contains_statement(at) || self.terms[..at].iter().any(|term| term.kind == TokenKind::Name))
            {
                return Some((Utterance::Remark, None, at));
            }
            if self.quotes(at) {
                return Some((Utterance::Remark, None, at));
            }
            // `before line 14 of script.txt, insert "x"`: where, which belongs to the request.
            let place = self.terms[at].is(',') && !self.contains_statement(at) && self.is_leading_argument(at, group);
            if !place && matches!(self.text_at(0), "once" | "until" | "after" | "Once" | "Until" | "After") {
                return Some((Utterance::Hypothetical, None, 0));
            }
            self.zones[..at].fill(if place { ClauseRole::Main } else { ClauseRole::Before });
            return Some(self.request(verb, group));
        }
        None
    }

    /// `to a7x2 I reply: "x"`: true if the subject at `at` says what it writes under a node.
    fn answers(&self, at: usize) -> bool {
        self.is_word(at, &["i", "we"])
            && matches!(self.terms[0].entry.prep, Some(Prep::To | Prep::Under | Prep::On))
            && matches!(self.verb_at(at + 1), Some((Verb::Respond | Verb::Get, Form::Base)))
            && self.is_word(at + 1, &["answer", "reply", "respond", "say", "give"])
            && self.terms.last().is_some_and(AnnotatedToken::is_text)
    }

    /// `a summary of a7x2-b3k9 into the stash, label "x"`: true if the word at `at` names the label of what stands before it.
    fn labels_stash(&self, at: usize) -> bool {
        self.terms[at].entry.noun == Some(Noun::Label)
            && self.terms.get(at + 1).is_some_and(AnnotatedToken::is_text)
            && self.terms[..at].iter().any(|term| term.entry.noun == Some(Noun::Stash))
    }

    /// True if the tokens before `end` are an argument of the request behind them: a document, a cut's place (`after 260
    /// characters`), a stash's label, or a tree to go to.
    fn is_leading_argument(&self, end: usize, group: Verb) -> bool {
        let Some(prep) = self.terms[0].entry.prep else { return false };
        let phrase: Vec<&AnnotatedToken> =
            self.terms[1..end].iter().filter(|term| term.entry.func != Some(FunctionWord::Det)).collect();
        let is_noun = |term: &AnnotatedToken, noun| term.entry.noun == Some(noun);
        match (group, phrase.as_slice()) {
            (Verb::Split, [number, unit] | [_, number, unit]) => {
                let is_first = phrase.len() == 2 || self.is_word(end - 3, &["first"]);
                let is_number = matches!(number.kind, TokenKind::Number(_));
                prep == Prep::After && is_first && is_number && is_noun(unit, Noun::Character)
            }
            (Verb::Stash, [text] | [_, text]) => {
                let is_label = phrase.len() == 1 || is_noun(phrase[0], Noun::Label);
                matches!(prep, Prep::Under | Prep::As) && is_label && text.is_text()
            }
            (Verb::Go, [tree, text]) => prep == Prep::In && is_noun(tree, Noun::Tree) && text.is_text(),
            _ => self.terms[..end].iter().any(|term| term.kind == TokenKind::File),
        }
    }

    /// Reads on from a verb that stands behind what it is about.
    fn request_behind(&mut self, verb: usize, group: Verb) -> ClauseReading {
        self.zones[..verb].fill(ClauseRole::Main);
        // `b3k9 is void and should be pruned`: what is told of it is no argument.
        if let Some(and) = (1..verb).rev().find(|at| self.func_at(*at) == Some(FunctionWord::And))
            && self.func_at(and + 1) == Some(FunctionWord::Modal)
            && let Some(tells) = (1..and).find(|at| self.is_finite_at(*at))
        {
            self.zones[tells..=and].fill(ClauseRole::Tail);
        }
        // `there is a typo in a7x2, it should read "x"`
        if let Some(comma) = (1..verb).rev().find(|at| self.terms[*at].is(','))
            && self.func_at(comma + 1) == Some(FunctionWord::It)
        {
            for at in (0..comma).filter(|at| self.terms[*at].kind == TokenKind::Name) {
                self.zones[at] = ClauseRole::Tail;
            }
        }
        self.request(verb, group)
    }
}
