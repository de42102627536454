//! View: [`draw`] reads a model and writes cells, nothing else.

mod columns;
mod popup;
mod rows;
mod screen;
mod status;
mod text_pane;
mod tree;

pub(crate) use columns::column_at;
pub(crate) use popup::{first_item, list_area, width as popup_width};
pub(crate) use screen::draw;
pub(crate) use text_pane::{byte_at, scrollable};
pub(crate) use tree::first_row;
