//! Searching by words: postings from the index, and what is not in it yet read as it is.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Statement, params, params_from_iter, types::Value};

use super::{
    index::{self, ROOM, SAID, Said},
    rows::{FROM, NODE, Names, NodeRow, coded},
    tables::{agents, sessions, trees},
};
use crate::{
    id::SessionId,
    model::{EdgeKind, Node, Timestamp, WordReader},
    store::{Beside, Result, SaidPassage, StoreError, WordFilter, WordHits, WordsSaid},
};

/// Rows that a word is read by before the next one has its turn.
const STEP: usize = 256;

/// A filter as conditions on the columns `tree`, `session`, `author`, `kind` and `at`.
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    /// `node` and `at` name the columns of what is filtered.
    pub(super) fn of(conn: &Connection, filter: &WordFilter, table: &str, at: &str) -> Result<Self> {
        let mut found = Self { sql: String::new(), values: Vec::new() };
        let mut and = |column: &str, test: &str, value: Value| {
            found.sql.push_str(&format!(" AND {table}.{column} {test} ?"));
            found.values.push(value);
        };
        if let Some(session) = filter.session {
            and("session", "=", sessions::row(conn, session)?.into());
        }
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
        if let Some(kind) = filter.kind {
            and("kind", "=", kind.code().into());
        }
        if let Some(from) = filter.from {
            and(at, ">=", from.as_millis().into());
        }
        if let Some(to) = filter.to {
            and(at, "<=", to.as_millis().into());
        }
        Ok(found)
    }
}

fn number(row: i64) -> u64 {
    row.unsigned_abs()
}

/// Where words stand, in at most about `most` rows of the index. The words take turns, so that rare ones are read to
/// their end, and frequent ones, which tell little, are given up.
pub(super) fn said(conn: &Connection, words: &[String], filter: &WordFilter, most: usize) -> Result<WordsSaid> {
    let state = index::state(conn)?;
    let mut found = WordsSaid {
        words: vec![WordHits::default(); words.len()],
        passages: Vec::new(),
        all: number(state.passages),
        length: number(state.words),
    };
    let mut places: HashMap<i64, Option<usize>> = HashMap::new();
    let names = Names::new(conn);
    let conditions = Conditions::of(conn, filter, "p", "at")?;
    let fits = format!(
        "SELECT author, kind, at, sitting, words FROM recall_passages p WHERE p.id = ?1{}",
        numbered(&conditions.sql)
    );
    let mut fits = conn.prepare_cached(&fits)?;
    let sql = "SELECT doc FROM recall_terms WHERE term = ?1";
    let mut statements: Vec<Statement<'_>> =
        words.iter().map(|_| conn.prepare(sql)).collect::<rusqlite::Result<_>>()?;
    let mut open = Vec::with_capacity(words.len());
    for (statement, word) in statements.iter_mut().zip(words) {
        open.push(Some(statement.query([word])?));
    }
    let mut read = 0;
    while read < most && open.iter().any(Option::is_some) {
        for (rows, word) in open.iter_mut().zip(&mut found.words) {
            for _ in 0..STEP {
                let Some(reading) = rows else { break };
                let Some(row) = reading.next()? else {
                    *rows = None;
                    word.complete = true;
                    break;
                };
                read += 1;
                let id: i64 = row.get(0)?;
                let place = match places.get(&id) {
                    Some(place) => *place,
                    None => {
                        let values = std::iter::once(Value::from(id)).chain(conditions.values.iter().cloned());
                        let among = filter.among.as_ref().is_none_or(|among| among.contains(&number(id / ROOM)));
                        let passage = if among {
                            fits.query_row(params_from_iter(values), |r| {
                                Ok((r.get(0)?, coded(r, 1, EdgeKind::from_code)?, r.get(2)?, r.get(3)?, r.get(4)?))
                            })
                            .optional()?
                        } else {
                            None
                        };
                        let place = match passage {
                            Some((author, kind, at, sitting, words)) => {
                                found.passages.push(SaidPassage {
                                    node: number(id / ROOM),
                                    part: u32::try_from(id % ROOM).unwrap_or(0),
                                    author: names.agent(author)?,
                                    kind,
                                    at: Timestamp::from_millis(at),
                                    sitting: number(sitting),
                                    words,
                                });
                                Some(found.passages.len() - 1)
                            }
                            None => None,
                        };
                        places.insert(id, place);
                        place
                    }
                };
                match (place, word.hits.last_mut()) {
                    (Some(place), Some((last, count))) if *last == place => *count += 1,
                    (Some(place), _) => word.hits.push((place, 1)),
                    (None, _) => {}
                }
            }
        }
    }
    drop(open);
    newest(conn, state.indexed, words, filter, &mut found)?;
    Ok(found)
}

/// `?` as numbered parameters from the second on.
pub(super) fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or("").to_owned();
    for (number, part) in (2..).zip(parts) {
        text.push_str(&format!("?{number}{part}"));
    }
    text
}

/// Adds what is said by nodes that are not in the index yet.
fn newest(conn: &Connection, indexed: i64, words: &[String], filter: &WordFilter, found: &mut WordsSaid) -> Result<()> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let sql = format!("SELECT {SAID} FROM nodes n WHERE n.seq > ?1{} ORDER BY n.seq", numbered(&conditions.sql));
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(indexed)).chain(conditions.values.iter().cloned());
    let mut rows = statement.query(params_from_iter(values))?;
    let mut reader = WordReader::default();
    let names = Names::new(conn);
    let wanted: HashMap<&str, usize> = words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    while let Some(row) = rows.next()? {
        let said = Said::read(row)?;
        if filter.among.as_ref().is_some_and(|among| !among.contains(&number(said.row))) {
            continue;
        }
        let passages = reader.passages(&said.text);
        found.all += passages.len() as u64;
        for (part, passage) in (0..).zip(&passages) {
            found.length += u64::from(passage.count);
            let mut counts: Vec<(usize, u32)> = Vec::new();
            for word in passage.words.split_ascii_whitespace().filter_map(|word| wanted.get(word)) {
                match counts.iter_mut().find(|(at, _)| at == word) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((*word, 1)),
                }
            }
            if counts.is_empty() {
                continue;
            }
            let place = found.passages.len();
            found.passages.push(SaidPassage {
                node: number(said.row),
                part,
                author: names.agent(said.author)?,
                kind: coded(row, 4, EdgeKind::from_code)?,
                at: Timestamp::from_millis(said.at),
                sitting: number(sitting(conn, &said, indexed)?),
                words: passage.count,
            });
            for (word, count) in counts {
                found.words[word].hits.push((place, count));
            }
        }
    }
    Ok(())
}

/// The sitting of a node that is not in the index: that of the first one above it that is, unless time went by.
fn sitting(conn: &Connection, said: &Said, indexed: i64) -> Result<i64> {
    let (mut first, mut at, mut next) = (said.row, said.at, said.parent);
    while let Some(parent) = next {
        let before: Option<(i64, i64)> = if parent <= indexed { index::place(conn, parent)? } else { None };
        let (then, above, sitting) = match before {
            Some((then, sitting)) => (then, None, sitting),
            None => {
                let (then, above) = conn
                    .prepare_cached("SELECT created_at, parent FROM nodes WHERE seq = ?1")?
                    .query_row([parent], |r| Ok((r.get::<_, i64>(0)?, r.get(1)?)))?;
                (then, above, parent)
            }
        };
        if at.saturating_sub(then) >= index::SITTING {
            break;
        }
        (first, at, next) = (sitting, then, above);
    }
    Ok(first)
}

/// What a node stands beside.
pub(super) fn beside(conn: &Connection, node: u64) -> Result<Beside> {
    let before = conn
        .prepare_cached("SELECT parent FROM nodes WHERE seq = ?1")?
        .query_row([node], |r| r.get::<_, Option<u64>>(0))
        .optional()?
        .flatten();
    let mut statement = conn.prepare_cached(
        "SELECT c.seq FROM nodes n JOIN nodes c ON c.tree = n.tree AND c.depth = n.depth + 1 AND c.parent = n.seq
         WHERE n.seq = ?1 AND c.kind = 0 ORDER BY c.seq LIMIT 10",
    )?;
    let after = statement.query_map([node], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(Beside { before, after })
}

/// Nodes by their sequence numbers, in the order in which they are asked for; those that are not there are left out.
pub(super) fn nodes_at(conn: &Connection, seqs: &[u64]) -> Result<Vec<Node>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {NODE} {FROM} WHERE n.seq = ?1"))?;
    let mut rows = Vec::with_capacity(seqs.len());
    for seq in seqs {
        rows.extend(statement.query_row([seq], NodeRow::read).optional()?);
    }
    Names::new(conn).finish(rows)
}

/// Goes through nodes that fit, the newest first, at most `limit`, until `each` says that it has enough.
pub(super) fn newest_first(
    conn: &Connection,
    filter: &WordFilter,
    limit: u32,
    each: &mut dyn FnMut(u64, &str) -> bool,
) -> Result<()> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    // The plus keeps SQLite from an index whose order is another one.
    let sql = format!(
        "SELECT n.seq, n.content FROM nodes n WHERE ?1 > 0{} ORDER BY n.seq DESC LIMIT ?1",
        numbered(&conditions.sql)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(limit)).chain(conditions.values.iter().cloned());
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let seq: u64 = row.get(0)?;
        if filter.among.as_ref().is_some_and(|among| !among.contains(&seq)) {
            continue;
        }
        let text = row.get_ref(1)?.as_str().map_err(|e| StoreError::Backend(Box::new(e)))?;
        if !each(seq, text) {
            break;
        }
    }
    Ok(())
}

/// Turns of a session from one to another, in order, at most `limit`.
pub(super) fn turns(conn: &Connection, session: SessionId, from: u64, to: u64, limit: u32) -> Result<Vec<Node>> {
    let session = sessions::row(conn, session)?;
    let to = i64::try_from(to).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {NODE} {FROM} WHERE n.session = ?1 AND n.turn >= ?2 AND n.turn <= ?3 ORDER BY n.turn LIMIT ?4"
    ))?;
    let rows = statement.query_map(params![session, from, to, limit], NodeRow::read)?;
    let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Names::new(conn).finish(rows)
}

/// Results of a tool, the newest first, at most `limit`.
pub(super) fn tool_results(conn: &Connection, filter: &WordFilter, tool: &str, limit: u32) -> Result<Vec<Node>> {
    let conditions = Conditions::of(conn, filter, "n", "created_at")?;
    let sql = format!(
        "SELECT {NODE} {FROM} WHERE n.tool_name = ?1{} ORDER BY n.seq DESC LIMIT {limit}",
        numbered(&conditions.sql)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let values = std::iter::once(Value::from(tool.to_owned())).chain(conditions.values.iter().cloned());
    let rows = statement.query_map(params_from_iter(values), NodeRow::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let among = |row: &NodeRow| filter.among.as_ref().is_none_or(|among| among.contains(&row.node.seq));
    Names::new(conn).finish(rows.into_iter().filter(among).collect())
}

/// The names of tools whose results fit, by name, at most `limit`.
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
