//! Tests of the program `loom`: output, errors and exit codes.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use std::{io::Read as _, process::Stdio};

use support::{Home, Ran};

/// Returns `text` with ids and ages replaced by stable words.
fn stable(text: &str, ids: &[(&str, &str)]) -> String {
    let mut stable = text.to_owned();
    for (id, name) in ids {
        stable = stable.replace(id, name);
    }
    let mut out = String::new();
    for line in stable.lines() {
        // Ages are at most some seconds: `just now` or `12s ago`.
        let mut words: Vec<&str> = line.split(' ').collect();
        for i in (1..words.len()).rev() {
            if words[i] == "ago" && words[i - 1].ends_with('s') {
                words.splice(i - 1..=i, ["just", "now"]);
            }
        }
        out.push_str(words.join(" ").trim_end());
        out.push('\n');
    }
    out
}

/// A tree with two branches, a bookmark, a note and a position.
fn sample() -> (Home, Vec<(String, &'static str)>) {
    let home = Home::new();
    let root = home.start("Tell me a story about a lighthouse.");
    let first = home.say("subject", None, "Once there was a keeper called Ilse. She kept jars.");
    let asked = home.say("owner", None, "What was in the jars?");
    let one = home.say("subject", Some(&asked), "Sounds: rain, gulls, a door.");
    let other = home.say("subject", Some(&asked), "Nothing. They were for later.");
    let last = home.say("owner", None, "For what?");
    home.ok(&["bookmark", &one, "the good one"]);
    let note = home.json(&["annotate", &first, "why jars?"])[0]["nodes"][0]["local_id"].as_str().unwrap().to_owned();
    let ids = [
        (root, "ROOT"),
        (first, "ILSE"),
        (asked, "JARS"),
        (one, "RAIN"),
        (other, "NONE"),
        (last, "LAST"),
        (note, "NOTE"),
    ];
    (home, ids.to_vec())
}

/// Returns the id of a name of [`sample`].
fn id<'a>(ids: &'a [(String, &str)], name: &str) -> &'a str {
    ids.iter().find(|(_, n)| *n == name).map(|(id, _)| id.as_str()).unwrap()
}

fn tree_of(home: &Home, ids: &[(String, &str)], args: &[&str]) -> String {
    let out = home.ok(&[&["tree"], args].concat());
    let tree = home.json(&["trees"])[0]["id"].as_str().unwrap()[20..].to_lowercase();
    let mut names: Vec<(&str, &str)> = ids.iter().map(|(id, name)| (id.as_str(), *name)).collect();
    names.push((&tree, "TREE"));
    stable(&out, &names)
}

#[test]
fn a_tree_is_drawn_with_guides_and_marks() {
    let (home, ids) = sample();
    insta::assert_snapshot!(tree_of(&home, &ids, &[]), @r"
    Tell me a story about a lighthouse.  TREE  6 nodes, 2 branches
      ROOT  owner just now  Tell me a story about a lighthouse.
      ILSE  subject just now  1 note  Once there was a keeper called Ilse. She kept jars.
      JARS  owner just now  What was in the jars?
      ├─ RAIN  subject just now  ★ the good one  Sounds: rain, gulls, a door.
      └─ NONE  subject just now  Nothing. They were for later.
    *    LAST  owner just now  For what?  ← you are here
    ");
    insta::assert_snapshot!(tree_of(&home, &ids, &["--notes", "--depth", "2"]), @r"
    Tell me a story about a lighthouse.  TREE  6 nodes, 2 branches
      ROOT  owner just now  Tell me a story about a lighthouse.
      ILSE  subject just now  1 note  Once there was a keeper called Ilse. She kept jars.
      ┊ NOTE  owner just now  annotation  why jars?
      JARS  owner just now  What was in the jars? ▸
      ▸ more: `loom tree JARS`
    ");
    home.ok(&["prune", id(&ids, "NONE")]);
    insta::assert_snapshot!(tree_of(&home, &ids, &["--pruned", id(&ids, "JARS")]), @r"
    Tell me a story about a lighthouse.  TREE  4 nodes
      ⋮ 2 above; `loom tree /` starts at the root
    * JARS  owner just now  What was in the jars?  ← you are here
      ├─ RAIN  subject just now  ★ the good one  Sounds: rain, gulls, a door.
      └─ NONE  subject just now  pruned  Nothing. They were for later.
         LAST  owner just now  pruned  For what?
    ");
}

#[test]
fn long_runs_are_folded_and_wide_branch_points_cut() {
    let home = Home::new();
    let root = home.start("root");
    for turn in 0..12 {
        home.say("owner", None, &format!("turn {turn}"));
    }
    let folded = home.ok(&["tree"]);
    assert!(folded.contains("⋮ 9 more"), "{folded}");
    assert_eq!(folded.lines().count(), 1 + 2 + 1 + 2);
    assert_eq!(home.ok(&["tree", "--full"]).lines().count(), 1 + 13);
    for branch in 0..30 {
        home.say("owner", Some(&root), &format!("branch {branch}"));
    }
    let wide = home.ok(&["tree"]);
    assert!(wide.contains("… 7 more") && wide.contains("branch 29"), "{wide}");
    assert_eq!(home.ok(&["tree", "--limit", "0"]).matches("branch ").count(), 30);
    let short = home.ok(&["tree", "--limit", "10"]);
    assert!(short.lines().count() < 20 && short.contains("you are here"), "{short}");
    assert_eq!(home.json(&["tree"]).len(), 43);
}

#[test]
fn buffers_show_the_selected_version() {
    let home = Home::new();
    let root = home.json(&["new", "--buffer", "It was a dark night."])[0]["root"]["local_id"].clone();
    home.say("owner", None, "The end.");
    home.ok(&["edit", root.as_str().unwrap(), "It was a bright night."]);
    let tree = home.ok(&["tree"]);
    assert!(tree.contains("2 versions  It was a bright night.") && tree.contains("The end."), "{tree}");
    let view = home.ok(&["view"]);
    assert!(view.contains("bright") && !view.contains("dark night.\n\n"), "{view}");
    home.ok(&["switch", root.as_str().unwrap()]);
    assert!(home.ok(&["tree"]).contains("The end."));
    assert!(home.ok(&["view", "--path", "."]).contains("dark"));
    home.ok(&["split", "/", "--after", "dark"]);
}

#[test]
fn a_viewed_node_is_continued_by_the_version_that_is_read() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "One. "]);
    let two = home.say("owner", None, "Two. ");
    home.say("owner", None, "Three. ");
    home.ok(&["edit", "..", "Zwei. "]);
    let zwei = home.json(&["view", ".."])[0]["local_id"].as_str().unwrap().to_owned();
    let row = |node: &str, label: &str| {
        let view = home.ok(&["view", node]);
        let rest = view.split(&format!("{label}  ")).nth(1).unwrap_or_default().to_owned();
        rest.lines().next().unwrap_or_default().to_owned()
    };
    assert!(row("/", "continued by").ends_with("Zwei."));
    assert!(!home.ok(&["view", "/"]).contains("beside"));
    assert_eq!(row(".", "after"), zwei);
    for version in [&two, &zwei] {
        let view = home.ok(&["view", version]);
        let versions = view.split("versions  ").nth(1).unwrap_or_default();
        assert!(versions.contains("Two.") && versions.contains("Zwei."), "{view}");
        assert!(row(version, "continued by").ends_with("Three."), "{view}");
        assert_eq!(home.json(&["view", version])[0]["wordings"].as_array().unwrap().len(), 2);
    }
    home.ok(&["split", "..", "--at", "2"]);
    assert!(row("/", "continued by").ends_with("Zw"));
    let first = home.json(&["tree"]).into_iter().find(|node| node["content"] == "Zw").unwrap();
    assert!(row(first["local_id"].as_str().unwrap(), "continued by").ends_with("ei."));
}

/// In a buffer, the outline, the exported text and `root` have the same versions.
#[test]
fn an_edited_and_split_root_of_a_buffer_reads_the_same_everywhere() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "The harbour lay empty."]);
    home.say("owner", None, "A gull cried.");
    home.say("owner", None, "The keeper woke.");
    let expect = |passages: &[&str]| {
        assert_eq!(home.ok(&["export", "--format", "prose"]).trim_end(), passages.concat());
        let tree = home.ok(&["tree"]);
        let lines: Vec<&str> = tree.lines().skip(1).collect();
        assert_eq!(lines.len(), passages.len(), "{tree}");
        for (line, passage) in lines.iter().zip(passages) {
            assert!(line.contains(passage.trim()), "{tree}");
        }
    };
    home.ok(&["edit", "root", "The harbour lay full."]);
    assert!(home.ok(&["switch", "root"]).contains("The harbour lay full."));
    home.ok(&["switch", "leaf"]);
    expect(&["The harbour lay full.", "A gull cried.", "The keeper woke."]);
    home.ok(&["split", "/", "--after", "The"]);
    assert!(home.ok(&["view"]).contains("The keeper woke."), "a split elsewhere leaves the position");
    expect(&["The", " harbour lay full.", "A gull cried.", "The keeper woke."]);
    home.ok(&["edit", "/", "That"]);
    expect(&["That", " harbour lay full.", "A gull cried.", "The keeper woke."]);
}

#[test]
fn what_follows_an_edited_passage_is_copied_and_moved_with_it() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "One."]);
    let two = home.say("owner", None, "Two.");
    home.say("owner", None, "Three.");
    home.ok(&["edit", &two, "Deux."]);
    let side = home.say("owner", Some("/"), "Side.");
    let shown = home.json(&["tree"]).into_iter().find(|node| node["content"] == "Deux.").unwrap();
    let shown = shown["local_id"].as_str().unwrap();
    assert!(home.ok(&["copy", shown, &side]).contains("2 nodes copied"));
    home.ok(&["undo"]);
    assert!(home.ok(&["move", shown, &side]).contains("2 nodes moved"));
    let tree = home.ok(&["tree"]);
    assert_eq!((tree.matches("Deux.").count(), tree.matches("Three.").count()), (1, 1), "{tree}");
    assert!(!tree.contains("Two.") && home.ok(&["verify"]).contains("no problems"), "{tree}");
}

#[test]
fn lists_make_no_database_and_empty_words_are_refused() {
    let home = Home::new();
    for list in [vec!["agents"], vec!["agents", "list"], vec!["docs", "list"], vec!["trees"]] {
        assert!(home.fails(3, &list).contains("there is no database"), "{list:?}");
    }
    home.ok(&["new", "Root"]);
    assert!(home.ok(&["agents", "list"]).contains("collaborator"));
    for nothing in ["", " ", "\""] {
        assert!(home.fails(2, &["recall", nothing]).contains("empty"), "{nothing:?}");
    }
    home.fails(2, &["score", "--command", "echo 3", "--name", ""]);
}

#[test]
fn an_import_names_damage_archived_trees_and_its_session() {
    let home = Home::new();
    let damaged = home.file("damaged.jsonl");
    std::fs::write(&damaged, "{bad\n{also bad\n").unwrap();
    home.fails(1, &["import", "--from", "openai-chat", damaged.to_str().unwrap()]);
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/pi/session.jsonl");
    let imported = home.ok(&["import", fixture]);
    let tree = imported.split("trees --use ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    home.ok(&["trees", "--use", &tree]);
    home.ok(&["recall", "--turns", "1-3"]);
    home.ok(&["import", "--undo", fixture]);
    assert!(home.ok(&["import", fixture]).contains("is archived; `loom archive --undo -t "));
}

#[test]
fn text_in_an_archived_tree_has_a_note() {
    let home = Home::new();
    home.ok(&["new", "My novel"]);
    assert_eq!(home.run(&["say", "seen"]).err, "");
    home.ok(&["archive"]);
    assert!(home.run(&["say", "hidden"]).err.contains("this tree is archived: My novel; `loom archive --undo`"));
}

#[test]
fn what_follows_the_first_half_of_a_split_is_shown() {
    let home = Home::new();
    home.ok(&["new", "Root"]);
    home.say("owner", None, "Alpha beta");
    home.ok(&["split", ".", "--after", "Alpha"]);
    home.ok(&["switch", "parent"]);
    let between = home.say("owner", None, "Between the halves.");
    let place = home.json(&["tree", "--full"]).into_iter().find(|node| node["content"] == "Alpha beta").unwrap();
    let place = place["local_id"].as_str().unwrap();
    let beta = home.json(&["tree", "--full"]).into_iter().find(|node| node["content"] == " beta").unwrap();
    let below = home.say("owner", beta["local_id"].as_str(), "Below.");
    assert!(home.fails(1, &["move", place, &below]).contains("own branch"));
    home.ok(&["prune", &below]);
    for refused in [vec!["say", "--at", &below, "hidden"], vec!["continue", &below, "--model", "scripted:words"]] {
        assert!(home.fails(1, &refused).contains("is pruned; restore it first"), "{refused:?}");
    }
    home.fails(1, &["do", &format!("respond {below} \"hidden\"")]);
    home.ok(&["switch", &between]);
    let tree = home.ok(&["tree"]);
    let words = ["Alpha", "├─", "beta", "└─", "Between the halves.", "you are here"];
    let mut rest = tree.as_str();
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("{word}: {tree}"));
        rest = &rest[at + word.len()..];
    }
    assert!(home.ok(&["tree", "--pruned", "--full"]).contains("Between the halves."));
    let dot = home.ok(&["export", "--format", "dot"]);
    assert_eq!(dot.matches(" -> ").count() + 1, dot.matches("[label=").count(), "{dot}");
}

#[test]
fn control_characters_of_content_are_escaped() {
    let home = Home::new();
    let hostile = "a\x1b[31mred\x1b]0;title\x07\u{9b}2J\u{202e}end\x08\x7f";
    home.ok(&["new", hostile, "--title", hostile]);
    home.ok(&["bookmark", ".", hostile]);
    home.ok(&["annotate", ".", hostile]);
    home.ok(&["docs", "new", "doc\x1b[2J", hostile]);
    home.ok(&["link", ".", "doc:doc\x1b[2J", "--note", hostile]);
    home.ok(&["agents", "add", "mallory\x1b[5m"]);
    home.ok(&["say", "--by", "mallory\x1b[5m", hostile]);
    let commands: [&[&str]; 11] = [
        &["tree", "--notes"],
        &["view"],
        &["view", "."],
        &["view", "/"],
        &["trees"],
        &["log"],
        &["bookmark", "-l"],
        &["docs"],
        &["docs", "read", "doc\x1b[2J"],
        &["agents"],
        &[],
    ];
    for color in ["auto", "always"] {
        for args in commands {
            let out = home.ok(&[args, &["--color", color]].concat());
            for harmful in ["\x1b[31mred", "\x1b]", "\x07", "\u{9b}", "\u{202e}", "\x08", "\x7f", "\x1b[2J", "\x1b[5m"]
            {
                assert!(!out.contains(harmful), "{args:?}: {harmful:?} in {out:?}");
            }
            assert_eq!(out.contains('\x1b'), color == "always" && out.contains("\x1b["), "{args:?}");
        }
    }
    let said = home.fails(1, &["view", "\x1b[2J"]);
    assert!(!said.contains('\x1b'), "{said:?}");
    // JSON holds every character, escaped.
    let out = home.ok(&["view", "/", "--json"]);
    assert!(!out.chars().any(|c| c.is_control() && c != '\n'));
    assert_eq!(home.json(&["view", "/"])[0]["content"], hostile);
}

#[test]
fn pipes_get_no_colours_by_default() {
    let (home, _) = sample();
    assert!(!home.ok(&["tree"]).contains('\x1b'));
    assert!(home.ok(&["tree", "--color", "always"]).contains("\x1b["));
    assert!(!home.fails(1, &["view", "zzzzzz"]).contains('\x1b'));
}

#[test]
fn unknown_and_ambiguous_ids_are_explained() {
    let home = Home::new();
    let root = home.start("the root of it");
    // Two nodes whose ids begin alike: by the pigeonhole, among 33 nodes two share the first character; two
    // characters are needed, so there are enough nodes for that.
    let mut ids = vec![root];
    let (prefix, mut expected) = loop {
        ids.push(home.say("owner", None, &format!("words {}", ids.len())));
        let last = ids.last().unwrap();
        let alike: Vec<String> = ids.iter().filter(|id| id[..2] == last[..2]).cloned().collect();
        if alike.len() > 1 {
            break (last[..2].to_owned(), alike);
        }
    };
    let said = home.fails(1, &["view", &prefix]);
    assert!(said.contains("is ambiguous") && said.contains("owner"), "{said}");
    expected.retain(|id| !said.contains(id.as_str()));
    assert!(expected.is_empty(), "{expected:?} not in {said}");
    let json = home.run(&["view", &prefix, "--json"]).err;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["error"].as_str(), json["exit"].as_i64()), (Some("ambiguous"), Some(1)));

    let wrong = format!("{}{}", &ids[0][..5], if ids[0].ends_with('0') { '1' } else { '0' });
    let said = home.fails(1, &["view", &wrong]);
    assert!(said.contains("did you mean") && said.contains(&ids[0]), "{said}");
    assert!(home.ok(&["view", &format!("[{}]", ids[0].to_uppercase())]).contains("the root of it"));
    assert!(home.fails(1, &["--as", "nobody", "tree"]).contains("owner"));
    // The subject can only write when asked. Reading needs no permission at the terminal.
    for forbidden in [["say", "x"], ["prune", "."], ["continue", "."]] {
        let said = home.fails(1, &["--as", "subject", forbidden[0], forbidden[1]]);
        assert!(said.contains("lacks the permission loom_"), "{said}");
    }
    home.ok(&["--as", "subject", "tree"]);
    // An id of another tree is found there, and the beginning of a listed id names a tree.
    let tree = home.json(&["new", "another tree"])[0]["tree"]["id"].as_str().unwrap()[20..].to_lowercase();
    let said = home.fails(1, &["view", &ids[1]]);
    let command = said.split("loom ").last().unwrap().split_whitespace().collect::<Vec<_>>();
    assert!(said.contains("it is in the tree the root of it: loom switch --tree "), "{said}");
    assert!(home.ok(&command).contains("words 1"));
    assert!(home.fails(1, &["--tree", "no such", "tree"]).contains(&format!("{tree} (another tree)")));
    for part in [&tree[..5], &tree[1..]] {
        assert!(home.ok(&["--tree", part, "tree"]).contains("another tree"), "{part}");
    }
    home.start("third");
    let said = home.fails(1, &["view", &ids[0]]);
    assert!(said.contains("it is in the tree the root of it: loom switch --tree"), "{said}");
    assert!(home.fails(1, &["trees", "--use", "anothr tree"]).contains("did you mean another tree?"));
}

#[test]
fn a_text_of_several_words_without_quotes_gets_a_tip() {
    let home = Home::new();
    home.start("root");
    for args in
        [&["say", "hello", "world"][..], &["new", "a", "b"], &["annotate", ".", "a", "b"], &["edit", ".", "a", "b"]]
    {
        assert!(home.fails(2, args).contains("tip: a text of several words needs quotes"), "{args:?}");
    }
    assert!(!home.fails(2, &["tree", ".", "x"]).contains("quotes"));
    assert!(home.fails(2, &["sya", "hello"]).contains("'say'"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::new();
    home.start("root");
    home.pipe(&["say"], "many words\n".repeat(200_000));
    for args in [&["view", "."][..], &["tree", "--json"], &["completions", "bash"], &["man"], &["--help"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 16];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn concurrent_processes_append_to_one_chain() {
    let home = Home::new();
    home.start("root");
    let run = |who: &'static str| {
        let home = &home;
        move || {
            for turn in 0..10 {
                home.ok(&["say", &format!("{who} {turn}")]);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run("a"));
        scope.spawn(run("b"));
    });
    let nodes = home.json(&["tree"]);
    assert_eq!(nodes.len(), 21);
    let depths: Vec<u64> = nodes.iter().map(|n| n["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths, (0..21).collect::<Vec<_>>());
}

#[test]
fn a_wrong_command_line_is_explained_in_the_form_that_it_asks_for() {
    let home = Home::new();
    let deleting = home.fails(2, &["delete", "a7x2"]);
    assert!(deleting.contains("'prune'") && deleting.contains("'purge'"), "{deleting}");
    let error: serde_json::Value = serde_json::from_str(&home.fails(2, &["viw", "a7x2", "--json"])).unwrap();
    assert_eq!(error["error"], "usage");
    assert_eq!(error["exit"], 2);
    assert_eq!(error["message"], "unrecognized subcommand 'viw'");
    assert!(error["details"][0].as_str().unwrap().contains("'view'"), "{error}");
    // Words after `--` are text.
    assert!(home.fails(2, &["viw", "--", "--json"]).starts_with("error:"));
}

#[test]
fn a_first_run_prints_hints() {
    let home = Home::new();
    let out = home.ok(&[]);
    assert!(out.contains("loom new") && out.contains("loom continue") && out.contains("loom tree"), "{out}");
    assert!(!home.file("loom.db").exists(), "nothing was made");
    assert!(home.fails(3, &["tree"]).contains("loom new"));
    assert!(home.fails(2, &["nonsense"]).contains("unrecognized subcommand"));
    home.start("first words");
    assert!(home.ok(&[]).contains("first words"));
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().to_str().unwrap();
    assert!(home.ok(&["--workspace", folder, "tree"]).contains("first words"), "the only tree is used");
    home.ok(&["new", "second tree"]);
    assert!(home.fails(1, &["--workspace", folder, "tree"]).contains("loom trees --use"));
    home.ok(&["trees", "--use", "first"]);
    assert!(home.ok(&["--workspace", folder, "tree", "--tree", "first"]).contains("first words"));
    let end = home.say("owner", None, "and last ones");
    let seen = home.json(&["--workspace", folder, "--tree", "first", "view", "."]);
    assert_eq!(seen[0]["local_id"], end, "a tree that is named without a session is read from its end");
    home.ok(&["--workspace", folder, "trees", "--use", "first"]);
    assert_eq!(home.json(&["--workspace", folder, "view", "."])[0]["local_id"], end, "a newcomer comes to the end");
    assert!(home.ok(&["--workspace", folder, "say", "there"]).contains("you are here"));
    assert!(home.ok(&["--help"]).contains("Exit codes:"));
}

#[test]
fn text_comes_from_arguments_pipes_and_the_editor() {
    let home = Home::new();
    assert_eq!(home.pipe(&["new"], "from a pipe\n").code, 0);
    assert_eq!(home.json(&["view", "."])[0]["content"], "from a pipe");
    assert_eq!(home.pipe(&["say", "-"], "two\nlines\n\n").code, 0);
    assert_eq!(home.json(&["view", "."])[0]["content"], "two\nlines\n");
    assert!(home.fails(2, &["say"]).contains("the text is empty"));
    let binary = home.pipe(&["say"], [0xff, 0xfe]);
    assert!(binary.code == 2 && binary.err.contains("not UTF-8"), "{binary:?}");
    home.ok(&["say", "--", "--looks-like-an-option"]);
    assert_eq!(home.json(&["view", "."])[0]["content"], "--looks-like-an-option");
}

#[test]
fn switch_moves_the_position() {
    let (home, ids) = sample();
    let at = |home: &Home, to: &str| {
        let node = home.json(&["switch", to])[0]["local_id"].as_str().unwrap().to_owned();
        ids.iter().find(|(id, _)| *id == node).map_or("?", |(_, name)| *name)
    };
    for (to, name) in [
        ("parent", "NONE"),
        ("next", "RAIN"),
        ("previous", "NONE"),
        ("leaf", "LAST"),
        ("back", "NONE"),
        ("root", "ROOT"),
        (id(&ids, "JARS"), "JARS"),
        ("..", "ILSE"),
        (".", "ILSE"),
        ("back", "JARS"),
        ("/", "ROOT"),
    ] {
        assert_eq!(at(&home, to), name, "{to}");
    }
    for wrong in ["parent", "next", ".."] {
        home.fails(1, &["switch", wrong]);
    }
    assert!(home.fails(2, &["switch"]).contains("no target given"));
    home.ok(&["prune", id(&ids, "RAIN")]);
    assert!(home.fails(1, &["switch", id(&ids, "RAIN")]).contains("is pruned"));
}

#[test]
fn changes_can_be_undone() {
    let (home, ids) = sample();
    let (rain, none, jars) = (id(&ids, "RAIN"), id(&ids, "NONE"), id(&ids, "JARS"));
    home.ok(&["edit", rain, "Sounds: wind."]);
    home.ok(&["undo"]);
    home.ok(&["redo"]);
    home.ok(&["exclude", none]);
    assert!(home.ok(&["tree"]).contains("excluded"));
    home.ok(&["include", none]);
    home.ok(&["merge", rain, none, "-m", "Both."]);
    home.ok(&["link", rain, none, "--note", "compare"]);
    assert!(home.ok(&["view", none]).contains("compare"));
    assert!(home.fails(1, &["link", rain, rain]).contains("itself"));
    assert!(home.ok(&["unlink", rain, none]).contains("1 link removed"));
    assert!(home.fails(1, &["unlink", rain, none]).contains("there is no such link"));
    home.ok(&["copy", none, rain]);
    home.ok(&["move", none, rain]);
    assert!(home.fails(1, &["move", jars, jars]).contains("own branch"));
    home.ok(&["split", rain, "--at", "7"]);
    home.fails(1, &["split", rain, "--at", "700"]);
    home.fails(2, &["split", rain]);
    assert!(home.ok(&["restore"]).contains(none));
    home.fails(1, &["restore", jars]);
    home.fails(1, &["prune", "/"]);
    home.ok(&["bookmark", "--remove", rain]);
    // Without a node it lists.
    for list in [&["bookmark"][..], &["bookmark", "--list"], &["bookmark"]] {
        assert!(home.ok(list).contains("no bookmarks"));
    }
    home.ok(&["rename", "A new title", "--description", "what for"]);
    assert!(home.fails(2, &["rename"]).contains("nothing to change"));
    home.ok(&["archive"]);
    assert!(home.ok(&["trees"]).contains("all trees are archived"));
    assert!(home.ok(&["trees", "--archived"]).contains("A new title"));
    home.ok(&["archive", "--undo"]);
    let log = home.ok(&["log", "-n", "0"]);
    let edited = format!("edited {rain} as ");
    for told in [
        "began the tree \"",
        "responded to ",
        "annotated ",
        &edited,
        &format!("undid: {edited}"),
        &format!("redid: {edited}"),
        "merged into ",
        "split ",
        "moved to ",
        "archived the tree \"A new title\"",
        "unarchived the tree",
    ] {
        assert!(log.contains(told), "{told} not in {log}");
    }
    assert_eq!(home.json(&["log", "-n", "3"]).len(), 3);
    assert_eq!(home.json(&["say", "--kind", "instruction", "be brief"])[0]["op"], "append");
    assert!(home.ok(&["verify"]).contains("no problems"));
    assert!(home.ok(&["rebuild"]).contains("every count was right"));
}

#[test]
fn agents_have_their_own_positions_and_start_at_the_latest() {
    let (home, ids) = sample();
    let last = id(&ids, "LAST");
    assert_eq!(home.json(&["--as", "collaborator", "view", "."])[0]["local_id"], last);
    home.ok(&["--as", "collaborator", "say", "Because."]);
    home.ok(&["say", "For nothing."]);
    home.ok(&["--as", "collaborator", "say", "As I said."]);
    let path: Vec<String> = home
        .json(&["--as", "collaborator", "view", "-n", "3"])
        .iter()
        .map(|node| node["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(path, ["For what?", "Because.", "As I said."]);
    assert!(home.ok(&["tree"]).contains("For nothing.  ← you are here"));
    assert!(home.ok(&["restore"]).contains("nothing is pruned"));
}

#[test]
fn recall_filters_apply_to_every_mode() {
    let (home, ids) = sample();
    let found = |args: &[&str]| -> Vec<String> {
        let hits = home.json(&[&["recall"], args].concat());
        hits.iter().map(|hit| hit["local_id"].as_str().unwrap().to_owned()).collect()
    };
    let named = |names: &[&str]| names.iter().map(|name| id(&ids, name).to_owned()).collect::<Vec<_>>();
    let by = |who: &str| found(&["--by", who, "jars"]).into_iter().collect::<std::collections::BTreeSet<_>>();
    let (human, model) = (by("human"), by("model"));
    assert!(human.contains(id(&ids, "JARS")) && model.contains(id(&ids, "ILSE")) && human.is_disjoint(&model));
    assert_eq!((by("owner"), by("assistant")), (human, model));
    assert_eq!(found(&["--by", "tool", "jars"]), [""; 0]);
    let path = found(&["--path", id(&ids, "RAIN"), "gulls jars later"]);
    assert!(path.contains(&named(&["RAIN"])[0]) && !path.contains(&named(&["NONE"])[0]), "{path:?}");
    assert_eq!(found(&["--kind", "annotation", "jars"]), named(&["NOTE"]));
    assert_eq!(found(&["--from", "2d", "--to", "1h", "jars"]), [""; 0]);
    assert!(!found(&["--from", "1h", "jars"]).is_empty());
    let around = found(&["--around", id(&ids, "ILSE"), "-n", "1"]);
    assert_eq!(around, named(&["ROOT", "ILSE", "JARS"]));
    assert_eq!(found(&["--failed", "jars"]), [""; 0]);
    let turns = found(&["--turns", "1-100", "--by", "human"]);
    assert!(turns.contains(&named(&["JARS"])[0]) && !turns.contains(&named(&["ILSE"])[0]), "{turns:?}");
    assert_eq!(found(&["--turns", "100-1", "-n", "1", "--from", "1h"]).len(), 1);
    for (args, said) in [
        (
            ["--by", "tool", "jars"],
            "nothing found that fits (searched for jar); without the filters there may be matches\n",
        ),
        (["--in", "all", "walrus"], "nothing found (searched for walrus)\n"),
        (["--in", "tree", "walrus"], "nothing found (searched for walrus); `--in all` searches everywhere\n"),
        (["--by", "tool", "--turns=1-9"], "no turns 1 to 9 that fit: this session has 1 to 6\n"),
        (["--by", "human", "--tool=bash"], "no results of bash that fit; there are none\n"),
    ] {
        assert_eq!(home.ok(&[&["recall"], &args[..]].concat()), said);
    }
    for (args, code, said) in [
        (&["--by", "nobody", "x"][..], 1, "\"nobody\" is no author: there are the roles human, model, tool, system"),
        (&["--from", "soon", "x"], 2, "\"soon\" is not a time: use a day"),
        (&["--from", "today", "--to", "yesterday", "x"], 2, "--from is after --to"),
        (&["--path", "zzzz", "x"], 1, "no node \"zzzz\""),
        (&["--around", "a7x2", "--failed"], 2, "cannot be used with"),
        (&["--turns", "1-2", "--in", "all"], 2, "cannot be used with"),
        (&["--summary", "--by", "human"], 2, "cannot be used with"),
        (&["--turns", "two"], 2, "write turns as 5-10"),
    ] {
        let told = home.fails(code, &[&["recall"], args].concat());
        assert!(told.contains(said), "{args:?}: {told}");
    }
    // The excerpt of a long text contains the matching words.
    let long = format!("{} the capstan broke {}", "nothing at all ".repeat(90), "and so on ".repeat(90));
    home.say("owner", None, &long);
    assert!(home.ok(&["recall", "-n", "1", "capstan"]).contains("the capstan broke"));
}

#[test]
fn the_owner_can_undo_an_agents_change() {
    let (home, ids) = sample();
    let rain = id(&ids, "RAIN");
    home.ok(&["do", "--as", "collaborator", &format!("→ prune {rain}")]);
    assert!(home.ok(&["undo", "--agent", "collaborator"]).contains("reverted: "));
    assert!(home.ok(&["restore"]).contains("nothing is pruned"));
    assert!(home.fails(1, &["undo", "--agent", "collaborator"]).contains("nothing to undo"));
    assert!(home.ok(&["log", "--limit", "1"]).contains("owner"), "the owner did it");
    assert!(home.ok(&["redo"]).contains("repeated: "));
    assert!(home.ok(&["undo", "--agent", "collaborator"]).contains("reverted: "));
}

/// The only visible tree of a database is current without a session, and an undo would archive an imported one.
#[test]
fn an_undo_needs_a_tree_in_use() {
    let home = Home::new();
    for (file, text) in [("a.md", "First"), ("b.md", "Second")] {
        std::fs::write(home.file(file), format!("## User\n\n{text}\n\n## Assistant\n\nYes.\n")).unwrap();
        home.ok(&["import", file]);
    }
    home.ok(&["import", "--undo", "b.md"]);
    for command in ["undo", "redo"] {
        assert!(home.fails(1, &[command]).contains("no tree is in use in this folder"));
    }
    assert_eq!(home.json(&["trees"]).len(), 1);
    assert!(home.ok(&["undo", "--tree", "First"]).contains("imported the tree"));
    assert!(home.json(&["trees"]).is_empty());
}

#[test]
fn an_undo_in_a_tree_leaves_agents() {
    let home = Home::new();
    home.start("root");
    home.say("owner", None, "words");
    home.ok(&["agents", "add", "zed"]);
    assert!(home.ok(&["undo"]).contains("responded to"));
    assert!(home.ok(&["agents"]).contains("zed"));
    assert!(home.ok(&["redo"]).contains("responded to"));
}

#[test]
fn a_change_that_moves_the_position_prints_it() {
    let home = Home::new();
    let root = home.start("root");
    let one = home.say("owner", None, "one");
    let two = home.say("owner", None, "two");
    let now = |node: &str| format!("; you are at {node} now\n");
    assert!(!home.ok(&["bookmark", "."]).contains("you are at"));
    let merged = home.ok(&["merge", &one, &two, "-m", "both"]);
    assert!(merged.ends_with(&now(&merged[..6])), "{merged}");
    assert!(home.ok(&["undo"]).ends_with(&now(&two)));
    assert!(home.ok(&["prune", &one]).ends_with(&now(&root)));
    assert!(home.ok(&["restore", &one]).ends_with(&now(&two)));
}

#[test]
fn a_path_is_exported_as_prose() {
    let (home, ids) = sample();
    let prose = home.ok(&["export", "--path", id(&ids, "RAIN"), "--format", "prose"]);
    assert!(!prose.contains("###") && prose.contains("\n\n"), "{prose}");
}

#[test]
fn a_path_is_exported_without_what_is_excluded() {
    let home = Home::new();
    home.ok(&["new", "The first words."]);
    let hidden = home.say("owner", None, "For my eyes.");
    home.say("owner", None, "The last words.");
    home.ok(&["exclude", &hidden]);
    for format in ["markdown", "prose"] {
        let ran = home.run(&["export", "--path", "--format", format]);
        assert!(!ran.out.contains("eyes") && ran.out.contains("last words"), "{}", ran.out);
        assert_eq!(ran.err, "left out: 1 excluded\n");
        let whole = home.ok(&["export", "--path", "--format", format, "--include", "excluded"]);
        assert!(whole.contains("For my eyes."), "{whole}");
    }
    assert!(!home.fails(2, &["export", "--path", "--bookmarked"]).contains("--include"));
    home.fails(2, &["export", "--include", "excluded"]);
}

#[test]
fn recall_marks_what_is_context() {
    let (home, _) = sample();
    home.say("owner", None, "The capstan broke.");
    home.say("owner", None, "So we rowed.");
    let said = home.ok(&["recall", "capstan"]);
    let hits: Vec<&str> = said.lines().filter(|line| !line.starts_with("  ")).collect();
    assert!(hits.len() == 1 && hits[0].contains("The capstan broke."), "{said}");
    assert!(said.contains("  after ") && said.contains("So we rowed."), "{said}");
    assert!(home.ok(&["recall", "--count", "capstan"]).contains("1  total"));
    assert_eq!(home.json(&["recall", "capstan"])[0]["matched"], true);
}

#[cfg(unix)]
#[test]
fn changes_of_agents_are_reported_on_a_terminal() {
    use crate::support::pty::Terminal;
    let home = Home::new();
    home.start("first words");
    let id = home.say("owner", None, "second words");
    let run = |home: &Home| {
        let mut terminal = Terminal::start(home, &["tree"]);
        terminal.wait("first words", 1);
        assert_eq!(terminal.ends(), 0);
        terminal.text()
    };
    home.ok(&["do", "--as", "collaborator", "annotate here \"a note\""]);
    assert!(!run(&home).contains("collaborator"), "a note changes nothing that was there");
    home.ok(&["do", "--as", "collaborator", &format!("prune {id}")]);
    let shown = run(&home);
    assert!(shown.contains(&format!("collaborator pruned {id}; `loom log`")), "{shown}");
    assert!(shown.contains("loom undo --agent 'collaborator'"), "{shown}");
    assert!(!home.run(&["tree"]).err.contains("collaborator"), "scripts get no notice");
    home.ok(&["undo", "--agent", "collaborator"]);
    assert!(!run(&home).contains("pruned"), "the owner's own change is newer");
}

/// The position of a buffer reads the version that is shown, however it came there.
#[test]
fn moves_in_a_buffer_find_the_shown_versions() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "Zero."]);
    home.say("owner", None, " One.");
    home.ok(&["edit", ".", " UNO."]);
    let text = |expected: &str| {
        assert_eq!(home.ok(&["export", "--format", "prose"]).trim_end(), expected);
        assert_eq!(home.ok(&["tree"]).matches("you are here").count(), 1);
    };
    home.ok(&["switch", "root"]);
    home.ok(&["switch", "leaf"]);
    text("Zero. UNO.");
    home.say("owner", None, " Two.");
    home.ok(&["undo"]);
    text("Zero. UNO.");
    let table = home.ok(&["table"]);
    assert!(table.contains("UNO.") && !table.contains("One."), "{table}");
}

#[test]
fn the_second_half_of_a_split_root_stays_when_the_first_is_visited() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "One. Two."]);
    home.say("owner", None, " Three.");
    home.ok(&["split", "root", "--after", "One."]);
    home.ok(&["switch", "root"]);
    home.ok(&["switch", "leaf"]);
    assert_eq!(home.ok(&["export", "--format", "prose"]).trim_end(), "One. Two. Three.");
    let tree = home.ok(&["tree"]);
    assert!(tree.contains("One.") && tree.contains("Two.") && tree.contains("Three."), "{tree}");
}

#[test]
fn an_edited_half_is_drawn_from_every_position() {
    let home = Home::new();
    home.ok(&["new", "Root"]);
    home.ok(&["say", "A first. A second."]);
    home.ok(&["split", ".", "--after", "A first."]);
    let tree = home.ok(&["tree", "--json"]);
    let first = tree.lines().find(|line| line.contains("\"A first.\"")).unwrap();
    let first: serde_json::Value = serde_json::from_str(first).unwrap();
    home.ok(&["edit", first["local_id"].as_str().unwrap(), "A changed."]);
    for position in ["root", "leaf"] {
        home.ok(&["switch", position]);
        let tree = home.ok(&["tree"]);
        assert!(tree.contains("A changed.") && !tree.contains("A first."), "{position}: {tree}");
    }
}

#[test]
fn a_named_tree_is_for_one_command() {
    let home = Home::new();
    home.ok(&["new", "one", "--title", "One"]);
    home.ok(&["new", "two", "--title", "Two"]);
    for command in [["say", "in One"].as_slice(), &["do", "tree"], &["bookmark", ".", "x"], &["undo"]] {
        home.ok(&[&["-t", "One"], command].concat());
        assert!(home.ok(&["trees"]).contains("* Two"), "{command:?}");
    }
    home.ok(&["switch", "-t", "One"]);
    assert!(home.ok(&["trees"]).contains("* One"));
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let (home, ids) = sample();
    let jars = id(&ids, "JARS");
    for format in ["html", "dot", "mermaid", "preference"] {
        home.fails(2, &["export", "--format", format, "--path"]);
        home.fails(2, &["export", "--format", format, "--leaf", jars]);
    }
    assert!(home.ok(&["export", "--format", "openai-chat", "--leaf", "here"]).contains("\"messages\""));
    home.fails(2, &["view", jars, "--all"]);
    home.fails(2, &["view", jars, "--last", "2"]);
    home.ok(&["view", jars, "--path", "--last", "2"]);
    home.fails(2, &["docs", "revert", "plan", "0"]);
    home.fails(2, &["continue", "--max-tokens", "0"]);
    home.ok(&["prune", jars]);
    assert!(home.fails(1, &["context", jars]).contains("is pruned"));
    assert!(home.fails(1, &["switch", jars]).contains("is pruned"));
}
