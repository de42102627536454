//! Pagination of long results: an agent reads one in pages instead of at once.
//!
//! The whole result is stored for the agent under the command's label. `→ recall "view a7x2kq part 2"` shows the second
//! page of any tool's result. Pages are cut from the stored text, so a repeated request returns the same page.

use super::{Executor, Position, counts::count};
use crate::{
    tokens::estimated_tokens,
    types::{StashContent, floor_char_boundary, truncate_bytes},
};

/// The maximum bytes of a stored result.
const MAX_STORED_BYTES: usize = 256 * 1024;
/// Minimum tokens of the last page in percent of a full one: 300 of 1,000. A smaller rest joins the page before it.
const MIN_REST_PERCENT: u32 = 30;

/// Minimum tokens of a page that ends before a block instead of within it, in percent of a full one.
const MIN_BLOCKS_PERCENT: u32 = 60;

/// Cuts a result to the bytes that are stored, at a character boundary.
pub(super) fn truncate_stored(text: &str) -> &str {
    truncate_bytes(text, MAX_STORED_BYTES)
}

/// Splits a label into the result's label and the page number: `view a7x2kq part 2` is page 2 of `view a7x2kq`.
pub(super) fn parse_label(label: &str) -> (&str, usize) {
    let asked = label.rsplit_once(" part ").and_then(|(whole, part)| Some((whole, part.trim().parse().ok()?)));
    asked.filter(|(_, part)| *part > 0).unwrap_or((label, 1))
}

/// Formats a page, counted from 1. The last line has the number of remaining tokens and the command for the next page;
/// an empty label means that the rest is not stored.
pub(super) fn render_page(parts: &[&str], part: usize, label: &str) -> String {
    let within = |part: usize| part > 0 && parts.get(part - 1).is_some_and(|text| !text.ends_with('\n'));
    // The rest of a line that was cut inside gets an ellipsis: on its own it could look like a reply.
    let before = if within(part - 1) { "…" } else { "" };
    let after = if within(part) && part < parts.len() { "…" } else { "" };
    let text = parts.get(part - 1).map_or("", |text| text.trim_end_matches('\n'));
    let text = format!("{before}{text}{after}");
    let left: u32 = parts.iter().skip(part).map(|text| estimated_tokens(text)).fold(0, u32::saturating_add);
    match left {
        0 => text,
        left if label.is_empty() => {
            format!("{text}\n[about {} more, which could not be kept]", count(left as u64, "token"))
        }
        left => {
            format!("{text}\n[about {} more · → recall \"{label} part {}\"]", count(left as u64, "token"), part + 1)
        }
    }
}

/// Splits `text` into pages of about `most` tokens at line ends. A longer single line is cut inside.
pub(super) fn split_pages(text: &str, most: u32) -> Vec<&str> {
    let (mut parts, mut start, mut used) = (Vec::new(), 0, 0);
    let (mut at, mut before) = (0, "");
    // The newest line that begins a block, and the tokens on the page before it.
    let (mut block, mut used_before_block) = (0, 0);
    for line in text.split_inclusive('\n') {
        let tokens = estimated_tokens(line);
        let is_indented = |line: &str| line.starts_with(' ');
        if before.trim().is_empty() || is_indented(before) && !is_indented(line) {
            (block, used_before_block) = (at, used);
        }
        before = line;
        // A line that is cut anyway begins on the page before it.
        if used > 0 && used + tokens > most && tokens <= most {
            // A header stays with what it heads, unless the page would be short.
            let is_full = block > start && used_before_block * 100 >= most * MIN_BLOCKS_PERCENT;
            let (end, kept) = if is_full { (block, used - used_before_block) } else { (at, 0) };
            parts.push(&text[start..end]);
            (start, used) = (end, kept);
        }
        let end = at + line.len();
        if tokens > most {
            // About as many bytes a token as the whole line has.
            let step = (line.len() / tokens as usize).max(1) * most as usize;
            while end - start > step + step / 4 {
                let cut = floor_char_boundary(text, start + step);
                parts.push(&text[start..cut]);
                start = cut;
            }
            used = estimated_tokens(&text[start..end]);
        } else {
            used += tokens;
        }
        at = end;
    }
    if start < text.len() || parts.is_empty() {
        parts.push(&text[start..]);
    }
    // A small rest is not worth another command.
    let rest = parts.last().map_or(0, |rest| estimated_tokens(rest));
    if parts.len() > 1 && rest < most * MIN_REST_PERCENT / 100 {
        let rest = parts.pop().map_or(0, str::len);
        if let Some(last) = parts.last_mut() {
            *last = &text[text.len() - rest - last.len()..];
        }
    }
    parts
}

impl Executor<'_> {
    /// Returns the first page of the text and stores the whole. The last line names the command for the next page.
    pub(super) fn paginate_result(&self, tool: &str, here: &Position, text: String, about: Option<&str>) -> String {
        let parts = split_pages(&text, self.page_tokens(tool));
        if parts.len() == 1 {
            return text;
        }
        let kept = truncate_stored(&text);
        let label = format!("{tool} {}", about.unwrap_or("")).replace('"', "");
        let label = self.free_label(here, label.trim_end(), kept);
        let content = StashContent::Result(kept.to_owned());
        match self.actor().stash(here.tree.id, &self.result_key(&label), content) {
            Ok(_) => render_page(&parts, 1, &label),
            // The first page is still valid; only the rest cannot be paged.
            Err(error) => {
                tracing::warn!(%error, "a long reply could not be stored");
                render_page(&parts, 1, "")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_at_line_ends_and_concatenate_to_the_text() {
        let text = (1..=300).map(|n| format!("this is line number {n}\n")).collect::<String>();
        let cut = split_pages(&text, 200);
        assert!(cut.len() > 3);
        assert_eq!(cut.concat(), text);
        assert!(cut.iter().all(|part| part.ends_with('\n') && estimated_tokens(part) <= 260));
        assert_eq!(split_pages("short", 200), ["short"]);
        assert_eq!(split_pages("", 200), [""]);
    }

    #[test]
    fn page_names_the_command_for_the_next() {
        assert_eq!(parse_label("view a7x2kq part 2"), ("view a7x2kq", 2));
        for whole in ["view a7x2kq", "the last part of it", "part 0 part 0", "my part x"] {
            assert_eq!(parse_label(whole), (whole, 1));
        }
        let parts = ["one\n", "two\n"];
        assert_eq!(render_page(&parts, 1, "view x"), "one\n[about 2 tokens more · → recall \"view x part 2\"]");
        assert_eq!(render_page(&parts, 2, "view x"), "two");
        let inside = ["one → ", "✓ two\n", "three"];
        assert_eq!(render_page(&inside, 2, "x"), "…✓ two\n[about 1 token more · → recall \"x part 3\"]");
        assert!(render_page(&inside, 1, "x").starts_with("one → …\n["));
        assert_eq!(render_page(&inside, 3, "x"), "three");
        assert_eq!(render_page(&parts, 1, ""), "one\n[about 2 tokens more, which could not be kept]");
        assert!(truncate_stored(&"漢".repeat(MAX_STORED_BYTES)).len() <= MAX_STORED_BYTES);
    }

    #[test]
    fn a_header_stays_with_its_text() {
        let node =
            |number: usize, gap: &str| format!("[node{number}] human\n{}{gap}", "  a line of its text\n".repeat(7));
        for gap in ["", "\n"] {
            let text: String = (0..40).map(|number| node(number, gap)).collect();
            let cut = split_pages(&text, 150);
            assert!(cut.len() > 5 && cut.concat() == text);
            assert!(cut.iter().all(|part| part.starts_with("[node")), "{cut:?}");
        }
    }

    #[test]
    fn long_line_is_cut_inside() {
        for text in ["word ".repeat(3_000), "漢字".repeat(2_000), format!("first\n{}\nlast", "x".repeat(9_000))] {
            let cut = split_pages(&text, 100);
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|part| !part.is_empty() && estimated_tokens(part) <= 180), "{}", cut.len());
            assert!(estimated_tokens(cut[0]) > 50, "{:?}", cut[0]);
        }
    }
}
