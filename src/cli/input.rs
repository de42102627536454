//! Text input of the user: an argument, standard input, an editor, or the answer to a question.

use std::{
    io::{self, IsTerminal as _, Read as _, Write as _},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use super::{
    env,
    error::{CliError, Result},
    paths,
};

/// Returns the text of a command: the argument; or standard input for `-` or when it is not a terminal; or the text
/// from the editor, which starts with `initial`.
pub(crate) fn read_text(given: Option<String>, initial: &str) -> Result<String> {
    let text = match given {
        Some(text) if text != "-" => text,
        None if io::stdin().is_terminal() => edit_text(initial)?,
        _ => stdin()?,
    };
    if text.trim().is_empty() {
        return Err(CliError::usage("the text is empty"));
    }
    Ok(text)
}

/// Reads standard input without its final line feed.
fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|e| CliError::io("reading standard input", e))?;
    let mut text = String::from_utf8(bytes).map_err(|_| CliError::usage("standard input is not UTF-8 text"))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// Opens the user's editor and returns the text.
fn edit_text(initial: &str) -> Result<String> {
    let editor = env::env("VISUAL")
        .or_else(|| env::env("EDITOR"))
        .ok_or_else(|| CliError::usage("no text given; pass it as an argument, pipe it in, or set EDITOR"))?;
    let folder = create_temp_dir()?;
    let file = folder.join(EDITED_NAME);
    let edited = edit_in(&editor, &file, initial);
    *EDITED.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    // A text that the editor wrote and that cannot be used stays in its file.
    let is_unwritten = || std::fs::read(&file).is_ok_and(|bytes| bytes.trim_ascii() == initial.trim().as_bytes());
    if edited.as_ref().map_or_else(|_| is_unwritten(), |text| text.trim().is_empty()) {
        end_edit(true);
    }
    edited
}

/// Folder of the text that the editor wrote.
static EDITED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Ends the use of the text that the editor wrote. It is private, so its file is removed once it is saved; else its path is
/// returned.
pub(crate) fn end_edit(is_saved: bool) -> Option<PathBuf> {
    let folder = EDITED.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    if is_saved {
        // What cannot be removed is readable by its owner alone.
        let _ = std::fs::remove_dir_all(&folder);
        return None;
    }
    Some(folder.join(EDITED_NAME))
}

/// Name of the file that the editor opens.
const EDITED_NAME: &str = "text.md";

fn create_temp_dir() -> Result<PathBuf> {
    let name = format!("loom-{}-{:08x}", std::process::id(), rand::random::<u32>());
    let folder = std::env::temp_dir().join(name);
    paths::create_private_dir(&folder)?;
    Ok(folder)
}

fn edit_in(editor: &str, file: &Path, initial: &str) -> Result<String> {
    std::fs::write(file, initial).map_err(|e| CliError::io("writing the text to edit", e))?;
    // EDITOR may contain options, such as `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program)
        .args(words)
        .arg(file)
        .status()
        .map_err(|e| CliError::io(format!("starting the editor {program}"), e))?;
    if !status.success() {
        return Err(CliError::failed(format!("the editor ended with {status}; nothing was changed")));
    }
    let mut text = std::fs::read_to_string(file).map_err(|e| CliError::io("reading the edited text", e))?;
    // Editors append a line feed to the last line.
    if text.ends_with('\n') && !initial.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// Prompts the user to type the first of `words`; any of `words` confirms.
///
/// # Errors
/// If the user types something else, or standard input is not a terminal.
pub(crate) fn confirm(question: &str, words: &[&str], yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(CliError::usage("not a terminal; pass --yes"));
    }
    let word = words.first().copied().unwrap_or("yes");
    let mut stderr = io::stderr().lock();
    let asked = write!(stderr, "{question}\nType {word} to continue: ").and_then(|()| stderr.flush());
    asked.map_err(|e| CliError::io("asking", e))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|e| CliError::io("reading the answer", e))?;
    let answer = answer.trim().to_lowercase();
    if words.iter().any(|word| word.to_lowercase() == answer) {
        Ok(())
    } else {
        Err(CliError::failed("not confirmed; nothing was changed"))
    }
}
