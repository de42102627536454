//! Recall of the results of a tool.

use super::{DEFAULT_HITS, MAX_HITS, RecallRange, entry, named, render};
use crate::{
    arrow::{Command, RecallFilter, RecallSort},
    exec::{Answer, AnswerResult, Executor, Position, counts::count, escape::quoted},
    recall::{self, Filter, ToolQuery},
    tools::{NativeAlias, Tool, ToolError},
    types::{first_words, one_line},
};

/// Most results by which the command for more raises the limit.
const MAX_MORE_RESULTS: u64 = 15;
/// Minimum and maximum tokens of a failed result in a list.
const FAILURE_TOKENS: (u32, u32) = (60, 100);
/// Maximum number of programs in a count of failures.
const MAX_PROGRAMS: usize = 12;

impl Executor<'_> {
    /// Lists the results of a tool, the newest or the oldest first, or counts them.
    pub(in crate::exec) fn recall_tool(
        &self,
        here: &Position,
        tool: &str,
        limit: Option<u32>,
        only: &RecallFilter,
    ) -> AnswerResult {
        let within = self.resolve_range(here, only)?;
        let snapshot = self.loom.snapshot()?;
        let limit = limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS) as usize;
        // Results are stored under the tool's name, also if an alias was called.
        let tool = NativeAlias::named(tool).map_or(tool, |form| form.tool.name());
        let oldest_first = only.sort == Some(RecallSort::Oldest);
        // A count of failures also counts their programs.
        let limit = match (only.count, only.failed) {
            (true, true) => usize::MAX,
            (true, false) => 0,
            _ => limit,
        };
        let query = ToolQuery {
            tool,
            words: only.words.as_deref(),
            exact: only.exact,
            failed: only.failed,
            limit,
            oldest_first,
        };
        let found = recall::find_tool_results(&*snapshot, &within.scope, &within.only, &query)?;
        let subject = format!("tool:{tool}{}", within.said);
        let among = found.read.map(|read| format!(" among the newest {read}")).unwrap_or_default();
        let place = format!("{among} in {}{}", within.place, within.said);
        let results = count(found.total, "result");
        if found.total == 0 {
            return Ok(Answer::found(self.no_tool_results(&within, query, only)?, subject, Vec::new()));
        }
        // `19 of 192 results of bash in this tree failed`
        let all = if only.failed && only.count {
            let all = self.count_results(&within, ToolQuery { failed: false, limit: 0, ..query })?;
            format!("{} of {}", found.total, count(all, "result"))
        } else {
            results
        };
        let head = format!("{all} of {}{place}", one_line(tool));
        if only.count {
            let programs = if only.failed { recall::count_programs(&*snapshot, &found.listed)? } else { Vec::new() };
            let programs = programs.iter().map(|(program, number)| format!("{} {number}", one_line(program)));
            let programs = programs.take(MAX_PROGRAMS).collect::<Vec<_>>().join(" · ");
            let said = if programs.is_empty() { head } else { format!("{head}: {programs}") };
            return Ok(Answer::about(said, subject));
        }
        let first = if oldest_first { "oldest" } else { "newest" };
        let order = match found.listed.len() as u64 {
            all if all == found.total => format!("the {first} first"),
            shown => format!("the {first} {shown}"),
        };
        let mut entries = entry::entries(&*snapshot, here, &found.listed)?;
        let page = self.page_tokens(Tool::Recall.name());
        if entries.len() > 1 {
            // All failed results of a list have the same limit.
            let part = page / u32::try_from(entries.len()).unwrap_or(u32::MAX);
            for entry in entries.iter_mut().filter(|entry| entry.is_failed()) {
                entry.drop_exit_code();
                entry.shorten(part.clamp(FAILURE_TOKENS.0, FAILURE_TOKENS.1));
            }
        }
        let more = further_results(tool, only, found.listed.len() as u64, found.total);
        let entries = render::fit_entries(entries, page, None);
        let said = format!("{head}, {order}:\n{entries}{more}");
        Ok(Answer::found(said, subject, found.listed))
    }

    /// Formats the reply for no results of a tool: what excludes them, or the names of the tools.
    fn no_tool_results(
        &self,
        within: &RecallRange,
        query: ToolQuery<'_>,
        only: &RecallFilter,
    ) -> Result<String, ToolError> {
        let any = self.count_results(within, ToolQuery { failed: false, limit: 0, ..query })?;
        let (tool, place) = (query.tool, within.place);
        let all = match query.words {
            Some(_) => self.count_results(within, ToolQuery { failed: false, words: None, limit: 0, ..query })?,
            None => 0,
        };
        if any == 0 && all > 0 {
            let filters =
                RecallFilter { scope: None, count: false, failed: false, sort: None, words: None, ..only.clone() };
            let which = if query.exact { "that text" } else { "all of the words" };
            let (all, said) = (count(all, "result"), quoted(&first_words(query.words.unwrap_or_default(), 60)));
            return Ok(format!(
                "none of the {all} of {} in {place}{filters} hold {which} {said}; → recall search {said} finds near ones",
                one_line(tool)
            ));
        }
        if only.failed && any > 0 {
            let filters = RecallFilter { scope: None, count: false, failed: false, sort: None, ..only.clone() };
            let all = count(any, "result");
            return Ok(format!("none of the {all} of {} in {place}{filters} failed", one_line(tool)));
        }
        let seen = Filter { seen_by: within.only.seen_by, ..Filter::default() };
        let known = match recall::tool_names(&*self.loom.snapshot()?, &within.scope, &seen)?.as_slice() {
            [] => "there are none of any".to_owned(),
            names => format!("there are results of {}", named(names)),
        };
        Ok(format!("no results of {} in {place}{}; {known}", quoted(tool), within.said))
    }

    fn count_results(&self, within: &RecallRange, query: ToolQuery<'_>) -> Result<u64, ToolError> {
        Ok(recall::find_tool_results(&*self.loom.snapshot()?, &within.scope, &within.only, &query)?.total)
    }
}

/// Formats the number of results that are not listed, and the command for more; empty if all are listed.
fn further_results(tool: &str, only: &RecallFilter, listed: u64, total: u64) -> String {
    let further = total - listed;
    if further == 0 {
        return String::new();
    }
    let limit = u32::try_from(listed + further.min(MAX_MORE_RESULTS)).unwrap_or(MAX_HITS);
    let command = Command::Recall {
        label: None,
        search: None,
        turns: None,
        tool: Some(tool.to_owned()),
        summary: false,
        limit: Some(limit),
        only: only.clone(),
    };
    format!("\n[{further} more · → {command}]")
}
