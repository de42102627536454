//! Files that an agent has seen, recorded with the results of its tools, so that a later process knows them too.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    id::{AgentId, NodeId},
    store::{ChildFilter, Result, Snapshot},
    types::{EdgeKind, Node},
};

/// Name of the digest in the metadata of a result.
pub(super) const DIGEST: &str = "digest";

/// Digests of the files that an agent has read or written by its tools.
pub trait SeenFiles: Send + Sync {
    /// Returns the digest of the file that the arguments of a call name, as the agent last read or wrote it; `None` if it has
    /// not.
    fn digest(&self, arguments: &Value) -> Option<String>;

    /// Adds the digest of a file that an earlier process recorded, unless the agent has seen the file since.
    fn restore(&self, arguments: &Value, digest: &str);
}

/// Restores the digests in the results of an agent below these nodes, the newest first.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn restore(
    snapshot: &dyn Snapshot,
    files: &dyn SeenFiles,
    agent: AgentId,
    nodes: &HashSet<NodeId>,
) -> Result<()> {
    let filter = ChildFilter { kind: Some(EdgeKind::Tool), pruned: false, limit: 0 };
    let mut results = Vec::new();
    for node in nodes {
        results.extend(snapshot.children(*node, &filter)?.into_iter().filter(|result| result.author == agent));
    }
    results.sort_by_key(|result| std::cmp::Reverse(result.seq));
    for (arguments, digest) in results.iter().filter_map(recorded) {
        files.restore(&arguments, &digest);
    }
    Ok(())
}

/// Returns the arguments of a call and the digest that its result recorded.
fn recorded(result: &Node) -> Option<(Value, String)> {
    let mut metadata: Value = serde_json::from_str(result.metadata.as_ref()?.as_str()).ok()?;
    let digest = metadata[DIGEST].as_str()?.to_owned();
    Some((metadata["arguments"].take(), digest))
}
