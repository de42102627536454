//! Commands about documents, about what the agent keeps, and the rest.

use super::{BindError, Binder, Bound, is_node, is_reference};
use crate::arrow::{
    Command, DecisionKind, MemoryView, NodeRef, Range, SearchDepth, Topic, WritePlace,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};
use crate::{
    tools::{MAX_SEARCH_RESULTS, TABLE},
    types::{TodoDraft, first_words},
};

/// Words of a stash's only text up to which it is a label.
const MAX_LABEL_WORDS: usize = 6;
/// Characters of a label that is made of the first words of a text.
const DERIVED_LABEL_CHARS: usize = 40;

impl Binder<'_, '_> {
    /// A document's name, also as a mere string.
    fn needed_doc(&mut self) -> Bound<String> {
        let doc = self.doc().or_else(|| self.text_where(|arg| arg.key.is_none()));
        let verb = self.at;
        doc.or_else(|| {
            self.arguments
                .take(|arg| arg.kind == ArgKind::Name && arg.at == verb + 1)
                .map(|arg| self.arguments.value(&arg))
        })
        .ok_or(BindError::Missing("a document's name"))
    }

    pub(super) fn read(&mut self) -> Bound {
        let section = self.section();
        let of_version = |arg: &Arg| arg.key == Some(OptionName::Version) || arg.noun == Some(Noun::Version);
        let version = self.number(of_version).map(|(number, _)| number);
        // `head -n 30`
        let head = self.verb_text == "head";
        let lines =
            self.range(|_| true).map(|range| if head && range.last > 0 { Range { first: 1, ..range } } else { range });
        let summary = self.names(Noun::Summary) || self.flagged(&["summary"]) || self.verb == Verb::Summarise;
        let doc = self.needed_doc()?;
        // `what the document "x" has under "y"`
        let section = section.or_else(|| self.text_where(|arg| matches!(arg.prep, Some(Prep::Under | Prep::In))));
        Ok(Command::Read { doc, summary, lines, section, version })
    }

    fn section(&mut self) -> Option<String> {
        self.name_for(&[OptionName::Section])
    }

    pub(super) fn write(&mut self) -> Bound {
        let doc = self.doc();
        // `insert the heading "x"`: of one text, only `replace` means a section.
        let texts = self.arguments.items.iter().filter(|arg| matches!(arg.kind, ArgKind::Text { .. })).count();
        let sections = matches!(self.verb, Verb::Replace | Verb::Edit | Verb::Write);
        // `stash the section "M" of report.md as "l"`, `append "x" to the section "M"`: no section is replaced by these.
        let adds = matches!(self.verb_text, "append" | "prepend" | "insert" | "add" | "type" | "echo");
        let section = |arg: &Arg| arg.key == Some(OptionName::Section);
        if texts > 1 && (!sections || adds) && self.arguments.items.iter().any(section) {
            return Err(BindError::Missing("a section is replaced as a whole: replace:\"section\""));
        }
        let replaces =
            self.name_for(if sections { &[OptionName::Replace, OptionName::Section] } else { &[OptionName::Replace] });
        // `replace what stands under "Costs" in plan.md with "none"`
        let replaces = replaces.or_else(|| {
            let placed = texts > 1 && self.verb == Verb::Replace;
            if placed { self.text_where(|arg| arg.prep == Some(Prep::Under)) } else { None }
        });
        let place = match replaces {
            Some(section) => Some(WritePlace::Section(section)),
            None => self.place(),
        };
        let doc = match doc {
            Some(doc) => doc,
            // Of two strings the first is the document, unless a preposition says which.
            None => self
                .text_where(|arg| matches!(arg.prep, Some(Prep::To | Prep::Into | Prep::In | Prep::On | Prep::Of)))
                .or_else(|| {
                    let texts =
                        self.arguments.items.iter().filter(|arg| matches!(arg.kind, ArgKind::Text { .. })).count();
                    if texts > 1 { self.text_where(|_| true) } else { None }
                })
                .ok_or(BindError::Missing("a document's name"))?,
        };
        let place =
            place.ok_or(BindError::Missing("where: append, at:start, at:end, at:LINE or replace:\"section\""))?;
        // `at:3` inserts before line 3, and the whole document is replaced by none.
        let replaces_lines = self.verb == Verb::Replace && !matches!(place, WritePlace::Section(_));
        if replaces_lines {
            return Err(BindError::Missing("the section that is replaced: replace:\"section\""));
        }
        Ok(Command::Write { doc, place, content: self.content()? })
    }

    fn place(&mut self) -> Option<WritePlace> {
        let said = self
            .arguments
            .take(|arg| arg.key == Some(OptionName::At))
            .map(|arg| (arg.kind, self.arguments.value(&arg)));
        match said.as_ref().map(|(what, text)| (*what, text.as_str())) {
            Some((ArgKind::Number(line), _)) => return Some(WritePlace::Line(line)),
            Some((_, "start" | "top" | "beginning")) => return Some(WritePlace::Start),
            Some((_, "end" | "bottom")) => return Some(WritePlace::End),
            _ => {}
        }
        if let Some((line, _)) = self.number(|_| true) {
            return Some(WritePlace::Line(line));
        }
        if self.names(Noun::Start) || self.names(Noun::Root) || self.verb_text == "prepend" {
            return Some(WritePlace::Start);
        }
        if self.names(Noun::End) && self.verb_text != "append" && self.verb != Verb::Add {
            return Some(WritePlace::End);
        }
        Some(WritePlace::Append)
    }

    pub(super) fn pin(&mut self) -> Bound {
        let section = self.section();
        let doc = self.doc().or_else(|| self.text_where(|arg| arg.key.is_none()));
        let node = if doc.is_none() { self.node() } else { None };
        if doc.is_none() && section.is_some() {
            return Err(BindError::Missing("the document of that section"));
        }
        Ok(Command::Pin { node, doc, section })
    }

    pub(super) fn stash(&mut self) -> Bound {
        let range = self.arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::IdRange { .. }));
        let ids = self.arguments.items.iter().filter(|arg| is_node(arg)).count();
        let summary = range || ids == 2;
        // `content-of:"key decision"`: a bookmark
        let is_labelled = |arg: &Arg| {
            let names_source = matches!(arg.key, Some(OptionName::ContentOf | OptionName::SummaryOf));
            matches!(arg.kind, ArgKind::Text { .. }) && names_source
        };
        let labelled = self.arguments.take(is_labelled).map(|arg| self.node_ref(&arg));
        let content = self.text_for(&[OptionName::Content]);
        let summary_of = if summary { self.span() } else { None };
        let content_of = labelled.or_else(|| if summary { None } else { self.node() });
        let has_content = content.is_some() || content_of.is_some() || summary_of.is_some();
        let (label, content) = if has_content { (self.label(), content) } else { self.label_and_text() };
        // `stash a7x2 -m "x"`
        let (label, content) = if label.is_none() && content_of.is_some() { (content, None) } else { (label, content) };
        // A text of more words than a label has needs none.
        let is_text = |text: &&String| text.split_whitespace().nth(MAX_LABEL_WORDS).is_some();
        let derived = || {
            let first = first_words(content.as_ref().filter(is_text)?, DERIVED_LABEL_CHARS);
            Some(first.trim_end_matches('…').to_owned())
        };
        let label = label.or_else(derived).ok_or(BindError::Missing("a label"))?;
        let sources = [content.is_some(), content_of.is_some(), summary_of.is_some()];
        if sources.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err(BindError::Missing("what is set aside: a text, content-of:ID or summary-of:ID-ID"));
        }
        Ok(Command::Stash { label, content, content_of, summary_of })
    }

    /// Of two texts the one that is said to be the label, else the first.
    fn label_and_text(&mut self) -> (Option<String>, Option<String>) {
        let said = |arg: &Arg| {
            matches!(arg.key, Some(OptionName::Label | OptionName::Stash))
                || matches!(arg.prep, Some(Prep::As | Prep::Under))
                || arg.arrow
        };
        let label = self.arguments.take(|arg| said(arg) && !matches!(arg.kind, ArgKind::Id));
        // `set "text" aside in the stash "label"`
        let in_stash = |arg: &Arg| arg.prep == Some(Prep::In) && arg.noun == Some(Noun::Stash);
        let label = label.or_else(|| self.arguments.take(in_stash)).or_else(|| {
            let several = self.arguments.items.len() > 1;
            self.arguments.take(|arg| several && matches!(arg.kind, ArgKind::Text { .. } | ArgKind::Name))
        });
        let label = label.map(|arg| self.arguments.value(&arg));
        let content = self.text_where(|_| true);
        (label, content)
    }

    pub(super) fn name_where(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<String> {
        let arg = self.arguments.take(|arg| matches!(arg.kind, ArgKind::Name | ArgKind::File) && fits(arg))?;
        Some(self.arguments.value(&arg))
    }

    pub(super) fn drop(&mut self) -> Bound {
        let of_stash = self.names(Noun::Stash) || self.verb_text == "unstash";
        if of_stash {
            let label = self.label().or_else(|| self.name_where(|_| true));
            let label = label
                .or_else(|| self.arguments.take(|arg| arg.kind == ArgKind::Id).map(|arg| self.arguments.value(&arg)));
            return match label {
                Some(label) => Ok(Command::Drop { pin: None, stash: Some(label) }),
                None => Err(BindError::Missing("the label")),
            };
        }
        if !self.names(Noun::Pin) && self.verb != Verb::Unpin {
            return Err(BindError::Missing("which: pin:ID or stash:\"label\""));
        }
        let said =
            self.arguments.take(|arg| arg.key == Some(OptionName::Pin)).or_else(|| self.arguments.take(is_reference));
        let said = said.map(|arg| match arg.kind {
            ArgKind::Id => NodeRef::from(arg.text.of(self.arguments.line)),
            _ if is_reference(&arg) => self.node_ref(&arg),
            _ => NodeRef::Id(self.arguments.value(&arg)),
        });
        let name = |binder: &mut Self| {
            binder
                .node_id()
                .or_else(|| binder.doc())
                .or_else(|| binder.text_where(|_| true))
                .or_else(|| binder.name_where(|_| true))
        };
        let pin = said.or_else(|| name(self).map(NodeRef::Id));
        let pin = pin.ok_or(BindError::Missing("the pin: an id, or a document's name"))?;
        Ok(Command::Drop { pin: Some(pin), stash: None })
    }

    pub(super) fn decide(&mut self) -> Bound {
        let kind = self.arguments.take(|arg| arg.key == Some(OptionName::Kind)).map(|arg| self.arguments.value(&arg));
        let kind = match kind.as_deref() {
            Some("constraint") => Some(DecisionKind::Constraint),
            Some("decision") => Some(DecisionKind::Decision),
            Some("retract") => Some(DecisionKind::Retract),
            Some(_) => return Err(BindError::Missing("kind: decision, constraint or retract")),
            None if matches!(self.verb, Verb::Undo | Verb::Remove | Verb::Drop | Verb::Take | Verb::Cancel) => {
                let text = self.arguments.items.iter().find(|arg| matches!(arg.kind, ArgKind::Text { .. }));
                let is_alone =
                    text.is_some_and(|text| super::retracted_decision::is_only_request(self.arguments.line, text.text));
                if !is_alone {
                    return Err(BindError::Missing("the text of one decision, alone"));
                }
                Some(DecisionKind::Retract)
            }
            None if self.flagged(&["retract"])
                || ["retract", "retracted"].iter().any(|word| self.arguments.has_bare_word(word)) =>
            {
                Some(DecisionKind::Retract)
            }
            None if self.flagged(&["constraint"]) => Some(DecisionKind::Constraint),
            None => self.names(Noun::Constraint).then_some(DecisionKind::Constraint),
        };
        Ok(Command::Decide { content: self.content()?, kind })
    }

    pub(super) fn memory(&mut self) -> Command {
        self.arguments.take(|arg| arg.key == Some(OptionName::What));
        let view = if self.names(Noun::Trace) {
            Some(MemoryView::Trace)
        } else {
            // `memory, only what is stashed`
            (self.names(Noun::Stash) || self.arguments.has_bare_word("stashed")).then_some(MemoryView::Stashed)
        };
        Command::Memory { view }
    }

    pub(super) fn todo(&mut self) -> Bound {
        let whatever = ["whatever their state", "whatever their status", "regardless of state", "regardless of status"];
        let all = whatever.iter().any(|words| self.arguments.has_bare_word(words));
        let status = self.name_for(&[OptionName::Status]).or_else(|| all.then(|| "all".to_owned()));
        let mut todo = TodoOptions { status, ..TodoOptions::default() };
        let keyed = self
            .arguments
            .items
            .iter()
            .find_map(|arg| arg.key.filter(|key| matches!(key, OptionName::Cancel | OptionName::Done)));
        let number = self.number(|_| true).map(|(number, _)| number);
        // `add two items`: the items themselves follow.
        let number = number.filter(|_| {
            self.arguments.modifiers.finishes
                || !(matches!(self.verb, Verb::Add | Verb::Put) || self.arguments.modifiers.adds)
        });
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
            if let [one] = todo.add.as_mut_slice() {
                one.context = context.unwrap_or_default();
                one.criteria = criteria.unwrap_or_default();
                one.agent_type = agent_type;
            }
            let adds = matches!(self.verb, Verb::Add | Verb::Put | Verb::Write | Verb::Make | Verb::Record)
                || self.arguments.modifiers.adds;
            if !adds
                && (cancels || self.arguments.modifiers.finishes || matches!(self.verb, Verb::Finish | Verb::Check))
            {
                return Err(BindError::Missing("the item's number"));
            }
            if todo.add.is_empty()
                && (adds || cancels || self.arguments.modifiers.finishes || matches!(self.verb, Verb::Finish))
            {
                return Err(BindError::Missing("the item: its words, or its number"));
            }
        }
        let TodoOptions { add, done, cancel, resume, outcome, status } = todo;
        Ok(Command::Todo { add, done, cancel, resume, outcome, status })
    }

    pub(super) fn delegate(&mut self) -> Bound {
        let context =
            self.text_for(&[OptionName::Context]).or_else(|| self.text_where(|arg| arg.noun == Some(Noun::Context)));
        let wait =
            match self.arguments.take(|arg| arg.key == Some(OptionName::Wait)).map(|arg| self.arguments.value(&arg)) {
                Some(said) => Some(matches!(said.to_ascii_lowercase().as_str(), "yes" | "true" | "on" | "1")),
                // `delegate "x" in the background`
                None if self.names(Noun::Background) && self.has(Prep::In) => Some(false),
                None => self.arguments.modifiers.waits,
            };
        let resume = self.node_option(OptionName::Resume, "resume: the id of the delegation")?;
        // `delegate resume z4k8`, `resume the delegation z4k8`
        let resumes = self.arguments.modifiers.resumes || matches!(self.verb, Verb::Resume | Verb::Continue);
        let resume = if resume.is_none() && resumes { self.node() } else { resume };
        let goal = self.text_for(&[OptionName::Goal]).or_else(|| self.text_where(|arg| arg.noun == Some(Noun::Goal)));
        let lists = self.arguments.modifiers.lists || self.names(Noun::Delegation);
        let list = lists && self.arguments.items.is_empty();
        let goal = match goal {
            None if resume.is_some() || list => None,
            None => Some(self.content().map_err(|_| BindError::Missing("the goal, in quotes"))?),
            goal => goal,
        };
        if resume.is_some() && goal.is_some() {
            return Err(BindError::Missing("one of: the goal, resume:ID, list"));
        }
        let context = context.or_else(|| self.text_where(|arg| arg.prep == Some(Prep::With)));
        let list = list && goal.is_none() && resume.is_none();
        if list && context.is_some() {
            return Err(BindError::Missing("the goal, in quotes"));
        }
        Ok(Command::Delegate { goal, context, resume, list, wait })
    }

    pub(super) fn search(&mut self) -> Bound {
        let max = self.limited("max", MAX_SEARCH_RESULTS, |arg| {
            matches!(arg.key, Some(OptionName::Limit))
                || matches!(arg.unit, Some(Noun::Result))
                || arg.key != Some(OptionName::Depth)
        })?;
        // `search in depth for "x"`
        let is_deep = self.arguments.has_bare_word("in depth");
        for arg in self.arguments.items.iter_mut().filter(|arg| is_deep && arg.key == Some(OptionName::Depth)) {
            arg.key = None;
        }
        let depth =
            match self.arguments.take(|arg| arg.key == Some(OptionName::Depth)).map(|arg| self.arguments.value(&arg)) {
                Some(depth) if matches!(depth.as_str(), "deep" | "advanced") => Some(SearchDepth::Deep),
                Some(depth) if matches!(depth.as_str(), "basic" | "shallow") => Some(SearchDepth::Basic),
                Some(_) => return Err(BindError::Missing("depth: basic or deep")),
                None => (self.names(Noun::Level) || is_deep || self.arguments.has_bare_word("deep"))
                    .then_some(SearchDepth::Deep),
            };
        let topic =
            match self.arguments.take(|arg| arg.key == Some(OptionName::Topic)).map(|arg| self.arguments.value(&arg)) {
                Some(topic) if topic.eq_ignore_ascii_case("news") => Some(Topic::News),
                Some(topic) if topic.eq_ignore_ascii_case("general") => Some(Topic::General),
                Some(_) => return Err(BindError::Missing("topic: news or general")),
                None => self.names(Noun::News).then_some(Topic::News),
            };
        let mut exclude = Vec::new();
        while let Some(site) = self.name_for(&[OptionName::Exclude]) {
            exclude.push(site);
        }
        let mut include = Vec::new();
        while let Some(site) = self.name_for(&[OptionName::Include]) {
            include.push(site);
        }
        while let Some(site) = self.name_where(|arg| {
            arg.kind == ArgKind::File
                && (arg.key == Some(OptionName::Include)
                    || matches!(arg.prep, Some(Prep::On | Prep::From | Prep::At | Prep::To)))
        }) {
            include.push(site);
        }
        let query = self.text_for(&[OptionName::Query]).or_else(|| self.text_where(|_| true));
        let query = query.ok_or(BindError::Missing("the query, in quotes"))?;
        Ok(Command::Search { query, depth, topic, max, include, exclude })
    }

    pub(super) fn help(&mut self) -> Command {
        self.arguments.items.retain(|arg| !matches!(arg.kind, ArgKind::Number(_)));
        // `tool="recall"`
        let is_tool = |name: &String| TABLE.iter().any(|row| row.name == name);
        let named = self.name_for(&[OptionName::Tool]).filter(is_tool);
        // `how does "merge" work?`
        let named = named.or_else(|| self.text_where(|_| true).filter(is_tool));
        Command::Help { tool: named.or_else(|| self.arguments.modifiers.tool.map(|tool| tool.name().to_owned())) }
    }
}

#[derive(Default)]
struct TodoOptions {
    add: Vec<TodoDraft>,
    done: Option<u32>,
    cancel: Option<u32>,
    resume: bool,
    outcome: Option<String>,
    status: Option<String>,
}
