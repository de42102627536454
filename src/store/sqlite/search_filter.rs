//! Filters of a search as SQL conditions.

use std::collections::HashSet;

use rusqlite::{Connection, params, types::Value};

use super::tables::{agents, sessions, staged_nodes::UNSTAGED, trees};
use crate::{
    id::AgentId,
    store::{Result, WordFilter, word_postings::PASSAGES_PER_NODE},
    types::{EdgeKind, WorkItem},
};

/// A filter as SQL conditions on the columns `tree`, `session`, `author`, `kind` and `at`. Subqueries would run once
/// for each row; [`FilterSets`] evaluates those once instead.
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    /// Translates a filter. `table` and `at` name the filtered table and its time column.
    pub(super) fn of(conn: &Connection, filter: &WordFilter, table: &str, at: &str) -> Result<Self> {
        // A node of an unfinished copy is never found.
        let unstaged = match table {
            "n" => UNSTAGED.to_owned(),
            _ => UNSTAGED.replace("n.seq", &format!("{table}.id / {PASSAGES_PER_NODE}")),
        };
        let mut found = Self { sql: format!(" AND {unstaged}"), values: Vec::new() };
        if let Some(session) = filter.session {
            let row = sessions::row(conn, session)?;
            let node = if table == "n" { "n.seq".to_owned() } else { format!("{table}.id / {PASSAGES_PER_NODE}") };
            found.sql.push_str(&format!(
                " AND ({table}.session = ? OR {node} IN (SELECT node FROM received_turns WHERE session = ?))"
            ));
            found.values.extend([Value::from(row), Value::from(row)]);
        }
        let mut and = |column: &str, test: &str, value: Value| {
            found.sql.push_str(&format!(" AND {table}.{column} {test} ?"));
            found.values.push(value);
        };
        if let Some(workspace) = &filter.workspace {
            and("session", "IN (SELECT id FROM sessions WHERE workspace =", workspace.clone().into());
            found.sql.push(')');
        }
        let mut and = |column: &str, test: &str, value: Value| {
            found.sql.push_str(&format!(" AND +{table}.{column} {test} ?"));
            found.values.push(value);
        };
        if let Some(tree) = filter.tree {
            and("tree", "=", trees::row(conn, tree)?.into());
        }
        if let Some(item) = &filter.seen_by {
            let item = item.as_ref();
            let others = "NOT IN (SELECT id FROM trees WHERE external_ref IS NOT NULL AND NOT (external_ref IS";
            and("tree", others, item.map(|item| item.external_ref.clone()).into());
            found.sql.push_str(" AND project IS ?))");
            found.values.push(item.map(|item| item.project.clone()).into());
        }
        let mut and = |column: &str, test: &str, value: Value| {
            found.sql.push_str(&format!(" AND +{table}.{column} {test} ?"));
            found.values.push(value);
        };
        if let Some(author) = filter.author {
            and("author", "=", agents::row(conn, author)?.into());
        }
        if let Some(role) = filter.role {
            // The index has no role column; the node has.
            let of_node = format!(
                " AND (SELECT ifnull(role, author_type) FROM nodes WHERE seq = {table}.id / {PASSAGES_PER_NODE}) = ?"
            );
            found.sql.push_str(if table == "n" { " AND ifnull(n.role, n.author_type) = ?" } else { &of_node });
            found.values.push(role.code().into());
        }
        let mut and = |column: &str, test: &str, value: Value| {
            found.sql.push_str(&format!(" AND +{table}.{column} {test} ?"));
            found.values.push(value);
        };
        if let Some(kind) = filter.kind {
            and("kind", "=", kind.code().into());
        }
        if let Some(from) = filter.from {
            and(at, ">=", from.as_millis().into());
        }
        if let Some(to) = filter.to {
            and(at, "<=", to.as_millis().into());
        }
        if let Some(before) = filter.before {
            let before = i64::try_from(before).unwrap_or(i64::MAX / PASSAGES_PER_NODE);
            let (column, first) = if table == "n" { ("seq", before) } else { ("id", before * PASSAGES_PER_NODE) };
            and(column, "<", first.into());
        }
        Ok(found)
    }

    /// Excludes the thoughts of agents other than the reader from the rows of `n`.
    pub(super) fn exclude_unreadable_thoughts(&mut self, conn: &Connection, reader: Option<AgentId>) -> Result<()> {
        if let Some(reader) = reader {
            self.sql.push_str(" AND (+n.kind <> ? OR +n.author = ?)");
            self.values.extend([EdgeKind::Thought.code().into(), agents::row(conn, reader)?.into()]);
        }
        Ok(())
    }
}

pub(super) fn number(row: i64) -> u64 {
    row.unsigned_abs()
}

/// Parts of a filter that need other tables, evaluated once.
pub(super) struct FilterSets {
    /// Sessions of the workspace.
    sessions: Option<HashSet<i64>>,
    /// Trees of other work items.
    others: HashSet<i64>,
}

impl FilterSets {
    pub(super) fn of(conn: &Connection, filter: &WordFilter) -> Result<Self> {
        let sessions = |workspace: &String| -> Result<HashSet<i64>> {
            let mut statement = conn.prepare_cached("SELECT id FROM sessions WHERE workspace = ?1")?;
            Ok(statement.query_map([workspace], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
        };
        let others = |item: &Option<WorkItem>| -> Result<HashSet<i64>> {
            let mut statement = conn.prepare_cached(
                "SELECT id FROM trees WHERE external_ref IS NOT NULL AND NOT (external_ref IS ?1 AND project IS ?2)",
            )?;
            let item = item.as_ref().map(|item| (&item.external_ref, &item.project)).unzip();
            Ok(statement.query_map(params![item.0, item.1], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
        };
        Ok(Self {
            sessions: filter.workspace.as_ref().map(sessions).transpose()?,
            others: filter.seen_by.as_ref().map(others).transpose()?.unwrap_or_default(),
        })
    }

    /// The filter without these parts.
    pub(super) fn residual_filter(filter: &WordFilter) -> WordFilter {
        WordFilter { workspace: None, seen_by: None, among: None, ..filter.clone() }
    }

    pub(super) fn fit(&self, tree: i64, session: Option<i64>) -> bool {
        let in_workspace = |sessions: &HashSet<i64>| session.is_some_and(|session| sessions.contains(&session));
        self.sessions.as_ref().is_none_or(in_workspace) && !self.others.contains(&tree)
    }
}

/// Numbers each `?` as a parameter, from 2.
pub(super) fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or("").to_owned();
    for (number, part) in (2..).zip(parts) {
        text.push_str(&format!("?{number}{part}"));
    }
    text
}
