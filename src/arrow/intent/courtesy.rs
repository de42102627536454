//! Courtesy, removed with wishes and asides before the request is looked for: what remains is shorter and asks the same.

use std::ops::Range;

use super::IntentParser;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{self, FunctionWord},
    phrases,
};

/// Length of the longest word that marks a range to remove.
const LONGEST_MARK: usize = 10;

/// Words of one who hesitates.
const HESITATIONS: &[&str] = &["um", "uh", "uhm", "umm", "er", "erm", "hm", "hmm", "mm", "yeah", "yep", "ne"];

/// Ends of a line that ask for nothing.
const CLOSINGS: &[&[&str]] = &[
    &["go"],
    &["thanks"],
    &["thank", "you"],
    &["many", "thanks"],
    &["cheers"],
    &["ta"],
    &["sorry"],
    &["fine"],
    &["oops"],
    &["whoops"],
    &["no", "rush"],
    &["no", "hurry"],
    &["my", "apologies"],
    &["my", "bad"],
    &["my", "mistake"],
];

impl IntentParser<'_> {
    /// Removes courtesy, wishes and asides.
    pub(super) fn drop_courtesy(&mut self) {
        self.drop_hesitations();
        self.drop_closing();
        self.drop_before_how();
        let mut at = 0;
        while at < self.terms.len() {
            match self.removable(at) {
                Some(range) if range.len() < self.terms.len() => {
                    at = range.start;
                    self.remove(range);
                }
                _ => at += 1,
            }
        }
        self.drop_wish();
    }

    /// The range of the condition, aside or wish that the word at `at` begins or marks.
    fn removable(&mut self, at: usize) -> Option<Range<usize>> {
        let term = &self.terms[at];
        if !matches!(term.kind, TokenKind::Word | TokenKind::Name) {
            return None;
        }
        let mut buffer = [0; LONGEST_MARK];
        match lexicon::lower(term.text.of(self.line), &mut buffer)? {
            b"if" | b"when" | b"whenever" => self.leave(at),
            b"keep" => self.limit(at),
            b"before" if at == 0 => self.preliminary(at),
            b"before" => self.deadline(at),
            b"to" if at == 0 => self.purpose(at),
            b"where" => self.position(at),
            b"i" | b"we" | b"you" | b"there" if at > 0 => self.possession(at),
            b"i" | b"we" | b"i'm" | b"we're" | b"i've" | b"we've" if at == 0 => self.ignorance(at),
            b"so" | b"then" => self.sequel(at),
            b"no" | b"not" | b"won't" | b"rather" | b"instead" => self.set_against(at),
            b"which" | b"that" | b"who" | b"whose" => {
                self.relative(at).or_else(|| self.passive_relative(at)).or_else(|| self.possessive(at))
            }
            b"what" | b"what's" | b"whatever" | b"everything" | b"anything" | b"all" => {
                self.stands(at).or_else(|| self.said(at)).or_else(|| self.follows(at))
            }
            b"would" | b"will" | b"could" | b"might" | b"is" | b"are" => self.valued(at),
            _ => None,
        }
    }

    /// Removes what leads to a question on an operation: `could you tell me` in `could you tell me how link is used`.
    fn drop_before_how(&mut self) {
        const LEADS: &[&str] = &[
            "tell", "show", "explain", "remind", "wonder", "know", "learn", "me", "us", "i", "i'd", "we", "like",
            "want", "to", "please", "could", "can", "would", "will", "you", "kindly", "briefly", "quickly", "again",
        ];
        let Some(how) = (1..self.terms.len().min(9)).find(|at| self.is_word(*at, &["how"])) else { return };
        let is_led = (0..how).all(|at| self.is_word(at, LEADS) || self.terms[at].is(','))
            && (0..how).any(|at| self.is_word(at, &["tell", "show", "explain", "remind", "wonder", "know", "learn"]));
        let tail = how..self.terms.len();
        let names = tail.clone().any(|at| self.names_tool(at))
            && tail
                .clone()
                .any(|at| self.is_word(at, &["use", "used", "work", "works", "written", "called", "invoked"]));
        if is_led && names && !self.has_concrete(tail) {
            self.remove(0..how);
        }
    }

    /// Removes `um` and its like; behind a colon they may be content.
    fn drop_hesitations(&mut self) {
        let line = self.line;
        let hesitates = |term: &AnnotatedToken| {
            let text = term.text.of(line);
            term.kind == TokenKind::Name
                && text.len() < 5
                && HESITATIONS.iter().any(|word| text.eq_ignore_ascii_case(word))
        };
        let said = self.terms.iter().position(|term| term.is(':')).unwrap_or(self.terms.len());
        if self.terms[..said].iter().any(hesitates) && !self.terms.iter().all(hesitates) {
            let mut at = 0;
            self.terms.retain(|term| {
                at += 1;
                at > said || !hesitates(term)
            });
            // `prune a7x2, uh, no`
            self.terms.dedup_by(|next, term| next.is(',') && term.is(','));
            self.zones.truncate(self.terms.len());
        }
    }

    /// Removes terms, but never all of them.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        if range.len() < self.terms.len() {
            self.terms.drain(range.clone());
            self.zones.drain(range);
        }
    }

    /// True if one of `words` stands at `at`.
    pub(super) fn is_word(&self, at: usize, words: &[&str]) -> bool {
        let text = self.text_at(at);
        words.iter().any(|word| text.eq_ignore_ascii_case(word))
    }

    /// The index of the next mark, or the number of terms.
    pub(super) fn clause_end(&self, at: usize) -> usize {
        let ends = |term: &AnnotatedToken| {
            matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '!' | '?' | ')' | ':' | '—' | '–' | '-'))
        };
        (at..self.terms.len()).find(|at| ends(&self.terms[*at])).unwrap_or(self.terms.len())
    }

    /// True if only marks follow.
    pub(super) fn is_last(&self, at: usize) -> bool {
        self.terms[at.min(self.terms.len())..].iter().all(|term| term.is('.') || term.is('!') || term.is('?'))
    }

    /// True if one of these terms names something.
    pub(super) fn has_concrete(&self, range: Range<usize>) -> bool {
        self.terms[range].iter().any(AnnotatedToken::is_concrete)
    }

    /// Takes courtesy off the line's end: `…, if you would`, `…, would you?`, `…, thanks!`.
    fn drop_closing(&mut self) {
        for at in 2..self.terms.len() {
            // `reword it that way`
            let manner = self.is_word(at, &["that", "this"]) && self.is_word(at + 1, &["way"]) && self.is_last(at + 2);
            if manner && self.func_at(at - 1) == Some(FunctionWord::It) {
                return self.remove(at..at + 2);
            }
            if !matches!(self.terms[at - 1].kind, TokenKind::Mark(',' | '—' | '–' | '-')) {
                continue;
            }
            let closing = CLOSINGS.iter().find(|words| (at..).zip(**words).all(|(at, word)| self.is_word(at, &[word])));
            let closes = closing.is_some_and(|words| self.is_last(at + words.len()));
            // `undo that — sorry, it was too much`
            if let Some(words) =
                closing.filter(|words| self.terms.get(at + words.len()).is_some_and(|mark| mark.is(',')))
            {
                return self.remove(at - 1..at + words.len());
            }
            let asks = matches!(self.text_at(at), "would" | "will" | "could" | "can")
                && self.text_at(at + 1) == "you"
                && self.is_last(at + 2);
            let condition = self.func_at(at) == Some(FunctionWord::If)
                && phrases::is_polite_condition(self.line, &self.terms[at..])
                && !self.terms[at..].iter().any(|term| matches!(term.kind, TokenKind::Mark(',' | ';' | ':')));
            if closes || asks || condition {
                self.polite |= !closes;
                self.remove(at - 1..self.terms.len());
                return;
            }
        }
    }

    /// A condition that only asks for leave, or leaves the time open.
    fn leave(&mut self, at: usize) -> Option<Range<usize>> {
        let keys = match () {
            _ if self.is_word(at, &["if"]) => phrases::LEAVE,
            _ if self.is_word(at, &["when", "whenever"]) && self.is_word(at + 1, &["you", "you're", "we", "i"]) => {
                phrases::LEISURE
            }
            _ => return None,
        };
        let end = self.clause_end(at);
        let is_open = phrases::leaves_open(self.line, &self.terms[at + 1..end], keys);
        // `if you'd like` is an offer.
        let offers = (at + 1..end).any(|at| self.is_word(at, &["you'd", "i'd"]))
            && (at > 0 || !(at + 1..end).any(|at| self.is_word(at, &["kind", "mind"])));
        let is_open = is_open && !offers;
        let begins = at == 0 || self.terms[at - 1].is(',') || self.func_at(at - 1) == Some(FunctionWord::Pad);
        if !is_open || !(begins || self.is_last(end)) {
            return None;
        }
        self.polite = true;
        let comma = self.terms.get(end).is_some_and(|mark| mark.is(',') || at == 0 && mark.is(':'));
        Some(match () {
            _ if comma => at..end + 1,
            _ if at > 0 && self.terms[at - 1].is(',') => at - 1..end,
            _ => at..end,
        })
    }
}
