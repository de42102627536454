//! The SQLite snapshot: a pooled connection inside one read transaction.

use std::sync::LazyLock;

use rusqlite::params;

use super::tables::visibility_marks::HIDDEN_BY;
use super::{
    decode::{FROM, NODE, NodeRow},
    path,
    pool::ConnectionPool,
    resolve_local_id::resolve_local_id,
    session_state, shared_text, sibling_page,
    tables::{
        agents, delegations, documents, leases, links, memory,
        nodes::{self, Anchor, hidden_by},
        provenance, received_turns, session_states, sessions, sources,
        staged_nodes::UNSTAGED,
        summaries, system_prompts, todos, token_calibration, trees,
    },
    transaction::ReadConnection,
    ulid_cache::UlidCache,
    visibility::{self, row_of},
    visible_position::{nearest_visible, visible_position},
};
use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, SessionId, TreeId},
    session_state::{SessionRecord, SessionState},
    store::{
        ChildFilter, GenerationFilter, GenerationRow, LocalIdLookup, NodeReader, PurgeTarget, Result, SessionFilter,
        SessionReader, SiblingCursor, TreeFilter,
    },
    tokens::TokenCalibration,
    types::{
        Agent, Document, DocumentVersion, EdgeKind, Json, Lease, Link, Memory, Node, Session, SessionCounts,
        StashContent, Summary, SummarySubject, Timestamp, Todo, Tree,
    },
};

static NODE_BY_ID: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {NODE} {FROM} WHERE n.ulid = ?1 AND {UNSTAGED}"));

// The plus keeps the bound kind from partial indexes, which would plan the statement anew for each value.
static CHILDREN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {NODE} {FROM} WHERE n.tree = ?1 AND n.depth = ?2 AND n.parent = ?3
             AND (?4 IS NULL OR +n.kind = ?4) AND (?5 OR {HIDDEN_BY} IS NULL OR {HIDDEN_BY} IS ?6) AND {UNSTAGED}
         ORDER BY n.seq LIMIT ?7"
    )
});

pub(super) struct SqliteSnapshot<'p> {
    pub(super) conn: ReadConnection<'p>,
}

impl<'p> SqliteSnapshot<'p> {
    pub(super) fn begin(pool: &'p ConnectionPool) -> Result<Self> {
        let conn = pool.borrow()?;
        conn.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self::new(ReadConnection::Pooled(conn)))
    }

    pub(super) fn new(conn: ReadConnection<'p>) -> Self {
        Self { conn }
    }

    pub(super) fn nodes(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Node>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement.query_map(params, NodeRow::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
        UlidCache::new(&self.conn).finish(rows)
    }

    /// True if a tree has so few of the file's nodes that an index finds them faster than a scan of all.
    fn is_small(&self, tree: TreeId) -> Result<bool> {
        let nodes = trees::get(&self.conn, tree)?.map(|tree| tree.counts.nodes);
        let all: u64 =
            self.conn.prepare_cached("SELECT ifnull(max(seq), 0) FROM nodes")?.query_row([], |r| r.get(0))?;
        Ok(nodes.is_some_and(|nodes| nodes * 10 < all))
    }

    pub(super) fn tree_row(&self, id: Option<TreeId>) -> Result<Option<i64>> {
        id.map(|id| trees::row(&self.conn, id)).transpose()
    }

    fn node_at(&self, row: i64) -> Result<Option<Node>> {
        Ok(self.nodes(&format!("SELECT {NODE} {FROM} WHERE n.seq = ?1"), [row])?.pop())
    }

    fn finish_session(&self, row: sessions::SessionRow) -> Result<Session> {
        let (mut session, agent, tree, [position, cursor]) = row;
        let names = UlidCache::new(&self.conn);
        session.agent = names.agent(agent)?;
        session.tree = names.tree(tree)?;
        let mut versions = Vec::with_capacity(session.versions.len());
        for version in &session.versions {
            versions.extend(visibility::row_of(&self.conn, *version)?);
        }
        let visible = |row| names.node(visible_position(&self.conn, row, &versions)?);
        session.position = position.map(visible).transpose()?;
        session.cursor = cursor.map(visible).transpose()?;
        Ok(session)
    }
}

impl Drop for SqliteSnapshot<'_> {
    fn drop(&mut self) {
        if let ReadConnection::Pooled(conn) = &self.conn {
            // A read transaction has nothing to lose; an error has no effect.
            let _ = conn.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([]));
        }
    }
}

fn limit(limit: u32) -> i64 {
    if limit == 0 { -1 } else { i64::from(limit) }
}

impl NodeReader for SqliteSnapshot<'_> {
    fn tree(&self, id: TreeId) -> Result<Option<Tree>> {
        trees::get(&self.conn, id)
    }

    fn trees(&self, filter: TreeFilter) -> Result<Vec<Tree>> {
        trees::list(&self.conn, filter)
    }

    fn node(&self, id: NodeId) -> Result<Option<Node>> {
        Ok(self.nodes(&NODE_BY_ID, [id.to_bytes()])?.pop())
    }

    fn resolve(&self, tree: TreeId, text: &str) -> Result<LocalIdLookup> {
        resolve_local_id(self, trees::row(&self.conn, tree)?, text)
    }

    fn path_back(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Node>> {
        UlidCache::new(&self.conn).finish(path::read(&self.conn, to, versions, limit)?)
    }

    fn path_metadata(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Option<String>>> {
        let rows: Vec<path::MetadataRow> = path::read(&self.conn, to, versions, limit)?;
        Ok(rows.into_iter().map(|row| row.metadata).collect())
    }

    fn children(&self, of: NodeId, filter: &ChildFilter) -> Result<Vec<Node>> {
        let Some(own) = nodes::find(&self.conn, of, false)? else { return Ok(Vec::new()) };
        let shared = visibility::original_of(&self.conn, own)?;
        let kind = filter.kind.map(EdgeKind::code);
        let most = limit(filter.limit);
        // Inside a pruned branch, children with the same `hidden_by` count as visible.
        let hidden = hidden_by(&self.conn, own.row)?;
        let below = |at: Anchor, kind: Option<i64>| {
            self.nodes(&CHILDREN, params![at.tree, at.depth + 1, at.row, kind, filter.pruned, hidden, most])
        };
        if own.row == shared.row {
            return below(own, kind);
        }
        let continuation = Some(EdgeKind::Continuation.code());
        let mut found = if kind == continuation { Vec::new() } else { below(own, kind)? };
        if kind.is_none() || kind == continuation {
            found.extend(below(shared, continuation)?);
            filter.order(&mut found);
        }
        Ok(found)
    }

    fn leaf(&self, of: NodeId) -> Result<Option<Node>> {
        let Some(row) = row_of(&self.conn, of)? else { return Ok(None) };
        match path::leaf(&self.conn, row)? {
            leaf if leaf == row => self.node(of),
            leaf => self.node_at(leaf),
        }
    }

    fn nearest_visible(&self, node: NodeId) -> Result<Option<Node>> {
        let Some(row) = row_of(&self.conn, node)? else { return Ok(None) };
        self.node_at(nearest_visible(&self.conn, row)?.row)
    }

    fn copies(&self, target: PurgeTarget) -> Result<Vec<Node>> {
        shared_text::list(&self.conn, target)
    }

    fn continuations(&self, of: NodeId, from: SiblingCursor, most: u32) -> Result<Vec<Node>> {
        sibling_page::list(&self.conn, of, from, most)
    }

    fn versions(&self, of: NodeId) -> Result<Vec<Node>> {
        let Some(node) = nodes::find(&self.conn, of, false)? else { return Ok(Vec::new()) };
        let first = visibility::original_of(&self.conn, node)?;
        self.nodes(
            &format!(
                "SELECT {NODE} {FROM} WHERE n.seq = ?1 OR (n.version_of = ?1 AND {HIDDEN_BY} IS NULL) ORDER BY n.seq"
            ),
            [first.row],
        )
    }

    fn nodes_after(&self, tree: TreeId, after: u64, most: u32) -> Result<Vec<Node>> {
        let row = trees::row(&self.conn, tree)?;
        // The nodes of a small tree are found by index, and then sorted; those of a large one by a scan from `after`.
        let of_tree = if self.is_small(tree)? { "n.tree" } else { "+n.tree" };
        self.nodes(
            &format!("SELECT {NODE} {FROM} WHERE {of_tree} = ?1 AND n.seq > ?2 AND {UNSTAGED} ORDER BY n.seq LIMIT ?3"),
            params![row, after, limit(most)],
        )
    }

    fn bookmarks(&self, tree: TreeId) -> Result<Vec<Node>> {
        let row = trees::row(&self.conn, tree)?;
        self.nodes(
            &format!(
                "SELECT {NODE} FROM bookmarks b JOIN nodes n ON n.seq = b.node LEFT JOIN node_state s ON s.node = n.seq
                 WHERE b.tree = ?1 AND {HIDDEN_BY} IS NULL ORDER BY n.seq"
            ),
            [row],
        )
    }

    fn pruned(&self, tree: TreeId) -> Result<Vec<Node>> {
        let row = trees::row(&self.conn, tree)?;
        self.nodes(
            &format!(
                "SELECT {NODE} FROM node_state s JOIN nodes n ON n.seq = s.node
                 WHERE {HIDDEN_BY} = s.node AND n.tree = ?1 AND {UNSTAGED} ORDER BY n.seq"
            ),
            [row],
        )
    }

    fn links(&self, node: NodeId) -> Result<Vec<Link>> {
        row_of(&self.conn, node)?.map_or(Ok(Vec::new()), |row| links::list(&self.conn, row))
    }

    fn link(&self, id: LinkId) -> Result<Option<(Link, bool)>> {
        links::get(&self.conn, id)
    }

    fn provenance(&self, node: NodeId) -> Result<Option<Json>> {
        row_of(&self.conn, node)?.map_or(Ok(None), |row| provenance::get(&self.conn, row))
    }

    fn generations(&self, filter: &GenerationFilter, each: &mut dyn FnMut(GenerationRow<'_>)) -> Result<()> {
        let tree = self.tree_row(filter.tree)?;
        let session = filter.session.map(|id| sessions::row(&self.conn, id)).transpose()?;
        let agent = filter.agent.map(|id| agents::row(&self.conn, id)).transpose()?;
        let small = filter.tree.map(|id| self.is_small(id)).transpose()?.unwrap_or(false);
        provenance::each(&self.conn, [tree, session, agent], small, each)
    }

    fn source(&self, source: &str) -> Result<Option<NodeId>> {
        sources::node(&self.conn, source)?.map(|row| UlidCache::new(&self.conn).node(row)).transpose()
    }

    fn sources_of(&self, node: NodeId) -> Result<Vec<String>> {
        row_of(&self.conn, node)?.map_or(Ok(Vec::new()), |row| sources::list(&self.conn, row))
    }

    fn summary(&self, of: SummarySubject) -> Result<Option<Summary>> {
        let target = match of {
            SummarySubject::Node(id) => row_of(&self.conn, id)?.map(|row| ("node", row)),
            SummarySubject::Document(id) => Some(("document", documents::row(&self.conn, id)?)),
            SummarySubject::Tree(id) => Some(("tree", trees::row(&self.conn, id)?)),
        };
        target.map_or(Ok(None), |target| summaries::load(&self.conn, target))
    }

    fn documents(&self) -> Result<Vec<Document>> {
        documents::all(&self.conn)
    }

    fn document_version(&self, id: DocumentId, version: u64) -> Result<Option<DocumentVersion>> {
        documents::version(&self.conn, documents::row(&self.conn, id)?, version)
    }
}

impl SessionReader for SqliteSnapshot<'_> {
    fn agents(&self) -> Result<Vec<Agent>> {
        agents::all(&self.conn)
    }

    fn session(&self, id: SessionId) -> Result<Option<Session>> {
        sessions::get(&self.conn, id)?.map(|row| self.finish_session(row)).transpose()
    }

    fn session_state(&self, id: SessionId) -> Result<SessionState> {
        session_state::load(&self.conn, sessions::row(&self.conn, id)?, self.conn.rules())
    }

    fn system_prompt(&self, id: SessionId) -> Result<Option<String>> {
        system_prompts::newest(&self.conn, sessions::row(&self.conn, id)?)
    }

    fn records(&self, id: SessionId) -> Result<Vec<SessionRecord>> {
        session_states::records(&self.conn, sessions::row(&self.conn, id)?)
    }

    fn received_turns(&self, id: SessionId, node: Option<NodeId>) -> Result<Vec<(u64, NodeId)>> {
        received_turns::list(&self.conn, sessions::row(&self.conn, id)?, node)
    }

    fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        let agent = filter.agent.map(|a| agents::row(&self.conn, a)).transpose()?;
        let found = sessions::list(&self.conn, filter, agent, self.tree_row(filter.tree)?)?;
        found.into_iter().map(|row| self.finish_session(row)).collect()
    }

    fn session_counts(&self, now: Timestamp) -> Result<SessionCounts> {
        sessions::counts(&self.conn, now)
    }

    fn leases(&self, tree: TreeId) -> Result<Vec<Lease>> {
        let tree = trees::row(&self.conn, tree)?;
        Ok(leases::all(&self.conn, Some(tree))?.into_iter().map(|held| held.lease).collect())
    }

    fn memory(&self, agent: AgentId, tree: TreeId) -> Result<Memory> {
        memory::load(&self.conn, agents::row(&self.conn, agent)?, trees::row(&self.conn, tree)?)
    }

    fn stashed(&self, agent: AgentId, tree: TreeId, label: &str, result: bool) -> Result<Option<StashContent>> {
        let (agent, tree) = (agents::row(&self.conn, agent)?, trees::row(&self.conn, tree)?);
        memory::stashed(&self.conn, agent, tree, label, result)
    }

    fn todos(&self, session: SessionId, turn: Option<u64>) -> Result<Vec<Todo>> {
        todos::list(&self.conn, session, turn)
    }

    fn delegation(&self, head: NodeId) -> Result<Vec<Json>> {
        row_of(&self.conn, head)?.map_or(Ok(Vec::new()), |row| delegations::events(&self.conn, row))
    }

    fn delegations(&self) -> Result<Vec<(NodeId, Json)>> {
        delegations::all(&self.conn)
    }

    fn correction(&self, model: &str) -> Result<Option<TokenCalibration>> {
        token_calibration::correction(&self.conn, model)
    }
}
