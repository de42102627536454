//! What is about the agent itself: help, thoughts, decisions.

use serde_yaml::{Mapping, Value};

use super::{
    Code, Failure, Here, Outcome, Runner, Said,
    change::not_empty,
    frame::{id, quoted},
};
use crate::{
    arrow::DecisionKind,
    model::{EdgeKind, Parent, first_words, one_line},
    ops::Draft,
    tools::{self, Extra, Tool},
};

/// Decisions, and as many constraints, that a session's state holds: the last ones.
const KEPT: usize = 10;
/// Characters of one of them, so that the state stays under about 1,000 tokens.
const LONGEST: usize = 200;

/// That there is no tool of this name, and which are nearest to it.
pub(super) fn unknown(name: &str, extras: &[Extra]) -> Failure {
    let wanted = name.trim().to_lowercase();
    let failure = Failure::new(Code::NotFound, format!("no tool {}", quoted(name)));
    let mut near: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    near.extend(extras.iter().map(|extra| extra.name.as_str()));
    near.sort_by_key(|tool| strsim::osa_distance(tool, &wanted));
    near.truncate(3);
    failure.hint(format!("did you mean {}? → help lists all", near.join(", ")))
}

impl Runner<'_> {
    pub(super) fn help(&self, name: Option<&str>) -> Outcome {
        let extras = self.host.tools();
        let Some(name) = name else { return Ok(tools::overview(self.agent.profile.permissions, extras).into()) };
        if let Some(extra) = self.extra(name) {
            return Ok(Said::about(tools::explain_extra(extra), name));
        }
        let wanted = name.trim().to_lowercase();
        let found = Tool::ALL.iter().copied().find(|tool| {
            let spec = tool.spec();
            spec.name == wanted || spec.synonyms.contains(&wanted.as_str())
        });
        match found {
            Some(tool) => Ok(Said::about(tools::explain(tool), tool.name())),
            None => Err(unknown(name, extras)),
        }
    }

    /// A thought stays beside the position: it is nobody's turn.
    pub(super) fn think(&self, here: &Here, thought: Option<&str>) -> Outcome {
        let thought = thought.unwrap_or("").trim();
        not_empty(thought, "a thought")?;
        let draft = Draft { kind: Some(EdgeKind::Thought), ..Draft::text(thought) };
        let added = self.added(&self.actor().append(Parent::Node(here.position.id), draft)?)?;
        Ok(format!("✓ kept thought {} at {}", id(&added), id(&here.position)).into())
    }

    /// Writes a decision or constraint into the session's state, with the turn in which it was made.
    pub(super) fn decide(&self, here: &Here, words: &str, kind: Option<DecisionKind>) -> Outcome {
        not_empty(words, "a decision")?;
        let (key, name) = match kind {
            None | Some(DecisionKind::Decision) => ("key_decisions", "decision"),
            Some(DecisionKind::Constraint) => ("constraints", "constraint"),
        };
        let broken = |_| Failure::new(Code::Conflict, "the session's state is not the register it should be");
        let mut state: Mapping = match here.session.state.as_deref().map(str::trim) {
            None | Some("") => Mapping::new(),
            Some(text) => serde_yaml::from_str(text).map_err(broken)?,
        };
        let words = first_words(&one_line(words), LONGEST);
        let line = format!("{words} (turn {})", here.session.turns);
        let list = state.entry(key.into()).or_insert_with(|| Value::Sequence(Vec::new()));
        let Value::Sequence(list) = list else {
            return Err(Failure::new(Code::Conflict, format!("{key} of the session's state is no list")));
        };
        list.push(line.into());
        let over = list.len().saturating_sub(KEPT);
        list.drain(..over);
        self.actor().set_state(serde_yaml::to_string(&state).map_err(broken)?)?;
        Ok(format!("✓ recorded {name}: {} (turn {})", quoted(&words), here.session.turns).into())
    }
}
