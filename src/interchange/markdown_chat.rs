//! Reader of conversations in Markdown: the own export of a path, and chats in which a heading names the author of each
//! message.
//!
//! Messages of the own export have ids, so two paths of one tree become one tree again. A message of another chat is
//! identified by everything before it. The own export puts a backslash before a line of content that looks like such a
//! heading. In another chat such a line begins a message, except inside of a code block.

use std::io::Read as _;

use super::{
    Importer, InterchangeError, SourceLines,
    content::model_of,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::types::{AuthorType, EdgeKind};

/// Maximum bytes of a file, which is in memory as a whole.
const MAX_BYTES: u64 = 64 << 20;
/// Longest name of a local id.
const MAX_LOCAL_ID_CHARS: usize = 26;

/// Names of authors in the headings of chats, in lower case.
const AUTHORS: &[(SourceRole, &[&str])] = &[
    (SourceRole::User, &["user", "human", "you", "me", "owner", "prompt", "question"]),
    (
        SourceRole::Model,
        &[
            "assistant",
            "ai",
            "model",
            "bot",
            "chatgpt",
            "claude",
            "gemini",
            "gpt",
            "copilot",
            "llm",
            "response",
            "answer",
        ],
    ),
    (SourceRole::System, &["system", "developer"]),
    (SourceRole::Tool, &["tool", "tool result"]),
];

/// Heading that begins a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MessageHeading<'a> {
    role: SourceRole,
    /// Model, if the heading names it.
    model: Option<&'a str>,
    /// Author of the own export, and local id of the node.
    own: Option<(&'a str, &'a str)>,
    is_interrupted: bool,
}

/// True if a text begins with a heading of the own export, or has headings of a user and of a model.
pub(super) fn is_chat(text: &str) -> bool {
    let headings: Vec<MessageHeading<'_>> = headings(text).into_iter().map(|(_, heading)| heading).collect();
    let has = |role| headings.iter().any(|heading| heading.role == role);
    headings.first().is_some_and(|first| first.own.is_some()) || has(SourceRole::User) && has(SourceRole::Model)
}

/// Returns the headings that begin messages, with the indexes of their lines.
fn headings(text: &str) -> Vec<(usize, MessageHeading<'_>)> {
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    if first.is_some_and(|(_, line)| own_heading(line).is_some()) {
        return text.lines().enumerate().filter_map(|(index, line)| Some((index, own_heading(line)?))).collect();
    }
    let is_code = code_lines(text);
    let found = text.lines().enumerate().filter(|(index, _)| !is_code[*index]);
    let found: Vec<_> = found.filter_map(|(index, line)| Some((index, chat_heading(line)?))).collect();
    // Headings of other levels belong to the messages.
    let level = found.first().map(|(_, (level, _))| *level);
    found
        .into_iter()
        .filter(|(_, (own, _))| Some(*own) == level)
        .map(|(index, (_, heading))| (index, heading))
        .collect()
}

/// Splits a heading into its level and its text.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| (level, text.trim()))
}

/// True for a line of content that the own export must not write as it is: a heading of it, or one with backslashes.
pub(super) fn is_ambiguous(line: &str) -> bool {
    own_heading(line.trim_start_matches('\\')).is_some()
}

/// Parses a heading that the own export writes: author, local id, kind of the node and a mark.
fn own_heading(line: &str) -> Option<MessageHeading<'_>> {
    let (3, text) = heading(line)? else { return None };
    let (text, is_interrupted) = match text.strip_suffix(" · interrupted") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let kind =
        EdgeKind::ALL.iter().find(|kind| text.strip_suffix(kind.as_str()).is_some_and(|rest| rest.ends_with(" · ")));
    let text = kind.map_or(text, |kind| text[..text.len() - kind.as_str().len()].trim_end_matches(" · "));
    let (author, local) = text.rsplit_once(" · ")?;
    let is_local = (2..=MAX_LOCAL_ID_CHARS).contains(&local.len())
        && local.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let role = match kind {
        None | Some(EdgeKind::Continuation | EdgeKind::Version) => role_of_author(author),
        Some(EdgeKind::Tool) => SourceRole::Tool,
        Some(_) => SourceRole::Note,
    };
    is_local.then_some(MessageHeading { role, model: None, own: Some((author, local)), is_interrupted })
}

/// Returns the role that the heading of an edit names, or that of a well-known name.
fn role_of_author(author: &str) -> SourceRole {
    let edited = author.split_once(", edited by ").map(|(role, _)| role);
    match AuthorType::ALL.iter().find(|kind| Some(kind.as_str()) == edited) {
        Some(AuthorType::Human) => SourceRole::User,
        Some(AuthorType::Tool) => SourceRole::Tool,
        Some(AuthorType::System) => SourceRole::System,
        Some(_) => SourceRole::Model,
        None => role_of_name(&author.to_lowercase()).unwrap_or(SourceRole::Model),
    }
}

fn role_of_name(name: &str) -> Option<SourceRole> {
    AUTHORS.iter().find(|(_, names)| names.contains(&name)).map(|(role, _)| *role)
}

/// Parses a heading such as `## User`, `### ChatGPT said:` or `## Assistant (gpt-4o)`. Returns its level too.
fn chat_heading(line: &str) -> Option<(usize, MessageHeading<'_>)> {
    let (level, text) = heading(line)?;
    let text = text.trim_matches(|char: char| !char.is_alphanumeric() && !matches!(char, '(' | ')'));
    let (name, model) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, model)) => (name.trim(), Some(model.trim()).filter(|model| !model.is_empty())),
        None => (text, None),
    };
    let name = name.trim_end_matches(|char: char| !char.is_alphanumeric()).to_lowercase();
    let role = role_of_name(name.strip_suffix(" said").unwrap_or(&name))?;
    Some((level, MessageHeading { role, model, own: None, is_interrupted: false }))
}

/// Marks the lines of fenced code blocks. A fence that is never closed is none.
fn code_lines(text: &str) -> Vec<bool> {
    let fence = |line: &str| {
        let line = line.trim();
        let mark = line.chars().next().filter(|char| matches!(char, '`' | '~'))?;
        let length = line.chars().take_while(|char| *char == mark).count();
        (length >= 3).then_some((mark, length, line.len() == length))
    };
    let fences: Vec<_> = text.lines().map(fence).collect();
    let mut is_code = vec![false; fences.len()];
    let mut index = 0;
    // A search for a closing fence that failed once fails for every later opening of that mark and length.
    let mut unclosed: Vec<(char, usize)> = Vec::new();
    while index < fences.len() {
        if let Some((mark, length, _)) = fences[index]
            && !unclosed.iter().any(|(own, shortest)| *own == mark && length >= *shortest)
        {
            let closes = |fence: &Option<(char, usize, bool)>| {
                fence.is_some_and(|(own, own_length, is_bare)| own == mark && own_length >= length && is_bare)
            };
            match fences[index + 1..].iter().position(closes) {
                Some(lines) => {
                    is_code[index..=index + 1 + lines].fill(true);
                    index += 1 + lines;
                }
                None => unclosed.push((mark, length)),
            }
        }
        index += 1;
    }
    is_code
}

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut bytes = Vec::new();
    (&mut *lines.input).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    (lines.progress)(bytes.len() as u64);
    if bytes.len() as u64 > MAX_BYTES {
        return Err(InterchangeError::Format(format!("{} is longer than {MAX_BYTES} bytes", lines.name)));
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let headings = headings(text);
    let Some((start, _)) = headings.first() else {
        importer.problem(SourcePlace::Whole, "no heading names the author of a message");
        return Ok(());
    };
    let all: Vec<&str> = text.lines().collect();
    let ends = headings.iter().skip(1).map(|(index, _)| *index).chain([all.len()]);
    let mut messages: Vec<(SourcePlace, SourceMessage)> = Vec::new();
    for ((index, heading), end) in headings.iter().zip(ends) {
        let is_own = heading.own.is_some();
        let lines = all[index + 1..end].iter();
        let content = lines.map(|line| if is_own && is_ambiguous(line) { &line[1..] } else { line });
        let body = content.collect::<Vec<_>>().join("\n");
        let body = body.strip_prefix('\n').unwrap_or(&body).trim_end();
        let place = SourcePlace::Line(*index as u64 + 1);
        if is_own && body == "*purged*" {
            importer.left_out("purged message");
        } else {
            messages.push((place, message_of(heading, body, importer)?));
        }
    }
    let opening = match headings[0].1.own {
        Some((_, local)) => local.to_owned(),
        None => identify(&mut messages),
    };
    let before = all[..*start].iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    importer.conversation(SourceConversation {
        id: opening,
        title: before.iter().find_map(|line| heading(line)).map(|(_, title)| title.to_owned()),
        rest: if before.is_empty() { serde_json::Value::Null } else { serde_json::json!({ "before": before }) },
        ..SourceConversation::default()
    })?;
    messages.into_iter().try_for_each(|(place, message)| importer.message(place, message))
}

fn message_of(
    heading: &MessageHeading<'_>,
    body: &str,
    importer: &mut Importer<'_>,
) -> Result<SourceMessage, InterchangeError> {
    let mut message = SourceMessage {
        role: heading.role,
        model: heading.model.map(|model| model_of(None, model)),
        text: body.to_owned(),
        is_interrupted: heading.is_interrupted,
        ..SourceMessage::default()
    };
    if let Some((author, local)) = heading.own {
        local.clone_into(&mut message.id);
        if message.role == SourceRole::Model {
            match importer.is_person(author)? {
                true => message.role = SourceRole::User,
                false if author.contains(", edited by ") => {}
                false => message.model = Some(author.to_owned()),
            }
        }
    }
    Ok(message)
}

/// Gives each message an id that stands for it and everything before it. Returns that of the first message that no
/// system wrote, by which conversations with one beginning share a tree.
fn identify(messages: &mut [(SourcePlace, SourceMessage)]) -> String {
    let mut hash = blake3::Hasher::new();
    let mut opening = None;
    let mut parent = SourceParent::Root;
    for (_, message) in messages {
        hash.update(&[message.role as u8]).update(&(message.text.len() as u64).to_le_bytes());
        hash.update(message.text.as_bytes());
        hash.finalize().to_hex()[..24].clone_into(&mut message.id);
        if opening.is_none() && message.role != SourceRole::System {
            opening = Some(message.id.clone());
        }
        message.parent = parent;
        parent = SourceParent::Message(message.id.clone());
    }
    opening.unwrap_or_else(|| hash.finalize().to_hex()[..24].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_chats_are_found_at_one_level_and_outside_of_code() {
        let text = "# Title\n## User\nHello\n### Assistant\n## Other\n```\n## User\n```\n## ChatGPT said:\nHi\n## User\n```\nopen";
        let found: Vec<_> = headings(text).iter().map(|(index, heading)| (*index, heading.role)).collect();
        assert_eq!(found, [(1, SourceRole::User), (8, SourceRole::Model), (10, SourceRole::User)]);
        let (_, heading) = chat_heading("## **Assistant** (gpt-4o)").unwrap_or_else(|| panic!("a heading"));
        assert_eq!((heading.role, heading.model), (SourceRole::Model, Some("gpt-4o")));
        assert!(!is_chat("# User\n\nA manual for users.") && !is_chat("plain"));
    }

    #[test]
    fn headings_of_the_own_export_are_parsed() {
        let own = |line| own_heading(line).map(|heading| (heading.role, heading.own, heading.is_interrupted));
        assert_eq!(own("### owner · 2ef3kv"), Some((SourceRole::User, Some(("owner", "2ef3kv")), false)));
        assert_eq!(
            own("### a · b · 2ef3kv · tool · interrupted"),
            Some((SourceRole::Tool, Some(("a · b", "2ef3kv")), true))
        );
        assert_eq!(own("### human, edited by mia · 2ef3kv · version").map(|(role, ..)| role), Some(SourceRole::User));
        assert_eq!(own("### Two · Three"), None);
        assert_eq!(own("## owner · 2ef3kv"), None);
    }
}
