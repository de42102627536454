//! Factors by which the scores of nodes rise or fall: by their authors, their time, and whether they answer.

use std::collections::HashSet;

use jiff::{Timestamp as Instant, tz::TimeZone};

use super::{
    Hit,
    query_parser::{ParsedQuery, is_question},
};
use crate::{
    id::TreeId,
    types::{EdgeKind, Node, Timestamp},
};

/// Factor for nodes by the first named author or a named role, and for nodes by other named authors. In most questions
/// the first name is the subject.
const SUBJECT_FACTOR: f64 = 1.7;
const OBJECT_FACTOR: f64 = 1.3;
/// Factor for results of tools: they repeat files, of which the messages around them tell what mattered.
const RESULT_FACTOR: f64 = 0.8;
/// Factor for nodes in trees in which none of the named authors speaks.
const OTHER_TREE_FACTOR: f64 = 0.6;

impl ParsedQuery {
    /// Factor for the score of a node.
    pub(super) fn boost(&self, node: &Node) -> f64 {
        let mut factor = 1.0;
        if self.authors.first() == Some(&node.author) || self.roles.contains(&node.role()) {
            factor *= SUBJECT_FACTOR;
        } else if self.authors.contains(&node.author) {
            factor *= OBJECT_FACTOR;
        }
        factor *= self.date_boost(node.created_at);
        factor *= self.answer_type.boost(&node.content, &self.known);
        if is_question(&node.content) {
            factor *= 0.8;
        }
        if node.kind == EdgeKind::Tool {
            factor *= RESULT_FACTOR;
        }
        factor
    }

    /// Lowers the scores of hits in trees in which none of the named authors speaks.
    pub(super) fn discount_other_trees(&self, hits: &mut [Hit]) {
        let by_named = hits.iter().filter(|hit| self.authors.contains(&hit.node.author));
        let trees: HashSet<TreeId> = by_named.map(|hit| hit.node.tree).collect();
        if !trees.is_empty() {
            hits.iter_mut()
                .filter(|hit| !trees.contains(&hit.node.tree))
                .for_each(|hit| hit.score *= OTHER_TREE_FACTOR);
        }
    }

    /// Factor for the creation time of a node: messages about a day are written on that day or soon after.
    pub(super) fn date_boost(&self, at: Timestamp) -> f64 {
        if self.months.is_empty() {
            return 1.0;
        }
        let Ok(instant) = Instant::from_millisecond(at.as_millis()) else { return 1.0 };
        let date = instant.to_zoned(TimeZone::UTC).date();
        let year = self.years.is_empty() || self.years.contains(&date.year());
        if !year || !self.months.contains(&date.month()) {
            return 1.0;
        }
        if self.days.iter().any(|day| (0..=7).contains(&(date.day() - day))) { 3.0 } else { 2.0 }
    }
}
