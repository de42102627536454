//! The command `search`, of the web.

use super::{BindError, Binder, Bound};
use crate::{
    arrow::{
        Command, SearchDepth, Topic,
        args::ArgKind,
        lexicon::{Noun, Prep},
        option_name::OptionName,
    },
    tools::MAX_SEARCH_RESULTS,
};

impl Binder<'_, '_> {
    pub(super) fn search(&mut self) -> Bound {
        let max = self.limited("max", MAX_SEARCH_RESULTS, |arg| {
            matches!(arg.key, Some(OptionName::Limit))
                || matches!(arg.unit, Some(Noun::Result))
                || arg.key != Some(OptionName::Depth)
        })?;
        // `search in depth for "x"`
        let is_deep = self.arguments.has_bare_word("in depth");
        for arg in self.arguments.items.iter_mut().filter(|arg| is_deep && arg.key == Some(OptionName::Depth)) {
            arg.key = None;
        }
        let depth = match self
            .arguments
            .take(|arg| arg.key == Some(OptionName::Depth) && arg.kind != ArgKind::File)
            .map(|arg| self.arguments.value(&arg))
        {
            Some(depth) if matches!(depth.as_str(), "deep" | "advanced") => Some(SearchDepth::Deep),
            Some(depth) if matches!(depth.as_str(), "basic" | "shallow") => Some(SearchDepth::Basic),
            Some(_) => return Err(BindError::Missing("depth: basic or deep")),
            None => (self.names(Noun::Level) || is_deep || self.arguments.has_bare_word("deep"))
                .then_some(SearchDepth::Deep),
        };
        let topic =
            match self.arguments.take(|arg| arg.key == Some(OptionName::Topic)).map(|arg| self.arguments.value(&arg)) {
                Some(topic) if topic.eq_ignore_ascii_case("news") => Some(Topic::News),
                Some(topic) if topic.eq_ignore_ascii_case("general") => Some(Topic::General),
                Some(_) => return Err(BindError::Missing("topic: news or general")),
                // `…, topic news`
                None => (self.names(Noun::News)
                    || self.arguments.has_bare_word(", topic news")
                    || self.arguments.has_bare_word("the news"))
                .then_some(Topic::News),
            };
        let mut exclude = Vec::new();
        let verb = self.at;
        // `I am not certain of the year, so search "x"` excludes nothing.
        while let Some(site) = self.arguments.take(|arg| {
            arg.key == Some(OptionName::Exclude)
                && !matches!(arg.kind, ArgKind::Number(_) | ArgKind::Range(..))
                && (arg.at > verb || arg.kind != ArgKind::Name)
        }) {
            exclude.push(self.arguments.value(&site));
        }
        let mut include = Vec::new();
        while let Some(site) = self.arguments.take(|arg| {
            let leads = matches!(arg.prep, Some(Prep::On | Prep::From | Prep::At | Prep::To));
            let is_name = matches!(arg.kind, ArgKind::Name | ArgKind::File | ArgKind::Text { .. });
            is_name && arg.key == Some(OptionName::Include) || arg.kind == ArgKind::File && leads
        }) {
            include.push(self.arguments.value(&site));
        }
        let query = self.text_for(&[OptionName::Query]).or_else(|| self.text_where(|_| true));
        let query = query.ok_or(BindError::Missing("the query, in quotes"))?;
        Ok(Command::Search { query, depth, topic, max, include, exclude })
    }
}
