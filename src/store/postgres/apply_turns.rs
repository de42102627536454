//! Application of leases, cursors, summaries, embeddings, token usage, system prompts, and plans.

use std::collections::hash_map::Entry;

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{get, int},
    pending_rows::Place,
    tables::summaries::summary_key,
    uuid::Uuid,
    vectors,
};
use crate::{
    id::{AgentId, NodeId, TodoId},
    store::{ChangeKind, HALVING_TOKENS, MAX_RATIO, Mutation, Result, StoreError},
    types::{Lease, NewTodo, SummarySubject, Timestamp, TodoPatch},
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_turn(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at.as_millis();
        let kind = match mutation {
            Mutation::Lease { node, agent, until } => {
                self.lease(*node, *agent, *until)?;
                ChangeKind::Lease
            }
            Mutation::Release { node, agent } => {
                let node = self.node(*node)?;
                let (place, agent) = (self.common(node)?, Uuid::from(*agent));
                let sql = "DELETE FROM leases WHERE tree = $1 AND node = $2 AND agent = $3
                           AND session IS NOT DISTINCT FROM $4";
                self.conn.execute(sql, &[&place.tree, &place.seq, &agent, &self.session])?;
                ChangeKind::Release
            }
            Mutation::ShowCursor { node } => {
                let session = self.session.ok_or_else(|| StoreError::Refused("a cursor needs a session".to_owned()))?;
                let tree = self.session_tree(session)?;
                self.node_of(*node, tree)?;
                let sql = "INSERT INTO cursors (session, node, seen_at) VALUES ($1, $2, $3)
                           ON CONFLICT (session) DO UPDATE SET node = $2, seen_at = $3";
                self.conn.execute(sql, &[&session, &Uuid::from(*node), &at])?;
                ChangeKind::ShowCursor
            }
            Mutation::SaveSummary { of, made_of, after, model, content } => {
                self.summarize(*of, *after, content)?;
                let (kind, subject) = summary_key(*of);
                let sql = "INSERT INTO summaries (kind, subject, made_of, model, made_at, content)
                           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, subject)
                           DO UPDATE SET made_of = $3, model = $4, made_at = $5, content = $6";
                self.conn.execute(sql, &[&kind, &subject, &signed(*made_of), model, &at, content])?;
                ChangeKind::SaveSummary
            }
            Mutation::SaveEmbeddings { model, range, vectors } => {
                vectors::save(self.conn, model, *range, vectors)?;
                ChangeKind::SaveEmbeddings
            }
            Mutation::RecordTokenUsage { model, estimated, reported } => {
                self.add_estimate(model, *estimated, *reported)?;
                ChangeKind::RecordTokenUsage
            }
            Mutation::RecordSystemPrompt { session, content } => {
                let key = Uuid::from(*session);
                self.exists("sessions", "session", key, session)?;
                let sql = "INSERT INTO system_prompts (session, turn, content)
                           SELECT $1, turn_count, $2 FROM sessions WHERE id = $1 AND $2 IS DISTINCT FROM
                               (SELECT content FROM system_prompts WHERE session = $1 ORDER BY turn DESC LIMIT 1)
                           ON CONFLICT (session, turn) DO UPDATE SET content = excluded.content";
                self.conn.execute(sql, &[&key, content])?;
                ChangeKind::RecordSystemPrompt
            }
            _ => return Err(unsupported()),
        };
        Ok((kind, None))
    }

    /// Adds the estimated and the reported count of a prompt, as on SQLite.
    fn add_estimate(&self, model: &str, estimated: u64, reported: u64) -> Result<()> {
        let estimated = estimated.min(HALVING_TOKENS.unsigned_abs());
        let reported = reported.min(estimated * MAX_RATIO);
        if estimated == 0 || reported == 0 {
            return Ok(());
        }
        let sql = "INSERT INTO estimates AS e (model, estimated, reported) VALUES ($1, $2, $3) ON CONFLICT (model)
                   DO UPDATE SET estimated = CASE WHEN e.estimated > $4 THEN e.estimated / 2 ELSE e.estimated END + $2,
                       reported = CASE WHEN e.estimated > $4 THEN e.reported / 2 ELSE e.reported END + $3";
        self.conn.execute(sql, &[&model, &signed(estimated), &signed(reported), &HALVING_TOKENS]).map(drop)
    }

    fn lease(&mut self, node: NodeId, agent: AgentId, until: Timestamp) -> Result<()> {
        let node = self.node(node)?;
        let (place, at) = (self.common(node)?, self.change.at.as_millis());
        let key = Uuid::from(agent);
        self.exists("agents", "agent", key, agent)?;
        if let Some(refusal) = self.refusal(place.tree, &[place.seq], |holder, _| holder != key)? {
            return Err(refusal);
        }
        let latest = at.saturating_add(Lease::MAX_DURATION_MS);
        let sql = "DELETE FROM leases WHERE tree = $1 AND (expires_at <= $2 OR expires_at > $3)";
        self.conn.execute(sql, &[&place.tree, &at, &latest])?;
        let sql = "INSERT INTO leases (tree, node, agent, session, expires_at) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (tree, node) DO UPDATE SET agent = $3, session = $4, expires_at = $5";
        let until = until.as_millis().min(latest);
        self.conn.execute(sql, &[&place.tree, &place.seq, &key, &self.session, &until])?;
        Ok(())
    }

    /// The error for the first lease of these nodes that `prevents` (agent and session) the change.
    fn refusal(
        &self,
        tree: Uuid,
        nodes: &[i64],
        prevents: impl Fn(Uuid, Option<Uuid>) -> bool,
    ) -> Result<Option<StoreError>> {
        let at = self.change.at.as_millis();
        let sql = "SELECT l.agent, l.session, a.name, n.local_id, l.expires_at
                   FROM leases l JOIN agents a ON a.id = l.agent JOIN nodes n ON n.tree = l.tree AND n.seq = l.node
                   WHERE l.tree = $1 AND l.node = ANY($2) AND l.expires_at > $3 AND l.expires_at <= $4 ORDER BY l.node";
        let latest = at.saturating_add(Lease::MAX_DURATION_MS);
        for row in self.conn.query(sql, &[&tree, &nodes, &at, &latest])? {
            if prevents(get(&row, 0)?, get(&row, 1)?) {
                let left = int(&row, 4)?.saturating_sub(at).max(0).unsigned_abs();
                let (agent, node) = (get(&row, 2)?, get(&row, 3)?);
                return Ok(Some(StoreError::Leased { agent, node, seconds: left.div_ceil(1_000) }));
            }
        }
        Ok(None)
    }

    /// Fails if another agent holds the lease of the position at which `author` appends.
    pub(super) fn check_append_lease(&mut self, node: &Place, author: Uuid) -> Result<()> {
        let leased = match self.state.leases.entry(node.tree) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let rows = self.conn.query("SELECT node FROM leases WHERE tree = $1", &[&node.tree])?;
                unknown.insert(rows.iter().map(|row| int(row, 0)).collect::<Result<_>>()?)
            }
        };
        if !leased.contains(&node.seq) {
            return Ok(());
        }
        match self.refusal(node.tree, &[node.seq], |agent, by| agent != author && !self.held(agent, by))? {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Fails if another agent holds a lease inside the branch that was just pruned.
    pub(super) fn check_prune_lease(&mut self, tree: Uuid, branch: &[i64]) -> Result<()> {
        match self.refusal(tree, branch, |agent, by| !self.held(agent, by))? {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// True if this session's agent holds the lease, or another agent holds it for this session. A lease held by the
    /// other agent's own session does not count.
    fn held(&self, agent: Uuid, session: Option<Uuid>) -> bool {
        let sql = "SELECT agent FROM sessions WHERE id = $1";
        let behalf = |session: Uuid| {
            let own = self.conn.query_one(sql, &[&session]).and_then(|row| get::<Uuid>(&row, 0));
            own.is_ok_and(|own| own != agent)
        };
        agent == self.agent || session.is_some_and(|held| Some(held) == self.session && behalf(held))
    }

    /// Checks a summary: text must not have been purged after the model read it.
    fn summarize(&mut self, of: SummarySubject, after: u64, content: &str) -> Result<()> {
        let sql = "SELECT 1 FROM journal WHERE seq > $1 AND change = $2 LIMIT 1";
        if self.conn.query_opt(sql, &[&signed(after), &ChangeKind::Purge.code()])?.is_some() {
            return Err(StoreError::Conflict("content was purged while the summary was made".to_owned()));
        }
        if content.trim().is_empty() {
            return Err(StoreError::Refused("a summary must not be empty".to_owned()));
        }
        match of {
            SummarySubject::Node(id) => self.node(id).map(drop),
            SummarySubject::Document(id) => self.exists("documents", "document", Uuid::from(id), id),
            SummarySubject::Tree(id) => self.exists("trees", "tree", Uuid::from(id), id),
        }
    }

    pub(super) fn apply_plan(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at.as_millis();
        let (kind, session) = match mutation {
            Mutation::AddTodo(todo) => {
                let key = Uuid::from(todo.session);
                self.exists("sessions", "session", key, todo.session)?;
                self.add_todo(key, todo)?;
                (ChangeKind::AddTodo, key)
            }
            Mutation::FinishTodo { todo, status, outcome } => {
                if status.is_open() || outcome.trim().is_empty() {
                    let reason = "an item must be completed or cancelled with an outcome";
                    return Err(StoreError::Refused(reason.to_owned()));
                }
                let (session, turn) = self.todo(*todo)?;
                let sql = "UPDATE todos SET status = $3, outcome = $4, completed_at = $5,
                               started_at = coalesce(started_at, $5) WHERE session = $1 AND id = $2 AND status < 2";
                let key = Uuid::from(*todo);
                let done = self.conn.execute(sql, &[&session, &key, &status.code(), outcome, &at])?;
                self.begin_next(session, turn)?;
                (ChangeKind::FinishTodo, Some(session).filter(|_| done > 0).ok_or_else(already_closed)?)
            }
            Mutation::UpdateTodo { todo, patch } => {
                if patch.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
                    return Err(StoreError::Refused("a todo needs a title".to_owned()));
                }
                (ChangeKind::UpdateTodo, self.update_todo(*todo, patch)?.ok_or_else(already_closed)?)
            }
            Mutation::CarryOverTodo { todo, turn } => {
                (ChangeKind::CarryOverTodo, self.carry_over(*todo, signed(*turn))?.ok_or_else(already_closed)?)
            }
            _ => return Err(unsupported()),
        };
        let tree = self.session_tree(session)?;
        Ok((kind, Some(PgAppliedMutation::new(tree, None, None))))
    }

    fn add_todo(&mut self, session: Uuid, todo: &NewTodo) -> Result<()> {
        let (draft, turn) = (&todo.draft, signed(todo.turn));
        let place = self.open_place(session, turn, draft.order)?;
        let seq = self.next()?;
        self.conn.execute(
            "INSERT INTO todos (id, seq, session, turn, made_in, number, place, title, context, criteria, agent_type, status,
                 created_at)
             SELECT $1, $2, $3, $4, $4, coalesce(max(number), 0) + 1, $5, $6, $7, $8, $9, 0, $10
             FROM todos WHERE session = $3 AND turn = $4",
            &[
                &Uuid::from(todo.id),
                &seq,
                &session,
                &turn,
                &place,
                &draft.title,
                &draft.context,
                &draft.criteria,
                &draft.agent_type,
                &self.change.at.as_millis(),
            ],
        )?;
        self.begin_next(session, turn)
    }

    /// Frees the place `order` of a plan, counted from 1, and returns it. `None` or a place beyond the end: the end.
    fn open_place(&self, session: Uuid, turn: i64, order: Option<u32>) -> Result<i64> {
        // The row of the session keeps two writers from changing one plan at once.
        self.conn.query("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", &[&session])?;
        let sql = "SELECT coalesce(max(place), 0) + 1 FROM todos WHERE session = $1 AND turn = $2";
        let end = int(&self.conn.query_one(sql, &[&session, &turn])?, 0)?;
        let place = order.map_or(end, |order| i64::from(order.max(1)).min(end));
        if place < end {
            let sql = "UPDATE todos SET place = place + 1 WHERE session = $1 AND turn = $2 AND place >= $3";
            self.conn.execute(sql, &[&session, &turn, &place])?;
        }
        Ok(place)
    }

    fn update_todo(&mut self, todo: TodoId, patch: &TodoPatch) -> Result<Option<Uuid>> {
        let (session, turn) = self.todo(todo)?;
        let key = Uuid::from(todo);
        let changed = self.conn.execute(
            "UPDATE todos SET title = coalesce($3, title), context = coalesce($4, context),
                 criteria = coalesce($5, criteria), agent_type = nullif(coalesce($6, agent_type), '')
             WHERE session = $1 AND id = $2 AND status < 2",
            &[&session, &key, &patch.title, &patch.context, &patch.criteria, &patch.agent_type],
        )?;
        if changed == 0 {
            return Ok(None);
        }
        if let Some(order) = patch.order {
            let sql = "SELECT place FROM todos WHERE session = $1 AND id = $2";
            let place = int(&self.conn.query_one(sql, &[&session, &key])?, 0)?;
            // Places start at 1, so this one is outside of the plan while the others move.
            let set = "UPDATE todos SET place = $3 WHERE session = $1 AND id = $2";
            self.conn.execute(set, &[&session, &key, &0_i64])?;
            let sql = "UPDATE todos SET place = place - 1 WHERE session = $1 AND turn = $2 AND place > $3";
            self.conn.execute(sql, &[&session, &turn, &place])?;
            let place = self.open_place(session, turn, Some(order))?;
            self.conn.execute(set, &[&session, &key, &place])?;
        }
        self.begin_next(session, turn)?;
        Ok(Some(session))
    }

    /// Moves an open todo to the end of another turn's plan, with its next number.
    fn carry_over(&mut self, todo: TodoId, turn: i64) -> Result<Option<Uuid>> {
        let (session, from) = self.todo(todo)?;
        if from == turn {
            return Ok(None);
        }
        let place = self.open_place(session, turn, None)?;
        let done = self.conn.execute(
            "UPDATE todos SET turn = $3, place = $4, status = 0,
                 number = (SELECT coalesce(max(number), 0) + 1 FROM todos WHERE session = $1 AND turn = $3)
             WHERE session = $1 AND id = $2 AND status < 2",
            &[&session, &Uuid::from(todo), &turn, &place],
        )?;
        self.begin_next(session, turn)?;
        Ok((done > 0).then_some(session))
    }

    /// Starts the first open todo of a plan if none is in progress.
    fn begin_next(&self, session: Uuid, turn: i64) -> Result<()> {
        let sql = "UPDATE todos SET status = 1, started_at = coalesce(started_at, $3) WHERE session = $1 AND id = (
                       SELECT id FROM todos WHERE session = $1 AND turn = $2 AND status = 0 ORDER BY place LIMIT 1)
                   AND NOT EXISTS (SELECT 1 FROM todos WHERE session = $1 AND turn = $2 AND status = 1)";
        self.conn.execute(sql, &[&session, &turn, &self.change.at.as_millis()]).map(drop)
    }

    /// The session and the turn of a todo.
    fn todo(&self, todo: TodoId) -> Result<(Uuid, i64)> {
        let row = self.conn.query_opt("SELECT session, turn FROM todos WHERE id = $1", &[&Uuid::from(todo)])?;
        let row = row.ok_or_else(|| StoreError::not_found("todo", todo))?;
        Ok((get(&row, 0)?, int(&row, 1)?))
    }
}

fn already_closed() -> StoreError {
    StoreError::Conflict("this item is already closed".to_owned())
}
