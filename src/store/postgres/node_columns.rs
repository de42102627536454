//! Columns of nodes that come together: what few nodes have as a record, and the states of a block of nodes as arrays.

use std::{collections::HashMap, error::Error};

use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};

use super::decode::{get, undecodable};
use crate::{store::Result, types::NodeState};

/// The columns of a node that most nodes do not have.
#[derive(Default)]
pub(super) struct RareColumns<'a> {
    pub(super) edited_from: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) purged_at: Option<i64>,
    pub(super) tool_call_id: Option<&'a str>,
    pub(super) tool_name: Option<&'a str>,
    pub(super) tool_calls: Option<&'a str>,
    pub(super) metadata: Option<&'a str>,
    pub(super) raw: Option<&'a str>,
}

impl<'a> FromSql<'a> for RareColumns<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn Error + Sync + Send>> {
        // The number of fields, then for each its type, its length (-1: null) and its bytes.
        let mut rest = raw.get(4..).ok_or("a short record")?;
        let mut next = || {
            let (head, after) = rest.split_at_checked(8).ok_or("a short record")?;
            let length = i32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            let (bytes, after) =
                after.split_at_checked(usize::try_from(length).unwrap_or(0)).ok_or("a short record")?;
            rest = after;
            Ok::<_, Box<dyn Error + Sync + Send>>((length >= 0).then_some(bytes))
        };
        let mut numbers = [None; 3];
        for number in &mut numbers {
            *number = next()?.map(|bytes| i64::from_sql(&Type::INT8, bytes)).transpose()?;
        }
        let mut texts = [None; 5];
        for text in &mut texts {
            *text = next()?.map(|bytes| <&str>::from_sql(&Type::TEXT, bytes)).transpose()?;
        }
        let [edited_from, version_of, purged_at] = numbers;
        let [tool_call_id, tool_name, tool_calls, metadata, raw] = texts;
        Ok(Self { edited_from, version_of, purged_at, tool_call_id, tool_name, tool_calls, metadata, raw })
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::RECORD
    }
}

/// Columns of many states as arrays in one row, in the order that [`states`] reads them.
pub(super) const STATE_ARRAYS: &str = "array_agg(s.node), array_agg(s.continuations), array_agg(s.annotations), array_agg(s.links), \
    array_agg(s.versions), array_agg(s.bookmarked), array_agg(s.hidden_by), array_agg(s.excluded)";
/// Number of columns of [`STATE_ARRAYS`].
pub(super) const STATE_ARRAY_COUNT: usize = 8;

/// A row of `node_state`.
#[derive(Debug)]
pub(super) struct PgStateRow {
    pub(super) state: NodeState,
    pub(super) bookmarked: bool,
    pub(super) hidden_by: Option<i64>,
}

/// The states that a row of [`STATE_ARRAYS`] holds, by the numbers of their nodes.
pub(super) fn states(row: &Row) -> Result<HashMap<i64, PgStateRow>> {
    let Some(numbers) = get::<Option<Vec<i64>>>(row, 0)? else { return Ok(HashMap::new()) };
    let counts = [1, 2, 3, 4].map(|at| get::<Vec<i64>>(row, at));
    let [continuations, annotations, links, versions] = counts;
    let counts = [continuations?, annotations?, links?, versions?];
    let (bookmarked, hidden_by): (Vec<bool>, Vec<Option<i64>>) = (get(row, 5)?, get(row, 6)?);
    let excluded: Vec<bool> = get(row, 7)?;
    let state = |(at, number)| {
        let count = |of: usize| u32::try_from(counts[of][at]).map_err(undecodable);
        let state = NodeState {
            continuations: count(0)?,
            annotations: count(1)?,
            links: count(2)?,
            versions: count(3)?,
            hidden_by: None,
            excluded: excluded[at],
            bookmark: None,
        };
        Ok((number, PgStateRow { state, bookmarked: bookmarked[at], hidden_by: hidden_by[at] }))
    };
    numbers.into_iter().enumerate().map(state).collect()
}
