//! Application of mutations of documents and links. Links are here because a link may target a document.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::{documents, links, nodes},
};
use crate::{
    store::{ChangeKind, Mutation, Result, StoreError},
    types::{Link, LinkTarget},
};

impl ChangeApplier<'_> {
    pub(super) fn apply_document(&mut self, mutation: &Mutation) -> Result<Applied> {
        let (conn, at, agent) = (self.conn, self.change.at, self.agent);
        let trace = |undo| Some(AppliedMutation::new(None, None, Some(undo)));
        Ok(match mutation {
            Mutation::Link(link) => (ChangeKind::Link, Some(self.apply_link(link)?)),
            Mutation::SetLinkRemoved { link, removed } => {
                let source = links::set_removed(conn, *link, *removed)?;
                let undo = Mutation::SetLinkRemoved { link: *link, removed: !removed };
                let tree = source.map(|s| nodes::anchor(conn, s)).transpose()?.map(|a| a.tree);
                (ChangeKind::SetLinkRemoved, source.map(|source| AppliedMutation::new(tree, Some(source), Some(undo))))
            }
            Mutation::CreateDocument { id, name, content } => {
                documents::insert(conn, *id, name, content, agent, at)?;
                (ChangeKind::CreateDocument, trace(Mutation::SetDocumentRemoved { document: *id, removed: true }))
            }
            Mutation::WriteDocument { document, base, content } => {
                let row = documents::row(conn, *document)?;
                let newest = documents::newest_version(conn, row)?;
                if newest != *base {
                    return Err(StoreError::Conflict(format!(
                        "the document changed meanwhile: its newest version is {newest}, this change is based on {base}"
                    )));
                }
                documents::insert_version(conn, row, newest + 1, content, agent, at)?;
                (ChangeKind::WriteDocument, trace(Mutation::RevertDocument { document: *document, to: newest }))
            }
            Mutation::RevertDocument { document, to } => {
                let row = documents::row(conn, *document)?;
                let newest = documents::newest_version(conn, row)?;
                let back = documents::version(conn, row, *to)?.ok_or_else(|| StoreError::not_found("version", to))?;
                documents::insert_version(conn, row, newest + 1, &back.content, agent, at)?;
                (ChangeKind::RevertDocument, trace(Mutation::RevertDocument { document: *document, to: newest }))
            }
            Mutation::SetDocumentRemoved { document, removed } => {
                let changed = documents::set_removed(conn, documents::row(conn, *document)?, *removed)?;
                let undo = Mutation::SetDocumentRemoved { document: *document, removed: !removed };
                (ChangeKind::SetDocumentRemoved, if changed { trace(undo) } else { None })
            }
            _ => return Err(unsupported()),
        })
    }

    fn apply_link(&mut self, link: &Link) -> Result<AppliedMutation> {
        let source = self.node(link.source)?;
        let author = self.agent_row(link.author)?;
        let mut target = links::Target { node: None, tree: None, document: None, section: None };
        match &link.target {
            LinkTarget::Node(node) => target.node = Some(self.node(*node)?.row),
            LinkTarget::Tree(tree) => target.tree = Some(self.tree_row(*tree)?),
            LinkTarget::Document { id, section } => {
                target.document = Some(documents::row(self.conn, *id)?);
                target.section = section.as_deref();
            }
        }
        links::insert(self.conn, link, source.row, &target, author)?;
        let undo = Mutation::SetLinkRemoved { link: link.id, removed: true };
        Ok(AppliedMutation::new(Some(source.tree), Some(source.row), Some(undo)))
    }
}
