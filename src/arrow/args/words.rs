//! Single words among the arguments: what they say of the next argument, and on their own.

use super::{Bag, Lead, What, named, names_node};
use crate::{
    arrow::{
        key::Key,
        lex::Bytes,
        lexicon::{Func, Noun, Prep, Verb},
        terms::{Shape, Term},
    },
    tools::{TABLE, Tool},
};

impl Bag<'_> {
    /// A word: it leads to the next argument, or was not understood.
    pub(super) fn word(&mut self, terms: &[Term], at: usize, lead: &mut Lead) {
        let term = &terms[at];
        let entry = term.entry;
        // `as bisect`: a name, though it could be a verb.
        let only_verb = entry.verb.is_some() && entry.noun.is_none() && entry.func.is_none() && entry.lead.is_none();
        if only_verb && at > 0 && terms[at - 1].entry.prep == Some(Prep::As) && terms[at - 1].text.of(self.line) == "as"
        {
            self.args.push(lead.arg(What::Name, term.text, at));
            *lead = Lead::default();
            return;
        }
        if let Some(prep) = entry.prep {
            lead.prep = Some(prep);
            if prep == Prep::As && lead.key == Some(Key::Content) {
                lead.key = None;
            }
            if !matches!(prep, Prep::Of) {
                lead.noun = None;
            }
        }
        // `the tree called "x"`: still a tree.
        let kept = matches!(lead.key, Some(Key::Tree | Key::Doc | Key::Section | Key::Agent | Key::Tool));
        if let Some(key) = entry.lead.filter(|key| !(kept && *key == Key::Label)) {
            lead.key = Some(key);
        }
        if let Some(noun) = entry.noun {
            if lead.prep == Some(Prep::As) && lead.noun.is_none() {
                self.role = Some(noun);
            }
            lead.noun = Some(noun);
            if let Some(key) = named(noun) {
                lead.key = Some(key);
            }
        }
        match entry.verb {
            Some((Verb::Name, _)) if !kept => lead.key = Some(Key::Label),
            Some((Verb::Limit, _)) => lead.key = Some(Key::Limit),
            Some((Verb::Exclude | Verb::Skip, _)) => lead.key = Some(Key::Exclude),
            Some((Verb::Include, _)) => lead.key = Some(Key::Include),
            Some((Verb::Use, _)) => lead.key = Some(Key::Agent),
            _ => {}
        }
        let text = term.text.of(self.line);
        self.sign(terms, at, text);
        let before_site =
            terms.get(at + 1..).is_some_and(|next| next.iter().take(2).any(|term| term.shape == Shape::File));
        if before_site && (text.eq_ignore_ascii_case("only") || text.eq_ignore_ascii_case("just")) {
            lead.key = lead.key.or(Some(Key::Include));
        }
        // `man7.org only`
        if let Some(site) = self.args.last_mut().filter(|site| site.what == What::File && site.at + 1 == at)
            && text.eq_ignore_ascii_case("only")
        {
            site.key = site.key.or(Some(Key::Include));
        }
        // `no more than` limits, and leaves nothing out.
        let limits = terms.get(at + 2).is_some_and(|term| term.text.of(self.line) == "than");
        let interjected = terms.get(at + 1).is_some_and(|next| next.is(','));
        if !limits
            && !interjected
            && ["not", "without", "nothing", "no"].iter().any(|word| text.eq_ignore_ascii_case(word))
        {
            lead.key = Some(Key::Exclude);
        }
        let leave_out =
            entry.prep == Some(Prep::Out) && at > 0 && matches!(terms[at - 1].entry.verb, Some((Verb::Leave, _)));
        if leave_out {
            lead.key = Some(Key::Exclude);
        }
        if matches!(entry.func, Some(Func::But | Func::Or)) {
            *lead = Lead::default();
        }
    }

    /// What a word says on its own.
    pub(super) fn sign(&mut self, terms: &[Term], at: usize, text: &str) {
        let entry = terms[at].entry;
        let negated = terms[at.saturating_sub(3)..at].iter().any(|term| term.entry.func == Some(Func::Not));
        match text.to_ascii_lowercase().as_str() {
            // `a7x2, notes and all`
            "all" if at > 0 && terms[at - 1].entry.func == Some(Func::And) => {}
            "full" | "whole" | "every" | "entire" | "complete" | "all" | "entirety" | "completely" | "everything" => {
                self.signs.whole = true
            }
            "this" | "here" | "current" | "we're" | "i'm" => self.signs.here = true,
            // `recall it for me`
            "for" => {
                let whom = terms.get(at + 1).map(|next| next.text.of(self.line));
                self.signs.searches |= !matches!(whom, Some("me" | "us" | "later"));
            }
            "search" | "searching" | "about" | "said" | "mentioned" | "grep" | "containing" | "mentioning" => {
                self.signs.searches = true
            }
            "once" => {
                let before = at.checked_sub(1).map(|before| terms[before].text.of(self.line));
                let again = terms.get(at + 1).map(|next| next.text.of(self.line));
                self.signs.once |= before != Some("at") && !matches!(again, Some("more" | "again"));
            }
            "done" | "finished" | "complete-d" | "completed" => self.signs.finishes = true,
            "no-wait" | "nowait" => self.signs.waits = Some(false),
            "wait" | "waiting" | "block" | "blocking" => self.signs.waits = Some(!negated),
            _ => {}
        }
        match entry.verb {
            Some((Verb::Add, _)) => self.signs.adds = true,
            Some((Verb::Finish, _)) => self.signs.finishes = true,
            Some((Verb::Cancel | Verb::Drop, _)) => self.signs.cancels = true,
            Some((Verb::Resume, _)) => self.signs.resumes = true,
            _ => {}
        }
        if entry.verb.is_some() || entry.noun.is_some() {
            let said = |name: &str| name.eq_ignore_ascii_case(text);
            let row = TABLE.iter().find(|row| said(row.name)).or_else(|| {
                // A synonym only tells which, if no operation is named outright.
                let named = self.signs.tool.is_some_and(|tool| tool != Tool::Help);
                TABLE.iter().find(|row| !named && row.synonyms.iter().any(|s| said(s)))
            });
            let row = row.filter(|row| row.tool != Tool::Help || self.signs.tool.is_none());
            self.signs.tool = row.map(|row| row.tool).or(self.signs.tool);
        }
    }

    /// A number, with the noun behind it; several words may make one, and two numbers a range.
    pub(super) fn number(&mut self, terms: &[Term], at: usize, lead: &mut Lead) -> usize {
        let value = |at: usize| match terms.get(at).map(|term| term.shape) {
            Some(Shape::Number(number)) => Some(number),
            _ => None,
        };
        let mut number = value(at).unwrap_or_default();
        let mut next = at + 1;
        while let Some(more) = value(next) {
            number = match (number, more) {
                (n, 100) if n < 100 => n * 100,
                (n, more) if n >= 20 && n % 10 == 0 && more < 10 || n >= 100 && more < 100 => n + more,
                _ => break,
            };
            next += 1;
        }
        if at > 0 && terms[at - 1].text.of(self.line).eq_ignore_ascii_case("half") && number == 12 {
            number = 6;
        }
        // `the first 20 lines`
        let first = terms[at].text.of(self.line).eq_ignore_ascii_case("first");
        if let Some(last) =
            value(next).filter(|_| first && terms.get(next + 1).is_some_and(|t| t.entry.noun == Some(Noun::Line)))
        {
            self.args.push(lead.arg(What::Range(1, last), terms[next].text, at));
            return next + 1;
        }
        let text = Bytes { start: terms[at].text.start, end: terms[next - 1].text.end };
        let between = terms.get(next);
        let joins = between.is_some_and(|term| {
            term.is('-')
                || term.is('–')
                || term.is('.') && terms.get(next + 1).is_some_and(|t| t.is('.'))
                || matches!(term.entry.prep, Some(Prep::Through | Prep::To))
                || term.entry.func == Some(Func::And) && lead.prep == Some(Prep::Between)
                || term.text.of(self.line) == "until"
                || term.is(',') && !term.gap && terms.get(next + 1).is_some_and(|more| is_last_line(more, self.line))
        });
        // `copy 1122 to 3344`: two ids, unless lines or turns are counted.
        let ids = text.end - text.start > 3 && !matches!(lead.noun, Some(Noun::Line | Noun::Turn));
        if joins && !ids {
            let dots = usize::from(terms[next].is('.'));
            let more =
                usize::from(matches!(terms.get(next + 1).and_then(|t| t.entry.noun), Some(Noun::Line | Noun::Turn)));
            if let Some(last) = value(next + 1 + dots + more) {
                let end = next + 1 + dots + more;
                self.args.push(lead.arg(
                    What::Range(number, last),
                    Bytes { start: text.start, end: terms[end].text.end },
                    at,
                ));
                *lead = Lead::default();
                return end + 1;
            }
        }
        let mut arg = lead.arg(What::Number(number), text, at);
        let behind = terms[next..].iter().take(3).find(|term| {
            !matches!(term.entry.func, Some(Func::Adjective | Func::Pad | Func::Det))
                && term.entry.prep != Some(Prep::Of)
        });
        arg.unit = behind.filter(|term| matches!(term.shape, Shape::Word)).and_then(|term| term.entry.noun);
        if at > 0 && self.is_value(terms, at) {
            arg.unit = None;
            if names_node(arg.key, text.of(self.line)) {
                arg.what = What::Id;
            }
        }
        if let Some(Shape::Name) = behind.map(|term| term.shape)
            && behind.is_some_and(|term| matches!(term.text.of(self.line), "tok" | "toks" | "tkns"))
        {
            arg.unit = Some(Noun::Token);
        }
        // `that one`, `the one at`: no number.
        let the_two = at > 0
            && terms[at - 1].entry.func == Some(Func::Det)
            && arg.unit.is_none()
            && arg.text.end - arg.text.start < 4;
        // `show me a7x2 first`
        let adverb = terms[at].entry.func == Some(Func::Pad) && arg.unit.is_none();
        let pronoun = the_two || adverb || terms[at].entry.func == Some(Func::One) && arg.unit.is_none();
        if pronoun || terms[at].entry.func == Some(Func::Adjective) && arg.unit.is_none() {
            return next;
        }
        self.args.push(arg);
        *lead = Lead::default();
        next
    }
}

/// `25p`, as `sed` ends a range of lines.
fn is_last_line(term: &Term, line: &str) -> bool {
    !term.gap && matches!(term.shape, Shape::Number(_)) && term.text.of(line).ends_with('p')
}
