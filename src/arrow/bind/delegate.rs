//! The command `delegate`.

use super::{BindError, Binder, Bound};
use crate::arrow::{
    Command,
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};

impl Binder<'_, '_> {
    pub(super) fn delegate(&mut self) -> Bound {
        let context =
            self.text_for(&[OptionName::Context]).or_else(|| self.text_where(|arg| arg.noun == Some(Noun::Context)));
        let wait =
            match self.arguments.take(|arg| arg.key == Some(OptionName::Wait)).map(|arg| self.arguments.value(&arg)) {
                Some(said) => Some(matches!(said.to_ascii_lowercase().as_str(), "yes" | "true" | "on" | "1")),
                // `delegate "x" in the background`
                None if self.names(Noun::Background) && self.has(Prep::In) => Some(false),
                None => self.arguments.modifiers.waits,
            };
        let resume = self.node_option(OptionName::Resume, "resume: the id of the delegation")?;
        // `delegate resume z4k8`, `resume the delegation z4k8`
        let resumes =
            self.arguments.modifiers.resumes || matches!(self.verb, Verb::Resume | Verb::Continue | Verb::Try);
        let resume = if resume.is_none() && resumes { self.node() } else { resume };
        let goal = self.text_for(&[OptionName::Goal]).or_else(|| self.text_where(|arg| arg.noun == Some(Noun::Goal)));
        let lists = self.arguments.modifiers.lists || self.names(Noun::Delegation);
        let list = lists && self.arguments.items.is_empty();
        let goal = match goal {
            None if resume.is_some() || list => None,
            None => Some(self.content().map_err(|_| BindError::Missing("the goal, in quotes"))?),
            goal => goal,
        };
        if resume.is_some() && goal.is_some() {
            return Err(BindError::Missing("one of: the goal, resume:ID, list"));
        }
        let context = context.or_else(|| self.text_where(|arg| arg.prep == Some(Prep::With)));
        let list = list && goal.is_none() && resume.is_none();
        if list && context.is_some() {
            return Err(BindError::Missing("the goal, in quotes"));
        }
        Ok(Command::Delegate { goal, context, resume, list, wait })
    }
}
