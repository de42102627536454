//! The help of the command line. One table assigns the commands to groups.

use std::fmt::Write as _;

use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
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
    let words: Vec<String> = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let mut matches = parsed.map_err(|error| suggest(error, &command, &words))?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Words that resemble none of our commands, and the commands to suggest for them.
const OTHER_NAMES: [(&[&str], &[&str]); 7] = [
    (&["delete", "del", "rm", "hide"], &["prune", "purge", "remove"]),
    (&["remove"], &["prune", "purge"]),
    (&["generate", "gen", "complete"], &["continue"]),
    (&["history", "journal"], &["log"]),
    (&["search", "find", "grep"], &["recall"]),
    (&["branch", "fork"], &["say", "continue"]),
    (&["show", "cat", "read"], &["view"]),
];

/// Replaces the suggestions of an error: the nearest command, or quotes for a text of several words. `words` are the
/// arguments of the program.
fn suggest(mut error: clap::Error, command: &clap::Command, words: &[String]) -> clap::Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) {
        let parent = command_of(command, words, Some(given));
        let is_left_out =
            GROUPS.iter().any(|(_, names)| names.contains(&given.as_str())) && parent.get_name() == "loom";
        let names = if is_left_out { Vec::new() } else { similar_commands(given, parent) };
        let feature = if given == "open" { "serve" } else { given };
        let tip = format!("`loom {given}` needs the cargo feature `{feature}`, which this program was built without");
        error.remove(ContextKind::SuggestedSubcommand);
        if is_left_out {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        } else if !names.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
        && !given.starts_with('-')
        && command_of(command, words, None).get_positionals().any(|argument| argument.get_id() == "text")
    {
        let tip = "a text of several words needs quotes".into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Returns the command that the words name, up to the word `end`.
fn command_of<'c>(command: &'c clap::Command, words: &[String], end: Option<&str>) -> &'c clap::Command {
    let words = words.iter().take_while(|word| end != Some(word.as_str()));
    words.fold(command, |command, word| command.find_subcommand(word).unwrap_or(command))
}

/// Returns the subcommands to suggest for an unknown name: those of the name with the smallest edit distance.
fn similar_commands(given: &str, command: &clap::Command) -> Vec<String> {
    let is_command = |name: &&str| command.get_subcommands().any(|sub| sub.get_name() == *name);
    let own = command.get_subcommands().map(|sub| (sub.get_name(), vec![sub.get_name()]));
    let others = OTHER_NAMES.iter().flat_map(|(names, ours)| {
        let ours: Vec<&str> = ours.iter().copied().filter(is_command).collect();
        names.iter().map(move |name| (*name, ours.clone()))
    });
    let near = own.chain(others).filter(|(_, ours)| !ours.is_empty());
    // The beginning of a name is as near as a typo.
    let distance =
        |name: &str| if given.len() > 2 && name.starts_with(given) { 1 } else { strsim::osa_distance(name, given) };
    let near = near.map(|(name, ours)| (distance(name), ours));
    let nearest = near.min_by_key(|(distance, _)| *distance);
    // A word with more than a third of its characters wrong is no typo.
    let nearest = nearest.filter(|(distance, _)| *distance <= given.chars().count().div_ceil(3));
    nearest.map(|(_, ours)| ours.into_iter().map(str::to_owned).collect()).unwrap_or_default()
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
        // A command whose feature is left out is no command of this program.
        for (name, found) in names.iter().filter_map(|name| Some((name, command.find_subcommand(name)?))) {
            let about = found.get_about().cloned().unwrap_or_default();
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
    fn a_mistyped_or_foreign_command_gets_the_nearest_suggestion() {
        let command = command();
        for (words, expected) in [
            (&["sya"][..], &["say"][..]),
            (&["viwe"], &["view"]),
            (&["brnach"], &["say", "continue"]),
            (&["generate"], &["continue"]),
            (&["histroy"], &["log"]),
            (&["delete"], &["prune", "purge"]),
            (&["docs", "delete"], &["remove"]),
            (&["docs", "lsit"], &["list"]),
            (&["cont"], &["continue"]),
            (&["qqqqqq"], &[]),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let given = &words[words.len() - 1];
            assert_eq!(similar_commands(given, command_of(&command, &words, Some(given))), expected, "{words:?}");
        }
    }

    #[test]
    fn a_command_that_was_left_out_is_named_as_such() {
        let mut command = clap::Command::new("loom").subcommand(clap::Command::new("say").about("Appends a node"));
        command.build();
        assert!(!template(&command).contains("serve"));
        let error = command.try_get_matches_from_mut(["loom", "serve"]).unwrap_err();
        let shown = suggest(error, &command, &["serve".to_owned()]).to_string();
        assert!(shown.contains("needs the cargo feature `serve`") && !shown.contains("similar"), "{shown}");
    }

    #[cfg(all(feature = "tui", feature = "serve", feature = "mcp"))]
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
