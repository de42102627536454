//! The snapshot's queries of words and embeddings.

use std::{collections::HashMap, ops::RangeInclusive};

use tokio_postgres::{Row, types::ToSql};

use super::{
    complete_nodes,
    decode::{self, FROM, NODE, PgNodeRow, get, int, opt_int, small},
    fts_index::{SEARCHED, text},
    fts_query,
    search_filter::PgConditions,
    snapshot::PostgresSnapshot,
    uuid::Uuid,
    vectors,
};
use crate::{
    id::SessionId,
    store::{EmbeddingBatch, Neighbors, PassageInfo, Postings, Result, SearchReader, WordFilter},
    types::Node,
};

/// Rows of a page whose reader may stop early.
const PAGE_ROWS: i64 = 500;

fn signed(seqs: &[u64]) -> Vec<i64> {
    seqs.iter().map(|seq| i64::try_from(*seq).unwrap_or(i64::MAX)).collect()
}

/// True if the filter's set, if any, contains a node.
fn is_among(filter: &WordFilter, seq: u64) -> bool {
    filter.among.as_ref().is_none_or(|among| among.contains(&seq))
}

impl PostgresSnapshot<'_> {
    /// The first `limit` nodes of a query that are in the filter's set.
    fn first(&self, sql: &str, params: &[&(dyn ToSql + Sync)], filter: &WordFilter, limit: u32) -> Result<Vec<Node>> {
        let rows = self.query(sql, params)?;
        let kept: Vec<&Row> = rows
            .iter()
            .filter(|row| int(row, 0).is_ok_and(|seq| is_among(filter, seq.unsigned_abs())))
            .take(limit as usize)
            .collect();
        complete_nodes::finish(self, kept.into_iter().map(PgNodeRow::read).collect::<Result<_>>()?)
    }

    /// The limit of a query, if no row is left out afterwards.
    fn row_limit(filter: &WordFilter, limit: u32) -> i64 {
        if filter.among.is_some() { i64::MAX } else { i64::from(limit) }
    }
}

impl SearchReader for PostgresSnapshot<'_> {
    fn postings(&self, words: &[String], filter: &WordFilter, most: usize) -> Result<Postings> {
        fts_query::postings(self, words, filter, most)
    }

    fn places(&self, passages: &[(u64, u32)], filter: &WordFilter) -> Result<Vec<Option<PassageInfo>>> {
        let (nodes, parts): (Vec<u64>, Vec<i64>) =
            passages.iter().map(|(node, part)| (*node, i64::from(*part))).unzip();
        let conditions = PgConditions::of(&WordFilter { among: None, ..filter.clone() }, 3);
        let sql = format!(
            "SELECT w.place, p.burst, p.words[w.part + 1]
             FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY w (node, part, place)
                 JOIN nodes n ON n.seq = w.node JOIN passages p ON p.tree = n.tree AND p.node = n.seq WHERE true{}",
            conditions.sql
        );
        let mut found = vec![None; passages.len()];
        for row in self.query(&sql, &conditions.with(&[&signed(&nodes), &parts]))? {
            let place = usize::try_from(int(&row, 0)? - 1).ok().and_then(|place| found.get_mut(place));
            if let (Some(place), Some(_)) = (place, opt_int(&row, 2)?) {
                *place = Some(PassageInfo { burst: int(&row, 1)?.unsigned_abs(), length: small(&row, 2)? });
            }
        }
        Ok(found)
    }

    fn neighbors(&self, nodes: &[u64]) -> Result<Vec<Neighbors>> {
        let sql = "SELECT w.place, n.parent, c.seq FROM unnest($1::bigint[]) WITH ORDINALITY w (node, place)
                       JOIN nodes n ON n.seq = w.node
                       LEFT JOIN LATERAL (SELECT seq FROM nodes c WHERE c.tree = n.tree AND c.parent = n.seq AND c.kind = 0
                                          ORDER BY seq LIMIT 10) c ON true
                   ORDER BY w.place, c.seq";
        let mut found = vec![Neighbors::default(); nodes.len()];
        for row in self.query(sql, &[&signed(nodes)])? {
            let place = usize::try_from(int(&row, 0)? - 1).ok().and_then(|place| found.get_mut(place));
            if let Some(beside) = place {
                beside.before = opt_int(&row, 1)?.map(i64::unsigned_abs);
                beside.after.extend(opt_int(&row, 2)?.map(i64::unsigned_abs));
            }
        }
        Ok(found)
    }

    fn nodes_at(&self, nodes: &[u64]) -> Result<Vec<Node>> {
        let rows = self.query(&format!("SELECT {NODE} {FROM} WHERE n.seq = ANY($1)"), &[&signed(nodes)])?;
        let found = complete_nodes::nodes(self, &rows)?;
        let mut by_seq: HashMap<u64, Node> = found.into_iter().map(|node| (node.seq, node)).collect();
        Ok(nodes.iter().filter_map(|seq| by_seq.remove(seq)).collect())
    }

    fn newest_first(&self, filter: &WordFilter, most: u32, each: &mut dyn FnMut(u64, &str) -> bool) -> Result<()> {
        let range = fts_query::range(self, filter)?;
        let conditions = PgConditions::of(filter, 3);
        let mut sql = format!("SELECT n.seq, {SEARCHED} FROM nodes n WHERE n.seq < $1{}", conditions.sql);
        if range.is_some() {
            sql.push_str(&format!(" AND n.tree = ANY(${})", 3 + conditions.with(&[]).len()));
        }
        sql.push_str(" ORDER BY n.seq DESC LIMIT $2");
        let trees = range.map(|range| range.trees);
        // If few nodes can match, all of them are read.
        let mut left = if trees.is_some() { i64::MAX } else { i64::from(most) };
        let mut before = i64::MAX;
        while left > 0 {
            let page = left.min(PAGE_ROWS);
            let mut params = conditions.with(&[&before, &page]);
            if let Some(trees) = &trees {
                params.push(trees);
            }
            let rows = self.query(&sql, &params)?;
            for row in &rows {
                let seq = int(row, 0)?;
                if is_among(filter, seq.unsigned_abs()) && !each(seq.unsigned_abs(), &text(row, 1)?) {
                    return Ok(());
                }
            }
            let Some(last) = rows.last().filter(|_| rows.len() as i64 == page) else { return Ok(()) };
            let last = int(last, 0)?;
            left -= page;
            before = last;
        }
        Ok(())
    }

    fn unembedded(&self, model: &str, limit: u32) -> Result<Option<EmbeddingBatch>> {
        vectors::unembedded(self, model, limit)
    }

    fn similarities(&self, model: &str, query: &[f32], nodes: &[u64]) -> Result<Vec<Option<f64>>> {
        vectors::similarities(self, model, query, &signed(nodes))
    }

    fn nearest(&self, model: &str, query: &[f32], filter: &WordFilter, limit: usize) -> Result<Vec<u64>> {
        vectors::nearest(self, model, query, filter, limit)
    }

    fn turns(
        &self,
        session: SessionId,
        turns: RangeInclusive<u64>,
        filter: &WordFilter,
        most: u32,
    ) -> Result<Vec<Node>> {
        let key = self.session_key(session)?;
        let number = |turn: &u64| i64::try_from(*turn).unwrap_or(i64::MAX);
        let (from, to) = (number(turns.start()), number(turns.end()));
        let filter = WordFilter { session: None, ..filter.clone() };
        let (conditions, limit) =
            (PgConditions::of(&filter, 5).exclude_unreadable_thoughts(&filter), Self::row_limit(&filter, most));
        let params = conditions.with(&[&key, &from, &to, &limit]);
        let sql = format!(
            "SELECT {NODE} {FROM} WHERE n.session = $1 AND n.turn >= $2 AND n.turn <= $3{} ORDER BY n.turn LIMIT $4",
            conditions.sql
        );
        let mut found = self.first(&sql, &params, &filter, most)?;
        let sql = format!(
            "SELECT {NODE}, r.turn FROM received_turns r JOIN nodes n ON n.tree = r.tree AND n.seq = r.node
                 LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
             WHERE r.session = $1 AND r.turn >= $2 AND r.turn <= $3{} ORDER BY r.turn LIMIT $4",
            conditions.sql
        );
        let received = self.first(&sql, &params, &filter, most)?;
        if received.is_empty() {
            return Ok(found);
        }
        let turns: HashMap<_, _> = self.received_turns_of(key)?;
        for mut node in received {
            (node.session, node.turn) = (Some(session), turns.get(&node.id).copied());
            found.push(node);
        }
        found.sort_by_key(|node| node.turn);
        found.truncate(most as usize);
        Ok(found)
    }

    fn tool_results(&self, filter: &WordFilter, tool: &str, most: u32) -> Result<Vec<Node>> {
        let conditions = PgConditions::of(filter, 3);
        let sql = format!("SELECT {NODE} {FROM} WHERE n.tool_name = $1{} ORDER BY n.seq DESC LIMIT $2", conditions.sql);
        let limit = Self::row_limit(filter, most);
        self.first(&sql, &conditions.with(&[&tool, &limit]), filter, most)
    }

    fn tool_names(&self, filter: &WordFilter, most: u32) -> Result<Vec<String>> {
        let conditions = PgConditions::of(filter, 2);
        let sql = format!(
            "SELECT DISTINCT n.tool_name COLLATE \"C\" FROM nodes n WHERE n.tool_name IS NOT NULL{} ORDER BY 1 LIMIT $1",
            conditions.sql
        );
        self.query(&sql, &conditions.with(&[&i64::from(most)]))?.iter().map(|row| get(row, 0)).collect()
    }
}

impl PostgresSnapshot<'_> {
    /// The turns as which a session received nodes.
    fn received_turns_of(&self, session: Uuid) -> Result<HashMap<crate::id::NodeId, u64>> {
        let sql = "SELECT n.id, r.turn FROM received_turns r JOIN nodes n ON n.tree = r.tree AND n.seq = r.node
                   WHERE r.session = $1";
        let rows = self.query(sql, &[&session])?;
        rows.iter()
            .map(|row| Ok((decode::id(row, 0, crate::id::NodeId::from_bytes)?, decode::number(row, 1)?)))
            .collect()
    }
}
