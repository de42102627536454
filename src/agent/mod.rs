//! The agent's turn as a pure machine: what happened goes in, what is to be done comes out.
//!
//! A [`Turn`] knows no clock, no store, no network and no runtime. Whoever drives it ([`crate::session`]) carries out each
//! [`Effect`] in order and tells it of everything that happens as an [`Input`]; so a whole turn, with commands, cuts and
//! cancelling anywhere, is tested as a list of inputs and a list of effects.
//!
//! One round is: the model is asked ([`Effect::Ask`]); what it says is read while it streams; as soon as a batch of arrow
//! lines is complete the stream is stopped ([`Effect::Stop`]); what was said is saved ([`Effect::Save`]); and then what it
//! asked for is run ([`Effect::Run`]). With the answers the next round begins. A turn ends with a reply that asks for
//! nothing, with the last round, with a failure, or when somebody stops it.
//!
//! | state | input | what comes next |
//! | --- | --- | --- |
//! | streaming | text | told; a complete batch stops the stream |
//! | streaming | its end, or a failure | what came is saved, if anything |
//! | saving | saved | commands are run, or the turn ends |
//! | running | the answers | the next round, or the end |
//! | any | cancelled | the stream stops, what came is saved, the turn ends |

mod header_filter;
mod reply_parser;
mod tool_request;
mod turn;

#[cfg(test)]
mod tests;

pub use tool_request::ToolRequest;
pub use turn::{RoundOutput, Turn, TurnConfig, TurnEffect, TurnEnd, TurnFailure, TurnInput};
