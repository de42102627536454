//! The rows that a group of changes names, and the locks of its trees.
//!
//! All trees of a group are locked first, in the order of their ids, then the sessions: a transaction that locked a session
//! before its tree would wait for one that holds the tree and waits for the session. If another transaction holds a tree for
//! long, the changes of that tree wait, and the others are committed.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

use super::{
    apply::WriteState,
    connection::{Isolation, PgStatement, PostgresConnection, statement},
    decode::{get, int},
    group_reads::{GroupRow, SESSION},
    journal::END_OF_GROUP,
    uuid::Uuid,
};
use crate::{
    id::NodeId,
    session_state::{CompiledRules, TurnRecord},
    store::{Change, Mutation, PurgeTarget, Result, choose_local_id::wanted_local_id},
    types::{LinkTarget, NewNode, Parent, SummarySubject},
};

/// The name of an append's tree: its own, or that of a node or session in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum TreeName {
    Tree(Uuid),
    Node(Uuid),
    Session(Uuid),
}

/// The row that a mutation makes, if later ones may name it.
fn created_row(mutation: &Mutation) -> Option<Uuid> {
    Some(match mutation {
        Mutation::Append(node) => node.id.into(),
        Mutation::CreateTree(tree) => tree.id.into(),
        Mutation::CreateSession(session) => session.id.into(),
        Mutation::CopyBranch { id, .. } => (*id).into(),
        Mutation::AddTodo(todo) => todo.id.into(),
        Mutation::Link(link) => link.id.into(),
        _ => return None,
    })
}

/// Keys of the rows that a group reads, without those that it makes.
#[derive(Default)]
pub(super) struct GroupKeys {
    pub(super) agents: BTreeSet<Uuid>,
    pub(super) trees: BTreeSet<Uuid>,
    pub(super) nodes: BTreeSet<Uuid>,
    /// Sessions whose tree is written.
    pub(super) positions: BTreeSet<Uuid>,
    pub(super) sessions: BTreeSet<Uuid>,
    /// Sessions whose state an append may change.
    pub(super) states: BTreeSet<Uuid>,
    /// The wanted local id of each appended node, and its tree.
    pub(super) locals: Vec<(NodeId, String, TreeName)>,
    remote: RemoteKeys,
}

/// Rows through which mutations other than appends name their trees.
#[derive(Default, PartialEq)]
struct RemoteKeys {
    todos: BTreeSet<Uuid>,
    links: BTreeSet<Uuid>,
    records: BTreeSet<i64>,
    /// First entries of groups that are reverted.
    groups: BTreeSet<i64>,
    /// Sessions all of whose nodes are purged.
    purged: BTreeSet<Uuid>,
    /// Numbers of nodes whose vectors are saved.
    embedded: BTreeSet<i64>,
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl GroupKeys {
    pub(super) fn of<'c>(changes: impl IntoIterator<Item = &'c Change>, rules: &CompiledRules) -> Self {
        let mut keys = Self::default();
        let (mut appended, mut made) = (HashMap::new(), HashSet::new());
        for change in changes {
            keys.agents.insert(change.agent.into());
            keys.sessions.extend(change.session.map(Uuid::from));
            for mutation in &change.mutations {
                match mutation {
                    Mutation::Append(node) => keys.append(node, change.session.map(Uuid::from), &mut appended, rules),
                    Mutation::ShowCursor { .. } => keys.positions.extend(change.session.map(Uuid::from)),
                    _ => keys.lock(mutation),
                }
                made.extend(created_row(mutation));
            }
        }
        let GroupKeys { trees, nodes, positions, sessions, remote: RemoteKeys { todos, links, .. }, .. } = &mut keys;
        for named in [trees, nodes, positions, sessions, todos, links] {
            named.retain(|id| !made.contains(id));
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
            TreeName::Session(id) => self.session(id),
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

    /// Adds a session, its tree and its row.
    fn session(&mut self, id: Uuid) -> bool {
        self.positions.insert(id) && self.sessions.insert(id)
    }

    /// Adds the trees that a mutation writes, so that they are locked with the others.
    fn lock(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::Prune { node }
            | Mutation::Restore { node }
            | Mutation::SetExcluded { node, .. }
            | Mutation::SetBookmark { node, .. }
            | Mutation::AppendDelegationEvent { node, .. }
            | Mutation::Lease { node, .. }
            | Mutation::Release { node, .. }
            | Mutation::SaveSummary { of: SummarySubject::Node(node), .. }
            | Mutation::Purge(PurgeTarget::Node(node)) => _ = self.nodes.insert((*node).into()),
            Mutation::CopyBranch { from, to, .. } => self.nodes.extend([*from, *to].map(Uuid::from)),
            Mutation::ReceiveTurn { session, node, .. } => {
                self.nodes.insert((*node).into());
                self.sessions.insert((*session).into());
            }
            Mutation::UpdateTree { tree, .. }
            | Mutation::SetArchived { tree, .. }
            | Mutation::Pin { tree, .. }
            | Mutation::Unpin { tree, .. }
            | Mutation::Stash { tree, .. }
            | Mutation::Unstash { tree, .. }
            | Mutation::RecordActions { tree, .. }
            | Mutation::SaveSummary { of: SummarySubject::Tree(tree), .. }
            | Mutation::Purge(PurgeTarget::Tree(tree)) => _ = self.trees.insert((*tree).into()),
            Mutation::CreateSession(session) => _ = self.trees.insert(session.tree.into()),
            Mutation::UpdateSession { session, patch } => {
                self.session((*session).into());
                self.trees.extend(patch.tree.map(Uuid::from));
            }
            Mutation::Record { session, .. } => _ = self.session((*session).into()),
            Mutation::AddTodo(todo) => _ = self.session(todo.session.into()),
            Mutation::FinishTodo { todo, .. }
            | Mutation::UpdateTodo { todo, .. }
            | Mutation::CarryOverTodo { todo, .. } => _ = self.remote.todos.insert((*todo).into()),
            Mutation::Link(link) => {
                self.nodes.insert(link.source.into());
                match link.target {
                    LinkTarget::Node(node) => _ = self.nodes.insert(node.into()),
                    LinkTarget::Tree(tree) => _ = self.trees.insert(tree.into()),
                    LinkTarget::Document { .. } => {}
                }
            }
            Mutation::SetLinkRemoved { link, .. } => _ = self.remote.links.insert((*link).into()),
            Mutation::SetRecordRemoved { record, .. } => _ = self.remote.records.insert(signed(*record)),
            Mutation::Undo { group } => _ = self.remote.groups.insert(signed(*group)),
            Mutation::Purge(PurgeTarget::Session(session)) => {
                self.session((*session).into());
                self.remote.purged.insert((*session).into());
            }
            Mutation::SaveEmbeddings { vectors, .. } => {
                self.remote.embedded.extend(vectors.iter().map(|(node, _)| signed(*node)));
            }
            _ => {}
        }
    }

    /// The lock of all trees, then of the sessions.
    pub(super) fn locks(&self) -> PgStatement<'static> {
        let mut statement = self.tree_statement(&LOCKS, &LOCKS_BY_REMOTE);
        statement.params.push(Box::new(list(&self.sessions)));
        statement
    }

    /// A statement about the trees of the group: the first one, or the second if rows name trees that only it looks up.
    fn tree_statement(&self, local: &'static str, remote: &'static str) -> PgStatement<'static> {
        let (trees, nodes, positions) = (list(&self.trees), list(&self.nodes), list(&self.positions));
        if self.remote == RemoteKeys::default() {
            return statement!(local, trees, nodes, positions);
        }
        let RemoteKeys { todos, links, records, groups, purged, embedded } = &self.remote;
        let (todos, links, purged) = (list(todos), list(links), list(purged));
        let [records, groups, embedded] =
            [records, groups, embedded].map(|set| set.iter().copied().collect::<Vec<_>>());
        statement!(remote, trees, nodes, positions, todos, links, records, groups, purged, embedded)
    }

    /// Number of rows that a change names. They exist, unless a change before it makes them.
    fn count(&self) -> usize {
        let RemoteKeys { todos, links, records, groups, .. } = &self.remote;
        let sets = [&self.trees, &self.nodes, &self.sessions, todos, links].map(BTreeSet::len);
        sets.iter().sum::<usize>() + records.len() + groups.len()
    }
}

pub(super) fn list(keys: &BTreeSet<Uuid>) -> Vec<Uuid> {
    keys.iter().copied().collect()
}

/// The trees of appends and of mutations that name them directly; uses three parameters.
macro_rules! trees {
    ($more:expr) => {
        format!(
            "ANY(ARRAY(SELECT unnest($1::uuid[]) UNION SELECT tree FROM nodes WHERE id = ANY($2::uuid[])
                 UNION SELECT tree FROM sessions WHERE id = ANY($3::uuid[]){}))",
            $more
        )
    };
}

/// The trees of the group without those of remote rows; uses three parameters.
pub(super) static TREES: LazyLock<String> = LazyLock::new(|| trees!(""));

/// The trees of the group; uses nine parameters.
static ALL_TREES: LazyLock<String> = LazyLock::new(|| {
    trees!(format!(
        " UNION SELECT s.tree FROM todos t JOIN sessions s ON s.id = t.session WHERE t.id = ANY($4::uuid[])
         UNION SELECT tree FROM links WHERE id = ANY($5::uuid[])
         UNION SELECT n.tree FROM links l JOIN nodes n ON n.id = l.target_node WHERE l.id = ANY($5::uuid[])
         UNION SELECT s.tree FROM records r JOIN sessions s ON s.id = r.session WHERE r.seq = ANY($6::bigint[])
         UNION SELECT e.tree FROM unnest($7::bigint[]) g (grp) CROSS JOIN LATERAL (
             SELECT tree FROM journal WHERE seq >= g.grp AND seq < {}) e
         UNION SELECT tree FROM nodes WHERE session = ANY($8::uuid[])
         UNION SELECT tree FROM received_turns WHERE session = ANY($8::uuid[])
         UNION SELECT tree FROM nodes WHERE seq = ANY($9::bigint[])",
        END_OF_GROUP.replace("$1", "g.grp")
    ))
});

/// Locks trees in the order of their ids, then the sessions of a parameter. In a statement of its own: the next one sees what
/// others committed while this one waited.
fn locks(trees: &str, sessions: &str) -> String {
    format!(
        "WITH locked AS MATERIALIZED (
             SELECT tree, greatest(last_node, last_journal) AS last FROM tree_state WHERE tree = {trees}
             ORDER BY tree FOR UPDATE),
         named AS MATERIALIZED ({SESSION} WHERE id = ANY({sessions}) ORDER BY id FOR UPDATE)
         SELECT tree, NULL::uuid, last, 0::bigint, 0::bigint, true, {}::bigint FROM locked
         UNION ALL SELECT id, tree, position, turn_count, since, active, {}::bigint FROM named",
        GroupRow::Lock as i64,
        GroupRow::Session as i64,
    )
}

static LOCKS: LazyLock<String> = LazyLock::new(|| locks(&TREES, "$4"));
static LOCKS_BY_REMOTE: LazyLock<String> = LazyLock::new(|| locks(&ALL_TREES, "$10"));

/// Locks the trees that no other transaction has locked.
static LOCK_UNLOCKED_TREES: LazyLock<[String; 2]> = LazyLock::new(|| {
    [&*TREES, &*ALL_TREES]
        .map(|trees| format!("SELECT tree FROM tree_state WHERE tree = {trees} ORDER BY tree FOR UPDATE SKIP LOCKED"))
});

/// The trees of a change, and a row with the number of rows that it names and that exist.
static TREES_AND_ROW_COUNT: LazyLock<[String; 2]> = LazyLock::new(|| {
    let local =
        "(SELECT count(*) FROM tree_state WHERE tree = ANY($1)) + (SELECT count(*) FROM nodes WHERE id = ANY($2))";
    let remote = "(SELECT count(*) FROM todos WHERE id = ANY($4)) + (SELECT count(*) FROM links WHERE id = ANY($5))
        + (SELECT count(*) FROM records WHERE seq = ANY($6)) + (SELECT count(*) FROM journal WHERE seq = ANY($7))";
    let sql = |trees: &str, count: &str, sessions: &str| {
        format!(
            "SELECT tree, 0::bigint FROM tree_state WHERE tree = {trees}
             UNION ALL SELECT NULL, {count} + (SELECT count(*) FROM sessions WHERE id = ANY({sessions}))"
        )
    };
    [sql(&TREES, local, "$4"), sql(&ALL_TREES, &format!("{local} + {remote}"), "$10")]
});

/// Begins a transaction and locks the trees of changes that no other transaction has locked. Returns for each change whether
/// it must wait: its tree is locked, or it follows a change that waits and writes the same tree, or names what that may make.
pub(super) fn lock_free(conn: &PostgresConnection, changes: &[&Change], rules: &CompiledRules) -> Result<Vec<bool>> {
    let each: Vec<GroupKeys> = changes.iter().map(|change| GroupKeys::of([*change], rules)).collect();
    let all = GroupKeys::of(changes.iter().copied(), rules);
    let mut statements = vec![all.tree_statement(&LOCK_UNLOCKED_TREES[0], &LOCK_UNLOCKED_TREES[1])];
    for keys in &each {
        let mut named = keys.tree_statement(&TREES_AND_ROW_COUNT[0], &TREES_AND_ROW_COUNT[1]);
        named.params.push(Box::new(list(&keys.sessions)));
        statements.push(named);
    }
    let mut answers = conn.pipeline(Some(Isolation::ReadCommitted), &statements)?.into_iter();
    let free = answers.next().unwrap_or_default();
    let free = free.iter().map(|row| get(row, 0)).collect::<Result<HashSet<Uuid>>>()?;
    let mut waited_for: HashSet<Uuid> = HashSet::new();
    let mut waits = Vec::with_capacity(changes.len());
    let mut is_any_waiting = false;
    for (keys, rows) in each.iter().zip(answers) {
        let (mut trees, mut exist) = (Vec::new(), 0);
        for row in &rows {
            match get::<Option<Uuid>>(row, 0)? {
                Some(tree) => trees.push(tree),
                None => exist = int(row, 1)?.unsigned_abs(),
            }
        }
        let is_unknown = is_any_waiting && exist < keys.count() as u64;
        let must_wait = is_unknown || trees.iter().any(|tree| !free.contains(tree) || waited_for.contains(tree));
        if must_wait {
            is_any_waiting = true;
            waited_for.extend(trees);
        }
        waits.push(must_wait);
    }
    Ok(waits)
}

/// Locks the trees of a change in an open transaction, before any session.
pub(super) fn lock_trees(
    conn: &PostgresConnection,
    state: &mut WriteState,
    change: &Change,
    rules: &CompiledRules,
) -> Result<()> {
    let keys = GroupKeys::of([change], rules);
    let rows = conn.pipeline(None, &[keys.tree_statement(&TREE_NAMES[0], &TREE_NAMES[1])])?;
    let trees = rows.iter().flatten().map(|row| get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
    state.lock(conn, &trees)
}

/// The trees of a change.
static TREE_NAMES: LazyLock<[String; 2]> =
    LazyLock::new(|| [&*TREES, &*ALL_TREES].map(|trees| format!("SELECT tree FROM tree_state WHERE tree = {trees}")));
