//! Tests of the program's files: leftovers of a purge, devices and pipes instead of files, a full standard output.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;

use std::{
    fs,
    io::{Read as _, Write as _},
    process::{Command, Stdio},
};

use support::{Home, Ran};

const SECRET: &str = "zquxSECRETquxz";

#[test]
fn purge_lists_remaining_copies_and_files() {
    let home = Home::new();
    let root = home.start("root");
    let said = home.say("owner", None, SECRET);
    let copy = home.json(&["copy", &said, &root])[0]["nodes"][0]["local_id"].as_str().unwrap().to_owned();
    fs::create_dir_all(home.file("loom.db.drafts")).unwrap();
    let files = ["loom.db.schema-11-5.bak", "loom.db.schema-11-6.part", "loom.db.drafts/live.draft"];
    files.iter().for_each(|file| fs::write(home.file(file), SECRET).unwrap());
    // Another process writes the partial reply, so that it is not recovered.
    let draft = fs::File::open(home.file(files[2])).unwrap();
    draft.lock().unwrap();
    let ran = home.run(&["purge", "node", &said, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let names = |file: &&str| ran.err.contains(*file);
    assert!(ran.err.contains(&format!("left: [{copy}]")) && files.iter().all(names), "{ran:?}");
    let ran = home.run(&["purge", "--check", SECRET]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("schema-11-5.bak  1 place") && ran.err.contains("still contain it"), "{ran:?}");
    home.ok(&["purge", "node", &copy, "--yes"]);
    files.iter().for_each(|file| fs::remove_file(home.file(file)).unwrap());
    assert!(home.ok(&["purge", "--check", SECRET]).starts_with("not found in "));
}

#[cfg(feature = "serve")]
#[tokio::test]
async fn purge_over_http_returns_remaining_copies() {
    let home = Home::new();
    let root = home.start("root");
    let said = home.say("owner", None, SECRET);
    home.ok(&["copy", &said, &root]);
    let server = crate::support::loom_server::HttpServer::start(&home, &[]);
    let id = |node: &str| home.json(&["view", node])[0]["id"].as_str().unwrap().to_owned();
    let purged = server.ok(&format!("/api/v1/nodes/{}/purge", id(&said)), serde_json::json!({})).await;
    assert_eq!(purged["affected"], 1, "{purged}");
    let copy = purged["copies"][0].as_str().unwrap().to_owned();
    assert!(home.ok(&["view", &copy]).contains(SECRET));
    let purged = server.ok(&format!("/api/v1/nodes/{copy}/purge"), serde_json::json!({})).await;
    assert_eq!(purged["copies"], serde_json::json!([]), "{purged}");
}

#[test]
fn a_migration_reports_its_backup() {
    let home = Home::new();
    let old = fs::read_dir("fixtures/databases").unwrap().map(|f| f.unwrap().path());
    let old = old.filter(|path| path.extension().is_some_and(|e| e == "db")).min().expect("an older database");
    fs::copy(old, home.file("loom.db")).unwrap();
    let ran = home.run(&["trees"]);
    assert!(ran.code == 0 && ran.err.contains(".bak is a copy of the database before its migration"), "{ran:?}");
    assert_eq!(home.run(&["trees"]).err, "");
}

#[cfg(unix)]
#[test]
fn devices_pipes_and_deep_brackets_are_refused() {
    let home = Home::new();
    home.start("root");
    let pipe = home.file("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let deep = home.file("deep.yaml");
    fs::write(&deep, "[".repeat(200_000)).unwrap();
    for (config, why) in
        [("/dev/zero", "regular"), (pipe.to_str().unwrap(), "regular"), (deep.to_str().unwrap(), "deep")]
    {
        assert!(home.fails(2, &["trees", "--config", config]).contains(why), "{config}");
    }
    assert!(home.fails(1, &["import", "/dev/zero"]).contains("device"));
    for db in ["/dev/zero", pipe.to_str().unwrap()] {
        assert!(home.fails(3, &["trees", "--db", db]).contains("regular"), "{db}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_committed_change_succeeds_without_its_output() {
    let home = Home::new();
    home.start("root");
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let run = |args: &[&str]| Ran::from(home.command(args).stdout(full()).output().unwrap());
    let said = run(&["say", "once"]);
    assert!(said.code == 0 && said.err.contains("the change was saved"), "{said:?}");
    assert_eq!(run(&["view"]).code, 1, "what only reads has failed");
    assert_eq!(home.json(&["tree"]).len(), 2);
    for change in
        [&["undo"][..], &["redo"], &["switch", "root"], &["docs", "new", "notes", "one"], &["continue", "-n", "1"]]
    {
        let ran = run(&[change, &["--model", "scripted:words"][..usize::from(change[0] == "continue") * 2]].concat());
        assert!(ran.code == 0 && ran.err.contains("the change was saved"), "{change:?}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_write_beyond_the_file_size_limit_is_an_error() {
    let home = Home::new();
    assert_eq!(home.pipe(&["new", "-"], "word ".repeat(200_000)).code, 0);
    let loom = home.command(&["export", "-o", "out.jsonl"]);
    // A limit of 200 blocks of 512 or 1024 bytes.
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 200; exec \"$0\" \"$@\""]).arg(loom.get_program()).args(loom.get_args());
    let folder = loom.get_current_dir().unwrap();
    limited.current_dir(folder).env("HOME", folder).stdin(Stdio::null());
    let ran = Ran::of(&mut limited);
    assert!(ran.code == 1 && ran.err.contains("File too large"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_trees_readable() {
    let home = Home::new();
    home.start("Kept words.");
    let limited = |argument: &str| {
        let more = ["root", "a note"];
        let more = if argument == "annotate" { &more[..] } else { &[] };
        let loom = home.command(&[&[argument], more].concat());
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]).arg(loom.get_program()).args(loom.get_args());
        let folder = loom.get_current_dir().unwrap();
        Ran::of(limited.current_dir(folder).env("HOME", folder).stdin(Stdio::null()))
    };
    let read = limited("view");
    assert!(read.code == 0 && read.out.contains("Kept words.") && read.err.contains("only reading works"), "{read:?}");
    let written = limited("annotate");
    assert!(written.code != 0, "{written:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_export_leaves_no_file() {
    let home = Home::new();
    home.start("root");
    let words = "words ".repeat(20_000);
    (0..20).for_each(|_| drop(home.say("owner", None, &words)));
    let out = home.file("out.jsonl");
    for _ in 0..40 {
        let mut child =
            home.command(&["export", "--force", "-o", out.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(rand::random_range(10..60)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!home.file("out.jsonl.part").exists());
    }
    home.ok(&["export", "--force", "-o", out.to_str().unwrap()]);
    assert!(fs::metadata(&out).unwrap().len() > 1_000_000);
}

#[test]
fn a_paged_path_shows_each_node_once() {
    let home = Home::new();
    let mut lines = vec![
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/tmp"}"#.to_owned(),
    ];
    for number in 0..2_500_u32 {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        lines.push(format!(
            r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":[{{"type":"text","text":"word{number}."}}]}}}}"#
        ));
    }
    fs::write(home.file("pi.jsonl"), lines.join("\n")).unwrap();
    home.ok(&["import", home.file("pi.jsonl").to_str().unwrap()]);
    home.ok(&["trees", "--use", "word0"]);
    let depths: Vec<u64> = home.json(&["view", "--all"]).iter().map(|node| node["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths, (0..depths.len() as u64).collect::<Vec<_>>());
    assert!(depths.len() >= 2_500);
}

/// Root ignores permissions, so a test run by root starts the program as another user.
#[cfg(target_os = "linux")]
#[test]
fn a_database_in_a_read_only_folder_can_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.start("root words");
    // New databases are readable by their owner only.
    fs::set_permissions(home.file("loom.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let folder = home.file("loom.db").parent().unwrap().to_owned();
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    let probe = home.file("probe");
    mode(0o555);
    let command = |args: &[&str]| {
        let own = home.command(args);
        if fs::write(&probe, "").is_err() {
            return own;
        }
        let mut other = std::process::Command::new("setpriv");
        other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        other.arg(own.get_program()).args(own.get_args()).current_dir(&folder).env("HOME", &folder);
        other
    };
    let runs: Vec<Option<Ran>> = [vec!["tree"], vec!["verify"], vec!["say", "no"]]
        .map(|args| {
            command(&["--tree", "root"].into_iter().chain(args).collect::<Vec<_>>()).output().ok().map(Ran::from)
        })
        .into();
    mode(0o755);
    let [Some(tree), Some(verify), Some(say)] = runs.as_slice() else {
        eprintln!("skipped: `setpriv` is not here to become somebody else");
        return;
    };
    assert!(tree.code == 0 && tree.out.contains("root words"), "{tree:?}");
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(say.code == 3 && say.err.contains("cannot be written"), "{say:?}");
}

#[test]
fn an_import_with_a_repeated_node_ends_and_reports_the_line() {
    let home = Home::new();
    let sample = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/sample.jsonl")).unwrap();
    let mut lines: Vec<&str> = sample.lines().take(7).collect();
    lines.push(lines[6]);
    fs::write(home.file("repeated.jsonl"), lines.join("\n")).unwrap();
    let ran = home.run(&["import", home.file("repeated.jsonl").to_str().unwrap()]);
    assert!(format!("{}{}", ran.out, ran.err).contains("line 8"), "{ran:?}");
    home.ok(&["verify"]);
}

#[test]
fn a_damaged_file_stops_no_other() {
    let home = Home::new();
    let fixtures = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import"));
    let (folder, single) = (home.file("mixed"), home.file("one.json"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.db"), [b"SQLite format 3\0".as_slice(), &[1; 400]].concat()).unwrap();
    fs::copy(fixtures.join("pi/session.jsonl"), folder.join("b.jsonl")).unwrap();
    fs::write(&single, "{\"by\": \"another program\"}").unwrap();
    let ran = home.run(&["import", folder.to_str().unwrap()]);
    assert!(ran.code != 0 && ran.out.contains("b.jsonl") && ran.err.contains("a.db"), "{ran:?}");
    // The files after one that is missing are read too.
    let codex = fixtures.join("codex/old.jsonl");
    let ran = home.run(&["import", "/no/such.jsonl", single.to_str().unwrap(), codex.to_str().unwrap()]);
    assert!(ran.code != 0 && ran.out.contains("old.jsonl") && ran.err.contains("no/such"), "{ran:?}");
    assert!(ran.err.contains("one.json"), "{ran:?}");
}

#[test]
fn a_folder_of_foreign_conversations_is_imported() {
    let home = Home::new();
    let fixtures = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import"));
    let folder = home.file("projects");
    fs::create_dir_all(folder.join("clock")).unwrap();
    for name in ["session.jsonl", "resumed.jsonl"] {
        fs::copy(fixtures.join("claude-code").join(name), folder.join("clock").join(name)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    fs::write(folder.join("notes.json"), "{\"by\": \"another program\"}").unwrap();
    let path = folder.to_str().unwrap();
    let dry = home.ok(&["import", "--dry-run", path]);
    assert!(dry.contains("nothing was written"), "{dry}");
    assert!(home.ok(&["sessions", "--all"]).contains("no session"));
    let ran = home.run(&["import", "--from", "auto", path]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("unknown format") && ran.out.contains("2 files"), "{ran:?}");
    assert!(ran.out.contains("1 progress") && ran.out.contains("line 23"), "{ran:?}");
    let again = home.json(&["import", path]);
    assert!(again.iter().all(|file| file["nodes"] == 0), "{again:?}");
    let sessions = home.ok(&["sessions", "--all"]);
    assert!(sessions.contains("/work/clock") && sessions.contains("claude-sonnet-4-5"), "{sessions}");
    home.fails(2, &["import", "--from", "bird", path]);
}

/// A subagent ends before its session, so its file is the older one. An undo may spell the path of a file differently.
#[test]
fn a_subagent_of_a_folder_is_linked_from_its_session() {
    let home = Home::new();
    let folder = home.file("rollouts");
    fs::create_dir_all(&folder).unwrap();
    let said = r#"{"timestamp":"2026-06-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}}"#;
    let begin = |payload: &str| {
        format!("{{\"timestamp\":\"2026-06-01T10:00:00Z\",\"type\":\"session_meta\",\"payload\":{payload}}}\n{said}\n")
    };
    let side = r#"{"id":"side","source":{"subagent":{"thread_spawn":{"parent_thread_id":"main"}}}}"#;
    for (name, payload) in
        [("rollout-2026-06-01T10-00-05-b.jsonl", side), ("rollout-2026-06-01T10-00-00-a.jsonl", r#"{"id":"main"}"#)]
    {
        fs::write(folder.join(name), begin(payload)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    home.ok(&["import", "rollouts"]);
    assert!(home.ok(&["export", "--all"]).contains("side conversation"));

    fs::write(home.file("tree.json"), r#"{"root":{"text":"A tree.","children":[]}}"#).unwrap();
    home.ok(&["import", "tree.json"]);
    assert!(home.ok(&["import", "--undo", "./rollouts/../tree.json"]).contains("1 tree archived"));
}

#[test]
fn a_tree_is_exported_for_other_programs() {
    let home = Home::new();
    home.start("Name a river.");
    home.say("subject", None, "The Elbe.");
    let chat = home.ok(&["export", "--format", "openai-chat"]);
    assert!(chat.contains("\"role\":\"assistant\"") && chat.contains("The Elbe."), "{chat}");
    assert!(home.ok(&["export", "--format", "html", "--all-leaves"]).contains("<title>"));
    assert!(home.ok(&["export", "--format", "mermaid"]).starts_with("flowchart TD"));
    let vault = home.file("vault");
    home.ok(&["export", "--format", "obsidian", "-o", vault.to_str().unwrap()]);
    assert_eq!(fs::read_dir(&vault).unwrap().count(), 1);
    assert!(home.fails(1, &["export", "--format", "obsidian", "-o", vault.to_str().unwrap()]).contains("not empty"));
    home.fails(2, &["export", "--format", "obsidian"]);
    home.fails(2, &["export", "--format", "jsonl", "--bookmarked"]);
    home.ok(&["prune", "."]);
    let ran = home.run(&["export", "--format", "openai-chat", "--all-leaves"]);
    assert!(ran.err.contains("left out: 1 pruned branches") && !ran.out.contains("Elbe"), "{ran:?}");
}

/// A home with a session of Claude Code in its usual place.
fn home_with_history() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let folder = home.file(".claude").join("projects").join("-work-clock");
    fs::create_dir_all(&folder).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/claude-code/session.jsonl");
    fs::copy(fixture, folder.join("session.jsonl")).unwrap();
    fs::write(folder.join("settings.json"), "{}").unwrap();
    (home, folder)
}

#[test]
fn the_usual_places_are_offered() {
    assert!(Home::new().fails(1, &["import"]).contains("no conversations"));
    let (home, folder) = home_with_history();
    let ran = home.run(&["import"]);
    assert!(ran.code == 0 && ran.out.contains("claude-code") && ran.out.contains("2 conversations"), "{ran:?}");
    assert!(ran.err.contains("--yes"), "{ran:?}");
    assert!(home.ok(&["sessions", "--all"]).contains("no session"));
    assert!(home.ok(&["import", "--yes"]).contains("session.jsonl"));
    assert!(home.ok(&["import"]).contains("imported already"));
    let row = &home.json(&["import"])[0];
    assert_eq!(
        (row["files"].as_u64(), row["new"].as_u64(), row["folder"].as_str().is_some()),
        (Some(1), Some(0), true)
    );
    let elsewhere = home.file("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::rename(folder.parent().unwrap(), elsewhere.join("projects")).unwrap();
    let mut command = home.command(&["import"]);
    let ran = Ran::of(command.env("CLAUDE_CONFIG_DIR", &elsewhere));
    assert!(ran.out.contains("imported already"), "{ran:?}");
}

/// Watching is killed and started again; nothing comes twice, and a line that was half written comes once.
#[test]
fn watched_files_are_imported_as_they_grow() {
    let (home, folder) = home_with_history();
    let file = folder.join("session.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let cut = whole.find("Is it done?").unwrap();
    let path = file.to_str().unwrap();
    let wait = || {
        for _ in 0..200 {
            if home.json(&["import", "--dry-run", path])[0]["nodes"] == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("the file was not imported");
    };
    for content in [&whole[..cut], whole.as_str()] {
        let mut child =
            home.command(&["import", "--watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        fs::write(&file, content).unwrap();
        wait();
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let again = home.json(&["import", path]);
    assert_eq!(again[0]["nodes"], 0, "{again:?}");
    home.ok(&["verify"]);
}

#[cfg(feature = "cli")]
#[test]
fn the_archive_of_a_data_export_is_imported() {
    use std::io::Write as _;
    let home = Home::new();
    let path = home.file("export.zip");
    let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/chatgpt/conversations.json");
    for (name, bytes) in [("conversations.json", fs::read(fixture).unwrap()), ("user.json", b"{}".to_vec())] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
    let done = home.json(&["import", path.to_str().unwrap()]);
    assert_eq!((done[0]["format"].as_str(), done[0]["conversations"].as_u64()), (Some("chatgpt"), Some(2)), "{done:?}");
    assert_eq!(home.json(&["import", path.to_str().unwrap()])[0]["nodes"], 0);
    // The import is taken back with all its trees, and restored.
    let archived = home.ok(&["import", "--undo", path.to_str().unwrap()]);
    assert!(archived.contains("2 trees archived"), "{archived}");
    assert!(home.json(&["trees"]).is_empty());
    home.fails(1, &["import", "--undo", path.to_str().unwrap()]);
    // The command that the answer names.
    let command = archived.split('`').nth(1).unwrap().split(' ').skip(1).collect::<Vec<_>>();
    home.ok(&command);
    assert_eq!(home.json(&["trees"]).len(), 2);
    fs::create_dir(home.file("notes")).unwrap();
    fs::write(home.file("notes/chat.md"), "## User\n\nHello\n").unwrap();
    assert!(home.fails(1, &["import", "notes"]).contains("no file that can be imported"));
    fs::write(&path, b"PK\x03\x04 and no archive").unwrap();
    home.fails(1, &["import", path.to_str().unwrap()]);
}

/// A lossless file that was cut off is missed by the exit code, and makes no tree that nothing can be done with.
#[test]
fn a_cut_off_export_is_an_error_and_makes_no_empty_tree() {
    let home = Home::new();
    let root = home.start("The lamp was dark.");
    home.say("owner", Some(&root), "It blinked.");
    home.ok(&["export", "-o", "whole.jsonl"]);
    let whole = fs::read_to_string(home.file("whole.jsonl")).unwrap();
    let cut = |before: &str| whole[..whole.find(before).unwrap() + 9].to_owned();
    let changed = whole.replace("The lamp was dark.", "The lamp was lit.");
    for (text, nodes) in [(cut("The lamp"), 0), (changed, 0), (cut("It blinked"), 1)] {
        let other = Home::new();
        fs::write(other.file("cut.jsonl"), text).unwrap();
        let ran = other.run(&["import", "cut.jsonl"]);
        assert!(ran.code == 1 && ran.err.contains("could not be imported as a whole"), "{ran:?}");
        let trees = other.json(&["trees"]);
        let found: Vec<_> = trees.iter().map(|tree| tree["nodes"].as_u64().unwrap()).collect();
        assert_eq!(found, if nodes == 0 { vec![] } else { vec![nodes] }, "{ran:?}");
        fs::write(other.file("whole.jsonl"), &whole).unwrap();
        assert_eq!(other.run(&["import", "whole.jsonl"]).code, 0);
        assert_eq!(other.json(&["trees"])[0]["nodes"], 2);
    }
}

#[test]
fn archived_trees_are_named_where_no_other_is_left() {
    let home = Home::new();
    home.start("Once.");
    home.ok(&["archive"]);
    assert!(home.ok(&["trees"]).contains("`loom trees --archived`"));
    assert!(home.ok(&["search", "once"]).contains("Once."), "search is recall");
}

/// Only the owner may read a database and its copies. SQLite gives the log the mode of the database.
#[cfg(unix)]
#[test]
fn a_database_is_private() {
    let home = Home::new();
    home.ok(&["new", "Once."]);
    home.ok(&["backup", "copy.db"]);
    for name in ["loom.db", "copy.db"] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&home.file(name).metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{name}: {mode:o}");
    }
}

/// Other processes of the user cannot read the environment of the program, which has the keys. The kernel then gives the
/// files of the process to root.
#[cfg(all(target_os = "linux", feature = "workspace"))]
#[test]
fn the_environment_is_hidden_from_commands() {
    use std::os::unix::{fs::MetadataExt as _, process::CommandExt as _};
    let home = Home::new();
    home.ok(&["new", "Once."]);
    // For root, the group shows to whom the files belong.
    let is_root = home.file("loom.db").metadata().unwrap().uid() == 0;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let owner_of = |mut command: Command| {
        if is_root {
            command.gid(65_534);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut answer = [0];
        writeln!(child.stdin.as_mut().unwrap(), "{hello}").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
        let found = std::fs::metadata(format!("/proc/{}/environ", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        (found.uid(), found.gid())
    };
    assert_ne!(owner_of(Command::new("cat")), (0, 0), "the owner of another process shows nothing here");
    assert_eq!(owner_of(home.command(&["mcp"])), (0, 0));
}
