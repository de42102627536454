//! Marks of Markdown and of calls around a command: `**view** a7x2`, `loom.view(a7x2)`.

use std::{borrow::Cow, ops::Range};

use crate::{
    arrow::{lex, lexicon, option_name::OptionName},
    tools::Tool,
};

/// Words before a colon or `=` that say that an operation follows.
const LEADS: &[&str] = &["op", "tool_call", "call", "command", "cmd", "action", "tool", "function"];

/// The part of a line behind its list marker and its arrow.
pub(super) fn behind_arrow(line: &str) -> &str {
    let trimmed = line.trim_start();
    let unlisted = lex::marker(trimmed).map_or(trimmed, |(rest, _)| rest);
    lex::arrow(unlisted).map_or(unlisted, |(rest, _)| rest.trim_start())
}

/// The line without its decoration. Blanks are in its place, so that every span stays one of the line.
pub(super) fn without_decoration(line: &str) -> Cow<'_, str> {
    let ranges: Vec<Range<usize>> =
        picture(line).into_iter().chain(smiley(line)).chain(ticked_arguments(line)).collect();
    if ranges.is_empty() { without_marks(line) } else { without_marks(&blanked(line, ranges)).into_owned().into() }
}

/// Ranges of the backticks around ids in brackets and options, outside of texts: "view `[a7x2]`", "`n: 4`".
fn ticked_arguments(line: &str) -> Vec<Range<usize>> {
    let mut ticks = Vec::new();
    if !line.contains('`') {
        return ticks;
    }
    let mut opened = None;
    let mut is_text = false;
    for (at, c) in line.char_indices() {
        match (c, opened) {
            ('"' | '“' | '”', _) => is_text = !is_text,
            ('`', None) if !is_text => opened = Some(at),
            ('`', Some(open)) => {
                if is_argument(&line[open + 1..at]) {
                    ticks.extend([open..open + 1, at..at + 1]);
                }
                opened = None;
            }
            _ => {}
        }
    }
    ticks
}

/// True for `[a7x2]` and `n: 4`.
fn is_argument(text: &str) -> bool {
    let is_plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let in_brackets = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let option = text.split_once(':').filter(|(name, _)| OptionName::named(name).is_some());
    in_brackets.is_some_and(is_plain) || option.is_some_and(|(_, value)| is_plain(value.trim_start()))
}

/// Faces made of marks.
const SMILEYS: [&str; 12] = [":)", ":(", ":-)", ":-(", ";)", ";-)", ":D", ":P", ":/", "xD", "^^", "<3"];

/// Range of a face at the end of a line: `undo that :(`.
fn smiley(line: &str) -> Option<Range<usize>> {
    let end = line.trim_end();
    if !end.ends_with([')', '(', 'D', 'P', '/', '^', '3']) {
        return None;
    }
    let face = SMILEYS.iter().find(|face| end.strip_suffix(*face).is_some_and(|rest| rest.ends_with(' ')))?;
    Some(end.len() - face.len()..end.len())
}

/// Pictures that only illustrate a command. Others can reject, quote or postpone it.
const PICTURES: [char; 34] = [
    '🗑', '✂', '📦', '📌', '🔖', '⭐', '🌟', '🔗', '📝', '✏', '✍', '🔍', '🔎', '➡', '👉', '🌐', '📖', '📚', '🌳', '🌲',
    '🌱', '🔀', '🔁', '💭', '🧠', '🌿', '🧭', '💬', '♻', '👀', '📋', '📎', '📂', '📄',
];

/// Range of the pictures before a command: `📦 move a7x2 to b3k9`.
fn picture(line: &str) -> Option<Range<usize>> {
    let bare = behind_arrow(line);
    let is_picture = |c: char| PICTURES.contains(&c) || matches!(c, '\u{200d}' | '\u{fe0f}');
    let words = bare.trim_start_matches(|c: char| is_picture(c) || c == ' ');
    let (start, end) = (line.len() - bare.len(), line.len() - words.len());
    (end > start && !words.is_empty()).then_some(start..end)
}

fn without_marks(line: &str) -> Cow<'_, str> {
    let emphasis = emphasis(line);
    if !emphasis.is_empty() {
        let bare = blanked(line, emphasis);
        return without_marks(&bare).into_owned().into();
    }
    let whole = |marks: [usize; 2], width: usize| marks.map(|at| at..at + width);
    let blanks = strip_backticks(line)
        .map(|marks| whole(marks, 1))
        .or_else(|| strip_bold(line).map(|marks| whole(marks, 2)))
        .or_else(|| around_name(line))
        .or_else(|| around_id(line));
    let Some(blanks) = blanks else { return call_words(line).map_or(line.into(), Cow::from) };
    blanked(line, blanks).into()
}

/// The line with blanks in the place of ranges.
fn blanked(line: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut bare = line.to_owned();
    for range in ranges {
        let width = range.len();
        bare.replace_range(range, &" ".repeat(width));
    }
    bare
}

/// Ranges of the marks of emphasis outside of texts: `**Respond** to a7x2`, `look at a7x2 *in full*`. Behind a colon a text may
/// stand without quotes.
fn emphasis(line: &str) -> Vec<Range<usize>> {
    if !line.contains(['*', '_']) {
        return Vec::new();
    }
    let end = [line.find(['\n', '<']), line.find(": ")].into_iter().flatten().min().unwrap_or(line.len());
    let mut at = line.len() - behind_arrow(line).len();
    let mut marks = Vec::new();
    let mut before = ' ';
    while let Some(c) = line[..end].get(at..).and_then(|rest| rest.chars().next()) {
        let closing = match c {
            '"' => '"',
            '“' => '”',
            '`' => '`',
            _ => '\0',
        };
        let width = c.len_utf8();
        if closing != '\0' {
            // A text without an end is one to the end of the line.
            let Some(length) = closing_at(&line[at + width..end], closing) else { return marks };
            at += width + length + closing.len_utf8();
            before = closing;
        } else if let Some((inner, mark)) = emphasized(&line[at..end]).filter(|_| !before.is_alphanumeric()) {
            marks.extend([at..at + mark, at + mark + inner..at + 2 * mark + inner]);
            at += 2 * mark + inner;
            before = '*';
            if line[..at - mark].ends_with(':') {
                return marks;
            }
        } else {
            at += width;
            before = c;
        }
    }
    marks
}

/// Offset of the mark that closes a text, behind escaped ones: `"a \" b"`.
pub(super) fn closing_at(text: &str, closing: char) -> Option<usize> {
    let mut is_escaped = false;
    let mut closes = |c: char| {
        let found = c == closing && !is_escaped;
        is_escaped = c == '\\' && !is_escaped && closing == '"';
        found
    };
    text.char_indices().find(|(_, c)| closes(*c)).map(|(at, _)| at)
}

/// Bytes of the emphasized words at the beginning of a text, and of each mark around them.
fn emphasized(text: &str) -> Option<(usize, usize)> {
    let mark = ["**", "*", "__", "_"].into_iter().find(|mark| text.starts_with(mark))?;
    let inner = &text[mark.len()..];
    let length = inner.find(mark)?;
    let (words, behind) = (&inner[..length], &inner[length + mark.len()..]);
    let is_closed =
        words.ends_with(|c: char| !c.is_whitespace()) && !behind.starts_with(|c: char| c.is_alphanumeric() || c == '*');
    let is_whole = words.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '“' | '`' | '['));
    // `**Note:** do not prune a7x2` is a remark, `**Recall:** around:a7x2` a command.
    let label = words.strip_suffix(':').map(str::to_lowercase);
    let is_remark =
        label.is_some_and(|label| Tool::named(&label).is_none() && lexicon::look_up(&label).base().is_some());
    (is_closed && is_whole && !is_remark && !words.contains(['*', '_'])).then_some((length, mark.len()))
}

/// The words of a call whose name is several: `move_node(node="a7x2", to="b3k9")`, `todo.add(["x"])`, `prune/hide a7x2`. Blanks
/// are in the place of what joins them.
fn call_words(line: &str) -> Option<String> {
    let bare = behind_arrow(line);
    let start = line.len() - bare.len();
    let name = &bare[..bare.find(|c: char| !(c.is_ascii_lowercase() || matches!(c, '_' | '.' | '/'))).unwrap_or(0)];
    let joint = name.find(['_', '.', '/'])?;
    let (first, joints) = (&name[..joint], name.matches(['_', '.', '/']).count());
    let mut bare_line = line.to_owned();
    let mut blank = |range: Range<usize>| {
        let width = range.len();
        bare_line.replace_range(range, &" ".repeat(width));
    };
    let verb = |word: &str| lexicon::look_up(word).base();
    if name.contains('/') {
        // The same said twice: the first word is enough.
        let is_same = |word: &str| verb(word).is_some() && verb(word) == verb(first);
        let same = name.split('/').all(is_same) && bare[name.len()..].starts_with(' ');
        same.then(|| blank(start + joint..start + name.len()))?;
        return Some(bare_line);
    }
    let end = bare.trim_end();
    let calls = bare[name.len()..].starts_with('(') && end.ends_with(')');
    // `write_doc doc="x" append="y"`
    if !calls
        && WORDED_CALLS.contains(&name)
        && bare[name.len()..].starts_with(' ')
        && !has_other_key(&bare[name.len()..])
    {
        blank(start + joint..start + joint + 1);
        return Some(bare_line);
    }
    if !calls || joints > 3 || !is_call_name(name) || has_other_key(&bare[name.len()..]) {
        return None;
    }
    name.match_indices(['_', '.']).for_each(|(at, _)| blank(start + at..start + at + 1));
    blank(start + name.len()..start + name.len() + 1);
    blank(start + end.len() - 1..start + end.len());
    Some(bare_line)
}

/// True if a call's name is a verb and what it acts on, `move_node`, or a list that something is added to, `todo.add`.
fn is_call_name(name: &str) -> bool {
    let words: Vec<&str> = name.split(['_', '.']).collect();
    let is_thing = |word: &&str| CALL_THINGS.contains(word);
    match words[..] {
        [thing, "add" | "list" | "search"] => CALL_THINGS.contains(&thing),
        [verb, ref things @ ..] => things.iter().all(is_thing) && lexicon::look_up(verb).base().is_some(),
        [] => false,
    }
}

/// Names of calls that are followed by their arguments without brackets.
const WORDED_CALLS: &[&str] = &[
    "view_node",
    "prune_node",
    "prune_branch",
    "restore_node",
    "move_node",
    "move_branch",
    "copy_node",
    "copy_branch",
    "edit_node",
    "write_doc",
    "read_doc",
    "write_document",
    "read_document",
    "append_doc",
    "switch_to",
    "go_to",
    "link_nodes",
    "merge_nodes",
    "add_todo",
    "web_search",
];

/// Things that the names of calls have beside a verb.
const CALL_THINGS: &[&str] = &[
    "node", "nodes", "branch", "subtree", "tree", "note", "message", "reply", "bookmark", "todo", "todos", "doc",
    "document", "pin", "stash", "link", "context", "web", "search", "to", "from",
];

/// True if a call has an argument by a name that is none of an option: `(node="a7x2", dry_run=True)`.
fn has_other_key(arguments: &str) -> bool {
    let outside = arguments.split('"').step_by(2).flat_map(|text| text.split(['(', ',', ')']));
    let mut keys = outside.filter_map(|argument| argument.split_once('=').map(|(key, _)| key.trim()));
    keys.any(|key| {
        let entry = lexicon::look_up(key);
        entry.option.is_none()
            && entry.prep.is_none()
            && !matches!(
                key,
                "node" | "id" | "node_id" | "query" | "max_results" | "append" | "doc" | "content" | "label"
            )
    })
}

/// Ranges of the underscores around an id: `goto __a7x2__`. A text behind a mark keeps its underscores.
fn around_id(line: &str) -> Option<[Range<usize>; 2]> {
    let open = line.find(" __")? + 1;
    let is_bare = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '→' | '-' | '>' | ',');
    if !line[..open].chars().all(is_bare) {
        return None;
    }
    let id = &line[open + 2..];
    let end = id.find(|c: char| !c.is_ascii_alphanumeric())?;
    let closes = id[end..].starts_with("__") && (4..=26).contains(&end);
    closes.then(|| [open..open + 2, open + 2 + end..open + 4 + end])
}

/// Ranges of the decoration before and behind an operation's canonical name; the second may be empty.
fn around_name(line: &str) -> Option<[Range<usize>; 2]> {
    let bare = behind_arrow(line);
    let start = line.len() - bare.len();
    let name_of = |text: &str| text.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default().len();
    let is_tool = |name: &str| Tool::named(name).is_some();
    let is_verb = |name: &str| is_tool(name) || lexicon::look_up(name).base().is_some();
    // `**view** a7x2`, `*google* "x"`
    for mark in ["**", "*", "_"] {
        if let Some(inner) = bare.strip_prefix(mark) {
            let (width, end) = (mark.len(), name_of(inner));
            let closes = inner[end..].starts_with(mark) && is_verb(&inner[..end]);
            return closes.then(|| [start..start + width, start + width + end..start + 2 * width + end]);
        }
    }
    let lead = bare.find([':', '=', '.', ' ', '(', '<'])?;
    let (head, mark) = (&bare[..lead], bare.as_bytes()[lead]);
    // `restore<node=a7x2>`
    if mark == b'<' && is_tool(head) {
        let end = bare.trim_end().strip_suffix('>')?.len();
        return Some([start + lead..start + lead + 1, start + end..start + end + 1]);
    }
    // `memory.trace`
    let rest = &bare[lead + 1..];
    if mark == b'.'
        && is_tool(head)
        && name_of(rest) == rest.trim_end().len()
        && lexicon::look_up(rest.trim_end()).is_known()
    {
        return Some([start + lead..start + lead + 1, 0..0]);
    }
    if !(mark == b'.' || matches!(mark, b':' | b'=') && LEADS.contains(&head)) {
        return None;
    }
    let name = bare[lead + 1..].trim_start();
    let (name, behind) = name.split_at(name_of(name));
    let ends = if mark == b'.' { behind.starts_with('(') } else { !behind.starts_with(char::is_alphanumeric) };
    // `a7x2.split(at=75)`: the id stays.
    let kept = if mark == b'.' && head.contains(|c: char| c.is_ascii_digit()) { lead } else { 0 };
    (ends && is_tool(name)).then(|| [start + kept..start + lead + 1, 0..0])
}

/// Offsets of the backticks around a whole line.
fn strip_backticks(line: &str) -> Option<[usize; 2]> {
    let bare = behind_arrow(line).trim_end();
    let (inner, rest) = bare.strip_prefix('`')?.split_once('`')?;
    // A comment may follow: "`→ undo`  # that was wrong".
    let rest = rest.trim_start();
    let open = bare.as_ptr() as usize - line.as_ptr() as usize;
    (rest.is_empty() || rest.starts_with('#') || rest.starts_with("//")).then_some([open, open + inner.len() + 1])
}

/// Offsets of the marks around a line that is bold as a whole: `→ **view a7x2**`.
fn strip_bold(line: &str) -> Option<[usize; 2]> {
    let bare = behind_arrow(line).trim_end();
    let inner = bare.strip_prefix("**")?.strip_suffix("**")?;
    let open = bare.as_ptr() as usize - line.as_ptr() as usize;
    (!inner.is_empty() && !inner.contains("**")).then_some([open, open + inner.len() + 2])
}
