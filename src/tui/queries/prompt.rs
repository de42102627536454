//! Lookups of the prompt for a node: its sections, its nodes and its price.

use ratatui::text::{Line, Span};

use super::LookupRequest;
use crate::{
    context::{ContextReport, Inclusion, OmissionReason},
    exec::counts::thousands,
    id::NodeId,
    ops::OpsError,
    provider::Usage,
    session::context_of,
    tui::{
        generation_jobs::SUBJECT,
        message::{ItemAction, ListItem, LookupResult},
        path_layout::sign,
        text,
        theme::ColorRole,
        write_thread::error_line,
    },
    types::PinTarget,
};

impl LookupRequest<'_> {
    fn report(&self, node: NodeId, by: &str) -> std::result::Result<ContextReport, String> {
        let to_message = |error: OpsError| error_line(&error);
        let author = self.loom.agent(by).map_err(to_message)?;
        let mut actor = self.loom.actor(&self.context.agent);
        if let Some(session) = self.context.session {
            actor = actor.in_session(session);
        }
        let mut options = self.context.options;
        let known = author.profile.model.as_deref().or(self.context.model.as_deref());
        if let Some(reference) = known {
            let snapshot = self.loom.snapshot().map_err(to_message)?;
            options = options.calibrated_for(reference, &*snapshot).map_err(|error| error.to_string())?;
            options = options.limit_window(self.context.resolver.known_window(reference));
        }
        let assembled = context_of(&actor, &author, node, &self.context.versions, options);
        Ok(assembled.map_err(|error| error.to_string())?.report)
    }

    /// Lists the sections of the prompt, then the nodes of the path with their inclusion.
    pub(super) fn context(&self, node: NodeId) -> std::result::Result<LookupResult, String> {
        let report = self.report(node, SUBJECT)?;
        let palette = self.context.palette;
        let mut items = Vec::new();
        let tokens = |number: u32| self.id(format!("{:>8}  ", thousands(number.into())));
        let plain = |line: Vec<Span<'static>>| ListItem {
            line: Line::from(line),
            detail: Vec::new(),
            words: String::new(),
            action: ItemAction::ContextPart(None),
        };
        for (part, number) in &report.sections {
            items.push(plain(vec![tokens(*number), Span::raw(part.as_str())]));
        }
        let share = u64::from(report.total) * 100 / u64::from(report.budget.max(1));
        let money = self.money(&report).map(|money| format!(" · {money}")).unwrap_or_default();
        items.push(plain(vec![
            tokens(report.total),
            Span::styled(
                format!("in all, {share}% of {}{money}", thousands(report.budget.into())),
                palette.style(ColorRole::Accent),
            ),
        ]));
        if report.earlier > 0 {
            items.push(plain(vec![
                self.dim(format!("          ⋮ {} nodes above: no room", thousands(report.earlier.into()))),
            ]));
        }
        let snapshot = self.loom.snapshot().map_err(|error| error_line(&error))?;
        let pins = snapshot.memory(self.context.agent.id(), self.context.tree).map_err(|error| error.to_string())?.pins;
        for part in report.path.iter().rev() {
            let pinned = pins.iter().any(|pin| pin.target == PinTarget::Node(part.id));
            let words = snapshot.node(part.id).ok().flatten().map(|node| node.content).unwrap_or_default();
            let (fate, style) = match part.inclusion {
                Inclusion::Full => (String::new(), palette.style(ColorRole::Words)),
                Inclusion::Truncated(why) => (format!("cut: {}  ", why.as_str()), palette.style(ColorRole::Mark)),
                Inclusion::Omitted(why) => (format!("out: {}  ", why.as_str()), palette.style(ColorRole::Dim)),
            };
            let fate = if pinned { format!("⌖ {fate}") } else { fate };
            let max_columns = self.context.columns.saturating_sub(20 + text::width(&fate));
            let line = vec![
                tokens(part.tokens),
                self.id(text::pad(&part.local, 7)),
                Span::styled(format!("{} ", sign(part.author_type)), palette.author(part.author_type)),
                Span::styled(fate, palette.style(ColorRole::Mark)),
                Span::styled(text::truncate(&words, max_columns), style),
            ];
            let is_excluded = part.inclusion == Inclusion::Omitted(OmissionReason::Excluded);
            items.push(ListItem {
                line: Line::from(line),
                detail: Vec::new(),
                words,
                action: ItemAction::ContextPart(Some((part.id, is_excluded))),
            });
        }
        for pin in &report.pins {
            let action = match &pin.target {
                PinTarget::Node(id) => ItemAction::ContextPart(Some((*id, false))),
                PinTarget::Document { .. } => ItemAction::ContextPart(None),
            };
            let name = text::truncate(&pin.name, self.context.columns.saturating_sub(20));
            let line = Line::from(vec![tokens(pin.tokens), self.dim("pin    "), Span::raw(name)]);
            items.push(ListItem { line, detail: Vec::new(), words: String::new(), action });
        }
        Ok(LookupResult::Items(items))
    }

    fn money(&self, report: &ContextReport) -> Option<String> {
        let usage = Usage { prompt: report.total.into(), ..Usage::default() };
        Some(self.context.prices.cost(self.context.model.as_deref()?, None, usage)?.to_string())
    }

    pub(super) fn cost(&self, node: NodeId) -> std::result::Result<LookupResult, String> {
        let report = self.report(node, SUBJECT)?;
        Ok(LookupResult::Cost { tokens: report.total, budget: report.budget, money: self.money(&report) })
    }
}
