//! The scope of a search on the screen.

/// Scope of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LookupScope {
    Path,
    #[default]
    Tree,
    Everything,
}

impl LookupScope {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Path => Self::Tree,
            Self::Tree => Self::Everything,
            Self::Everything => Self::Path,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "this path",
            Self::Tree => "this tree",
            Self::Everything => "everything",
        }
    }
}
