//! The text of `→ help`: an overview of the usable tools, and each tool in detail.

use std::fmt::Write as _;

use super::{
    ArgSpec, ArgType, HostTool, TABLE, Tool, ToolGroup, missing_permission,
    required_permissions::form_missing_permission,
};
use crate::types::{Permissions, first_sentence};

/// Returns one line for each tool that an agent with these permissions may use, by group. Host tools come last.
#[must_use]
pub fn overview(held: Permissions, extras: &[HostTool]) -> String {
    let mut text = String::from("Write a command on a line of its own, after an arrow. `→ help view` explains one.");
    for group in ToolGroup::ALL {
        let usable = TABLE.iter().filter(|spec| spec.group == *group && spec.tool.missing_permission(held).is_none());
        let lines: Vec<String> =
            usable.map(|spec| format!("  {} — {}", spec.forms.first().unwrap_or(&spec.name), spec.help)).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n{}:\n{}", group, lines.join("\n"));
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

/// Returns the forms of the commands for a prompt, with their main options: those of `own` that an agent with these
/// permissions may use, then the host's. `→ help` explains the rest.
#[must_use]
pub fn command_forms(own: &[Tool], held: Permissions, extras: &[HostTool]) -> String {
    let mut text = String::from(
        "Commands; `→ help view` explains one. ID is a node's id, `parent`, `root`, `previous`, `next`, `@owner` or a \
         bookmark's \"label\"; `[]` holds an option, `|` separates alternatives.",
    );
    for tool in own.iter().filter(|tool| tool.missing_permission(held).is_none()) {
        let forms = tool.spec().brief.split("; ").filter(|form| !form.is_empty());
        let usable: Vec<&str> = forms.filter(|form| form_missing_permission(form, held).is_none()).collect();
        if !usable.is_empty() {
            let _ = write!(text, "\n{}", usable.join("; "));
        }
    }
    let mut usable = extras.iter().filter(|extra| missing_permission(extra.permission, held).is_none()).peekable();
    if usable.peek().is_some() {
        text.push_str("\nCommands of this program:");
    }
    for extra in usable {
        let _ = write!(text, "\n{} — {}", extra.form_with_options(), first_sentence(&extra.description));
    }
    text
}

/// Returns the detailed help of a tool.
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
    if spec.arguments().next().is_some() {
        text.push_str("\nArguments:");
    }
    for argument in spec.arguments() {
        let _ = write!(text, "\n  {} ({}): {}", argument.name, describe(argument), argument.meaning);
    }
    let _ = write!(text, "\nExample:\n  {}", spec.example.replace('\n', "\n  "));
    text
}

/// Returns the detailed help of a host tool.
#[must_use]
pub(crate) fn explain_host_tool(extra: &HostTool) -> String {
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

/// Describes an argument's type, with `required` if it is.
pub(super) fn describe(argument: &ArgSpec) -> String {
    let words = argument.kind.words();
    if argument.required { format!("required; {words}") } else { words }
}

impl ArgType {
    /// Describes the type for help texts and errors.
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
            Self::Bool => "yes or no".to_owned(),
            Self::Enum(words) => words.join(", "),
            Self::Range => "range such as 5-10".to_owned(),
            Self::NodeRange => "two ids, as a7x2kq-b3k9ze".to_owned(),
            Self::LinkTarget => "an id, doc:\"name\", tree:\"title\", or a tree and an id".to_owned(),
            Self::InsertPosition => "start, end, or a line's number".to_owned(),
        }
    }
}
