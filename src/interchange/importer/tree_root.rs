//! Roots of an import: the tree of a conversation, its root, and the link from the conversation that began it.

use serde_json::json;

use super::{Importer, known_messages::MessagePlace, names::ROOT_KEY, open_conversation::OpenConversation};
use crate::{
    id::{NodeId, TreeId},
    interchange::{
        InterchangeError,
        source_record::{SourceConversation, SourcePlace},
    },
    store::Mutation,
    types::{AuthorType, Link, LinkTarget, Mode, NewNode, NewTree, Node, Parent},
};

impl Importer<'_> {
    /// Returns the tree and the root of a conversation, and creates them if they are missing.
    pub(super) fn ensure_root(
        &mut self,
        place: SourcePlace,
        open: &mut OpenConversation,
    ) -> Result<NodeId, InterchangeError> {
        if let (Some(root), Some(_)) = (open.root, open.tree) {
            return Ok(root);
        }
        if let Some(tree) = open.tree.filter(|_| !self.is_dry_run) {
            // The conversation continues another one's tree, which this import may have created.
            self.batch.flush()?;
            self.reader = None;
            if let Some(root) = self.reader()?.tree(tree)?.and_then(|tree| tree.root) {
                return Ok(root);
            }
        }
        let loom = self.loom();
        let (tree, root) = (loom.tree_id(), loom.node_id());
        let at = open.source.started_at.unwrap_or_else(|| loom.now());
        let source = &open.source;
        let name = format!("{} session {}", self.format, source.id);
        let folder = source.folder.as_ref().map(|folder| format!(" in {folder}")).unwrap_or_default();
        let title = source.title.clone().or_else(|| open.opening.clone());
        open.is_titled = title.is_some();
        let create = NewTree {
            id: tree,
            title,
            description: Some(format!("{name}{folder}")),
            mode: Mode::Dialogue,
            system_context: None,
            created_at: at,
        };
        self.push(place, Mutation::CreateTree(create))?;
        let author = (self.actor.agent(), AuthorType::System);
        let root_source = self.source(source, ROOT_KEY);
        let root_place = MessagePlace { node: root, attach: root, tree, author: author.0, digest: 0 };
        let node = NewNode {
            metadata: (!source.rest.is_null()).then(|| json!({ self.format: source.rest }).into()),
            source: Some(root_source.clone()),
            ..NewNode::new(root, Parent::Root(tree), author, at, name)
        };
        self.push(place, Mutation::Append(Box::new(node)))?;
        self.push(place, Mutation::SetExcluded { node: root, excluded: true })?;
        if let Some(parent) = self.parent_place(source)? {
            self.push_link(place, parent.node, tree)?;
        }
        self.remember(&root_source, root_place);
        (open.tree, open.root) = (Some(tree), Some(root));
        open.new_nodes += 1;
        Ok(root)
    }

    /// Links side conversations whose trees precede those of their parents: the parent follows in the file, or was imported
    /// later. The import calls it after the last message.
    pub(in crate::interchange) fn link_earlier_trees(&mut self) -> Result<(), InterchangeError> {
        if self.is_dry_run || self.open.iter().all(|open| open.source.parent.is_none()) {
            return Ok(());
        }
        for _ in 0..self.open.len() {
            self.open.rotate_left(1);
            self.write_held()?;
        }
        let sides: Vec<(TreeId, SourceConversation)> =
            self.open.iter().filter_map(|open| Some((open.tree?, open.source.clone()))).collect();
        self.batch.flush()?;
        self.reader = None;
        for (tree, source) in sides {
            let Some(parent) = self.parent_place(&source)? else { continue };
            let reader = self.reader()?;
            let root_seq = |tree: TreeId| -> Result<Option<u64>, InterchangeError> {
                let root = reader.tree(tree)?.and_then(|tree| tree.root);
                Ok(root.map(|root| reader.node(root)).transpose()?.flatten().map(|root| root.seq))
            };
            let is_linked = reader.links(parent.node)?.iter().any(|link| link.target == LinkTarget::Tree(tree));
            if root_seq(parent.tree)? > root_seq(tree)? && !is_linked {
                self.push_link(SourcePlace::Whole, parent.node, tree)?;
            }
        }
        Ok(())
    }

    /// Returns the message of an earlier import that has an id in a conversation; `None` as the message: its root.
    pub(in crate::interchange) fn stored_message(
        &mut self,
        conversation: &str,
        message: Option<&str>,
    ) -> Result<Option<Node>, InterchangeError> {
        let source = format!("{}:{conversation}:{}", self.format, message.unwrap_or(ROOT_KEY));
        let reader = self.reader()?;
        Ok(reader.source(&source)?.map(|id| reader.node(id)).transpose()?.flatten())
    }

    /// Returns the place of the message that began a side conversation, or else of its conversation's root. `None` for
    /// another conversation.
    fn parent_place(&mut self, side: &SourceConversation) -> Result<Option<MessagePlace>, InterchangeError> {
        let Some((conversation, message)) = &side.parent else { return Ok(None) };
        let parent = SourceConversation { id: conversation.clone(), ..side.clone() };
        for id in message.as_deref().into_iter().chain([ROOT_KEY]) {
            let source = self.source(&parent, id);
            let found = match self.known_place(&source) {
                None => self.stored_place(&source)?,
                known => known,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn push_link(&mut self, place: SourcePlace, from: NodeId, tree: TreeId) -> Result<(), InterchangeError> {
        let link = Link {
            id: self.loom().link_id(),
            source: from,
            target: LinkTarget::Tree(tree),
            note: Some("side conversation".to_owned()),
            author: self.actor.agent(),
            created_at: self.loom().now(),
        };
        self.push(place, Mutation::Link(link))
    }
}
