//! The command `recall` with its filters.

use super::{BindError, Binder, Bound};
use crate::arrow::{
    Command, RecallFilter, RecallScope, RecallSort,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};
use crate::types::EdgeKind;

impl Binder<'_, '_> {
    /// Filters of a recall. Only named options count, since free words may belong to the query.
    fn narrowed(&mut self) -> Bound<RecallFilter> {
        let by = self.option(
            OptionName::By,
            |text| Some(text.to_owned()),
            "by: human, model, tool, system or an agent's name",
        )?;
        // Roles in any case; an agent's name as it is.
        let role =
            |by: &String| ["human", "model", "tool", "system"].into_iter().find(|role| by.eq_ignore_ascii_case(role));
        let by = by.or_else(|| self.author()).map(|by| role(&by).map_or(by, str::to_owned));
        let scope = self.option(OptionName::Scope, RecallScope::parse, "scope: session, tree, workspace or all")?;
        let scope = scope.or_else(|| self.scope());
        let path = self.node_option(OptionName::Path, "path: the id of the node that the path leads to")?;
        let below = self.node_option(OptionName::Below, "below: the id of the node that it is all below")?;
        // `only below a7x2`, `on the path to a7x2`
        let placed = |binder: &mut Self, fits: fn(&Arg) -> bool| {
            let arg = binder.arguments.take(|arg| arg.key.is_none() && arg.kind == ArgKind::Id && fits(arg));
            arg.map(|arg| binder.node_ref(&arg))
        };
        let below = below.or_else(|| placed(self, |arg| arg.prep == Some(Prep::Under)));
        let path = path.or_else(|| placed(self, |arg| arg.noun == Some(Noun::Branch) || arg.prep == Some(Prep::To)));
        let time = |text: &str| text.parse().ok();
        let from =
            self.option(OptionName::From, time, "from: a day (2026-11-22, yesterday), a moment or an age (2h)")?;
        let to = self.option(OptionName::To, time, "to: a day (2026-11-22, yesterday), a moment or an age (2h)")?;
        let kind = self.option(
            OptionName::Kind,
            |text| text.to_lowercase().parse().ok(),
            "kind: continuation, annotation, tool …",
        )?;
        // `the annotations that say "x"`
        let kind = kind.or_else(|| self.names(Noun::Annotation).then_some(EdgeKind::Annotation));
        let around = self.node_option(OptionName::Around, "around: the id of the node in the middle")?;
        // `what comes before and after a7x2`
        let is_beside =
            around.is_none() && ["before and after", "around"].iter().any(|words| self.arguments.has_bare_word(words));
        let around = if is_beside { self.node() } else { around };
        let sort = self.option(
            OptionName::Sort,
            |text| text.to_lowercase().parse().ok(),
            "sort: time, which is the newest first, or oldest",
        )?;
        let sort = sort.or_else(|| self.order());
        let [exact, failed, count] = ["exact", "failed", "count"].map(|name| self.switched(name));
        let exact = exact || self.is_literal();
        let counts = ["counts only", "count only", "only the count", "only count"];
        let is_grep = matches!(self.verb_text, "grep" | "rg");
        let count = count || is_grep && self.flagged(&["c"]);
        let count =
            count || self.verb_text == "count" || counts.iter().any(|words| self.arguments.has_bare_word(words));
        Ok(RecallFilter { by, scope, path, below, from, to, kind, exact, failed, count, around, sort, words: None })
    }

    /// True if a word stands alone outside the quotes of a recall that has a text in quotes or a tool, or as a flag. Takes the
    /// word.
    fn switched(&mut self, name: &str) -> bool {
        let line = self.arguments.line.replace("\\\\", "").replace("\\\"", "");
        // Inside straight quotes, others are content.
        let line = if line.contains('"') { line } else { line.replace(['“', '”', '„'], "\"") };
        let outside = || line.split('"').step_by(2).flat_map(str::split_whitespace);
        let bounded = line.contains('"')
            || self.names(Noun::Tool)
            || outside().any(|word| word.starts_with("tool:") || word.starts_with("tool="));
        // `--count 5` is a limit.
        let next = outside().skip(1).chain(std::iter::once(""));
        let is_said = bounded
            && outside().zip(next).any(|(word, next)| {
                let word = word.trim_end_matches([',', ';', '.']);
                let word =
                    ["=true", ":true", "=yes", ":yes"].iter().find_map(|yes| word.strip_suffix(yes)).unwrap_or(word);
                let bare = word.strip_prefix("--");
                let has_value = bare.is_some() && next.starts_with(|c: char| c.is_ascii_digit());
                bare.unwrap_or(word).eq_ignore_ascii_case(name) && !has_value
            });
        if is_said {
            let text = self.arguments.line;
            let is_switch = |arg: &Arg| arg.kind == ArgKind::Name && arg.text.of(text).eq_ignore_ascii_case(name);
            self.arguments.take(|arg| arg.key.is_none() && is_switch(arg));
        }
        is_said || self.flagged(&[name])
    }

    /// The order in words: `newest first`.
    fn order(&mut self) -> Option<RecallSort> {
        let orders = [
            (RecallSort::Time, ["newest first", "latest first", "most recent first"].as_slice()),
            (RecallSort::Oldest, ["oldest first", "earliest first"].as_slice()),
        ];
        let is_said = |phrases: &[&str]| phrases.iter().any(|phrase| self.arguments.has_bare_word(phrase));
        let (order, _) = orders.into_iter().find(|(_, phrases)| is_said(phrases))?;
        let line = self.arguments.line;
        let says =
            |arg: &Arg| arg.key.is_none() && matches!(arg.text.of(line), "newest" | "latest" | "oldest" | "earliest");
        self.arguments.take(|arg| arg.kind == ArgKind::Name && says(arg));
        Some(order)
    }

    /// The author in words: `by Ada`, `from the human`.
    fn author(&mut self) -> Option<String> {
        let line = self.arguments.line;
        let role = |arg: &Arg| matches!(arg.text.of(line), "human" | "humans" | "user" | "person" | "owner");
        // `what the human said about "x"`, `what did Hollis say`
        // `what did Hollis say`, and none of two: `what did Marie and Hollis say`
        let is_name = |arg: &Arg| {
            let before = line[..arg.text.start].split_whitespace().last().unwrap_or_default();
            let is_one = before != "and" && before != "or" && !before.starts_with(char::is_uppercase);
            arg.prep.is_none() && is_one && arg.text.of(line).starts_with(char::is_uppercase)
        };
        let says = |arg: &Arg| {
            let mut after = line[arg.text.end..].split_whitespace();
            let next = after.find(|word| !matches!(*word, "has" | "have" | "had" | "ever" | "already" | "once"));
            (role(arg) || is_name(arg))
                && matches!(next, Some("said" | "say" | "says" | "wrote" | "mentioned" | "asked" | "told"))
        };
        let by = |arg: &Arg| arg.prep == Some(Prep::By) || arg.prep == Some(Prep::From) && role(arg) || says(arg);
        let Some(arg) = self.arguments.take(|arg| arg.kind == ArgKind::Name && arg.key.is_none() && by(arg)) else {
            // `every turn where the human mentioned "x"`, `by human authors`, `model turns only`
            let human = [
                "human said",
                "human say",
                "human mention",
                "human mentioned",
                "human wrote",
                "human asked",
                "user said",
                "user mentioned",
            ];
            let by_human = [
                "by human",
                "by the human",
                "human turns",
                "human's turns",
                "human's messages",
                "user's turns",
                "user's messages",
                "turns of the human",
                "by people",
            ];
            let model = ["by model", "by the model", "by models", "model turns", "model's turns", "turns of the model"];
            let is_said = |phrases: &[&str]| phrases.iter().any(|phrase| self.arguments.has_bare_word(phrase));
            return match () {
                () if is_said(&human) || is_said(&by_human) => Some("human".to_owned()),
                () if is_said(&model) => Some("model".to_owned()),
                () => None,
            };
        };
        let name = self.arguments.value(&arg);
        Some(if matches!(name.as_str(), "user" | "person" | "humans") { "human".to_owned() } else { name })
    }

    /// `for exactly "x"`, `"x" exactly`, but not `what exactly was said`.
    fn is_literal(&self) -> bool {
        let line = self.arguments.line;
        let before_text = self.arguments.items.iter().any(|arg| {
            let before = line[..arg.text.start].trim_end_matches(['"', '“', ' ']);
            matches!(arg.kind, ArgKind::Text { .. }) && before.ends_with("exactly")
        });
        let at_end = line.trim_end_matches([' ', '.', '!']).ends_with(" exactly");
        before_text
            || at_end
            || ["exactly these words", "verbatim"].iter().any(|words| self.arguments.has_bare_word(words))
    }

    /// The scope in words: `in all trees`, `in this session`.
    fn scope(&self) -> Option<RecallScope> {
        let scopes = [
            (RecallScope::All, ["all trees", "every tree", "all the trees"].as_slice()),
            (RecallScope::Session, &["in this session", "in the session", "grep this session", "search this session"]),
            (RecallScope::Tree, &["in this tree", "in the whole tree"]),
            (
                RecallScope::Workspace,
                &["in this workspace", "in the workspace", "in the whole workspace", "grep the workspace"],
            ),
        ];
        let is_said = |phrases: &[&str]| phrases.iter().any(|phrase| self.arguments.has_bare_word(phrase));
        scopes.into_iter().find(|(_, phrases)| is_said(phrases)).map(|(scope, _)| scope)
    }

    /// The value of an option, as it is read; `what` says which there are.
    fn option<T>(&mut self, key: OptionName, read: impl Fn(&str) -> Option<T>, what: &'static str) -> Bound<Option<T>> {
        let Some(arg) = self.arguments.take(|arg| arg.key == Some(key)) else { return Ok(None) };
        read(self.arguments.value(&arg).trim()).map(Some).ok_or(BindError::Missing(what))
    }

    pub(super) fn recall(&mut self) -> Bound {
        let mut only = self.narrowed()?;
        let tool = self.name_for(&[OptionName::Tool]).or_else(|| {
            // `calls of the undo tool`
            let own =
                self.arguments.modifiers.tool.filter(|_| self.names(Noun::Tool)).map(|tool| tool.name().to_owned());
            let named = self.names(Noun::Tool);
            // `the failed pytest results`, `failed results of cargo`
            let line = self.arguments.line;
            let has_results = self.names(Noun::Result) && self.arguments.has_bare_word("failed");
            let of_results = |arg: &Arg| {
                let next = line[arg.text.end..].split_whitespace().next();
                arg.prep == Some(Prep::Of) && arg.noun == Some(Noun::Result)
                    || matches!(next, Some("results" | "calls" | "runs" | "outputs"))
            };
            own.or_else(|| {
                self.name_where(|arg| {
                    arg.kind == ArgKind::Name && arg.key.is_none() && (named || has_results && of_results(arg))
                })
            })
        });
        only.failed |= tool.is_some() && self.arguments.has_bare_word("failed");
        let limit = self.number(|arg| {
            arg.key == Some(OptionName::Limit)
                || matches!(arg.unit, Some(Noun::Result))
                || tool.is_some() && arg.unit != Some(Noun::Turn)
        });
        // `search the archive for "x", only two`
        let texts = self.arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::Text { .. }));
        let limit = limit.or_else(|| if texts && !self.names(Noun::Turn) { self.number(|_| true) } else { None });
        let limit = limit.map(|(number, _)| number);
        let turns = if tool.is_none() { self.range(|_| true) } else { None };
        if tool.is_some() {
            only.words = self.text_where(|_| true);
        }
        let labelled =
            self.arguments.items.iter().any(|arg| matches!(arg.key, Some(OptionName::Label | OptionName::Stash)));
        let searched = self.names(Noun::Archive)
            || self.names(Noun::Query)
            || matches!(self.verb, Verb::Grep | Verb::Search | Verb::Find)
            || self.arguments.modifiers.searches
            || only != RecallFilter::default() && !labelled;
        let in_short = ["in short", "in brief", "briefly"].iter().any(|words| self.arguments.has_bare_word(words));
        let summary = tool.is_none() && turns.is_none() && (self.names(Noun::Summary) || in_short);
        let mut search = self.text_for(&[OptionName::Query]);
        let mut label = None;
        if search.is_none() && tool.is_none() && turns.is_none() && !summary && only.around.is_none() {
            if searched {
                search = self.text_where(|_| true).or_else(|| self.name_where(|_| true));
            } else {
                // `recall the good old days` names no label.
                let verb = self.at;
                let near = |arg: &Arg| {
                    arg.at <= verb + 2
                        || arg.noun == Some(Noun::Stash)
                        || matches!(arg.prep, Some(Prep::As | Prep::Under))
                };
                label = self.label().or_else(|| self.name_where(|arg| arg.key.is_none() && near(arg)));
            }
        }
        let sources =
            [label.is_some(), search.is_some(), tool.is_some(), turns.is_some(), only.around.is_some(), summary];
        if sources.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err(BindError::Missing(
                "one of: a label, search \"words\", turns:5-10, tool:NAME, around:ID, summary",
            ));
        }
        Ok(Command::Recall { label, search, turns, tool, summary, limit, only })
    }
}
