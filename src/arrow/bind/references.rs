//! References to nodes among the arguments: ids, places, labels of bookmarks, positions of agents.

use super::{BindError, Binder, Bound, is_node, is_reference};
use crate::{
    arrow::{
        NodeRange, NodeRef, annotate_tokens,
        args::{Arg, ArgKind, Arguments},
        lexicon::{Noun, Prep},
        option_name::OptionName,
    },
    tools::Tool,
};

impl Binder<'_, '_> {
    pub(super) fn node_ref(&self, arg: &Arg) -> NodeRef {
        match arg.kind {
            ArgKind::Place(place) => NodeRef::Place { place },
            ArgKind::BookmarkLabel { .. } => NodeRef::Bookmark { bookmark: self.arguments.value(arg) },
            // Ids in quotes are taken for ids before this.
            ArgKind::Text { .. } if !self.is_quoted_id(arg) => {
                NodeRef::Bookmark { bookmark: self.arguments.value(arg) }
            }
            ArgKind::AgentPosition { .. } => NodeRef::Agent { at: self.arguments.value(arg) },
            _ => NodeRef::from(arg.text.of(self.arguments.line)),
        }
    }

    /// Takes a text behind the name of an option that names a node for a bookmark's label: `branch:"the opening"`.
    pub(super) fn labels_of_options(&mut self) {
        let tool = self.tool;
        let names_node = |key: OptionName| match key {
            OptionName::Branch | OptionName::Path | OptionName::Below | OptionName::Around => true,
            OptionName::From => {
                matches!(tool, Tool::View | Tool::Tree | Tool::Continue | Tool::Unlink | Tool::Copy | Tool::Move)
            }
            OptionName::To => matches!(tool, Tool::Copy | Tool::Move | Tool::Link | Tool::Switch),
            OptionName::Node => tool.acts_on_nodes(),
            _ => false,
        };
        let items = &mut self.arguments.items;
        for at in 0..items.len() {
            // `from:a7x2, "only dialogue"`
            let is_first = items[..at].iter().all(|before| before.key != items[at].key);
            if let ArgKind::Text { escapes } = items[at].kind
                && items[at].key.is_some_and(|key| names_node(key) && is_first)
            {
                items[at].kind = ArgKind::BookmarkLabel { escapes };
            }
        }
    }

    /// The first reference to a node; `None` for the position itself.
    pub(super) fn node(&mut self) -> Option<NodeRef> {
        self.node_or_place().filter(|node| !node.is_here())
    }

    /// The first reference to a node, the position included.
    pub(super) fn node_or_place(&mut self) -> Option<NodeRef> {
        let arg = self.arguments.take(|arg| is_node(arg) && matches!(arg.key, Some(OptionName::Node)));
        let arg = arg.or_else(|| self.arguments.take(is_node)).or_else(|| self.quoted_node())?;
        Some(self.node_ref(&arg))
    }

    /// An id or a bookmark's label in quotes, where the operation has no other use for a string.
    pub(super) fn quoted_node(&mut self) -> Option<Arg> {
        let takes_no_text = matches!(
            self.tool,
            Tool::List
                | Tool::Tree
                | Tool::Switch
                | Tool::Diff
                | Tool::Prune
                | Tool::Restore
                | Tool::Copy
                | Tool::Move
                | Tool::Unbookmark
                | Tool::Exclude
                | Tool::Include
        );
        // `quote: "…"` names no label.
        let views = self.tool == Tool::View && self.is_plain_view();
        // `annotate "the opening" "too long"`
        let is_text = |arg: &&Arg| {
            matches!(arg.kind, ArgKind::Text { .. }) && matches!(arg.key, None | Some(OptionName::Content))
        };
        let spare = matches!(self.tool, Tool::Annotate | Tool::Edit | Tool::Respond)
            && self.arguments.items.iter().filter(is_text).count() == 2;
        let takes_no_text = takes_no_text || views || spare;
        let ids = |arg: &Arg| arg.prep == Some(Prep::From) && self.is_quoted_id(arg);
        let at = self.arguments.items.iter().position(|arg| {
            // `the bookmark called "x"`
            let is_label = self.tool == Tool::Unbookmark && arg.key == Some(OptionName::Label);
            let is_free = arg.key.is_none() || is_label;
            matches!(arg.kind, ArgKind::Text { .. }) && is_free && (takes_no_text || ids(arg))
        })?;
        Some(self.arguments.items.remove(at))
    }

    /// True if the verb means `view` and nothing else.
    pub(super) fn is_plain_view(&self) -> bool {
        matches!(self.verb_text, "view" | "show" | "look" | "display" | "inspect" | "open" | "print" | "cat")
    }

    /// True if a string holds an id.
    pub(super) fn is_quoted_id(&self, arg: &Arg) -> bool {
        let text = arg.text.of(self.arguments.line);
        annotate_tokens::is_id(text) || annotate_tokens::is_number_id(text)
    }

    /// The node that an option names.
    pub(super) fn node_option(&mut self, key: OptionName, what: &'static str) -> Bound<Option<NodeRef>> {
        let Some(arg) = self.arguments.take(|arg| arg.key == Some(key)) else { return Ok(None) };
        if is_reference(&arg) {
            return Ok(Some(self.node_ref(&arg)));
        }
        let text = self.arguments.value(&arg);
        let text = text.trim();
        let plain = (2..=26).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let node = NodeRef::place(text).or_else(|| plain.then(|| NodeRef::from(text)));
        node.map(Some).ok_or(BindError::Missing(what))
    }

    /// The first id.
    pub(super) fn node_id(&mut self) -> Option<String> {
        let arg = self.arguments.take(|arg| arg.kind == ArgKind::Id)?;
        Some(arg.text.of(self.arguments.line).to_ascii_lowercase())
    }

    pub(super) fn needed_node(&mut self) -> Bound<NodeRef> {
        self.node_or_place().ok_or(BindError::Missing("a node's id"))
    }

    /// The first id, or none where the line points at the position: `exclude this node`.
    pub(super) fn node_or_here(&mut self) -> Bound<Option<NodeRef>> {
        let node = self.node();
        let here = self.names(Noun::Here) || self.names(Noun::Node) || self.arguments.modifiers.here;
        if node.is_none() && !here { Err(BindError::Missing("a node's id")) } else { Ok(node) }
    }

    /// All ids.
    pub(super) fn nodes(&mut self) -> Vec<NodeRef> {
        let mut nodes = Vec::new();
        let take = |arguments: &mut Arguments<'_>| {
            arguments.take(|arg| is_node(arg) || matches!(arg.kind, ArgKind::IdRange { .. }))
        };
        while let Some(arg) = take(self.arguments).or_else(|| self.quoted_node()) {
            if let ArgKind::IdRange { ends, begins } = arg.kind {
                let text = arg.text.of(self.arguments.line);
                let range = NodeRange::new(&text[..ends], &text[begins..]);
                nodes.extend([range.first, range.last]);
            } else {
                nodes.push(self.node_ref(&arg));
            }
        }
        nodes
    }

    /// A part of a path.
    pub(super) fn span(&mut self) -> Option<NodeRange> {
        let fits = |node: &NodeRef| matches!(node, NodeRef::Id(_) | NodeRef::Place { .. });
        let mut nodes = self.nodes().into_iter().filter(fits);
        Some(NodeRange { first: nodes.next()?, last: nodes.next()? })
    }
}
