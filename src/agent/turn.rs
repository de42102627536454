//! The machine: states, and one function a state.

use super::{
    ToolRequest,
    reply_parser::{ParsedReply, ReplyParser},
};
use crate::provider::{Finish, ProviderError, ToolCall};

/// How a turn goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnConfig {
    /// Whether arrow lines in a reply are commands. Without, a turn is one round of words.
    pub commands: bool,
    /// Rounds at most, at least 1; while items of the turn's plan are open more, up to [`Rules::MOST`].
    pub rounds: u32,
}

impl TurnConfig {
    /// Rounds of a turn unless somebody says otherwise.
    pub const DEFAULT_ROUNDS: u32 = 10;
    /// Rounds of a turn at most, whatever is planned.
    pub const MAX_ROUNDS: u32 = 50;

    /// A turn with commands.
    #[must_use]
    pub const fn with_commands() -> Self {
        Self { commands: true, rounds: Self::DEFAULT_ROUNDS }
    }

    /// One reply in words, in which nothing is a command.
    #[must_use]
    pub const fn text_only() -> Self {
        Self { commands: false, rounds: 1 }
    }
}

/// What happened.
#[derive(Debug)]
pub enum TurnInput {
    /// More of the reply came.
    Text(String),
    /// The reply ended: as the provider says, or because it was stopped.
    StreamEnded(Finish),
    /// The reply broke off.
    StreamFailed(ProviderError),
    /// What was said is in the store.
    Saved,
    /// What was to be done cannot be; whoever drives the turn knows why.
    EffectFailed,
    /// What was asked for was run, and every answer is in the store.
    CommandsDone {
        /// Whether items of the turn's plan are open.
        open: bool,
    },
    /// Somebody stops the turn.
    Cancelled,
}

/// What is to be done, in order. Each may be answered by [`Input::Failed`].
#[derive(Debug)]
pub enum TurnEffect {
    /// Ask the model, with what the agent is shown where it stands now. Answered by [`Input::Text`] and one of
    /// [`Input::Ended`] and [`Input::Broke`].
    RequestModel {
        /// Which round this begins, from 1.
        round: u32,
    },
    /// Stop the stream: nothing more of it is wanted. It still ends as any stream.
    StopStream,
    /// Show words to whoever watches.
    Emit(String),
    /// Keep what was said. Answered by [`Input::Saved`].
    Save(RoundOutput),
    /// Run what was asked for, in order, and keep the answers. Answered by [`Input::Answered`].
    RunCommands(Vec<ToolRequest>),
    /// The turn is over.
    End(TurnEnd),
}

/// What was said in a round.
#[derive(Debug)]
pub struct RoundOutput {
    /// The words, without commands.
    pub text: String,
    /// All that the model produced, where that is more than the words.
    pub raw: Option<String>,
    /// Tools called in the provider's way.
    pub calls: Vec<ToolCall>,
    /// How the reply ended, as far as that is known.
    pub finish: Option<Finish>,
    /// Whether it was cut off.
    pub interrupted: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// With a reply that asks for nothing.
    Done,
    /// With its last round, in which the model still asked for something; that was done.
    RoundLimit,
    /// It was stopped.
    Cancelled,
    /// It failed.
    Failed(TurnFailure),
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnFailure {
    /// The model did; what came is saved.
    Model(ProviderError),
    /// The reply held nothing.
    Empty,
    /// What it needed could not be done; whoever drives it knows why.
    EffectFailed,
}

/// A turn.
#[derive(Debug)]
pub struct Turn {
    config: TurnConfig,
    round: u32,
    /// The last round, as things stand.
    last: u32,
    state: TurnState,
    cancelled: bool,
}

#[derive(Debug)]
enum TurnState {
    /// A reply comes; `stopped`: no more of it is wanted.
    Streaming {
        reply: ReplyParser,
        stopped: bool,
    },
    /// What was said is being saved. Then this is run, or the turn ends so.
    Saving {
        asked: Vec<ToolRequest>,
        ending: TurnEnd,
    },
    /// What was asked for is being run; `goes_on`: the model waits for answers.
    Running {
        goes_on: bool,
        ending: TurnEnd,
    },
    Ended,
}

impl Turn {
    /// A turn, and what is to be done first.
    #[must_use]
    pub fn begin(rules: TurnConfig) -> (Self, Vec<TurnEffect>) {
        let reply = ReplyParser::new(rules.commands);
        let state = TurnState::Streaming { reply, stopped: false };
        let turn = Self { config: rules, round: 1, last: rules.rounds, state, cancelled: false };
        (turn, vec![TurnEffect::RequestModel { round: 1 }])
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, TurnState::Ended)
    }

    /// Takes in what happened; returns what is to be done. What does not fit the state (words of a stream that was given
    /// up) changes nothing.
    pub fn step(&mut self, input: TurnInput) -> Vec<TurnEffect> {
        let state = std::mem::replace(&mut self.state, TurnState::Ended);
        let (state, effects) = match state {
            TurnState::Ended => (TurnState::Ended, Vec::new()),
            state if matches!(input, TurnInput::Cancelled) => self.cancel(state),
            _ if matches!(input, TurnInput::EffectFailed) => {
                (TurnState::Ended, vec![TurnEffect::End(TurnEnd::Failed(TurnFailure::EffectFailed))])
            }
            TurnState::Streaming { reply, stopped } => self.streaming(reply, stopped, input),
            TurnState::Saving { asked, ending } => self.saving(asked, ending, input),
            TurnState::Running { goes_on, ending } => self.running(goes_on, ending, input),
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
                let (shown, batch) = reply.push(text);
                let mut effects = show(shown);
                if batch && !stopped {
                    effects.push(TurnEffect::StopStream);
                }
                (TurnState::Streaming { reply, stopped: stopped || batch }, effects)
            }
            // A stream that was stopped for its batch has come to its end, as far as anybody wants it.
            TurnInput::StreamFailed(_) if stopped && !self.cancelled => self.ended(reply, None, None),
            TurnInput::StreamFailed(error) => self.broke(reply, error),
            TurnInput::StreamEnded(finish) => self.ended(reply, Some(finish), None),
            _ => (TurnState::Streaming { reply, stopped }, Vec::new()),
        }
    }

    fn broke(&mut self, reply: ReplyParser, error: ProviderError) -> (TurnState, Vec<TurnEffect>) {
        let finish = match &error {
            ProviderError::Cut { so_far, .. } => Some((**so_far).clone()),
            _ => None,
        };
        let cancelled = self.cancelled || error == ProviderError::Cancelled;
        let ending = if cancelled { TurnEnd::Cancelled } else { TurnEnd::Failed(TurnFailure::Model(error)) };
        self.ended(reply, finish, Some(ending))
    }

    /// The reply is over; `broken`: how the turn ends because of that.
    fn ended(
        &mut self,
        reply: ReplyParser,
        finish: Option<Finish>,
        broken: Option<TurnEnd>,
    ) -> (TurnState, Vec<TurnEffect>) {
        let interrupted = broken.is_some();
        let (whole, shown) = reply.end(if broken.is_some() { None } else { finish.as_ref() });
        let mut effects = show(shown);
        let ParsedReply { words, raw, mut asked } = whole;
        if interrupted {
            asked.retain(|asked| !asked.expects_result());
        }
        let nothing = words.is_empty() && raw.is_none() && asked.is_empty();
        let ending = match broken {
            Some(ending) => ending,
            // After answers a model may have nothing to add.
            None if nothing && self.round == 1 => TurnEnd::Failed(TurnFailure::Empty),
            None => TurnEnd::Done,
        };
        if nothing {
            effects.push(TurnEffect::End(ending));
            return (TurnState::Ended, effects);
        }
        let calls = asked
            .iter()
            .filter_map(|asked| if let ToolRequest::Call(call) = asked { Some(call.clone()) } else { None });
        let said = RoundOutput { text: words, raw, calls: calls.collect(), finish, interrupted };
        if !self.config.commands {
            // No tool was offered: the calls are kept with the node, and there is nobody to run them.
            asked.clear();
        }
        effects.push(TurnEffect::Save(said));
        (TurnState::Saving { asked, ending }, effects)
    }

    fn saving(
        &mut self,
        mut asked: Vec<ToolRequest>,
        ending: TurnEnd,
        input: TurnInput,
    ) -> (TurnState, Vec<TurnEffect>) {
        match input {
            TurnInput::Saved => {
                let mut goes_on = asked.iter().any(ToolRequest::expects_result);
                let mut ending = ending;
                if goes_on && self.cancelled {
                    asked.retain(|asked| !asked.expects_result());
                    (goes_on, ending) = (false, TurnEnd::Cancelled);
                }
                if asked.is_empty() {
                    return (TurnState::Ended, vec![TurnEffect::End(ending)]);
                }
                (TurnState::Running { goes_on, ending }, vec![TurnEffect::RunCommands(asked)])
            }
            _ => (TurnState::Saving { asked, ending }, Vec::new()),
        }
    }

    fn running(&mut self, goes_on: bool, ending: TurnEnd, input: TurnInput) -> (TurnState, Vec<TurnEffect>) {
        match input {
            TurnInput::CommandsDone { .. } if !goes_on => (TurnState::Ended, vec![TurnEffect::End(ending)]),
            TurnInput::CommandsDone { .. } if self.cancelled => {
                (TurnState::Ended, vec![TurnEffect::End(TurnEnd::Cancelled)])
            }
            TurnInput::CommandsDone { open } => {
                if open {
                    // One to do the next item in, and one to say what came of it.
                    self.last = self.last.max((self.round + 2).min(TurnConfig::MAX_ROUNDS));
                }
                if self.round >= self.last {
                    return (TurnState::Ended, vec![TurnEffect::End(TurnEnd::RoundLimit)]);
                }
                self.round += 1;
                let reply = ReplyParser::new(self.config.commands);
                (TurnState::Streaming { reply, stopped: false }, vec![TurnEffect::RequestModel { round: self.round }])
            }
            _ => (TurnState::Running { goes_on, ending }, Vec::new()),
        }
    }
}

fn show(text: String) -> Vec<TurnEffect> {
    if text.is_empty() { Vec::new() } else { vec![TurnEffect::Emit(text)] }
}
