//! The snapshot's queries of words and embeddings.

use std::{ops::RangeInclusive, sync::LazyLock};

use rusqlite::{Connection, OptionalExtension, params_from_iter, types::Value};

use super::{
    decode::{FROM, NODE, NodeRow},
    fts_query,
    search_filter::{Conditions, FilterSets, number, numbered},
    searched_text::{self, searched_columns},
    snapshot::SqliteSnapshot,
    tables::{received_turns, sessions, staged_nodes::UNSTAGED},
    ulid_cache::UlidCache,
    vectors,
};
use crate::{
    id::SessionId,
    store::{
        EmbeddingBatch, Neighbors, PassageInfo, Postings, Result, SearchReader, WordFilter,
        word_postings::PASSAGES_PER_NODE,
    },
    types::Node,
};

impl SearchReader for SqliteSnapshot<'_> {
    fn postings(&self, words: &[String], filter: &WordFilter, most: usize) -> Result<Postings> {
        fts_query::postings(&self.conn, self.conn.tokenizers(), words, filter, most)
    }

    fn places(&self, passages: &[(u64, u32)], filter: &WordFilter) -> Result<Vec<Option<PassageInfo>>> {
        places(&self.conn, passages, filter)
    }

    fn neighbors(&self, nodes: &[u64]) -> Result<Vec<Neighbors>> {
        neighbors(&self.conn, nodes)
    }

    fn nodes_at(&self, nodes: &[u64]) -> Result<Vec<Node>> {
        nodes_at(&self.conn, nodes)
    }

    fn newest_first(&self, filter: &WordFilter, most: u32, each: &mut dyn FnMut(u64, &str) -> bool) -> Result<()> {
        newest_first(&self.conn, filter, most, each)
    }

    fn unembedded(&self, model: &str, limit: u32) -> Result<Option<EmbeddingBatch>> {
        vectors::unembedded(&self.conn, model, limit)
    }

    fn similarities(&self, model: &str, query: &[f32], nodes: &[u64]) -> Result<Vec<Option<f64>>> {
        vectors::similarities(&self.conn, model, query, nodes)
    }

    fn nearest(&self, model: &str, query: &[f32], filter: &WordFilter, limit: usize) -> Result<Vec<u64>> {
        vectors::nearest(&self.conn, model, query, filter, limit)
    }

    fn turns(
        &self,
        session: SessionId,
        turns: RangeInclusive<u64>,
        filter: &WordFilter,
        most: u32,
    ) -> Result<Vec<Node>> {
        session_turns(&self.conn, session, &turns, filter, most)
    }

    fn tool_results(&self, filter: &WordFilter, tool: &str, most: u32) -> Result<Vec<Node>> {
        tool_results(&self.conn, filter, tool, most)
    }

    fn tool_names(&self, filter: &WordFilter, most: u32) -> Result<Vec<String>> {
        tool_names(&self.conn, filter, most)
    }
}

/// Loads the ranking data of passages; `None` for one that does not match the filter.
fn places(conn: &Connection, passages: &[(u64, u32)], filter: &WordFilter) -> Result<Vec<Option<PassageInfo>>> {
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

/// Loads the parent and the continuations of nodes.
fn neighbors(conn: &Connection, nodes: &[u64]) -> Result<Vec<Neighbors>> {
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
fn nodes_at(conn: &Connection, seqs: &[u64]) -> Result<Vec<Node>> {
    let mut statement = conn.prepare_cached(&NODE_BY_SEQ)?;
    let mut rows = Vec::with_capacity(seqs.len());
    for seq in seqs {
        rows.extend(statement.query_row([seq], NodeRow::read).optional()?);
    }
    UlidCache::new(conn).finish(rows)
}

/// Calls `each` for at most `limit` matching nodes, newest first, until it returns `false`.
fn newest_first(
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
fn session_turns(
    conn: &Connection,
    session: SessionId,
    turns: &RangeInclusive<u64>,
    filter: &WordFilter,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut within = Conditions::of(conn, &WordFilter { session: None, ..filter.clone() }, "n", "created_at")?;
    within.exclude_unreadable_thoughts(conn, filter.reader)?;
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
fn tool_results(conn: &Connection, filter: &WordFilter, tool: &str, limit: u32) -> Result<Vec<Node>> {
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
fn tool_names(conn: &Connection, filter: &WordFilter, limit: u32) -> Result<Vec<String>> {
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
