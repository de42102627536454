//! The snapshot's queries of trees and nodes.

use super::{
    complete_nodes,
    decode::{CONTINUATIONS, FROM, NODE, NodeKey, envelope_text, get, id, int, number, opt_int, time, undecodable},
    path::{self, PgAnchor},
    resolve_local_id::resolve_local_id,
    snapshot::PostgresSnapshot,
    tables::{documents, links, trees},
    uuid::Uuid,
    visible_position::nearest_visible,
};
use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, TreeId},
    store::{
        ChildFilter, GenerationFilter, GenerationRow, LocalIdLookup, NodeReader, PurgeTarget, Result, SiblingCursor,
        StoreError, TreeFilter, envelope_compression::unpack,
    },
    types::{AuthorType, Document, DocumentVersion, EdgeKind, Json, Link, Node, Summary, SummarySubject, Tree},
};

/// Rows of a batch of envelopes.
const BATCH_ROWS: i64 = 2_000;

/// The limit of a query; 0 means none.
pub(super) fn limit(limit: u32) -> i64 {
    if limit == 0 { i64::MAX } else { i64::from(limit) }
}

impl PostgresSnapshot<'_> {
    pub(super) fn nodes(&self, sql: &str, params: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> Result<Vec<Node>> {
        complete_nodes::nodes(self, &self.query(sql, params)?)
    }

    /// A tree that must exist.
    pub(super) fn tree_key(&self, id: TreeId) -> Result<Uuid> {
        let tree = Uuid(id.to_bytes());
        match self.query_opt("SELECT 1 FROM trees WHERE id = $1", &[&tree])? {
            Some(_) => Ok(tree),
            None => Err(StoreError::not_found("tree", id)),
        }
    }

    fn by_key(&self, key: NodeKey) -> Result<Option<Node>> {
        let sql = format!("SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.seq = $2");
        Ok(self.nodes(&sql, &[&Uuid(key.tree.to_bytes()), &key.seq])?.pop())
    }

    /// Children below a node of a tree, of one kind or all.
    fn children_below(
        &self,
        at: PgAnchor,
        hidden: Option<i64>,
        kind: Option<i64>,
        filter: &ChildFilter,
    ) -> Result<Vec<Node>> {
        let sql = format!(
            "SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.parent = $2 AND ($3::bigint IS NULL OR n.kind = $3)
                 AND ($4 OR s.hidden_by IS NULL OR s.hidden_by = $5) ORDER BY n.seq LIMIT $6"
        );
        let tree = Uuid(at.key.tree.to_bytes());
        self.nodes(&sql, &[&tree, &at.key.seq, &kind, &filter.pruned, &hidden, &limit(filter.limit)])
    }
}

impl NodeReader for PostgresSnapshot<'_> {
    fn tree(&self, id: TreeId) -> Result<Option<Tree>> {
        trees::get_tree(self, id)
    }

    fn trees(&self, filter: TreeFilter) -> Result<Vec<Tree>> {
        trees::list(self, filter)
    }

    fn node(&self, id: NodeId) -> Result<Option<Node>> {
        Ok(self.nodes(&format!("SELECT {NODE} {FROM} WHERE n.id = $1"), &[&Uuid(id.to_bytes())])?.pop())
    }

    fn resolve(&self, tree: TreeId, text: &str) -> Result<LocalIdLookup> {
        resolve_local_id(self, self.tree_key(tree)?, text)
    }

    fn path_back(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Node>> {
        let Some(at) = path::find(self, to)? else { return Ok(Vec::new()) };
        let wanted: Vec<Uuid> = versions.iter().map(|id| Uuid(id.to_bytes())).collect();
        let wanted = match wanted.is_empty() {
            true => Vec::new(),
            false => {
                let sql = "SELECT seq FROM nodes WHERE tree = $1 AND id = ANY($2)";
                let rows = self.query(sql, &[&Uuid(at.key.tree.to_bytes()), &wanted])?;
                rows.iter().map(|row| int(row, 0)).collect::<Result<_>>()?
            }
        };
        let most = if limit == 0 { usize::MAX } else { limit as usize };
        complete_nodes::finish_reversed(self, path::rows(self, at.key, &wanted, most)?)
    }

    fn children(&self, of: NodeId, filter: &ChildFilter) -> Result<Vec<Node>> {
        let Some(own) = path::find(self, of)? else { return Ok(Vec::new()) };
        let shared = path::original_of(self, own)?;
        let kind = filter.kind.map(EdgeKind::code);
        // Inside a pruned branch, children with the same `hidden_by` count as visible.
        if own.key == shared.key {
            return self.children_below(own, own.hidden_by, kind, filter);
        }
        let continuation = Some(EdgeKind::Continuation.code());
        let mut found = match kind == continuation {
            true => Vec::new(),
            false => self.children_below(own, own.hidden_by, kind, filter)?,
        };
        if kind.is_none() || kind == continuation {
            found.extend(self.children_below(shared, own.hidden_by, continuation, filter)?);
            filter.order(&mut found);
        }
        Ok(found)
    }

    fn leaf(&self, of: NodeId) -> Result<Option<Node>> {
        let Some(at) = path::find(self, of)? else { return Ok(None) };
        self.by_key(NodeKey { seq: path::leaf(self, at)?, ..at.key })
    }

    fn nearest_visible(&self, node: NodeId) -> Result<Option<Node>> {
        let Some(at) = path::find(self, node)? else { return Ok(None) };
        self.by_key(nearest_visible(self, at.key)?)
    }

    fn copies(&self, target: PurgeTarget) -> Result<Vec<Node>> {
        super::shared_text::list(self, target)
    }

    fn continuations(&self, of: NodeId, from: SiblingCursor, most: u32) -> Result<Vec<Node>> {
        let Some(own) = path::find(self, of)? else { return Ok(Vec::new()) };
        let at = path::original_of(self, own)?.key;
        let signed = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let (seq, sign, order) = match from {
            SiblingCursor::First => (0, ">", "ASC"),
            SiblingCursor::After(seq) => (signed(seq), ">", "ASC"),
            SiblingCursor::Last => (i64::MAX, "<", "DESC"),
            SiblingCursor::Before(seq) => (signed(seq), "<", "DESC"),
        };
        let sql = format!(
            "SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.parent = $2 AND n.kind = 0 AND n.seq {sign} $3
                 AND (s.hidden_by IS NULL OR s.hidden_by = $4) ORDER BY n.seq {order} LIMIT $5"
        );
        self.nodes(&sql, &[&Uuid(at.tree.to_bytes()), &at.seq, &seq, &own.hidden_by, &i64::from(most)])
    }

    fn versions(&self, of: NodeId) -> Result<Vec<Node>> {
        let Some(own) = path::find(self, of)? else { return Ok(Vec::new()) };
        let first = path::original_of(self, own)?.key;
        let sql = format!(
            "SELECT {NODE} {FROM} WHERE n.tree = $1 AND (n.seq = $2 OR n.version_of = $2 AND s.hidden_by IS NULL)
             ORDER BY n.seq"
        );
        self.nodes(&sql, &[&Uuid(first.tree.to_bytes()), &first.seq])
    }

    fn nodes_after(&self, tree: TreeId, after: u64, most: u32) -> Result<Vec<Node>> {
        let sql = format!("SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.seq > $2 ORDER BY n.seq LIMIT $3");
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.nodes(&sql, &[&self.tree_key(tree)?, &after, &limit(most)])
    }

    fn bookmarks(&self, tree: TreeId) -> Result<Vec<Node>> {
        let sql = format!(
            "SELECT {NODE} FROM bookmarks b JOIN nodes n ON n.tree = b.tree AND n.seq = b.node
                 LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
             WHERE b.tree = $1 AND s.hidden_by IS NULL ORDER BY n.seq"
        );
        self.nodes(&sql, &[&self.tree_key(tree)?])
    }

    fn pruned(&self, tree: TreeId) -> Result<Vec<Node>> {
        let sql = format!(
            "SELECT {NODE} FROM node_state s JOIN nodes n ON n.tree = s.tree AND n.seq = s.node
             WHERE s.tree = $1 AND s.hidden_by = s.node ORDER BY n.seq"
        );
        self.nodes(&sql, &[&self.tree_key(tree)?])
    }

    fn links(&self, node: NodeId) -> Result<Vec<Link>> {
        links::list(self, node)
    }

    fn link(&self, id: LinkId) -> Result<Option<(Link, bool)>> {
        links::get_link(self, id)
    }

    fn provenance(&self, node: NodeId) -> Result<Option<Json>> {
        let sql =
            "SELECT p.envelope FROM nodes n JOIN provenance p ON p.tree = n.tree AND p.node = n.seq WHERE n.id = $1";
        let Some(row) = self.query_opt(sql, &[&Uuid(node.to_bytes())])? else { return Ok(None) };
        Json::parse(envelope_text(get(&row, 0)?)?).map(Some).map_err(undecodable)
    }

    fn generations(&self, filter: &GenerationFilter, each: &mut dyn FnMut(GenerationRow<'_>)) -> Result<()> {
        let within = match filter.session {
            Some(_) => {
                "n.session IN (WITH RECURSIVE own (id) AS (
                     SELECT $2::uuid UNION ALL SELECT s.id FROM sessions s JOIN own ON s.delegated_by = own.id
                 ) SELECT id FROM own) AND ($1::uuid IS NULL OR n.tree = $1)"
            }
            None if filter.tree.is_some() => "n.tree = $1::uuid AND $2::uuid IS NULL",
            None => "$1::uuid IS NULL AND $2::uuid IS NULL",
        };
        let sql = format!(
            "SELECT n.seq, n.author, n.tokens, {CONTINUATIONS} > 0, p.envelope
             FROM nodes n LEFT JOIN provenance p ON p.tree = n.tree AND p.node = n.seq
                 LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
             WHERE {within} AND n.author_type = {model} AND ($3::uuid IS NULL OR n.author = $3) AND n.seq > $4
             ORDER BY n.seq LIMIT {BATCH_ROWS}",
            model = AuthorType::Model.code(),
        );
        let tree = filter.tree.map(|id| self.tree_key(id)).transpose()?;
        let session = filter.session.map(|id| self.session_key(id)).transpose()?;
        let agent = filter.agent.map(|id| self.agent_key(id)).transpose()?;
        let (mut after, mut text) = (0, String::new());
        loop {
            let rows = self.query(&sql, &[&tree, &session, &agent, &after])?;
            for row in &rows {
                after = int(row, 0)?;
                let packed: Option<&[u8]> = get(row, 4)?;
                if let Some(packed) = packed {
                    unpack(packed, &mut text).map_err(|e| undecodable(format!("envelope of node {after}: {e}")))?;
                }
                each(GenerationRow {
                    author: id(row, 1, AgentId::from_bytes)?,
                    tokens: opt_int(row, 2)?.and_then(|tokens| u32::try_from(tokens).ok()),
                    continued: get(row, 3)?,
                    envelope: packed.map(|_| text.as_str()),
                });
            }
            if (rows.len() as i64) < BATCH_ROWS {
                return Ok(());
            }
        }
    }

    fn source(&self, source: &str) -> Result<Option<NodeId>> {
        let sql = "SELECT n.id FROM sources o JOIN nodes n ON n.tree = o.tree AND n.seq = o.node WHERE o.source = $1";
        self.query_opt(sql, &[&source])?.map(|row| id(&row, 0, NodeId::from_bytes)).transpose()
    }

    fn sources_of(&self, node: NodeId) -> Result<Vec<String>> {
        let sql = "SELECT o.source FROM nodes n JOIN sources o ON o.tree = n.tree AND o.node = n.seq
                   WHERE n.id = $1 ORDER BY o.source COLLATE \"C\"";
        self.query(sql, &[&Uuid(node.to_bytes())])?.iter().map(|row| get(row, 0)).collect()
    }

    fn summary(&self, of: SummarySubject) -> Result<Option<Summary>> {
        let (kind, subject) = super::tables::summaries::summary_key(of);
        let sql = "SELECT content, made_of, model, made_at FROM summaries WHERE kind = $1 AND subject = $2";
        let Some(row) = self.query_opt(sql, &[&kind, &subject])? else { return Ok(None) };
        Ok(Some(Summary {
            content: get(&row, 0)?,
            made_of: number(&row, 1)?,
            model: get(&row, 2)?,
            at: time(&row, 3)?,
        }))
    }

    fn documents(&self) -> Result<Vec<Document>> {
        documents::all(self)
    }

    fn document_version(&self, id: DocumentId, version: u64) -> Result<Option<DocumentVersion>> {
        documents::version(self, id, version)
    }
}
