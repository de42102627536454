//! Single rules, in few words. Whole replies are in `fixtures/arrow/scan/`, laws in `tests/engine/arrow_scan.rs`.

use super::*;

/// Events in few words: `p` prose, `c` a call, `t` a thought (`c?`, `t?` not closed), `|` the end of a batch.
fn show(events: &[Event<'_>]) -> Vec<String> {
    let mark = |closed: bool| if closed { "" } else { "?" };
    events
        .iter()
        .map(|event| match event {
            Event::Prose(text) => format!("p {text}"),
            Event::Call(call) => format!("c{} {}", mark(call.closed), call.text),
            Event::Thought(thought) => format!("t{} {}", mark(thought.closed), thought.text),
            Event::BatchEnd => "|".to_owned(),
        })
        .collect()
}

fn read(text: &str) -> Vec<String> {
    show(&scan(text))
}

fn is_call(line: &str) -> bool {
    match read(line).as_slice() {
        [call, end] => call.starts_with("c ") && end == "|",
        _ => false,
    }
}

#[test]
fn arrow_lines() {
    for line in [
        "→ view a7x2",
        "→view a7x2",
        "➔ view",
        "➜ view",
        "⟶ view",
        "⇒ view",
        "-> view a7x2",
        "->VIEW",
        "-> ls",
        "-> PLAN",
        "-> jot this down",
        "-> view:a7x2",
        "  \t  → view",
        "        → view",
        "\u{feff}→ view",
        "\u{a0}→ view",
        "\u{202e}→ view",
        "- → view",
        "* → view",
        "+ → view",
        "• → view",
        "12. → view",
        "2) → view",
        "  - 1. → view",
        "- -> view",
        "`→ view a7x2`",
        "`` → view ``",
        "- `-> view a7x2`",
        "`→ view a7x2",
        "`→ annotate a7x2 \"the `shift` here\"`",
        "→ view a7x2 \r",
        "→ view \0",
        "→",
        "→ so the tone shifts here",
    ] {
        assert!(is_call(line), "{line:?}: {:?}", read(line));
        let with_end = format!("{line}\n");
        assert!(is_call(&with_end), "{with_end:?}");
    }
}

#[test]
fn a_call_is_given_from_its_arrow_on() {
    for (line, text) in [
        ("  - → view a", "→ view a"),
        ("1. `→ view a` \r\n", "→ view a"),
        ("`` -> view `a` ``", "-> view `a`"),
        ("→ switch to `leaf`", "→ switch to `leaf`"),
        ("`→ view a", "→ view a"),
    ] {
        assert_eq!(read(line), [format!("c {text}"), "|".to_owned()]);
    }
    assert_eq!(show(&scan_commands("  view a\n- view b"))[..2], ["c view a", "c view b"]);
}

#[test]
fn lines_of_prose() {
    for line in [
        "so → view a7x2",
        "> → view a7x2",
        "- > → view a7x2",
        "-> so it goes",
        "-> re-read it",
        "-> viewing",
        "-> None",
        "-> returns true",
        "->",
        "--> view",
        "=> view",
        "-→ view",
        "1.→ view",
        "1234567890. → view",
        "- - -",
        "**→ view**",
        "| → view |",
        "← view",
        "←",
        "`→ undo` takes it back",
        "`→ view a` and `→ prune b`",
        "```→ view a7x2```",
        "~→ view",
        "\u{1b}[1m→ view",
        "fin\r→ view",
    ] {
        assert_eq!(read(line), [format!("p {line}")]);
    }
    let deep = format!("{}→ view", " ".repeat(line_kind::LONGEST + 1));
    assert_eq!(read(&deep), [format!("p {deep}")]);
}

#[test]
fn a_batch_ends_where_prose_begins() {
    let text = "Hm.\n→ view a\n\n  \r\n- → view b\nSo.\n→ view c\n";
    assert_eq!(read(text), ["p Hm.\n", "c → view a", "p \n  \r\n", "c → view b", "|", "p So.\n", "c → view c", "|"]);
    // It is known to be prose by its first characters.
    let mut events = Vec::new();
    let mut scanner = Scanner::new();
    scanner.push("→ view a\n\n- S".as_bytes(), &mut |event| events.extend(show(&[event])));
    assert_eq!(events, ["c → view a", "p \n", "|", "p - S"]);
}

#[test]
fn prose_is_held_back_only_while_it_may_be_an_arrow_line() {
    for (chunk, out) in
        [("ab", "ab"), (" -", ""), (" -x", " -x"), ("\n\n1", "\n\n"), ("-> vie", ""), ("-> vib ", "-> vib "), ("`", "")]
    {
        let mut given = String::new();
        let mut scanner = Scanner::new();
        scanner.push(chunk.as_bytes(), &mut |event| match event {
            Event::Prose(text) => given.push_str(text),
            other => panic!("{other:?}"),
        });
        assert_eq!(given, out, "{chunk:?}");
    }
}

#[test]
fn fences() {
    let open = [
        "```\n→ view\n```",
        "~~~\n→ view\n~~~",
        "````\n```\n→ view\n````",
        "```\n~~~\n→ view\n```",
        "```rust → view\n→ view\n```",
        "   ```\n→ view\n   ```",
        "1. so:\n    ```\n    → view\n    ```",
        "- ```\n  → view\n  ```",
        "```\n    ```\n→ view\n```",
        "```\n``` x\n→ view\n```",
        "```\r\n→ view\r\n```\r",
        "~~~ a`b\n→ view\n~~~",
        "```\n→ view",
    ];
    for text in open {
        assert_eq!(read(text), [format!("p {text}")]);
        if text.ends_with(['`', '~', '\r']) {
            // And it is closed after that.
            assert_eq!(read(&format!("{text}\n→ view")).len(), 3, "{text:?}");
        }
    }
    // A code span at a line's beginning opens nothing.
    assert_eq!(read("```a``` b\n→ view"), ["p ```a``` b\n", "c → view", "|"]);
    // A run of any length is one fence.
    let long = "`".repeat(10_000);
    assert_eq!(read(&format!("{long}\n```\n→ view\n{long}\n→ view")).len(), 3);
}

#[test]
fn quotes_go_on_to_their_end() {
    let text = "→ respond a \"One.\n\n→ prune b \\\" \nTwo.\" as:context\nSo";
    assert_eq!(read(text)[0], format!("c {}", text.strip_suffix("\nSo").unwrap()));
    assert_eq!(read(text).len(), 3);
    let curly = "→ respond a “One \" is\n→ prune b\nit”\n→ view c";
    assert_eq!(read(curly)[1..], ["c → view c", "|"]);
    assert_eq!(read("→ annotate a „so“ “and\nso“\n→ view")[1..], ["c → view", "|"]);
    assert_eq!(read("→ annotate a7x2\"so\n→ prune b\"\n→ view")[1..], ["c → view", "|"]);
    for closed in [
        "→ annotate a the 5\" nail\n→ view",
        "→ annotate a \"x\" # he said \"so\n→ view",
        "→ annotate a \"x\" // \"so\n→ view",
    ] {
        assert_eq!(read(closed)[1..], ["c → view", "|"], "{closed}");
    }
}

#[test]
fn an_open_quote_is_told_and_runs_nothing() {
    let text = "→ annotate a \"so\n→ prune b\n\nThen.";
    assert_eq!(read(text), [format!("c? {text}"), "|".to_owned()]);
}

#[test]
fn block_content_is_taken_verbatim() {
    let text = "→ respond a <<<\n→ prune b\n\"\n```\n >>> x\n>>>\n→ view c\n";
    assert_eq!(read(text), ["c → respond a <<<\n→ prune b\n\"\n```\n >>> x\n>>>", "c → view c", "|"]);
    assert_eq!(read("→ write doc:\"D\" append <<<  # why\n→ prune b\n  >>>\r\n").len(), 2);
    assert_eq!(
        read("→ write doc:\"D\" append <<< #\n→ prune b\n").len(),
        3,
        "no comment, so no block, as the lexer has it"
    );
    assert_eq!(read("`→ respond a <<<`\n→ prune b\n>>>`\nSo").len(), 3);
    assert_eq!(read("→ respond a <<<\n→ prune b\n"), ["c? → respond a <<<\n→ prune b", "|"]);
    // In a comment or in quotes it is none.
    assert_eq!(read("→ view a # <<<\n→ view b").len(), 3);
    assert_eq!(read("→ annotate a \"<<<\"\n→ view b").len(), 3);
}

#[test]
fn a_scratchpad() {
    let text = "Hm.\n→ think\n→ prune a\n```\n←\nSo.";
    assert_eq!(read(text), ["p Hm.\n", "t → prune a\n```", "p So."]);
    for open in ["-> THINK  # before", "- → think:", "`→ think`", "→ think …", "→ ponder"] {
        assert_eq!(read(&format!("{open}\n→ prune a\n ← \r\n→ view b"))[1..], ["c → view b", "|"], "{open}");
    }
    assert_eq!(read("→ think\n→ prune a"), ["t? → prune a"]);
    assert_eq!(read("→ think"), ["t? "]);
    assert_eq!(read("→ think <<<\n→ prune a\n←\n>>>\nSo"), ["t → prune a\n←", "p So"]);
    assert_eq!(read("→ think-aloud\nSo")[0], "c → think-aloud");
    assert_eq!(read("`→ think` opens one\n→ view a").len(), 3);
    // It neither makes a batch nor ends one.
    let text = "→ view a\n→ think\nhm\n←\n→ view b\nSo";
    assert_eq!(read(text), ["c → view a", "t hm", "c → view b", "|", "p So"]);
}

#[test]
fn a_thought_in_one_line() {
    assert_eq!(read("→ think: is it \"needed?\nNo.\n"), ["t is it \"needed?", "p No.\n"]);
    assert_eq!(read("→ think(\"which is cheaper?\")\n→ view a"), ["t which is cheaper?", "c → view a", "|"]);
    assert_eq!(read("→ think about it ←\n→ prune a\n←"), ["t about it", "c → prune a", "|", "p ←"]);
    // An arrow back makes all of it a scratchpad, also what would have been a batch.
    assert_eq!(read("→ think: so\nif\n→ prune a\n→ prune b\n←\nSo."), ["t so\nif\n→ prune a\n→ prune b", "p So."]);
    // A complete batch does not wait for one, nor does another thought.
    assert_eq!(read("→ think: so\n→ view a\nSo.\n←"), ["t so", "c → view a", "|", "p So.\n←"]);
    assert_eq!(read("→ think: so\nA\n→ think: and\nB\n←"), ["t so", "p A\n", "t and\nB"]);
    let before = "→ view a\n→ think: so\n→ prune b\n←\nSo.";
    assert_eq!(read(before), ["c → view a", "t so\n→ prune b", "|", "p So."]);
}

#[test]
fn an_arrow_back_is_not_looked_for_without_end() {
    let mut given = 0;
    let mut scanner = Scanner::new();
    scanner.push("→ think: so\n".as_bytes(), &mut |event| panic!("{event:?}"));
    for _ in 0..1_000 {
        scanner.push(b"A line of the reply.\n", &mut |_| given += 1);
    }
    assert!(given > 700, "{given} of 1000 lines were shown");
}

#[test]
fn every_line_a_command() {
    let events = scan_commands("view a\n\n# a comment\n→ view b\n> no\n```\nview c\n```\nrespond d <<<\nx\n>>>\n12\n");
    let calls: Vec<String> = show(&events).into_iter().filter(|e| e.starts_with('c')).collect();
    assert_eq!(calls, ["c view a", "c → view b", "c respond d <<<\nx\n>>>", "c 12"]);
}

#[test]
fn bytes_that_are_no_text() {
    for bytes in
        [&b"a\xff\xe2\x86b\n\xe2\x86"[..], b"\xf0\x9f\x98", b"\xe2\x86\xe2\x86\x92 view", b"\xc3\xc3\xa9\xed\xa0\x80"]
    {
        for cut in 0..=bytes.len() {
            let mut given = String::new();
            let mut sink = |event: Event<'_>| match event {
                Event::Prose(text) => given.push_str(text),
                other => panic!("{other:?}"),
            };
            let mut scanner = Scanner::new();
            scanner.push(&bytes[..cut], &mut sink);
            scanner.push(&bytes[cut..], &mut sink);
            scanner.finish(&mut sink);
            assert_eq!(given, String::from_utf8_lossy(bytes));
        }
    }
}
