//! The reads of a group's appends, in one round trip with `BEGIN`: first the [locks](super::group_locks) of their trees in the
//! order of ids, so that two servers do not wait for each other, then sessions, parents, leases, local ids and states.

use std::{sync::LazyLock, time::Duration};

use tokio_postgres::Row;

use super::{
    apply::{BASE, WriteState},
    apply_nodes::{PLACE, PLACE_STATE, place, place_state},
    connection::{Isolation, PgStatement, PostgresConnection, lock_timeout, renumbered, statement},
    decode::{FROM, coded, get, int, opt_int},
    group_locks::{GroupKeys, TREES, TreeName, list},
    pending_rows::PgSessionRow,
    uuid::Uuid,
};
use crate::{
    id::NodeId,
    session_state::CompiledRules,
    store::{Change, Result},
};

/// Columns of [`session_row`].
pub(super) const SESSION: &str = "SELECT id, tree, position, turn_count, since, active FROM sessions";

pub(super) fn session_row(row: &Row) -> Result<PgSessionRow> {
    Ok(PgSessionRow {
        tree: get(row, 1)?,
        position: opt_int(row, 2)?,
        turn_count: int(row, 3)?,
        since: int(row, 4)?,
        active: get(row, 5)?,
    })
}

/// The kind of a row that a statement of the round trip reads, in its last column.
#[derive(Debug, Clone, Copy)]
pub(super) enum GroupRow {
    Lock,
    Session,
    Base,
    Place,
    Lease,
    Agent,
    LocalId,
    State,
}

impl GroupRow {
    const ALL: [Self; 8] =
        [Self::Lock, Self::Session, Self::Base, Self::Place, Self::Lease, Self::Agent, Self::LocalId, Self::State];

    fn from_code(code: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// Types of the columns of a row but its kind: those of [`PLACE`] and [`PLACE_STATE`], and a text.
const ROW_TYPES: [&str; 13] = [
    "uuid", "uuid", "bigint", "bigint", "bigint", "bigint", "bytea", "bigint", "bigint", "bigint", "bigint", "boolean",
    "text",
];
/// The column of the text.
const TEXT: usize = ROW_TYPES.len() - 1;

/// A query whose rows have the columns of [`ROW_TYPES`], of which it fills some.
fn select(kind: GroupRow, filled: &[(usize, &str)], from: &str) -> String {
    let column = |(at, of): (usize, &&str)| match filled.iter().find(|(place, _)| *place == at) {
        Some((_, expression)) => (*expression).to_owned(),
        None => format!("NULL::{of}"),
    };
    let columns: Vec<String> = ROW_TYPES.iter().enumerate().map(column).collect();
    format!("SELECT {}, {}::bigint {from}", columns.join(", "), kind as i64)
}

/// Reads what is not locked: nodes `$2`, positions `$3` of sessions, leases, agents `$4`, states of sessions `$5`, and the
/// number of the transaction. `$6` is the longest wait for further locks. The rest are the parameters of [`LOCAL_IDS`].
static READS: LazyLock<String> = LazyLock::new(|| {
    let columns = format!("{PLACE}, {}, NULL::text, {}::bigint", *PLACE_STATE, GroupRow::Place as i64);
    [
        select(GroupRow::Base, &[(2, BASE), (TEXT, "set_config('lock_timeout', $6, true)")], ""),
        format!("{columns} {FROM} WHERE n.id = ANY($2)"),
        format!("{columns} {FROM} JOIN sessions x ON n.tree = x.tree AND n.seq = x.position WHERE x.id = ANY($3)"),
        select(GroupRow::Lease, &[(1, "tree"), (2, "node")], &format!("FROM leases WHERE tree = {}", *TREES)),
        select(GroupRow::Agent, &[(0, "id")], "FROM agents WHERE id = ANY($4)"),
        select(
            GroupRow::State,
            &[(0, "session"), (2, "rules"), (TEXT, "state")],
            "FROM registers WHERE session = ANY($5)",
        ),
        renumbered(&LOCAL_IDS, 6),
    ]
    .join(" UNION ALL ")
});

/// Locks the trees of a group, and reads what its appends need. With an isolation, in a new transaction. It waits for a further
/// lock as long as `wait`.
pub(super) fn read<'c>(
    conn: &PostgresConnection,
    state: &mut WriteState,
    changes: impl Iterator<Item = &'c Change>,
    rules: &CompiledRules,
    (isolation, wait): (Option<Isolation>, Duration),
) -> Result<()> {
    let keys = GroupKeys::of(changes, rules);
    let [trees, nodes, positions] = [&keys.trees, &keys.nodes, &keys.positions].map(list);
    let (agents, states, wait) = (list(&keys.agents), list(&keys.states), lock_timeout(wait).to_string());
    let mut reads = statement!(&*READS, trees, nodes, positions, agents, states, wait);
    reads.params.extend(taken_local_ids(&keys.locals).params);
    state.compared_ids.extend(keys.locals.iter().map(|row| row.0));
    state.session_states.extend(keys.states.iter().map(|session| (*session, None)));
    for row in conn.pipeline(isolation, &[keys.locks(), reads])?.iter().flatten() {
        store(state, row)?;
    }
    for tree in &state.locked {
        state.leases.entry(*tree).or_default();
    }
    state.check_order()
}

/// Reads which of the local ids `$1` are taken in the trees that `$2` to `$4` name.
static LOCAL_IDS: LazyLock<String> = LazyLock::new(|| {
    select(
        GroupRow::LocalId,
        &[(1, "n.tree"), (TEXT, "n.local_id")],
        "FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) w (local, tree, node, session)
             JOIN nodes n ON n.local_id = w.local AND n.tree = coalesce(w.tree,
                 (SELECT p.tree FROM nodes p WHERE p.id = w.node), (SELECT x.tree FROM sessions x WHERE x.id = w.session))",
    )
});

/// The wanted local ids that are taken in their trees.
fn taken_local_ids(wanted: &[(NodeId, String, TreeName)]) -> PgStatement<'_> {
    let name = |choose: fn(TreeName) -> Option<Uuid>| wanted.iter().map(|row| choose(row.2)).collect::<Vec<_>>();
    statement!(
        &*LOCAL_IDS,
        wanted.iter().map(|row| row.1.as_str()).collect::<Vec<_>>(),
        name(|tree| if let TreeName::Tree(id) = tree { Some(id) } else { None }),
        name(|tree| if let TreeName::Node(id) = tree { Some(id) } else { None }),
        name(|tree| if let TreeName::Session(id) = tree { Some(id) } else { None }),
    )
}

/// Reads which wanted local ids of a change are taken, unless its group did.
pub(super) fn compare_local_ids(
    conn: &PostgresConnection,
    state: &mut WriteState,
    change: &Change,
    rules: &CompiledRules,
) -> Result<()> {
    let mut keys = GroupKeys::of([change], rules);
    keys.locals.retain(|row| !state.compared_ids.contains(&row.0));
    if keys.locals.is_empty() {
        return Ok(());
    }
    // The parent may be a node that is not written yet.
    for (_, _, tree) in &mut keys.locals {
        if let TreeName::Node(id) = *tree
            && let Some(known) = state.nodes.get(&NodeId::from_bytes(id.0))
        {
            *tree = TreeName::Tree(known.tree);
        }
    }
    state.compared_ids.extend(keys.locals.iter().map(|row| row.0));
    for row in conn.pipeline(None, &[taken_local_ids(&keys.locals)])?.iter().flatten() {
        store(state, row)?;
    }
    Ok(())
}

/// Keeps a row for the changes of the group.
fn store(state: &mut WriteState, row: &Row) -> Result<()> {
    match coded(row, row.len() - 1, GroupRow::from_code)? {
        GroupRow::Lock => state.add_lock(get(row, 0)?, int(row, 2)?),
        GroupRow::Session => _ = state.sessions.insert(get(row, 0)?, session_row(row)?),
        GroupRow::Base => state.set_base(int(row, 2)?),
        GroupRow::Place => {
            let place = place(row)?;
            // A session may have moved to another tree before it was locked.
            if state.locked.contains(&place.tree) {
                state.states.insert((place.tree, place.seq), place_state(row, 9)?);
            }
            state.add_place(place);
        }
        GroupRow::Lease => _ = state.leases.entry(get(row, 1)?).or_default().insert(int(row, 2)?),
        GroupRow::Agent => _ = state.agents.insert(get(row, 0)?),
        GroupRow::LocalId => _ = state.taken_ids.insert((get(row, 1)?, get(row, TEXT)?)),
        GroupRow::State => _ = state.session_states.insert(get(row, 0)?, Some((int(row, 2)?, get(row, TEXT)?))),
    }
    Ok(())
}
