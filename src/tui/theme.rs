//! Colours. Few, and calm: each says one thing wherever it stands. The 256-colour palette is used, which every terminal of
//! today has; text keeps the terminal's own colours.

use ratatui::style::{Color, Modifier, Style};

use crate::types::AuthorType;

/// Which colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Palette {
    /// For light text on dark ground.
    #[default]
    Dark,
    /// For dark text on light ground.
    Light,
    /// None: bold, dim and reversed only.
    Plain,
}

impl Palette {
    /// The palette with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "none" => Some(Self::Plain),
            _ => None,
        }
    }
}

/// What a piece of the screen is; its look follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorRole {
    /// A person's name.
    Human,
    /// A model's name.
    Model,
    /// A tool's name.
    Tool,
    /// A model's words.
    ModelWords,
    /// A person's words, and whatever has no look of its own.
    Words,
    /// What is beside the point.
    Dim,
    /// Guides and frames.
    Guide,
    /// Short ids.
    Id,
    /// Bookmarks, notes and other marks.
    Mark,
    /// Headings, keys, what is chosen.
    Accent,
    /// What went wrong.
    Error,
    /// What went well.
    Good,
    /// Code, and in it: words of the language, strings and numbers, names that are given.
    Code,
    Keyword,
    Literal,
    Name,
    /// The line that the cursor is on.
    Cursor,
    /// What was added, and taken away, in a comparison.
    Added,
    Gone,
}

/// Dark and light colours of a role.
const fn color_indexes(role: ColorRole) -> Option<(u8, u8)> {
    Some(match role {
        ColorRole::Human => (114, 28),
        ColorRole::Model => (141, 92),
        ColorRole::Tool => (110, 25),
        ColorRole::ModelWords => (189, 54),
        ColorRole::Words => return None,
        ColorRole::Dim => (245, 243),
        ColorRole::Guide => (240, 249),
        ColorRole::Id => (180, 130),
        ColorRole::Mark => (215, 166),
        ColorRole::Accent => (80, 30),
        ColorRole::Error => (203, 160),
        ColorRole::Good => (114, 28),
        ColorRole::Code => (151, 22),
        ColorRole::Keyword => (139, 90),
        ColorRole::Literal => (180, 94),
        ColorRole::Name => (110, 25),
        ColorRole::Cursor => (237, 254),
        ColorRole::Added => (114, 28),
        ColorRole::Gone => (203, 160),
    })
}

impl Palette {
    /// How a role looks.
    pub(crate) fn style(self, role: ColorRole) -> Style {
        let style = Style::new();
        let shaped = match role {
            ColorRole::Gone => style.add_modifier(Modifier::CROSSED_OUT),
            ColorRole::Cursor if self == Self::Plain => style.add_modifier(Modifier::REVERSED),
            ColorRole::Dim | ColorRole::Guide if self == Self::Plain => style.add_modifier(Modifier::DIM),
            ColorRole::Accent | ColorRole::Mark | ColorRole::Error if self == Self::Plain => {
                style.add_modifier(Modifier::BOLD)
            }
            ColorRole::Added if self == Self::Plain => style.add_modifier(Modifier::UNDERLINED),
            _ => style,
        };
        match (self, color_indexes(role)) {
            (Self::Plain, _) | (_, None) => shaped,
            (Self::Dark, Some((dark, _))) => Self::with_color(shaped, role, dark),
            (Self::Light, Some((_, light))) => Self::with_color(shaped, role, light),
        }
    }

    fn with_color(style: Style, role: ColorRole, colour: u8) -> Style {
        match role {
            ColorRole::Cursor => style.bg(Color::Indexed(colour)),
            _ => style.fg(Color::Indexed(colour)),
        }
    }

    /// How the name of an author looks.
    pub(crate) fn author(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Human => ColorRole::Human,
            AuthorType::Model => ColorRole::Model,
            AuthorType::Tool => ColorRole::Tool,
            AuthorType::System => ColorRole::Dim,
        })
    }

    /// How the words of an author look.
    pub(crate) fn words(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Model => ColorRole::ModelWords,
            AuthorType::Human => ColorRole::Words,
            AuthorType::Tool | AuthorType::System => ColorRole::Dim,
        })
    }
}
