//! Features of a request as bits: nouns, prepositions and types of arguments.

use std::ops::{BitOr, BitOrAssign};

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::{ClauseRole, Intent},
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    option_name::OptionName,
    phrases,
};

/// A set of cues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::arrow) struct Features(u128);

impl Features {
    pub(super) const NONE: Self = Self(0);
    /// One id, or more.
    pub(super) const ID: Self = Self(1 << 110);
    /// Two ids, or more.
    pub(super) const IDS: Self = Self(1 << 111);
    /// A string, a block or unquoted content.
    pub(super) const TEXT: Self = Self(1 << 112);
    /// A document's name.
    pub(super) const FILE: Self = Self(1 << 113);
    /// `a note`: something new is made.
    pub(super) const NEW: Self = Self(1 << 114);
    /// Annotations are named behind an id: with the node, not instead of it.
    pub(super) const ANNOTATED: Self = Self(1 << 115);
    /// A number, or a range of numbers.
    pub(super) const NUMBER: Self = Self(1 << 116);
    /// `me` or `us` is who goes or gets.
    pub(super) const ME: Self = Self(1 << 117);

    /// `done`.
    pub(super) const DONE: Self = Self(1 << 118);

    /// `says`, `read`: what a node shall say.
    pub(super) const SAYS: Self = Self(1 << 119);

    /// `pruned`: hidden branches, without an id of one.
    pub(super) const PRUNED: Self = Self(1 << 120);

    /// `documents`, `trees`: all of a kind that belongs to no node.
    pub(super) const KIND: Self = Self(1 << 121);

    pub(super) const fn noun(noun: Noun) -> Self {
        Self(1 << noun as u8)
    }

    pub(super) const fn prep(prep: Prep) -> Self {
        Self(1 << (70 + prep as u8))
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` are there.
    pub(super) const fn all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any of `other` is there.
    pub(in crate::arrow) const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The features with a node.
    pub(in crate::arrow) const fn with_node(self) -> Self {
        self.or(Self::ID)
    }

    /// True if there is something concrete to act on.
    pub(in crate::arrow) const fn has_explicit_target(self) -> bool {
        self.any(Self::ID.or(Self::TEXT).or(Self::FILE))
    }

    /// True if nothing is named that `view` does not know: no more than what is shown of a node.
    pub(in crate::arrow) const fn is_view_alone(self) -> bool {
        let known = Self::noun(Noun::Annotation)
            .or(Self::noun(Noun::Prose))
            .or(Self::noun(Noun::Node))
            .or(Self::prep(Prep::As))
            .or(Self::prep(Prep::With))
            .or(Self::ANNOTATED);
        self.0 & !known.0 == 0
    }

    /// True if a place beside the position is named: its parent, the root.
    pub(in crate::arrow) const fn names_place(self) -> bool {
        self.any(
            Self::noun(Noun::Parent)
                .or(Self::noun(Noun::Root))
                .or(Self::noun(Noun::Next))
                .or(Self::noun(Noun::Previous))
                .or(Self::noun(Noun::Leaf)),
        )
    }

    /// True if the noun is named.
    pub(in crate::arrow) const fn names(self, noun: Noun) -> bool {
        self.any(Self::noun(noun))
    }

    /// True if the preposition or particle is there.
    pub(in crate::arrow) const fn has(self, prep: Prep) -> bool {
        self.any(Self::prep(prep))
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl BitOrAssign for Features {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.or(other);
    }
}

/// The cues of the clause that asks, and of what stands before it if the clause only points there.
pub(super) fn features(line: &str, terms: &[AnnotatedToken], intent: &Intent) -> Features {
    let mut features = of_zone(line, terms, intent, |zone| matches!(zone, ClauseRole::Main | ClauseRole::Relative));
    if intent.raw.is_some() {
        features |= Features::TEXT;
    }
    // `a7x2 needs no bookmark, remove it`: `it` is what was named before.
    if intent.points(terms) || !features.any(Features::ID.or(Features::FILE)) {
        let before = of_zone(line, terms, intent, |zone| zone == ClauseRole::Before);
        if features.all(Features::ID) && before.all(Features::ID) {
            features |= Features::IDS;
        }
        features |= before;
    }
    features
}

fn of_zone(line: &str, terms: &[AnnotatedToken], intent: &Intent, within: impl Fn(ClauseRole) -> bool) -> Features {
    let mut features = Features::NONE;
    let mut ids = 0;
    for (at, (term, zone)) in terms.iter().zip(&intent.zones).enumerate() {
        if !within(*zone) {
            continue;
        }
        match term.kind {
            TokenKind::Id | TokenKind::Place(_) | TokenKind::BookmarkLabel { .. } | TokenKind::AgentPosition { .. } => {
                ids += 1
            }
            TokenKind::IdRange { .. } => ids += 2,
            TokenKind::Text { .. } | TokenKind::Block => features |= Features::TEXT,
            TokenKind::File => features |= Features::FILE,
            TokenKind::Number(_) if term.entry.func == Some(FunctionWord::One) => {}
            TokenKind::Number(_) | TokenKind::Range(..) => features |= Features::NUMBER,
            TokenKind::OptionName(key) => features |= of_key(key),
            _ => {}
        }
        // `doc:synopsis`: a name means nothing else.
        let named = terms[..at].iter().rev().find(|before| !before.is(':')).map(|before| before.kind);
        let is_name =
            matches!(named, Some(TokenKind::OptionName(OptionName::Doc | OptionName::Label | OptionName::Stash)));
        if !is_name && matches!(term.kind, TokenKind::Word | TokenKind::Number(_) | TokenKind::Flag) {
            // `take a7x2 and put it under b3k9`: the verb of a beginning.
            let begins = at == 0 && intent.zones[at] == ClauseRole::Before && term.entry.base() == Some(Verb::Take);
            if let Some(noun) = term.entry.noun.filter(|_| !begins) {
                features |= Features::noun(noun);
                let with = term.text.of(line).len() == "with-annotations".len();
                // `the parent, notes included`
                let joins = is_joined(terms, at)
                    || terms.get(at + 1).is_some_and(|next| matches!(next.text.of(line), "included" | "too"))
                    || terms
                        .get(at + 1..at + 3)
                        .is_some_and(|next| next[0].text.of(line) == "and" && next[1].text.of(line) == "all");
                let beside = features.names_place() && joins || ids > 0 && !possessed(terms, at);
                if noun == Noun::Annotation && (with || beside) {
                    features |= Features::ANNOTATED;
                }
                let made = matches!(
                    noun,
                    Noun::Annotation | Noun::Bookmark | Noun::Link | Noun::Pin | Noun::Todo | Noun::Copy | Noun::Agent
                );
                if made && at > 0 && matches!(terms[at - 1].text.of(line), "a" | "an" | "new") {
                    features |= Features::NEW;
                }
            }
            // `together with its notes`
            let is_with = |next: &AnnotatedToken| next.entry.prep == Some(Prep::With);
            let joins = term.entry.prep == Some(Prep::Together) && terms.get(at + 1).is_some_and(is_with);
            // `I'd like it to be moved`
            let infinitive = term.entry.prep == Some(Prep::To)
                && terms.get(at + 1).is_some_and(|next| next.entry.func == Some(FunctionWord::Infinitive));
            if let Some(prep) = term.entry.prep.filter(|_| !joins && !infinitive) {
                features |= Features::prep(prep);
            }
            features |= of_word(line, term);
        }
    }
    if ids > 0 {
        features |= Features::ID;
    }
    if ids > 1 {
        features |= Features::IDS;
    }
    features
}

/// The features of single words.
fn of_word(line: &str, term: &AnnotatedToken) -> Features {
    let mut features = Features::NONE;
    if says(line, term) {
        features |= Features::SAYS;
    }
    // `what we decided`
    if matches!(term.entry.verb, Some((Verb::Decide, Form::Past))) {
        features |= Features::noun(Noun::Decision);
    }
    if matches!(term.text.of(line), "done" | "finished") {
        features |= Features::DONE;
    }
    if matches!(term.text.of(line), "pruned" | "hidden") {
        features |= Features::PRUNED;
    }
    if matches!(term.text.of(line), "documents" | "docs" | "trees" | "agents" | "changes") {
        features |= Features::KIND;
    }
    if matches!(term.text.of(line), "me" | "us" | "myself") {
        features |= Features::ME;
    }
    features
}

/// True for a word of speech, or of an order: turns have one, pages of the web have none.
fn says(line: &str, term: &AnnotatedToken) -> bool {
    matches!(term.entry.verb, Some((Verb::Respond | Verb::Read, _) | (Verb::Write, Form::Past)))
        || term.entry.option == Some(OptionName::Content)
        || matches!(term.text.of(line), "newest" | "oldest" | "earliest" | "verbatim")
}

/// True if the noun at `at` is joined to what stands before it: `the root with its annotations`.
fn is_joined(terms: &[AnnotatedToken], at: usize) -> bool {
    let is_small =
        |term: &AnnotatedToken| term.entry.func == Some(FunctionWord::Det) || term.entry.prep == Some(Prep::Of);
    let joint = terms[..at].iter().rev().find(|term| !is_small(term));
    joint.is_some_and(|term| term.entry.prep == Some(Prep::With) || term.entry.func == Some(FunctionWord::And))
}

/// `a7x2's annotations`.
fn possessed(terms: &[AnnotatedToken], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| {
        terms[before].is_id() && !terms[before].bracketed && terms[before].whole.end > terms[before].text.end
    })
}

fn of_key(key: OptionName) -> Features {
    match key {
        OptionName::Doc => Features::noun(Noun::Doc),
        OptionName::Pin => Features::noun(Noun::Pin),
        OptionName::Stash => Features::noun(Noun::Stash),
        OptionName::Tokens => Features::noun(Noun::Token),
        OptionName::Turns => Features::noun(Noun::Turn),
        OptionName::Section => Features::noun(Noun::Section),
        OptionName::Summary => Features::noun(Noun::Summary),
        OptionName::Around => Features::noun(Noun::Archive),
        OptionName::Annotations => Features::noun(Noun::Annotation).or(Features::ANNOTATED),
        _ => Features::NONE,
    }
}

/// `what is bookmarked`: a participle behind these asks for nothing.
fn is_told(terms: &[AnnotatedToken]) -> bool {
    terms.iter().any(|term| matches!(term.entry.func, Some(FunctionWord::What | FunctionWord::Be)))
}

/// `part of`, `the stashed part`: no difference, unlike in `where they part ways`.
fn is_portion(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    let parts = terms.get(at + 1).is_some_and(|next| matches!(next.text.of(line), "ways" | "company"));
    terms[at].text.of(line) == "part" && !parts
}

/// `every note attached to a7x2`: the participle at `at` describes things that are there already.
fn is_quantified(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    let [.., quantifier, noun] = &terms[..at] else { return false };
    noun.entry.noun.is_some() && matches!(quantifier.text.of(line), "every" | "all" | "each" | "any" | "the" | "those")
}

/// True for what may stand before a participle that is the base form: `I'd like this node split`, `I'd like a7x2 to be cut`.
fn is_divided(term: &AnnotatedToken) -> bool {
    term.is_id() || term.entry.noun == Some(Noun::Node) || term.entry.func == Some(FunctionWord::Infinitive)
}

/// The verb that decides: the one that asks, or one that it only helps (`I'd like a7x2 pinned`, `by pruning it`).
pub(super) fn deciding_verb(
    line: &str,
    terms: &[AnnotatedToken],
    intent: &Intent,
    verb: (usize, Verb),
) -> (usize, Verb) {
    let helps = terms.iter().any(|term| term.entry.noun == Some(Noun::Help));
    let main = |at: usize| intent.zones.get(at) == Some(&ClauseRole::Main);
    for (at, term) in terms.iter().enumerate().filter(|(at, _)| main(*at) && !intent.nominal) {
        let Some((other, form)) =
            term.entry.verb.filter(|_| term.kind == TokenKind::Word && term.entry.option.is_none())
        else {
            continue;
        };
        let before = at.checked_sub(1).map(|b| &terms[b]);
        // `keep writing`
        if verb.1 == Verb::Keep && form == Form::Ing && matches!(other, Verb::Write | Verb::Continue | Verb::Go) {
            return (at, Verb::Continue);
        }
        // `keep the story moving from a7x2`
        if verb.1 == Verb::Keep && form == Form::Ing && other == Verb::Move && intent.zones.len() > at + 1 {
            return (at, Verb::Continue);
        }
        // `have Claude take it from a7x2`
        if matches!(verb.1, Verb::Get | Verb::Ask)
            && other == Verb::Take
            && form == Form::Base
            && terms.get(at + 1).is_some_and(|next| next.entry.func == Some(FunctionWord::It))
            && terms.get(at + 2).is_some_and(|next| next.entry.prep == Some(Prep::From))
        {
            return (at, Verb::Continue);
        }
        // `have the poet write on from a7x2`
        let onward = terms.get(at + 1).is_some_and(|next| matches!(next.entry.prep, Some(Prep::On | Prep::Onward)));
        if matches!(verb.1, Verb::Get | Verb::Ask | Verb::Tell)
            && form == Form::Base
            && at > verb.0 + 1
            && onward
            && matches!(other, Verb::Write | Verb::Go | Verb::Keep)
        {
            return (at, Verb::Continue);
        }
        // `keep a7x2 pinned`
        if verb.1 == Verb::Keep && other == Verb::Pin && form == Form::Past {
            return (at, Verb::Pin);
        }
        let helped = matches!(verb.1, Verb::Get | Verb::Ask | Verb::Tell | Verb::Make);
        // `I want a7x2 gone`
        if helped && other == Verb::Go && form == Form::Past {
            return (at, Verb::Remove);
        }
        let after_by = before.is_some_and(|term| term.entry.prep == Some(Prep::By));
        if form == Form::Ing && after_by
            || helped
                && form == Form::Past
                && term.entry.noun.is_none()
                && !(other == Verb::Add && is_quantified(line, terms, at))
                && terms.get(verb.0..at).is_some_and(|between| !is_told(between))
            || helped
                && form == Form::Base
                && at > verb.0 + 1
                && (matches!(other, Verb::Continue | Verb::Carry) || verb.1 == Verb::Ask && other == Verb::Try)
                && !helps
            || helped
                && form == Form::Base
                && (other == Verb::Split || term.text.of(line) == "cut")
                && before.is_some_and(is_divided)
            || helped && form == Form::Base && other == Verb::Think
            || (phrases::embeds(verb.1) && verb.1 != Verb::Help || verb.1 == Verb::Put)
                && other == Verb::Compare
                && !is_portion(line, terms, at)
            || verb.1 == Verb::Make
                && form == Form::Base
                && matches!(other, Verb::Merge | Verb::Copy | Verb::Split | Verb::Undo | Verb::Redo)
        {
            return (at, other);
        }
    }
    verb
}
