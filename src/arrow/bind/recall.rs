//! The command `recall` with its filters.

use super::{BindError, Binder, Bound, recall_words::RecallWords};
use crate::arrow::{
    Command, RecallFilter, RecallScope,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};
use crate::{recall::TimeSpec, tools::Tool, types::EdgeKind};

impl Binder<'_, '_> {
    /// Filters of a recall.
    fn narrowed(&mut self, words: &RecallWords<'_>) -> Bound<RecallFilter> {
        let by = self.option(
            OptionName::By,
            |text| Some(text.to_owned()),
            "by: human, model, tool, system or an agent's name",
        )?;
        // Roles in any case; an agent's name as it is.
        let role =
            |by: &String| ["human", "model", "tool", "system"].into_iter().find(|role| by.eq_ignore_ascii_case(role));
        let by = by.or_else(|| self.author(words)).map(|by| role(&by).map_or(by, str::to_owned));
        let scope = self.option(OptionName::Scope, RecallScope::parse, "scope: session, tree, workspace or all")?;
        let scope = scope.or_else(|| words.scope());
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
        let (from, to) = if from.is_none() && to.is_none() { self.time_in_words(words) } else { (from, to) };
        let kind = self.option(
            OptionName::Kind,
            |text| text.to_lowercase().parse().ok(),
            "kind: continuation, annotation, tool …",
        )?;
        // `the annotations that say "x"`
        let annotated = self.names(Noun::Annotation) || words.names_annotations();
        let kind = kind.or_else(|| annotated.then_some(EdgeKind::Annotation));
        let around = self.node_option(OptionName::Around, "around: the id of the node in the middle")?;
        // `what comes before and after a7x2`
        let around = if around.is_none() && words.asks_for_surroundings() { self.node() } else { around };
        let sort = self.option(
            OptionName::Sort,
            |text| text.to_lowercase().parse().ok(),
            "sort: time, which is the newest first, or oldest",
        )?;
        let sort = sort.or_else(|| words.order());
        for word in ["newest", "latest", "oldest", "earliest"].iter().filter(|_| sort.is_some()) {
            self.take_word(word);
        }
        let [exact, failed, count] = ["exact", "failed", "count"].map(|name| self.switched(words, name));
        let exact = exact || words.is_exact() || self.is_literal();
        let is_grep = matches!(self.verb_text, "grep" | "rg");
        let is_counted = self.counts(words) || self.verb_text == "count" || is_grep && self.flagged(&["c"]);
        let count = count || is_counted;
        Ok(RecallFilter { by, scope, path, below, from, to, kind, exact, failed, count, around, sort, words: None })
    }

    /// The ends of a time in words: `in the last 3 hours`, `between 2026-02-10 and 2026-02-14`.
    fn time_in_words(&mut self, words: &RecallWords<'_>) -> (Option<TimeSpec>, Option<TimeSpec>) {
        if let Some((age, said)) = words.last()
            && let Ok(from) = age.parse()
        {
            said.into_iter().for_each(|word| self.take_word(word));
            return (Some(from), None);
        }
        let Some(ends) = words.between() else { return (None, None) };
        let [Ok(from), Ok(to)] = ends.map(str::parse) else { return (None, None) };
        ends.iter().for_each(|end| self.take_word(end));
        (Some(from), Some(to))
    }

    /// True if a switch stands outside the text of a recall that has a text in quotes, a tool, a range or a summary, or as a flag. Takes its
    /// word.
    fn switched(&mut self, words: &RecallWords<'_>, name: &str) -> bool {
        let line = self.arguments.line;
        let bounded = line.contains(['"', '“', '„', '«', '»', '‹'])
            || self.names(Noun::Tool)
            || self.names(Noun::Summary)
            || self.arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::Range(..)))
            || self.arguments.items.iter().any(|arg| arg.key == Some(OptionName::Tool));
        let is_said = bounded && words.switched(name);
        if is_said {
            let is_switch = |arg: &Arg| arg.kind == ArgKind::Name && arg.text.of(line).eq_ignore_ascii_case(name);
            self.arguments.take(|arg| arg.key.is_none() && is_switch(arg));
        }
        is_said || self.flagged(&[name])
    }

    /// The author in words: `by Ada`, `from the human`, `what Ada said`. Takes the name.
    fn author(&mut self, words: &RecallWords<'_>) -> Option<String> {
        let line = self.arguments.line;
        let role = |arg: &Arg| matches!(arg.text.of(line), "human" | "humans" | "user" | "person" | "owner");
        let by = |arg: &Arg| arg.prep == Some(Prep::By) || arg.prep == Some(Prep::From) && role(arg);
        if let Some(arg) = self.arguments.take(|arg| arg.kind == ArgKind::Name && arg.key.is_none() && by(arg)) {
            let name = self.arguments.value(&arg);
            return Some(if matches!(name.as_str(), "user" | "person" | "humans") { "human".to_owned() } else { name });
        }
        // Turns by their numbers are those of all.
        let has_range = self.arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::Range(..)));
        let author = words.author().filter(|_| !has_range)?;
        self.take_word(author);
        Some(author.to_owned())
    }

    /// True if the number of results is asked for. Takes the word of it.
    fn counts(&mut self, words: &RecallWords<'_>) -> bool {
        let counts = words.counts();
        ["many", "often"].iter().filter(|_| counts).for_each(|word| self.take_word(word));
        counts
    }

    /// The subject of a recall without quotes. Takes its names.
    fn topic(&mut self, words: &RecallWords<'_>) -> Option<String> {
        let line = self.arguments.line;
        if self.arguments.items.iter().any(|arg| !matches!(arg.kind, ArgKind::Name | ArgKind::Number(_))) {
            return None;
        }
        let topic = words.topic()?;
        let is_inside = |arg: &Arg| topic.contains(&arg.text.start);
        let is_all = |arg: &Arg| matches!(arg.text.of(line), "anything" | "everything" | "something" | "whatever");
        self.arguments.items.iter().any(is_inside).then(|| {
            self.arguments.items.retain(|arg| !is_inside(arg) && !is_all(arg));
            line[topic.clone()].to_owned()
        })
    }

    /// Removes the argument whose text is `word`.
    fn take_word(&mut self, word: &str) {
        let line = self.arguments.line;
        self.arguments.take(|arg| {
            arg.key.is_none()
                && !matches!(arg.kind, ArgKind::Text { .. })
                && arg.text.of(line).trim_end_matches("'s") == word
        });
    }

    /// `for exactly "x"`, `"x" exactly`, but not `what exactly was said`.
    fn is_literal(&self) -> bool {
        let line = self.arguments.line;
        let before_text = self.arguments.items.iter().any(|arg| {
            let before = line[..arg.text.start].trim_end_matches(['"', '“', ' ']);
            matches!(arg.kind, ArgKind::Text { .. }) && before.ends_with("exactly")
        });
        let at_end = line.trim_end_matches([' ', '.', '!']).ends_with(" exactly");
        before_text || at_end
    }

    /// The value of an option, as it is read; `what` says which there are.
    fn option<T>(&mut self, key: OptionName, read: impl Fn(&str) -> Option<T>, what: &'static str) -> Bound<Option<T>> {
        let Some(arg) = self.arguments.take(|arg| arg.key == Some(key)) else { return Ok(None) };
        read(self.arguments.value(&arg).trim()).map(Some).ok_or(BindError::Missing(what))
    }

    /// The tool whose calls are recalled.
    fn recalled_tool(&mut self, words: &RecallWords<'_>) -> Option<String> {
        // `results of the grep tool`
        let before_noun = words.tool().filter(|_| self.names(Noun::Result));
        before_noun.into_iter().for_each(|name| self.take_word(name));
        self.name_for(&[OptionName::Tool]).or_else(|| before_noun.map(str::to_owned)).or_else(|| {
            // `calls of the undo tool`
            let own = self
                .arguments
                .modifiers
                .tool
                .filter(|tool| self.names(Noun::Tool) && *tool != Tool::Recall)
                .map(|tool| tool.name().to_owned());
            let named = self.names(Noun::Tool);
            // `the failed pytest results`, `failed results of cargo`
            let line = self.arguments.line;
            let has_failed = self.arguments.has_bare_word("failed");
            let has_results = self.names(Noun::Result);
            // `results of lint_all`, `search the results of pytest for "x"`
            let searches = matches!(self.verb, Verb::Search | Verb::Find | Verb::Grep);
            let of_results = |arg: &Arg| {
                if !has_failed && !searches && !arg.text.of(line).contains('_') {
                    return false;
                }
                let next = line[arg.text.end..].split_whitespace().next();
                arg.prep == Some(Prep::Of) && arg.noun == Some(Noun::Result)
                    || matches!(next, Some("results" | "calls" | "runs" | "outputs"))
            };
            own.or_else(|| {
                self.name_where(|arg| {
                    arg.kind == ArgKind::Name && arg.key.is_none() && (named || has_results && of_results(arg))
                })
            })
        })
    }

    pub(super) fn recall(&mut self) -> Bound {
        let words = RecallWords::of(self.arguments.line);
        let mut only = self.narrowed(&words)?;
        let tool = self.recalled_tool(&words);
        let fails = ["failed", "fail", "failing"].iter().any(|word| self.arguments.has_bare_word(word));
        only.failed |= tool.is_some() && fails;
        let texts = self.arguments.items.iter().any(|arg| matches!(arg.kind, ArgKind::Text { .. }));
        let limit = self.number(|arg| {
            arg.key == Some(OptionName::Limit)
                || matches!(arg.unit, Some(Noun::Result))
                // `at most five turns with "x"`
                || texts && arg.unit == Some(Noun::Turn)
                || tool.is_some() && arg.unit != Some(Noun::Turn)
        });
        // `search the archive for "x", only two`
        let line = self.arguments.line;
        // `in chapter two` limits nothing.
        let is_limit = |arg: &Arg| {
            let before = line[..arg.text.start].split_whitespace().last().unwrap_or_default();
            let leads =
                ["most", "than", "only", "just", "to", "first", "top", "max", "latest", "last", "limit", "newest"];
            leads.contains(&before) || !before.ends_with(char::is_alphabetic)
        };
        let limit = limit.or_else(|| if texts && !self.names(Noun::Turn) { self.number(is_limit) } else { None });
        let limit = limit.map(|(number, _)| number);
        let verb = self.at;
        let counts_turns = self.names(Noun::Turn);
        let is_turns = |arg: &Arg| {
            let named = counts_turns || arg.key == Some(OptionName::Turns) || arg.at <= verb + 2;
            matches!(arg.kind, ArgKind::Range(..)) || named
        };
        let turns = if tool.is_none() { self.range(is_turns) } else { None };
        if tool.is_some() {
            only.words = self.text_where(|_| true);
        }
        let labelled =
            self.arguments.items.iter().any(|arg| matches!(arg.key, Some(OptionName::Label | OptionName::Stash)));
        // `recall the good old days` names no label.
        let near = |arg: &Arg| {
            arg.at <= verb + 2 || arg.noun == Some(Noun::Stash) || matches!(arg.prep, Some(Prep::As | Prep::Under))
        };
        let is_text = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. });
        // `recall all mentions of "x"`
        let far = self.arguments.items.iter().any(is_text)
            && !self.arguments.items.iter().any(|arg| is_text(arg) && near(arg))
            && !self.names(Noun::Stash);
        let searched = self.names(Noun::Archive)
            || self.names(Noun::Query)
            || matches!(self.verb, Verb::Grep | Verb::Search | Verb::Find)
            || self.arguments.modifiers.searches
            || far && !labelled
            || only != RecallFilter::default() && !labelled;
        let in_short = ["in short", "in brief", "briefly"].iter().any(|words| self.arguments.has_bare_word(words));
        let summary = tool.is_none()
            && turns.is_none()
            && (self.names(Noun::Summary) || in_short || self.verb == Verb::Summarise);
        let mut search = self.text_for(&[OptionName::Query]);
        let mut label = None;
        if search.is_none() && !self.arguments.line.contains(['"', '“', '`']) && tool.is_none() && turns.is_none() {
            search = self.topic(&words);
        }
        if search.is_none() && tool.is_none() && turns.is_none() && !summary && only.around.is_none() {
            if searched {
                search = self.text_where(|_| true).or_else(|| self.name_where(|_| true));
            } else {
                label = self.label().or_else(|| self.name_where(|arg| arg.key.is_none() && near(arg) && !counts_turns));
            }
        }
        // `recall turns:3-8 count`: the turns of a range are not searched.
        let is_searched = turns.is_none() || !(only.exact || only.count || only.failed);
        let sources =
            [label.is_some(), search.is_some(), tool.is_some(), turns.is_some(), only.around.is_some(), summary];
        if !is_searched || sources.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err(BindError::Missing(
                "one of: a label, search \"words\", turns:5-10, tool:NAME, around:ID, summary",
            ));
        }
        Ok(Command::Recall { label, search, turns, tool, summary, limit, only })
    }
}
