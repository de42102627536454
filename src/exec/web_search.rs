//! `search`: sends the query to the host and formats the results as a numbered list. The results are untrusted: every
//! line is indented, and a line that looks like a reply or a command is escaped.

use super::{
    Answer, AnswerResult, Executor,
    counts::count,
    escape::{escape, quoted},
};
use crate::{
    tools::{WebHit, WebSearch},
    types::one_line,
};

impl Executor<'_> {
    pub(super) fn search(&self, asked: &WebSearch<'_>) -> AnswerResult {
        let hits = self.host.search(asked)?;
        let query = quoted(asked.query);
        let mut text = format!("✓ {} for {query}", count(hits.len() as u64, "result"));
        for (at, hit) in hits.iter().enumerate() {
            text.push_str(&format!("\n{}. {}", at + 1, one_line(&hit.title)));
            for line in [&one_line(&hit.url), &dated_excerpt(hit)] {
                push_lines(&mut text, line);
            }
            match &hit.text {
                Some(Ok(page)) => push_lines(&mut text, page),
                Some(Err(why)) => push_lines(&mut text, &format!("(no text of the page: {})", one_line(why))),
                None => {}
            }
        }
        Ok(Answer::about(text, query))
    }
}

/// Returns the excerpt, preceded by the date of publication.
fn dated_excerpt(hit: &WebHit) -> String {
    match &hit.published {
        Some(published) => format!("{} · {}", one_line(published), one_line(&hit.excerpt)),
        None => one_line(&hit.excerpt),
    }
}

/// Appends the escaped lines of a text below a result's title.
fn push_lines(out: &mut String, text: &str) {
    for line in escape(text.trim()).lines().filter(|line| !line.trim().is_empty()) {
        out.push_str("\n   ");
        out.push_str(line);
    }
}
