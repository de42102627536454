//! Colours. Few, and calm: each says one thing wherever it stands. The 256-colour palette is used, which every terminal of
//! today has; text keeps the terminal's own colours.

use ratatui::style::{Color, Modifier, Style};

use crate::model::AuthorType;

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
pub(crate) enum Role {
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
const fn colours(role: Role) -> Option<(u8, u8)> {
    Some(match role {
        Role::Human => (114, 28),
        Role::Model => (141, 92),
        Role::Tool => (110, 25),
        Role::ModelWords => (189, 54),
        Role::Words => return None,
        Role::Dim => (245, 243),
        Role::Guide => (240, 249),
        Role::Id => (180, 130),
        Role::Mark => (215, 166),
        Role::Accent => (80, 30),
        Role::Error => (203, 160),
        Role::Good => (114, 28),
        Role::Code => (151, 22),
        Role::Keyword => (139, 90),
        Role::Literal => (180, 94),
        Role::Name => (110, 25),
        Role::Cursor => (237, 254),
        Role::Added => (114, 28),
        Role::Gone => (203, 160),
    })
}

impl Palette {
    /// How a role looks.
    pub(crate) fn style(self, role: Role) -> Style {
        let style = Style::new();
        let shaped = match role {
            Role::Gone => style.add_modifier(Modifier::CROSSED_OUT),
            Role::Cursor if self == Self::Plain => style.add_modifier(Modifier::REVERSED),
            Role::Dim | Role::Guide if self == Self::Plain => style.add_modifier(Modifier::DIM),
            Role::Accent | Role::Mark | Role::Error if self == Self::Plain => style.add_modifier(Modifier::BOLD),
            Role::Added if self == Self::Plain => style.add_modifier(Modifier::UNDERLINED),
            _ => style,
        };
        match (self, colours(role)) {
            (Self::Plain, _) | (_, None) => shaped,
            (Self::Dark, Some((dark, _))) => Self::painted(shaped, role, dark),
            (Self::Light, Some((_, light))) => Self::painted(shaped, role, light),
        }
    }

    fn painted(style: Style, role: Role, colour: u8) -> Style {
        match role {
            Role::Cursor => style.bg(Color::Indexed(colour)),
            _ => style.fg(Color::Indexed(colour)),
        }
    }

    /// How the name of an author looks.
    pub(crate) fn author(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Human => Role::Human,
            AuthorType::Model => Role::Model,
            AuthorType::Tool => Role::Tool,
            AuthorType::System => Role::Dim,
        })
    }

    /// How the words of an author look.
    pub(crate) fn words(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Model => Role::ModelWords,
            AuthorType::Human => Role::Words,
            AuthorType::Tool | AuthorType::System => Role::Dim,
        })
    }
}
