//! The command `bookmark`, and labels.

use super::{BindError, Binder, Bound, is_node};
use crate::arrow::{
    Command,
    args::{Arg, ArgKind},
    lexicon::{self, FunctionWord, Noun, Prep},
    option_name::OptionName,
};

impl Binder<'_, '_> {
    pub(super) fn bookmark(&mut self) -> Bound {
        let end = self.arguments.items.iter().find(|arg| is_node(arg)).map(|arg| arg.text.end);
        let node = self.node();
        // `bm a7x2 baseline, please`
        let second = self.at + 2;
        let label = self.unquoted_label(end).or_else(|| self.label());
        let label = label.or_else(|| self.name_where(|arg| arg.at == second && arg.key.is_none()));
        // `bookmark a7x2 called turning point`: words that would be dropped.
        let words = ["as", "called", "named", "label"].iter().any(|word| self.arguments.has_bare_word(word));
        if label.is_none() && words && !self.names(Noun::Bookmark) && !self.names(Noun::Here) {
            return Err(BindError::Missing("the label, in quotes"));
        }
        Ok(Command::Bookmark { node, label })
    }

    /// Words without quotes or marks from `start` to the end of the line: `bm a7x2 baseline`, `… as the last quiet scene`.
    fn unquoted_label(&mut self, start: Option<usize>) -> Option<String> {
        let words = self.arguments.line.get(start?..)?.trim_matches([' ', '.', ']', '`']);
        let is_plain = words.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '\'' | '’'));
        let is_own = |arg: &Arg| arg.kind == ArgKind::Name && matches!(arg.key, None | Some(OptionName::Label));
        let lead = ["as", "called", "named", "labelled", "labeled", "label", "name", "the", "a", "an"];
        let label: Vec<&str> =
            words.split_whitespace().skip_while(|word| lead.contains(&word.trim_start_matches('-'))).collect();
        // `please`, `for later`, `the node`, `this current branch`
        let entries = || label.iter().map(|word| lexicon::look_up(word));
        let adjective = Some(FunctionWord::Adjective);
        let here = ["current", "present", "whole", "same", "full"];
        let describes = entries().all(|entry| !entry.is_known() || entry.noun.is_some() || entry.func == adjective)
            && entries()
                .zip(&label)
                .any(|(entry, word)| !entry.is_known() || entry.func == adjective && !here.contains(word));
        if !is_plain || !describes || !self.arguments.items.iter().all(is_own) {
            return None;
        }
        self.arguments.items.clear();
        Some(label.join(" "))
    }

    /// A label: a text or a name, by preference one that is said to be it.
    pub(super) fn label(&mut self) -> Option<String> {
        self.name_for(&[OptionName::Label, OptionName::Stash, OptionName::As])
            .or_else(|| {
                self.text_where(|arg| {
                    matches!(arg.prep, Some(Prep::As | Prep::Under)) && arg.key != Some(OptionName::Content)
                })
            })
            .or_else(|| {
                let arg = self.arguments.take(|arg| {
                    matches!(arg.kind, ArgKind::Name | ArgKind::File)
                        && matches!(arg.prep, Some(Prep::As | Prep::Under))
                })?;
                Some(self.arguments.value(&arg))
            })
            .or_else(|| self.text_where(|arg| arg.key != Some(OptionName::Content)))
    }
}
