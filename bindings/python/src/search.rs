//! Recall, contexts and arrow lines.

use loomtree::{
    context::ContextOptions,
    exec::{Executor, NoHost, read},
    id::{NodeId, SessionId, TreeId},
    ops,
    provider::chat_messages,
    recall::{self, Author, Branch, Query, Scope},
    session::{actor_at, context_of},
    types::Prompt,
};
use pyo3::prelude::*;

use crate::{
    convert::{Place, to_python},
    gil::detached,
    records::{Context, Hit, Node, Recall, Reply},
};

/// Workspace of the sessions in which arrow lines run.
const WORKSPACE: &str = "python";

/// A search.
pub(crate) struct Search {
    pub(crate) text: String,
    pub(crate) tree: Option<TreeId>,
    pub(crate) session: Option<SessionId>,
    pub(crate) by: Option<String>,
    pub(crate) path_to: Option<NodeId>,
    pub(crate) below: Option<NodeId>,
    pub(crate) exact: bool,
    pub(crate) by_time: bool,
    pub(crate) limit: usize,
}

/// Runs a search.
pub(crate) fn search(py: Python<'_>, loom: &ops::Loom, asked: Search) -> PyResult<Recall> {
    let found = detached(py, || {
        let snapshot = loom.snapshot()?;
        let scope = match (asked.tree, asked.session) {
            (_, Some(session)) => Scope::Session(session),
            (Some(tree), None) => Scope::Tree(tree),
            (None, None) => Scope::Everything,
        };
        let branch = asked.path_to.map(Branch::To).or(asked.below.map(Branch::Below));
        let author = asked.by.map(|name| Author::named(&*snapshot, &name)).transpose()?;
        let mut query = Query::new(asked.text, scope);
        (query.only.author, query.only.branch) = (author, branch);
        (query.exact, query.by_time, query.limit) = (asked.exact, asked.by_time, asked.limit);
        recall::search(&*snapshot, &query)
    })?;
    let hits = |hits: Vec<recall::Hit>| hits.into_iter().map(|hit| hit_of(py, hit)).collect::<PyResult<_>>();
    Ok(Recall { hits: hits(found.hits)?, near: hits(found.near)?, absent: found.absent })
}

fn hit_of(py: Python<'_>, hit: recall::Hit) -> PyResult<Py<Hit>> {
    let node = |node: Option<loomtree::types::Node>| node.map(|node| Py::new(py, Node(node))).transpose();
    let (before, after) = (node(hit.parent)?, node(hit.first_continuation)?);
    Py::new(py, Hit { node: Py::new(py, Node(hit.node))?, score: hit.score, exact: hit.exact, before, after })
}

/// Returns the prompt that an agent's model would be sent at a node.
pub(crate) fn context(
    py: Python<'_>,
    loom: &ops::Loom,
    at: NodeId,
    by: &str,
    window: Option<u32>,
) -> PyResult<Context> {
    let assembled = detached(py, || -> loomtree::Result<_> {
        let agent = loom.agent(by)?;
        let defaults = ContextOptions::default();
        let options = ContextOptions { window: window.unwrap_or(defaults.window), ..defaults };
        Ok(context_of(&loom.actor(&agent), &agent, at, &[], options)?)
    })?;
    let (messages, text) = match &assembled.prompt {
        Prompt::Chat(messages) => (Some(to_python(py, &chat_messages(messages))?.unbind()), None),
        Prompt::Raw(text) => (None, Some(to_python(py, text)?.unbind())),
    };
    Ok(Context { messages, text, report: to_python(py, &assembled.report)?.unbind() })
}

/// Runs arrow lines as an agent, at a node or in a session.
pub(crate) fn run_lines(
    py: Python<'_>,
    loom: &ops::Loom,
    lines: &[String],
    at: Place,
    by: &str,
) -> PyResult<Vec<Reply>> {
    let replies = detached(py, || -> loomtree::Result<_> {
        let agent = loom.agent(by)?;
        let session = match at {
            Place::Session(session) => loom.session(session)?.id,
            Place::Node(node) => actor_at(loom, &agent, WORKSPACE, node)?
                .session()
                .ok_or_else(|| ops::OpsError::Invalid("the agent has no session".to_owned()))?,
        };
        let mut executor = Executor::new(loom.clone(), agent, session, &NoHost);
        Ok(executor.run_batch(lines.iter().map(|line| read(line)).collect()))
    })?;
    let replies = replies.into_iter().map(|reply| Reply {
        ok: reply.is_ok(),
        tool: reply.tool.map(|tool| tool.name()),
        code: reply.result.as_ref().err().map(|error| error.code.as_str()),
        text: reply.to_string(),
    });
    Ok(replies.collect())
}
