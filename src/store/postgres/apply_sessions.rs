//! Application of mutations of sessions.

use std::collections::{BTreeMap, hash_map::Entry};

use super::{
    apply::{Applied, HOUR, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{coded, from_json, get, item, number, opt_int},
    group_reads::{SESSION, session_row},
    pending_rows::{PgNodeAnchor, PgSessionRow},
    session_state::json,
    uuid::Uuid,
};
use crate::{
    id::{NodeId, SessionId},
    session_state::{RecordKind, SessionRecord, TurnRecord},
    store::{
        ChangeKind, Mutation, Result, StoreError,
        new_node::{TurnFigures, TurnOrder},
        undo_rules::move_back,
    },
    types::{AuthorType, EdgeKind, NewSession, SessionPatch, Timestamp, WorkItem},
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_session(&mut self, mutation: &Mutation) -> Result<Applied> {
        Ok(match mutation {
            Mutation::CreateSession(session) => (ChangeKind::CreateSession, Some(self.create_session(session)?)),
            Mutation::UpdateSession { session, patch } => {
                let key = Uuid::from(*session);
                self.exists("sessions", "session", key, session)?;
                let undo = move_back((self.change.op, *session, patch), || self.session_place(key))?;
                (ChangeKind::UpdateSession, Some(PgAppliedMutation { undo, ..self.update_session(key, patch)? }))
            }
            Mutation::Record { session, kind, content, turn } => {
                let key = Uuid::from(*session);
                self.exists("sessions", "session", key, session)?;
                let undo = self.record(key, *kind, content, *turn)?;
                let tree = self.session_tree(key)?;
                (ChangeKind::Record, Some(PgAppliedMutation::new(tree, None, Some(undo))))
            }
            Mutation::ReceiveTurn { session, node, turn } => {
                let key = Uuid::from(*session);
                self.exists("sessions", "session", key, session)?;
                let place = self.node(*node)?;
                let received = self.receive_turn(key, &place, *turn)?;
                let applied = PgAppliedMutation::new(place.tree, Some(place.seq), None);
                (ChangeKind::ReceiveTurn, received.then_some(applied))
            }
            Mutation::SetRecordRemoved { record, removed } => {
                let row = signed(*record);
                let found = self.conn.query_opt("SELECT session FROM records WHERE seq = $1", &[&row])?;
                let session: Uuid = get(&found.ok_or_else(|| StoreError::not_found("record", record))?, 0)?;
                let sql = "UPDATE records SET removed = $2 WHERE seq = $1 AND removed <> $2";
                let changed = self.conn.execute(sql, &[&row, removed])? > 0;
                let undo = Mutation::SetRecordRemoved { record: *record, removed: !removed };
                if changed {
                    self.state.stale.insert(session);
                }
                let tree = self.session_tree(session)?;
                (ChangeKind::SetRecordRemoved, changed.then(|| PgAppliedMutation::new(tree, None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }

    fn create_session(&mut self, session: &NewSession) -> Result<PgAppliedMutation> {
        let tree = self.tree(session.tree)?;
        let (key, agent) = (Uuid::from(session.id), Uuid::from(session.agent));
        self.exists("agents", "agent", agent, session.agent)?;
        let position = session.position.map(|n| self.node_of(n, tree)).transpose()?.map(|p| p.seq);
        self.assign_work_item(tree, session.item.as_ref())?;
        let row = self.conn.query_one("SELECT project, external_ref FROM trees WHERE id = $1", &[&tree])?;
        let item = item(&row, 0)?;
        if let Some(by) = session.delegated_by {
            self.exists("sessions", "session", Uuid::from(by), by)?;
        }
        let seq = self.next()?;
        let sql = format!(
            "INSERT INTO sessions (id, seq, workspace, agent, tree, position, started_at, last_active_at, active_hour,
                 expires_at, metadata, model, project, external_ref, delegated_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7::bigint / {HOUR}, $8, $9, $10, $11, $12, $13)"
        );
        self.conn.execute(
            &sql,
            &[
                &key,
                &seq,
                &session.workspace,
                &agent,
                &tree,
                &position,
                &session.started_at.as_millis(),
                &session.expires_at.map(Timestamp::as_millis),
                &json(&session.metadata)?,
                &session.model,
                &item.as_ref().map(|item| item.project.clone()),
                &item.as_ref().map(|item| item.external_ref.clone()),
                &session.delegated_by.map(Uuid::from),
            ],
        )?;
        Ok(PgAppliedMutation::new(tree, position, None))
    }

    /// Assigns a tree to a session's work item, if it has one. Fails if the tree belongs to another.
    fn assign_work_item(&self, tree: Uuid, wanted: Option<&WorkItem>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        let row = self.conn.query_one("SELECT project, external_ref FROM trees WHERE id = $1", &[&tree])?;
        if item(&row, 0)?.is_some_and(|before| before != *wanted) {
            return Err(StoreError::Conflict("the tree belongs to another work item".to_owned()));
        }
        let sql = "UPDATE trees SET project = $2, external_ref = $3 WHERE id = $1";
        self.conn.execute(sql, &[&tree, &wanted.project, &wanted.external_ref])?;
        Ok(())
    }

    /// Returns the metadata of a session with a patch's keys changed, as JSON; `None` if the patch has none. The session stays
    /// locked. The `jsonb` of PostgreSQL refuses the character NUL.
    fn patched_metadata(&self, key: Uuid, patch: &SessionPatch) -> Result<Option<String>> {
        if patch.metadata.is_empty() {
            return Ok(None);
        }
        let row = self.conn.query_one("SELECT metadata FROM sessions WHERE id = $1 FOR UPDATE", &[&key])?;
        let mut metadata: BTreeMap<String, String> = from_json(&row, 0)?;
        for (name, value) in patch.metadata.clone() {
            match value {
                Some(value) => metadata.insert(name, value),
                None => metadata.remove(&name),
            };
        }
        json(&metadata).map(Some)
    }

    fn update_session(&mut self, key: Uuid, patch: &SessionPatch) -> Result<PgAppliedMutation> {
        if let Some(tree) = patch.tree {
            let tree = self.tree(tree)?;
            let row = self.conn.query_one("SELECT project, external_ref FROM sessions WHERE id = $1", &[&key])?;
            self.assign_work_item(tree, item(&row, 0)?.as_ref())?;
            // A session without turns skips the first number, because `since` 0 means that there was no reset.
            self.conn.execute(
                "UPDATE sessions SET tree = $2, position = NULL, versions = '[]', since = greatest(turn_count, 1),
                     turn_count = greatest(turn_count, 1), person_turns = 0 WHERE id = $1",
                &[&key, &tree],
            )?;
            self.state.stale.insert(key);
        }
        let tree = self.session_tree(key)?;
        let position = patch.position.map(|n| self.node_of(n, tree)).transpose()?.map(|p| p.seq);
        for version in patch.versions.iter().flatten() {
            self.node_of(*version, tree)?;
        }
        let metadata = self.patched_metadata(key, patch)?;
        let sql = format!(
            "UPDATE sessions SET last_active_at = greatest(last_active_at, $2),
                 active_hour = greatest(last_active_at, $2) / {HOUR}, position = coalesce($3, position),
                 versions = coalesce($4, versions), active = coalesce($5, active),
                 expires_at = CASE WHEN $6 THEN $7 ELSE expires_at END,
                 metadata = coalesce($8, metadata), model = coalesce($9, model) WHERE id = $1"
        );
        self.conn.execute(
            &sql,
            &[
                &key,
                &patch.active_at.unwrap_or(self.change.at).as_millis(),
                &position,
                &patch.versions.as_ref().map(json).transpose()?,
                &patch.active,
                &patch.expires_at.is_some(),
                &patch.expires_at.flatten().map(Timestamp::as_millis),
                &metadata,
                &patch.model,
            ],
        )?;
        Ok(PgAppliedMutation::new(tree, position, None))
    }

    pub(super) fn session_tree(&self, session: Uuid) -> Result<Uuid> {
        get(&self.conn.query_one("SELECT tree FROM sessions WHERE id = $1", &[&session])?, 0)
    }

    /// The position of a session and its selected versions.
    fn session_place(&self, session: Uuid) -> Result<(Option<NodeId>, Vec<NodeId>)> {
        let row = self.conn.query_one("SELECT tree, position, versions FROM sessions WHERE id = $1", &[&session])?;
        let tree = get(&row, 0)?;
        let position = opt_int(&row, 1)?.map(|seq| self.place_at(tree, seq)).transpose()?;
        Ok((position.map(|place| place.id), from_json(&row, 2)?))
    }

    /// The row of a session, which is locked.
    pub(super) fn session_row(&mut self, session: Uuid) -> Result<&mut PgSessionRow> {
        match self.state.sessions.entry(session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let row = self.conn.query_opt(&format!("{SESSION} WHERE id = $1 FOR UPDATE"), &[&session])?;
                let row = row.ok_or_else(|| StoreError::not_found("session", SessionId::from_bytes(session.0)))?;
                Ok(unknown.insert(session_row(&row)?))
            }
        }
    }

    /// Adds a turn; returns its number.
    pub(super) fn next_turn(&mut self, session: Uuid, figures: TurnFigures) -> Result<u64> {
        let row = self.session_row(session)?;
        row.turn_count += 1;
        let turn = row.turn_count;
        let change = self.state.pending_rows.sessions.entry(session).or_default();
        change.turn_count = turn;
        change.tokens += signed(figures.tokens);
        change.person_turns += i64::from(figures.person);
        change.at = self.change.at.as_millis();
        Ok(turn.unsigned_abs())
    }

    /// Registers a turn that has its number; returns the newest number before.
    pub(super) fn count_turn(&mut self, session: Uuid, turn: u64, figures: TurnFigures) -> Result<u64> {
        let row = self.session_row(session)?;
        let (before, after_reset) = (row.turn_count, signed(turn) > row.since);
        row.turn_count = before.max(signed(turn));
        let change = self.state.pending_rows.sessions.entry(session).or_default();
        change.turn_count = change.turn_count.max(signed(turn));
        change.tokens += signed(figures.tokens);
        change.person_turns += i64::from(figures.person && after_reset);
        Ok(before.unsigned_abs())
    }

    /// Moves a session to a node of its own tree, and sets it as the newest human message; each if requested.
    pub(super) fn advance(&mut self, session: Uuid, node: &PgNodeAnchor, [position, focus]: [bool; 2]) -> Result<()> {
        if position || focus {
            let row = self.session_row(session)?;
            let moves = position && row.tree == Some(node.tree);
            row.position = if moves { Some(node.seq) } else { row.position };
            let change = self.state.pending_rows.sessions.entry(session).or_default();
            change.position = if moves { Some(node.seq) } else { change.position };
            change.focus = if focus { Some(Uuid::from(node.id)) } else { change.focus };
        }
        Ok(())
    }

    /// Makes a message a turn of a session. False if it is one already.
    fn receive_turn(&mut self, session: Uuid, node: &PgNodeAnchor, turn: Option<u64>) -> Result<bool> {
        let row = self.conn.query_one(
            "SELECT n.session, coalesce(n.role, n.author_type), n.tokens, n.content, s.hidden_by IS NOT NULL, r.turn
             FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
                 LEFT JOIN received_turns r ON r.session = $3 AND r.tree = n.tree AND r.node = n.seq
             WHERE n.tree = $1 AND n.seq = $2",
            &[&node.tree, &node.seq, &session],
        )?;
        if get::<Option<Uuid>>(&row, 0)? == Some(session) || opt_int(&row, 5)?.is_some() {
            return Ok(false);
        }
        let author_type = coded(&row, 1, AuthorType::from_code)?;
        if (author_type, node.kind) != (AuthorType::Human, EdgeKind::Continuation) {
            return Err(StoreError::Refused("only a person's message can be received".to_owned()));
        }
        let figures = TurnFigures { tokens: opt_int(&row, 2)?.unwrap_or(0).unsigned_abs(), person: true };
        let (turn, mut order) = match turn {
            None => (self.next_turn(session, figures)?, TurnOrder::Next),
            Some(turn) => {
                let sql = "SELECT 1 FROM nodes WHERE session = $1 AND turn = $2
                           UNION ALL SELECT 1 FROM received_turns WHERE session = $1 AND turn = $2";
                if self.conn.query_opt(sql, &[&session, &signed(turn)])?.is_some() {
                    return Err(StoreError::Conflict(format!("turn {turn} of the session exists already")));
                }
                let before = self.count_turn(session, turn, figures)?;
                (turn, if turn > before { TurnOrder::Next } else { TurnOrder::OutOfOrder })
            }
        };
        let sql = "INSERT INTO received_turns (session, turn, tree, node) VALUES ($1, $2, $3, $4)";
        self.conn.execute(sql, &[&session, &signed(turn), &node.tree, &node.seq])?;
        match order {
            TurnOrder::Next => self.advance(session, node, [false, true])?,
            _ => drop(self.state.stale.insert(session)),
        }
        if get(&row, 4)? {
            order = TurnOrder::Hidden;
        }
        let content = get(&row, 3)?;
        let kind = node.kind;
        let heard = TurnRecord { turn, author_type, kind, content, tool: None, call: None, metadata: None };
        self.ingest(&heard, node, session, order)?;
        Ok(true)
    }

    /// Adds a record and returns its inverse.
    fn record(&mut self, session: Uuid, kind: RecordKind, content: &str, turn: Option<u64>) -> Result<Mutation> {
        let record = self.next()?;
        let row = self.conn.query_one(
            "INSERT INTO records (session, seq, turn, kind, content)
             SELECT id, $2, coalesce($5, turn_count), $3, $4 FROM sessions WHERE id = $1 RETURNING turn",
            &[&session, &record, &kind.code(), &content, &turn.map(signed)],
        )?;
        match turn {
            // An import adds the record before all of its turns exist.
            Some(_) => drop(self.state.stale.insert(session)),
            None => {
                let turn = number(&row, 0)?;
                self.update_state(session, |state, _| {
                    state.record(&SessionRecord { kind, content: content.to_owned(), turn });
                    true
                })?;
            }
        }
        Ok(Mutation::SetRecordRemoved { record: record.unsigned_abs(), removed: true })
    }

    /// Updates the session's time of last activity, also for read-only commands. Skipped for turns and session updates,
    /// which set it themselves.
    pub(super) fn touch_session(&self) -> Result<()> {
        if let Some(session) = self.session
            && !self.change.sets_activity()
        {
            let sql = format!(
                "UPDATE sessions SET last_active_at = $2, active_hour = $2::bigint / {HOUR} WHERE id = $1 AND last_active_at < $2"
            );
            self.conn.execute(&sql, &[&session, &self.change.at.as_millis()])?;
        }
        Ok(())
    }
}
