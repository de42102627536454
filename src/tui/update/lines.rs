//! The person's own arrow lines: done by the thread that writes, or, where models are at work then, watched as they come.

use super::{growing, walking};
use crate::tui::{
    handed,
    message::{Deed, Effect},
    model::Model,
};

pub(super) fn run(model: &mut Model, text: String) -> Vec<Effect> {
    let from = model.at;
    if !handed::are_long(&text) {
        return walking::does(model, Deed::Lines(from, text));
    }
    if model.growth.is_some() {
        model.say("something is being written already; this waits in the history (↑)");
        return Vec::new();
    }
    growing::watch(model, text)
}
