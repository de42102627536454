//! The machine: states, and one function a state.

use super::{
    Asked,
    reply::{Incoming, Whole},
};
use crate::provider::{Finish, ProviderError, ToolCall};

/// How a turn goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether arrow lines in a reply are commands. Without, a turn is one round of words.
    pub commands: bool,
    /// Rounds at most, at least 1; while items of the turn's plan are open more, up to [`Rules::MOST`].
    pub rounds: u32,
}

impl Rules {
    /// Rounds of a turn unless somebody says otherwise.
    pub const ROUNDS: u32 = 10;
    /// Rounds of a turn at most, whatever is planned.
    pub const MOST: u32 = 50;

    /// A turn with commands.
    #[must_use]
    pub const fn commands() -> Self {
        Self { commands: true, rounds: Self::ROUNDS }
    }

    /// One reply in words, in which nothing is a command.
    #[must_use]
    pub const fn words() -> Self {
        Self { commands: false, rounds: 1 }
    }
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// More of the reply came.
    Text(String),
    /// The reply ended: as the provider says, or because it was stopped.
    Ended(Finish),
    /// The reply broke off.
    Broke(ProviderError),
    /// What was said is in the store.
    Saved,
    /// What was to be done cannot be; whoever drives the turn knows why.
    Failed,
    /// What was asked for was run, and every answer is in the store.
    Answered {
        /// Whether items of the turn's plan are open.
        open: bool,
    },
    /// Somebody stops the turn.
    Cancelled,
}

/// What is to be done, in order. Each may be answered by [`Input::Failed`].
#[derive(Debug)]
pub enum Effect {
    /// Ask the model, with what the agent is shown where it stands now. Answered by [`Input::Text`] and one of
    /// [`Input::Ended`] and [`Input::Broke`].
    Ask {
        /// Which round this begins, from 1.
        round: u32,
    },
    /// Stop the stream: nothing more of it is wanted. It still ends as any stream.
    Stop,
    /// Show words to whoever watches.
    Show(String),
    /// Keep what was said. Answered by [`Input::Saved`].
    Save(Said),
    /// Run what was asked for, in order, and keep the answers. Answered by [`Input::Answered`].
    Run(Vec<Asked>),
    /// The turn is over.
    End(Ending),
}

/// What was said in a round.
#[derive(Debug)]
pub struct Said {
    /// The words, without commands.
    pub words: String,
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
pub enum Ending {
    /// With a reply that asks for nothing.
    Done,
    /// With its last round, in which the model still asked for something; that was done.
    Rounds,
    /// It was stopped.
    Cancelled,
    /// It failed.
    Failed(Cause),
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// The model did; what came is saved.
    Model(ProviderError),
    /// The reply held nothing.
    Empty,
    /// What it needed could not be done; whoever drives it knows why.
    Failed,
}

/// A turn.
#[derive(Debug)]
pub struct Turn {
    rules: Rules,
    round: u32,
    /// The last round, as things stand.
    last: u32,
    state: State,
    cancelled: bool,
}

#[derive(Debug)]
enum State {
    /// A reply comes; `stopped`: no more of it is wanted.
    Streaming {
        reply: Incoming,
        stopped: bool,
    },
    /// What was said is being saved. Then this is run, or the turn ends so.
    Saving {
        asked: Vec<Asked>,
        ending: Ending,
    },
    /// What was asked for is being run; `goes_on`: the model waits for answers.
    Running {
        goes_on: bool,
        ending: Ending,
    },
    Ended,
}

impl Turn {
    /// A turn, and what is to be done first.
    #[must_use]
    pub fn begin(rules: Rules) -> (Self, Vec<Effect>) {
        let reply = Incoming::new(rules.commands);
        let state = State::Streaming { reply, stopped: false };
        let turn = Self { rules, round: 1, last: rules.rounds, state, cancelled: false };
        (turn, vec![Effect::Ask { round: 1 }])
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Takes in what happened; returns what is to be done. What does not fit the state (words of a stream that was given
    /// up) changes nothing.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let (state, effects) = match state {
            State::Ended => (State::Ended, Vec::new()),
            state if matches!(input, Input::Cancelled) => self.cancel(state),
            _ if matches!(input, Input::Failed) => (State::Ended, vec![Effect::End(Ending::Failed(Cause::Failed))]),
            State::Streaming { reply, stopped } => self.streaming(reply, stopped, input),
            State::Saving { asked, ending } => self.saving(asked, ending, input),
            State::Running { goes_on, ending } => self.running(goes_on, ending, input),
        };
        self.state = state;
        effects
    }

    fn cancel(&mut self, state: State) -> (State, Vec<Effect>) {
        self.cancelled = true;
        match state {
            State::Streaming { reply, stopped: false } => {
                (State::Streaming { reply, stopped: true }, vec![Effect::Stop])
            }
            other => (other, Vec::new()),
        }
    }

    fn streaming(&mut self, mut reply: Incoming, stopped: bool, input: Input) -> (State, Vec<Effect>) {
        match input {
            Input::Text(text) => {
                let (shown, batch) = reply.push(text);
                let mut effects = show(shown);
                if batch && !stopped {
                    effects.push(Effect::Stop);
                }
                (State::Streaming { reply, stopped: stopped || batch }, effects)
            }
            // A stream that was stopped for its batch has come to its end, as far as anybody wants it.
            Input::Broke(_) if stopped && !self.cancelled => self.ended(reply, None, None),
            Input::Broke(error) => self.broke(reply, error),
            Input::Ended(finish) => self.ended(reply, Some(finish), None),
            _ => (State::Streaming { reply, stopped }, Vec::new()),
        }
    }

    fn broke(&mut self, reply: Incoming, error: ProviderError) -> (State, Vec<Effect>) {
        let finish = match &error {
            ProviderError::Cut { so_far, .. } => Some((**so_far).clone()),
            _ => None,
        };
        let cancelled = self.cancelled || error == ProviderError::Cancelled;
        let ending = if cancelled { Ending::Cancelled } else { Ending::Failed(Cause::Model(error)) };
        self.ended(reply, finish, Some(ending))
    }

    /// The reply is over; `broken`: how the turn ends because of that.
    fn ended(&mut self, reply: Incoming, finish: Option<Finish>, broken: Option<Ending>) -> (State, Vec<Effect>) {
        let interrupted = broken.is_some();
        let (whole, shown) = reply.end(if broken.is_some() { None } else { finish.as_ref() });
        let mut effects = show(shown);
        let Whole { words, raw, mut asked } = whole;
        if interrupted {
            asked.retain(|asked| !asked.wants_answer());
        }
        let nothing = words.is_empty() && raw.is_none() && asked.is_empty();
        let ending = match broken {
            Some(ending) => ending,
            // After answers a model may have nothing to add.
            None if nothing && self.round == 1 => Ending::Failed(Cause::Empty),
            None => Ending::Done,
        };
        if nothing {
            effects.push(Effect::End(ending));
            return (State::Ended, effects);
        }
        let calls =
            asked.iter().filter_map(|asked| if let Asked::Call(call) = asked { Some(call.clone()) } else { None });
        let said = Said { words, raw, calls: calls.collect(), finish, interrupted };
        if !self.rules.commands {
            // No tool was offered: the calls are kept with the node, and there is nobody to run them.
            asked.clear();
        }
        effects.push(Effect::Save(said));
        (State::Saving { asked, ending }, effects)
    }

    fn saving(&mut self, mut asked: Vec<Asked>, ending: Ending, input: Input) -> (State, Vec<Effect>) {
        match input {
            Input::Saved => {
                let mut goes_on = asked.iter().any(Asked::wants_answer);
                let mut ending = ending;
                if goes_on && self.cancelled {
                    asked.retain(|asked| !asked.wants_answer());
                    (goes_on, ending) = (false, Ending::Cancelled);
                }
                if asked.is_empty() {
                    return (State::Ended, vec![Effect::End(ending)]);
                }
                (State::Running { goes_on, ending }, vec![Effect::Run(asked)])
            }
            _ => (State::Saving { asked, ending }, Vec::new()),
        }
    }

    fn running(&mut self, goes_on: bool, ending: Ending, input: Input) -> (State, Vec<Effect>) {
        match input {
            Input::Answered { .. } if !goes_on => (State::Ended, vec![Effect::End(ending)]),
            Input::Answered { .. } if self.cancelled => (State::Ended, vec![Effect::End(Ending::Cancelled)]),
            Input::Answered { open } => {
                if open {
                    // One to do the next item in, and one to say what came of it.
                    self.last = self.last.max((self.round + 2).min(Rules::MOST));
                }
                if self.round >= self.last {
                    return (State::Ended, vec![Effect::End(Ending::Rounds)]);
                }
                self.round += 1;
                let reply = Incoming::new(self.rules.commands);
                (State::Streaming { reply, stopped: false }, vec![Effect::Ask { round: self.round }])
            }
            _ => (State::Running { goes_on, ending }, Vec::new()),
        }
    }
}

fn show(text: String) -> Vec<Effect> {
    if text.is_empty() { Vec::new() } else { vec![Effect::Show(text)] }
}
