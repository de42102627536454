//! Appends below the newest node of a tree in one round trip, as most of a conversation is. The writer knows that node
//! from its own last append and reads nothing first.
//!
//! One statement writes an append if its parent is still the newest node and nothing is noted about it: a row of `node_state`,
//! or a lease in the tree. It fails if another transaction changed the row of the tree or the session meanwhile, and every
//! transaction that locks a tree changes its row. The writer applies what was not written like other changes.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, LazyLock},
};

use super::{
    apply::{BASE, HOUR, WriteState, signed},
    apply_nodes::replace_nul,
    connection::{Isolation, OwnedParams, PgStatement, PostgresConnection, statement},
    decode::{get, id, int, local_id, opt_int},
    pending_rows::{NODE_COLUMNS, NODE_TYPES, PgNewRow, PgNodeAnchor, arrays, node_params},
    uuid::Uuid,
    writer::{PgWriteJob, WriteConnection, is_lost},
};
use crate::{
    id::{LocalId, NodeId, SessionId},
    session_state::{CompiledRules, TurnRecord},
    store::{
        AppendedNode, Change, ChangeKind, Mutation, Receipt, Result,
        choose_local_id::wanted_local_id,
        envelope_compression,
        new_node::{TurnFigures, hash_of},
    },
    types::{AuthorType, EdgeKind, NewNode, Parent},
};

/// Number of known tips and sessions after which the writer forgets all of them.
const MAX_TIPS: usize = 4_096;

/// The nodes below which this connection appended last.
#[derive(Default)]
pub(super) struct KnownTips {
    nodes: HashMap<NodeId, PgNodeAnchor>,
    /// The node at which each session stands.
    positions: HashMap<SessionId, NodeId>,
    /// Agents that exist. They are never deleted.
    agents: HashSet<Uuid>,
}

impl KnownTips {
    /// Notes the last node of each change of a committed transaction.
    pub(super) fn add<'r>(&mut self, state: &WriteState, written: impl Iterator<Item = (&'r Change, &'r Receipt)>) {
        self.agents.extend(&state.agents);
        for (change, receipt) in written {
            let Some(tip) = receipt.nodes.last().and_then(|node| state.nodes.get(&node.id)) else { continue };
            let position = change.session.and_then(|id| state.sessions.get(&Uuid::from(id)));
            let is_position = position.is_some_and(|row| row.tree == Some(tip.tree) && row.position == Some(tip.seq));
            self.add_tip(*tip, change.session.filter(|_| is_position));
        }
    }

    fn add_tip(&mut self, tip: PgNodeAnchor, position_of: Option<SessionId>) {
        if tip.kind != EdgeKind::Continuation || tip.version_of.is_some() {
            return;
        }
        if self.nodes.len().max(self.positions.len()) >= MAX_TIPS {
            self.nodes.clear();
            self.positions.clear();
        }
        self.nodes.insert(tip.id, tip);
        self.positions.extend(position_of.map(|session| (session, tip.id)));
    }

    /// The appends of a group, if all of its changes are appends below known nodes, in different trees and sessions.
    pub(super) fn appends<'c>(
        &self,
        changes: impl Iterator<Item = &'c Change>,
        rules: &CompiledRules,
    ) -> Result<Option<Vec<TipAppend<'c>>>> {
        let mut appends = Vec::new();
        let (mut trees, mut sessions) = (BTreeSet::new(), BTreeSet::new());
        for change in changes {
            let Some(append) = self.append(change, rules)? else { return Ok(None) };
            let is_first = trees.insert(append.row.place.tree) && change.session.is_none_or(|id| sessions.insert(id));
            if !is_first {
                return Ok(None);
            }
            appends.push(append);
        }
        // Trees are locked in the order of their ids.
        appends.sort_by_key(|append| append.row.place.tree);
        Ok(Some(appends))
    }

    fn append<'c>(&self, change: &'c Change, rules: &CompiledRules) -> Result<Option<TipAppend<'c>>> {
        let Some(node) = only_append(change) else { return Ok(None) };
        let parent = match node.parent {
            Parent::Node(id) => self.nodes.get(&id),
            Parent::Position(id) if change.session == Some(id) => {
                self.positions.get(&id).and_then(|id| self.nodes.get(id))
            }
            Parent::Root(_) | Parent::Position(_) => None,
        };
        let Some(parent) = parent else { return Ok(None) };
        let is_known = [change.agent, node.author].iter().all(|id| self.agents.contains(&Uuid::from(*id)));
        if !is_known || !is_plain(node) || change.session.is_some() && TurnRecord::of(node, 0).is_relevant(rules) {
            return Ok(None);
        }
        let mut node = node.clone();
        [Some(&mut node.content), node.raw.as_mut()].into_iter().flatten().for_each(replace_nul);
        let place = PgNodeAnchor {
            id: node.id,
            tree: parent.tree,
            seq: 0,
            parent: Some(parent.seq),
            depth: parent.depth + 1,
            kind: node.kind,
            hash: hash_of(&node, Some(parent.hash), || None)?,
            version_of: None,
            edited_from: None,
        };
        let local = wanted_local_id(&node);
        let session = change.session.map(|id| (Uuid::from(id), 0));
        let row = PgNewRow { place, local: local.as_str().to_owned(), session, node };
        Ok(Some(TipAppend { change, row, local }))
    }
}

/// True for a new message that depends on no further rows and, but for its envelope, is stored in `nodes` alone.
fn is_plain(node: &NewNode) -> bool {
    node.kind == EdgeKind::Continuation
        && node.edited_from.is_none()
        && node.version_of.is_none()
        && node.local.is_none()
        && node.source.is_none()
        && node.turn.is_none()
        && node.hash.is_none()
        && node.purged_at.is_none()
}

/// The node that a change appends, if it does nothing else.
pub(super) fn only_append(change: &Change) -> Option<&NewNode> {
    match change.mutations.as_slice() {
        [Mutation::Append(node)] => Some(node),
        _ => None,
    }
}

/// An append below a known node. The statement that writes it gives its number and its turn.
pub(super) struct TipAppend<'c> {
    change: &'c Change,
    row: PgNewRow,
    local: LocalId,
}

impl WriteConnection {
    /// Writes the changes of a group in one round trip and answers them, if all are appends at known tips. Those that were
    /// not written stay in the group.
    pub(super) fn append_at_tips(&mut self, group: &mut Vec<PgWriteJob>) {
        // A connection that cannot be opened is an error of what follows.
        if self.conn().is_err() {
            return;
        }
        let rules = Arc::clone(&self.rules);
        let changes = group.iter().map(PgWriteJob::change);
        let (Some(conn), Ok(Some(appends))) = (&self.conn, self.tips.appends(changes, &rules)) else { return };
        let (mut receipts, bytes) = match write(conn, &mut self.tips, appends) {
            Ok(written) => written,
            Err(error) => {
                self.is_unconfirmed = is_lost(&error);
                return;
            }
        };
        self.count_appended(receipts.len(), bytes);
        for job in std::mem::take(group) {
            match only_append(job.change()).and_then(|node| receipts.remove(&node.id)) {
                Some(receipt) => job.answer(receipt),
                None => group.push(job),
            }
        }
    }
}

/// Writes appends in a transaction of their own. Returns the receipts of those that were written, by node, and the bytes of their
/// texts.
fn write(
    conn: &PostgresConnection,
    tips: &mut KnownTips,
    appends: Vec<TipAppend<'_>>,
) -> Result<(HashMap<NodeId, Receipt>, usize)> {
    let statements = [insertion(&appends)?, statement!("COMMIT")];
    let answers = conn.pipeline(Some(Isolation::RepeatableRead), &statements)?;
    drop(statements);
    let mut appends: Vec<_> = appends.into_iter().map(Some).collect();
    let (mut receipts, mut bytes) = (HashMap::new(), 0);
    for row in &answers[0] {
        let at = usize::try_from(int(row, 0)? - 1).unwrap_or(usize::MAX);
        let Some(TipAppend { change, row: PgNewRow { node, mut place, .. }, local }) =
            appends.get_mut(at).and_then(Option::take)
        else {
            continue;
        };
        place.seq = int(row, 1)?;
        receipts.insert(node.id, receipt(node.id, local, (place.seq, opt_int(row, 2)?)));
        let parent = match node.parent {
            Parent::Node(id) => Some(id),
            Parent::Position(session) => tips.positions.get(&session).copied(),
            Parent::Root(_) => None,
        };
        parent.map(|id| tips.nodes.remove(&id));
        tips.add_tip(place, change.session.filter(|_| get(row, 3).unwrap_or(false)));
        bytes += node.content.len();
    }
    Ok((receipts, bytes))
}

/// The receipt of an append whose entry follows its node.
fn receipt(id: NodeId, local: LocalId, (seq, turn): (i64, Option<i64>)) -> Receipt {
    let entry = (seq + 1).unsigned_abs();
    let node = AppendedNode { id, local, seq: seq.unsigned_abs(), turn: turn.map(i64::unsigned_abs) };
    Receipt { group: entry, seq: entry, nodes: vec![node], ..Receipt::default() }
}

/// The receipts of changes that were written although the answer was lost. Their trees are locked, so that the
/// transaction which may have written them has ended. One that has not begun yet finds that its parents are not the newest nodes.
pub(super) fn written<'c>(
    conn: &PostgresConnection,
    changes: impl Iterator<Item = &'c Change>,
) -> Result<HashMap<NodeId, Receipt>> {
    let ids: Vec<Uuid> = changes.filter_map(only_append).map(|node| node.id.into()).collect();
    // The old connection may have ended while it waited for a synchronous standby. With the message, this transaction waits for
    // what is before it.
    let sql = "SELECT id, local_id, seq, turn, pg_logical_emit_message(true, 'loom', '') FROM nodes WHERE id = ANY($1)";
    let rows = conn.query(sql, &[&ids])?;
    let found = rows.iter().map(|row| {
        let node = id(row, 0, NodeId::from_bytes)?;
        Ok((node, receipt(node, local_id(row, 1)?, (int(row, 2)?, opt_int(row, 3)?))))
    });
    found.collect()
}

/// Types of the parameters that follow those of the nodes.
const CHANGE_COLUMNS: &str = "agent, at, op, spent, spoken, moves, stands, envelope";
const CHANGE_TYPES: [&str; 8] = ["uuid", "bigint", "bigint", "bigint", "boolean", "boolean", "boolean", "bytea"];

/// The insertion of all rows of the appends whose parents are the newest nodes of their trees. It returns the place of each
/// among the parameters, its number, its turn, and whether its session stands at it.
fn insertion<'a>(appends: &'a [TipAppend<'_>]) -> Result<PgStatement<'a>> {
    let rows = appends.iter().map(|append| &append.row);
    let is_spoken = |row: &PgNewRow| row.node.role() == AuthorType::Human;
    let spent = |row: &PgNewRow| signed(TurnFigures::of(&row.node, is_spoken(row)).tokens);
    let pack =
        |row: &PgNewRow| row.node.provenance.as_ref().map(|e| envelope_compression::pack(e.as_str())).transpose();
    let changes = appends.iter().map(|append| append.change);
    let of_changes: OwnedParams<'a> = vec![
        Box::new(changes.clone().map(|change| Uuid::from(change.agent)).collect::<Vec<_>>()),
        Box::new(changes.clone().map(|change| change.at.as_millis()).collect::<Vec<_>>()),
        Box::new(changes.clone().map(|change| change.op.code()).collect::<Vec<_>>()),
        Box::new(rows.clone().map(spent).collect::<Vec<_>>()),
        Box::new(rows.clone().map(is_spoken).collect::<Vec<_>>()),
        Box::new(rows.clone().map(|row| row.node.advance).collect::<Vec<_>>()),
        Box::new(rows.clone().map(|row| matches!(row.node.parent, Parent::Position(_))).collect::<Vec<_>>()),
        Box::new(rows.clone().map(pack).collect::<std::io::Result<Vec<_>>>()?),
    ];
    let mut params = node_params(rows.clone());
    params.extend(of_changes);
    let in_sessions = rows.clone().any(|row| row.session.is_some());
    let has_envelopes = rows.clone().any(|row| row.node.provenance.is_some());
    Ok(PgStatement { sql: INSERTIONS[usize::from(in_sessions)][usize::from(has_envelopes)].as_str().into(), params })
}

/// The texts of [`insertion`]: outside sessions and in them, without envelopes and with them.
static INSERTIONS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
    [false, true].map(|in_sessions| [false, true].map(|envelopes| insertion_text(in_sessions, envelopes)))
});

fn insertion_text(in_sessions: bool, has_envelopes: bool) -> String {
    let (turn, is_moved, joined, is_open) = match in_sessions {
        false => ("NULL::bigint", "false", "", "true"),
        true => (
            "s.turn_count + 1",
            "coalesce(p.moves AND s.tree = p.tree, false)",
            "LEFT JOIN sessions s ON s.id = p.session",
            "(p.session IS NULL OR s.id IS NOT NULL)
                 AND (NOT p.stands OR s.active AND s.tree = p.tree AND s.position = p.parent)",
        ),
    };
    let turns = format!(
        ", s AS (UPDATE sessions s SET turn_count = w.next_turn, total_tokens = s.total_tokens + w.spent,
             person_turns = s.person_turns + w.spoken::int, last_active_at = greatest(s.last_active_at, w.at),
             active_hour = greatest(s.last_active_at, w.at) / {HOUR},
             position = CASE WHEN w.is_moved THEN w.number ELSE s.position END,
             focus = CASE WHEN w.spoken THEN w.id ELSE s.focus END FROM w WHERE s.id = w.session)"
    );
    let envelopes = ", e AS (INSERT INTO provenance (tree, node, envelope)
             SELECT tree, number, envelope FROM w WHERE envelope IS NOT NULL)";
    let (turns, envelopes) = (if in_sessions { &turns } else { "" }, if has_envelopes { envelopes } else { "" });
    let (arrays, append) = (arrays(&[&NODE_TYPES[..], &CHANGE_TYPES].concat()), ChangeKind::Append.code());
    let columns = NODE_COLUMNS.replacen(" seq,", " number,", 1).replacen(" turn,", " next_turn,", 1);
    format!(
        "WITH w AS MATERIALIZED (
             SELECT p.*, b.base + 2 * p.place - 1 AS number, {turn} AS next_turn, {is_moved} AS is_moved
             FROM unnest({arrays}) WITH ORDINALITY p ({NODE_COLUMNS}, {CHANGE_COLUMNS}, place)
                 CROSS JOIN (SELECT {BASE} AS base) b
                 JOIN tree_state t
                     ON t.tree = p.tree AND t.last_node = p.parent AND greatest(t.last_node, t.last_journal) < b.base
                 {joined}
             WHERE {is_open} AND NOT EXISTS (SELECT FROM node_state x WHERE x.tree = p.tree AND x.node = p.parent)
                 AND NOT EXISTS (SELECT FROM leases l WHERE l.tree = p.tree)),
         n AS (INSERT INTO nodes ({NODE_COLUMNS}) SELECT {columns} FROM w),
         j AS (INSERT INTO journal (tree, seq, grp, at, agent, session, op, change, node)
             SELECT tree, number + 1, number + 1, at, agent, session, op, {append}, number FROM w),
         t AS (UPDATE tree_state t SET nodes = t.nodes + 1, messages = t.messages + 1,
                 max_depth = greatest(t.max_depth, w.depth), updated_at = greatest(t.updated_at, w.at),
                 updated_hour = greatest(t.updated_at, w.at) / {HOUR}, last_node = w.number, last_journal = w.number + 1
             FROM w WHERE t.tree = w.tree){turns}{envelopes}
         SELECT place, number, next_turn, is_moved FROM w"
    )
}
