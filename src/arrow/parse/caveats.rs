//! Caveats: words that take a request back, postpone it, or except a part from it. A line with one is refused, since the
//! command would do what was not asked.

use super::{caveat_phrases, deferrals};
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{self, Form, FunctionWord, Noun, Prep, Verb},
    },
    tools::{SideEffect, Tool},
};

/// Words before `but` that make an exception of what follows.
const WHOLES: &[&str] =
    &["all", "everything", "anything", "everyone", "everybody", "anyone", "anybody", "nobody", "nothing"];
/// Words of a relative clause that forbids, postpones or limits.
const LIMITS: &[&str] =
    &["must", "may", "should", "would", "will", "can", "can't", "cannot", "wait", "already", "tomorrow", "told"];
/// Words that leave the children of a node out of what happens to it, or mean them alone.
const SPARED: &[&str] = &["not", "only", "but", "sparing", "whose", "meaning", "keep", "stay", "stays", "is"];
/// Words that lead away from a node.
const AWAY: &[&str] = &["away", "out", "off", "before", "after", "above", "beside", "behind"];

/// Finds a reservation in the words of the line, as they were before courtesy was removed.
pub(super) fn in_words(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let last = terms.iter().rposition(|term| !matches!(term.kind, TokenKind::Mark(_)))? + 1;
    // `instead of c3yd, copy a7x2`
    let comma = terms.iter().position(|term| term.is(',')).unwrap_or(0);
    let is_named = terms[..comma].last().is_some_and(|term| term.is_id() || term.is_text());
    let leads = is(0, &["except", "besides", "beside", "above"]) && comma < 4
        || is(0, &["next", "instead"]) && is(1, &["to", "of"]) && comma == 3;
    if is_named && leads {
        return Some(terms[0].whole);
    }
    if let Some(word) = deferrals::find(line, terms).or_else(|| caveat_phrases::find(line, terms, last)) {
        return Some(word);
    }
    (1..terms.len())
        .find(|at| {
            let at = *at;
            let (text, kind) = (terms[at].text.of(line), terms[at].kind);
            if !(2..=8).contains(&text.len())
                || !matches!(kind, TokenKind::Word | TokenKind::Name | TokenKind::Number(_))
            {
                return false;
            }
            let mut buffer = [0; 8];
            match lexicon::lower(text, &mut buffer) {
                Some(b"but") => is(at - 1, WHOLES),
                Some(b"than") => {
                    let more = is(at - 1, &["more"]) && !(at > 1 && is(at - 2, &["no", "not"]));
                    is(at - 1, &["other"])
                        || more && terms.get(at + 1).is_some_and(|next| matches!(next.kind, TokenKind::Number(_)))
                }
                Some(b"except") => terms[at].kind == TokenKind::Word,
                Some(b"nto" | b"rarely" | b"seldom" | b"hardly") => terms[at].kind == TokenKind::Name,
                // `prune a7x2, or shouldn't we?`
                Some(b"or") => terms[at - 1].is(',') && terms.iter().any(|term| term.is('?')),
                // `prune a7x2, then we restore it`
                Some(b"then") => {
                    let acts = |(verb, form): (Verb, Form)| {
                        form == Form::Base
                            && !matches!(
                                verb,
                                Verb::Get | Verb::Decide | Verb::See | Verb::Carry | Verb::Think | Verb::Go
                            )
                    };
                    is(at + 1, &["we", "i", "you"])
                        && at > 1
                        && terms.get(at + 2).and_then(|next| next.entry.verb).is_some_and(acts)
                        && terms[..at].iter().any(|term| term.entry.base().is_some())
                }
                Some(b"from") => is(at - 1, &["apart", "aside"]) && !is(at + 1, &["this"]),
                Some(b"besides" | b"sans" | b"forbids") => terms[at].kind == TokenKind::Name,
                Some(b"mean" | b"meant") => is(at - 1, &["i"]) && terms[at - 1].gap && at > 1,
                // `prune a7x2, we need to check with Dana first`
                Some(b"first" | b"before") => {
                    let comma = terms[..at].iter().rposition(|term| term.is(',')).unwrap_or(at);
                    let asks = ["check", "ask", "talk", "consult", "confirm"];
                    at + 1 >= last && (comma..at).any(|at| is(at, &asks))
                }
                // `show a7x2 to nobody`
                Some(b"nobody" | b"noone") => is(at - 1, &["to"]),
                Some(b"later") => at + 1 >= last && matches!(terms[at - 1].kind, TokenKind::Mark(',' | '(')),
                Some(b"which" | b"whose" | b"who") => {
                    let clause = terms[at..].iter().take_while(|term| !term.is(',') && !term.is_text()).count();
                    terms[at - 1].is(',') && (at..at + clause).any(|at| is(at, LIMITS))
                }
                Some(b"says" | b"said" | b"suggests" | b"wrote" | b"reads") => {
                    let reports = at == 1 && terms[0].is_id() && terms.get(2).is_some_and(|mark| mark.is(':'));
                    // `prune a7x2, said the critic`
                    let attributes =
                        at > 2 && terms[at - 1].is(',') && !terms[at..].iter().any(AnnotatedToken::is_text);
                    reports || attributes
                }
                _ => false,
            }
        })
        .map(|at| terms[at].whole)
}

/// Finds a reservation that depends on the operation and on the clauses.
pub(super) fn in_request(line: &str, terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> Option<Span> {
    RequestWords { line, terms, intent, candidate }.reservation()
}

/// The words of a request, by their clauses.
struct RequestWords<'r> {
    line: &'r str,
    terms: &'r [AnnotatedToken],
    intent: &'r Intent,
    candidate: &'r Candidate,
}

impl RequestWords<'_> {
    fn is(&self, at: usize, words: &[&str]) -> bool {
        is_word(self.line, self.terms, at, words)
    }

    fn is_before(&self, at: usize) -> bool {
        self.intent.zones.get(at) == Some(&ClauseRole::Before)
    }

    fn is_asked(&self, at: usize) -> bool {
        matches!(self.intent.zones.get(at), Some(ClauseRole::Main | ClauseRole::Relative))
    }

    fn find(&self, fits: impl Fn(usize) -> bool) -> Option<Span> {
        (0..self.terms.len()).find(|at| fits(*at)).map(|at| self.terms[at].whole)
    }

    /// True for `Mark restored a7x2`: the verb is a name.
    fn is_said_of_person(&self) -> bool {
        let states = self.terms.get(1).is_some_and(|next| {
            matches!(next.entry.verb, Some((_, Form::Past | Form::Third))) && next.entry.noun.is_none()
        });
        let names_node = self.terms.get(2).is_some_and(AnnotatedToken::is_id);
        self.candidate.group == Verb::Bookmark && self.candidate.verb == 0 && states && names_node
    }

    fn reservation(&self) -> Option<Span> {
        if self.is_said_of_person() {
            return Some(self.terms[0].whole);
        }
        let (tool, terms, candidate) = (self.candidate.tool, self.terms, self.candidate);
        let changes = !matches!(tool.spec().side_effect, SideEffect::ReadOnly | SideEffect::Navigation);
        let asks_leave = (self.is(0, &["may", "must"])
            || self.is(0, &["can"]) && terms.get(1).is_some_and(AnnotatedToken::is_id))
            && terms.iter().any(|term| term.is('?'));
        // `could I prune a7x2`
        let asks_leave = asks_leave
            || self.is(0, &["may", "could", "can", "shall", "should"]) && self.is(1, &["i"]) && candidate.verb == 2;
        // `can I see all items of the plan?`
        let looks = tool == Tool::Todo && matches!(candidate.group, Verb::See | Verb::Get | Verb::List);
        let begs = (0..candidate.verb).any(|at| self.is(at, &["please", "kindly"]));
        if changes && !looks && !begs && tool != Tool::Continue && asks_leave {
            return Some(terms[0].whole);
        }
        // `move a7x2 there`: the node is moved, not the position.
        if tool == Tool::Switch && candidate.group == Verb::Move {
            let points = self.is(candidate.verb + 1, &["this", "it", "that", "these", "them"]);
            let object = terms.get(candidate.verb + 1).filter(|next| next.is_id() || points);
            let past = terms.get(candidate.verb).filter(|verb| matches!(verb.entry.verb, Some((_, Form::Past))));
            return object.or(past).map(|term| term.whole);
        }
        if tool == Tool::Read {
            let counted = |at: usize| terms.get(at + 1).is_some_and(|next| matches!(next.kind, TokenKind::Number(_)));
            return self.find(|at| {
                self.is_asked(at) && self.is(at, &["last"]) && counted(at)
                    || self.is(at, &["up"]) && self.is(at + 1, &["to"])
            });
        }
        if tool == Tool::Split {
            return self.find(|at| self.is_asked(at) && terms[at].entry.prep == Some(Prep::Before));
        }
        if tool == Tool::Todo {
            return self.find(|at| self.is_asked(at) && self.is(at, &["isn't", "wasn't", "aren't"]));
        }
        // `prune a7x2 but we keep it`
        let contradicts = |at: usize| {
            at > candidate.verb
                && self.is(at, &["but", "though", "although"])
                && !self.is(at + 1, &["only", "just", "do", "don't", "not"])
        };
        if matches!(tool, Tool::Prune | Tool::Move)
            && let Some(but) = self.find(contradicts)
        {
            return Some(but);
        }
        let spared = self.spared_children();
        if spared.is_some() {
            return spared;
        }
        if matches!(tool, Tool::Copy | Tool::Move) {
            let away = self.find(|at| {
                at > candidate.verb
                    && self.is_asked(at)
                    && (self.is(at, AWAY) || terms[at].entry.func == Some(FunctionWord::What))
            });
            return away.or_else(|| self.it_behind_preposition());
        }
        if matches!(tool, Tool::Link | Tool::Unlink) {
            return self.it_behind_preposition();
        }
        let alone = matches!(
            tool,
            Tool::Prune
                | Tool::Restore
                | Tool::Exclude
                | Tool::Include
                | Tool::Pin
                | Tool::Bookmark
                | Tool::Unbookmark
                | Tool::Edit
        );
        if !alone {
            return None;
        }
        self.another_node()
    }

    /// Finds the word that spares the children of a node from what happens to its branch, or means them alone.
    fn spared_children(&self) -> Option<Span> {
        let tool = self.candidate.tool;
        let whole = matches!(tool, Tool::Prune | Tool::Restore | Tool::Exclude | Tool::Copy | Tool::Move);
        let children = ["children", "child", "kids", "descendants"];
        let names_children = (0..self.terms.len()).any(|at| self.is(at, &children));
        self.find(|at| whole && names_children && at > self.candidate.verb && self.is(at, SPARED))
    }

    /// Finds the word by which an operation on one node means another one than it names.
    fn another_node(&self) -> Option<Span> {
        let (terms, candidate) = (self.terms, self.candidate);
        // `prune below a7x2`, `prune what hangs below a7x2`
        let beside = |at: usize| {
            self.is_asked(at)
                && at > candidate.verb
                && terms[at].is_id()
                && (candidate.verb + 1..at)
                    .rev()
                    .find(|at| !matches!(terms[*at].entry.func, Some(FunctionWord::Det | FunctionWord::Adjective)))
                    .is_some_and(|before| {
                        self.is(before, &["to"]) && self.is(before - 1, &["up", "down"])
                            || matches!(
                                terms[before].entry.prep,
                                Some(Prep::Under | Prep::After | Prep::Before | Prep::Through)
                            )
                            || self.is(
                                before,
                                &["past", "around", "beside", "above", "follows", "follow", "hangs", "quotes"],
                            )
                    })
        };
        // `the parent of a7x2 is weak, prune it`
        let relation = |at: usize| {
            self.is_before(at)
                && terms[at].is_id()
                && at > 1
                && matches!(terms[at - 1].entry.prep, Some(Prep::Of | Prep::On | Prep::Under | Prep::After | Prep::To))
                && terms[..at - 1].iter().rev().take(2).any(|term| {
                    matches!(
                        term.entry.noun,
                        Some(
                            Noun::Parent
                                | Noun::Next
                                | Noun::Previous
                                | Noun::Sibling
                                | Noun::Continuation
                                | Noun::Leaf
                                | Noun::Annotation
                                | Noun::Version
                                | Noun::Copy
                                | Noun::Reply
                        )
                    )
                })
        };
        // `k2g6: prune a7x2`, as someone says it
        if terms[0].is_id()
            && terms.get(1).is_some_and(|mark| mark.is(':'))
            && (2..terms.len()).any(|at| self.is_asked(at) && terms[at].is_id())
        {
            return Some(terms[0].whole);
        }
        // `the parent beats a7x2, bookmark it`, `the sibling needs a title, bookmark it`
        let has_id = (0..terms.len()).any(|at| self.is_before(at) && terms[at].is_id());
        let other = |at: usize| {
            let noun = terms[at].entry.noun;
            self.is_before(at)
                && match has_id {
                    true => matches!(noun, Some(Noun::Parent | Noun::Root | Noun::Previous | Noun::Next)),
                    false => matches!(noun, Some(Noun::Sibling | Noun::Continuation | Noun::Leaf | Noun::Branch)),
                }
        };
        let unclear =
            |at: usize| relation(at) || other(at) && !(0..terms.len()).any(|at| self.is_asked(at) && terms[at].is_id());
        let it = self.intent.points(terms);
        self.find(|at| beside(at) || it && unclear(at))
    }

    /// `k2g6 fits better, move a7x2 under it`: the pronoun is where to, not what.
    fn it_behind_preposition(&self) -> Option<Span> {
        let terms = self.terms;
        let names = |term: &AnnotatedToken| {
            term.is_id() || matches!(term.entry.noun, Some(Noun::Parent | Noun::Root | Noun::Previous | Noun::Next))
        };
        let named = (0..terms.len()).any(|at| self.is_before(at) && names(&terms[at]));
        let it = (1..terms.len()).find(|at| {
            // `I'd like it copied to a7x2`
            let leads = terms[*at - 1].entry.prep.is_some() && !is_word(self.line, terms, *at - 1, &["like"]);
            terms[*at].entry.func == Some(FunctionWord::It) && leads || terms[*at].entry.noun == Some(Noun::Here)
        });
        it.filter(|_| named).map(|at| terms[at].whole)
    }
}

pub(super) fn is_word(line: &str, terms: &[AnnotatedToken], at: usize, words: &[&str]) -> bool {
    terms
        .get(at)
        .is_some_and(|term| !term.is_text() && words.iter().any(|word| term.text.of(line).eq_ignore_ascii_case(word)))
}
