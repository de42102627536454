//! Graph of the dependencies of a plan: levels and cycles.

use super::{MAX_LISTED_PROBLEMS, Subtask};

/// Returns the length of the longest chain of dependencies before each subtask; `None` if there is a cycle.
pub(super) fn levels(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut levels: Vec<Option<usize>> = vec![None; needs.len()];
    let mut open = needs.len();
    while open > 0 {
        let before = open;
        for (at, needs) in needs.iter().enumerate() {
            if levels[at].is_none() {
                levels[at] = needs.iter().try_fold(0, |level, need| levels[*need].map(|below| level.max(below + 1)));
                open -= usize::from(levels[at].is_some());
            }
        }
        if open == before {
            return None;
        }
    }
    levels.into_iter().collect()
}

/// Returns whether each subtask is reached from `from` by at least one edge.
pub(super) fn reached(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in &edges[at] {
            if !std::mem::replace(&mut reached[*next], true) {
                open.push(*next);
            }
        }
    }
    reached
}

/// Returns the dependency cycles as messages that list their ids.
pub(super) fn cycles(needs: &[Vec<usize>], subtasks: &[Subtask]) -> Vec<String> {
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (at, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|need| needed_by[*need].push(at));
    }
    let mut listed = vec![false; needs.len()];
    let mut messages = Vec::new();
    for at in 0..needs.len() {
        if listed[at] {
            continue;
        }
        let down = reached(needs, at);
        if !down[at] {
            continue;
        }
        let up = reached(&needed_by, at);
        let ids: Vec<usize> = (0..needs.len()).filter(|other| down[*other] && up[*other]).collect();
        ids.iter().for_each(|id| listed[*id] = true);
        let more = ids.len().saturating_sub(MAX_LISTED_PROBLEMS);
        let ids: Vec<String> =
            ids.iter().take(MAX_LISTED_PROBLEMS).map(|at| format!("{:?}", subtasks[*at].id)).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        messages.push(match ids.as_slice() {
            [one] => format!("{one} depends on itself"),
            ids => format!("{}{more} depend on each other in a circle", ids.join(", ")),
        });
    }
    messages
}
