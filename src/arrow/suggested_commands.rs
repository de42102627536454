//! Suggestions for a refused line: forms of the table, filled with the arguments of the line.

use super::annotate_tokens::{AnnotatedToken, TokenKind};
use crate::tools::{TABLE, Tool};

/// One or two commands, ready to be copied; where the line has no argument for a place, the place's name stays.
pub(super) fn commands(line: &str, terms: &[AnnotatedToken], tool: Option<Tool>) -> Vec<String> {
    let tools = match tool {
        Some(tool) => vec![tool],
        None => named(line, terms),
    };
    tools.into_iter().take(2).filter_map(|tool| filled(line, terms, tool)).collect()
}

/// The operations that the line names, in its order.
fn named(line: &str, terms: &[AnnotatedToken]) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    for term in terms.iter().filter(|term| term.entry.verb.is_some()) {
        let word = term.text.of(line).to_ascii_lowercase();
        let is = |name: &str| word.starts_with(name) && (word.len() - name.len() <= 3) || name.starts_with(&word);
        let row = TABLE.iter().find(|row| is(row.name) || row.synonyms.iter().any(|synonym| is(synonym)));
        if let Some(row) = row.filter(|row| !tools.contains(&row.tool)) {
            tools.push(row.tool);
        }
    }
    tools
}

/// The form of `tool` whose own words the line has most of, filled.
fn filled(line: &str, terms: &[AnnotatedToken], tool: Tool) -> Option<String> {
    let ids: Vec<&str> =
        terms.iter().filter(|term| term.kind == TokenKind::Id).map(|term| term.text.of(line)).collect();
    let texts = terms.iter().filter(|term| term.is_text()).map(|term| term.text.of(line));
    let texts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
    let has = |own: &str| terms.iter().any(|term| term.text.of(line).eq_ignore_ascii_case(own));
    let strange = |form: &&&str| {
        let own = form.split(' ').skip(1).filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
        let own: Vec<i32> = own.map(|word| if has(word.split(':').next().unwrap_or(word)) { -1 } else { 1 }).collect();
        if own.contains(&-1) { own.iter().sum() } else { 0 }
    };
    let form = tool.spec().forms.iter().min_by_key(strange)?;
    let (mut ids, mut texts) = (ids.iter(), texts.iter());
    let words: Vec<String> = form
        .split(' ')
        .map(|word| match word {
            "ID" => ids.next().map_or_else(|| "ID".to_owned(), ToString::to_string),
            word if word.starts_with('"') => texts.next().map_or_else(|| word.to_owned(), |text| format!("\"{text}\"")),
            word => word.to_owned(),
        })
        .collect();
    Some(format!("→ {}", words.join(" ")))
}
