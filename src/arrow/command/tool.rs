//! Whose command a command is.

use super::Command;
use crate::tools::Tool;

impl Command {
    /// The tool that runs it.
    #[must_use]
    pub const fn tool(&self) -> Tool {
        match self {
            Self::View { .. } => Tool::View,
            Self::List { .. } => Tool::List,
            Self::Tree { .. } => Tool::Tree,
            Self::Switch { .. } => Tool::Switch,
            Self::Diff { .. } => Tool::Diff,
            Self::Continue { .. } => Tool::Continue,
            Self::Respond { .. } => Tool::Respond,
            Self::Annotate { .. } => Tool::Annotate,
            Self::Link { .. } => Tool::Link,
            Self::Edit { .. } => Tool::Edit,
            Self::Merge { .. } => Tool::Merge,
            Self::Bookmark { .. } => Tool::Bookmark,
            Self::Unbookmark { .. } => Tool::Unbookmark,
            Self::Prune { .. } => Tool::Prune,
            Self::Restore { .. } => Tool::Restore,
            Self::Undo { .. } => Tool::Undo,
            Self::Redo { .. } => Tool::Redo,
            Self::Copy { .. } => Tool::Copy,
            Self::Move { .. } => Tool::Move,
            Self::Split { .. } => Tool::Split,
            Self::Exclude { .. } => Tool::Exclude,
            Self::Include { .. } => Tool::Include,
            Self::Unlink { .. } => Tool::Unlink,
            Self::Read { .. } => Tool::Read,
            Self::Write { .. } => Tool::Write,
            Self::Pin { .. } => Tool::Pin,
            Self::Stash { .. } => Tool::Stash,
            Self::Recall { .. } => Tool::Recall,
            Self::Drop { .. } => Tool::Drop,
            Self::Decide { .. } => Tool::Decide,
            Self::Memory { .. } => Tool::Memory,
            Self::Todo { .. } => Tool::Todo,
            Self::Delegate { .. } => Tool::Delegate,
            Self::Search { .. } => Tool::Search,
            Self::Think { .. } => Tool::Think,
            Self::Help { .. } => Tool::Help,
        }
    }
}
