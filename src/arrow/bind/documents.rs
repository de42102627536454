//! The commands `read` and `write`.

use super::{BindError, Binder, Bound};
use crate::arrow::{
    Command, Range, WritePlace,
    args::{Arg, ArgKind},
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};

impl Binder<'_, '_> {
    /// A document's name, also as a mere string.
    fn needed_doc(&mut self) -> Bound<String> {
        let doc = self.doc().or_else(|| self.text_where(|arg| arg.key.is_none()));
        let verb = self.at;
        doc.or_else(|| {
            self.arguments
                .take(|arg| arg.kind == ArgKind::Name && arg.at == verb + 1)
                .map(|arg| self.arguments.value(&arg))
        })
        .ok_or(BindError::Missing("a document's name"))
    }

    pub(super) fn read(&mut self) -> Bound {
        let section = self.section();
        let of_version = |arg: &Arg| {
            arg.key == Some(OptionName::Version) || arg.noun == Some(Noun::Version) || arg.unit == Some(Noun::Version)
        };
        let version = self.number(of_version).map(|(number, _)| number);
        let version = version.or_else(|| self.short_version());
        // `head -n 30`
        let head = self.verb_text == "head";
        let lines =
            self.range(|_| true).map(|range| if head && range.last > 0 { Range { first: 1, ..range } } else { range });
        let summary = self.names(Noun::Summary) || self.flagged(&["summary"]) || self.verb == Verb::Summarise;
        let doc = self.needed_doc()?;
        // `what the document "x" has under "y"`
        let section = section.or_else(|| self.text_where(|arg| matches!(arg.prep, Some(Prep::Under | Prep::In))));
        Ok(Command::Read { doc, summary, lines, section, version })
    }

    /// `v2` of `read v2 of plan.md`.
    fn short_version(&mut self) -> Option<u32> {
        let line = self.arguments.line;
        let number = |arg: &Arg| arg.text.of(line).strip_prefix(['v', 'V'])?.parse().ok();
        let arg = self.arguments.take(|arg| arg.kind == ArgKind::Name && arg.key.is_none() && number(arg).is_some())?;
        number(&arg)
    }

    pub(super) fn section(&mut self) -> Option<String> {
        self.name_for(&[OptionName::Section])
    }

    pub(super) fn write(&mut self) -> Bound {
        let doc = self.doc();
        // `insert the heading "x"`: of one text, only `replace` means a section.
        let texts = self.arguments.items.iter().filter(|arg| matches!(arg.kind, ArgKind::Text { .. })).count();
        let sections = matches!(self.verb, Verb::Replace | Verb::Edit | Verb::Write);
        // `stash the section "M" of report.md as "l"`, `append "x" to the section "M"`: no section is replaced by these.
        let adds = matches!(self.verb_text, "append" | "prepend" | "insert" | "add" | "type" | "echo");
        let section = |arg: &Arg| arg.key == Some(OptionName::Section);
        if texts > 1 && (!sections || adds) && self.arguments.items.iter().any(section) {
            return Err(BindError::Missing("a section is replaced as a whole: replace:\"section\""));
        }
        let replaces =
            self.name_for(if sections { &[OptionName::Replace, OptionName::Section] } else { &[OptionName::Replace] });
        // `replace what stands under "Costs" in plan.md with "none"`
        let replaces = replaces.or_else(|| {
            let placed = texts > 1 && self.verb == Verb::Replace;
            if placed { self.text_where(|arg| arg.prep == Some(Prep::Under)) } else { None }
        });
        // `replace "a b" in plan.md with "c d"`
        let replaces = replaces.or_else(|| {
            let is_new =
                |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && matches!(arg.prep, Some(Prep::With | Prep::By));
            let replaces = self.verb == Verb::Replace && self.arguments.items.iter().any(is_new);
            if replaces {
                self.text_where(|arg| arg.prep.is_none() && matches!(arg.key, None | Some(OptionName::Content)))
            } else {
                None
            }
        });
        let place = match replaces {
            Some(section) => Some(WritePlace::Section(section)),
            None => self.place()?,
        };
        let doc = match doc {
            Some(doc) => doc,
            // Of two strings the first is the document, unless a preposition says which.
            None => self
                .text_where(|arg| matches!(arg.prep, Some(Prep::To | Prep::Into | Prep::In | Prep::On | Prep::Of)))
                .or_else(|| {
                    let texts =
                        self.arguments.items.iter().filter(|arg| matches!(arg.kind, ArgKind::Text { .. })).count();
                    if texts > 1 { self.text_where(|_| true) } else { None }
                })
                .ok_or(BindError::Missing("a document's name"))?,
        };
        let place =
            place.ok_or(BindError::Missing("where: append, at:start, at:end, at:LINE or replace:\"section\""))?;
        // `at:3` inserts before line 3, and the whole document is replaced by none.
        let replaces_lines = self.verb == Verb::Replace && !matches!(place, WritePlace::Section(_));
        if replaces_lines {
            return Err(BindError::Missing("the section that is replaced: replace:\"section\""));
        }
        Ok(Command::Write { doc, place, content: self.content()? })
    }

    fn place(&mut self) -> Bound<Option<WritePlace>> {
        let said = self
            .arguments
            .take(|arg| arg.key == Some(OptionName::At))
            .map(|arg| (arg.kind, self.arguments.value(&arg).to_lowercase()));
        match said.as_ref().map(|(what, text)| (*what, text.as_str())) {
            Some((ArgKind::Number(line), _)) => return Ok(Some(WritePlace::Line(line))),
            Some((_, "start" | "top" | "beginning")) => return Ok(Some(WritePlace::Start)),
            Some((_, "end" | "bottom")) => return Ok(Some(WritePlace::End)),
            Some(_) => return Err(BindError::Missing("at: start, end or the number of a line")),
            None => {}
        }
        // `(3 words)` counts, and is no place.
        let counts = |noun: Option<Noun>| matches!(noun, Some(Noun::Text | Noun::Token | Noun::Turn));
        let is_line = |arg: &Arg| !counts(arg.unit) && !counts(arg.noun);
        if let Some((line, _)) = self.number(is_line) {
            return Ok(Some(WritePlace::Line(line)));
        }
        if self.names(Noun::Start) || self.names(Noun::Root) || self.verb_text == "prepend" {
            return Ok(Some(WritePlace::Start));
        }
        if self.names(Noun::End) && self.verb_text != "append" && self.verb != Verb::Add {
            return Ok(Some(WritePlace::End));
        }
        Ok(Some(WritePlace::Append))
    }
}
