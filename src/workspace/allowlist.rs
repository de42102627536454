//! Patterns of commands and files that need no approval, from the configuration.
//!
//! A command pattern must match the whole command. `*` matches words but no shell syntax that starts another command.
//! It also matches no comment, no part of a word, and no option except some harmless ones ([`HARMLESS_OPTIONS`]).
//! `cargo test*` matches `cargo test --lib name`, but not `cargo test --config …` or `cargo testament`. Commands joined by `&&`
//! or `;` are allowed if each of them is. An allowed command may end in `2>&1`, and may be piped into `head`, `tail` or `wc`
//! without a file ([`is_filter`]). A file pattern is a glob in which `**` crosses folders.
//!
//! Not covered: effects of the allowed program with plain arguments, such as `make deploy`, a `sed` script, or the
//! tests that `cargo test` runs.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::ops::OpsError;

/// Patterns of actions that need no approval.
#[derive(Debug, Clone, Default)]
pub struct Allowlist {
    commands: Vec<String>,
    files: GlobSet,
}

impl Allowlist {
    /// Returns an empty allowlist: every change needs approval.
    #[must_use]
    pub fn deny_all() -> Self {
        Self::default()
    }

    /// Creates an allowlist from command patterns and file globs.
    ///
    /// # Errors
    /// If a glob is invalid; names the glob and the reason.
    pub fn new(commands: &[String], files: &[String]) -> Result<Self, OpsError> {
        let invalid = |error: globset::Error| OpsError::Invalid(error.to_string());
        let mut globs = GlobSetBuilder::new();
        for pattern in files {
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            globs.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(invalid)?);
        }
        let files = globs.build().map_err(invalid)?;
        Ok(Self { commands: commands.iter().map(|pattern| pattern.trim().to_owned()).collect(), files })
    }

    /// Returns true if a command needs no approval.
    #[must_use]
    pub fn allows_command(&self, command: &str) -> bool {
        // A separator inside quotes leaves parts whose quotes are not balanced, which no star matches.
        self.matches(command.trim())
            || command.split(';').flat_map(|part| part.split("&&")).all(|part| self.allows_part(part))
    }

    /// Returns true if a pattern matches the command.
    fn matches(&self, command: &str) -> bool {
        self.commands.iter().any(|pattern| matches_pattern(pattern, command))
    }

    /// Returns true if a command that joins no others is allowed, with what may follow it.
    fn allows_part(&self, part: &str) -> bool {
        let mut stages = part.split('|').map(str::trim);
        let first = stages.next().unwrap_or_default();
        let command = first.strip_suffix("2>&1").filter(|rest| rest.ends_with(' ')).map_or(first, str::trim_end);
        self.matches(command) && stages.all(is_filter)
    }

    /// Names to an agent the commands that need no approval; `None` if all do.
    pub(super) fn command_summary(&self) -> Option<String> {
        let patterns: Vec<String> = self.commands.iter().map(|pattern| format!("`{pattern}`")).collect();
        (!patterns.is_empty()).then(|| format!("allowed without a question: {}", patterns.join(", ")))
    }

    /// Describes to an agent what an allowed command may contain.
    pub(super) fn command_rule() -> String {
        let options = HARMLESS_OPTIONS.join(" ");
        format!(
            "They may be joined by && or ;, end in 2>&1, and be piped into head, tail -N or wc -l, but have no other \
             redirection or pipe; * matches words and no option but {options}."
        )
    }

    /// Returns true if a file, given by its path from the folder, can change without approval. Files in `.git` always
    /// need approval, because they configure programs that git runs.
    #[must_use]
    pub fn allows_file(&self, path: &Path) -> bool {
        let hidden = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        !hidden && self.files.is_match(path)
    }
}

/// Options that `*` can match, besides numbers such as `-20`. They select output or tests only.
const HARMLESS_OPTIONS: [&str; 22] = [
    "-q",
    "--quiet",
    "--verbose",
    "--offline",
    "--locked",
    "--release",
    "--lib",
    "--bins",
    "--tests",
    "--test",
    "--examples",
    "--doc",
    "--all-targets",
    "--no-deps",
    "--workspace",
    "--no-fail-fast",
    "--stat",
    "--short",
    "--cached",
    "--name-only",
    "--oneline",
    "--version",
];

/// True if a stage of a pipeline only selects or counts lines of its input: `head`, `tail` or `wc` with numbers and short options
/// that name no file.
fn is_filter(stage: &str) -> bool {
    // A line feed begins another command.
    let mut words = stage.split([' ', '\t']).filter(|word| !word.is_empty());
    let plain = |word: &str| word.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit());
    match words.next() {
        Some("head" | "tail") => words.all(|word| plain(word) || word.strip_prefix("-n").is_some_and(plain)),
        Some("wc") => words.all(|word| word == "-l"),
        _ => false,
    }
}

/// True if a star may match `text` between the literal parts `before` and `after`.
fn star_may_match(before: &str, text: &str, after: &str) -> bool {
    const SHELL: [char; 16] = [';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\\', '\n', '\r', '\0', '#'];
    if text.is_empty() {
        return true;
    }
    if text.contains(SHELL) || !is_balanced(text) {
        return false;
    }
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    if word(before.chars().next_back()) && !blank(text.chars().next())
        || word(after.chars().next()) && !blank(text.chars().next_back())
    {
        return false;
    }
    // A shell removes quotes, so they must not hide an option. The star must not extend an option in the pattern.
    let bare = text.replace(['\'', '"'], "");
    let begun = before.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches(['\'', '"']);
    let continued = !begun.is_empty() && !bare.starts_with(char::is_whitespace);
    if continued && begun.starts_with('-') && begun.ends_with('-') {
        return false;
    }
    bare.split_whitespace().skip(usize::from(continued)).all(is_harmless)
}

/// True if a word is no option, no setting (`NAME=value`), no option file (`@file`), and does not expand to one.
fn is_harmless(word: &str) -> bool {
    let number = word.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    number
        || HARMLESS_OPTIONS.contains(&word)
        || !word.starts_with(['-', '+', '@', '*', '?', '[']) && !word.contains('=')
}

/// True if every quote in `text` is closed in it.
fn is_balanced(text: &str) -> bool {
    let open = text.chars().fold(None, |open, c| match (open, c) {
        (None, '\'' | '"') => Some(c),
        (Some(quote), c) if quote == c => None,
        (open, _) => open,
    });
    open.is_none()
}

/// True if the pattern matches the whole command.
fn matches_pattern(pattern: &str, command: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = command.strip_prefix(first) else { return false };
    let mut before = first;
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        // The last part must end the command; every other part matches at its first occurrence.
        let at = if parts.peek().is_none() {
            rest.len().checked_sub(part.len()).filter(|_| rest.ends_with(part))
        } else {
            rest.find(part)
        };
        let Some(at) = at.filter(|at| star_may_match(before, &rest[..*at], part)) else { return false };
        before = part;
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(commands: &[&str], files: &[&str]) -> Allowlist {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Allowlist::new(&owned(commands), &owned(files)).unwrap()
    }

    #[test]
    fn a_star_matches_words_and_no_other_command() {
        let allowed = allowed(&["cargo test*", "git status", "ls * src", "make *"], &[]);
        for command in [
            "cargo test",
            " cargo test --lib 'a b' ",
            "cargo test --test b",
            "git status",
            "ls a src",
            "make all",
            "cargo test 2>&1",
            "cargo test --lib 2>&1 | tail -20",
            "git status; cargo test && make all | head -n 5 | wc -l",
        ] {
            assert!(allowed.allows_command(command), "{command}");
        }
        for command in [
            "cargo build",
            "git status --short",
            "cargo test &&",
            "cargo test & git status",
            "cargo test 'a; git status'",
            "cargo test \"&& git status\"",
            "cargo test | tail -5 | sh",
            "cargo test | tail -5\n5",
            "cargo test | head Cargo.toml",
            "cargo test | tail -f",
            "cargo test | tail --pid=1",
            "cargo test |& tail",
            "cargo test 2>&1 x",
            "cargo test2>&1",
            "cargo test 2>&1 > x",
            "cargo test || rm x",
            "| tail -5",
            "2>&1",
            "sudo cargo test",
            "X=1 cargo test",
            "ls src",
            "cargo test; rm -rf .",
            "cargo test && rm x",
            "cargo test | sh",
            "cargo test > ~/.profile",
            "cargo test $(rm x)",
            "cargo test `rm x`",
            "cargo test\nrm x",
            "cargo test <(rm x)",
            "ls -l; rm src",
            "",
        ] {
            assert!(!allowed.allows_command(command), "{command}");
        }
        assert!(!Allowlist::deny_all().allows_command("ls"));
    }

    #[test]
    fn a_star_matches_no_risky_option_no_comment_and_no_part_of_a_word() {
        let allowed = allowed(
            &[
                "git log*",
                "cargo test*",
                "find *",
                "cat * | head -5",
                "make *",
                "git diff --stat *",
                "cp src/* out",
                "x --*",
            ],
            &[],
        );
        for command in [
            "git log -1 --oneline",
            "cargo test --offline --quiet",
            "find src",
            "cat big | head -5",
            "git diff --stat HEAD",
            "cp src/a.rs out",
        ] {
            assert!(allowed.allows_command(command), "{command}");
        }
        for command in [
            "git log -1 --output=.git/hooks/post-checkout --format='#!/bin/sh'",
            "git log --output .git/hooks/x",
            "git log '--output=x'",
            "git log -''-output=x",
            "git log -o x",
            "git log *",
            "cargo test --config 'build.rustc-wrapper=\"./wrap.sh\"'",
            "cargo test -- --logfile x",
            "cargo test @options",
            "cargo testament",
            "find . -delete",
            "find . -exec rm x",
            "cat big # | head -5",
            "cat 'big | head -5",
            "make CC=./wrap all",
            "x --output",
        ] {
            assert!(!allowed.allows_command(command), "{command}");
        }
    }

    #[test]
    fn files_are_allowed_by_globs_and_git_never() {
        let allowed = allowed(&[], &["src/**", "./docs/*.md"]);
        for path in ["src/a.rs", "src/deep/er/b.rs", "docs/a.md"] {
            assert!(allowed.allows_file(Path::new(path)), "{path}");
        }
        for path in ["Cargo.toml", "docs/deep/a.md", "docs/a.txt", "srcs/a"] {
            assert!(!allowed.allows_file(Path::new(path)), "{path}");
        }
        let all = self::allowed(&[], &["**"]);
        assert!(
            all.allows_file(Path::new("a"))
                && !all.allows_file(Path::new(".git/config"))
                && !all.allows_file(Path::new("x/.Git/hooks/y"))
        );
        assert!(Allowlist::new(&[], &["a[".to_owned()]).is_err());
    }
}
