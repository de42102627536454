//! The reference for users. `docs/arrow.md` is its output, which a test checks.

use std::fmt::Write as _;

use super::{TABLE, ToolGroup, help};

/// The introduction: rules that apply to every line.
const LANGUAGE: &str = include_str!("arrow_reference.md");

/// Returns the whole reference as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(LANGUAGE);
    for group in ToolGroup::ALL {
        let _ = write!(text, "\n## {}\n", group);
        for spec in TABLE.iter().filter(|spec| spec.group == *group) {
            let _ = write!(text, "\n### {}\n\n{} Needs `{}`.", spec.name, spec.help, spec.permission);
            if !spec.synonyms.is_empty() {
                let words: Vec<String> = spec.synonyms.iter().map(|word| format!("`{word}`")).collect();
                let _ = write!(text, " Also: {}.", words.join(", "));
            }
            let forms: Vec<String> = spec.forms.iter().map(|form| format!("→ {form}")).collect();
            let _ = write!(text, "\n\n```\n{}\n```\n", forms.join("\n"));
            if spec.arguments().next().is_some() {
                text.push_str("\n| argument | what it is | meaning |\n| --- | --- | --- |\n");
            }
            for argument in spec.arguments() {
                let kind = help::describe(argument);
                let _ = writeln!(text, "| `{}` | {kind} | {} |", argument.name, argument.meaning);
            }
            let _ = write!(text, "\n```\n{}\n\n{}\n```\n", spec.example, spec.reply);
        }
    }
    text
}
