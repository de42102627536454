//! The own cursor, shown to others, and the time at which the others on the screen may have gone.

use super::{
    message::ScreenEffect,
    model::{PRESENCE_INTERVAL_MS, ScreenModel},
};
use crate::id::NodeId;

impl ScreenModel {
    /// Time of the next write of the cursor; `None` if others see it.
    pub(super) fn cursor_due_at(&self) -> Option<u64> {
        (self.session.is_some() && self.shown_cursor != Some(self.cursor)).then_some(self.next_cursor_write)
    }

    /// Returns the cursor if it is time to show it to others.
    pub(crate) fn cursor_to_show(&mut self) -> Option<NodeId> {
        self.cursor_due_at().filter(|due| *due <= self.now)?;
        (self.shown_cursor, self.next_cursor_write) = (Some(self.cursor), self.now + PRESENCE_INTERVAL_MS);
        Some(self.cursor)
    }

    /// Queries the screen again when an agent may have gone: no event reports that.
    pub(crate) fn refresh_presence(&mut self) -> Vec<ScreenEffect> {
        if self.presence_expires_at.take_if(|gone| *gone <= self.now).is_some() {
            self.load_screen()
        } else {
            Vec::new()
        }
    }
}
