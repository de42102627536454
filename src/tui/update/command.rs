//! The command line that `:` opens: words for what has no key, and for what has.

use super::{does, errands, growing, walking};
use crate::tui::{
    keys::KEYS,
    message::{Deed, Effect, Question},
    model::{Kind, List, Mode, Model},
};

/// The commands beside those that are named as keys are.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("chat TEXT", "say it, and have the collaborator answer"),
    ("new TEXT", "a tree that begins with these words"),
    ("buffer TEXT", "the same for one text: edits are versions"),
    ("title TEXT", "call this tree so"),
    ("model NAME", "take a model, or leave it out"),
    ("go ID", "to a node, by its id"),
    ("tools", "let the collaborator work in this folder, or not; changes are asked about"),
    ("bookmark LABEL", "bookmark with a label"),
    ("theme dark|light|none", "other colours"),
];

pub(super) fn run(model: &mut Model, text: &str) -> Vec<Effect> {
    let text = text.trim().trim_start_matches(':').trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let needs = |model: &mut Model| {
        model.fail(format!(":{word} needs more: it is written as :{}", usage(word)));
        Vec::new()
    };
    match word {
        "chat" if rest.is_empty() => growing::begin(model, true),
        "chat" => {
            let after = model.at;
            model.answer_after_say = true;
            does(Deed::Say(after, rest.to_owned()))
        }
        "new" | "buffer" | "title" | "model" | "go" | "theme" if rest.is_empty() => needs(model),
        "new" | "buffer" => does(Deed::NewTree(rest.to_owned(), word == "buffer")),
        "title" => does(Deed::Title(rest.to_owned())),
        "model" => {
            growing::toggle(model, rest);
            Vec::new()
        }
        "go" => vec![Effect::Ask(Question::Find(rest.to_owned()))],
        "bookmark" => does(Deed::Bookmark(model.at, Some(rest.to_owned()))),
        "theme" => match crate::tui::Palette::named(rest) {
            Some(palette) => {
                model.palette = palette;
                model.look()
            }
            None => needs(model),
        },
        "tools" => {
            model.tools = !model.tools;
            model.say(if model.tools {
                "the collaborator may work in this folder; it asks before it changes something"
            } else {
                "no tools for the folder"
            });
            Vec::new()
        }
        "q" | "wq" | "x" => walking::quit(model),
        "h" => walking::act(model, crate::tui::keys::Action::Help),
        _ => match KEYS.iter().find(|binding| binding.name == word) {
            Some(binding) => walking::act(model, binding.action),
            None if word.starts_with(['→', '-', '=']) => errands::begin(model, text.to_owned()),
            None => {
                let mut list = List::new(format!("there is no :{word}"), Kind::Plain, "");
                list.items = all(model);
                model.mode = Mode::Choose(list);
                Vec::new()
            }
        },
    }
}

fn usage(word: &str) -> &'static str {
    COMMANDS.iter().map(|(usage, _)| *usage).find(|usage| usage.starts_with(word)).unwrap_or("")
}

/// Every command, to be read.
fn all(model: &Model) -> Vec<crate::tui::message::Item> {
    use crate::tui::{
        message::{Item, Then},
        theme::Role,
    };
    use ratatui::text::{Line, Span};
    let names = KEYS.iter().map(|binding| (binding.name, binding.help));
    COMMANDS
        .iter()
        .copied()
        .chain(names)
        .map(|(usage, help)| Item {
            line: Line::from(vec![
                Span::styled(format!(":{usage:<24}"), model.palette.style(Role::Id)),
                Span::raw(help),
            ]),
            words: format!("{usage} {help}"),
            then: Then::Part(None),
        })
        .collect()
}
