//! Commands about nodes.

use super::{BindError, Binder, Bound, is_node};
use crate::arrow::{
    BranchFormat, Command, Listing, NodeRef, Relative, ResponseKind,
    annotate_tokens::could_be_id,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep},
    option_name::OptionName,
};
use crate::tools::{MAX_CONTINUATIONS, MAX_TREE_DEPTH};

/// Kinds of list items by name.
const LISTINGS: &[(&str, Noun, Listing)] = &[
    ("siblings", Noun::Sibling, Listing::Siblings),
    ("versions", Noun::Version, Listing::Versions),
    ("bookmarks", Noun::Bookmark, Listing::Bookmarks),
    ("annotations", Noun::Annotation, Listing::Annotations),
    ("links", Noun::Link, Listing::Links),
    ("continuations", Noun::Continuation, Listing::Continuations),
];

/// Kinds of list items that belong to no node, by the words for them.
const TREE_LISTINGS: &[(&[&str], Listing)] = &[
    (&["pruned", "hidden"], Listing::Pruned),
    (&["documents", "docs", "files"], Listing::Documents),
    (&["trees"], Listing::Trees),
    (&["agents", "models"], Listing::Agents),
    (&["changes"], Listing::Changes),
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
        let rendering = self.rendering()?;
        // `the branch to a7x2, from b3k9 on`
        let keyed = |arg: &Arg| arg.key == Some(OptionName::Branch);
        let names_branch = self.names(Noun::Branch) || self.arguments.items.iter().any(keyed);
        let two = names_branch && self.arguments.items.iter().filter(|arg| is_node(arg)).count() == 2;
        let begins =
            |arg: &Arg| arg.key == Some(OptionName::From) || two && arg.key.is_none() && arg.prep == Some(Prep::From);
        let from = self.arguments.take(|arg| is_node(arg) && begins(arg));
        let from = from.map(|arg| self.node_ref(&arg));
        let of_branch =
            |arg: &Arg| is_node(arg) && (arg.key == Some(OptionName::Branch) || arg.noun == Some(Noun::Branch));
        let branch = self.arguments.take(of_branch).map(|arg| self.node_ref(&arg));
        // `the branch ending at a7x2`
        let ends = ["branch ending", "branch that ends", "branch which ends"];
        let is_branch = rendering.is_some() && self.names(Noun::Branch)
            || from.is_some()
            || ends.iter().any(|words| self.arguments.has_bare_word(words));
        let branch = if branch.is_none() && is_branch { self.node() } else { branch };
        let node = if branch.is_some() { None } else { self.node() };
        // A branch is shown whole.
        let full = (self.flagged(&["full", "whole", "all"]) || self.arguments.modifiers.whole) && branch.is_none();
        let annotations = self.names(Noun::Annotation);
        let plain = self.is_plain_view();
        let alone = plain && self.arguments.items.is_empty() && self.features.is_view_alone();
        let here = self.names(Noun::Here) || self.points_here() || alone;
        // A node is not shown from another one on.
        if branch.is_none() && (from.is_some() || node.is_none() && !here) {
            return Err(BindError::Missing("a node's id"));
        }
        Ok(Command::View { node, branch, from, full, annotations, rendering })
    }

    fn rendering(&mut self) -> Bound<Option<BranchFormat>> {
        let said = self.arguments.take(|arg| arg.key == Some(OptionName::As)).map(|arg| self.arguments.value(&arg));
        Ok(match said.as_deref() {
            Some("nodes") => Some(BranchFormat::Nodes),
            Some("prose" | "text") => Some(BranchFormat::Prose),
            Some(_) => return Err(BindError::Missing("as:prose or as:nodes")),
            None if self.names(Noun::Prose) || self.reads_as_text() => Some(BranchFormat::Prose),
            None if self.arguments.role == Some(Noun::Node) || self.arguments.has_bare_word("node by node") => {
                Some(BranchFormat::Nodes)
            }
            None => None,
        })
    }

    /// `as running text`
    fn reads_as_text(&self) -> bool {
        ["running", "plain", "flowing", "continuous"]
            .iter()
            .any(|kind| self.arguments.has_bare_word(kind) && self.arguments.has_bare_word(&format!("{kind} text")))
    }

    /// `this node`, or nothing but the verb.
    fn points_here(&self) -> bool {
        self.arguments.modifiers.here
    }

    pub(super) fn list(&mut self) -> Bound {
        let what = self.listing()?;
        Ok(Command::List { node: self.node(), what })
    }

    fn listing(&mut self) -> Bound<Listing> {
        let said = self.arguments.take(|arg| arg.key == Some(OptionName::What)).map(|arg| self.arguments.value(&arg));
        let line = self.arguments.line;
        let listing = |arg: &Arg| LISTINGS.iter().any(|(word, _, _)| arg.text.of(line).eq_ignore_ascii_case(word));
        let quoted = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && listing(arg);
        let said = said.or_else(|| self.arguments.take(quoted).map(|arg| self.arguments.value(&arg)));
        let named =
            |noun: Noun, word: &str| said.as_ref().map_or(self.names(noun), |said| said.eq_ignore_ascii_case(word));
        for (word, noun, listing) in LISTINGS {
            if named(*noun, word) {
                return Ok(*listing);
            }
        }
        for (words, listing) in TREE_LISTINGS {
            let named = said.as_ref().map_or_else(
                || words.iter().any(|word| self.arguments.has_bare_word(word)),
                |said| words.iter().any(|word| said.eq_ignore_ascii_case(word)),
            );
            if named {
                self.arguments.take(|arg| {
                    arg.kind == ArgKind::Name
                        && arg.key.is_none()
                        && words.contains(&arg.text.of(line).to_lowercase().as_str())
                });
                return Ok(*listing);
            }
        }
        Err(BindError::Missing(
            "what is listed: continuations, annotations, links, versions, siblings, bookmarks, pruned, documents, trees, agents or changes",
        ))
    }

    pub(super) fn tree(&mut self) -> Bound {
        let from = self.node();
        let depth = self.limited("depth", MAX_TREE_DEPTH, |arg| {
            arg.key == Some(OptionName::Depth) || arg.unit.is_none_or(|unit| unit == Noun::Level)
        })?;
        let summary = self.names(Noun::Summary) || self.flagged(&["summary"]) || self.verb == super::Verb::Summarise;
        self.arguments.take(|arg| arg.key == Some(OptionName::Summary));
        Ok(Command::Tree { from, depth, summary })
    }

    pub(super) fn switch(&mut self) -> Bound {
        let tree = self.name_for(&[OptionName::Tree]);
        // `up one level`
        self.arguments.take(|arg| arg.kind == ArgKind::Number(1) && arg.unit == Some(Noun::Level));
        let place = self.arguments.take(|arg| matches!(arg.kind, ArgKind::Place(_)));
        let (relative, node) = match place.map(|arg| arg.kind) {
            Some(ArgKind::Place(place @ Relative::BranchPoint)) => (None, Some(NodeRef::Place { place })),
            Some(ArgKind::Place(place)) => (Some(place).filter(|place| *place != Relative::Here), None),
            _ => (self.relative(), None),
        };
        let node = if relative.is_some() || node.is_some() { node } else { self.node() };
        let node = node.or_else(|| {
            let arg = self.arguments.take(|arg| relative.is_none() && matches!(arg.kind, ArgKind::Number(_)))?;
            Some(self.node_ref(&arg))
        });
        if node.is_none() && relative.is_none() && tree.is_none() {
            return Err(BindError::Missing("where to: an id, or parent, root, next, previous, leaf, back"));
        }
        Ok(Command::Switch { node, relative, tree })
    }

    fn relative(&mut self) -> Option<Relative> {
        let line = self.arguments.line;
        let place = |arg: &Arg| PLACES.iter().find(|(word, _, _)| arg.text.of(line).eq_ignore_ascii_case(word));
        if let Some(arg) = self.arguments.take(|arg| place(arg).is_some()) {
            return place(&arg).map(|(_, _, relative)| *relative);
        }
        if self.arguments.items.iter().any(is_node) {
            return None;
        }
        PLACES
            .iter()
            .find(|(_, noun, _)| *noun != Noun::Here && self.names(*noun))
            .map(|(_, _, relative)| *relative)
            .or_else(|| self.names(Noun::Start).then_some(Relative::Root))
            .or_else(|| self.names(Noun::End).then_some(Relative::Leaf))
            .or_else(|| (self.has(Prep::Up) || self.verb_text == "up").then_some(Relative::Parent))
            .or_else(|| {
                (matches!(self.verb_text, "cd" | "checkout" | "switch") && self.arguments.modifiers.dash)
                    .then_some(Relative::Back)
            })
            .or_else(|| {
                (self.has(Prep::Back) || self.has(Prep::Before) || matches!(self.verb_text, "back" | "return"))
                    .then_some(Relative::Back)
            })
    }

    pub(super) fn diff(&mut self) -> Bound {
        // `the two endings`
        self.arguments.take(|arg| arg.kind == ArgKind::Number(2) && arg.key.is_none());
        let nodes = self.nodes();
        match nodes.len() {
            2 => Ok(Command::Diff { nodes }),
            0 | 1 => Err(BindError::Missing("two nodes' ids")),
            _ => Err(BindError::Missing("two nodes' ids, and no more")),
        }
    }

    pub(super) fn continue_(&mut self) -> Bound {
        // `continue from "key decision"`: a bookmark. Behind a place a text is the instruction.
        let line = self.arguments.line;
        let is_source = |arg: &Arg| {
            let before = line.get(..arg.text.start).unwrap_or_default();
            let before = before
                .strip_suffix(['"', '“', '\'', '‘', '«', '「'])
                .unwrap_or(before)
                .trim_end_matches([' ', ':', '=']);
            matches!(arg.kind, ArgKind::Text { .. }) && before.to_ascii_lowercase().ends_with(" from")
        };
        let quoted = self.quoted_node().or_else(|| self.arguments.take(is_source)).map(|arg| self.node_ref(&arg));
        let agent = self.agent();
        let tokens = self.number(|arg| {
            arg.key == Some(OptionName::Tokens) || arg.unit == Some(Noun::Token) || arg.noun == Some(Noun::Token)
        });
        // `words:60`, `in 60 words`
        let words = self
            .number(|arg| arg.key == Some(OptionName::Content) || matches!(arg.unit, Some(Noun::Text | Noun::Word)));
        let n = self.limited("n", MAX_CONTINUATIONS, |arg| arg.key != Some(OptionName::Tokens))?;
        let from = quoted.or_else(|| self.node());
        let n = n.or(self.arguments.modifiers.once.then_some(1));
        let instruction = self.text_where(|_| true);
        let [tokens, words] = [tokens, words].map(|number| number.map(|(number, _)| number));
        Ok(Command::Continue { from, n, tokens, words, agent, instruction })
    }

    /// The agent: one that is said to be it, else a name.
    fn agent(&mut self) -> Option<String> {
        if let Some(name) = self.name_for(&[OptionName::Agent, OptionName::Label]) {
            return Some(name);
        }
        let line = self.arguments.line;
        // `continue with "make it darker"`: three words are an instruction.
        let is_wish = |arg: &Arg| {
            matches!(arg.kind, ArgKind::Text { .. }) && arg.text.of(line).split_whitespace().nth(2).is_some()
        };
        let by = |arg: &Arg| {
            // `with a twist`: a thing of the text.
            let before = line[..arg.text.start].split_whitespace().next_back();
            let thing = arg.kind == ArgKind::Name && matches!(before, Some("a" | "an" | "some" | "more" | "less"));
            matches!(arg.prep, Some(Prep::With | Prep::By))
                && arg.noun != Some(Noun::Instruction)
                && !is_wish(arg)
                && !thing
        };
        // `let the poet continue a7x2`, `have "quill" continue a7x2`
        let verb = self.at;
        let near = |arg: &Arg| arg.at < verb && arg.at + 3 > verb;
        let is_told = self.begins_with(&["have", "let", "get", "ask", "make"]);
        let is_agent = |arg: &Arg| arg.kind == ArgKind::Name || is_told && matches!(arg.kind, ArgKind::Text { .. });
        // `let "quill" write two continuations`
        let asked =
            |arg: &Arg| is_told && arg.at > verb && arg.at < verb + 4 && matches!(arg.kind, ArgKind::Text { .. });
        let texts = self.arguments.items.iter().filter(|arg| matches!(arg.kind, ArgKind::Text { .. })).count();
        let mut writes = ["write", "make", "draft", "generate", "give", "do"].into_iter();
        let is_asked =
            self.verb == super::Verb::Ask && texts == 1 && writes.any(|verb| self.arguments.has_bare_word(verb));
        if let Some(arg) =
            self.arguments.take(|arg| is_agent(arg) && (near(arg) || is_asked && asked(arg)) && arg.key.is_none())
        {
            return Some(self.arguments.value(&arg));
        }
        let arg = self
            .arguments
            .take(|arg| {
                matches!(arg.kind, ArgKind::Name | ArgKind::Text { .. } | ArgKind::File) && by(arg) && arg.key.is_none()
            })
            .or_else(|| {
                let verb = self.at;
                let is_asked = self.begins_with(&["ask"]);
                self.arguments.take(|arg| {
                    let behind = is_asked && arg.at == verb + 1 && arg.key.is_none();
                    arg.kind == ArgKind::Name && (arg.at < verb && arg.at + 3 > verb || behind)
                })
            })
            .or_else(|| {
                let line = self.arguments.line;
                self.arguments.take(|arg| {
                    let is_capital = arg.text.of(line).starts_with(char::is_uppercase);
                    arg.kind == ArgKind::Name && is_capital && arg.prep != Some(Prep::In)
                })
            })?;
        Some(self.arguments.value(&arg))
    }

    pub(super) fn respond(&mut self) -> Bound {
        let said = self.arguments.take(|arg| {
            matches!(arg.key, Some(OptionName::As | OptionName::Kind))
                && matches!(arg.kind, ArgKind::Name | ArgKind::Text { .. })
        });
        let said = said.map(|arg| self.arguments.value(&arg).to_ascii_lowercase());
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
        // `make one node of a7x2 and b3k9`
        // `join the three scenes`
        while self.arguments.take(|arg| matches!(arg.kind, ArgKind::Number(..1_000)) && arg.key.is_none()).is_some() {}
        let mut last_at = self.arguments.items.iter().rev().find(|arg| is_node(arg)).map(|arg| arg.at);
        let mut nodes = self.nodes();
        // `merge ["a7x2", "b3k9"] content:"…"`
        let quoted = |arg: &Arg, binder: &Self| matches!(arg.kind, ArgKind::Text { .. }) && binder.is_quoted_id(arg);
        let bare = nodes.len();
        while bare < 2
            && let Some(at) = self.arguments.items.iter().position(|arg| quoted(arg, self))
        {
            let arg = self.arguments.items.remove(at);
            nodes.push(self.arguments.value(&arg).as_str().into());
        }
        // `merge a7x2, b4yz and kepa`: a word in the list is an id of letters.
        let line = self.arguments.line;
        while let Some(last) = last_at
            && let Some(arg) = self.arguments.take(|arg| {
                let is_bare = arg.kind == ArgKind::Name && arg.key.is_none();
                is_bare && arg.at == last + 2 && could_be_id(arg.text.of(line))
            })
        {
            nodes.push(self.arguments.value(&arg).as_str().into());
            last_at = Some(arg.at);
        }
        if nodes.len() < 2 {
            return Err(BindError::Missing("two nodes' ids or more"));
        }
        Ok(Command::Merge { nodes, content: self.content()? })
    }

    /// The first id is the one, and what `fits` or comes last is the other.
    pub(super) fn two(&mut self, other: impl Fn(&Arg) -> bool) -> Option<(Option<NodeRef>, NodeRef)> {
        let arg = self.arguments.take(|arg| is_node(arg) && other(arg));
        let (node, arg) = match arg {
            Some(arg) => (self.node_or_place(), arg),
            None => (self.node_or_place(), self.arguments.take(is_node).or_else(|| self.quoted_node())?),
        };
        Some((node, self.node_ref(&arg)))
    }

    /// A branch, and the node that it is put under.
    pub(super) fn pair(&mut self) -> Bound<(NodeRef, NodeRef)> {
        // `in c3yd, copy a7x2`
        let is_inside = self.begins_with(&["in"]);
        let verb = self.at;
        let under = |arg: &Arg| {
            arg.key == Some(OptionName::To)
                || arg.arrow
                || is_inside && arg.at < verb && arg.prep == Some(Prep::In)
                || matches!(arg.prep, Some(Prep::To | Prep::Into | Prep::Under | Prep::On | Prep::After))
        };
        match self.two(under) {
            Some((Some(node), to)) => Ok((node, to)),
            _ => Err(BindError::Missing("two ids: the branch, and the node that it goes under")),
        }
    }

    pub(super) fn split(&mut self) -> Bound {
        // `cut a7x2 at 120`, but `prune a7x2` hides it.
        if self.verb_text == "prune" {
            return Err(BindError::Missing("a word for a cut, as in `split a7x2 at:120`"));
        }
        let node = self.node();
        // `in two`
        self.arguments
            .take(|arg| matches!(arg.kind, ArgKind::Number(2)) && matches!(arg.prep, Some(Prep::In | Prep::Into)));
        let at = self.number(|_| true).map(|(number, _)| number);
        let after = if at.is_none() { self.text_where(|_| true) } else { None };
        if at.is_none() && after.is_none() {
            return Err(BindError::Missing("where: at:120, or after \"words\""));
        }
        Ok(Command::Split { node, at, after })
    }
}
