//! Decoding of rows into records. A value that does not decode is an error.

use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};

use super::{
    node_columns::{PgStateRow, RareColumns},
    uuid::Uuid,
};
use crate::{
    id::{AgentId, LocalId, NodeId, SessionId, TreeId},
    store::{ChangeKind, Mutation, Result, StoreError, envelope_compression::unpack},
    types::{
        AuthorType, ContentHash, EdgeKind, JournalEntry, Json, Node, NodeState, Op, Timestamp, ToolCallFields, WorkItem,
    },
};

/// Columns of a node, from `nodes n`. Each costs both sides time, so small numbers come as one, and what few nodes have as one
/// more that is null for the others.
macro_rules! node_columns {
    () => {
        "n.seq, n.id, n.local_id, n.parent, n.kind + 16 * n.author_type + 256 * n.depth, \
         n.author, n.created_at, n.hash, n.session, n.turn, n.tokens, n.content, \
         CASE WHEN n.interrupted OR num_nonnulls(n.role, n.edited_from, n.version_of, n.purged_at, n.tool_call_id, \
             n.tool_name, n.tool_calls, n.metadata, n.raw) > 0 THEN ROW(n.role, n.edited_from, n.version_of, n.purged_at, \
             n.interrupted, n.tool_call_id, n.tool_name, n.tool_calls, n.metadata, n.raw) END"
    };
}

/// Columns of a node without its tree and state, from `nodes n`, and their number.
pub(super) const NODE_ALONE: &str = node_columns!();
const NODE_COLUMNS: usize = 13;

/// Number of continuations (0 or 1) of a node `n` without a row in `node_state`. As in a file, a row is made when it says
/// more: an only child with its parent's visibility needs none. Code that makes a row must set its counts.
macro_rules! only_child {
    () => {
        "(SELECT count(*) FROM nodes c WHERE c.tree = n.tree AND c.parent = n.seq AND c.kind = 0)"
    };
}
pub(super) const ONLY_CHILD: &str = only_child!();

/// Continuations of a node, selected from [`FROM`].
macro_rules! continuations {
    () => {
        concat!("coalesce(s.continuations, ", only_child!(), ")")
    };
}
pub(super) const CONTINUATIONS: &str = continuations!();

/// Columns of a node's state, selected from [`FROM`].
macro_rules! state_columns {
    () => {
        concat!(continuations!(), ", s.annotations, s.links, s.versions, s.bookmarked, s.hidden_by, s.excluded")
    };
}
pub(super) const STATE: &str = state_columns!();

/// Columns of a node, its tree and its state, selected from [`FROM`].
pub(super) const NODE: &str = concat!(node_columns!(), ", n.tree, ", state_columns!());

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

/// Reads a local id.
pub(super) fn local_id(row: &Row, at: usize) -> Result<LocalId> {
    LocalId::try_from(get::<&str>(row, at)?).map_err(undecodable)
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
    /// True if the state was read or follows from other rows.
    pub(super) is_state_known: bool,
    pub(super) edited_from: Option<i64>,
    pub(super) bookmarked: bool,
}

impl PgNodeRow {
    /// Decodes the columns of [`NODE`]. [`super::complete_nodes::finish`] fills in the ids that it refers to.
    pub(super) fn read(row: &Row) -> Result<Self> {
        let mut node = Self::read_alone(row, id(row, NODE_COLUMNS, TreeId::from_bytes)?)?;
        node.set_state(row, NODE_COLUMNS + 1)?;
        Ok(node)
    }

    /// Decodes the columns of [`STATE`], which begin at a column.
    pub(super) fn set_state(&mut self, row: &Row, at: usize) -> Result<()> {
        self.set_continuations(small(row, at)?);
        // A node without a row has no marks.
        if opt_int(row, at + 1)?.is_none() {
            return Ok(());
        }
        let state = NodeState {
            continuations: small(row, at)?,
            annotations: small(row, at + 1)?,
            links: small(row, at + 2)?,
            versions: small(row, at + 3)?,
            hidden_by: None,
            excluded: get(row, at + 6)?,
            bookmark: None,
        };
        self.keep(PgStateRow { state, bookmarked: get(row, at + 4)?, hidden_by: opt_int(row, at + 5)? });
        Ok(())
    }

    /// Sets the state.
    pub(super) fn keep(&mut self, row: PgStateRow) {
        self.node.state = row.state;
        (self.bookmarked, self.hidden_by, self.is_state_known) = (row.bookmarked, row.hidden_by, true);
    }

    /// Sets the state of a node without marks.
    pub(super) fn set_continuations(&mut self, continuations: u32) {
        self.node.state.continuations = continuations;
        self.is_state_known = true;
    }

    /// Decodes the columns of [`NODE_ALONE`].
    pub(super) fn read_alone(row: &Row, tree: TreeId) -> Result<Self> {
        let session = opt_id(row, 8, SessionId::from_bytes)?;
        let place = int(row, 4)?;
        let unknown = || undecodable(format!("a kind, author or role has an unknown code in {place}"));
        let rare = get::<Option<RareColumns<'_>>>(row, 12)?.unwrap_or_default();
        let json = |text: Option<&str>| text.map(Json::parse).transpose().map_err(undecodable);
        Ok(Self {
            seq: int(row, 0)?,
            parent: opt_int(row, 3)?,
            version_of: rare.version_of,
            edited_from: rare.edited_from,
            hidden_by: None,
            is_state_known: false,
            bookmarked: false,
            node: Node {
                id: id(row, 1, NodeId::from_bytes)?,
                local: local_id(row, 2)?,
                tree,
                parent: None,
                seq: number(row, 0)?,
                kind: EdgeKind::from_code(place & 15).ok_or_else(unknown)?,
                author: id(row, 5, AgentId::from_bytes)?,
                author_type: AuthorType::from_code((place >> 4) & 15).ok_or_else(unknown)?,
                role: rare.role.map(|code| AuthorType::from_code(code).ok_or_else(unknown)).transpose()?,
                content: get(row, 11)?,
                raw: rare.raw.map(str::to_owned),
                tool: ToolCallFields {
                    calls: json(rare.tool_calls)?,
                    call_id: rare.tool_call_id.map(str::to_owned),
                    name: rare.tool_name.map(str::to_owned),
                },
                tokens: opt_int(row, 10)?.map(|tokens| u32::try_from(tokens).map_err(undecodable)).transpose()?,
                depth: u32::try_from(place >> 8).map_err(undecodable)?,
                created_at: time(row, 6)?,
                edited_from: None,
                version_of: None,
                session,
                turn: if session.is_some() { opt_int(row, 9)?.map(i64::unsigned_abs) } else { None },
                hash: ContentHash::from_bytes(get(row, 7)?).ok_or_else(|| undecodable("a hash has another length"))?,
                interrupted: rare.interrupted,
                purged_at: rare.purged_at.map(Timestamp::from_millis),
                metadata: json(rare.metadata)?,
                state: NodeState::default(),
            },
        })
    }

    pub(super) fn key(&self, seq: i64) -> NodeKey {
        NodeKey { tree: self.node.tree, seq }
    }
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
