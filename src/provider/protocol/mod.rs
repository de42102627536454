//! Common form of the two API protocols: pieces of replies, token counts, errors.
//!
//! Each protocol module encodes requests and decodes events to [`DecodedReply`]s. Everything after that is shared. Decoding
//! accepts the known deviations of servers, but JSON without any expected field is an error, not an empty reply.

mod anthropic;
mod codec;
mod decoded_reply;
mod error_body;
mod openai;
mod refused_features;
mod tool_calls;

pub use openai::chat_messages;

pub(crate) use self::{
    codec::{decode, request_body},
    decoded_reply::{DecodedReply, PartialUsage, StreamPiece, finish_reason},
    error_body::{ErrorBody, parse_error_body},
    refused_features::Capabilities,
    tool_calls::{PartialToolCalls, ToolCallPiece},
};
