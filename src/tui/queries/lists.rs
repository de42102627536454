//! Lists to pick from: trees, sessions, documents, models.

use ratatui::text::{Line, Span};

use super::{LISTED, LookupRequest};
use crate::{
    id::DocumentId,
    ops::{OpsError, Result},
    session::opening,
    store::{SessionFilter, TreeFilter},
    tui::{
        generate::{COLLABORATOR, SUBJECT},
        highlight, markdown,
        message::{ItemAction, ListItem, LookupResult},
        text,
        theme::{ColorRole, Palette},
        view::thousands,
    },
    types::{Agent, AgentKind, Document, Timestamp, Tree, one_line},
};

/// Sessions listed at most: of each the first words are read.
const SESSIONS: u32 = 100;

impl LookupRequest<'_> {
    pub(super) fn trees(&self) -> Result<LookupResult> {
        let trees = self.loom.snapshot()?.trees(TreeFilter { archived: false, limit: LISTED })?;
        let now = self.loom.now();
        Ok(LookupResult::Items(trees.into_iter().map(|tree| self.tree(&tree, now)).collect()))
    }

    fn tree(&self, tree: &Tree, now: Timestamp) -> ListItem {
        let here = tree.id == self.about.tree;
        let facts = format!("{} nodes · {}", thousands(tree.counts.nodes), tree.updated_at.age(now));
        let room = self.about.columns.saturating_sub(text::width(&facts) + 4);
        let line = Line::from(vec![
            Span::styled(if here { "▸ " } else { "  " }, self.about.palette.style(ColorRole::Accent)),
            Span::raw(text::fit(&tree.title, room)),
            self.dim(format!("  {facts}")),
        ]);
        ListItem { line, words: tree.title.clone(), then: ItemAction::Tree(tree.id) }
    }

    /// Sessions in which something was said, the last active first, those of this folder before the others.
    pub(super) fn sessions(&self) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let filter = SessionFilter { spoken: true, limit: SESSIONS, ..SessionFilter::default() };
        let (agents, now) = (snapshot.agents()?, self.loom.now());
        let mut sessions = snapshot.sessions(&filter)?;
        sessions.sort_by_key(|session| session.workspace != self.about.workspace);
        let mut items = Vec::new();
        for session in sessions {
            let Some(tree) = snapshot.tree(session.tree)? else { continue };
            let agent = agents.iter().find(|agent| agent.id() == session.agent);
            let (name, kind) = agent.map_or(("?", ColorRole::Dim), |agent| (agent.name(), role(agent)));
            let words = one_line(&opening(self.loom, session.id)?);
            let elsewhere = session.workspace != self.about.workspace;
            let folder = session.workspace.rsplit('/').next().filter(|_| elsewhere);
            let folder = folder.map(|folder| format!(" · {}", text::cut(folder, 16))).unwrap_or_default();
            let turns = if session.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", session.turns) };
            let facts = format!("{turns} · {}{folder}", session.last_active_at.age(now));
            let here = Some(session.id) == self.about.session;
            let room = self.about.columns.saturating_sub(text::width(&facts) + 18);
            let line = Line::from(vec![
                Span::styled(if here { "▸ " } else { "  " }, self.about.palette.style(ColorRole::Accent)),
                Span::styled(text::fit(name, 12), self.about.palette.style(kind)),
                Span::raw(format!("  {}", text::fit(&words, room))),
                self.dim(format!("  {facts}")),
            ]);
            let words = format!("{name} {words} {} {folder}", tree.title);
            items.push(ListItem { line, words, then: ItemAction::Resume(session.id) });
        }
        Ok(LookupResult::Items(items))
    }

    pub(super) fn documents(&self) -> Result<LookupResult> {
        let now = self.loom.now();
        let found = self.loom.snapshot()?.documents()?.into_iter().filter(|document| !document.removed);
        let item = |document: Document| {
            let facts = format!("version {} · {}", document.version, document.updated_at.age(now));
            let room = self.about.columns.saturating_sub(text::width(&facts) + 2);
            let line = Line::from(vec![Span::raw(text::fit(&document.name, room)), self.dim(format!("  {facts}"))]);
            ListItem { line, words: document.name, then: ItemAction::Document(document.id) }
        };
        Ok(LookupResult::Items(found.map(item).collect()))
    }

    pub(super) fn document(&self, id: DocumentId) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let name = snapshot.documents()?.into_iter().find(|document| document.id == id).map(|document| document.name);
        let version = snapshot.document_version(id, 0)?.ok_or_else(|| OpsError::missing("document", id))?;
        let palette = self.about.palette;
        let of_code = |language: &str, code: &str| (palette != Palette::Plain).then(|| highlight::runs(language, code));
        let words = palette.style(ColorRole::Words);
        let lines = markdown::render(&version.content, self.about.columns, words, palette, &of_code);
        Ok(LookupResult::Page(format!("{} · version {}", name.unwrap_or_default(), version.version), lines))
    }

    pub(super) fn models(&self) -> Result<LookupResult> {
        let agents = self.loom.snapshot()?.agents()?;
        let own = agents.iter().filter(|agent| !agent.removed && [SUBJECT, COLLABORATOR].contains(&agent.name()));
        let mut names: Vec<String> = self.about.taken.clone();
        let known = self.about.model.iter().cloned().chain(self.about.models.iter().cloned());
        for name in known.chain(own.filter_map(|agent| agent.profile.model.clone())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let items = names.into_iter().map(|name| {
            let taken = self.about.taken.contains(&name);
            let line = Line::from(vec![
                Span::styled(if taken { "✓ " } else { "  " }, self.about.palette.style(ColorRole::Accent)),
                Span::raw(text::cut(&name, self.about.columns)),
            ]);
            ListItem { line, words: name.clone(), then: ItemAction::Model(name) }
        });
        Ok(LookupResult::Items(items.collect()))
    }
}

/// The colour of an agent's name.
fn role(agent: &Agent) -> ColorRole {
    match agent.profile.kind {
        AgentKind::Human => ColorRole::Human,
        AgentKind::Model => ColorRole::Model,
    }
}
