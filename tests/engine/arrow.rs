//! The arrow language at the library's door: the corpora, refusals that help, lines that nobody should write.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::{fs, path::Path};

use loomtree::{
    arrow::{self, Command, ParseErrorCode, ParsedLine},
    tools::TABLE,
};
use proptest::prelude::*;

use crate::support::rounds;

/// The lines of a corpus, each with its file's name.
fn corpus(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/arrow").join(folder);
    let mut lines = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        lines.extend(fs::read_to_string(path).unwrap().lines().map(|line| (name.clone(), line.to_owned())));
    }
    lines.sort();
    assert!(lines.len() > 80, "the corpus was not found");
    lines
}

#[test]
fn what_the_corpus_accepts_is_understood() {
    for (tool, line) in corpus("accept") {
        let (line, meant) = line.rsplit_once(" ⇒ ").unwrap();
        let command = arrow::parse(line).map(|understood| understood.command);
        assert_eq!(command.as_ref().map(ToString::to_string).as_deref(), Ok(meant), "{line}");
        assert_eq!(command.unwrap().tool().name(), tool);
    }
}

#[test]
fn what_the_corpus_rejects_is_refused() {
    for (kind, line) in corpus("reject") {
        assert!(arrow::parse(&line).is_err(), "{kind}: {line}: {:?}", arrow::parse(&line));
    }
}

/// What is probably meant can be copied: what has no placeholder left is itself understood.
#[test]
fn what_is_probably_meant_is_understood() {
    for (_, line) in corpus("reject") {
        for probable in arrow::parse(&line).unwrap_err().suggestions {
            let filled = !probable.split([' ', ':']).any(|word| matches!(word, "ID" | "N" | "NAME" | "ID-ID"));
            assert!(probable.starts_with("→ "), "{line}: {probable}");
            assert!(!filled || probable.contains('…') || arrow::parse(&probable).is_ok(), "{line}: {probable}");
        }
    }
}

/// Each row of the table is a line with `REF` for a reference and the command's text. Every kind of reference goes in.
#[test]
fn every_command_takes_every_reference() {
    let table = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/arrow/references").join(name);
        let text = fs::read_to_string(path).unwrap();
        let pair = |row: &str| row.split_once(" ⇒ ").map(|(line, text)| (line.to_owned(), text.to_owned())).unwrap();
        text.lines().map(pair).collect::<Vec<_>>()
    };
    let (verbs, references) = (table("verbs.txt"), table("kinds.txt"));
    assert!(verbs.len() > 20 && references.len() > 15);
    for (line, text) in &verbs {
        for (reference, meant) in &references {
            let line = line.replace("REF", reference);
            let text = text.replace("REF", meant);
            let parsed = arrow::parse(&line).map(|parsed| parsed.command.to_string());
            assert_eq!(parsed.as_deref(), Ok(text.as_str()), "{line}");
        }
    }
}

proptest! {
    /// A noun, a name, a number or a flag that a changing command has no place for makes it refuse.
    #[test]
    fn a_changing_command_drops_no_word(
        command in prop::sample::select(vec![
            "prune a7x2", "restore a7x2", "annotate a7x2 \"x\"", "bookmark a7x2 \"x\"", "unbookmark a7x2", "edit a7x2 \"x\"",
            "copy a7x2 to b3k9", "move a7x2 to b3k9", "exclude a7x2", "respond a7x2 \"x\"",
        ]),
        extra in prop::sample::select(vec![
            "the parent", "of the root", "twice", "with Claude", "by Ada", "in the background", "the outcome", "next week's tokens",
            "7 levels", "three lines", "and its siblings", "the plan", "--dry-run", "with the researcher",
        ]),
    ) {
        let line = format!("→ {command} {extra}");
        prop_assert!(arrow::parse(&line).is_err(), "{line}: {:?}", arrow::parse(&line).map(|parsed| parsed.command));
    }
}

#[test]
fn a_misspelt_verb_that_takes_something_away_needs_a_node() {
    for line in ["→ prun a7x2", "→ purne a7x2", "→ mvoe a7x2 to b3k9", "→ veiw a7x2"] {
        assert!(arrow::parse(line).is_ok(), "{line}");
    }
    for line in ["→ prun", "→ purne this", "→ mvoe it"] {
        assert!(arrow::parse(line).is_err(), "{line}");
    }
}

#[test]
fn a_thought_stays_behind_a_statement() {
    let parsed = arrow::parse("→ a7x2 never convinced me of her motive; think\nWould she go back?\n←").unwrap();
    assert_eq!(parsed.command, Command::Think { content: Some("Would she go back?".to_owned()) });
}

#[test]
fn a_refusal_says_what_was_understood() {
    let refusal = arrow::parse("→ don't prune a7x2").unwrap_err();
    assert_eq!(refusal.code, ParseErrorCode::InvalidSyntax);
    assert!(refusal.suggestions.is_empty(), "what was denied is not offered");
    let refusal = arrow::parse("→ edit b3k9ze").unwrap_err();
    assert_eq!(refusal.message, "`edit` needs the text, in quotes");
    assert_eq!(refusal.suggestions, ["→ edit b3k9ze \"text\""]);
    let refusal = arrow::parse("→ annotate a7x2 \"open").unwrap_err();
    assert_eq!((refusal.span.start, refusal.span.end), (18, 23));
}

#[test]
fn limits_are_named() {
    for line in ["→ continue from a7x2 n:11", "→ tree depth:51", "→ search \"x\" max:11"] {
        assert_eq!(arrow::parse(line).unwrap_err().code, ParseErrorCode::LimitExceeded, "{line}");
    }
    let long = "x".repeat((1 << 20) + 1);
    assert_eq!(arrow::parse(&format!("→ annotate a7x2 \"{long}\"")).unwrap_err().code, ParseErrorCode::LimitExceeded);
    assert!(arrow::parse(&format!("→ annotate a7x2 \"{}\"", &long[1..])).is_ok());
    assert_eq!(arrow::parse(&"(".repeat(5 << 20)).unwrap_err().code, ParseErrorCode::LimitExceeded);
}

fn command(line: &str) -> Command {
    arrow::parse(line).map(|ParsedLine { command, .. }| command).unwrap()
}

#[test]
fn a_block_is_content_as_it_stands() {
    let Command::Annotate { content, .. } = command("→ annotate a7x2 <<<\nsays \"no\"\n\n→ prune a7x2\n>>>") else {
        panic!("not an annotation")
    };
    assert_eq!(content, "says \"no\"\n\n→ prune a7x2");
    let Command::Write { content, .. } = command("→ write doc:\"a\" append <<<\n>>> no end\n>>>\n") else {
        panic!("no write")
    };
    assert_eq!(content, ">>> no end");
}

#[test]
fn a_string_goes_on_over_lines() {
    let Command::Annotate { content, .. } = command("→ annotate a7x2 \"one\ntwo # no comment\"") else {
        panic!("no note")
    };
    assert_eq!(content, "one\ntwo # no comment");
}

#[test]
fn verbs_are_known() {
    for word in ["view", "prune", "checkout", "ls", "todo"] {
        assert!(arrow::is_verb(word), "{word}");
    }
    for word in ["the", "void", "none", "returns", "veiw", "self", "Result", "", "→", "i32"] {
        assert!(!arrow::is_verb(word), "{word}");
    }
}

/// The table's names and synonyms are verbs of the lexicon, and every form that the table shows is understood as its tool.
#[test]
fn the_table_and_the_lexicon_agree() {
    for row in TABLE {
        for word in row.synonyms.iter().chain([&row.name]) {
            let told = arrow::explain(word);
            assert!(told.tokens.iter().any(|token| token.read_as.contains("verb")), "{word} of {}", row.name);
        }
        for form in row.forms.iter().filter(|form| !form.contains('←')) {
            let ids = ["a7x2-b3k9", "a7x2", "b3k9", "3", "read_file"];
            let line = ["ID-ID", "ID", "ID", "N", "NAME"]
                .iter()
                .zip(ids)
                .fold((*form).to_owned(), |line, (place, id)| line.replacen(place, id, 1));
            let understood = arrow::parse(&line).map(|understood| understood.command.tool());
            assert_eq!(understood.ok(), Some(row.tool), "{line}");
        }
    }
}

#[test]
fn an_explanation_has_the_words_of_the_line_that_was_read() {
    // The phrase goes behind the request, and then two words are corrected.
    let told = arrow::explain("→ with 5 results, recal serch \"x\" pleas");
    let words: Vec<&str> = told.tokens.iter().map(|token| token.text.as_str()).collect();
    assert_eq!(words, ["recall", "search", "x", "pleas", "with", "5", "results"]);
}

#[test]
fn an_explanation_tells_the_evidence() {
    let told = arrow::explain("→ let's look at a7x2 in full");
    assert!(told.tokens.iter().any(|token| token.text == "a7x2" && token.read_as.starts_with("id")));
    assert!(told.decision.starts_with("view a7x2 full"), "{}", told.decision);
    assert!(told.candidates[0].starts_with("view"));
    assert_eq!(arrow::explain("→ don't prune a7x2").speech, "negated");
}

/// Long lines of what a parser may choke on: brackets, quotes that never close, apostrophes, one long word.
#[test]
fn hostile_lines_have_an_answer() {
    let many = rounds::of("LOOM_WORDS", 3_000, 10_000) as usize;
    for part in [
        "[", "(", "{", "“", "„", "'", " '", "`", "«", "「", "\\", "\"", "-", "--a ", "a=", "a:", "→ ", "a, ", "it ",
        "if ", "and ", "prune ", "the ", "# ", "<<<", "7 ", "a7x2 ", "\0", "\u{202e}", "\u{200d}", "é", "🙂",
    ] {
        let _ = arrow::parse(&format!("→ view {}", part.repeat(many)));
        let _ = arrow::parse(&part.repeat(many));
    }
    for part in ["a", "a ", " '", "x.", "é", "prune a7x2, "] {
        let _ = arrow::parse(&part.repeat(100 * many / part.len()));
    }
}

proptest! {
    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        let _ = arrow::explain(&text);
    }

    #[test]
    fn any_words_have_an_answer(words in prop::collection::vec(prop::sample::select(vec![
        "→", "view", "prune", "a7x2", "b3k9", "don't", "and", "then", ",", ":", "\"x\"", "to", "from", "it", "the", "bookmark", "?",
        "please", "I", "want", "should", "be", "pruned", "if", "3", "33", "tokens", "label:", "n:4", "--full", "notes.md", "stash", "as",
        "recall", "serch", "--scope", "--since", "call", "calls", "all", "sumary", "node", "note", "agent", "by", "contxt",
    ]), 0..14)) {
        let line = words.join(" ");
        if let Ok(understood) = arrow::parse(&line) {
            // What was understood is a command of its own.
            let again = arrow::parse(&understood.command.to_string()).map(|understood| understood.command);
            prop_assert_eq!(again.ok(), Some(understood.command), "{}", line);
        }
    }
}

#[test]
fn a_refusal_does_not_repeat_a_megabyte() {
    let long = "x".repeat(1_200_000);
    for line in [format!("→ annotate a7x2 \"{long}\""), format!("→ {long} a7x2"), format!("→ prune {long}")] {
        let refusal = loomtree::arrow::parse(&line).unwrap_err();
        assert!(refusal.message.len() < 1_100, "{}", refusal.message.len());
        assert!(refusal.suggestions.iter().all(|command| command.len() <= 1_000));
    }
}

proptest! {
    // One id in ten has no digit, and looks like a word that nobody knows.
    #[test]
    fn an_id_is_an_id_whatever_its_letters(
        [a, b] in prop::array::uniform2("[0-9abcdefghjkmnpqrstvwxyz]{6}").prop_filter("two", |[a, b]| a != b),
    ) {
        for line in [
            format!("view {a} full"), format!("list {a} links"), format!("switch to {a}"), format!("diff {a} {b}"),
            format!("annotate {a} \"a note\""), format!("link {a} to {b}"), format!("merge {a} {b} \"both\""),
            format!("prune {a}"), format!("copy {a} to {b}"), format!("move {a} to {b}"), format!("pin {a}"),
            format!("stash \"l\" summary-of:{a}-{b}"), format!("show me node {a}"),
        ] {
            let command = loomtree::arrow::parse(&line).map_err(|e| TestCaseError::fail(format!("{line}: {e}")))?;
            let said = serde_json::to_string(&command.command).unwrap();
            prop_assert!(said.contains(&a) && (!line.contains(&b) || said.contains(&b)), "{line}: {said}");
        }
    }
}

#[test]
fn a_bookmarks_label_is_echoed_as_it_can_be_typed() {
    for line in ["stash \"best\" content-of:\"keep\"", "stash \"best\" content-of:a7x2kq"] {
        assert_eq!(arrow::parse(&format!("→ {line}")).unwrap().command.to_string(), line);
    }
}
