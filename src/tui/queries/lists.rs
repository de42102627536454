//! Lookups for lists: trees, sessions, documents, models.

use std::collections::{HashMap, hash_map::Entry};

use ratatui::text::{Line, Span};

use super::{LookupRequest, MAX_LISTED};
use crate::{
    exec::counts::thousands,
    id::{AgentId, DocumentId},
    ops::{OpsError, Result, describe_entry, tree_history},
    session::session_label,
    store::{Direction, SessionFilter, Snapshot, TreeFilter, UndoReach},
    tui::{
        generation_jobs::{COLLABORATOR, SUBJECT},
        highlight, markdown,
        message::{ItemAction, ListItem, LookupResult},
        text,
        theme::{ColorRole, Palette},
        write_thread::change_line,
    },
    types::{Agent, AgentKind, Document, SummarySubject, Timestamp, Tree, one_line},
};

/// Changes of the log, at most: each costs a read of its node.
const MAX_LOGGED: u32 = 200;

/// Sessions of a list, at most: each costs a read of its first message.
const MAX_SESSIONS: u32 = 100;

impl LookupRequest<'_> {
    pub(super) fn trees(&self) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let trees = snapshot.trees(TreeFilter { archived: false, limit: MAX_LISTED })?;
        let now = self.loom.now();
        let item = |tree: Tree| {
            let summary = snapshot.summary(SummarySubject::Tree(tree.id))?;
            Ok(self.tree(&tree, summary.map(|summary| summary.content), now))
        };
        Ok(LookupResult::Items(trees.into_iter().map(item).collect::<Result<_>>()?))
    }

    fn tree(&self, tree: &Tree, summary: Option<String>, now: Timestamp) -> ListItem {
        let is_current = tree.id == self.context.tree;
        let facts = format!("{} nodes · {}", thousands(tree.counts.messages), tree.updated_at.age(now));
        let max_columns = self.context.columns.saturating_sub(text::width(&facts) + 4);
        let line = Line::from(vec![
            Span::styled(if is_current { "▸ " } else { "  " }, self.context.palette.style(ColorRole::Accent)),
            Span::raw(text::pad(&tree.title, max_columns)),
            self.dim(format!("  {facts}")),
        ]);
        let detail = |summary: String| self.dim(text::truncate(&one_line(&summary), self.context.columns)).into();
        let detail = summary.map(detail).into_iter().collect();
        ListItem { line, detail, words: tree.title.clone(), action: ItemAction::OpenTree(tree.id) }
    }

    /// Sessions with messages, the last active first; those of this folder come before others.
    pub(super) fn sessions(&self) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let filter = SessionFilter { spoken: true, limit: MAX_SESSIONS, ..SessionFilter::default() };
        let (agents, now) = (snapshot.agents()?, self.loom.now());
        let mut sessions = snapshot.sessions(&filter)?;
        sessions.sort_by_key(|session| session.workspace != self.context.workspace);
        let mut items = Vec::new();
        for session in sessions {
            let Some(tree) = snapshot.tree(session.tree)? else { continue };
            let agent = agents.iter().find(|agent| agent.id() == session.agent);
            let (name, kind) = agent.map_or(("?", ColorRole::Dim), |agent| (agent.name(), role(agent)));
            let words = one_line(&session_label(self.loom, session.id)?);
            let elsewhere = session.workspace != self.context.workspace;
            let folder = session.workspace.rsplit('/').next().filter(|_| elsewhere);
            let folder = folder.map(|folder| format!(" · {}", text::truncate(folder, 16))).unwrap_or_default();
            let turns = session.person_turns;
            let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
            let facts = format!("{turns} · {}{folder}", session.last_active_at.age(now));
            let is_current = Some(session.id) == self.context.session;
            let max_columns = self.context.columns.saturating_sub(text::width(&facts) + 18);
            let line = Line::from(vec![
                Span::styled(if is_current { "▸ " } else { "  " }, self.context.palette.style(ColorRole::Accent)),
                Span::styled(text::pad(name, 12), self.context.palette.style(kind)),
                Span::raw(format!("  {}", text::pad(&words, max_columns))),
                self.dim(format!("  {facts}")),
            ]);
            let words = format!("{name} {words} {} {folder}", tree.title);
            items.push(ListItem { line, detail: Vec::new(), words, action: ItemAction::ResumeSession(session.id) });
        }
        Ok(LookupResult::Items(items))
    }

    /// Changes of the tree, the newest first. Choosing one offers to undo the last change of its agent.
    pub(super) fn log(&self) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let (agents, now) = (snapshot.agents()?, self.loom.now());
        let mut offers: HashMap<AgentId, ItemAction> = HashMap::new();
        let mut items = Vec::new();
        let entries = tree_history(&*snapshot, self.context.tree, 0, MAX_LOGGED)?;
        for entry in entries.into_iter().filter(|entry| entry.seq == entry.group) {
            let agent = agents.iter().find(|agent| agent.id() == entry.agent);
            let (name, kind) = agent.map_or(("?", ColorRole::Dim), |agent| (agent.name(), role(agent)));
            let action = match offers.entry(entry.agent) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => new.insert(self.undo_offer(&*snapshot, entry.agent, name)?).clone(),
            };
            let change = change_line(&describe_entry(&*snapshot, &entry)?);
            let age = entry.at.age(now);
            let max_columns = self.context.columns.saturating_sub(text::width(&age) + 16);
            let line = Line::from(vec![
                Span::styled(text::pad(name, 12), self.context.palette.style(kind)),
                Span::raw(format!("  {}", text::pad(&change, max_columns))),
                self.dim(format!("  {age}")),
            ]);
            items.push(ListItem { line, detail: Vec::new(), words: format!("{name} {change}"), action });
        }
        Ok(LookupResult::Items(items))
    }

    /// Returns the question whether to undo an agent's last change; no action if nothing can be undone.
    fn undo_offer(&self, snapshot: &dyn Snapshot, agent: AgentId, name: &str) -> Result<ItemAction> {
        let Some(target) = snapshot.undo_target(Some(self.context.tree), UndoReach::Agents, agent, Direction::Undo)?
        else {
            return Ok(ItemAction::ContextPart(None));
        };
        let change = change_line(&describe_entry(snapshot, &target.entry)?);
        Ok(ItemAction::OfferUndo(agent, format!("Undo the last change of {}: {change}?", text::truncate(name, 24))))
    }

    pub(super) fn documents(&self) -> Result<LookupResult> {
        let now = self.loom.now();
        let found = self.loom.snapshot()?.documents()?.into_iter().filter(|document| !document.removed);
        let item = |document: Document| {
            let facts = format!("version {} · {}", document.version, document.updated_at.age(now));
            let max_columns = self.context.columns.saturating_sub(text::width(&facts) + 2);
            let line =
                Line::from(vec![Span::raw(text::pad(&document.name, max_columns)), self.dim(format!("  {facts}"))]);
            ListItem { line, detail: Vec::new(), words: document.name, action: ItemAction::ShowDocument(document.id) }
        };
        Ok(LookupResult::Items(found.map(item).collect()))
    }

    pub(super) fn document(&self, id: DocumentId) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let name = snapshot.documents()?.into_iter().find(|document| document.id == id).map(|document| document.name);
        let version = snapshot.document_version(id, 0)?.ok_or_else(|| OpsError::missing("document", id))?;
        let palette = self.context.palette;
        let highlight_code =
            |language: &str, code: &str| (palette != Palette::Plain).then(|| highlight::highlight(language, code));
        let words = palette.style(ColorRole::Words);
        let lines = markdown::render(&version.content, self.context.columns, words, palette, &highlight_code);
        Ok(LookupResult::Page(format!("{} · version {}", name.unwrap_or_default(), version.version), lines))
    }

    pub(super) fn models(&self) -> Result<LookupResult> {
        let agents = self.loom.snapshot()?.agents()?;
        let own = agents.iter().filter(|agent| !agent.removed && [SUBJECT, COLLABORATOR].contains(&agent.name()));
        let mut names: Vec<String> = self.context.selected_models.clone();
        let known = self.context.model.iter().cloned().chain(self.context.models.iter().cloned());
        for name in known.chain(own.filter_map(|agent| agent.profile.model.clone())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let items = names.into_iter().map(|name| {
            let selected_models = self.context.selected_models.contains(&name);
            let line = Line::from(vec![
                Span::styled(if selected_models { "✓ " } else { "  " }, self.context.palette.style(ColorRole::Accent)),
                Span::raw(text::truncate(&name, self.context.columns)),
            ]);
            ListItem { line, detail: Vec::new(), words: name.clone(), action: ItemAction::ToggleModel(name) }
        });
        Ok(LookupResult::Items(items.collect()))
    }
}

/// Color role of an agent's name.
fn role(agent: &Agent) -> ColorRole {
    match agent.profile.kind {
        AgentKind::Human => ColorRole::Human,
        AgentKind::Model => ColorRole::Model,
    }
}
