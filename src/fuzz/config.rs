//! The configuration and the key map: YAML files of the user.

use crate::{
    cli::config::{Config, is_too_deep},
    tui::KeyMap,
};

/// Fields and signs of YAML.
pub(super) const WORDS: &[&str] = &[
    "\n",
    "  ",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "#",
    "\"",
    "'",
    "|\n",
    ">\n",
    "&a ",
    "*a",
    "!!binary ",
    "<<: ",
    "~",
    "null",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "? ",
    "\t",
    "models:\n",
    "prices:\n",
    "search:",
    "workspace:",
    "delegate:",
    "allow:",
    "timeouts:",
    "first_byte:",
    "key_env:",
    "key_file:",
    "base_url:",
    "provider:",
    "temperature:",
    "continuations:",
    "window:",
    ".nan",
    ".inf",
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "generate:",
    "ctrl-",
    "alt-",
    "f1",
    "\u{feff}",
    "\u{202e}",
    "\0",
];

/// A file is parsed, or refused with a line that the file has.
pub(super) fn parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if is_too_deep(&text) {
        return;
    }
    if let Err(mistake) = Config::parse(&text) {
        assert!(!mistake.message.is_empty());
        // YAML has more line breaks than text files.
        let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count();
        assert!(mistake.line.is_none_or(|line| (1..=lines).contains(&line)), "{mistake:?}");
    }
    if let Err(message) = KeyMap::read(&text) {
        assert!(!message.is_empty());
    }
}
