//! Parsing of a line that is a tool call in JSON.

use serde_json::{Map, Value};

use super::{ParseError, ParseErrorCode, ParsedLine, error::refuse};
use crate::{
    arrow::{json_call::JsonCall, lexicon, option_name::OptionName, suggested_commands},
    tools::{
        NativeAlias, TABLE, Tool,
        parse_tool_call::{self, without_null},
    },
};

/// The command of a line that is a tool call in JSON.
pub(super) fn tool_call(line: &str, JsonCall { name, arguments }: JsonCall) -> Result<ParsedLine, ParseError> {
    let lowered = name.to_ascii_lowercase();
    let corrected = lexicon::correct_typo(&lowered).filter(|corrected| Tool::named(corrected).is_some());
    let lowered = corrected.map_or(lowered.clone(), str::to_owned);
    let tool = Tool::named(&lowered).or_else(|| {
        let mut tools = TABLE.iter().filter(|spec| spec.synonyms.contains(&lowered.as_str()));
        tools.next().filter(|_| tools.next().is_none()).map(|spec| spec.tool)
    });
    let (tool, command) = match (NativeAlias::named(&lowered), tool) {
        (Some(alias), _) => (alias.tool, parse_tool_call::form(alias, Ok(without_null(arguments)))),
        (None, Some(tool)) => (tool, parse_tool_call::command(tool, Ok(without_null(with_own_names(tool, arguments))))),
        (None, None) => {
            let (message, help) = (format!("there is no operation {name:?}"), vec!["→ help".to_owned()]);
            return Err(refuse(ParseErrorCode::InvalidSyntax, line, None, message, String::new(), help));
        }
    };
    command.map(|command| ParsedLine { command, confidence: 1.0 }).map_err(|error| {
        let understood = format!("`{}`: {}", tool.name(), tool.spec().help);
        let suggestions = suggested_commands::commands("", &[], Some(tool));
        refuse(ParseErrorCode::InvalidSyntax, line, None, error.message, understood, suggestions)
    })
}

/// Renames arguments that the tool does not have by the synonyms of options: `id` to `node`, `max_results` to `max`.
fn with_own_names(tool: Tool, given: Map<String, Value>) -> Map<String, Value> {
    let has = |name: &str| tool.spec().arguments().any(|argument| argument.name == name);
    let own = |name: &str| {
        let key = OptionName::named(name)?;
        let mut arguments = tool.spec().arguments();
        let named = arguments.find(|argument| OptionName::named(argument.name) == Some(key));
        // The node of `continue` and `tree` is where they begin.
        named.map(|argument| argument.name).or_else(|| (key == OptionName::Node && has("from")).then_some("from"))
    };
    let taken: Vec<String> = given.keys().cloned().collect();
    let renamed = given.into_iter().map(|(name, value)| match own(&name) {
        Some(own) if !has(&name) && taken.iter().all(|other| other != own) => (own.to_owned(), value),
        _ => (name, value),
    });
    renamed.collect()
}
