//! Finds agents, documents and trees by the name, title or id that a user or model wrote.

use super::{Loom, OpsError, Result};
use crate::{
    store::TreeFilter,
    types::{Agent, Document, Tree},
};

/// Maximum number of similar titles.
const MAX_SIMILAR_TITLES: usize = 3;

impl Loom {
    /// Finds an agent by its name or ULID.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the known names if there is no such agent.
    pub fn agent(&self, name: &str) -> Result<Agent> {
        let agents = self.snapshot()?.agents()?;
        let known = agents.iter().filter(|a| !a.removed).map(|a| a.name().to_owned()).collect();
        agents
            .into_iter()
            .find(|a| !a.removed && (a.name() == name || a.id().to_string() == name))
            .ok_or_else(|| OpsError::unknown("agent", name, known))
    }

    /// Finds a document by its name.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the known names if there is no such document.
    pub fn document(&self, name: &str) -> Result<Document> {
        let documents = self.snapshot()?.documents()?;
        let known = documents.iter().filter(|d| !d.removed).map(|d| d.name.clone()).collect();
        documents
            .into_iter()
            .find(|d| !d.removed && d.name == name)
            .ok_or_else(|| OpsError::unknown("document", name, known))
    }

    /// Finds a tree by its ULID, the start or end of a ULID or the start of its last six characters (at least 4
    /// characters), its title, or a part of the title.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with similar titles, else with all; or [`OpsError::AmbiguousTree`] with the candidates.
    pub fn find_tree(&self, text: &str) -> Result<Tree> {
        self.find_tree_among(text, |_| true)
    }

    /// Finds a tree as [`Loom::find_tree`] does, among those that `is_visible` accepts. Errors do not reveal other
    /// trees.
    ///
    /// # Errors
    /// The errors of [`Loom::find_tree`].
    pub fn find_tree_among(&self, text: &str, is_visible: impl Fn(&Tree) -> bool) -> Result<Tree> {
        let mut trees = self.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
        trees.retain(is_visible);
        let lower = text.trim().to_lowercase();
        let by_id = |t: &Tree| {
            let id = t.id.to_string().to_lowercase();
            // Lists show the last six characters, of which a prefix is enough.
            let starts = id.starts_with(&lower) || id[20..].starts_with(&lower);
            id == lower || lower.len() >= 4 && (starts || id.ends_with(&lower))
        };
        let by_title = |t: &Tree| t.title.to_lowercase() == lower;
        let by_part = |t: &Tree| !lower.is_empty() && t.title.to_lowercase().contains(&lower);
        for fits in [&by_id as &dyn Fn(&Tree) -> bool, &by_title, &by_part] {
            let mut found: Vec<Tree> = trees.iter().filter(|t| fits(t)).cloned().collect();
            match found.len() {
                0 => {}
                1 => return found.pop().ok_or_else(|| OpsError::missing("tree", text)),
                _ => {
                    return Err(OpsError::AmbiguousTree { text: text.to_owned(), candidates: found });
                }
            }
        }
        let similar = similar_titles(&lower, &trees);
        let known = if similar.is_empty() { trees.into_iter().map(|tree| tree.title).collect() } else { Vec::new() };
        Err(OpsError::NotFound { what: "tree", text: text.to_owned(), similar, known })
    }
}

/// Returns the titles that are similar to a text in lower case, or have a word that is, the most similar first.
fn similar_titles(text: &str, trees: &[Tree]) -> Vec<String> {
    // A text with more than a third of its characters wrong is no typo.
    let length = text.chars().count();
    let is_near = |part: &&str| part.chars().count().abs_diff(length) * 3 <= length;
    let distance = |tree: &Tree| {
        let title = tree.title.to_lowercase();
        let parts = title.split_whitespace().chain([title.as_str()]).filter(is_near);
        parts.map(|part| strsim::osa_distance(part, text)).min().filter(|distance| distance * 3 <= length)
    };
    let mut similar: Vec<(usize, &str)> =
        trees.iter().filter_map(|tree| Some((distance(tree)?, tree.title.as_str()))).collect();
    similar.sort_unstable();
    similar.dedup();
    similar.into_iter().take(MAX_SIMILAR_TITLES).map(|(_, title)| title.to_owned()).collect()
}
