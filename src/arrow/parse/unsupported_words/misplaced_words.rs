//! Words that restrain a change, and texts that stand for something else: a change that ran with them would do more than it
//! was asked, or something else.

use super::{
    VerbTail,
    word_table::{CHANGING, ENDED, INSTRUCTION, LABELS, LIMITING_FLAGS, OUTCOMES, PROGRAMS, SPOKEN_OF, TRANSFORMED},
};
use crate::{
    arrow::{
        annotate_tokens::{self, AnnotatedToken, TokenKind},
        intent::{self, ClauseRole},
        lex::Span,
        lexicon::{Noun, Prep},
        parse::deferrals::PERIODS,
    },
    tools::Tool,
};

/// True for the word bookmark, or an option whose text is no label.
fn names_bookmark(term: &AnnotatedToken) -> bool {
    term.entry.noun == Some(Noun::Bookmark) || matches!(term.kind, TokenKind::OptionName(key) if key.is_content())
}

impl VerbTail<'_> {
    /// Finds a text that a remark gives: `continue from a7x2, what I want is "t"`, `todo 4 is done, what came of it is "t"`.
    fn lost_text(&self) -> Option<Span> {
        let is_lost = |at: &usize| {
            self.terms[*at].is_text()
                && self.intent.zones.get(*at) == Some(&ClauseRole::Tail)
                && !self.terms[self.candidate.verb..*at].iter().any(AnnotatedToken::is_text)
        };
        (self.candidate.verb + 1..self.terms.len()).find(is_lost).map(|at| self.terms[at].whole)
    }

    /// Finds the manner of `continue here, but in the voice of the dog`, which needs quotes.
    fn manner(&self) -> Option<Span> {
        let is_aside = |at: usize| self.intent.zones.get(at) == Some(&ClauseRole::Aside);
        let names = |at: usize| is_aside(at) && self.kind(at) == Some(TokenKind::Name);
        let end = self.terms.len();
        let counts = |at: usize| (at..end).any(|at| matches!(self.kind(at), Some(TokenKind::Number(_))));
        let lead = |at: usize| {
            let leads = self.is(at, &["but", "in", "with", "only"]) || self.is(at, &["each"]) && !counts(at);
            leads && self.terms[at - 1].is(',')
        };
        (self.candidate.verb + 1..end)
            .find(|at| lead(*at) && (*at..end).any(names) && !self.has_text())
            .map(|at| self.terms[at].whole)
    }

    /// Finds `let him continue from a7x2`, which names no agent.
    fn unnamed_agent(&self) -> Option<Span> {
        let lets =
            |at: &usize| self.is(at - 1, &["let", "have", "make", "ask"]) && self.is(*at, &["him", "her", "them"]);
        (1..self.terms.len()).find(lets).map(|at| self.terms[at].whole)
    }

    /// Finds `them` of `a7x2 and this one are weak, hide them`, where one node has an id.
    fn several_nodes(&self) -> Option<Span> {
        let ids = self.terms.iter().filter(|term| term.is_id()).count();
        self.find(|at| ids == 1 && at == self.candidate.verb + 1 && self.is(at, &["them"]))
    }

    /// Finds `all the nodes` of a line that names none of them: its text is what they say, and no label.
    fn quantified_nodes(&self) -> Option<Span> {
        let names_node = self.terms.iter().any(AnnotatedToken::is_id);
        let is_node = |at: usize| {
            let noun = self.terms.get(at).and_then(|term| term.entry.noun);
            matches!(noun, Some(Noun::Node | Noun::Branch | Noun::Reply))
        };
        let quantifies = |at: usize| self.is(at, &["all", "every", "each", "any"]);
        self.find(|at| !names_node && quantifies(at) && (at + 1..at + 4).any(is_node))
    }

    /// Finds what would be made of a node: `view a7x2 translated into French`, `copy a7x2 to b3k9, translated`.
    pub(super) fn transformed(&self) -> Option<Span> {
        let takes = !matches!(
            self.candidate.tool,
            Tool::Search | Tool::Think | Tool::Help | Tool::Recall | Tool::Delegate | Tool::Continue
        );
        let is_made = |at: &usize| {
            let before = &self.terms[*at - 1];
            let follows = before.is_concrete() || before.is(',');
            // `signed with the owner's name`, but `a7x2, rejected by the editor`
            let is_manner = self.kind(*at) == Some(TokenKind::Name)
                && self.terms[*at].text.of(self.line).ends_with("ed")
                && self.terms.get(at + 1).is_some_and(|next| matches!(next.entry.prep, Some(Prep::With | Prep::In)));
            follows && (self.is(*at, TRANSFORMED) || is_manner)
        };
        self.behind_verb(|at| takes && is_made(&at))
    }

    /// Finds a limit at the end that no web search and no change has: `results in German only`.
    pub(super) fn narrowed(&self) -> Option<Span> {
        let lists = matches!(self.candidate.tool, Tool::Tree | Tool::List);
        let takes = matches!(self.candidate.tool, Tool::Search | Tool::Exclude | Tool::Include | Tool::Pin);
        let is_end = |at: usize| {
            self.terms.get(at).is_none_or(|term| matches!(term.kind, TokenKind::Mark(_)) || self.is(at, &["please"]))
        };
        let narrows = |at: usize| {
            let before = &self.terms[at - 1];
            let is_limited = before.kind == TokenKind::Name || before.entry.noun == Some(Noun::Context);
            let selects = lists && matches!(before.entry.noun, Some(Noun::Node | Noun::Branch));
            self.is(at, &["only", "alone"]) && is_end(at + 1) && (takes && is_limited || selects)
        };
        self.behind_verb(narrows)
    }

    /// Finds a flag that limits a change, a sign of how it ended, or what marks the line as an example.
    pub(super) fn restrained(&self) -> Option<Span> {
        if !CHANGING.contains(&self.candidate.tool) {
            return None;
        }
        let verb = self.candidate.verb;
        let end = self.intent.raw.map_or(usize::MAX, |raw| raw.start);
        let last = self.terms.len() - 1;
        let is_restrained = |at: &usize| {
            let term = &self.terms[*at];
            let text = term.text.of(self.line);
            let one_node =
                matches!(self.candidate.tool, Tool::Prune | Tool::Restore | Tool::Copy | Tool::Move | Tool::Undo);
            let letter = one_node && ["n", "i", "p", "t", "b", "a"].contains(&text) && !self.counts_behind(*at);
            let flag = term.kind == TokenKind::Flag && (LIMITING_FLAGS.contains(&text) || letter);
            let named = *at < verb && self.terms.get(at + 1).is_some_and(|next| next.is(':') || next.is(','));
            let labelled = named && self.is(*at, LABELS) || *at + 1 == verb && self.is(*at, SPOKEN_OF);
            let closes = *at == last || *at + 1 == last && self.terms[last].is(')');
            let reports = *at > verb && (*at == verb + 1 || self.terms[*at - 1].is(':') || self.terms[*at - 1].is('('));
            let behind = *at > verb && (*at == verb + 1 || self.terms[*at - 1].is_id());
            let ended =
                closes && (reports && self.is(*at, &["done", "completed", "ok"]) || behind && self.is(*at, ENDED));
            let from = self.candidate.tool == Tool::Prune && *at == verb + 1 && self.is(*at, &["from", "in"]);
            // `Mark said "hello"`
            let told = *at == verb + 1 && self.is(*at, &["said", "says", "wrote", "asked", "thinks"]);
            let foreign = from || told || *at == 0 && self.is(*at, PROGRAMS);
            let hides =
                matches!(self.candidate.tool, Tool::Prune | Tool::Exclude | Tool::Include | Tool::Restore | Tool::Move);
            let behind_argument = *at > verb && self.terms[*at - 1].is_concrete();
            let later = (hides && *at > verb || behind_argument) && self.is(*at, &["until", "till"]);
            // `link a7x2 to b3k9, but not before I've read both`
            let deferred = *at > verb
                && self.is(*at, &["not"])
                && self.is(at + 1, &["before", "until", "till", "unless", "if", "yet"]);
            // `pin a7x2 as soon as it is done`
            let soon =
                *at > verb && self.is(*at, &["as"]) && self.is(at + 1, &["soon", "long"]) && self.is(at + 2, &["as"]);
            // `delegate "x" once payroll is through`
            let once = behind_argument
                && self.is(*at, &["once"])
                && !self.is(at + 1, &["more", "again", "and"])
                && (self.terms[at + 1..].iter().any(intent::is_finite)
                    || self.terms.get(at + 1).is_some_and(|next| !next.is_id() && next.whole.end > next.text.end))
                && self.terms.get(at + 1).is_some_and(|next| !matches!(next.kind, TokenKind::Mark(_)));
            // `exclude a7x2 while you include b3k9`
            let meanwhile = *at > verb
                && self.is(*at, &["while"])
                && self.is(at + 1, &["you"])
                && self.terms.get(at + 2).is_some_and(|verb| verb.entry.base().is_some());
            // `copy a7x2 to b3k9 and then original prune`, `edit a7x2 "t" and have the old one deleted`
            let rest = &self.terms[at + 1..];
            let second = *at > verb
                && self.is(at - 1, &["and"])
                && (self.is(*at, &["then"])
                    && rest
                        .first()
                        .is_some_and(|next| !self.is(at + 1, &["we", "we'll", "i", "i'll", "let's"]) && !next.is(','))
                    && rest.iter().any(|term| term.entry.base().is_some())
                    || hides && self.is(*at, &["leave"])
                    || self.is(*at, &["have", "get"])
                        && rest.iter().any(|term| term.text.of(self.line).ends_with("ed")));
            let restrained = second || flag || labelled || ended || foreign || later || text.starts_with(OUTCOMES);
            let restrained = restrained || deferred || soon || once || meanwhile || self.is_limited(*at, hides);
            term.whole.start < end && !term.is_text() && restrained
        };
        (0..self.terms.len()).find(is_restrained).map(|at| self.terms[at].whole)
    }

    /// True where words begin that limit whom a change is for, how often and how long: `for Ada only`, `every night`.
    fn is_limited(&self, at: usize, hides: bool) -> bool {
        let behind = at > self.candidate.verb;
        // `bookmark a7x2 for Priya only`, `annotate a7x2 "x", visible to me alone`
        let is_reserved = self.is(at, &["for", "to"])
            && self.end_of_person(at + 1).is_some_and(|end| self.is(end, &["only", "alone"]))
            || self.is(at, &["visible", "readable", "shown", "hidden", "secret", "private"])
                && (self.is(at + 1, &["only"])
                    || self.is(at + 1, &["to", "for", "from"]) && self.end_of_person(at + 2).is_some());
        // `prune a7x2 for good`: what is hidden can be restored.
        let is_final = hides && self.is(at, &["for"]) && self.is(at + 1, &["good", "ever"]);
        // `…, so that only I see it`
        let excludes = self.is(at, &["so"])
            && self.is(at + 1, &["that"])
            && (self.is(at + 2, &["only"])
                || self.is(at + 2, &["nobody", "none"]) && self.is(at + 3, &["can", "could", "may", "sees"]));
        // `stash "x" every night`
        let is_repeated = self.is(at, &["every", "each"]) && self.is(at + 1, PERIODS);
        // `respond to a7x2 in the owner's name: "x"`
        let owned = |at: usize| {
            let owner = &self.terms[at - 1];
            owner.whole.end > owner.text.end && !owner.is_concrete()
                || self.is(at - 1, &["my", "your", "his", "her", "their", "our"])
        };
        let impersonates = self.is(at, &["in", "on"])
            && (at + 2..at + 4).any(|end| self.is(end, &["name", "behalf", "voice", "style"]) && owned(end));
        // `prune a7x2, limited to the replies before May`
        let is_confined = hides && self.is(at, &["limited", "restricted", "confined"]);
        // `stash a7x2 as "x" for a week`
        let counted =
            |at: usize| self.is(at, &["a", "an", "one"]) || matches!(self.kind(at), Some(TokenKind::Number(_)));
        let unit = |at: usize| {
            self.is(
                at,
                &["minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "year", "years"],
            )
        };
        let lasts = self.is(at, &["for"]) && counted(at + 1) && unit(at + 2);
        let is_reserved = is_reserved || is_confined || lasts;
        let asked = self.intent.zones.get(at) == Some(&ClauseRole::Main);
        behind && (is_reserved || is_final || excludes || asked && (is_repeated || impersonates))
    }

    /// Position behind a person at `at`: `Ada`, `me`, `the planner`.
    fn end_of_person(&self, at: usize) -> Option<usize> {
        let noun = at + usize::from(self.is(at, &["the", "an", "a", "our", "my"]));
        let is_person = self.kind(noun) == Some(TokenKind::Name)
            || self.is(noun, &["me", "us", "myself", "you"])
            || self.terms.get(noun).is_some_and(|term| !term.is_text() && term.entry.noun == Some(Noun::Agent));
        is_person.then_some(noun + 1)
    }

    /// True if a number follows: `undo -n 3`.
    fn counts_behind(&self, at: usize) -> bool {
        matches!(self.kind(at + 1), Some(TokenKind::Number(_)))
            || self.terms.get(at + 1).is_some_and(|next| next.is('='))
    }

    /// Finds a text that stands for something else, or a word that another request or place needs.
    pub(super) fn misplaced(&self) -> Option<Span> {
        match self.candidate.tool {
            Tool::Continue => {
                self.manner().or_else(|| self.lost_text()).or_else(|| self.passive()).or_else(|| self.unnamed_agent())
            }
            Tool::Prune | Tool::Restore | Tool::Exclude | Tool::Include => {
                self.several_nodes().or_else(|| self.quantified_nodes())
            }
            Tool::Pin => self.quantified_nodes(),
            Tool::Recall | Tool::List | Tool::Tree => self
                .web_in_recall()
                .or_else(|| self.unsupported_order())
                .or_else(|| self.made_by_other())
                .or_else(|| self.chosen_items())
                .or_else(|| self.second_kind())
                .or_else(|| self.second_tool()),
            Tool::View => self.given_thing().or_else(|| self.repeated_look()),
            Tool::Read | Tool::Diff => self.repeated_look(),
            Tool::Search => self.unknown_topic().or_else(|| self.timed_search()),
            Tool::Annotate => self.quantified_nodes().or_else(|| self.command_as_text()),
            Tool::Edit => {
                self.quantified_nodes().or_else(|| self.instruction_as_text()).or_else(|| self.partial_text())
            }
            Tool::Write => self.place_in_section(),
            Tool::Todo => self
                .due_item()
                .or_else(|| self.unclosed_item())
                .or_else(|| self.second_item())
                .or_else(|| self.lost_text()),
            Tool::Bookmark => self.cut_label().or_else(|| self.lost_text()),
            Tool::Delegate => self.chosen_agent(),
            Tool::Undo | Tool::Redo => self.other_object(),
            Tool::Help => self.second_help(),
            Tool::Merge => self.place_of_merge(),
            Tool::Switch => self.place_behind_place(),
            Tool::Unbookmark => self.second_change(),
            Tool::Move | Tool::Copy => self.find(|at| self.terms[at].is('<')),
            Tool::Respond => {
                self.quantified_nodes().or_else(|| self.text_without_verb()).or_else(|| self.text_as_node())
            }
            _ => None,
        }
    }

    /// Finds the passive of `let a7x2, with all below it, be hidden`, whose verb lets no agent continue.
    fn passive(&self) -> Option<Span> {
        let lets = self.is(self.candidate.verb, &["let", "have"]);
        let be = (0..self.terms.len()).find(|at| self.is(*at, &["be"]))?;
        lets.then(|| self.terms[be].whole)
    }

    fn has_text(&self) -> bool {
        self.terms.iter().any(AnnotatedToken::is_text)
    }

    /// Finds a command in place of a note on the position: `so I note it: decide "…"`.
    fn command_as_text(&self) -> Option<Span> {
        let raw = self.intent.raw?;
        let first = raw.of(self.line).split_whitespace().next().unwrap_or_default();
        let names_node = self.terms.iter().any(|term| term.is_id() && term.whole.start < raw.start);
        (!names_node && Tool::named(first).is_some() && raw.of(self.line).contains('"')).then_some(raw)
    }

    /// Finds an instruction in place of a new wording: `edit a7x2: make it shorter`.
    fn instruction_as_text(&self) -> Option<Span> {
        let raw = self.intent.raw?;
        let first = raw.of(self.line).split_whitespace().next().unwrap_or_default();
        let first = first.trim_end_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        INSTRUCTION.contains(&first.as_str()).then_some(raw)
    }

    /// Finds a place at a section, which can be replaced only as a whole: `append to section:"S"`.
    fn place_in_section(&self) -> Option<Span> {
        let names_section = self.terms.iter().any(|term| term.entry.noun == Some(Noun::Section));
        self.find(|at| names_section && self.is(at, &["append", "add", "before", "after", "new", "end"]))
    }

    /// Finds a second request beside one that closes an item: `todo done 2 and add "x"`.
    fn second_item(&self) -> Option<Span> {
        let closes = self.terms.iter().any(|term| ["done", "cancel"].contains(&term.text.of(self.line)));
        self.find(|at| closes && self.is(at, &["add"]))
    }

    /// Finds a label without quotes of which one word would be left: `bookmark a7x2 as turning point`.
    fn cut_label(&self) -> Option<Span> {
        let is_verb = |at: usize| self.terms.get(at).is_some_and(|term| term.entry.verb.is_some());
        let is_cut = |at: usize| is_verb(at + 1) && self.kind(at + 2) == Some(TokenKind::Word);
        // `bookmark a7x2 as Ada's favourite`
        let is_owner = |at: usize| {
            let name = self.terms.get(at).filter(|name| name.kind == TokenKind::Name);
            name.is_some_and(|name| {
                self.line[name.text.end..].starts_with(['\'', '’']) && name.whole.end > name.text.end
            })
        };
        self.find(|at| !self.has_text() && self.is(at, &["as"]) && (is_cut(at) || is_owner(at + 1)))
    }

    /// Finds what an undo of chosen changes would need: `undo the bookmark`, `undo what hana did`, `undo the 2nd`.
    fn other_object(&self) -> Option<Span> {
        let own = ["i", "we", "you", "was", "were", "is", "has", "i've", "we've", "just"];
        self.find(|at| {
            let term = &self.terms[at];
            let asked = self.intent.zones.get(at) == Some(&ClauseRole::Main);
            let text = term.text.of(self.line);
            let chosen = term.kind == TokenKind::Word
                && term.entry.verb.is_none_or(|_| self.is(at - 1, &["the", "last", "my"]))
                && term.entry.noun.is_some_and(|noun| {
                    !matches!(
                        noun,
                        Noun::Change | Noun::Undone | Noun::Times | Noun::Trace | Noun::Tool | Noun::Previous
                    )
                });
            let owned = term.whole.end > term.text.end && self.line[term.text.end..term.whole.end].ends_with('s');
            let ordinal = matches!(term.kind, TokenKind::Number(_))
                && text.starts_with(|c: char| c.is_ascii_digit())
                && text.ends_with(['t', 'd', 'h']);
            let clause = self.is(at, &["what"]) && !self.is(at + 1, &own);
            asked && (chosen || owned || ordinal || clause)
        })
    }

    /// Finds what a place has behind it and no command knows: `switch to the parent's parent`, `go to the next scene`.
    fn place_behind_place(&self) -> Option<Span> {
        let is_place = |at: usize| {
            let noun = self.terms[at].entry.noun;
            matches!(noun, Some(Noun::Parent | Noun::Next | Noun::Previous | Noun::Leaf | Noun::Root))
        };
        let has_node = self.terms.iter().any(AnnotatedToken::is_id);
        self.find(|at| {
            let next = self.terms.get(at + 1).filter(|next| next.gap);
            let other = next.is_some_and(|next| {
                next.kind == TokenKind::Name
                    || matches!(next.entry.noun, Some(Noun::Leaf | Noun::Parent | Noun::Root | Noun::Bookmark))
            });
            !has_node && is_place(at) && other
        })
    }

    /// Finds a third node behind the text of a merge: `merge a7x2 b3k9 "text" into d5n7`.
    fn place_of_merge(&self) -> Option<Span> {
        let ids = |end: usize| self.terms[..end].iter().filter(|term| term.is_id()).count();
        self.find(|at| {
            let placed = self.is(at - 1, &["into", "under", "of", "keep", "below"]);
            self.terms[at].is_id() && ids(at) > 1 && placed
        })
    }

    /// Finds the preposition of a text that nothing asks to write: `after a7x2 "x"`.
    fn text_without_verb(&self) -> Option<Span> {
        let first = self.terms.first()?;
        let leads = [Prep::In, Prep::From, Prep::With, Prep::About, Prep::After, Prep::Before];
        let stands_apart = first.entry.prep.is_some_and(|prep| leads.contains(&prep))
            || self.is(0, &["above", "except", "but", "without"]);
        (stands_apart && self.candidate.verb == 0).then_some(first.whole)
    }

    /// Finds a text that would name the node of another: `reply "yes" to "Marie"`.
    fn text_as_node(&self) -> Option<Span> {
        let names_node = self.terms.iter().any(|term| term.is_id() || names_bookmark(term));
        let mut texts = (0..self.terms.len()).filter(|at| self.terms[*at].is_text());
        let (first, second) = (texts.next()?, texts.next()?);
        let is_joined = (first..second).any(|at| self.is(at, &["to", "and"]));
        (is_joined && !names_node).then(|| self.terms[first].whole)
    }

    /// Finds an old wording that would become the whole text of a node: `fix "t" in a7x2`, `change "t" to "u"`.
    fn partial_text(&self) -> Option<Span> {
        let texts: Vec<usize> = (0..self.terms.len()).filter(|at| self.terms[*at].is_text()).collect();
        let within = |at: &&usize| {
            self.terms.get(**at + 1).is_some_and(|next| next.entry.prep == Some(Prep::In)) && texts.len() == 1
        };
        let names_node = self.terms.iter().any(|term| {
            let quoted_id = term.is_text() && annotate_tokens::is_id(term.text.of(self.line));
            term.is_id() || quoted_id || names_bookmark(term)
        });
        let old = texts.iter().find(within).or_else(|| texts.first().filter(|_| texts.len() > 1 && !names_node));
        old.map(|at| self.terms[*at].whole)
    }

    /// Finds what is still to be done with an item: `item 2 should be done`.
    fn unclosed_item(&self) -> Option<Span> {
        let ended = ["done", "finished", "completed"];
        let is_due = |at: &usize| self.is(*at, &["be", "get", "getting"]) && self.is(at + 1, &ended);
        (0..self.terms.len()).find(is_due).map(|at| self.terms[at].whole)
    }
}
