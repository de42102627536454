//! The command `todo`.

use super::{BindError, Binder, Bound};
use crate::{
    arrow::{
        Command,
        args::{Arg, ArgKind},
        lexicon::{Noun, Prep, Verb},
        option_name::OptionName,
    },
    types::TodoDraft,
};

#[derive(Default)]
struct TodoOptions {
    add: Vec<TodoDraft>,
    done: Option<u32>,
    cancel: Option<u32>,
    resume: bool,
    outcome: Option<String>,
    status: Option<String>,
}

/// Statuses of items, as they are said.
const STATUSES: &[(&str, &[&str])] = &[
    (
        "all",
        &[
            "ones too",
            "including what is done",
            "including what's done",
            "including the finished",
            "also the finished",
            "done or not",
            "finished or not",
            "whatever state",
            "in any state",
            "old and new",
        ],
    ),
    ("in_progress", &["in progress", "underway", "being worked on"]),
    ("completed", &["completed", "finished", "done", "complete"]),
    ("cancelled", &["cancelled", "canceled", "dropped"]),
    ("pending", &["pending", "not started"]),
];

impl Binder<'_, '_> {
    /// The status of the items that a line asks for: `show the completed todos`, `which items are done?`.
    fn status_in_words(&mut self) -> Option<&'static str> {
        let names = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. } | ArgKind::Number(_));
        let looks = matches!(self.verb, Verb::See | Verb::Get | Verb::List | Verb::Read | Verb::Tell | Verb::Find);
        let looks = looks || self.arguments.has_bare_word("status");
        if !looks || self.arguments.items.iter().any(names) || self.arguments.modifiers.adds {
            return None;
        }
        let said = |words: &[&str]| words.iter().any(|word| self.arguments.has_bare_word(word));
        let (status, words) = STATUSES.iter().find(|(_, words)| said(words))?;
        let line = self.arguments.line;
        self.arguments.items.retain(|arg| arg.kind != ArgKind::Name || !words.contains(&arg.text.of(line)));
        Some(status)
    }

    /// True for items in any state: `show the plan, regardless of status`, `todo all`.
    fn asks_for_all(&self) -> bool {
        let whatever = ["whatever their state", "whatever their status", "regardless of state", "regardless of status"];
        let closes = self.arguments.modifiers.finishes || self.arguments.modifiers.cancels;
        let is_bare = self.verb == Verb::Todo && self.arguments.items.is_empty() && !closes;
        whatever.iter().any(|words| self.arguments.has_bare_word(words))
            || is_bare && self.arguments.has_bare_word("all")
    }

    pub(super) fn todo(&mut self) -> Bound {
        let all = self.asks_for_all();
        let status = self.name_for(&[OptionName::Status]).or_else(|| all.then(|| "all".to_owned()));
        let status = status.or_else(|| self.status_in_words().map(str::to_owned));
        let lists = status.is_some();
        let mut todo = TodoOptions { status, ..TodoOptions::default() };
        let keyed = self
            .arguments
            .items
            .iter()
            .find_map(|arg| arg.key.filter(|key| matches!(key, OptionName::Cancel | OptionName::Done)));
        let adds = matches!(self.verb, Verb::Add | Verb::Put) || self.arguments.modifiers.adds;
        // `add two items`: the items themselves follow.
        let counts = adds && !self.arguments.modifiers.finishes;
        let is_text = |arg: &&Arg| matches!(arg.kind, ArgKind::Text { .. });
        let last_text = self.arguments.items.iter().rfind(is_text).map_or(usize::MAX, |arg| arg.at);
        let number = self.number(|arg| !counts || arg.at < last_text).map(|(number, _)| number);
        let number = number.filter(|_| !counts);
        let cancels = keyed == Some(OptionName::Cancel)
            || self.verb == Verb::Cancel
            || self.verb == Verb::Drop
            || self.verb == Verb::Remove
            || self.arguments.modifiers.cancels;
        let (context, criteria) = (self.text_for(&[OptionName::Context]), self.text_for(&[OptionName::Criteria]));
        let context = context.or_else(|| self.text_where(|arg| arg.noun == Some(Noun::Context)));
        let agent_type = self.name_for(&[OptionName::Agent]).or_else(|| {
            // `for the researcher`
            self.name_where(|arg| arg.kind == ArgKind::Name && arg.prep == Some(Prep::For))
        });
        let resumes = matches!(self.verb, Verb::Resume | Verb::Carry | Verb::Continue | Verb::Go)
            || self.arguments.modifiers.resumes
            || self.arguments.take(|arg| arg.key == Some(OptionName::Resume)).is_some();
        if let Some(number) = number {
            todo.outcome =
                self.text_for(&[OptionName::Outcome, OptionName::Note]).or_else(|| self.text_where(|_| true));
            if cancels {
                todo.cancel = Some(number);
            } else if keyed == Some(OptionName::Done)
                || self.arguments.modifiers.finishes
                || matches!(self.verb, Verb::Finish | Verb::Check | Verb::Bookmark)
            {
                todo.done = Some(number);
            } else {
                return Err(BindError::Missing("what about it: done or cancel"));
            }
        } else if resumes {
            todo.resume = true;
        } else {
            while let Some(title) = self.text_where(|_| true) {
                todo.add.push(TodoDraft { title, ..TodoDraft::default() });
            }
            if todo.add.len() > 1 && (context.is_some() || criteria.is_some() || agent_type.is_some()) {
                return Err(BindError::Missing("one item alone: its details stand behind it"));
            }
            if let [one] = todo.add.as_mut_slice() {
                one.context = context.unwrap_or_default();
                one.criteria = criteria.unwrap_or_default();
                one.agent_type = agent_type;
            }
            let adds = matches!(self.verb, Verb::Add | Verb::Put | Verb::Write | Verb::Make | Verb::Record)
                || self.arguments.modifiers.adds;
            if !adds
                && !lists
                && (cancels || self.arguments.modifiers.finishes || matches!(self.verb, Verb::Finish | Verb::Check))
            {
                return Err(BindError::Missing("the item's number"));
            }
            if todo.add.is_empty()
                && !lists
                && (adds || cancels || self.arguments.modifiers.finishes || matches!(self.verb, Verb::Finish))
            {
                return Err(BindError::Missing("the item: its words, or its number"));
            }
        }
        let TodoOptions { add, done, cancel, resume, outcome, status } = todo;
        Ok(Command::Todo { add, done, cancel, resume, outcome, status })
    }
}
