//! Tests of `loom sample`, `loom score` and `loom table`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use crate::support::{
    cli::{Home, Ran},
    fake_model_server::{Server, good},
};

const SAMPLE: [&str; 9] =
    ["sample", "Where could the story begin?", "-n", "3", "--depth", "3", "--model", "scripted:words", "--yes"];

/// Number of labelled replies of the current tree.
fn replies(home: &Home) -> usize {
    let Ran { out, .. } = home.run(&["export"]);
    out.lines().filter(|line| line.contains("\"sample\":{")).count()
}

#[test]
fn a_judge_and_a_table_have_the_text_unchanged() {
    let home = Home::new();
    home.ok(&["new", "--buffer", "ab"]);
    home.say("owner", None, "c ");
    assert!(home.ok(&["score", "--command", "wc -c", "--name", "bytes"]).contains("mean 4.000"));
    assert_eq!(home.json(&["table"])[0]["text"], "abc ");
}

#[test]
fn an_estimate_of_a_prompt_writes_nothing() {
    let home = Home::new();
    home.ok(&["new", "Before"]);
    let sample = ["sample", "A prompt", "--model", "scripted:words", "--depth", "1"];
    let trees = home.ok(&["trees"]);
    assert!(home.ok(&[&sample[..], &["--dry-run"]].concat()).starts_with("3 replies: 3 requests, up to about "));
    home.fails(2, &sample);
    assert_eq!(home.ok(&["trees"]), trees);
}

#[test]
fn a_killed_sample_is_continued_scored_and_exported() {
    let home = Home::new();
    let mut child = home.command(&SAMPLE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while replies(&home) < 5 {
        assert!(start.elapsed() < Duration::from_secs(60), "the sample grows");
        assert!(child.try_wait().unwrap().is_none(), "the sample runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = u64::try_from(replies(&home)).unwrap();
    assert!((5..39).contains(&before), "{before} replies");
    let dry = &home.json(&[&SAMPLE[..], &["--dry-run"]].concat())[0];
    assert_eq!((dry["present"].as_u64(), dry["missing"].as_u64()), (Some(before), Some(39 - before)));

    let events = home.json(&SAMPLE);
    let report = &events.last().unwrap()["report"];
    assert_eq!((report["present"].as_u64(), report["added"].as_u64()), (Some(before), Some(39 - before)));
    assert_eq!(replies(&home), 39);
    let again = home.json(&SAMPLE);
    assert_eq!((again.len(), again[0]["report"]["added"].as_u64()), (1, Some(0)), "nothing is added twice");
    assert_eq!(home.json(&["trees"]).len(), 1, "the prompt keeps its tree");

    let scored = home.ok(&["score", "--command", "wc -w", "--name", "words"]);
    assert!(scored.contains("27 new scores by words, mean "), "{scored}");
    let scored = home.json(&["score", "--command", "wc -w", "--name", "words"]);
    assert_eq!(scored[0]["report"]["present"], 27);
    let rows = home.json(&["table"]);
    assert_eq!(rows.len(), 27);
    for row in &rows {
        let (text, words) = (row["text"].as_str().unwrap(), row["score: words"].as_f64().unwrap());
        assert_eq!(text.split_whitespace().count().to_string(), words.to_string(), "{row}");
        assert!(text.starts_with("Where could the story begin?"), "{text}");
        assert_eq!((row["depth"].as_u64(), row["models"].as_str()), (Some(3), Some("scripted:words")));
        assert_eq!(row["sample"], report["sample"]);
        assert!(!row["continuation"].as_str().unwrap().contains("Where could"), "{row}");
    }
    let csv = home.ok(&["table"]);
    assert!(csv.starts_with("\"tree\",\"tree_id\",\"leaf\","), "{csv}");
    assert_eq!(csv.matches("\r\n").count(), 28);
    let refused = home.fails(2, &["table", "--output", home.file("rows.xlsx").to_str().unwrap()]);
    assert!(refused.contains("xlsx") && refused.contains("--format"), "{refused}");
    let file = home.file("rows.parquet");
    home.ok(&["table", "--output", file.to_str().unwrap()]);
    assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"));
    read_by_arrow(&file);
    home.ok(&["verify"]);
}

/// Reads a Parquet file by Apache Arrow, where a Python with it is.
fn read_by_arrow(file: &std::path::Path) {
    let Some(python) = std::env::var_os("LOOM_TEST_PYTHON") else { return };
    let script = "import sys, pyarrow.parquet as parquet\n\
        table = parquet.read_table(sys.argv[1])\n\
        assert table.num_rows == 27, table.num_rows\n\
        texts = table.column('text').to_pylist()\n\
        words = table.column('score: words').to_pylist()\n\
        assert all(len(text.split()) == words[i] for i, text in enumerate(texts))\n\
        assert set(table.column('interrupted').to_pylist()) == {False}\n\
        assert table.column('bookmark').null_count == 27\n\
        assert set(table.column('depth').to_pylist()) == {3}\n";
    let ran = Ran::of(std::process::Command::new(python).args(["-c", script]).arg(file));
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn limits_and_consent_bound_a_sample() {
    let home = Home::new();
    let prompt = ["sample", "Begin.", "-n", "2", "--depth", "2", "--model", "scripted:words", "--max-tokens", "20"];
    let error = home.fails(2, &prompt);
    assert!(error.contains("--yes"), "{error}");
    let limited = [&prompt[..], &["--yes", "--max-total-tokens", "60"]].concat();
    let error = home.fails(1, &limited);
    assert!(error.contains("stopped at the limit"), "{error}");
    let partial = replies(&home);
    assert!((1..6).contains(&partial), "{partial} replies");
    let error = home.fails(2, &[&prompt[..], &["--yes", "--max-cost", "1"]].concat());
    assert!(error.contains("needs a price of scripted:words"), "{error}");
    home.ok(&[&prompt[..], &["--yes"]].concat());
    assert_eq!(replies(&home), 6);
    // A wider and deeper request extends the sample.
    home.ok(&[&prompt[..2], &["-n", "3", "--depth", "1", "--model", "scripted:words", "--max-tokens", "20", "--yes"]]
        .concat());
    assert_eq!(replies(&home), 7);

    let folder = home.file(".config/loomtree");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.yaml"), "prices:\n  scripted:*: { input: 1000, output: 1000 }\n").unwrap();
    let named = [&prompt[..], &["--name", "priced"]].concat();
    let dry = &home.json(&[&named[..], &["--dry-run"]].concat())[0];
    assert!(dry["bound"]["cost"]["USD"].as_f64().unwrap() > 0.1, "{dry}");
    home.fails(1, &[&named[..], &["--yes", "--max-cost", "0.05"]].concat());
}

#[test]
fn settings_of_a_sample_are_in_its_table_and_two_runs_do_not_do_the_same() {
    let home = Home::new();
    let sample = |more: &[&'static str]| {
        let base = ["sample", "Begin.", "-n", "1", "--depth", "1", "--model", "scripted:words", "--yes"];
        home.ok(&[&base[..], more].concat());
        home.json(&["table"])
    };
    let rows = sample(&["--temperature", "0.2", "--seed", "7", "--max-tokens", "40", "--name", "dry"]);
    let row = |name: &str| rows[0][name].clone();
    assert_eq!((row("temperature"), row("seed"), row("max_tokens")), (0.2.into(), 7.into(), 40.into()));
    assert_eq!((row("sample_name"), row("tree_id").as_str().map(str::len)), ("dry".into(), Some(26)));
    let at = row("created_at");
    assert!(
        at.as_str().unwrap().ends_with('Z') && at.as_str().unwrap().len() == "2026-11-29T01:10:41.000Z".len(),
        "{at}"
    );
    // Another system prompt of the author makes another sample.
    let before = sample(&[]).len();
    home.ok(&["agents", "set", "subject", "--system", "You are a pirate.", "--temperature", "1.5"]);
    let rows = sample(&[]);
    assert_eq!(rows.len(), before + 1);
    assert!(rows.iter().any(|row| row["temperature"] == 1.5), "{rows:?}");

    let slow = ["sample", "Slow.", "-n", "3", "--depth", "3", "--model", "scripted:words", "--yes"];
    let mut first = home.command(&slow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while replies(&home) == 0 || !home.ok(&["trees"]).contains("Slow.") {
        assert!(start.elapsed() < Duration::from_secs(60) && first.try_wait().unwrap().is_none(), "the sample runs");
    }
    assert!(home.fails(1, &slow).contains("another process is at this run"));
    assert!(first.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_model_has_the_price_of_its_server_s_name_and_its_own_temperature() {
    let server = Server::start([good("One."), good("Two."), good("Three.")]).await;
    let home = Home::new();
    let configure = |temperature: &str| {
        let file = home.file(".config/loomtree/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let model = format!(
            "{{ base_url: \"{}\", model: gpt-4o-mini, parallel: 1, temperature: {temperature} }}",
            server.url()
        );
        let prices = "prices:\n  gpt-4o-mini*: { input: 1000, output: 1000 }\n";
        std::fs::write(file, format!("models:\n  fast: {model}\n{prices}")).unwrap();
    };
    let sample = |count: &str| {
        let sample = ["sample", "Begin.", "-n", count, "-m", "fast", "--max-cost", "5", "--yes"];
        home.json(&sample).pop().unwrap()["report"].take()
    };
    configure("0.3");
    let report = sample("1");
    assert!(report["spent"]["cost"]["USD"].as_f64().unwrap() > 0.2, "{report}");
    let leaf = home.json(&["table"])[0]["leaf"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["view", &leaf])[0]["provenance"]["temperature"], 0.3);
    let judge = ["score", "--judge", "fast", "--rubric", "Is it dry?", "--max-cost", "5", "--dry-run"];
    assert!(home.json(&judge)[0]["bound"]["cost"]["USD"].as_f64().unwrap() > 0.1);
    // With another configured temperature the reply is another one.
    configure("0.9");
    let reports = ["1", "2", "2"].map(&sample);
    let present = reports.iter().map(|report| (report["present"].as_u64(), report["added"].as_u64()));
    assert_eq!(present.collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 0)].map(|(old, new)| (Some(old), Some(new))));
    let rows = home.json(&["table"]);
    let mut temperatures: Vec<f64> = rows.iter().map(|row| row["temperature"].as_f64().unwrap()).collect();
    temperatures.sort_by(f64::total_cmp);
    assert_eq!(temperatures, [0.3, 0.9, 0.9]);
    let sent: Vec<_> = server.requests().iter().map(|request| request.body["temperature"].to_string()).collect();
    assert_eq!(sent, ["0.3", "0.9", "0.9"]);
}

#[test]
fn a_message_stands_between_two_replies() {
    let home = Home::new();
    home.ok(&[
        "sample",
        "Begin.",
        "-n",
        "2",
        "--depth",
        "2",
        "--follow-up",
        "Go on.",
        "--model",
        "scripted:words",
        "--yes",
    ]);
    let rows = home.json(&["table"]);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["text"].as_str().unwrap().contains("\n\nGo on.\n\n")), "{rows:?}");
}

#[test]
fn a_command_judges_only_by_a_number() {
    let home = Home::new();
    home.start("=1+1");
    home.say("subject", None, "Pruned text.");
    let error = home.fails(1, &["score", "--command", "echo seven"]);
    assert!(error.contains("printed no number: \"seven\""), "{error}");
    let error = home.fails(1, &["score", "--command", "echo 7; exit 3"]);
    assert!(error.contains("ended with exit status: 3"), "{error}");
    let error = home.fails(1, &["score", "--timeout", "1", "--command", "sleep 30"]);
    assert!(error.contains("took longer than 1s"), "{error}");
    home.fails(2, &["score"]);
    home.fails(2, &["score", "--judge", "scripted:words"]);
    // A note that claims a score has none.
    home.ok(&["annotate", ".", "score 10 by words"]);
    home.ok(&["score", "--command", "wc -c", "--name", "words"]);
    let rows = home.json(&["table"]);
    assert_eq!(rows[0]["score: words"], 18.0);
    // Scores of another command under the same name have a column of their own.
    home.ok(&["score", "--command", "echo -2.5", "--name", "words"]);
    let row = home.json(&["table"])[0].clone();
    let scores = row.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("score: words ("));
    let mut scores: Vec<f64> = scores.map(|(_, score)| score.as_f64().unwrap()).collect();
    scores.sort_by(f64::total_cmp);
    assert_eq!(scores, [-2.5, 18.0]);
    // The export says what was asked.
    assert!(home.ok(&["export"]).contains("\"rubric\":\"echo -2.5\""));
    let csv = home.ok(&["table"]);
    assert!(csv.contains("\"'=1+1\n\nPruned text.\""), "{csv}");
    let error = home.fails(1, &["score", "--judge", "scripted:words", "--rubric", "Is it dry?", "--yes"]);
    assert!(error.contains("holds no score from 0 to 10"), "{error}");
}
