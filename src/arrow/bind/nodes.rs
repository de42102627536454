//! Commands about nodes.

use super::{BindError, Binder, Bound, is_node};
use crate::arrow::{
    Command, LinkEnd, Listing, NodeRef, Relative, Rendering, ResponseKind,
    args::{Arg, What},
    key::Key,
    lexicon::{Noun, Prep, Verb},
};
use crate::tools::{MAX_CONTINUATIONS, MAX_TREE_DEPTH};

/// What can be listed, by its name.
const LISTINGS: &[(&str, Noun, Listing)] = &[
    ("siblings", Noun::Sibling, Listing::Siblings),
    ("versions", Noun::Version, Listing::Versions),
    ("bookmarks", Noun::Bookmark, Listing::Bookmarks),
    ("annotations", Noun::Annotation, Listing::Annotations),
    ("links", Noun::Link, Listing::Links),
    ("continuations", Noun::Continuation, Listing::Continuations),
];

/// Places by their names.
const PLACES: &[(&str, Noun, Relative)] = &[
    ("parent", Noun::Parent, Relative::Parent),
    ("root", Noun::Root, Relative::Root),
    ("next", Noun::Next, Relative::Next),
    ("previous", Noun::Previous, Relative::Previous),
    ("leaf", Noun::Leaf, Relative::Leaf),
    ("back", Noun::Here, Relative::Back),
];

impl Binder<'_, '_> {
    pub(super) fn view(&mut self) -> Bound {
        let rendering = self.rendering();
        let of_branch = |arg: &Arg| is_node(arg) && (arg.key == Some(Key::Branch) || arg.noun == Some(Noun::Branch));
        let branch = self.bag.take(of_branch).map(|arg| self.node_ref(&arg));
        // `the branch ending at a7x2`
        let branch =
            if branch.is_none() && rendering.is_some() && self.names(Noun::Branch) { self.node() } else { branch };
        let node = if branch.is_some() { None } else { self.node() };
        let full = self.flagged(&["full", "whole", "all"]) || self.bag.signs.whole;
        let annotations = self.names(Noun::Annotation);
        let plain = matches!(self.said, "view" | "show" | "look" | "display" | "inspect" | "open" | "print" | "cat");
        let alone = plain && self.bag.args.is_empty() && self.cues.is_view_alone();
        if branch.is_none() && node.is_none() && !self.names(Noun::Here) && !self.points_here() && !alone {
            return Err(BindError::Missing("a node's id"));
        }
        Ok(Command::View { node, branch, full, annotations, rendering })
    }

    fn rendering(&mut self) -> Option<Rendering> {
        let said = self.bag.take(|arg| arg.key == Some(Key::As)).map(|arg| self.bag.value(&arg));
        match said.as_deref() {
            Some("nodes") => Some(Rendering::Nodes),
            Some(_) => Some(Rendering::Prose),
            None if self.names(Noun::Prose) => Some(Rendering::Prose),
            None if self.bag.role == Some(Noun::Node) => Some(Rendering::Nodes),
            None => None,
        }
    }

    /// `this node`, or nothing but the verb.
    fn points_here(&self) -> bool {
        self.bag.signs.here
    }

    pub(super) fn list(&mut self) -> Bound {
        let what = self.listing()?;
        Ok(Command::List { node: self.node(), what })
    }

    fn listing(&mut self) -> Bound<Listing> {
        let said = self.bag.take(|arg| arg.key == Some(Key::What)).map(|arg| self.bag.value(&arg));
        let line = self.bag.line;
        let listing = |arg: &Arg| LISTINGS.iter().any(|(word, _, _)| arg.text.of(line).eq_ignore_ascii_case(word));
        let quoted = |arg: &Arg| matches!(arg.what, What::Text { .. }) && listing(arg);
        let said = said.or_else(|| self.bag.take(quoted).map(|arg| self.bag.value(&arg)));
        let named =
            |noun: Noun, word: &str| said.as_ref().map_or(self.names(noun), |said| said.eq_ignore_ascii_case(word));
        for (word, noun, listing) in LISTINGS {
            if named(*noun, word) {
                return Ok(*listing);
            }
        }
        Err(BindError::Missing("what is listed: continuations, annotations, links, versions, siblings or bookmarks"))
    }

    pub(super) fn tree(&mut self) -> Bound {
        let from = self.node();
        let depth = self.limited("depth", MAX_TREE_DEPTH, |arg| {
            arg.key == Some(Key::Depth) || arg.unit.is_none_or(|unit| unit == Noun::Level)
        })?;
        let summary = self.names(Noun::Summary) || self.flagged(&["summary"]) || self.verb == super::Verb::Summarise;
        self.bag.take(|arg| arg.key == Some(Key::Summary));
        Ok(Command::Tree { from, depth, summary })
    }

    pub(super) fn switch(&mut self) -> Bound {
        let tree = self.name_for(&[Key::Tree]);
        // `up one level`
        self.bag.take(|arg| arg.what == What::Number(1) && arg.unit == Some(Noun::Level));
        let relative = self.relative();
        let node = if relative.is_some() { None } else { self.node() };
        let node = node.or_else(|| {
            let arg = self.bag.take(|arg| relative.is_none() && matches!(arg.what, What::Number(_)))?;
            Some(self.node_ref(&arg))
        });
        if node.is_none() && relative.is_none() && tree.is_none() {
            return Err(BindError::Missing("where to: an id, or parent, root, next, previous, leaf, back"));
        }
        Ok(Command::Switch { node, relative, tree })
    }

    fn relative(&mut self) -> Option<Relative> {
        let line = self.bag.line;
        let place = |arg: &Arg| PLACES.iter().find(|(word, _, _)| arg.text.of(line).eq_ignore_ascii_case(word));
        if let Some(arg) = self.bag.take(|arg| place(arg).is_some()) {
            return place(&arg).map(|(_, _, relative)| *relative);
        }
        if self.bag.args.iter().any(is_node) {
            return None;
        }
        PLACES
            .iter()
            .find(|(_, noun, _)| *noun != Noun::Here && self.names(*noun))
            .map(|(_, _, relative)| *relative)
            .or_else(|| self.names(Noun::Start).then_some(Relative::Root))
            .or_else(|| self.names(Noun::End).then_some(Relative::Leaf))
            .or_else(|| (self.has(Prep::Up) || self.said == "up" || self.bag.signs.up).then_some(Relative::Parent))
            .or_else(|| (self.said == "cd" && self.bag.signs.slash).then_some(Relative::Root))
            .or_else(|| {
                (matches!(self.said, "cd" | "checkout" | "switch") && self.bag.signs.dash).then_some(Relative::Back)
            })
            .or_else(|| {
                (self.has(Prep::Back) || self.has(Prep::Before) || matches!(self.said, "back" | "return"))
                    .then_some(Relative::Back)
            })
    }

    pub(super) fn diff(&mut self) -> Bound {
        // `the two endings`
        self.bag.take(|arg| arg.what == What::Number(2) && arg.key.is_none());
        let nodes = self.nodes();
        match nodes.len() {
            2 => Ok(Command::Diff { nodes }),
            0 | 1 => Err(BindError::Missing("two nodes' ids")),
            _ => Err(BindError::Missing("two nodes' ids, and no more")),
        }
    }

    pub(super) fn continue_(&mut self) -> Bound {
        let quoted = self.quoted_id().map(|arg| self.node_ref(&arg));
        let agent = self.agent();
        let tokens = self.number(|arg| {
            arg.key == Some(Key::Tokens) || arg.unit == Some(Noun::Token) || arg.noun == Some(Noun::Token)
        });
        let n = self.limited("n", MAX_CONTINUATIONS, |arg| arg.key != Some(Key::Tokens))?;
        let from = quoted.or_else(|| self.node());
        let n = n.or(self.bag.signs.once.then_some(1));
        Ok(Command::Continue { from, n, tokens: tokens.map(|(number, _)| number), agent })
    }

    /// The agent: one that is said to be it, else a name.
    fn agent(&mut self) -> Option<String> {
        if let Some(name) = self.name_for(&[Key::Agent, Key::Label]) {
            return Some(name);
        }
        let by = |arg: &Arg| matches!(arg.prep, Some(Prep::Responder | Prep::By));
        // `let the poet continue a7x2`
        let verb = self.at;
        let near = |arg: &Arg| arg.at < verb && arg.at + 3 > verb;
        if let Some(arg) = self.bag.take(|arg| arg.what == What::Name && near(arg) && arg.key.is_none()) {
            return Some(self.bag.value(&arg));
        }
        let arg = self
            .bag
            .take(|arg| matches!(arg.what, What::Name | What::Text { .. } | What::File) && by(arg) && arg.key.is_none())
            .or_else(|| {
                let verb = self.at;
                self.bag.take(|arg| arg.what == What::Name && arg.at < verb && arg.at + 3 > verb)
            })
            .or_else(|| {
                let line = self.bag.line;
                self.bag.take(|arg| arg.what == What::Name && arg.text.of(line).starts_with(char::is_uppercase))
            })
            .or_else(|| self.bag.take(|arg| matches!(arg.what, What::Text { .. }) && arg.key.is_none()))?;
        Some(self.bag.value(&arg))
    }

    pub(super) fn respond(&mut self) -> Bound {
        let said = self.bag.take(|arg| {
            matches!(arg.key, Some(Key::As | Key::Kind)) && matches!(arg.what, What::Name | What::Text { .. })
        });
        let said = said.map(|arg| self.bag.value(&arg).to_ascii_lowercase());
        let kind = match said.as_deref() {
            Some("context" | "background") => Some(ResponseKind::Context),
            Some("instruction") => Some(ResponseKind::Instruction),
            Some("continuation") => Some(ResponseKind::Continuation),
            Some(_) => return Err(BindError::Missing("as: continuation, context or instruction")),
            None if self.names(Noun::Instruction) => Some(ResponseKind::Instruction),
            None if self.names(Noun::Context) || self.names(Noun::Background) => Some(ResponseKind::Context),
            None if self.names(Noun::Continuation) => Some(ResponseKind::Continuation),
            None => None,
        };
        let node = self.node();
        Ok(Command::Respond { node, content: self.content()?, kind })
    }

    pub(super) fn annotate(&mut self) -> Bound {
        let node = self.node();
        Ok(Command::Annotate { node, content: self.content()? })
    }

    pub(super) fn edit(&mut self) -> Bound {
        let node = self.node();
        Ok(Command::Edit { node, content: self.content()? })
    }

    pub(super) fn merge(&mut self) -> Bound {
        // `make one node of`
        // `join the three scenes`
        while self.bag.take(|arg| matches!(arg.what, What::Number(..1_000)) && arg.key.is_none()).is_some() {}
        let nodes = self.nodes();
        if nodes.len() < 2 {
            return Err(BindError::Missing("two nodes' ids or more"));
        }
        Ok(Command::Merge { nodes, content: self.content()? })
    }

    pub(super) fn bookmark(&mut self) -> Bound {
        let node = self.node();
        // `bm a7x2 baseline`
        let second = self.at + 2;
        let label = self.label().or_else(|| self.name_where(|arg| arg.at == second && arg.key.is_none()));
        Ok(Command::Bookmark { node, label })
    }

    /// A label: a text or a name, by preference one that is said to be it.
    pub(super) fn label(&mut self) -> Option<String> {
        self.name_for(&[Key::Label, Key::Stash, Key::As])
            .or_else(|| {
                self.text_where(|arg| matches!(arg.prep, Some(Prep::As | Prep::Under)) && arg.key != Some(Key::Content))
            })
            .or_else(|| {
                let arg = self.bag.take(|arg| {
                    matches!(arg.what, What::Name | What::File) && matches!(arg.prep, Some(Prep::As | Prep::Under))
                })?;
                Some(self.bag.value(&arg))
            })
            .or_else(|| self.text_where(|arg| arg.key != Some(Key::Content)))
    }

    /// The first id is the one, and what `fits` or comes last is the other.
    fn two(&mut self, other: impl Fn(&Arg) -> bool) -> Option<(Option<NodeRef>, NodeRef)> {
        let arg = self.bag.take(|arg| is_node(arg) && other(arg));
        let (node, arg) = match arg {
            Some(arg) => (self.node(), arg),
            None => (self.node(), self.bag.take(is_node)?),
        };
        Some((node, self.node_ref(&arg)))
    }

    /// A branch, and the node that it is put under.
    pub(super) fn pair(&mut self) -> Bound<(NodeRef, NodeRef)> {
        let under = |arg: &Arg| {
            arg.key == Some(Key::To)
                || arg.arrow
                || matches!(arg.prep, Some(Prep::To | Prep::Into | Prep::Under | Prep::On | Prep::After))
        };
        match self.two(under) {
            Some((Some(node), to)) => Ok((node, to)),
            _ => Err(BindError::Missing("two ids: the branch, and the node that it goes under")),
        }
    }

    pub(super) fn link(&mut self) -> Bound {
        let note = self.text_for(&[Key::Note, Key::Content]);
        let doc = self.doc();
        let tree = if doc.is_none() { self.name_for(&[Key::Tree]) } else { None };
        let (node, end) = if doc.is_some() {
            (self.node(), LinkEnd { doc, ..LinkEnd::default() })
        } else if tree.is_some() {
            let there = self.bag.take(|arg| is_node(arg) && (arg.key == Some(Key::Node) || arg.prep == Some(Prep::At)));
            let there = there.map(|arg| self.node_ref(&arg));
            let here = self.node();
            let there = there.or_else(|| self.node());
            (here, LinkEnd { tree, node: there, doc: None })
        } else {
            let onto = |arg: &Arg| {
                arg.key == Some(Key::To)
                    || arg.arrow
                    || matches!(arg.prep, Some(Prep::To | Prep::Responder | Prep::Into))
            };
            let (node, to) =
                self.two(onto).ok_or(BindError::Missing("what it is linked to: an id, doc:\"…\" or tree:\"…\""))?;
            (node, LinkEnd { node: Some(to), ..LinkEnd::default() })
        };
        let note = note.or_else(|| self.text_where(|_| true));
        Ok(Command::Link { node, to: end, note })
    }

    pub(super) fn unlink(&mut self) -> Bound {
        let doc = self.doc();
        let tree = if doc.is_none() { self.name_for(&[Key::Tree]) } else { None };
        if doc.is_some() || tree.is_some() {
            let there = self.bag.take(|arg| is_node(arg) && arg.key == Some(Key::Node)).filter(|_| tree.is_some());
            let there = there.map(|arg| self.node_ref(&arg));
            let node = self.node();
            return Ok(Command::Unlink { node, from: LinkEnd { doc, tree, node: there } });
        }
        let away =
            |arg: &Arg| arg.key == Some(Key::To) || arg.arrow || matches!(arg.prep, Some(Prep::To | Prep::Responder));
        let both = self.bag.args.iter().filter(|arg| is_node(arg)).count() > 1;
        // `delete the link from a7x2`: to which end?
        if !both && self.verb != Verb::Unlink {
            return Err(BindError::Missing("both ends of the link"));
        }
        let named = |arg: &Arg| arg.key == Some(Key::From) || arg.prep == Some(Prep::From) && !both;
        let from = if both { self.two_from(away) } else { self.two(named) };
        let (node, end) = from.ok_or(BindError::Missing("the other end of the link"))?;
        Ok(Command::Unlink { node, from: LinkEnd { node: Some(end), ..LinkEnd::default() } })
    }

    /// Two ids; `from A to B` and `A from B` both mean A, then B.
    fn two_from(&mut self, away: impl Fn(&Arg) -> bool) -> Option<(Option<NodeRef>, NodeRef)> {
        let last = self.bag.args.iter().rposition(is_node)?;
        let from_last = self.bag.args[last].prep == Some(Prep::From) || self.bag.args[last].key == Some(Key::From);
        self.two(|arg| if from_last { arg.prep == Some(Prep::From) || arg.key == Some(Key::From) } else { away(arg) })
    }

    pub(super) fn split(&mut self) -> Bound {
        let node = self.node();
        // `in two`
        self.bag.take(|arg| matches!(arg.what, What::Number(2)) && matches!(arg.prep, Some(Prep::In | Prep::Into)));
        let at = self.number(|_| true).map(|(number, _)| number);
        let after = if at.is_none() { self.text_where(|_| true) } else { None };
        if at.is_none() && after.is_none() {
            return Err(BindError::Missing("where: at:120, or after \"words\""));
        }
        Ok(Command::Split { node, at, after })
    }
}
