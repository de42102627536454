//! Decoding of rows into records. A value that does not decode is an error.

use rusqlite::{
    CachedStatement, Connection, OptionalExtension, Row,
    types::{Type, ValueRef},
};

use super::{path::PathRecord, tables::visibility_marks::hidden_by};
use crate::{
    id::{AgentId, LocalId, NodeId, SessionId, TreeId},
    store::{ChangeKind, Mutation, Result},
    types::{
        AuthorType, ContentHash, EdgeKind, JournalEntry, Json, Node, NodeState, Op, Timestamp, ToolCallFields, WorkItem,
    },
};

macro_rules! node {
    () => {
        "n.seq, n.ulid, n.tree, n.local_id, n.parent, n.depth, n.kind, n.author, n.author_type, n.created_at, n.hash, \
         n.session, n.turn, n.edited_from, n.version_of, n.tokens, n.interrupted, n.purged_at, n.tool_call_id, \
         n.tool_name, n.tool_calls, n.metadata, n.content, n.raw, n.role, \
         coalesce(n.edited_from, n.version_of, n.purged_at, n.tool_call_id, n.tool_name, n.tool_calls, n.metadata, n.raw, \
         n.role) IS NOT NULL"
    };
}
macro_rules! state {
    () => {
        concat!(
            "s.node, s.continuations, s.annotations, s.links, s.versions, s.bookmarked, ",
            hidden_by!("s"),
            ", s.excluded"
        )
    };
}

/// Columns of a node without its state, for [`NodeRow::read_stateless`].
pub(super) const COLUMNS: &str = node!();

/// Columns for [`NodeRow::read`], selected from [`FROM`].
pub(super) const NODE: &str = concat!(node!(), ", ", state!());

/// First column of the state in [`NODE`].
const STATE: usize = 26;

/// Source of the columns in [`NODE`].
pub(super) const FROM: &str = "FROM nodes n LEFT JOIN node_state s ON s.node = n.seq";

/// Statement for [`NodeRow::read_stateless`]: nodes from a row number downwards.
pub(super) const DESCENDING: &str = concat!("SELECT ", node!(), " FROM nodes n WHERE n.seq <= ?1 ORDER BY n.seq DESC");

/// Statement of [`States`]: the next state at or below a row number.
const STATES: &str = concat!("SELECT ", state!(), " FROM node_state s WHERE s.node <= ?1 ORDER BY s.node DESC LIMIT 1");

/// A decoded node whose references are row numbers.
pub(super) struct NodeRow {
    pub(super) node: Node,
    pub(super) row: i64,
    pub(super) parent: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) tree: i64,
    pub(super) author: i64,
    pub(super) session: Option<i64>,
    pub(super) edited_from: Option<i64>,
    pub(super) hidden_by: Option<i64>,
    pub(super) bookmarked: bool,
    /// Stored count; `None`: the node has no state, and so at most one continuation.
    pub(super) continuations: Option<u32>,
}

impl NodeRow {
    /// Decodes the columns of [`NODE`]. [`UlidCache::finish`](super::ulid_cache::UlidCache::finish) fills in the ids that it refers to.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut node = Self::read_stateless(row)?;
        // Most nodes have no state.
        if row.get_ref(STATE)? != ValueRef::Null {
            StateRow::read(row, STATE)?.put(&mut node);
        }
        Ok(node)
    }

    /// Decodes the columns of [`COLUMNS`]: a node without its state. Decoding dominates the cost of a long path, so
    /// each column is read once, and the columns that few nodes have only if the last one says that one is set.
    pub(super) fn read_stateless(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut node = Self::read_common(row)?;
        if row.get(25)? {
            node.version_of = row.get(14)?;
            node.edited_from = row.get(13)?;
            let record = &mut node.node;
            record.role = role(row)?;
            record.raw = row.get(23)?;
            record.tool = ToolCallFields { calls: json(row, 20)?, call_id: row.get(18)?, name: row.get(19)? };
            record.purged_at = row.get::<_, Option<i64>>(17)?.map(Timestamp::from_millis);
            record.metadata = json(row, 21)?;
        }
        Ok(node)
    }

    fn read_common(row: &Row<'_>) -> rusqlite::Result<Self> {
        let seq: i64 = row.get(0)?;
        let local = row.get_ref(3)?.as_str()?;
        let session: Option<i64> = row.get(11)?;
        Ok(Self {
            row: seq,
            parent: row.get(4)?,
            version_of: None,
            tree: row.get(2)?,
            author: row.get(7)?,
            session,
            edited_from: None,
            hidden_by: None,
            bookmarked: false,
            continuations: None,
            node: Node {
                id: NodeId::from_bytes(row.get(1)?),
                local: LocalId::try_from(local).map_err(|e| conversion_error(3, Type::Text, e))?,
                tree: TreeId::from_bytes([0; 16]),
                parent: None,
                seq: u64::try_from(seq).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, seq))?,
                kind: coded(row, 6, EdgeKind::from_code)?,
                author: AgentId::from_bytes([0; 16]),
                author_type: coded(row, 8, AuthorType::from_code)?,
                role: None,
                content: row.get(22)?,
                raw: None,
                tool: ToolCallFields::default(),
                tokens: row.get(15)?,
                depth: row.get(5)?,
                created_at: Timestamp::from_millis(row.get(9)?),
                edited_from: None,
                version_of: None,
                session: None,
                turn: if session.is_some() { row.get(12)? } else { None },
                hash: hash(row, 10)?,
                interrupted: row.get(16)?,
                purged_at: None,
                metadata: None,
                state: NodeState::default(),
            },
        })
    }
}

/// Decodes a node's hash, in the form of either version.
pub(super) fn hash(row: &Row<'_>, at: usize) -> rusqlite::Result<ContentHash> {
    let bytes = row.get_ref(at)?.as_blob()?;
    ContentHash::from_bytes(bytes).ok_or_else(|| rusqlite::Error::InvalidColumnType(at, "hash".to_owned(), Type::Blob))
}

fn role(row: &Row<'_>) -> rusqlite::Result<Option<AuthorType>> {
    if row.get_ref(24)? == ValueRef::Null { Ok(None) } else { coded(row, 24, AuthorType::from_code).map(Some) }
}

/// A row of `node_state`: counts and flags of a node.
#[derive(Default)]
pub(super) struct StateRow {
    node: i64,
    state: NodeState,
    hidden_by: Option<i64>,
    bookmarked: bool,
}

impl StateRow {
    /// Number of versions of the place that were ever added.
    pub(super) fn versions(&self) -> u32 {
        self.state.versions
    }

    fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            node: row.get(at)?,
            state: NodeState {
                continuations: row.get(at + 1)?,
                annotations: row.get(at + 2)?,
                links: row.get(at + 3)?,
                versions: row.get(at + 4)?,
                hidden_by: None,
                excluded: row.get(at + 7)?,
                bookmark: None,
            },
            bookmarked: row.get(at + 5)?,
            hidden_by: row.get(at + 6)?,
        })
    }

    pub(super) fn put(self, node: &mut NodeRow) {
        node.hidden_by = self.hidden_by;
        node.bookmarked = self.bookmarked;
        node.continuations = Some(self.state.continuations);
        node.node.state = self.state;
    }
}

/// A reader of states for nodes in descending order. Few nodes have a state, so looking up the next state costs less
/// than a join.
pub(super) struct States<'c> {
    statement: CachedStatement<'c>,
    /// First state at or below the last node.
    next: Option<StateRow>,
    /// Last node for which `next` was looked up.
    from: i64,
}

impl<'c> States<'c> {
    pub(super) fn new(conn: &'c Connection) -> Result<Self> {
        Ok(Self { statement: conn.prepare_cached(STATES)?, next: None, from: i64::MIN })
    }

    /// Sets the state of a row of a path.
    pub(super) fn put(&mut self, record: &mut impl PathRecord) -> Result<()> {
        let at = record.row();
        let passed = at > self.from || self.next.as_ref().is_some_and(|next| next.node > at);
        if passed {
            self.next = self.statement.query_row([at], |row| StateRow::read(row, 0)).optional()?;
            self.from = at;
        }
        if let Some(state) = self.next.take_if(|next| next.node == at) {
            record.put(state);
            self.from = i64::MIN;
        }
        Ok(())
    }
}

/// Decodes a number that must be an enum's code.
pub(super) fn coded<T>(row: &Row<'_>, index: usize, decode: impl Fn(i64) -> Option<T>) -> rusqlite::Result<T> {
    let code: i64 = row.get(index)?;
    decode(code).ok_or(rusqlite::Error::IntegralValueOutOfRange(index, code))
}

/// Decodes an optional text that must be JSON.
pub(super) fn json(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Json>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| Json::parse(text).map_err(|e| conversion_error(index, Type::Text, e))).transpose()
}

/// Deserializes a value from JSON text.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    serde_json::from_str(&text).map_err(|e| conversion_error(index, Type::Text, e))
}

fn conversion_error(
    index: usize,
    kind: Type,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(error))
}

/// Decodes a journal entry.
pub(super) fn entry_of(row: &Row<'_>) -> rusqlite::Result<JournalEntry> {
    let local: Option<String> = row.get(9)?;
    let undo = row.get_ref(12)?.as_str_or_null()?;
    let undo = undo.map(serde_json::from_str).transpose().map_err(|error| undecodable(12, &error))?;
    let (subject, replaced) = undo.as_ref().map_or((None, false), Mutation::describe_inverse);
    Ok(JournalEntry {
        seq: row.get(0)?,
        group: row.get(1)?,
        at: Timestamp::from_millis(row.get(2)?),
        agent: AgentId::from_bytes(row.get(3)?),
        session: row.get::<_, Option<[u8; 16]>>(4)?.map(SessionId::from_bytes),
        tree: row.get::<_, Option<[u8; 16]>>(5)?.map(TreeId::from_bytes),
        op: coded(row, 6, Op::from_code)?,
        change: coded(row, 7, ChangeKind::from_code)?.as_str().to_owned(),
        node: row.get::<_, Option<[u8; 16]>>(8)?.map(NodeId::from_bytes),
        local: local.and_then(|l| LocalId::try_from(l).ok()),
        target: row.get(10)?,
        subject,
        replaced,
    })
}

/// The error of undo data that does not decode. That of serde lists every known mutation.
fn undecodable(column: usize, error: &serde_json::Error) -> rusqlite::Error {
    let error = format!("undo data is damaged at line {}, column {}", error.line(), error.column());
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

/// Decodes a work item from two columns; `None` if they are null.
pub(super) fn item(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<WorkItem>> {
    let (project, external_ref): (Option<String>, Option<String>) = (row.get(at)?, row.get(at + 1)?);
    Ok(project.zip(external_ref).map(|(project, external_ref)| WorkItem { project, external_ref }))
}
