//! Explanation of a parse: tokens, intent, candidates and penalties, for `loom parse --explain`.

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    classify,
    intent::ClauseRole,
    lexicon,
    parse::{ParseTrace, parse_traced},
};
use crate::tools::{TABLE, Tool};

/// Results of each parsing step for one line.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The tokens with their readings.
    pub tokens: Vec<ExplainedToken>,
    /// The utterance type: a request, a remark and so on.
    pub speech: String,
    /// The operations that the verb could mean, the chosen one first, each with its verb.
    pub candidates: Vec<String>,
    /// Penalties on confidence, each with its amount.
    pub penalties: Vec<String>,
    /// The decision, in words.
    pub decision: String,
}

/// A token as it was read.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExplainedToken {
    /// The text of the token as written.
    pub text: String,
    /// Its first byte in the line, and the one after its last.
    pub span: (usize, usize),
    /// The reading.
    pub read_as: String,
    /// Its place in the line.
    pub zone: String,
}

/// Explains what [`super::parse()`] makes of `line`.
#[must_use]
pub fn explain(line: &str) -> Explanation {
    let mut trace = ParseTrace::default();
    let result = parse_traced(line, &mut trace);
    let reading = trace.reading.take();
    let line = reading.as_deref().unwrap_or(line);
    let zones = trace.intent.as_ref().map(|intent| intent.zones.clone()).unwrap_or_default();
    let tokens = trace
        .terms
        .iter()
        .enumerate()
        .map(|(at, term)| {
            let mut read_as = words(&term.kind);
            let entry = term.entry;
            for part in [
                entry.verb.map(|(verb, form)| format!("verb {}, {}", words(&verb), words(&form))),
                entry.noun.map(|noun| format!("noun {}", words(&noun))),
                entry.func.map(|func| words(&func)),
                entry.prep.map(|prep| format!("preposition {}", words(&prep))),
            ]
            .into_iter()
            .flatten()
            {
                let _ = write!(read_as, ", {part}");
            }
            ExplainedToken {
                text: term.text.of(line).to_owned(),
                span: (term.whole.start, term.whole.end),
                read_as,
                zone: words(zones.get(at).unwrap_or(&ClauseRole::Skip)),
            }
        })
        .collect();
    let candidates = trace.candidate.map_or_else(Vec::new, |candidate| {
        let rows = classify::fitting(candidate.group, candidate.features);
        let name = |tool: Option<Tool>| tool.map_or("nothing", Tool::name);
        rows.map(|row| format!("{}, by the verb {}", name(row.tool), words(&candidate.group))).collect()
    });
    Explanation {
        tokens,
        speech: trace.intent.as_ref().map_or_else(String::new, |intent| words(&intent.speech)),
        candidates,
        penalties: trace.penalties.iter().map(|(why, doubt)| format!("{why}: -{doubt:.2}")).collect(),
        decision: match result {
            Ok(understood) => {
                format!("{} ({:.2} of {:.2} needed)", understood.command, understood.confidence, trace.needed)
            }
            Err(refusal) => refusal.to_string(),
        },
    }
}

/// The name of a variant in lower-case words: `id range` of `IdRange { .. }`.
fn words(variant: &impl std::fmt::Debug) -> String {
    let debug = format!("{variant:?}");
    let mut words = String::new();
    for c in debug.chars().take_while(char::is_ascii_alphanumeric) {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// True if `word` is a verb of an operation: one of the table's, or an inflection or synonym of one. Slips of the pen
/// are none: `None` and `void` are letters away from one.
#[must_use]
pub fn is_verb(word: &str) -> bool {
    let said = |name: &&str| name.eq_ignore_ascii_case(word);
    TABLE.iter().any(|row| said(&row.name) || row.synonyms.iter().any(said)) || lexicon::look_up(word).base().is_some()
}
