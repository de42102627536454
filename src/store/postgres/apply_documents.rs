//! Application of mutations of documents and links.

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{get, int},
    uuid::{NO_TREE, Uuid},
    visibility::ensure_state,
};
use crate::{
    id::{DocumentId, LinkId},
    store::{ChangeKind, Mutation, Result, StoreError},
    types::{Link, LinkTarget},
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_document(&mut self, mutation: &Mutation) -> Result<Applied> {
        let shared = |undo| Some(PgAppliedMutation::shared(undo));
        Ok(match mutation {
            Mutation::Link(link) => (ChangeKind::Link, Some(self.link(link)?)),
            Mutation::SetLinkRemoved { link, removed } => {
                let applied = self.set_link_removed(*link, *removed)?;
                (ChangeKind::SetLinkRemoved, applied)
            }
            Mutation::CreateDocument { id, name, content } => {
                let key = Uuid::from(*id);
                self.check_name("documents", "a document", name, key)?;
                let (seq, at) = (self.next()?, self.change.at.as_millis());
                let sql = "INSERT INTO documents (id, seq, name, created_at) VALUES ($1, $2, $3, $4)";
                self.conn.execute(sql, &[&key, &seq, name, &at])?;
                self.insert_version(key, 1, content)?;
                (ChangeKind::CreateDocument, shared(Mutation::SetDocumentRemoved { document: *id, removed: true }))
            }
            Mutation::WriteDocument { document, base, content } => {
                let (key, newest) = self.newest_version(*document)?;
                if newest.unsigned_abs() != *base {
                    return Err(StoreError::Conflict(format!(
                        "the document changed meanwhile: its newest version is {newest}, this change is based on {base}"
                    )));
                }
                self.insert_version(key, newest + 1, content)?;
                let undo = Mutation::RevertDocument { document: *document, to: newest.unsigned_abs() };
                (ChangeKind::WriteDocument, shared(undo))
            }
            Mutation::RevertDocument { document, to } => {
                let (key, newest) = self.newest_version(*document)?;
                let sql = "SELECT content FROM document_versions WHERE document = $1 AND version = $2";
                let row = self.conn.query_opt(sql, &[&key, &signed(*to)])?;
                let row = row.filter(|_| *to > 0).ok_or_else(|| StoreError::not_found("version", to))?;
                self.insert_version(key, newest + 1, get(&row, 0)?)?;
                let undo = Mutation::RevertDocument { document: *document, to: newest.unsigned_abs() };
                (ChangeKind::RevertDocument, shared(undo))
            }
            Mutation::SetDocumentRemoved { document, removed } => {
                let key = Uuid::from(*document);
                let row =
                    self.conn.query_opt("SELECT name, removed FROM documents WHERE id = $1 FOR UPDATE", &[&key])?;
                let row = row.ok_or_else(|| StoreError::not_found("document", document))?;
                let changed = get::<bool>(&row, 1)? != *removed;
                if changed {
                    if !removed {
                        self.check_name("documents", "a document", get(&row, 0)?, key)?;
                    }
                    self.conn.execute("UPDATE documents SET removed = $2 WHERE id = $1", &[&key, removed])?;
                }
                let undo = Mutation::SetDocumentRemoved { document: *document, removed: !removed };
                (ChangeKind::SetDocumentRemoved, if changed { shared(undo) } else { None })
            }
            _ => return Err(unsupported()),
        })
    }

    /// Locks a document; returns the number of its newest version.
    fn newest_version(&self, id: DocumentId) -> Result<(Uuid, i64)> {
        let key = Uuid::from(id);
        let found = self.conn.query_opt("SELECT 1 FROM documents WHERE id = $1 FOR UPDATE", &[&key])?;
        found.ok_or_else(|| StoreError::not_found("document", id))?;
        let sql = "SELECT coalesce(max(version), 0) FROM document_versions WHERE document = $1";
        Ok((key, int(&self.conn.query_one(sql, &[&key])?, 0)?))
    }

    fn insert_version(&self, key: Uuid, version: i64, content: &str) -> Result<()> {
        let sql = "INSERT INTO document_versions (document, version, author, created_at, content)
                   VALUES ($1, $2, $3, $4, $5)";
        self.conn.execute(sql, &[&key, &version, &self.agent, &self.change.at.as_millis(), &content]).map(drop)
    }

    fn link(&mut self, link: &Link) -> Result<PgAppliedMutation> {
        let source = self.node(link.source)?;
        let author = Uuid::from(link.author);
        self.exists("agents", "agent", author, link.author)?;
        let (mut node, mut tree, mut document, mut section) = (None, None, None, None);
        match &link.target {
            LinkTarget::Node(id) => node = Some(self.node(*id)?),
            LinkTarget::Tree(id) => tree = Some(self.tree(*id)?),
            LinkTarget::Document { id, section: named } => {
                self.exists("documents", "document", Uuid::from(*id), id)?;
                document = Some(Uuid::from(*id));
                section.clone_from(named);
            }
        }
        let target = node.map(|node| Uuid::from(node.id));
        let twice = "SELECT 1 FROM links WHERE tree = $1 AND source = $2 AND target_node IS NOT DISTINCT FROM $3
                AND target_tree IS NOT DISTINCT FROM $4 AND target_document IS NOT DISTINCT FROM $5
                AND section IS NOT DISTINCT FROM $6 AND NOT removed";
        if self.conn.query_opt(twice, &[&source.tree, &source.seq, &target, &tree, &document, &section])?.is_some() {
            return Err(StoreError::Conflict("these two are linked already".to_owned()));
        }
        let seq = self.next()?;
        self.conn.execute(
            "INSERT INTO links (tree, id, seq, source, target_node, target_tree, target_document, section, note, author,
                 created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            &[
                &source.tree,
                &Uuid::from(link.id),
                &seq,
                &source.seq,
                &target,
                &tree,
                &document,
                &section,
                &link.note,
                &author,
                &link.created_at.as_millis(),
            ],
        )?;
        self.count_link((source.tree, source.seq), node.map(|n| (n.tree, n.seq)), 1)?;
        let undo = Mutation::SetLinkRemoved { link: link.id, removed: true };
        Ok(PgAppliedMutation::new(source.tree, Some(source.seq), Some(undo)))
    }

    fn set_link_removed(&mut self, id: LinkId, removed: bool) -> Result<Option<PgAppliedMutation>> {
        let key = Uuid::from(id);
        let sql =
            "SELECT l.tree, l.source, l.removed, n.tree, n.seq FROM links l LEFT JOIN nodes n ON n.id = l.target_node
                   WHERE l.id = $1";
        let row = self.conn.query_opt(sql, &[&key])?.ok_or_else(|| StoreError::not_found("link", id))?;
        let (tree, source): (Uuid, i64) = (get(&row, 0)?, get(&row, 1)?);
        let target = get::<Option<Uuid>>(&row, 3)?.zip(get::<Option<i64>>(&row, 4)?);
        self.state.lock(self.conn, &[tree, target.map_or(tree, |t| t.0)])?;
        let sql = "UPDATE links SET removed = $3 WHERE tree = $1 AND id = $2 AND removed <> $3";
        if self.conn.execute(sql, &[&tree, &key, &removed])? == 0 {
            return Ok(None);
        }
        self.count_link((tree, source), target, if removed { -1 } else { 1 })?;
        let undo = Mutation::SetLinkRemoved { link: id, removed: !removed };
        Ok(Some(PgAppliedMutation::new(tree, Some(source), Some(undo))))
    }

    /// Counts a link at both of its nodes, once if they are the same.
    fn count_link(&self, source: (Uuid, i64), target: Option<(Uuid, i64)>, by: i64) -> Result<()> {
        for (tree, node) in [Some(source), target.filter(|t| *t != source)].into_iter().flatten() {
            debug_assert!(tree != NO_TREE);
            ensure_state(self.conn, tree, node)?;
            let sql = "UPDATE node_state SET links = links + $3 WHERE tree = $1 AND node = $2";
            self.conn.execute(sql, &[&tree, &node, &by])?;
        }
        Ok(())
    }
}
