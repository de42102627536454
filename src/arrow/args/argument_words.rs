//! Single words among the arguments: what they say of the next argument, and on their own.

use super::{ArgKind, ArgPrefix, Arguments, named, names_node};
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        lex::Span,
        lexicon::{FunctionWord, Noun, Prep, Verb},
        option_name::OptionName,
    },
    tools::{TABLE, Tool},
};

impl Arguments<'_> {
    /// A word: it leads to the next argument, or was not understood.
    pub(super) fn word(&mut self, terms: &[AnnotatedToken], at: usize, prefix: &mut ArgPrefix) {
        let term = &terms[at];
        let entry = term.entry;
        // `as bisect`: a name, though it could be a verb.
        let only_verb = entry.verb.is_some() && entry.noun.is_none() && entry.func.is_none() && entry.option.is_none();
        if only_verb && at > 0 && terms[at - 1].entry.prep == Some(Prep::As) && terms[at - 1].text.of(self.line) == "as"
        {
            self.items.push(prefix.arg(ArgKind::Name, term.text, at));
            *prefix = ArgPrefix::default();
            return;
        }
        if let Some(prep) = entry.prep {
            prefix.prep = Some(prep);
            if prep == Prep::As && prefix.key == Some(OptionName::Content) {
                prefix.key = None;
            }
            if !matches!(prep, Prep::Of) {
                prefix.noun = None;
            }
        }
        // `the tree called "x"`: still a tree.
        let kept = matches!(
            prefix.key,
            Some(OptionName::Tree | OptionName::Doc | OptionName::Section | OptionName::Agent | OptionName::Tool)
        );
        let is_name = |key: OptionName| kept && key == OptionName::Label;
        if let Some(key) = entry.option.filter(|key| !is_form(terms, at) && !is_name(*key)) {
            prefix.key = Some(key);
        }
        if let Some(noun) = entry.noun {
            if prefix.prep == Some(Prep::As) && prefix.noun.is_none() {
                self.role = Some(noun);
            }
            prefix.noun = Some(noun);
            if let Some(key) = named(noun).filter(|_| !is_form(terms, at)) {
                prefix.key = Some(key);
            }
        }
        match entry.verb {
            // `the calls of run_query`
            Some((Verb::Name, _)) if !kept && entry.noun != Some(Noun::Result) => prefix.key = Some(OptionName::Label),
            Some((Verb::Limit, _)) => prefix.key = Some(OptionName::Limit),
            Some((Verb::Exclude | Verb::Skip, _)) => prefix.key = Some(OptionName::Exclude),
            Some((Verb::Include, _)) => prefix.key = Some(OptionName::Include),
            Some((Verb::Use, _)) => prefix.key = Some(OptionName::Agent),
            _ => {}
        }
        let text = term.text.of(self.line);
        self.modifier(terms, at, text);
        let before_site =
            terms.get(at + 1..).is_some_and(|next| next.iter().take(2).any(|term| term.kind == TokenKind::File));
        if before_site && (text.eq_ignore_ascii_case("only") || text.eq_ignore_ascii_case("just")) {
            prefix.key = prefix.key.or(Some(OptionName::Include));
        }
        // `man7.org only`
        if let Some(site) = self.items.last_mut().filter(|site| site.kind == ArgKind::File && site.at + 1 == at)
            && text.eq_ignore_ascii_case("only")
        {
            site.key = site.key.or(Some(OptionName::Include));
        }
        // `no more than` limits, and leaves nothing out.
        let limits = terms.get(at + 2).is_some_and(|term| term.text.of(self.line) == "than");
        let interjected = terms.get(at + 1).is_some_and(|next| next.is(','));
        if !limits
            && !interjected
            && ["not", "without", "nothing", "no"].iter().any(|word| text.eq_ignore_ascii_case(word))
        {
            prefix.key = Some(OptionName::Exclude);
        }
        let leave_out =
            entry.prep == Some(Prep::Out) && at > 0 && matches!(terms[at - 1].entry.verb, Some((Verb::Leave, _)));
        if leave_out {
            prefix.key = Some(OptionName::Exclude);
        }
        if matches!(entry.func, Some(FunctionWord::But | FunctionWord::Or)) {
            *prefix = ArgPrefix::default();
        }
    }

    /// Sets the modifiers of one word.
    pub(super) fn modifier(&mut self, terms: &[AnnotatedToken], at: usize, text: &str) {
        let entry = terms[at].entry;
        let negated = terms[at.saturating_sub(3)..at].iter().any(|term| term.entry.func == Some(FunctionWord::Not));
        match text.to_ascii_lowercase().as_str() {
            // `a7x2, notes and all`
            "all" if at > 0 && terms[at - 1].entry.func == Some(FunctionWord::And) => {}
            // `with every note on it`
            "all" | "every" if terms[at + 1..].iter().take(3).any(|next| next.entry.noun == Some(Noun::Annotation)) => {
            }
            "full" | "whole" | "unabridged" | "uncut" | "every" | "entire" | "complete" | "all" | "entirety"
            | "entirely" | "completely" | "everything" => self.modifiers.whole = true,
            "this" | "here" | "current" | "we're" | "i'm" => self.modifiers.here = true,
            // `recall it for me`
            "for" => {
                let whom = terms.get(at + 1).map(|next| next.text.of(self.line));
                self.modifiers.searches |= !matches!(whom, Some("me" | "us" | "later"));
            }
            "search" | "searching" | "about" | "said" | "say" | "mention" | "mentioned" | "grep" | "containing"
            | "mentioning" => self.modifiers.searches = true,
            "once" => {
                let before = at.checked_sub(1).map(|before| terms[before].text.of(self.line));
                let again = terms.get(at + 1).map(|next| next.text.of(self.line));
                self.modifiers.once |= before != Some("at") && !matches!(again, Some("more" | "again"));
            }
            "done" | "finished" | "complete-d" | "completed" => self.modifiers.finishes = true,
            "no-wait" | "nowait" => self.modifiers.waits = Some(false),
            "wait" | "waiting" | "block" | "blocking" => self.modifiers.waits = Some(!negated),
            _ => {}
        }
        match entry.verb {
            Some((Verb::Add, _)) => self.modifiers.adds = true,
            Some((Verb::Finish, _)) => self.modifiers.finishes = true,
            Some((Verb::Cancel | Verb::Drop, _)) => self.modifiers.cancels = true,
            // `give up todo 4`
            Some((Verb::Get, _)) if terms.get(at + 1).is_some_and(|next| next.entry.prep == Some(Prep::Up)) => {
                self.modifiers.cancels = true;
            }
            Some((Verb::Resume, _)) => self.modifiers.resumes = true,
            Some((Verb::List, _)) => self.modifiers.lists = true,
            _ => {}
        }
        if entry.verb.is_some() || entry.noun.is_some() {
            let said = |name: &str| name.eq_ignore_ascii_case(text);
            let row = TABLE.iter().find(|row| said(row.name)).or_else(|| {
                // A synonym only tells which, if no operation is named outright.
                let named = self.modifiers.tool.is_some_and(|tool| tool != Tool::Help);
                TABLE.iter().find(|row| !named && row.synonyms.iter().any(|s| said(s)))
            });
            let row = row.filter(|row| row.tool != Tool::Help || self.modifiers.tool.is_none());
            self.modifiers.tool = row.map(|row| row.tool).or(self.modifiers.tool);
        }
    }

    /// A number, with the noun behind it; several words may make one, and two numbers a range.
    pub(super) fn number(&mut self, terms: &[AnnotatedToken], at: usize, prefix: &mut ArgPrefix) -> usize {
        let value = |at: usize| match terms.get(at).map(|term| term.kind) {
            Some(TokenKind::Number(number)) => Some(number),
            _ => None,
        };
        let mut number = value(at).unwrap_or_default();
        let mut next = at + 1;
        // `3x 100 tokens`: two numbers.
        let is_word = |at: usize| !terms[at].text.of(self.line).starts_with(|c: char| c.is_ascii_digit());
        while let Some(more) = value(next) {
            number = match (number, more) {
                (n, 100) if n < 100 && is_word(next) => n * 100,
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
            self.items.push(prefix.arg(ArgKind::Range(1, last), terms[next].text, at));
            return next + 1;
        }
        let text = Span { start: terms[at].text.start, end: terms[next - 1].text.end };
        let joins = self.joins_range(terms, next, prefix);
        // `copy 1122 to 3344`: two ids, unless lines or turns are counted.
        let ids = text.end - text.start > 3 && !matches!(prefix.noun, Some(Noun::Line | Noun::Turn));
        if joins && !ids {
            let dots = usize::from(terms[next].is('.'));
            let more =
                usize::from(matches!(terms.get(next + 1).and_then(|t| t.entry.noun), Some(Noun::Line | Noun::Turn)));
            if let Some(last) = value(next + 1 + dots + more) {
                let end = next + 1 + dots + more;
                self.items.push(prefix.arg(
                    ArgKind::Range(number, last),
                    Span { start: text.start, end: terms[end].text.end },
                    at,
                ));
                *prefix = ArgPrefix::default();
                return end + 1;
            }
        }
        let mut arg = prefix.arg(ArgKind::Number(number), text, at);
        let behind = terms[next..].iter().take(3).find(|term| {
            !matches!(term.entry.func, Some(FunctionWord::Adjective | FunctionWord::Pad | FunctionWord::Det))
                && term.entry.prep != Some(Prep::Of)
        });
        arg.unit = behind.filter(|term| matches!(term.kind, TokenKind::Word)).and_then(|term| term.entry.noun);
        if at > 0 && self.is_value(terms, at) {
            arg.unit = None;
            if names_node(arg.key, text.of(self.line)) {
                arg.kind = ArgKind::Id;
            }
        }
        if let Some(TokenKind::Name) = behind.map(|term| term.kind)
            && behind.is_some_and(|term| matches!(term.text.of(self.line), "tok" | "toks" | "tkns"))
        {
            arg.unit = Some(Noun::Token);
        }
        let is_value = at > 0 && matches!(terms[at - 1].kind, TokenKind::OptionName(_) | TokenKind::Mark(':' | '='));
        if !is_value && is_pronoun(terms, at, &arg) {
            return next;
        }
        self.items.push(arg);
        *prefix = ArgPrefix::default();
        next
    }

    /// True if the term at `next` joins two numbers to a range.
    fn joins_range(&self, terms: &[AnnotatedToken], next: usize, prefix: &ArgPrefix) -> bool {
        let between = terms.get(next);
        between.is_some_and(|term| {
            term.is('-')
                || term.is('–')
                || term.is('.') && terms.get(next + 1).is_some_and(|t| t.is('.'))
                || matches!(term.entry.prep, Some(Prep::Through | Prep::To))
                || term.entry.func == Some(FunctionWord::And) && prefix.prep == Some(Prep::Between)
                || term.text.of(self.line) == "until"
                || term.is(',') && !term.gap && terms.get(next + 1).is_some_and(|more| is_last_line(more, self.line))
        })
    }
}

/// True for the noun of `as running text, from a7x2`, behind which no content follows.
fn is_form(terms: &[AnnotatedToken], at: usize) -> bool {
    terms[at].entry.noun == Some(Noun::Text)
        && terms[at.saturating_sub(2)..at].iter().any(|term| term.entry.prep == Some(Prep::As))
        && !terms.get(at + 1).is_some_and(|next| next.is_text() || next.is(':'))
}

/// `25p`, as `sed` ends a range of lines.
fn is_last_line(term: &AnnotatedToken, line: &str) -> bool {
    !term.gap && matches!(term.kind, TokenKind::Number(_)) && term.text.of(line).ends_with('p')
}

/// True if the number word at `at` counts nothing: a pronoun or an adverb.
fn is_pronoun(terms: &[AnnotatedToken], at: usize, arg: &super::Arg) -> bool {
    // `that one`, `the one at`: no number.
    let the_two = at > 0
        && terms[at - 1].entry.func == Some(FunctionWord::Det)
        && arg.unit.is_none()
        && arg.text.end - arg.text.start < 4;
    // `show me a7x2 first`
    let adverb = terms[at].entry.func == Some(FunctionWord::Pad) && arg.unit.is_none();
    let pronoun = the_two || adverb || terms[at].entry.func == Some(FunctionWord::One) && arg.unit.is_none();
    pronoun || terms[at].entry.func == Some(FunctionWord::Adjective) && arg.unit.is_none()
}
