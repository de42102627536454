//! Signs of a line that say that it is no request: a quotation, a comment, the sign of an outcome.

use super::{decoration::behind_arrow, unsupported_words::OUTCOMES};

/// Quotation marks, between which text is content.
const QUOTES: [char; 6] = ['"', '“', '„', '«', '`', '\''];

/// Verbs of operations on one node that a shell's command would apply to many.
const HIDING: [&str; 9] = ["rm", "prune", "hide", "delete", "remove", "cp", "copy", "mv", "move"];

/// The reason why no command is read from a line with such a sign.
pub(super) fn refused(line: &str) -> Option<&'static str> {
    let request = behind_arrow(line);
    if request.starts_with('>') {
        return Some("it is a quotation");
    }
    // `❌ prune a7x2`, `<!-- prune a7x2 -->`
    if request.starts_with(OUTCOMES) || request.starts_with('?') || request.starts_with("<!--") {
        return Some("a sign before it says that it is not asked for");
    }
    if has_placeholder(request) {
        return Some("it has a placeholder in angle brackets; write the node's id instead");
    }
    // `rm a7x2/*`
    let hides = HIDING.iter().any(|verb| request.split_whitespace().next() == Some(verb));
    let has_pattern = hides && !request.contains(QUOTES) && request.split_whitespace().any(|word| word.ends_with("/*"));
    has_pattern.then_some("it has a pattern; a command names each node")
}

/// True for `view <node>`, where no text begins before the placeholder.
fn has_placeholder(request: &str) -> bool {
    let Some((before, behind)) = request.split_once('<') else { return false };
    let name = behind.split_once('>').map_or("", |(name, _)| name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'));
    is_name && !before.is_empty() && !before.contains(QUOTES) && !before.contains(": ")
}
