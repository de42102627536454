//! Commands of the `:` line, including the names of all keys.

use super::{command_jobs, generation, tree_keys, write};
use crate::{
    arrow::Command,
    tui::{
        keys::KEYS,
        message::{ScreenEffect, ScreenLookup, SessionRequest, WriteRequest},
        model::{ListKind, ListPanel, ScreenMode, ScreenModel},
    },
};

/// Commands in addition to the names of keys.
const COMMANDS: &[(&str, &str)] = &[
    ("chat TEXT", "send a message that the collaborator answers"),
    ("new TEXT", "create a tree that begins with this text"),
    ("buffer TEXT", "create a buffer tree, in which edits are versions"),
    ("title TEXT", "set the title of this tree"),
    ("session new|name|end|reset", "begin, name, end or reset the conversation with the agent"),
    ("model NAME", "add a model to the selection, or remove it"),
    ("import FILE", "import conversations from a file and open the first tree"),
    ("export FORMAT FILE", "write this conversation to a new file: markdown, prose, openai-chat, html and others"),
    ("go ID", "go to a node by its id"),
    ("log", "list the changes of this tree; enter offers to undo an agent's last change"),
    ("tools", "turn the tools for this folder on or off; changes need your approval"),
    ("bookmark LABEL", "bookmark with a label"),
    ("theme dark|light|none", "change the colors"),
];

pub(super) fn run(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    let text = text.trim().trim_start_matches(':').trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let needs = |model: &mut ScreenModel| {
        model.notify_error(format!(":{word} needs an argument: :{}", usage(word)));
        Vec::new()
    };
    match word {
        "chat" if rest.is_empty() => generation::begin(model, true),
        "chat" => {
            let after = model.cursor;
            model.answer_after_append = true;
            write(WriteRequest::Append(after, rest.to_owned()))
        }
        "new" | "buffer" | "title" | "model" | "go" | "theme" | "import" if rest.is_empty() => needs(model),
        "new" | "buffer" => write(WriteRequest::NewTree(rest.to_owned(), word == "buffer")),
        "import" => write(WriteRequest::Import(rest.into())),
        "export" => match rest.split_once(char::is_whitespace) {
            Some((format, file)) => write(WriteRequest::Export(model.cursor, format.to_owned(), file.trim().into())),
            None => needs(model),
        },
        "title" => write(WriteRequest::Title(rest.to_owned())),
        "session" => session(model, rest).unwrap_or_else(|| needs(model)),
        "model" => {
            generation::toggle_model(model, rest);
            Vec::new()
        }
        "log" => tree_keys::open_list(
            model,
            "changes: enter offers to undo the last one of an agent",
            ListKind::Plain,
            ScreenLookup::Log,
            "no changes",
        ),
        "go" => vec![ScreenEffect::Query(ScreenLookup::Find(rest.to_owned()))],
        "bookmark" => {
            let label = Some(rest.to_owned());
            write(WriteRequest::change(model.cursor, |node| Command::Bookmark { node, label }))
        }
        "theme" => match crate::tui::Palette::named(rest) {
            Some(palette) => {
                model.palette = palette;
                model.load_screen()
            }
            None => needs(model),
        },
        "tools" => {
            model.tools = !model.tools;
            model.notify(if model.tools {
                "the collaborator may work in this folder; it asks before it changes something"
            } else {
                "tools for the folder are off"
            });
            Vec::new()
        }
        "q" | "wq" | "x" => tree_keys::quit(model),
        "h" => tree_keys::act(model, crate::tui::keys::KeyAction::Help),
        _ => match KEYS.iter().find(|binding| binding.name == word) {
            Some(binding) => tree_keys::act(model, binding.action),
            None if crate::arrow::is_command(text) => command_jobs::start(model, text.to_owned()),
            None => {
                let mut list = ListPanel::new(format!("there is no :{word}"), ListKind::Plain, "");
                list.items = all(model);
                model.mode = ScreenMode::List(list);
                Vec::new()
            }
        },
    }
}

/// Reads the argument of `:session`; `None` if it is not complete.
fn session(model: &ScreenModel, rest: &str) -> Option<Vec<ScreenEffect>> {
    let (word, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = name.trim();
    let request = match word {
        "new" => SessionRequest::Begin((!name.is_empty()).then(|| name.to_owned())),
        "name" if !name.is_empty() => SessionRequest::Name(name.to_owned()),
        "end" => SessionRequest::End,
        "reset" => SessionRequest::Reset,
        _ => return None,
    };
    let session = model.responder.as_ref().map(|responder| responder.session);
    Some(write(WriteRequest::Session(session, request)))
}

fn usage(word: &str) -> &'static str {
    COMMANDS.iter().map(|(usage, _)| *usage).find(|usage| usage.starts_with(word)).unwrap_or("")
}

fn all(model: &ScreenModel) -> Vec<crate::tui::message::ListItem> {
    use crate::tui::{
        message::{ItemAction, ListItem},
        theme::ColorRole,
    };
    use ratatui::text::{Line, Span};
    let names = KEYS.iter().map(|binding| (binding.name, binding.help));
    let all: Vec<_> = COMMANDS.iter().copied().chain(names).collect();
    let width = all.iter().map(|(usage, _)| usage.len()).max().unwrap_or(0) + 2;
    all.into_iter()
        .map(|(usage, help)| ListItem {
            line: Line::from(vec![
                Span::styled(format!(":{usage:<width$}"), model.palette.style(ColorRole::Id)),
                Span::raw(help),
            ]),
            detail: Vec::new(),
            words: format!("{usage} {help}"),
            action: ItemAction::ContextPart(None),
        })
        .collect()
}
