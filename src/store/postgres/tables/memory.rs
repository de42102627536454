//! Queries of the agents' operational memory: the tables of pins, stashes and actions.

use crate::{
    id::{DocumentId, NodeId},
    store::{
        Result, StoreError,
        postgres::{
            connection::PostgresConnection,
            decode::{coded, get, number, opt_id, small, time},
            uuid::Uuid,
        },
    },
    types::{AgentAction, Memory, Pin, PinTarget, Stash, StashContent, StashKind},
};

/// Loads an agent's operational memory in a tree, without the content of stashes.
pub(in crate::store::postgres) fn load(conn: &PostgresConnection, agent: Uuid, tree: Uuid) -> Result<Memory> {
    let rows = |sql: &str| conn.query(sql, &[&tree, &agent]);
    let pins = rows("SELECT node, document, section, pinned_at FROM pins WHERE tree = $1 AND agent = $2 ORDER BY seq")?;
    let pin = |row: &tokio_postgres::Row| {
        let target = match (opt_id(row, 0, NodeId::from_bytes)?, opt_id(row, 1, DocumentId::from_bytes)?) {
            (Some(node), _) => PinTarget::Node(node),
            (None, Some(id)) => PinTarget::Document { id, section: get(row, 2)? },
            (None, None) => return Err(StoreError::Undecodable("a pin has no target".to_owned())),
        };
        Ok(Pin { target, at: time(row, 3)? })
    };
    let stashes = rows(
        "SELECT label, kind, tokens, stashed_at FROM stashes WHERE tree = $1 AND agent = $2 AND NOT result ORDER BY seq",
    )?;
    let stash = |row: &tokio_postgres::Row| {
        let kind = coded(row, 1, StashKind::from_code)?;
        Ok(Stash { label: get(row, 0)?, kind, tokens: small(row, 2)?, at: time(row, 3)? })
    };
    let actions = rows("SELECT tool, about, after FROM actions WHERE tree = $1 AND agent = $2 ORDER BY seq")?;
    let action =
        |row: &tokio_postgres::Row| Ok(AgentAction { tool: get(row, 0)?, about: get(row, 1)?, after: number(row, 2)? });
    Ok(Memory {
        pins: pins.iter().map(pin).collect::<Result<_>>()?,
        stashes: stashes.iter().map(stash).collect::<Result<_>>()?,
        actions: actions.iter().map(action).collect::<Result<_>>()?,
    })
}

/// Loads the content under a label, of results or of the agent's own stashes.
pub(in crate::store::postgres) fn stashed(
    conn: &PostgresConnection,
    [agent, tree]: [Uuid; 2],
    label: &str,
    result: bool,
) -> Result<Option<StashContent>> {
    let sql = "SELECT kind, content, node FROM stashes WHERE tree = $1 AND agent = $2 AND label = $3 AND result = $4";
    let Some(row) = conn.query_opt(sql, &[&tree, &agent, &label, &result])? else { return Ok(None) };
    let broken = || StoreError::Undecodable(format!("stash {label:?} holds nothing"));
    let content = || get::<Option<String>>(&row, 1)?.ok_or_else(broken);
    Ok(Some(match coded(&row, 0, StashKind::from_code)? {
        StashKind::Words => StashContent::Words(content()?),
        StashKind::Summary => StashContent::Summary(content()?),
        StashKind::Result => StashContent::Result(content()?),
        StashKind::Node => StashContent::Node(opt_id(&row, 2, NodeId::from_bytes)?.ok_or_else(broken)?),
    }))
}
