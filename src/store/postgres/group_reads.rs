//! The reads of a group's appends, in one round trip with `BEGIN`: first the locks of their trees in the order of ids, so
//! that two servers do not wait for each other, then sessions, parents, leases, local ids and states.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::Row;

use super::{
    apply::WriteState,
    apply_nodes::{PLACE, place},
    connection::{PLANS, PgStatement, PostgresConnection, statement},
    decode::{get, int, opt_int},
    uuid::Uuid,
    writing::{PgNodeState, PgSessionRow},
};
use crate::{
    id::NodeId,
    session_state::{CompiledRules, TurnRecord},
    store::{Change, Mutation, PurgeTarget, Result, new_node::wanted_local_id},
    types::{NewNode, Parent},
};

/// Columns of [`session_row`].
pub(super) const SESSION: &str = "SELECT id, tree, position, turn_count, since FROM sessions";

pub(super) fn session_row(row: &Row) -> Result<PgSessionRow> {
    Ok(PgSessionRow { tree: get(row, 1)?, position: opt_int(row, 2)?, turn_count: int(row, 3)?, since: int(row, 4)? })
}

/// The name of an append's tree: its own, or that of a node or session in it.
#[derive(Debug, Clone, Copy)]
enum TreeName {
    Tree(Uuid),
    Node(Uuid),
    Session(Uuid),
}

/// Keys of the rows that a group reads.
#[derive(Default)]
struct GroupKeys {
    agents: BTreeSet<Uuid>,
    trees: BTreeSet<Uuid>,
    nodes: BTreeSet<Uuid>,
    /// Sessions whose tree is written.
    positions: BTreeSet<Uuid>,
    sessions: BTreeSet<Uuid>,
    /// Sessions whose state an append may change.
    states: BTreeSet<Uuid>,
    /// The wanted local id of each appended node, and its tree.
    locals: Vec<(NodeId, String, TreeName)>,
}

impl GroupKeys {
    fn of<'c>(changes: impl Iterator<Item = &'c Change>, rules: &CompiledRules) -> Self {
        let mut keys = Self::default();
        let mut appended = HashMap::new();
        for change in changes {
            keys.agents.insert(change.agent.into());
            keys.sessions.extend(change.session.map(Uuid::from));
            for mutation in &change.mutations {
                match mutation {
                    Mutation::Append(node) => keys.append(node, change.session.map(Uuid::from), &mut appended, rules),
                    _ => keys.lock(mutation),
                }
            }
        }
        keys
    }

    fn append(
        &mut self,
        node: &NewNode,
        session: Option<Uuid>,
        appended: &mut HashMap<NodeId, TreeName>,
        rules: &CompiledRules,
    ) {
        let tree = match node.parent {
            Parent::Root(id) => TreeName::Tree(id.into()),
            Parent::Node(id) => appended.get(&id).copied().unwrap_or(TreeName::Node(id.into())),
            Parent::Position(id) => TreeName::Session(id.into()),
        };
        match tree {
            TreeName::Tree(id) => self.trees.insert(id),
            TreeName::Node(id) => self.nodes.insert(id),
            TreeName::Session(id) => self.positions.insert(id) && self.sessions.insert(id),
        };
        let others = [node.edited_from, node.version_of].into_iter().flatten();
        self.nodes.extend(others.filter(|id| !appended.contains_key(id)).map(Uuid::from));
        self.agents.insert(node.author.into());
        let session = node.turn.map(|turn| turn.0.into()).or(session);
        self.sessions.extend(session);
        if TurnRecord::of(node, 0).is_relevant(rules) {
            self.states.extend(session);
        }
        self.locals.push((node.id, wanted_local_id(node).as_str().to_owned(), tree));
        appended.insert(node.id, tree);
    }

    /// Adds the tree that a mutation writes, so that it is locked with the others.
    fn lock(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::Prune { node }
            | Mutation::Restore { node }
            | Mutation::SetExcluded { node, .. }
            | Mutation::SetBookmark { node, .. }
            | Mutation::CopyBranch { to: node, .. }
            | Mutation::AppendDelegationEvent { node, .. }
            | Mutation::ReceiveTurn { node, .. }
            | Mutation::Lease { node, .. }
            | Mutation::Release { node, .. }
            | Mutation::Purge(PurgeTarget::Node(node)) => _ = self.nodes.insert((*node).into()),
            Mutation::UpdateTree { tree, .. }
            | Mutation::SetArchived { tree, .. }
            | Mutation::Purge(PurgeTarget::Tree(tree)) => _ = self.trees.insert((*tree).into()),
            Mutation::CreateSession(session) => _ = self.trees.insert(session.tree.into()),
            Mutation::UpdateSession { session, .. } | Mutation::Record { session, .. } => {
                self.positions.insert((*session).into());
            }
            _ => {}
        }
    }
}

/// The rows that a statement of the round trip reads.
#[derive(Clone, Copy)]
enum GroupRead {
    Nothing,
    Locks,
    Base,
    Sessions,
    Places,
    Leases,
    Agents,
    LocalIds,
    States,
}

/// The trees of the group; uses three parameters.
const TREES: &str = "ANY(ARRAY(SELECT unnest($1::uuid[]) UNION SELECT tree FROM nodes WHERE id = ANY($2::uuid[])
    UNION SELECT tree FROM sessions WHERE id = ANY($3::uuid[])))";

fn list(keys: &BTreeSet<Uuid>) -> Vec<Uuid> {
    keys.iter().copied().collect()
}

/// Begins a transaction, locks the trees of a group, and reads what its appends need.
pub(super) fn begin<'c>(
    conn: &PostgresConnection,
    state: &mut WriteState,
    changes: impl Iterator<Item = &'c Change>,
    rules: &CompiledRules,
) -> Result<()> {
    let keys = GroupKeys::of(changes, rules);
    let locks = format!(
        "SELECT tree, greatest(last_node, last_journal) FROM tree_state WHERE tree = {TREES} ORDER BY tree FOR UPDATE"
    );
    let sessions = format!("{SESSION} WHERE id = ANY($1) ORDER BY id FOR UPDATE");
    let columns = format!("{PLACE}, coalesce(s.continuations, 0), s.hidden_by");
    let joined = "LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq";
    let places = format!(
        "{columns} FROM nodes n {joined} WHERE n.id = ANY($1)
         UNION ALL {columns} FROM sessions x JOIN nodes n ON n.tree = x.tree AND n.seq = x.position {joined}
         WHERE x.id = ANY($2)"
    );
    let leases = format!("SELECT tree, node FROM leases WHERE tree = {TREES}");
    let named = || [list(&keys.trees), list(&keys.nodes), list(&keys.positions)];
    let mut reads: Vec<(GroupRead, PgStatement<'_>)> =
        ["BEGIN", PLANS].map(|sql| (GroupRead::Nothing, statement!(sql))).into();
    if named().iter().any(|keys| !keys.is_empty()) {
        let [trees, nodes, positions] = named();
        reads.push((GroupRead::Locks, statement!(&locks, trees, nodes, positions)));
        reads.push((GroupRead::Base, statement!(super::apply::BASE)));
    }
    if !keys.sessions.is_empty() {
        reads.push((GroupRead::Sessions, statement!(&sessions, list(&keys.sessions))));
    }
    if !keys.locals.is_empty() {
        let [trees, nodes, positions] = named();
        reads.push((GroupRead::Places, statement!(&places, nodes.clone(), positions.clone())));
        reads.push((GroupRead::Leases, statement!(&leases, trees, nodes, positions)));
        reads.push((GroupRead::LocalIds, taken_local_ids(&keys.locals)));
    }
    reads.push((GroupRead::Agents, statement!("SELECT id FROM agents WHERE id = ANY($1)", list(&keys.agents))));
    if !keys.states.is_empty() {
        let sql = "SELECT session, rules, state FROM registers WHERE session = ANY($1)";
        reads.push((GroupRead::States, statement!(sql, list(&keys.states))));
    }
    let (kinds, statements): (Vec<_>, Vec<_>) = reads.into_iter().unzip();
    for (kind, rows) in kinds.into_iter().zip(conn.pipeline(&statements)?) {
        store(state, &keys, kind, &rows)?;
    }
    state.check_order()
}

/// The wanted local ids that are taken in their trees.
fn taken_local_ids(wanted: &[(NodeId, String, TreeName)]) -> PgStatement<'_> {
    let name = |choose: fn(TreeName) -> Option<Uuid>| wanted.iter().map(|row| choose(row.2)).collect::<Vec<_>>();
    statement!(
        "SELECT n.tree, n.local_id FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) w (local, tree, node, session)
             JOIN nodes n ON n.local_id = w.local AND n.tree = coalesce(w.tree,
                 (SELECT p.tree FROM nodes p WHERE p.id = w.node), (SELECT x.tree FROM sessions x WHERE x.id = w.session))",
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
    let mut keys = GroupKeys::of(std::iter::once(change), rules);
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
    let rows = conn.pipeline(&[taken_local_ids(&keys.locals)])?;
    store(state, &keys, GroupRead::LocalIds, rows.first().map_or(&[], Vec::as_slice))
}

/// Keeps the rows of a statement for the changes of the group.
fn store(state: &mut WriteState, keys: &GroupKeys, kind: GroupRead, rows: &[Row]) -> Result<()> {
    if matches!(kind, GroupRead::LocalIds) {
        state.compared_ids.extend(keys.locals.iter().map(|row| row.0));
    }
    if matches!(kind, GroupRead::Leases) {
        state.leases.extend(state.locked.iter().map(|tree| (*tree, BTreeSet::new())));
    }
    if matches!(kind, GroupRead::States) {
        state.session_states.extend(keys.states.iter().map(|session| (*session, None)));
    }
    for row in rows {
        match kind {
            GroupRead::Nothing => {}
            GroupRead::Locks => state.add_lock(get(row, 0)?, int(row, 1)?),
            GroupRead::Base => state.set_base(int(row, 0)?),
            GroupRead::Sessions => _ = state.sessions.insert(get(row, 0)?, session_row(row)?),
            GroupRead::Places => {
                let place = place(row)?;
                let kept = PgNodeState { continuations: int(row, 9)?, hidden_by: opt_int(row, 10)? };
                state.states.insert((place.tree, place.seq), kept);
                state.add_place(place);
            }
            GroupRead::Leases => _ = state.leases.entry(get(row, 0)?).or_default().insert(int(row, 1)?),
            GroupRead::Agents => _ = state.agents.insert(get(row, 0)?),
            GroupRead::LocalIds => _ = state.taken_ids.insert((get(row, 0)?, get(row, 1)?)),
            GroupRead::States => {
                let kept = (int(row, 1)?, get(row, 2)?);
                state.session_states.insert(get(row, 0)?, Some(kept));
            }
        }
    }
    Ok(())
}
