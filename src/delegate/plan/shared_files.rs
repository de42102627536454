//! Order of subtasks that change the same file.

use std::collections::BTreeMap;

use super::{Subtask, dependency_graph::reached, normalize_path};

/// Orders subtasks that change the same file and do not depend on each other: the later one waits for the earlier one.
pub(super) fn file_order(subtasks: &[Subtask], needs: &[Vec<usize>], order: &[usize]) -> Vec<Vec<usize>> {
    let mut by_file: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &at in order {
        for file in &subtasks[at].files {
            let tasks = by_file.entry(normalize_path(file)).or_default();
            if !tasks.contains(&at) {
                tasks.push(at);
            }
        }
    }
    let (mut edges, mut after) = (needs.to_vec(), vec![Vec::new(); subtasks.len()]);
    for tasks in by_file.values() {
        for (place, &later) in tasks.iter().enumerate() {
            for &earlier in &tasks[..place] {
                if !reached(&edges, later)[earlier] && !reached(&edges, earlier)[later] {
                    edges[later].push(earlier);
                    after[later].push(earlier);
                }
            }
        }
    }
    after
}
