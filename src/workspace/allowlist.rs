//! What may be done without asking: patterns of commands and of files, as the configuration has them.
//!
//! A pattern of a command is compared with the whole of it; `*` stands for any words, but for nothing that a shell would
//! make another command of: `cargo test*` fits `cargo test --lib`, and not `cargo test; curl … | sh`. A pattern of a file is
//! a glob, in which `**` goes through folders.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What may be done without asking.
#[derive(Debug, Clone, Default)]
pub struct Allowlist {
    commands: Vec<String>,
    files: GlobSet,
}

impl Allowlist {
    /// Nothing: everything that changes something is asked about.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Commands that fit one of `commands`, and changes of files that fit one of `files`.
    ///
    /// # Errors
    /// If a glob is none: which one, and why.
    pub fn new(commands: &[String], files: &[String]) -> Result<Self, String> {
        let mut globs = GlobSetBuilder::new();
        for pattern in files {
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            globs.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| error.to_string())?);
        }
        let files = globs.build().map_err(|error| error.to_string())?;
        Ok(Self { commands: commands.iter().map(|pattern| pattern.trim().to_owned()).collect(), files })
    }

    /// Whether a command is run unasked.
    #[must_use]
    pub fn command(&self, command: &str) -> bool {
        let command = command.trim();
        self.commands.iter().any(|pattern| fits(pattern, command))
    }

    /// Whether a file, named by its path from the folder, is changed unasked. What `.git` holds never is: it says which
    /// programs git runs.
    #[must_use]
    pub fn file(&self, path: &Path) -> bool {
        let hidden = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        !hidden && self.files.is_match(path)
    }
}

/// Whether a star may stand for it: nothing that ends a command, begins another one, or names a file to write to.
fn is_plain(text: &str) -> bool {
    !text.contains([';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\\', '\n', '\r', '\0'])
}

/// Whether the pattern fits all of the command.
fn fits(pattern: &str, command: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = command.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        // The last part has to stand at the end; each other one is taken where it first comes.
        let at = if parts.peek().is_none() {
            rest.len().checked_sub(part.len()).filter(|_| rest.ends_with(part))
        } else {
            rest.find(part)
        };
        let Some(at) = at.filter(|at| is_plain(&rest[..*at])) else { return false };
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
    fn a_star_is_any_words_and_no_other_command() {
        let allowed = allowed(&["cargo test*", "git status", "ls * src", "make *"], &[]);
        for command in ["cargo test", " cargo test --lib 'a b' ", "git status", "ls -l src", "make -j2 all"] {
            assert!(allowed.command(command), "{command}");
        }
        for command in [
            "cargo build",
            "git status --short",
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
            assert!(!allowed.command(command), "{command}");
        }
        assert!(!Allowlist::nothing().command("ls"));
    }

    #[test]
    fn files_are_allowed_by_globs_and_git_never() {
        let allowed = allowed(&[], &["src/**", "./docs/*.md"]);
        for path in ["src/a.rs", "src/deep/er/b.rs", "docs/a.md"] {
            assert!(allowed.file(Path::new(path)), "{path}");
        }
        for path in ["Cargo.toml", "docs/deep/a.md", "docs/a.txt", "srcs/a"] {
            assert!(!allowed.file(Path::new(path)), "{path}");
        }
        let all = self::allowed(&[], &["**"]);
        assert!(
            all.file(Path::new("a")) && !all.file(Path::new(".git/config")) && !all.file(Path::new("x/.Git/hooks/y"))
        );
        assert!(Allowlist::new(&[], &["a[".to_owned()]).is_err());
    }
}
