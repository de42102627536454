//! The commands `link` and `unlink`.

use super::{BindError, Binder, Bound, is_node};
use crate::arrow::{
    Command, LinkEnd, NodeRef,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};

impl Binder<'_, '_> {
    pub(super) fn link(&mut self) -> Bound {
        let note = self.text_for(&[OptionName::Note, OptionName::Content]);
        let doc = self.doc();
        let tree = if doc.is_none() { self.name_for(&[OptionName::Tree]) } else { None };
        let (node, end) = if doc.is_some() {
            (self.node(), LinkEnd { doc, ..LinkEnd::default() })
        } else if tree.is_some() {
            let there = self
                .arguments
                .take(|arg| is_node(arg) && (arg.key == Some(OptionName::Node) || arg.prep == Some(Prep::At)));
            let there = there.map(|arg| self.node_ref(&arg));
            let here = self.node();
            let there = there.or_else(|| self.node());
            (here, LinkEnd { tree, node: there, doc: None })
        } else {
            let onto = |arg: &Arg| {
                arg.key == Some(OptionName::To)
                    || arg.arrow
                    || matches!(arg.prep, Some(Prep::To | Prep::With | Prep::Into))
            };
            // `link a7x2 to "the opening"`: a bookmark's label.
            let labels_end = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && arg.key.is_none() && onto(arg);
            let ends = self.arguments.items.iter().filter(|arg| is_node(arg)).count();
            if let Some(arg) = self.arguments.items.iter_mut().find(|arg| ends == 1 && labels_end(arg)) {
                arg.kind = ArgKind::BookmarkLabel { escapes: matches!(arg.kind, ArgKind::Text { escapes: true }) };
            }
            let (node, to) =
                self.two(onto).ok_or(BindError::Missing("what it is linked to: an id, doc:\"…\" or tree:\"…\""))?;
            (node.filter(|node| !node.is_here()), LinkEnd { node: Some(to), ..LinkEnd::default() })
        };
        let note = note.or_else(|| self.text_where(|_| true));
        Ok(Command::Link { node, to: end, note })
    }

    pub(super) fn unlink(&mut self) -> Bound {
        let doc = self.doc();
        let tree = if doc.is_none() { self.name_for(&[OptionName::Tree]) } else { None };
        if doc.is_some() || tree.is_some() {
            let there =
                self.arguments.take(|arg| is_node(arg) && arg.key == Some(OptionName::Node)).filter(|_| tree.is_some());
            let there = there.map(|arg| self.node_ref(&arg));
            let node = self.node();
            return Ok(Command::Unlink { node, from: LinkEnd { doc, tree, node: there } });
        }
        let away =
            |arg: &Arg| arg.key == Some(OptionName::To) || arg.arrow || matches!(arg.prep, Some(Prep::To | Prep::With));
        let both = self.arguments.items.iter().filter(|arg| is_node(arg)).count() > 1;
        // `delete the link from a7x2`: to which end?
        if !both && self.verb != Verb::Unlink {
            return Err(BindError::Missing("both ends of the link"));
        }
        let named = |arg: &Arg| arg.key == Some(OptionName::From) || arg.prep == Some(Prep::From) && !both;
        let from = if both { self.two_from(away) } else { self.two(named) };
        let (node, end) = from.ok_or(BindError::Missing("the other end of the link"))?;
        let node = node.filter(|node| !node.is_here());
        Ok(Command::Unlink { node, from: LinkEnd { node: Some(end), ..LinkEnd::default() } })
    }

    /// Two ids; `from A to B`, `A from B` and `from B node A` mean A, then B.
    fn two_from(&mut self, away: impl Fn(&Arg) -> bool) -> Option<(Option<NodeRef>, NodeRef)> {
        let last = &self.arguments.items[self.arguments.items.iter().rposition(is_node)?];
        let is_from = |arg: &Arg| arg.prep == Some(Prep::From) || arg.key == Some(OptionName::From);
        let ends_with_from = is_from(last) || last.noun == Some(Noun::Node) && last.prep.is_none() && !last.arrow;
        self.two(|arg| if ends_with_from { is_from(arg) } else { away(arg) })
    }
}
