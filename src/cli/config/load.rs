//! Path and reading of the configuration file; errors with its name and the line.

use std::path::{Path, PathBuf};

use super::fields::Config;
use crate::cli::{
    args::GlobalArgs,
    error::{CliError, Result},
    paths,
};

/// Returns the path of the configuration file, whether or not the file exists.
pub(crate) fn path(globals: &GlobalArgs) -> Result<PathBuf> {
    globals.config.clone().map_or_else(paths::default_config, Ok)
}

/// Reads the configuration. A missing file is an empty configuration, unless `--config` names it.
pub(crate) fn load(globals: &GlobalArgs) -> Result<Config> {
    let path = path(globals)?;
    let text = match paths::read_settings(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && globals.config.is_none() => {
            return Ok(Config::default());
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(CliError::Config(format!(
                "there is no file {}, which --config or LOOM_CONFIG names: correct the name, leave it out, or create the file \
                 with `loom config init`",
                path.display()
            )));
        }
        Err(e) => return Err(CliError::Config(format!("{} cannot be read: {e}", path.display()))),
    };
    parse(&path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Config> {
    Config::parse(text).map_err(|mistake| {
        let line = mistake.line.map(|line| format!(":{line}")).unwrap_or_default();
        CliError::Config(format!("{}{line}: {}", path.display(), mistake.message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::{CONFIG_TEMPLATE, fields::Theme};

    fn read(text: &str) -> Result<Config> {
        parse(Path::new("config.yaml"), text)
    }

    #[test]
    fn the_starter_is_valid_with_and_without_its_comment_signs() {
        assert!(read(CONFIG_TEMPLATE).is_ok());
        let prose = |line: &str| line.starts_with("# ") && (line.ends_with('.') || line.ends_with("want."));
        let on: String = CONFIG_TEMPLATE
            .lines()
            .filter(|l| !prose(l))
            .map(|l| l.strip_prefix("# ").unwrap_or(l).to_owned() + "\n")
            .collect();
        let config = read(&on).unwrap();
        assert_eq!((config.models.len(), config.continuations()), (2, 3));
    }

    #[test]
    fn a_mistake_is_one_sentence_with_file_and_line() {
        for (text, said) in [
            ("model: a\ncolour: red\n", "config.yaml:2: "),
            ("models:\n  a:\n    colour: red\n", "config.yaml:3: "),
            ("continuations: many\n", "config.yaml:1: "),
            ("continuations: 0\n", "config.yaml: continuations must be at least 1"),
            (
                "model: a\ntheme: pink\n",
                "config.yaml:2: theme: unknown variant `pink`, expected one of `dark`, `light`",
            ),
            ("temperature: 11\n", "config.yaml: temperature must be between 0 and 10"),
            (
                "models: {a: {temperature: 99}}\n",
                "config.yaml: the temperature of the model a must be between 0 and 10",
            ),
            ("- a\n", "config.yaml:1: "),
            ("a: [\n", "config.yaml:"),
        ] {
            let Err(CliError::Config(message)) = read(text) else { panic!("{text:?} was read") };
            assert!(message.starts_with(said), "{message:?}");
            assert_eq!(message.lines().count(), 1);
        }
        assert_eq!(read("theme: none\n").unwrap().theme, Some(Theme::None));
        assert!(read("").is_ok() && read("# nothing\n").is_ok() && read("models:\n").is_ok());
    }
}
