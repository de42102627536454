use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{LexError, LexKind, Span, Token, line};
use crate::arrow::option_name::OptionName;

/// The names of a grammar's productions.
fn productions(grammar: &str) -> BTreeSet<String> {
    let names = grammar.lines().filter_map(|line| line.split_once('='));
    let names = names.map(|(name, _)| name.trim_end()).filter(|name| name.bytes().all(|b| b.is_ascii_lowercase()));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_parser_has_the_productions_of_the_grammar() {
    let grammar = productions(include_str!("../../../grammar/arrow.ebnf"));
    let code = concat!(include_str!("../lex.rs"), include_str!("quotes.rs"));
    let named: BTreeSet<String> = code
        .match_indices("roduction `")
        .filter_map(|(at, found)| code[at + found.len()..].split('`').next())
        .map(str::to_owned)
        .collect();
    assert!(grammar.len() > 20, "the grammar was not read");
    assert_eq!(named, grammar);
}

fn kinds(text: &str) -> Vec<(LexKind, &str)> {
    line(text).unwrap().tokens.into_iter().map(|token| (token.kind, token.text.of(text))).collect()
}

#[test]
fn tokens_have_their_kinds() {
    let quoted = LexKind::Quoted { escapes: true };
    assert_eq!(
        kinds("1. → view [a7x2] depth:3 \"two words\" --full `x` ok?  # said"),
        [
            (LexKind::Word, "view"),
            (LexKind::Bracketed, "a7x2"),
            (LexKind::OptionName(OptionName::Depth), "depth"),
            (LexKind::Bare, "3"),
            (quoted, "two words"),
            (LexKind::Flag, "full"),
            (LexKind::Ticked, "x"),
            (LexKind::Word, "ok"),
            (LexKind::Mark('?'), "?"),
        ]
    );
    assert_eq!(kinds("“a” „b“ «c» ‘d’ 'e'").iter().map(|(_, text)| *text).collect::<String>(), "abcde");
    assert_eq!(kinds("「f」"), [(LexKind::Quoted { escapes: false }, "f")]);
    assert_eq!(kinds("don't say 'don't'"), [(LexKind::Word, "don't"), (LexKind::Word, "say"), (quoted, "don't")]);
    assert_eq!(kinds(r#""a \" b""#), [(quoted, r#"a \" b"#)]);
    assert_eq!(kinds("annotate <<<\na \"b\n>>>"), [(LexKind::Word, "annotate"), (LexKind::Block, "a \"b")]);
    // As the scanner has it: a comment behind the mark is no content, and what looks like one must stand apart.
    assert_eq!(kinds("edit <<<  # tighter\n→ prune b\n>>>"), [(LexKind::Word, "edit"), (LexKind::Block, "→ prune b")]);
    assert_eq!(kinds("edit <<<# x\n>>>").iter().filter(|(kind, _)| *kind == LexKind::Block).count(), 0);
    assert_eq!(
        kinds("a..b 5–9 x'"),
        [(LexKind::Word, "a..b"), (LexKind::Word, "5–9"), (LexKind::Word, "x"), (LexKind::Mark('\''), "'")]
    );
}

#[test]
fn what_is_never_closed_is_an_error_with_a_place() {
    assert_eq!(line("view \"a"), Err(LexError::UnterminatedQuote(Span { start: 5, end: 7 })));
    assert_eq!(line("view <<<\nx"), Err(LexError::UnterminatedBlock(Span { start: 5, end: 8 })));
}

/// A token as text, and what it must be read as.
fn token() -> impl Strategy<Value = (String, LexKind, String)> {
    let quoted = LexKind::Quoted { escapes: true };
    let inner = "[a-zA-Z0-9 ,:;#→'{}()-]{0,12}";
    prop_oneof![
        "[a-z]{2,9}(['./@-][a-z0-9]{1,4}){0,2}".prop_map(|word| (word.clone(), LexKind::Word, word)),
        inner.prop_map(move |text| (format!("\"{text}\""), quoted, text)),
        inner.prop_map(move |text| (format!("“{text}”"), quoted, text)),
        inner.prop_map(move |text| (format!("«{text}»"), quoted, text)),
        inner.prop_map(|text| (format!("`{text}`"), LexKind::Ticked, text)),
        inner.prop_map(|text| (format!("「{text}」"), LexKind::Quoted { escapes: false }, text)),
        "[a-z][a-z ]{0,8}[a-z]".prop_map(move |text| (format!("'{text}'"), quoted, text)),
        "[0-9a-z]{2,10}".prop_map(|id| (format!("[{id}]"), LexKind::Bracketed, id)),
        "--[a-z]{2,9}".prop_map(|flag| (flag.clone(), LexKind::Flag, flag[2..].to_owned())),
        prop::sample::select(vec![',', ';', '(', ')', '?', '+', '|', '=']).prop_map(|c| (
            c.to_string(),
            LexKind::Mark(c),
            c.to_string()
        )),
    ]
}

proptest! {
    #[test]
    fn what_the_grammar_makes_is_read_back(tokens in prop::collection::vec(token(), 0..12), marked in any::<bool>()) {
        let text: Vec<&str> = tokens.iter().map(|(text, _, _)| text.as_str()).collect();
        let text = format!("{}→ {}", if marked { "- " } else { "" }, text.join(" "));
        let read: Vec<(LexKind, String)> = kinds(&text).into_iter().map(|(kind, text)| (kind, text.to_owned())).collect();
        let meant: Vec<(LexKind, String)> = tokens.into_iter().map(|(_, kind, inner)| (kind, inner)).collect();
        prop_assert_eq!(read, meant);
    }

    #[test]
    fn pairs_are_read_back(key in prop::sample::select(vec!["depth", "n", "content-of", "as"]), equals in any::<bool>(), value in "[a-z0-9][a-z0-9./-]{0,8}[a-z0-9]") {
        let text = format!("{key}{}{value}", if equals { '=' } else { ':' });
        let read = kinds(&text);
        prop_assert_eq!(read[0].0, LexKind::OptionName(OptionName::named(key).unwrap()));
        prop_assert_eq!(read[1], (LexKind::Bare, value.as_str()));
    }

    /// Any text is an answer, and tokens lie in the line, one behind the other, on whole characters.
    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        if let Ok(lexed) = line(&text) {
            let mut end = 0;
            for Token { whole, text: inner, .. } in lexed.tokens {
                prop_assert!(end <= whole.start && whole.start < whole.end && whole.end <= text.len());
                prop_assert!(text.get(whole.start..whole.end).is_some() && text.get(inner.start..inner.end).is_some());
                end = whole.end;
            }
        }
    }
}
