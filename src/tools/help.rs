//! Help for the one who acts: what it may use, and each tool in detail.

use std::fmt::Write as _;

use super::{Argument, Group, Kind, TABLE, Tool, lacking};
use crate::model::Permissions;

/// What an agent with these permissions may use, one line a tool, by group.
#[must_use]
pub fn overview(held: Permissions) -> String {
    let mut text = String::from("Write a command on a line of its own, after an arrow. `→ help view` explains one.");
    for group in Group::ALL {
        let usable = TABLE.iter().filter(|spec| spec.usage.group == *group && lacking(spec.tool, held).is_none());
        let lines: Vec<String> =
            usable.map(|spec| format!("  {} — {}", spec.forms.first().unwrap_or(&spec.name), spec.help)).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n{}:\n{}", group.name(), lines.join("\n"));
        }
    }
    text
}

/// A tool in detail.
#[must_use]
pub fn explain(tool: Tool) -> String {
    let spec = tool.spec();
    let mut text = format!("{}: {}", spec.name, spec.help);
    let _ = write!(text, "\nNeeds: {}", spec.permission);
    if !spec.synonyms.is_empty() {
        let _ = write!(text, "\nAlso: {}", spec.synonyms.join(", "));
    }
    text.push_str("\nForms:");
    for form in spec.forms {
        let _ = write!(text, "\n  {form}");
    }
    if !spec.usage.arguments.is_empty() {
        text.push_str("\nArguments:");
    }
    for argument in spec.usage.arguments {
        let _ = write!(text, "\n  {} ({}): {}", argument.name, kind(argument), argument.meaning);
    }
    let _ = write!(text, "\nExample:\n  {}", spec.usage.example.replace('\n', "\n  "));
    text
}

/// What an argument is, in words.
pub(super) fn kind(argument: &Argument) -> String {
    let words = match argument.kind {
        Kind::Node => "id".to_owned(),
        Kind::Nodes => "ids".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Texts => "texts".to_owned(),
        Kind::Number(u32::MAX) => "number".to_owned(),
        Kind::Number(most) => format!("number, at most {most}"),
        Kind::Flag => "flag".to_owned(),
        Kind::Choice => "yes or no".to_owned(),
        Kind::Word(words) => words.join(", "),
        Kind::Range => "range such as 5-10".to_owned(),
        Kind::Span => "two ids, as a7x2kq-b3k9ze".to_owned(),
        Kind::End => "an id, doc:\"name\", tree:\"title\", or a tree and an id".to_owned(),
        Kind::Place => "start, end, or a line's number".to_owned(),
    };
    if argument.required { format!("required; {words}") } else { words }
}
