//! Agent turn as a pure state machine: inputs in, effects out.
//!
//! A [`Turn`] uses no clock, store, network or runtime. Its driver ([`crate::session`]) performs each [`TurnEffect`] in
//! order and reports each event as a [`TurnInput`]. A test can therefore run a whole turn, with commands, errors and
//! cancellation at any point, as a list of inputs and expected effects.
//!
//! A round requests the model ([`TurnEffect::RequestModel`]) and parses the reply while it streams. A complete batch of
//! arrow lines stops the stream ([`TurnEffect::StopStream`]). The reply is saved ([`TurnEffect::Save`]) and its
//! commands run ([`TurnEffect::RunCommands`]). The next round starts with their results. A turn ends with a reply
//! without commands, with a reply whose line `→ done` ends it ([`BatchOutcome`]), at the round limit, with a failure, or
//! by cancellation.
//!
//! | state | input | next |
//! | --- | --- | --- |
//! | streaming | text | emitted; a complete batch stops the stream |
//! | streaming | end or failure | the reply is saved unless it is empty |
//! | saving | saved | commands run, or the turn ends |
//! | running | results | the next round, or the end |
//! | any | cancelled | the stream stops, the partial reply is saved, the turn ends |

mod config;
mod header_filter;
mod reply_parser;
mod state_machine;
mod tool_request;

#[cfg(test)]
mod tests;

pub(crate) use config::TurnConfig;
pub(crate) use state_machine::{BatchOutcome, RoundOutput, Turn, TurnEffect, TurnEnd, TurnFailure, TurnInput};
pub(crate) use tool_request::ToolRequest;
