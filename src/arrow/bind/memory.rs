//! Commands about what the agent keeps: pins, stashes, decisions.

use super::{BindError, Binder, Bound, is_node, is_reference};
use crate::{
    arrow::{
        Command, DecisionKind, MemoryView, NodeRef,
        args::{Arg, ArgKind},
        lexicon::{Noun, Prep, Verb},
        option_name::OptionName,
    },
    types::first_words,
};

/// Words of a stash's only text up to which it is a label.
const MAX_LABEL_WORDS: usize = 6;
/// Characters of a label that is made of the first words of a text.
const DERIVED_LABEL_CHARS: usize = 40;

impl Binder<'_, '_> {
    pub(super) fn pin(&mut self) -> Bound {
        let section = self.section();
        // `pin("a7x2")`
        let quoted = self.arguments.items.iter().any(|arg| arg.key.is_none() && self.is_quoted_id(arg));
        let doc = self.doc().or_else(|| if quoted { None } else { self.text_where(|arg| arg.key.is_none()) });
        let is_id = |arg: &Arg| quoted && matches!(arg.kind, ArgKind::Text { .. });
        let node = match self.arguments.take(is_id) {
            Some(arg) => Some(self.node_ref(&arg)),
            None if doc.is_none() => self.node(),
            None => None,
        };
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
        let is_labelled =
            |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && arg.key == Some(OptionName::ContentOf);
        let is_summarized =
            |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && arg.key == Some(OptionName::SummaryOf);
        if self.arguments.items.iter().any(is_summarized) {
            return Err(BindError::Missing("summary-of:ID-ID, two ids"));
        }
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
            let is_label = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. } | ArgKind::Name);
            self.arguments.take(|arg| several && is_label(arg) && arg.key != Some(OptionName::Doc))
        });
        let label = label.map(|arg| self.arguments.value(&arg));
        let content = self.text_where(|_| true);
        (label, content)
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
        let view = self.arguments.take(|arg| arg.key == Some(OptionName::What)).map(|arg| self.arguments.value(&arg));
        let view =
            if self.names(Noun::Trace) || self.arguments.has_bare_word("trace") || view.as_deref() == Some("trace") {
                Some(MemoryView::Trace)
            } else {
                // `memory, only what is stashed`
                let stashed = view.as_deref() == Some("stashed");
                (stashed || self.names(Noun::Stash) || self.arguments.has_bare_word("stashed"))
                    .then_some(MemoryView::Stashed)
            };
        Command::Memory { view }
    }
}
