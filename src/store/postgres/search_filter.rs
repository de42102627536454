//! Filters of a search as conditions on `nodes n`.

use tokio_postgres::types::ToSql;

use super::uuid::Uuid;
use crate::{
    store::WordFilter,
    types::{EdgeKind, Timestamp},
};

/// A filter as SQL conditions, with its values.
pub(super) struct PgConditions {
    /// Text that begins with ` AND`, or nothing.
    pub(super) sql: String,
    values: Vec<Box<dyn ToSql + Sync>>,
    first: usize,
}

impl PgConditions {
    /// Translates a filter. Its values are the parameters from number `first` on. [`WordFilter::among`] and
    /// [`WordFilter::reader`] are left to the caller.
    pub(super) fn of(filter: &WordFilter, first: usize) -> Self {
        let mut found = Self { sql: String::new(), values: Vec::new(), first };
        if let Some(session) = filter.session {
            found.add(
                "(n.session = ? OR EXISTS (SELECT 1 FROM received_turns r
                     WHERE r.tree = n.tree AND r.node = n.seq AND r.session = ?))",
                Uuid(session.to_bytes()),
            );
        }
        if let Some(workspace) = &filter.workspace {
            found.add("n.session IN (SELECT id FROM sessions WHERE workspace = ?)", workspace.clone());
        }
        if let Some(tree) = filter.tree {
            found.add("n.tree = ?", Uuid(tree.to_bytes()));
        }
        if let Some(item) = &filter.seen_by {
            let (external_ref, project) =
                item.as_ref().map(|item| (item.external_ref.clone(), item.project.clone())).unzip();
            let project = found.push(project);
            found.add(
                &format!(
                    "n.tree NOT IN (SELECT id FROM trees WHERE external_ref IS NOT NULL
                         AND NOT (external_ref IS NOT DISTINCT FROM ?::text AND project IS NOT DISTINCT FROM {project}::text))"
                ),
                external_ref,
            );
        }
        if let Some(author) = filter.author {
            found.add("n.author = ?", Uuid(author.to_bytes()));
        }
        if let Some(role) = filter.role {
            found.add("coalesce(n.role, n.author_type) = ?", role.code());
        }
        if let Some(kind) = filter.kind {
            found.add("n.kind = ?", kind.code());
        }
        if let Some(from) = filter.from {
            found.add("n.created_at >= ?", Timestamp::as_millis(from));
        }
        if let Some(to) = filter.to {
            found.add("n.created_at <= ?", Timestamp::as_millis(to));
        }
        if let Some(before) = filter.before {
            found.add("n.seq < ?", i64::try_from(before).unwrap_or(i64::MAX));
        }
        found
    }

    /// Excludes the thoughts of agents other than the filter's reader.
    pub(super) fn exclude_unreadable_thoughts(mut self, filter: &WordFilter) -> Self {
        if let Some(reader) = filter.reader {
            let thought = self.push(EdgeKind::Thought.code());
            self.add(&format!("(n.kind <> {thought} OR n.author = ?)"), Uuid(reader.to_bytes()));
        }
        self
    }

    /// Adds a value; returns its parameter.
    fn push(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.first + self.values.len() - 1)
    }

    /// Adds a condition in which `?` is the value.
    fn add(&mut self, condition: &str, value: impl ToSql + Sync + 'static) {
        let parameter = self.push(value);
        self.sql.push_str(&format!(" AND {}", condition.replace('?', &parameter)));
    }

    /// The parameters before those of the filter, and the filter's.
    pub(super) fn with<'v>(&'v self, before: &[&'v (dyn ToSql + Sync)]) -> Vec<&'v (dyn ToSql + Sync)> {
        before.iter().copied().chain(self.values.iter().map(|value| &**value as &(dyn ToSql + Sync))).collect()
    }
}
