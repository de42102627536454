//! Queries of the tables `trees` and `tree_state`.

use tokio_postgres::Row;

use crate::{
    id::{NodeId, TreeId},
    store::{
        MAX_TITLE_CHARS, Result, TreeFilter,
        postgres::{
            connection::PostgresConnection,
            decode::{coded, get, id, item, number, opt_id, opt_time, small, time},
            node_reader::limit,
            uuid::Uuid,
        },
    },
    types::{Mode, Tree, TreeCounts, first_words},
};

const TREE: &str = "SELECT t.id, t.title, t.description, t.mode, t.system_context, su.content, t.created_at,
    s.updated_at, t.archived_at, r.id, coalesce(nullif(left(r.content, 400), ''), (SELECT left(c.content, 400)
        FROM nodes c WHERE c.tree = t.id AND c.depth = 1 ORDER BY c.seq LIMIT 1)),
    s.nodes, s.messages, s.leaves, s.branch_points, s.max_depth, t.project, t.external_ref
    FROM trees t JOIN tree_state s ON s.tree = t.id LEFT JOIN nodes r ON r.tree = t.id AND r.depth = 0
    LEFT JOIN summaries su ON su.kind = 2 AND su.subject = t.id";

fn read(row: &Row) -> Result<Tree> {
    let given: Option<String> = get(row, 1)?;
    let titled = given.is_some();
    let title = match given {
        Some(title) => title,
        None => match first_words(get::<Option<&str>>(row, 10)?.unwrap_or(""), MAX_TITLE_CHARS) {
            words if words.is_empty() => "untitled".to_owned(),
            words => words,
        },
    };
    Ok(Tree {
        id: id(row, 0, TreeId::from_bytes)?,
        title,
        titled,
        description: get(row, 2)?,
        mode: coded(row, 3, Mode::from_code)?,
        system_context: get(row, 4)?,
        summary: get(row, 5)?,
        created_at: time(row, 6)?,
        updated_at: time(row, 7)?,
        archived_at: opt_time(row, 8)?,
        root: opt_id(row, 9, NodeId::from_bytes)?,
        counts: TreeCounts {
            nodes: number(row, 11)?,
            messages: number(row, 12)?,
            leaves: number(row, 13)?,
            branch_points: number(row, 14)?,
            max_depth: small(row, 15)?,
        },
        item: item(row, 16)?,
    })
}

pub(in crate::store::postgres) fn get_tree(conn: &PostgresConnection, id: TreeId) -> Result<Option<Tree>> {
    let row = conn.query_opt(&format!("{TREE} WHERE t.id = $1"), &[&Uuid(id.to_bytes())])?;
    row.as_ref().map(read).transpose()
}

pub(in crate::store::postgres) fn list(conn: &PostgresConnection, filter: TreeFilter) -> Result<Vec<Tree>> {
    let sql = format!(
        "{TREE} WHERE $1 OR t.archived_at IS NULL
         ORDER BY s.updated_hour DESC, s.updated_at DESC, t.seq DESC LIMIT $2"
    );
    conn.query(&sql, &[&filter.archived, &limit(filter.limit)])?.iter().map(read).collect()
}
