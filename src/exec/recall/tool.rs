//! Recall of the results of a tool.

use super::{
    DEFAULT_HITS, MAX_HITS,
    entry::{self, RecallEntry},
    named, render,
};
use crate::{
    arrow::{Command, RecallFilter},
    exec::{Answer, AnswerResult, Executor, Position, counts::count, escape::quoted},
    recall::{self, Filter, ToolQuery},
    tools::{NativeAlias, Tool},
    types::one_line,
};

/// Most results by which the command for more raises the limit.
const MAX_MORE_RESULTS: u64 = 15;

impl Executor<'_> {
    /// Lists the results of a tool, the newest first, or counts them.
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
        let query = ToolQuery { tool, words: only.words.as_deref(), exact: only.exact, failed: only.failed, limit };
        let found = recall::find_tool_results(&*snapshot, &within.scope, &within.only, &query)?;
        let subject = format!("tool:{tool}{}", within.said);
        let among = found.read.map(|read| format!(" among the newest {read}")).unwrap_or_default();
        let place = format!("{among} in {}{}", within.place, within.said);
        let results = count(found.total, "result");
        if found.total == 0 {
            let seen = Filter { seen_by: within.only.seen_by, ..Filter::default() };
            let known = match recall::tool_names(&*snapshot, &within.scope, &seen)?.as_slice() {
                [] => "there are none of any".to_owned(),
                names => format!("there are results of {}", named(names)),
            };
            let said = format!("no results of {}{place}; {known}", quoted(tool));
            return Ok(Answer::found(said, subject, Vec::new()));
        }
        // `19 of 192 results of bash in this tree failed`
        let all = if only.failed && only.count {
            let any = ToolQuery { failed: false, ..query };
            let all = recall::find_tool_results(&*snapshot, &within.scope, &within.only, &any)?.total;
            format!("{} of {}", found.total, count(all, "result"))
        } else {
            results
        };
        let head = format!("{all} of {}{place}", one_line(tool));
        if only.count {
            return Ok(Answer::about(head, subject));
        }
        let order = match found.newest.len() as u64 {
            all if all == found.total => "the newest first".to_owned(),
            shown => format!("the newest {shown}"),
        };
        let mut entries = entry::entries(&*snapshot, here, &found.newest)?;
        if entries.len() > 1 {
            entries.iter_mut().for_each(RecallEntry::drop_exit_code);
        }
        let more = match found.total - found.newest.len() as u64 {
            0 => String::new(),
            more => {
                let next = u32::try_from(found.newest.len() as u64 + more.min(MAX_MORE_RESULTS)).unwrap_or(MAX_HITS);
                let command = Command::Recall {
                    label: None,
                    search: None,
                    turns: None,
                    tool: Some(tool.to_owned()),
                    summary: false,
                    limit: Some(next),
                    only: only.clone(),
                };
                format!("\n[{more} more · → {command}]")
            }
        };
        let entries = render::fit_entries(entries, self.page_tokens(Tool::Recall.name()), None);
        let said = format!("{head}, {order}:\n{entries}{more}");
        Ok(Answer::found(said, subject, found.newest))
    }
}
