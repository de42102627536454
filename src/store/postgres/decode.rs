//! Decoding of rows into records. A value that does not decode is an error.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};

use super::{connection::PostgresConnection, uuid::Uuid};
use crate::{
    id::{AgentId, LocalId, NodeId, SessionId, TreeId},
    store::{ChangeKind, Mutation, Result, StoreError, envelope_compression::unpack},
    types::{
        AuthorType, ContentHash, EdgeKind, JournalEntry, Json, Node, NodeState, Op, Timestamp, ToolCallFields, WorkItem,
    },
};

macro_rules! node_columns {
    () => {
        "n.seq, n.id, n.tree, n.local_id, n.parent, n.depth, n.kind, n.author, n.author_type, n.created_at, n.hash, \
         n.session, n.turn, n.edited_from, n.version_of, n.tokens, n.interrupted, n.purged_at, n.tool_call_id, \
         n.tool_name, n.tool_calls, n.metadata, n.content, n.raw, n.role"
    };
}

macro_rules! state_columns {
    () => {
        "s.continuations, s.annotations, s.links, s.versions, s.bookmarked, s.hidden_by, s.excluded"
    };
}

/// Columns of a node without its state, from `nodes n`, and their number.
pub(super) const NODE_ALONE: &str = node_columns!();
const NODE_COLUMNS: usize = 25;

/// Columns of a node's state, from `node_state s`.
pub(super) const STATE: &str = state_columns!();

/// Columns of many states as arrays in one row, in the order that [`set_states`] reads them.
pub(super) const STATE_ARRAYS: &str = "array_agg(s.node), array_agg(s.continuations), array_agg(s.annotations), array_agg(s.links), \
    array_agg(s.versions), array_agg(s.bookmarked), array_agg(s.hidden_by), array_agg(s.excluded)";

/// Columns of a node and its state, selected from [`FROM`].
pub(super) const NODE: &str = concat!(node_columns!(), ", ", state_columns!());

/// Source of the columns in [`NODE`].
pub(super) const FROM: &str = "FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq";

/// An integer column of any width.
struct Integer(i64);

impl<'a> FromSql<'a> for Integer {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::INT2 => i16::from_sql(kind, raw)?.into(),
            Type::INT4 => i32::from_sql(kind, raw)?.into(),
            _ => i64::from_sql(kind, raw)?,
        }))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8)
    }
}

/// Reads a column.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T> {
    Ok(row.try_get(at)?)
}

/// Reads an integer.
pub(super) fn int(row: &Row, at: usize) -> Result<i64> {
    Ok(get::<Integer>(row, at)?.0)
}

/// Reads an integer that may be null.
pub(super) fn opt_int(row: &Row, at: usize) -> Result<Option<i64>> {
    Ok(get::<Option<Integer>>(row, at)?.map(|integer| integer.0))
}

/// Reads a number that is not negative.
pub(super) fn number(row: &Row, at: usize) -> Result<u64> {
    let value = int(row, at)?;
    u64::try_from(value).map_err(|_| StoreError::Undecodable(format!("column {at} is {value}")))
}

/// Reads a number of 32 bits.
pub(super) fn small(row: &Row, at: usize) -> Result<u32> {
    let value = int(row, at)?;
    u32::try_from(value).map_err(|_| StoreError::Undecodable(format!("column {at} is {value}")))
}

/// Reads an id.
pub(super) fn id<T>(row: &Row, at: usize, make: impl Fn([u8; 16]) -> T) -> Result<T> {
    Ok(make(get::<Uuid>(row, at)?.0))
}

/// Reads an id that may be null.
pub(super) fn opt_id<T>(row: &Row, at: usize, make: impl Fn([u8; 16]) -> T) -> Result<Option<T>> {
    Ok(get::<Option<Uuid>>(row, at)?.map(|uuid| make(uuid.0)))
}

/// Reads a time.
pub(super) fn time(row: &Row, at: usize) -> Result<Timestamp> {
    Ok(Timestamp::from_millis(int(row, at)?))
}

/// Reads a time that may be null.
pub(super) fn opt_time(row: &Row, at: usize) -> Result<Option<Timestamp>> {
    Ok(opt_int(row, at)?.map(Timestamp::from_millis))
}

/// Reads a number that must be an enum's code.
pub(super) fn coded<T>(row: &Row, at: usize, decode: impl Fn(i64) -> Option<T>) -> Result<T> {
    let code = int(row, at)?;
    decode(code).ok_or_else(|| StoreError::Undecodable(format!("column {at} has the unknown code {code}")))
}

/// Reads an optional text that must be JSON.
pub(super) fn json(row: &Row, at: usize) -> Result<Option<Json>> {
    get::<Option<String>>(row, at)?.map(|text| Json::parse(text).map_err(undecodable)).transpose()
}

/// Deserializes a value from JSON text.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(row: &Row, at: usize) -> Result<T> {
    serde_json::from_str(get(row, at)?).map_err(undecodable)
}

/// The error of a value that does not decode.
pub(super) fn undecodable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Undecodable(error.to_string())
}

/// Decodes the envelope of a provider.
pub(super) fn envelope_text(packed: &[u8]) -> Result<String> {
    let mut text = String::new();
    unpack(packed, &mut text).map_err(|error| undecodable(format!("an envelope: {error}")))?;
    Ok(text)
}

/// Reads a work item from two columns; `None` if they are null.
pub(super) fn item(row: &Row, at: usize) -> Result<Option<WorkItem>> {
    let (project, external_ref): (Option<String>, Option<String>) = (get(row, at)?, get(row, at + 1)?);
    Ok(project.zip(external_ref).map(|(project, external_ref)| WorkItem { project, external_ref }))
}

/// A tree and the number of a node in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeKey {
    pub(super) tree: TreeId,
    pub(super) seq: i64,
}

/// A decoded node whose references within the tree are numbers.
#[derive(Debug)]
pub(super) struct PgNodeRow {
    pub(super) node: Node,
    pub(super) seq: i64,
    pub(super) parent: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) hidden_by: Option<i64>,
    /// True if the state was read, or the node has none.
    pub(super) is_state_known: bool,
    edited_from: Option<i64>,
    bookmarked: bool,
}

impl PgNodeRow {
    /// Decodes the columns of [`NODE`]. [`finish`] fills in the ids that it refers to.
    pub(super) fn read(row: &Row) -> Result<Self> {
        let mut node = Self::read_alone(row)?;
        node.is_state_known = true;
        // A node without state has no children and no marks.
        if opt_int(row, NODE_COLUMNS)?.is_some() {
            node.set_state(row, NODE_COLUMNS)?;
        }
        Ok(node)
    }

    /// Decodes the columns of [`STATE`], which begin at a column.
    pub(super) fn set_state(&mut self, row: &Row, at: usize) -> Result<()> {
        self.is_state_known = true;
        self.node.state = NodeState {
            continuations: small(row, at)?,
            annotations: small(row, at + 1)?,
            links: small(row, at + 2)?,
            versions: small(row, at + 3)?,
            pruned_by: None,
            excluded: get(row, at + 6)?,
            bookmark: None,
        };
        self.bookmarked = get(row, at + 4)?;
        self.hidden_by = opt_int(row, at + 5)?;
        Ok(())
    }

    /// Decodes the columns of [`NODE_ALONE`].
    pub(super) fn read_alone(row: &Row) -> Result<Self> {
        let session = opt_id(row, 11, SessionId::from_bytes)?;
        let tokens = opt_int(row, 15)?.map(|tokens| u32::try_from(tokens).map_err(undecodable)).transpose()?;
        Ok(Self {
            seq: int(row, 0)?,
            parent: opt_int(row, 4)?,
            version_of: opt_int(row, 14)?,
            edited_from: opt_int(row, 13)?,
            hidden_by: None,
            is_state_known: false,
            bookmarked: false,
            node: Node {
                id: id(row, 1, NodeId::from_bytes)?,
                local: LocalId::try_from(get::<&str>(row, 3)?).map_err(undecodable)?,
                tree: id(row, 2, TreeId::from_bytes)?,
                parent: None,
                seq: number(row, 0)?,
                kind: coded(row, 6, EdgeKind::from_code)?,
                author: id(row, 7, AgentId::from_bytes)?,
                author_type: coded(row, 8, AuthorType::from_code)?,
                role: opt_int(row, 24)?.map(|_| coded(row, 24, AuthorType::from_code)).transpose()?,
                content: get(row, 22)?,
                raw: get(row, 23)?,
                tool: ToolCallFields { calls: json(row, 20)?, call_id: get(row, 18)?, name: get(row, 19)? },
                tokens,
                depth: small(row, 5)?,
                created_at: time(row, 9)?,
                edited_from: None,
                version_of: None,
                session,
                turn: if session.is_some() { opt_int(row, 12)?.map(i64::unsigned_abs) } else { None },
                hash: ContentHash::from_bytes(get(row, 10)?).ok_or_else(|| undecodable("a hash has another length"))?,
                interrupted: get(row, 16)?,
                purged_at: opt_time(row, 17)?,
                metadata: json(row, 21)?,
                state: NodeState::default(),
            },
        })
    }

    fn key(&self, seq: i64) -> NodeKey {
        NodeKey { tree: self.node.tree, seq }
    }
}

/// A node by its number; `None` after it was taken.
pub(super) type NumberedRow = (i64, Option<PgNodeRow>);

/// Sets the states that a row of [`STATE_ARRAYS`] holds. The nodes are sorted, the newest first; states of others are ignored.
pub(super) fn set_states(nodes: &mut [NumberedRow], states: &Row) -> Result<()> {
    let Some(numbers) = get::<Option<Vec<i64>>>(states, 0)? else { return Ok(()) };
    let counts = [1, 2, 3, 4].map(|at| get::<Vec<i64>>(states, at));
    let [continuations, annotations, links, versions] = counts;
    let counts = [continuations?, annotations?, links?, versions?];
    let (bookmarked, hidden_by): (Vec<bool>, Vec<Option<i64>>) = (get(states, 5)?, get(states, 6)?);
    let excluded: Vec<bool> = get(states, 7)?;
    for (at, number) in numbers.into_iter().enumerate() {
        let Ok(place) = nodes.binary_search_by(|(other, _)| number.cmp(other)) else { continue };
        let Some(node) = &mut nodes[place].1 else { continue };
        let count = |of: usize| u32::try_from(counts[of][at]).map_err(undecodable);
        node.node.state = NodeState {
            continuations: count(0)?,
            annotations: count(1)?,
            links: count(2)?,
            versions: count(3)?,
            pruned_by: None,
            excluded: excluded[at],
            bookmark: None,
        };
        (node.bookmarked, node.hidden_by, node.is_state_known) = (bookmarked[at], hidden_by[at], true);
    }
    Ok(())
}

/// Decodes rows of [`NODE`] as complete nodes.
pub(super) fn nodes(conn: &PostgresConnection, rows: &[Row]) -> Result<Vec<Node>> {
    finish(conn, rows.iter().map(PgNodeRow::read).collect::<Result<_>>()?)
}

/// Fills in the ids and counts that rows do not hold. Nodes among `rows` are not looked up again; the others of all rows
/// together, by one query for each kind.
pub(super) fn finish(conn: &PostgresConnection, mut rows: Vec<PgNodeRow>) -> Result<Vec<Node>> {
    fill(conn, &mut rows)?;
    Ok(rows.into_iter().map(|row| row.node).collect())
}

/// The same for rows of which the newest is first; returns the oldest node first.
pub(super) fn finish_reversed(conn: &PostgresConnection, mut rows: Vec<PgNodeRow>) -> Result<Vec<Node>> {
    fill(conn, &mut rows)?;
    Ok(rows.into_iter().rev().map(|row| row.node).collect())
}

fn fill(conn: &PostgresConnection, rows: &mut [PgNodeRow]) -> Result<()> {
    let ids = referenced(conn, rows)?;
    let find = |key: NodeKey| {
        ids.get(&key).copied().flatten().ok_or_else(|| StoreError::Undecodable(format!("node {} is missing", key.seq)))
    };
    for at in 0..rows.len() {
        let beside = parent_beside(rows, at);
        let r = &mut rows[at];
        let tree = r.node.tree;
        let name = |seq: Option<i64>| seq.map(|seq| find(NodeKey { tree, seq })).transpose();
        r.node.parent = if beside.is_some() { beside } else { name(r.parent)? };
        r.node.edited_from = name(r.edited_from)?;
        r.node.version_of = name(r.version_of)?;
        r.node.state.pruned_by = name(r.hidden_by)?;
    }
    versions(conn, rows)?;
    bookmarks(conn, rows)
}

/// The id of a row's parent in the row before or after: on a path, nearly all parents are there.
fn parent_beside(rows: &[PgNodeRow], at: usize) -> Option<NodeId> {
    let parent = rows[at].parent?;
    let is_parent = |other: &&PgNodeRow| other.seq == parent && other.node.tree == rows[at].node.tree;
    let beside = [rows.get(at + 1), at.checked_sub(1).and_then(|before| rows.get(before))];
    beside.into_iter().flatten().find(is_parent).map(|other| other.node.id)
}

/// The ids of the nodes that rows refer to, without parents beside them.
fn referenced(conn: &PostgresConnection, rows: &[PgNodeRow]) -> Result<HashMap<NodeKey, Option<NodeId>, RandomState>> {
    let mut ids: HashMap<NodeKey, Option<NodeId>, RandomState> = HashMap::default();
    for (at, r) in rows.iter().enumerate() {
        let parent = r.parent.filter(|_| parent_beside(rows, at).is_none());
        let named = [parent, r.edited_from, r.version_of, r.hidden_by];
        ids.extend(named.into_iter().flatten().map(|seq| (r.key(seq), None)));
    }
    if ids.is_empty() {
        return Ok(ids);
    }
    for r in rows {
        if let Some(id) = ids.get_mut(&r.key(r.seq)) {
            *id = Some(r.node.id);
        }
    }
    let missing: Vec<NodeKey> = ids.iter().filter(|(_, id)| id.is_none()).map(|(key, _)| *key).collect();
    if !missing.is_empty() {
        let (trees, seqs) = columns(&missing);
        let sql = "SELECT n.tree, n.seq, n.id FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                       JOIN nodes n ON n.tree = w.tree AND n.seq = w.seq";
        for row in conn.query(sql, &[&trees, &seqs])? {
            let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
            ids.insert(key, Some(id(&row, 2, NodeId::from_bytes)?));
        }
    }
    Ok(ids)
}

/// Splits keys into columns for `unnest`.
pub(super) fn columns(keys: &[NodeKey]) -> (Vec<Uuid>, Vec<i64>) {
    keys.iter().map(|key| (Uuid(key.tree.to_bytes()), key.seq)).unzip()
}

/// Counts the versions of places that have the same visibility. The state's own count includes all versions ever added, and
/// selects the places that need this query.
fn versions(conn: &PostgresConnection, rows: &mut [PgNodeRow]) -> Result<()> {
    let wanted: Vec<NodeKey> = rows.iter().filter(|r| r.node.state.versions > 0).map(|r| r.key(r.seq)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (trees, seqs) = columns(&wanted);
    let sql = "SELECT w.tree, w.seq, count(n.seq)
               FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                   LEFT JOIN node_state p ON p.tree = w.tree AND p.node = w.seq
                   JOIN nodes n ON n.tree = w.tree AND n.version_of = w.seq AND n.kind = 6
                   LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
               WHERE s.hidden_by IS NOT DISTINCT FROM p.hidden_by GROUP BY w.tree, w.seq";
    let mut counts = HashMap::new();
    for row in conn.query(sql, &[&trees, &seqs])? {
        let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
        counts.insert(key, small(&row, 2)?);
    }
    for r in rows.iter_mut().filter(|r| r.node.state.versions > 0) {
        r.node.state.versions = counts.get(&r.key(r.seq)).copied().unwrap_or(0);
    }
    Ok(())
}

/// Fills in the labels of bookmarks.
fn bookmarks(conn: &PostgresConnection, rows: &mut [PgNodeRow]) -> Result<()> {
    let wanted: Vec<NodeKey> = rows.iter().filter(|r| r.bookmarked).map(|r| r.key(r.seq)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (trees, seqs) = columns(&wanted);
    let sql = "SELECT b.tree, b.node, b.label FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                   JOIN bookmarks b ON b.tree = w.tree AND b.node = w.seq";
    let mut labels = HashMap::new();
    for row in conn.query(sql, &[&trees, &seqs])? {
        let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
        labels.insert(key, get::<String>(&row, 2)?);
    }
    for r in rows.iter_mut().filter(|r| r.bookmarked) {
        r.node.state.bookmark = labels.remove(&r.key(r.seq));
    }
    Ok(())
}

/// Decodes a journal entry from the columns that [`super::journal::ENTRY`] names.
pub(super) fn entry_of(row: &Row) -> Result<JournalEntry> {
    let undo: Option<&str> = get(row, 12)?;
    let undo: Option<Mutation> = undo.map(serde_json::from_str).transpose().map_err(|error: serde_json::Error| {
        undecodable(format!("undo data is damaged at line {}, column {}", error.line(), error.column()))
    })?;
    let (subject, replaced) = undo.as_ref().map_or((None, false), Mutation::describe_inverse);
    let local: Option<&str> = get(row, 9)?;
    Ok(JournalEntry {
        seq: number(row, 0)?,
        group: number(row, 1)?,
        at: time(row, 2)?,
        agent: id(row, 3, AgentId::from_bytes)?,
        session: opt_id(row, 4, SessionId::from_bytes)?,
        tree: opt_id(row, 5, TreeId::from_bytes)?,
        op: coded(row, 6, Op::from_code)?,
        change: coded(row, 7, ChangeKind::from_code)?.as_str().to_owned(),
        node: opt_id(row, 8, NodeId::from_bytes)?,
        local: local.and_then(|local| LocalId::try_from(local).ok()),
        target: opt_int(row, 10)?.map(i64::unsigned_abs),
        subject,
        replaced,
    })
}
