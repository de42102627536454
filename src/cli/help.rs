//! The help of the command line. One table assigns the commands to groups.

use std::fmt::Write as _;

use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue},
};

use super::args::Cli;

/// The groups of the help, each with its commands in the order shown.
const GROUPS: [(&str, &[&str]); 9] = [
    ("First steps", &["demo", "new", "continue", "tree", "chat", "open"]),
    ("Read and search", &["trees", "view", "switch", "recall", "context", "log", "stats"]),
    ("Write", &["say", "edit", "merge", "split", "copy", "move", "undo", "redo"]),
    ("Mark and hide", &["annotate", "link", "unlink", "bookmark", "prune", "restore", "exclude", "include"]),
    ("Trees and documents", &["rename", "archive", "docs", "import", "export"]),
    ("Agents", &["agents", "sessions", "resume", "delegate", "do", "parse", "serve", "mcp"]),
    ("Experiments", &["sample", "score", "table"]),
    ("Database", &["verify", "rebuild", "backup", "transfer", "purge"]),
    ("Setup", &["doctor", "models", "config", "completions", "man", "help"]),
];

/// Parses the command line.
///
/// # Errors
/// If the command line is invalid, or requests the help or the version: clap prints both as errors.
pub(super) fn read() -> Result<Cli, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(nearest)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Names of other programs' commands that resemble none of ours, and what to suggest for them.
const OTHER_NAMES: &[(&[&str], &[&str])] = &[(&["delete", "del", "remove", "rm", "hide"], &["prune", "purge"])];

/// Keeps only the most similar of the commands that an error suggests.
fn nearest(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand)
        && let Some((_, ours)) = OTHER_NAMES.iter().find(|(names, _)| names.contains(&given.as_str()))
    {
        let ours = ours.iter().map(|name| (*name).to_owned()).collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(ours));
        return error;
    }
    // clap sorts suggestions by similarity, the best last.
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand)
        && let Some(name) = names.last().cloned()
    {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
    }
    error
}

/// Returns the clap command with the grouped help template.
fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = format!("{{before-help}}{{about-with-newline}}\n{header}Usage:{header:#} {{usage}}\n");
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about).cloned().unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {about}");
        }
    }
    let _ = write!(text, "\n{header}Options of every command:{header:#}\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_exactly_one_group() {
        let command = command();
        let mut commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(commands, grouped);
    }
}
