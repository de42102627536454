//! Filters of a search, and the queries besides postings: ranking data, neighbors, turns, tool results.

use std::{collections::HashSet, ops::RangeInclusive, sync::LazyLock};

use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};

use super::{
    decode::{FROM, NODE, NodeRow},
    fts_query,
    searched_text::{self, searched_columns},
    tables::{agents, received_turns, sessions, staged_nodes::UNSTAGED, trees},
    ulid_cache::UlidCache,
};
use crate::{
    id::{AgentId, SessionId},
    store::{Neighbors, PassageInfo, Result, WordFilter, word_postings::PASSAGES_PER_NODE},
    types::{EdgeKind, Node, WorkItem},
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
    fn and_readable(&mut self, conn: &Connection, reader: Option<AgentId>) -> Result<()> {
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

/// Loads the ranking data of passages; `None` for one that does not match the filter.
pub(super) fn places(
    conn: &Connection,
    passages: &[(u64, u32)],
    filter: &WordFilter,
) -> Result<Vec<Option<PassageInfo>>> {
    let elsewhere = FilterSets::of(conn, filter)?;
    let conditions = Conditions::of(conn, &FilterSets::residual_filter(filter), "p", "at")?;
    let sql = format!(
        "SELECT sitting, words, tree, session FROM recall_passages p WHERE p.id = ?1{}",
        numbered(&conditions.sql)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let place = |(node, part): &(u64, u32)| -> Result<Option<PassageInfo>> {
        let id = i64::try_from(*node).unwrap_or(i64::MAX / PASSAGES_PER_NODE) * PASSAGES_PER_NODE + i64::from(*part);
        let values = std::iter::once(Value::from(id)).chain(conditions.values.iter().cloned());
        let read = |r: &rusqlite::Row<'_>| {
            let place = PassageInfo { burst: number(r.get(0)?), length: r.get(1)? };
            Ok(elsewhere.fit(r.get(2)?, r.get(3)?).then_some(place))
        };
        Ok(statement.query_row(params_from_iter(values), read).optional()?.flatten())
    };
    passages.iter().map(place).collect()
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

/// Loads the parent and the continuations of nodes.
pub(super) fn neighbors(conn: &Connection, nodes: &[u64]) -> Result<Vec<Neighbors>> {
    let mut statement = conn.prepare_cached(
        "SELECT n.parent, c.seq FROM nodes n
         LEFT JOIN nodes c ON c.tree = n.tree AND c.depth = n.depth + 1 AND c.parent = n.seq AND c.kind = 0
         WHERE n.seq = ?1 ORDER BY c.seq LIMIT 10",
    )?;
    let mut one = |node: &u64| -> Result<Neighbors> {
        let mut rows = statement.query([node])?;
        let mut beside = Neighbors::default();
        while let Some(row) = rows.next()? {
            beside.before = row.get(0)?;
            beside.after.extend(row.get::<_, Option<u64>>(1)?);
        }
        Ok(beside)
    };
    nodes.iter().map(&mut one).collect()
}

static NODE_BY_SEQ: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {NODE} {FROM} WHERE n.seq = ?1 AND {UNSTAGED}"));

/// Loads nodes by sequence number, in the given order; missing ones are skipped.
pub(super) fn nodes_at(conn: &Connection, seqs: &[u64]) -> Result<Vec<Node>> {
    let mut statement = conn.prepare_cached(&NODE_BY_SEQ)?;
    let mut rows = Vec::with_capacity(seqs.len());
    for seq in seqs {
        rows.extend(statement.query_row([seq], NodeRow::read).optional()?);
    }
    UlidCache::new(conn).finish(rows)
}

/// Calls `each` for at most `limit` matching nodes, newest first, until it returns `false`.
pub(super) fn newest_first(
    conn: &Connection,
    filter: &WordFilter,
    limit: u32,
    each: &mut dyn FnMut(u64, &str) -> bool,
) -> Result<()> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let read = |row: &rusqlite::Row<'_>, each: &mut dyn FnMut(u64, &str) -> bool| -> Result<bool> {
        let seq: u64 = row.get(0)?;
        if filter.among.as_ref().is_some_and(|among| !among.contains(&seq)) {
            return Ok(true);
        }
        Ok(each(seq, &searched_text::read(row, 1)?))
    };
    let values = |first: i64| std::iter::once(Value::from(first)).chain(conditions.values.iter().cloned());
    // If few nodes can match, reads them one by one instead of scanning the range.
    if let Some(nodes) = fts_query::range(conn, filter)?.nodes {
        let mut nodes: Vec<u64> = nodes.into_iter().collect();
        nodes.sort_unstable_by(|a, b| b.cmp(a));
        let sql = concat!("SELECT n.seq, ", searched_columns!(), " FROM nodes n WHERE n.seq = ?1");
        let sql = format!("{sql}{}", numbered(&conditions.sql));
        let mut statement = conn.prepare_cached(&sql)?;
        for seq in nodes {
            let mut rows = statement.query(params_from_iter(values(i64::try_from(seq).unwrap_or(i64::MAX))))?;
            if let Some(row) = rows.next()?
                && !read(row, each)?
            {
                break;
            }
        }
        return Ok(());
    }
    let sql = concat!("SELECT n.seq, ", searched_columns!(), " FROM nodes n WHERE ?1 > 0");
    let sql = format!("{sql}{} ORDER BY n.seq DESC LIMIT ?1", numbered(&conditions.sql));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values(limit.into())))?;
    while let Some(row) = rows.next()? {
        if !read(row, each)? {
            break;
        }
    }
    Ok(())
}

/// Loads at most `limit` matching nodes of a session's turns, in order. A received node has the session and the turn as
/// which it was received.
pub(super) fn turns(
    conn: &Connection,
    session: SessionId,
    turns: &RangeInclusive<u64>,
    filter: &WordFilter,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut within = Conditions::of(conn, &WordFilter { session: None, ..filter.clone() }, "n", "created_at")?;
    within.and_readable(conn, filter.reader)?;
    let row = sessions::row(conn, session)?;
    let sql = format!(
        "SELECT {NODE} {FROM} WHERE n.session = ? AND n.turn >= ? AND n.turn <= ?{} ORDER BY n.turn",
        within.sql
    );
    let turn = |number: u64| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let values = [Value::from(row), turn(*turns.start()), turn(*turns.end())];
    let values = || values.iter().cloned().chain(within.values.iter().cloned());
    let mut found = first(conn, &sql, values(), filter, limit)?;
    let sql = format!(
        "SELECT {NODE} FROM received_turns r JOIN nodes n ON n.seq = r.node LEFT JOIN node_state s ON s.node = n.seq
         WHERE r.session = ? AND r.turn >= ? AND r.turn <= ?{} ORDER BY r.turn",
        within.sql
    );
    let received = first(conn, &sql, values(), filter, limit)?;
    if received.is_empty() {
        return Ok(found);
    }
    for mut node in received {
        let turn = received_turns::turn(conn, row, i64::try_from(node.seq).unwrap_or(i64::MAX))?;
        (node.session, node.turn) = (Some(session), turn);
        found.push(node);
    }
    found.sort_by_key(|node| node.turn);
    found.truncate(limit as usize);
    Ok(found)
}

/// Loads the first `limit` nodes of a statement that are in the filter's set.
fn first(
    conn: &Connection,
    sql: &str,
    values: impl Iterator<Item = Value>,
    filter: &WordFilter,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while found.len() < limit as usize
        && let Some(row) = rows.next()?
    {
        let row = NodeRow::read(row)?;
        if filter.among.as_ref().is_none_or(|among| among.contains(&row.node.seq)) {
            found.push(row);
        }
    }
    UlidCache::new(conn).finish(found)
}

/// Loads at most `limit` results of a tool, newest first.
pub(super) fn tool_results(conn: &Connection, filter: &WordFilter, tool: &str, limit: u32) -> Result<Vec<Node>> {
    let mut conditions = Conditions::of(conn, filter, "n", "created_at")?;
    // Else the results of the tool in all sessions are read, the newest first.
    if filter.tree.is_some() || filter.session.is_some() {
        let (first, last) = fts_query::range(conn, filter)?.rows;
        conditions.sql.push_str(" AND n.seq >= ? AND n.seq <= ?");
        conditions.values.extend([Value::from(first / PASSAGES_PER_NODE), Value::from(last / PASSAGES_PER_NODE)]);
    }
    let sql = format!("SELECT {NODE} {FROM} WHERE n.tool_name = ?{} ORDER BY n.seq DESC", conditions.sql);
    let values = std::iter::once(Value::from(tool.to_owned())).chain(conditions.values);
    first(conn, &sql, values, filter, limit)
}

/// Loads at most `limit` names of tools with matching results, sorted.
pub(super) fn tool_names(conn: &Connection, filter: &WordFilter, limit: u32) -> Result<Vec<String>> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let sql = format!(
        "SELECT DISTINCT n.tool_name FROM nodes n WHERE n.tool_name IS NOT NULL AND ?1 > 0{} ORDER BY 1 LIMIT ?1",
        numbered(&conditions.sql)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(limit)).chain(conditions.values.iter().cloned());
    let names = statement.query_map(params_from_iter(values), |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(names)
}
