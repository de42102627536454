//! Queries of the table `links`.

use tokio_postgres::Row;

use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, TreeId},
    store::{
        Result, StoreError,
        postgres::{
            connection::PostgresConnection,
            decode::{get, id, opt_id, time},
            uuid::Uuid,
        },
    },
    types::{Link, LinkTarget},
};

const LINK: &str = "SELECT l.id, s.id, l.target_node, l.target_tree, l.target_document, l.section, l.note, l.author,
    l.created_at, l.removed, l.seq FROM links l JOIN nodes s ON s.tree = l.tree AND s.seq = l.source";

fn read(row: &Row) -> Result<(Link, bool)> {
    let node = opt_id(row, 2, NodeId::from_bytes)?;
    let tree = opt_id(row, 3, TreeId::from_bytes)?;
    let document = opt_id(row, 4, DocumentId::from_bytes)?;
    let target = match (node, tree, document) {
        (Some(node), ..) => LinkTarget::Node(node),
        (None, Some(tree), _) => LinkTarget::Tree(tree),
        (None, None, Some(id)) => LinkTarget::Document { id, section: get(row, 5)? },
        (None, None, None) => return Err(StoreError::Undecodable("a link has no target".to_owned())),
    };
    let link = Link {
        id: id(row, 0, LinkId::from_bytes)?,
        source: id(row, 1, NodeId::from_bytes)?,
        target,
        note: get(row, 6)?,
        author: id(row, 7, AgentId::from_bytes)?,
        created_at: time(row, 8)?,
    };
    Ok((link, get(row, 9)?))
}

pub(in crate::store::postgres) fn get_link(conn: &PostgresConnection, id: LinkId) -> Result<Option<(Link, bool)>> {
    let row = conn.query_opt(&format!("{LINK} WHERE l.id = $1"), &[&Uuid(id.to_bytes())])?;
    row.as_ref().map(read).transpose()
}

/// Lists the links from and to a node, without removed ones.
pub(in crate::store::postgres) fn list(conn: &PostgresConnection, node: NodeId) -> Result<Vec<Link>> {
    let sql = format!(
        "SELECT * FROM ({LINK} WHERE s.id = $1 AND NOT l.removed
             UNION {LINK} WHERE l.target_node = $1 AND NOT l.removed) found ORDER BY seq"
    );
    // Columns of a union need names of their own.
    let sql = sql.replace("SELECT l.id, s.id, ", "SELECT l.id AS link, s.id AS source, ");
    conn.query(&sql, &[&Uuid(node.to_bytes())])?.iter().map(|row| Ok(read(row)?.0)).collect()
}
