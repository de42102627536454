//! Dispatches of work items: settings of their conversations, and the message that begins a dispatch.
//!
//! Old messages leave the prompt, never the store. A summary in their place would be a model's words, so it is not
//! offered; recall finds what has left.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer, de};

use super::generation_driver::LEASE_DURATION;
use crate::{
    context::ContextOptions,
    ops::{Actor, ITEM_SESSION_LIFETIME, NodeDraft, OpsError, SessionDraft},
    types::{Agent, AuthorType, Node, Session, WorkItem},
};

/// Settings of the conversations of work items.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ConversationSettings {
    /// Time after which a conversation expires, from its start. Use does not prolong it.
    #[serde(deserialize_with = "duration")]
    pub session_expiration: Duration,
    /// Interval at which expired conversations are archived.
    #[serde(deserialize_with = "duration")]
    pub cleanup_interval: Duration,
    /// Handling of a conversation that exceeds the budget.
    pub token_strategy: TokenStrategy,
    /// Maximum tokens of a prompt. The prompt is also limited to four fifths of the model's window.
    pub max_tokens: u32,
    /// Number of newest messages that a prompt contains in any case.
    pub keep_recent_messages: u32,
    /// Projects by name: false starts a new conversation at each dispatch. Default: true.
    pub projects: BTreeMap<String, bool>,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self {
            session_expiration: ITEM_SESSION_LIFETIME,
            cleanup_interval: Duration::from_secs(60 * 60),
            token_strategy: TokenStrategy::default(),
            max_tokens: 100_000,
            keep_recent_messages: 10,
            projects: BTreeMap::new(),
        }
    }
}

/// Handling of a conversation that exceeds the token budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenStrategy {
    /// The system message and the newest messages that fit.
    #[default]
    SlidingWindow,
}

impl<'de> Deserialize<'de> for TokenStrategy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "sliding_window" => Ok(Self::SlidingWindow),
            "summarization" => Err(de::Error::custom(
                "token_strategy cannot be summarization: a model's summary would replace what was written; \
                 sliding_window keeps the words, and recall finds older ones",
            )),
            other => Err(de::Error::custom(format!("token_strategy {other:?} is not sliding_window"))),
        }
    }
}

/// Reads a duration such as `24h`, `90m` or `1h 30m`. Zero is refused.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|parsed| Duration::try_from(parsed).ok());
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| de::Error::custom(format!("{text:?} is not a duration such as 24h, 90m or 1h 30m")))
}

impl ConversationSettings {
    /// Returns the context options of a dispatch: at most `max_tokens` and four fifths of the window, and the newest
    /// messages in any case. `model_window` is in tokens.
    #[must_use]
    pub fn context(&self, options: ContextOptions, model_window: Option<usize>) -> ContextOptions {
        let options = options.limit_window(model_window);
        let budget = (options.window - options.window / 5).min(self.max_tokens);
        ContextOptions { reserve: Some(options.window - budget), recent: self.keep_recent_messages.max(1), ..options }
    }

    /// True if dispatches of a project continue the conversation of their item.
    #[must_use]
    pub fn continues(&self, project: &str) -> bool {
        self.projects.get(project).copied().unwrap_or(true)
    }
}

/// A message to the agent that works on an item.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Dispatch {
    /// Text of the message.
    pub content: String,
    /// System message of a new conversation.
    pub system: String,
    /// Properties of a new session.
    pub session: SessionDraft,
}

crate::types::setters!(Dispatch {
    /// Sets the text of the message.
    content(String);
    /// Sets the system message of a new conversation.
    system(String);
    /// Sets the properties of a new session.
    session(SessionDraft);
});

/// Finds or starts the session of an agent for a work item, and appends the message of `person` to it. Returns the
/// session and the node of the message, which a [`super::GenerateRequest`] continues. Until then, and for a minute at
/// most, the agent has the lease of the position: another dispatch conflicts. A dispatch that repeats the last message,
/// which has no answer because the model failed, continues that message.
///
/// ```
/// use loomtree::{prelude::*, session::{ConversationSettings, Dispatch, dispatch_item}, types::WorkItem};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// let (owner, agent) = (loom.actor(&loom.agent("owner")?), loom.agent("subject")?);
/// let item = WorkItem { project: "shop".to_owned(), external_ref: "SHOP-7".to_owned() };
/// let dispatch = Dispatch::default().content("Orders leak memory.".to_owned());
/// let (session, message) = dispatch_item(&owner, &agent, &item, dispatch, &ConversationSettings::default())?;
/// assert_eq!((message.session, message.turn), (Some(session.id), Some(2))); // after the system message
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If another agent generates in the session, or the store fails.
pub fn dispatch_item(
    person: &Actor,
    agent: &Agent,
    item: &WorkItem,
    dispatch: Dispatch,
    settings: &ConversationSettings,
) -> Result<(Session, Node), OpsError> {
    let loom = person.loom();
    let actor = loom.actor(agent);
    if !settings.continues(&item.project)
        && let Some(last) = loom.find_item_session(item, Some(agent.id()))?
    {
        actor.archive_session(last.id)?;
    }
    let draft = dispatch.session.lasting(Some(settings.session_expiration));
    let session = actor.session_for_item(item, &dispatch.system, draft)?;
    if let Some(message) = unanswered(person, &session, &dispatch.content)? {
        actor.in_session(session.id).lease(message.id, agent.id(), LEASE_DURATION).wait()?;
        return Ok((session, message));
    }
    let draft = NodeDraft::text(dispatch.content);
    let sent = person.send_and_lease(session.id, draft, agent.id(), LEASE_DURATION)?;
    let node = sent.nodes.first().ok_or_else(|| OpsError::missing("node", "of the message"))?.id;
    Ok((loom.session(session.id)?, loom.node(node)?))
}

/// Returns the message at a session's position if it is this text by this person, and has no answer and no agent that
/// generates one.
fn unanswered(person: &Actor, session: &Session, content: &str) -> Result<Option<Node>, OpsError> {
    let loom = person.loom();
    let last = session.position.map(|position| loom.node(position)).transpose()?;
    let (leases, now) = (loom.snapshot()?.leases(session.tree)?, loom.now());
    Ok(last.filter(|node| !leases.iter().any(|lease| lease.node == node.id && lease.until > now)).filter(|node| {
        node.author == person.agent()
            && node.author_type == AuthorType::Human
            && node.content == content
            && node.state.continuations == 0
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_units_and_summarization_is_refused_with_the_reason() {
        let read = |text: &str| serde_yaml::from_str::<ConversationSettings>(text).map_err(|error| error.to_string());
        assert_eq!(read("{}").unwrap(), ConversationSettings::default());
        let text = "session_expiration: 2h 30m\ncleanup_interval: 90s\ntoken_strategy: sliding_window\n\
            max_tokens: 5000\nkeep_recent_messages: 4\nprojects: {red: false}";
        let settings = read(text).unwrap();
        assert_eq!(settings.session_expiration, Duration::from_secs(9_000));
        assert_eq!((settings.cleanup_interval, settings.max_tokens), (Duration::from_secs(90), 5_000));
        assert!(!settings.continues("red") && settings.continues("blue"));
        assert!(read("token_strategy: summarization").unwrap_err().contains("a model's summary would replace"));
        for wrong in ["session_expiration: soon", "cleanup_interval: 0s", "session_expiration: -1h", "colour: red"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_prompt_takes_four_fifths_of_the_window_and_no_more_than_the_limit() {
        let settings = ConversationSettings::default();
        let budget = |window| settings.context(ContextOptions::default(), window).budget();
        assert_eq!((budget(Some(10_000)), budget(Some(100_000)), budget(None)), (8_000, 80_000, 100_000));
        assert_eq!(settings.context(ContextOptions::default(), None).recent, 10);
    }
}
