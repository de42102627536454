//! States and transitions of a turn, with one function per state. It decides whether the model gets another round, and on
//! the limit of rounds, which it raises while todos are open.

use super::{
    ToolRequest, TurnConfig,
    reply_parser::{ParsedReply, ReplyParser},
};
use crate::provider::{Finish, ProviderError};

/// Event that the driver reports to a turn.
#[derive(Debug)]
pub(crate) enum TurnInput {
    /// The stream delivered text.
    Text(String),
    /// The stream ended normally or was stopped.
    StreamEnded(Finish),
    /// The model stream failed before its end.
    StreamFailed(ProviderError),
    /// The reply was committed.
    Saved,
    /// An effect could not be performed; the driver holds the error.
    EffectFailed,
    /// The commands have run and their results were committed.
    CommandsDone {
        /// True if the turn has open todos.
        open: bool,
        /// Use of the results to the model.
        outcome: BatchOutcome,
    },
    /// The user or caller cancelled the turn.
    Cancelled,
}

/// Use of a batch's results to the model: whether it has to read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchOutcome {
    /// A command failed, or its answer says more than that it succeeded.
    Answered,
    /// All commands succeeded, and their answers only confirm the changes.
    Changed,
    /// All commands succeeded, and they only kept the turn's records.
    Recorded,
}

/// End of a reply, which decides whether its text can be the last one of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// The reply has no text.
    Silent,
    /// The reply has text.
    Text,
    /// The reply has text and the line `→ done`.
    Done,
}

impl Closing {
    /// Returns whether a reply with this closing is the last one after its commands. `open`: the turn has open todos.
    const fn ends_turn(self, outcome: BatchOutcome, open: bool) -> bool {
        match (self, outcome) {
            (Self::Silent, _) | (_, BatchOutcome::Answered) => false,
            (Self::Done, _) => true,
            // The text is the report on the records, and the results add nothing to it.
            (Self::Text, outcome) => matches!(outcome, BatchOutcome::Recorded) && !open,
        }
    }
}

/// Effect that the driver must perform, in order. It may answer any effect with [`TurnInput::EffectFailed`].
#[derive(Debug)]
pub(crate) enum TurnEffect {
    /// Request the model with the context at the agent's current position. Answered by [`TurnInput::Text`] and then by
    /// [`TurnInput::StreamEnded`] or [`TurnInput::StreamFailed`].
    RequestModel {
        /// Number of the new round, from 1.
        round: u32,
    },
    /// Stop the stream. The driver still reports its end.
    StopStream,
    /// Emit text to the client.
    Emit(String),
    /// Save the reply. Answered by [`TurnInput::Saved`].
    Save(RoundOutput),
    /// Run the commands in order and save their results. Answered by [`TurnInput::CommandsDone`].
    RunCommands {
        /// Commands of the reply.
        requests: Vec<ToolRequest>,
        /// True if the reply has the line `→ done`.
        done: bool,
    },
    /// The turn has ended.
    End(TurnEnd),
}

/// Reply of one round.
#[derive(Debug)]
pub(crate) struct RoundOutput {
    /// Text without commands.
    pub(crate) text: String,
    /// Complete model output; `None` if it equals the text.
    pub(crate) raw: Option<String>,
    /// Commands, calls and thoughts of the reply.
    pub(crate) requests: Vec<ToolRequest>,
    /// End of the stream as reported by the provider, if known.
    pub(crate) finish: Option<Finish>,
    /// True if the reply was interrupted.
    pub(crate) interrupted: bool,
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnEnd {
    /// The last reply requested nothing.
    Done,
    /// The round limit was reached. The last round's commands have run, but the model did not see their results.
    RoundLimit,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed.
    Failed(TurnFailure),
}

/// Cause of a failed turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnFailure {
    /// The model request failed; the partial reply is saved.
    Model(ProviderError),
    /// The reply was empty.
    Empty,
    /// An effect could not be performed; the driver holds the error.
    EffectFailed,
}

/// State machine of one turn.
#[derive(Debug)]
pub(crate) struct Turn {
    config: TurnConfig,
    round: u32,
    /// Current round limit; raised while todos are open.
    round_limit: u32,
    state: TurnState,
    cancelled: bool,
}

#[derive(Debug)]
enum TurnState {
    /// A reply streams; `stopped`: the stream was asked to end.
    Streaming {
        reply: ReplyParser,
        stopped: bool,
    },
    /// The reply is being saved. Then the requests run, or the turn ends with `ending`.
    Saving {
        requests: Vec<ToolRequest>,
        closing: Closing,
        ending: TurnEnd,
    },
    /// Commands run; `needs_another_round`: the model expects their results.
    Running {
        needs_another_round: bool,
        closing: Closing,
        ending: TurnEnd,
    },
    Ended,
}

impl Turn {
    /// Creates a turn and its first effects.
    #[must_use]
    pub(crate) fn begin(config: TurnConfig) -> (Self, Vec<TurnEffect>) {
        let reply = ReplyParser::new(config.commands);
        let state = TurnState::Streaming { reply, stopped: false };
        let turn = Self { config, round: 1, round_limit: config.rounds, state, cancelled: false };
        (turn, vec![TurnEffect::RequestModel { round: 1 }])
    }

    /// Returns true after the turn has ended.
    #[must_use]
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.state, TurnState::Ended)
    }

    /// Processes an input and returns the effects. An input that does not fit the state, such as text of a stopped
    /// stream, has no effect.
    pub(crate) fn step(&mut self, input: TurnInput) -> Vec<TurnEffect> {
        let state = std::mem::replace(&mut self.state, TurnState::Ended);
        let (state, effects) = match state {
            TurnState::Ended => (TurnState::Ended, Vec::new()),
            state if matches!(input, TurnInput::Cancelled) => self.cancel(state),
            _ if matches!(input, TurnInput::EffectFailed) => {
                (TurnState::Ended, vec![TurnEffect::End(TurnEnd::Failed(TurnFailure::EffectFailed))])
            }
            TurnState::Streaming { reply, stopped } => self.streaming(reply, stopped, input),
            TurnState::Saving { requests, closing, ending } => self.saving(requests, closing, ending, input),
            TurnState::Running { needs_another_round, closing, ending } => {
                self.running(needs_another_round, closing, ending, input)
            }
        };
        self.state = state;
        effects
    }

    fn cancel(&mut self, state: TurnState) -> (TurnState, Vec<TurnEffect>) {
        self.cancelled = true;
        match state {
            TurnState::Streaming { reply, stopped: false } => {
                (TurnState::Streaming { reply, stopped: true }, vec![TurnEffect::StopStream])
            }
            other => (other, Vec::new()),
        }
    }

    fn streaming(&mut self, mut reply: ReplyParser, stopped: bool, input: TurnInput) -> (TurnState, Vec<TurnEffect>) {
        match input {
            TurnInput::Text(text) => {
                let (emitted, batch) = reply.push(text);
                let mut effects = emit(emitted);
                if batch && !stopped {
                    effects.push(TurnEffect::StopStream);
                }
                (TurnState::Streaming { reply, stopped: stopped || batch }, effects)
            }
            // The stream was stopped after a complete batch, so its failure has no consequence.
            TurnInput::StreamFailed(_) if stopped && !self.cancelled => self.stream_ended(reply, None, None),
            TurnInput::StreamFailed(error) => self.stream_failed(reply, error),
            TurnInput::StreamEnded(finish) => self.stream_ended(reply, Some(finish), None),
            _ => (TurnState::Streaming { reply, stopped }, Vec::new()),
        }
    }

    fn stream_failed(&mut self, reply: ReplyParser, error: ProviderError) -> (TurnState, Vec<TurnEffect>) {
        let finish = match &error {
            ProviderError::Interrupted { so_far, .. } => Some((**so_far).clone()),
            _ => None,
        };
        let cancelled = self.cancelled || error == ProviderError::Cancelled;
        let ending = if cancelled { TurnEnd::Cancelled } else { TurnEnd::Failed(TurnFailure::Model(error)) };
        self.stream_ended(reply, finish, Some(ending))
    }

    /// Handles the end of a reply; `failure` is the outcome of the turn if the stream failed.
    fn stream_ended(
        &mut self,
        reply: ReplyParser,
        finish: Option<Finish>,
        failure: Option<TurnEnd>,
    ) -> (TurnState, Vec<TurnEffect>) {
        let interrupted = failure.is_some();
        let (parsed, emitted) = reply.end(if failure.is_some() { None } else { finish.as_ref() });
        let mut effects = emit(emitted);
        let ParsedReply { text, raw, mut requests, done } = parsed;
        if interrupted {
            requests.retain(|request| !request.expects_result());
        }
        let nothing = text.is_empty() && raw.is_none() && requests.is_empty();
        let ending = match failure {
            Some(ending) => ending,
            // A model may have nothing to add after command results.
            None if nothing && self.round == 1 => TurnEnd::Failed(TurnFailure::Empty),
            None => TurnEnd::Done,
        };
        if nothing {
            effects.push(TurnEffect::End(ending));
            return (TurnState::Ended, effects);
        }
        let closing = match text.trim() {
            "" => Closing::Silent,
            _ if done => Closing::Done,
            _ => Closing::Text,
        };
        let output = RoundOutput { text, raw, requests: requests.clone(), finish, interrupted };
        if !self.config.commands {
            // The turn offers no tools, so the calls are stored but not executed.
            requests.clear();
        }
        effects.push(TurnEffect::Save(output));
        (TurnState::Saving { requests, closing, ending }, effects)
    }

    fn saving(
        &mut self,
        mut requests: Vec<ToolRequest>,
        closing: Closing,
        ending: TurnEnd,
        input: TurnInput,
    ) -> (TurnState, Vec<TurnEffect>) {
        match input {
            TurnInput::Saved => {
                let mut needs_another_round = requests.iter().any(ToolRequest::expects_result);
                let mut ending = ending;
                if needs_another_round && self.cancelled {
                    requests.retain(|request| !request.expects_result());
                    (needs_another_round, ending) = (false, TurnEnd::Cancelled);
                }
                if requests.is_empty() {
                    return (TurnState::Ended, vec![TurnEffect::End(ending)]);
                }
                let state = TurnState::Running { needs_another_round, closing, ending };
                (state, vec![TurnEffect::RunCommands { requests, done: matches!(closing, Closing::Done) }])
            }
            _ => (TurnState::Saving { requests, closing, ending }, Vec::new()),
        }
    }

    fn running(
        &mut self,
        needs_another_round: bool,
        closing: Closing,
        ending: TurnEnd,
        input: TurnInput,
    ) -> (TurnState, Vec<TurnEffect>) {
        match input {
            TurnInput::CommandsDone { .. } if !needs_another_round => (TurnState::Ended, vec![TurnEffect::End(ending)]),
            TurnInput::CommandsDone { .. } if self.cancelled => {
                (TurnState::Ended, vec![TurnEffect::End(TurnEnd::Cancelled)])
            }
            TurnInput::CommandsDone { open, outcome } if closing.ends_turn(outcome, open) => {
                (TurnState::Ended, vec![TurnEffect::End(ending)])
            }
            TurnInput::CommandsDone { open, .. } => {
                if open {
                    // One round for the next todo and one for the final report.
                    self.round_limit = self.round_limit.max((self.round + 2).min(TurnConfig::MAX_ROUNDS));
                }
                if self.round >= self.round_limit {
                    return (TurnState::Ended, vec![TurnEffect::End(TurnEnd::RoundLimit)]);
                }
                self.round += 1;
                let reply = ReplyParser::new(self.config.commands);
                (TurnState::Streaming { reply, stopped: false }, vec![TurnEffect::RequestModel { round: self.round }])
            }
            _ => (TurnState::Running { needs_another_round, closing, ending }, Vec::new()),
        }
    }
}

fn emit(text: String) -> Vec<TurnEffect> {
    if text.is_empty() { Vec::new() } else { vec![TurnEffect::Emit(text)] }
}
