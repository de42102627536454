//! First-run tour: six keys in the sample tree, one after the other. Esc ends it.

use super::{keys::KeyAction, model::ScreenModel};

/// Steps: the expected action and its hint.
pub(crate) const STEPS: [(KeyAction, &str); 6] = [
    (KeyAction::Child, "follows this conversation"),
    (KeyAction::Next, "steps to another branch"),
    (KeyAction::Parent, "goes back to the branch point"),
    (KeyAction::Say, "writes a message of your own (esc: not now)"),
    (KeyAction::Generate, "generates continuations"),
    (KeyAction::Help, "shows every other key"),
];

/// Advances the tour if the action is the expected one.
pub(crate) fn advance(model: &mut ScreenModel, action: KeyAction) {
    if let Some(step) = model.tour
        && STEPS.get(step).is_some_and(|(expected, _)| *expected == action)
    {
        model.tour = Some(step + 1).filter(|next| *next < STEPS.len());
        if model.tour.is_none() {
            model.notify("that was the tour; everything else is in the help");
        }
    }
}

/// Returns the hint of the current step.
pub(crate) fn line(model: &ScreenModel) -> Option<String> {
    let step = model.tour?;
    let (action, text) = STEPS.get(step)?;
    let key = super::keys::key_label(model.keys.hint(*action)).to_owned();
    Some(format!("{}/{}  {key}  {text}", step + 1, STEPS.len()))
}
