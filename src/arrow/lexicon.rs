//! Lexicon: each word as verb, noun, number, function word or preposition.
//!
//! The lists in [`verbs`] and [`word_lists`] are few, and one map is made of them with every inflection, once. A word is looked up by its
//! lowered bytes in one step. [`spelling`] corrects words that are not in the map.

mod spelling;
mod verbs;
mod word_lists;

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;
use spelling::Typos;

pub(super) use self::spelling::{correct_typo, within_one_edit};
pub(super) use super::option_name::OptionName;

macro_rules! classes {
    ($(#[$meta:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub(super) enum $name { $($variant),* }
    };
}

classes! {
    /// Group of a verb. The object decides which operation it means.
    Verb {
        See, Get, List, Go, Compare, Continue, Respond, Annotate, Link, Edit, Merge, Bookmark, Unbookmark, Prune, Remove,
        Restore, Undo, Redo, Copy, Move, Split, Exclude, Include, Unlink, Read, Write, Pin, Unpin, Stash, Recall, Grep,
        Drop, Decide, Record, Memory, Tree, Draw, Todo, Delegate, Hand, Search, Find, Think, Pause, Help, Put, Add, Make,
        Leave, Summarise, Replace, Take, Bring, Finish, Check, Cancel, Resume, Name, Ask, Tell, Try, Carry, Use, Limit, Skip,
        Lift, Roll, Break, Turn, Keep, Remind,
    }
}

classes! {
    /// Group of a noun.
    Noun {
        Node, Branch, Tree, Root, Parent, Next, Previous, Leaf, Sibling, Continuation, Alternative, Annotation, Link,
        Version, Bookmark, Pin, Stash, Todo, Memory, Doc, Section, Line, Turn, Summary, Text, Agent, Tool, Help, Context,
        Background, Web, Label, Decision, Constraint, Trace, Archive, Change, Instruction, Level, Token, Result, Start,
        End, Times, Difference, Here, Goal, Site, News, Prose, Outcome, List, Plan, Character, Copy, Reply, Thought,
        Everything, Word, Reason, Query, Depth, Maximum, State, Restoration, Delegation, Undone,
    }
}

classes! {
    /// Group of a function word.
    FunctionWord {
        Pad, Doubt, Det, Subject, It, One, Adjective, And, Or, But, Then, Sub, If, What, Why, Be, Infinitive, Do, Have, Modal, Clause,
        Would, Lets, Not, Later,
    }
}

classes! {
    /// A preposition or a particle.
    Prep {
        To, Into, Of, From, In, On, At, Under, With, As, For, By, About, Through, After, Before, Against, Between, Up,
        Back, Out, Off, Down, Aside, Away, Together, Apart, Over, Side, Onward,
    }
}

/// A verb's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// `prune`, as one asks for it.
    Base,
    /// `prunes`.
    Third,
    /// `pruning`.
    Ing,
    /// `pruned`.
    Past,
}

/// Everything that a word may be; a line's other words decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry {
    pub(super) verb: Option<(Verb, Form)>,
    pub(super) noun: Option<Noun>,
    pub(super) func: Option<FunctionWord>,
    pub(super) prep: Option<Prep>,
    pub(super) option: Option<OptionName>,
    pub(super) number: Option<u8>,
}

impl Entry {
    /// True if it is a word at all that the lexicon knows.
    pub(super) fn is_known(&self) -> bool {
        *self != Self::default()
    }

    /// True if the word names or describes a thing, or is an option, and no verb.
    pub(super) fn names_argument(&self) -> bool {
        let describes = self.option.is_some() || self.noun.is_some() || self.func == Some(FunctionWord::Adjective);
        describes && self.verb.is_none()
    }

    /// The verb, if the word is its base form.
    pub(super) fn base(&self) -> Option<Verb> {
        self.verb.filter(|(_, form)| *form == Form::Base).map(|(verb, _)| verb)
    }
}

type Map<K, V> = HashMap<K, V, FixedState>;

struct Lexicon {
    entries: Map<Box<[u8]>, Entry>,
    typos: Typos,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(build);

/// The longest word that is looked up.
const LONGEST: usize = 24;

/// Entry of `word`, in any case; a curly apostrophe is as good as a straight one.
pub(super) fn look_up(word: &str) -> Entry {
    let mut buffer = [0_u8; LONGEST];
    lower(word, &mut buffer).and_then(|lowered| LEXICON.entries.get(lowered)).copied().unwrap_or_default()
}

/// True if the verb `word` has its past in the same form: `read`, `cut`.
pub(super) fn is_unchanged(word: &str) -> bool {
    verbs::UNCHANGED.contains(&word)
}

/// The word in lower case, if it is of ASCII and fits; a curly apostrophe becomes a straight one.
pub(super) fn lower<'b>(word: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut length = 0;
    for c in word.chars() {
        let c = if c == '’' { '\'' } else { c };
        let byte = u8::try_from(c).ok().filter(u8::is_ascii)?;
        *buffer.get_mut(length)? = byte.to_ascii_lowercase();
        length += 1;
    }
    buffer.get(..length)
}

fn build() -> Lexicon {
    let mut entries: Map<Box<[u8]>, Entry> = Map::default();
    fn add<'a>(entries: &'a mut Map<Box<[u8]>, Entry>, word: &str) -> &'a mut Entry {
        entries.entry(word.as_bytes().into()).or_default()
    }
    for (verb, bases) in verbs::VERBS {
        for base in bases.split_whitespace() {
            for (word, form) in inflections(base) {
                let entry = add(&mut entries, &word);
                // A base form goes before the inflection of another word.
                if form == Form::Base || entry.verb.is_none() {
                    entry.verb = Some((*verb, form));
                }
            }
        }
    }
    for (word, base) in verbs::IRREGULAR {
        let verb = add(&mut entries, base).verb;
        add(&mut entries, word).verb = verb.map(|(verb, _)| (verb, Form::Past));
    }
    for (noun, names) in word_lists::NOUNS {
        for name in names.split_whitespace() {
            add(&mut entries, name).noun.get_or_insert(*noun);
        }
    }
    for (func, names) in word_lists::FUNCTIONS {
        for name in names.split_whitespace() {
            add(&mut entries, name).func.get_or_insert(*func);
        }
    }
    for (prep, names) in word_lists::PREPOSITIONS {
        for name in names.split_whitespace() {
            add(&mut entries, name).prep = Some(*prep);
        }
    }
    for (option, names) in word_lists::OPTION_WORDS {
        for name in names.split_whitespace() {
            add(&mut entries, name).option = Some(*option);
        }
    }
    for (name, number) in word_lists::NUMBERS {
        add(&mut entries, name).number = Some(*number);
    }
    Lexicon { entries, typos: Typos::build() }
}

/// A base with its regular inflections.
fn inflections(base: &str) -> Vec<(String, Form)> {
    let mut forms = vec![(base.to_owned(), Form::Base)];
    let ends = |endings: &[&str]| endings.iter().any(|ending| base.ends_with(ending));
    let vowel_before_y = ends(&["ay", "ey", "oy", "uy"]);
    let third = if base.ends_with('y') && !vowel_before_y {
        format!("{}ies", &base[..base.len() - 1])
    } else if ends(&["s", "sh", "ch", "x", "z", "go", "do"]) {
        format!("{base}es")
    } else {
        format!("{base}s")
    };
    forms.push((third, Form::Third));
    let doubled = verbs::DOUBLING.contains(&base).then(|| format!("{base}{}", &base[base.len() - 1..]));
    let (ing, past) = match &doubled {
        Some(stem) => (format!("{stem}ing"), format!("{stem}ed")),
        None if base.ends_with("ie") => (format!("{}ying", &base[..base.len() - 2]), format!("{base}d")),
        None if base.ends_with('e') && !base.ends_with("ee") => {
            (format!("{}ing", &base[..base.len() - 1]), format!("{base}d"))
        }
        None if base.ends_with("ee") => (format!("{base}ing"), format!("{base}d")),
        None if base.ends_with('y') && !vowel_before_y => {
            (format!("{base}ing"), format!("{}ied", &base[..base.len() - 1]))
        }
        None => (format!("{base}ing"), format!("{base}ed")),
    };
    forms.push((ing, Form::Ing));
    if !verbs::UNCHANGED.contains(&base) {
        forms.push((past, Form::Past));
    }
    if doubled.is_some() && matches!(base, "cancel" | "label" | "travel") {
        forms.push((format!("{base}ing"), Form::Ing));
        forms.push((format!("{base}ed"), Form::Past));
    }
    forms
}
