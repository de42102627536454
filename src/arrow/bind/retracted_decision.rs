//! The words around the text of a decision that a line retracts: `take back the decision "x", it no longer holds`.

use crate::arrow::{
    lex::Span,
    lexicon::{self, Noun},
};

/// Words between `decision` and its text.
const JOINTS: &[&str] =
    &["on", "about", "of", "to", "that", "saying", "says", "called", "named", "titled", "reading", "earlier"];

/// Words before the text that make it another decision, or one of several.
const OTHER: &[&str] = &["every", "all", "any", "each", "other", "and", "or", "no", "not", "but"];

/// Words that open a reason behind the text, where no comma stands before it.
const REASONS: &[&str] = &["because", "since", "for", "as", "please", "again", "now", "from", "it", "no"];

/// True if all that the line asks is to retract the decision whose text stands in `text`. `withdraw the decision before "x"` means
/// another decision, and `withdraw the decision "x" and undo` asks for more.
pub(super) fn is_only_request(line: &str, text: Span) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-');
    let words = |part: &str| -> Vec<String> {
        part.split(|c| !is_inner(c))
            .map(|word| word.trim_matches('\'').to_lowercase())
            .filter(|word| !word.is_empty())
            .collect()
    };
    let has = |list: &[&str], word: &String| list.contains(&word.as_str());
    let is_decision = |word: &String| {
        word == "decided" || matches!(lexicon::look_up(word).noun, Some(Noun::Decision | Noun::Constraint))
    };
    let (before, after) = (words(&line[..text.start]), words(&line[text.end..]));
    let named = before.iter().rposition(is_decision);
    // `drop the "x" decision`
    let is_behind = named.is_none() && after.first().is_some_and(is_decision);
    // `"x" no longer holds, retract that decision`
    let points = |pair: &[String]| matches!(pair[0].as_str(), "that" | "this") && is_decision(&pair[1]);
    let ended = ["no longer holds", "no longer stands", "no longer applies"];
    let is_ended = ended.iter().any(|end| after.join(" ").starts_with(end));
    if before.is_empty() && is_ended && after.windows(2).any(points) {
        return !after[3..].iter().any(|word| has(OTHER, word) && word != "and");
    }
    let quote = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '”' | '’' | '»' | '`');
    let is_apart = line[text.end..].trim_start_matches(quote).starts_with([',', ';', '.', '—', '–', ':', '(']);
    let rest = &after[usize::from(is_behind)..];
    let is_joined = named.map_or(is_behind, |named| before[named + 1..].iter().all(|word| has(JOINTS, word)));
    is_joined
        && !before.iter().any(|word| has(OTHER, word))
        && (is_apart || rest.first().is_none_or(|word| has(REASONS, word)))
}
