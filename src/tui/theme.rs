//! Color palettes. Each color has one meaning everywhere. They use the 256-color palette, which all current terminals
//! support; plain text keeps the terminal's color.

use ratatui::style::{Color, Modifier, Style};

use crate::types::AuthorType;

/// Set of colors that fits a terminal's background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Palette {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
    /// No colors: bold, dim and reversed only.
    Plain,
}

impl Palette {
    /// Returns the palette of this name: `dark`, `light` or `none`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "none" => Some(Self::Plain),
            _ => None,
        }
    }

    /// Returns the palette for the terminal's background, from the value of `COLORFGBG` if the terminal sets it. The
    /// value names the background last: 7 and values above 8 are light.
    #[must_use]
    pub fn for_background(colorfgbg: Option<&str>) -> Self {
        let background = colorfgbg.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
        match background {
            Some(background) if background == 7 || background > 8 => Self::Light,
            _ => Self::Dark,
        }
    }
}

/// Meaning of a piece of the screen, from which its style derives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorRole {
    /// Name of a user.
    Human,
    /// Name of a model.
    Model,
    /// Name of a tool.
    Tool,
    /// Text by a model.
    ModelWords,
    /// Text by a user, and text without a role.
    Words,
    Dim,
    Guide,
    Id,
    /// Bookmarks, notes and other marks.
    Mark,
    /// Headings, keys and selections.
    Accent,
    Error,
    Good,
    /// Code; in it keywords, literals and names.
    Code,
    Keyword,
    Literal,
    Name,
    /// Line of the cursor.
    Cursor,
    /// Added and removed text of a comparison.
    Added,
    Gone,
}

/// Color indexes of a role for dark and light backgrounds.
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
    /// Returns the style of a role.
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

    /// Returns the style of an author's name.
    pub(crate) fn author(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Human => ColorRole::Human,
            AuthorType::Model => ColorRole::Model,
            AuthorType::Tool => ColorRole::Tool,
            AuthorType::System => ColorRole::Dim,
        })
    }

    /// Returns the style of an author's text.
    pub(crate) fn words(self, kind: AuthorType) -> Style {
        self.style(match kind {
            AuthorType::Model => ColorRole::ModelWords,
            AuthorType::Human => ColorRole::Words,
            AuthorType::Tool | AuthorType::System => ColorRole::Dim,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminals_background_chooses_the_palette() {
        let cases = [
            (None, Palette::Dark),
            (Some("15;0"), Palette::Dark),
            (Some("0;default;15"), Palette::Light),
            (Some("0;7"), Palette::Light),
            (Some("0;8"), Palette::Dark),
            (Some("odd"), Palette::Dark),
        ];
        for (value, palette) in cases {
            assert_eq!(Palette::for_background(value), palette, "{value:?}");
        }
    }
}
