//! Roots of an import: the tree of a conversation, its root, and the link from the conversation that began it.

use serde_json::json;

use super::{
    conversation_writer::Importer, lookup::MessagePlace, names::ROOT_KEY, open_conversation::OpenConversation,
};
use crate::{
    id::{NodeId, TreeId},
    interchange::{
        InterchangeError,
        source_record::{SourceConversation, SourcePlace},
    },
    store::Mutation,
    types::{AuthorType, Link, LinkTarget, Mode, NewNode, NewTree, Parent},
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
        if let Some((conversation, message)) = &source.parent {
            self.link_to_parent(place, tree, conversation, message.as_deref(), open)?;
        }
        self.remember(&root_source, root_place);
        (open.tree, open.root) = (Some(tree), Some(root));
        open.new_nodes += 1;
        Ok(root)
    }

    /// Links the message that began a side conversation to its tree.
    fn link_to_parent(
        &mut self,
        place: SourcePlace,
        tree: TreeId,
        conversation: &str,
        message: Option<&str>,
        open: &OpenConversation,
    ) -> Result<(), InterchangeError> {
        let parent = SourceConversation { id: conversation.to_owned(), ..open.source.clone() };
        let mut found = None;
        for id in message.into_iter().chain([ROOT_KEY]) {
            let source = self.source(&parent, id);
            found = match found.or_else(|| self.known_place(&source)) {
                None => self.stored_place(&source)?,
                found => found,
            };
        }
        let Some(found) = found else { return Ok(()) };
        let link = Link {
            id: self.loom().link_id(),
            source: found.node,
            target: LinkTarget::Tree(tree),
            note: Some("side conversation".to_owned()),
            author: self.actor.agent(),
            created_at: self.loom().now(),
        };
        self.push(place, Mutation::Link(link))
    }
}
