//! Errors of the parser: what was understood of the line, and the commands that it probably means.

use std::fmt;

use serde::Serialize;

use crate::{
    arrow::{
        Command,
        annotate_tokens::AnnotatedToken,
        args::Arguments,
        bind::BindError,
        classify,
        intent::{Intent, Utterance},
        lex::{LexError, Span},
        suggested_commands,
    },
    tools::Tool,
};

/// The longest sentence, and the longest command offered, in bytes.
const MAX_MESSAGE_BYTES: usize = 1_000;

/// Code of a parse error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ParseErrorCode {
    /// The line was not understood, or not well enough.
    InvalidSyntax,
    /// A number or a content is over its limit.
    LimitExceeded,
}

impl fmt::Display for ParseErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidSyntax => "INVALID_SYNTAX",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
        })
    }
}

/// Error of a line that is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The kind of error.
    pub code: ParseErrorCode,
    /// The part of the line that it is about; all of it, if no part.
    pub span: Span,
    /// Reason, one sentence.
    pub message: String,
    /// Interpretation so far, in words.
    pub understood: String,
    /// One or two probable commands, ready to copy; each starts with `→ `.
    pub suggestions: Vec<String>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ParseError {}

pub(super) fn refuse(
    code: ParseErrorCode,
    line: &str,
    span: Option<Span>,
    mut message: String,
    understood: String,
    mut suggestions: Vec<String>,
) -> ParseError {
    // A refusal is for reading: it does not repeat a megabyte.
    if message.len() > MAX_MESSAGE_BYTES {
        message = message.chars().take(MAX_MESSAGE_BYTES / 4).chain(['…']).collect();
    }
    suggestions.retain(|command| command.len() <= MAX_MESSAGE_BYTES);
    ParseError { code, span: span.unwrap_or(Span { start: 0, end: line.len() }), message, understood, suggestions }
}

pub(super) fn lex_error(line: &str, error: LexError) -> ParseError {
    let (span, message) = match error {
        LexError::UnterminatedQuote(span) => (span, "a quote is never closed"),
        LexError::UnterminatedBlock(span) => (span, "a block has no line with >>> at its end"),
    };
    refuse(ParseErrorCode::InvalidSyntax, line, Some(span), message.into(), String::new(), Vec::new())
}

/// Error of a place that belongs to another node than the position.
pub(super) fn other_node_error(line: &str, place: Span, tool: Tool) -> ParseError {
    let message = format!("{:?} belongs to another node here; name that node by its id", place.of(line));
    let understood = format!("`{}`: {}", tool.name(), tool.spec().help);
    refuse(
        ParseErrorCode::InvalidSyntax,
        line,
        Some(place),
        message,
        understood,
        suggested_commands::commands("", &[], Some(tool)),
    )
}

/// A line that asks for nothing that can be run.
pub(super) fn not_a_request(line: &str, terms: &[AnnotatedToken], intent: &Intent) -> ParseError {
    let tool =
        intent.verb.map(|_| ()).and_then(|()| classify::classify(line, terms, intent)).map(|candidate| candidate.tool);
    let message = match intent.speech {
        Utterance::Negated => "it says what shall not be done",
        Utterance::Hypothetical => "it supposes something and asks for nothing",
        Utterance::Question => "it is a question that no command answers",
        Utterance::Several => "it asks for two things; write each on its own line",
        Utterance::Choice => "it leaves a choice",
        Utterance::Remark => "no command was found in it",
        Utterance::Request => "what shall be done with that is not clear",
    };
    let understood = tool.map_or_else(|| "a remark".to_owned(), |tool| format!("something about `{}`", tool.name()));
    let at = terms.get(intent.at).map(|term| term.whole);
    // What was denied is not offered.
    let suggestions =
        if intent.speech == Utterance::Negated { Vec::new() } else { suggested_commands::commands(line, terms, tool) };
    refuse(ParseErrorCode::InvalidSyntax, line, at, message.into(), understood, suggestions)
}

pub(super) fn bind_error(line: &str, terms: &[AnnotatedToken], tool: Tool, error: BindError) -> ParseError {
    let understood = format!("`{}`: {}", tool.name(), tool.spec().help);
    let suggestions = suggested_commands::commands(line, terms, Some(tool));
    match error {
        BindError::Missing(what) => {
            let message = format!("`{}` needs {what}", tool.name());
            refuse(ParseErrorCode::InvalidSyntax, line, None, message, understood, suggestions)
        }
        BindError::Unexpected(span) => {
            let message = format!("`{}` has no place for {:?}", tool.name(), span.of(line));
            refuse(ParseErrorCode::InvalidSyntax, line, Some(span), message, understood, suggestions)
        }
        BindError::Limit(message, span) => {
            refuse(ParseErrorCode::LimitExceeded, line, Some(span), message, understood, suggestions)
        }
    }
}

/// The error of a line that ends where an argument is expected.
pub(super) fn incomplete(line: &str, end: Span, terms: &[AnnotatedToken], tool: Tool) -> ParseError {
    let message = format!("something is missing after {:?}", end.of(line));
    let understood = format!("`{}`: {}", tool.name(), tool.spec().help);
    let suggestions = suggested_commands::commands(line, terms, Some(tool));
    refuse(ParseErrorCode::InvalidSyntax, line, Some(end), message, understood, suggestions)
}

/// The error of a line whose reading has too little confidence.
pub(super) fn unsure(line: &str, arguments: &Arguments<'_>, command: &Command) -> ParseError {
    let understood = format!("it could be `{command}`");
    let message = match arguments.first_unknown_word.filter(|_| arguments.unknown_words > 0) {
        Some(word) => format!("not sure enough what is meant: {:?} was not understood", word.of(line)),
        None => "not sure enough what is meant".to_owned(),
    };
    let suggestions = vec![format!("→ {command}")];
    refuse(ParseErrorCode::InvalidSyntax, line, arguments.first_unknown_word, message, understood, suggestions)
}
