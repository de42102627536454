//! Wishes, of which only the thing wished for is kept: `three takes would be lovely`, `I'd be glad of a summary`.

use std::ops::Range;

use super::IntentParser;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Verb},
};

/// Words for a thing that the speaker would like to have: `three takes would be lovely`.
const VALUED: &[&str] = &[
    "nice",
    "good",
    "great",
    "lovely",
    "welcome",
    "helpful",
    "handy",
    "useful",
    "wonderful",
    "appreciated",
    "perfect",
    "ideal",
    "fine",
    "best",
    "splendid",
    "excellent",
    "grand",
    "super",
    "enough",
    "plenty",
    "sufficient",
    "convenient",
    "worthwhile",
    "instructive",
    "interesting",
    "delightful",
];

/// Words for a person who gets what was asked for: `I'd be glad of it`.
const GLAD: &[&str] = &[
    "glad",
    "grateful",
    "delighted",
    "happy",
    "happiest",
    "pleased",
    "obliged",
    "thankful",
    "keen",
    "curious",
    "eager",
];

impl IntentParser<'_> {
    /// A predicate that wishes for its subject, which alone is meant: `three takes would be lovely`, `… is all I need`.
    pub(super) fn valued(&mut self, at: usize) -> Option<Range<usize>> {
        let adverbs = |mut at: usize| {
            while self.is_word(at, &["most", "very", "really", "quite", "so", "also", "much", "rather", "just", "more"])
                || self.text_at(at).ends_with("ly") && !self.is_word(at, VALUED)
            {
                at += 1;
            }
            at
        };
        let will = self.is_word(at, &["would", "will", "could", "might"]);
        let is = self.is_word(at, &["is", "are"]);
        let described = adverbs(at + 2);
        let mut end = match () {
            _ if will && self.is_word(at + 1, &["be"]) && self.is_word(described, VALUED) => {
                let to = self.is_word(described + 1, &["to"])
                    && self.is_word(described + 2, &["have", "get", "see", "read", "know", "hear"]);
                described + if to { 3 } else { 1 }
            }
            _ if will && self.is_word(at + 1, &["help", "do", "suffice"]) => {
                at + 2 + usize::from(self.is_word(at + 2, &["nicely", "well", "fine"]))
            }
            _ if is
                && self.is_word(at + 1, &["all", "what", "everything"])
                && self.is_word(at + 2, &["i", "we"])
                && self.is_word(at + 3, &["need", "want", "require", "ask"]) =>
            {
                let to = self.is_word(at + 4, &["to"]) && self.is_word(at + 5, &["see", "read", "have", "know"]);
                let asked = usize::from(self.is_word(at + 4, &["for"]) && self.is_last(at + 5));
                at + 4 + if to { 2 } else { asked }
            }
            _ if is
                && self.is_word(adverbs(at + 1), &["needed", "wanted", "required", "requested", "welcome", "due"])
                && !self.is_word(self.clause_begin(at), &["the", "this", "that", "these", "those", "its"]) =>
            {
                adverbs(at + 1) + 1
            }
            _ => return None,
        };
        for closing in
            [&["for", "the", "moment"] as &[&str], &["for", "now"], &["right", "now"], &["now"], &["here"], &["me"]]
        {
            if (end..).zip(closing).all(|(at, word)| self.is_word(at, &[word])) {
                end += closing.len();
            }
        }
        // `…, I think`
        if self.terms.get(end).is_some_and(|mark| mark.is(','))
            && self.is_word(end + 1, &["i"])
            && self.is_word(end + 2, &["think", "believe", "guess", "suppose"])
            && self.is_last(end + 3)
        {
            end += 3;
        }
        let begin = self.clause_begin(at);
        let names = begin < at
            && !self.terms[begin].is_id()
            && !self
                .is_word(begin, &["it", "that", "this", "which", "what", "who", "there", "he", "she", "they", "you"])
            && self.terms[begin..at].iter().any(|term| term.entry.noun.is_some_and(|noun| noun != Noun::Node));
        let leads = self.terms.get(end).is_some_and(|mark| mark.is(':'))
            && !self.terms.get(end + 1).is_some_and(AnnotatedToken::is_text);
        let ends = end == self.terms.len() || end == self.clause_end(end) && !leads;
        if !(names && ends) {
            return None;
        }
        self.polite = true;
        Some(at..end)
    }

    /// Takes `all I need is` off; returns true if the line begins so.
    fn drop_need(&mut self, begin: usize) -> bool {
        let all = self.is_word(begin, &["all", "what"]);
        let short = self.is_word(begin + 1, &["i'd", "we'd"]) && self.is_word(begin + 2, &["like", "love", "need"]);
        let long = self.is_word(begin + 1, &["i", "we"])
            && (self.is_word(begin + 2, &["need", "want", "ask"])
                || self.is_word(begin + 2, &["would"]) && self.is_word(begin + 3, &["like", "love"]));
        let needs = all && (short || long);
        let mut is = begin + 3 + usize::from(self.is_word(begin + 2, &["would"]));
        is += usize::from(self.is_word(is, &["for", "now", "first", "here", "next", "most"]));
        // `… is to have it pruned`, `… is to stop to prune it`, `… is time to prune it`, `… is to prune it?`
        let idle = ["have", "get", "be", "stop", "cease", "wait", "avoid", "pretend", "find", "try", "hesitate"];
        let other = self.is_word(is + 1, &["to"]) && self.is_word(is + 2, &idle)
            || self.is_word(is + 1, &["for", "time"])
            || self.terms.last().is_some_and(|last| last.is('?'));
        if needs && self.is_word(is, &["is"]) && !other {
            // `what we need now is to go back to the root`
            is += usize::from(self.is_word(is + 1, &["to"]));
            self.polite = true;
            self.remove(begin..is + 1);
        }
        needs
    }

    /// Takes `it would help me greatly to` off; returns true if the line begins so.
    fn drop_help(&mut self, begin: usize) -> bool {
        let would = self.is_word(begin, &["it"]) && self.is_word(begin + 1, &["would", "will"]);
        let helps = |at: usize| {
            self.is_word(at, &["help", "be", "me", "us", "of", "great", "use", "very", "most", "a", "lot"])
                || self.is_word(at, VALUED)
                || self.text_at(at).ends_with("ly")
        };
        let to = (begin + 2..self.terms.len().min(begin + 8)).find(|at| self.is_word(*at, &["to"]));
        if let Some(to) = to.filter(|to| would && (begin + 2..*to).all(helps)) {
            self.polite = true;
            self.remove(begin..to + 1);
        }
        would
    }

    /// Takes a wish off the line's beginning: `I'd be glad of …`, `I would appreciate …`, `all I need is …`. Behind
    /// `I'd be glad if`, a passive asks.
    pub(super) fn drop_wish(&mut self) {
        let begin = (0..self.terms.len()).find(|at| self.func_at(*at) != Some(FunctionWord::Pad)).unwrap_or(0);
        if self.drop_need(begin) || self.drop_help(begin) {
            return;
        }
        // `I'm bookmarking a7x2 as "first answer"`
        let progressive = match () {
            () if self.is_word(begin, &["i'm", "we're"]) => begin + 1,
            () if self.is_word(begin, &["i", "we"]) && self.is_word(begin + 1, &["am", "are"]) => begin + 2,
            () => usize::MAX,
        };
        if let Some((verb, Form::Ing)) = self.terms.get(progressive).and_then(|term| term.entry.verb)
            && !matches!(verb, Verb::Go | Verb::Think | Verb::Get)
            && self.has_concrete(progressive..self.terms.len())
        {
            self.terms[progressive].entry.verb = Some((verb, Form::Base));
            return self.remove(begin..progressive);
        }
        let mut at = begin;
        let short = self.is_word(at, &["i'd", "we'd"]);
        let would = self.is_word(at, &["i", "we"]) && self.is_word(at + 1, &["would", "should"]);
        if !(short || would) {
            return;
        }
        at += 2 - usize::from(short);
        let skip = |mut at: usize| {
            while self.is_word(at, &["much", "very", "most", "really", "so", "also"])
                || self.text_at(at).ends_with("ly")
            {
                at += 1;
            }
            at
        };
        at = skip(at);
        if self.is_word(at, &["be"]) && self.is_word(skip(at + 1), GLAD) {
            at = skip(at + 1) + 1;
        } else if self.is_word(at, &["appreciate", "welcome", "value"]) {
            at += 1;
            if !self.is_word(at, &["it"]) {
                self.polite = true;
                return self.remove(begin..at);
            }
            at += 1;
        } else {
            return;
        }
        let leads = match () {
            _ if self.is_word(at, &["for", "of"]) => 1,
            _ if self.is_word(at, &["to"]) && self.is_word(at + 1, &["have", "get", "receive"]) => 2,
            _ if self.is_word(at, &["to"]) => 1,
            _ if self.is_word(at, &["if"])
                && self.is_word(at + 1, &["you", "we"])
                && self.is_word(at + 2, &["would", "could", "can", "might", "will"]) =>
            {
                3
            }
            // `if you restored a7x2`
            _ if self.is_word(at, &["if"])
                && self.is_word(at + 1, &["you", "we"])
                && self.verb_at(at + 2).is_some_and(|(_, form)| form == Form::Past) =>
            {
                self.terms[at + 2].entry.verb = self.verb_at(at + 2).map(|(verb, _)| (verb, Form::Base));
                2
            }
            _ if self.is_word(at, &["if", "that"]) => {
                self.wished = true;
                1
            }
            _ => return,
        };
        self.polite = true;
        self.remove(begin..at + leads);
    }

    /// The index of the first term of the clause in which `at` stands.
    pub(super) fn clause_begin(&self, at: usize) -> usize {
        (0..at)
            .rev()
            .find(|at| matches!(self.terms[*at].kind, TokenKind::Mark(',' | ';' | '.' | ':')))
            .map_or(0, |at| at + 1)
    }
}
