//! Order of hits that the asker has seen: nodes that are in the model's window, and questions that recall answered
//! before. They stay, but behind all others.

use super::{
    Result,
    neighbors::load_neighbors,
    query::{Hit, Query},
};
use crate::{store::Snapshot, text_index::has_recall_call, types::Json};

/// Of so many times the query's limit, the seen hits are put last.
const DEMOTED_LIMITS: usize = 3;

/// Puts seen hits behind the others: nodes that are in the model's window, and questions that an agent answered by
/// recall, with the answers.
pub(super) fn demote_seen_hits(snapshot: &dyn Snapshot, query: &Query, hits: &mut [Hit]) -> Result<()> {
    if query.only.seen_by.is_none() {
        return Ok(());
    }
    let most = hits.len().min(query.limit.saturating_mul(DEMOTED_LIMITS));
    let best = &mut hits[..most];
    load_neighbors(snapshot, None, best.iter_mut())?;
    best.iter_mut().for_each(|hit| hit.in_view = query.in_view.contains(&hit.node.id));
    best.sort_by_key(|hit| (hit.in_view, is_answered_by_recall(hit)));
    Ok(())
}

/// True if the node or a neighbor searches the archive: what is said there is said elsewhere too.
fn is_answered_by_recall(hit: &Hit) -> bool {
    let nodes = [Some(&hit.node), hit.parent.as_ref(), hit.first_continuation.as_ref()];
    nodes.into_iter().flatten().any(|node| has_recall_call(node.tool.calls.as_ref().map_or("", Json::as_str)))
}
