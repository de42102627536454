//! Columns of nodes that come together: what few nodes have as a record, and the states of a block of nodes as arrays.

use std::{collections::HashMap, error::Error};

use foldhash::fast::RandomState;
use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};

use super::decode::{get, undecodable};
use crate::{store::Result, types::NodeState};

/// The columns of a node that most nodes do not have.
#[derive(Default)]
pub(super) struct RareColumns<'a> {
    pub(super) role: Option<i64>,
    pub(super) edited_from: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) purged_at: Option<i64>,
    pub(super) interrupted: bool,
    pub(super) tool_call_id: Option<&'a str>,
    pub(super) tool_name: Option<&'a str>,
    pub(super) tool_calls: Option<&'a str>,
    pub(super) metadata: Option<&'a str>,
    pub(super) raw: Option<&'a str>,
}

type FromSqlError = Box<dyn Error + Sync + Send>;

/// The fields of a record, whose number comes first, then for each its type, its length (-1: null) and its bytes.
fn fields<const COUNT: usize>(raw: &[u8]) -> std::result::Result<[Option<&[u8]>; COUNT], FromSqlError> {
    let mut rest = raw.get(4..).ok_or("a short record")?;
    let mut fields = [None; COUNT];
    for field in &mut fields {
        let (head, after) = rest.split_at_checked(8).ok_or("a short record")?;
        let length = i32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let (bytes, after) = after.split_at_checked(usize::try_from(length).unwrap_or(0)).ok_or("a short record")?;
        rest = after;
        *field = (length >= 0).then_some(bytes);
    }
    Ok(fields)
}

fn number(field: Option<&[u8]>) -> std::result::Result<Option<i64>, FromSqlError> {
    field.map(|bytes| i64::from_sql(&Type::INT8, bytes)).transpose()
}

fn flag(field: Option<&[u8]>) -> std::result::Result<bool, FromSqlError> {
    field.map_or(Ok(false), |bytes| bool::from_sql(&Type::BOOL, bytes))
}

fn text(field: Option<&[u8]>) -> std::result::Result<Option<&str>, FromSqlError> {
    field.map(|bytes| <&str>::from_sql(&Type::TEXT, bytes)).transpose()
}

impl<'a> FromSql<'a> for RareColumns<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, FromSqlError> {
        let [role, edited_from, version_of, purged_at, interrupted, call_id, name, calls, metadata, raw] = fields(raw)?;
        Ok(Self {
            role: number(role)?,
            edited_from: number(edited_from)?,
            version_of: number(version_of)?,
            purged_at: number(purged_at)?,
            interrupted: flag(interrupted)?,
            tool_call_id: text(call_id)?,
            tool_name: text(name)?,
            tool_calls: text(calls)?,
            metadata: text(metadata)?,
            raw: text(raw)?,
        })
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::RECORD
    }
}

/// States that say more than a number of continuations.
macro_rules! has_marks {
    () => {
        "s.annotations <> 0 OR s.links <> 0 OR s.versions <> 0 OR s.bookmarked OR s.hidden_by IS NOT NULL OR s.excluded"
    };
}
/// States that say more than that a node has one continuation. Older versions wrote others too: a node whose continuation is
/// on the path has no other.
pub(super) const SAYS_MORE: &str = concat!("s.continuations <> 1 OR ", has_marks!());

/// Columns of many states as arrays in one row, in the order that [`states`] reads them. Most states are a number of
/// continuations, so the other columns are one, which is null for these.
pub(super) const STATE_ARRAYS: &str = concat!(
    "array_agg(s.node), array_agg(s.continuations), array_agg(CASE WHEN ",
    has_marks!(),
    " THEN ROW(s.annotations, s.links, s.versions, s.bookmarked, s.hidden_by, s.excluded) END)"
);
/// Number of columns of [`STATE_ARRAYS`].
pub(super) const STATE_ARRAY_COUNT: usize = 3;

/// A row of `node_state`.
#[derive(Debug)]
pub(super) struct PgStateRow {
    pub(super) state: NodeState,
    pub(super) bookmarked: bool,
    pub(super) hidden_by: Option<i64>,
}

/// The columns of a state but for its continuations.
#[derive(Default)]
struct StateMarks {
    annotations: i64,
    links: i64,
    versions: i64,
    bookmarked: bool,
    hidden_by: Option<i64>,
    excluded: bool,
}

impl StateMarks {
    fn read(record: &[u8]) -> std::result::Result<Self, FromSqlError> {
        let [annotations, links, versions, bookmarked, hidden_by, excluded] = fields(record)?;
        Ok(Self {
            annotations: number(annotations)?.unwrap_or_default(),
            links: number(links)?.unwrap_or_default(),
            versions: number(versions)?.unwrap_or_default(),
            bookmarked: flag(bookmarked)?,
            hidden_by: number(hidden_by)?,
            excluded: flag(excluded)?,
        })
    }
}

/// An array of records with the marks of states, of which those without marks are null.
struct StateMarksArray(Vec<StateMarks>);

impl<'a> FromSql<'a> for StateMarksArray {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, FromSqlError> {
        // Five numbers of four bytes, then for each record its length (-1: null) and its bytes.
        let mut rest = raw.get(20..).unwrap_or_default();
        let mut marks = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = usize::try_from(i32::from_be_bytes(*length)).ok();
            let (record, after) = after.split_at_checked(length.unwrap_or(0)).ok_or("a short array")?;
            marks.push(if length.is_some() { StateMarks::read(record)? } else { StateMarks::default() });
            rest = after;
        }
        Ok(Self(marks))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::RECORD_ARRAY
    }
}

/// The states that a row of [`STATE_ARRAYS`] holds, by the numbers of their nodes.
pub(super) fn states(row: &Row) -> Result<HashMap<i64, PgStateRow, RandomState>> {
    let Some(numbers) = get::<Option<Vec<i64>>>(row, 0)? else { return Ok(HashMap::default()) };
    let (continuations, StateMarksArray(marks)): (Vec<i64>, _) = (get(row, 1)?, get(row, 2)?);
    let count = |count| u32::try_from(count).map_err(undecodable);
    let state = |((number, continuations), marks): ((i64, i64), StateMarks)| {
        let state = NodeState {
            continuations: count(continuations)?,
            annotations: count(marks.annotations)?,
            links: count(marks.links)?,
            versions: count(marks.versions)?,
            hidden_by: None,
            excluded: marks.excluded,
            bookmark: None,
        };
        Ok((number, PgStateRow { state, bookmarked: marks.bookmarked, hidden_by: marks.hidden_by }))
    };
    numbers.into_iter().zip(continuations).zip(marks).map(state).collect()
}
