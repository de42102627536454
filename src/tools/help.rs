//! Help for the one who acts: what it may use, and each tool in detail.

use std::fmt::Write as _;

use super::{ArgGroup, ArgSpec, ArgType, HostTool, TABLE, Tool, missing_permission};
use crate::types::{Permissions, first_sentence};

/// What an agent with these permissions may use, one line a tool, by group; what the program around the engine brings
/// along comes last.
#[must_use]
pub fn overview(held: Permissions, extras: &[HostTool]) -> String {
    let mut text = String::from("Write a command on a line of its own, after an arrow. `→ help view` explains one.");
    for group in ArgGroup::ALL {
        let usable =
            TABLE.iter().filter(|spec| spec.usage.group == *group && spec.tool.missing_permission(held).is_none());
        let lines: Vec<String> =
            usable.map(|spec| format!("  {} — {}", spec.forms.first().unwrap_or(&spec.name), spec.help)).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n{}:\n{}", group.name(), lines.join("\n"));
        }
    }
    let mut usable = extras.iter().filter(|extra| missing_permission(extra.permission, held).is_none()).peekable();
    if usable.peek().is_some() {
        text.push_str("\nThis program's own:");
    }
    for extra in usable {
        let _ = write!(text, "\n  {} — {}", extra.form(), first_sentence(&extra.description));
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

/// A tool of the program around the engine, in detail.
#[must_use]
pub fn explain_extra(extra: &HostTool) -> String {
    let mut text = format!("{}: {}", extra.name, first_sentence(&extra.description));
    let _ = write!(text, "\nNeeds: {}\nForms:\n  {}", extra.permission, extra.form());
    if extra.properties().next().is_some() {
        text.push_str("\nArguments:");
    }
    for (name, property) in extra.properties() {
        let meaning = property["description"].as_str().map(|meaning| format!(": {}", first_sentence(meaning)));
        let _ = write!(text, "\n  {name} ({}){}", extra.kind(name), meaning.unwrap_or_default());
    }
    text
}

/// What an argument is, in words, and whether it is required.
pub(super) fn kind(argument: &ArgSpec) -> String {
    let words = argument.kind.words();
    if argument.required { format!("required; {words}") } else { words }
}

impl ArgType {
    /// What such an argument is, in words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Node => "id".to_owned(),
            Self::Nodes => "ids".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Texts => "texts".to_owned(),
            Self::Items => "titles, or objects with title, context, completion_criteria, agent_type, order".to_owned(),
            Self::Number(u32::MAX) => "number".to_owned(),
            Self::Number(most) => format!("number, at most {most}"),
            Self::Flag => "flag".to_owned(),
            Self::Choice => "yes or no".to_owned(),
            Self::Word(words) => words.join(", "),
            Self::Range => "range such as 5-10".to_owned(),
            Self::Span => "two ids, as a7x2kq-b3k9ze".to_owned(),
            Self::End => "an id, doc:\"name\", tree:\"title\", or a tree and an id".to_owned(),
            Self::Place => "start, end, or a line's number".to_owned(),
        }
    }
}
