//! Answers that are streams of server-sent events: of a task that sends them, or of a source that is read for one client.

use std::{collections::VecDeque, convert::Infallible, future::Future, time::Duration};

use axum::response::{
    IntoResponse,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::mpsc;

use super::{caller::Caller, metrics::OpenStream, rate_limit::StreamGuard, state::AppState};

/// Interval of the comments that keep a silent stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Returns the answer that sends these events.
pub(super) fn answer(events: impl Stream<Item = Event> + Send + 'static) -> impl IntoResponse {
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// Returns the sender of a task's events and the answer that sends them. A task whose client went away continues.
pub(super) fn from_task() -> (mpsc::UnboundedSender<Event>, impl IntoResponse) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let events =
        stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|event| (event, receiver)) });
    (sender, answer(events))
}

/// Events for one client until its token is revoked.
pub(super) struct ClientEvents {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    queue: VecDeque<Event>,
    has_ended: bool,
    _guards: (StreamGuard, OpenStream),
}

impl ClientEvents {
    pub(super) fn new(state: AppState, caller: Caller, slot: StreamGuard) -> Self {
        let _guards = (slot, state.metrics.open_stream());
        Self { state, caller, queue: VecDeque::new(), has_ended: false, _guards }
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    /// Adds the last event.
    pub(super) fn end(&mut self, event: Event) {
        self.push(event);
        self.has_ended = true;
    }

    /// Adds the last event of a server that stops.
    pub(super) fn say_bye(&mut self) {
        self.end(Event::default().event("bye").data("{}"));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// A source of events that is read for one client, as far as the client reads.
pub(super) trait EventSource: Send + 'static {
    /// Returns the events that were read.
    fn events(&mut self) -> &mut ClientEvents;

    /// Reads further events, or waits until there may be some. `None` ends the stream.
    fn read(&mut self) -> impl Future<Output = Option<()>> + Send;
}

/// Returns the answer that sends the events of a source.
pub(super) fn from_source(source: impl EventSource) -> impl IntoResponse {
    answer(stream::unfold(source, |mut source| async move {
        loop {
            let events = source.events();
            if !events.state.is_allowed(&events.caller) {
                return None;
            }
            if let Some(event) = events.queue.pop_front() {
                return Some((event, source));
            }
            if events.has_ended {
                return None;
            }
            source.read().await?;
        }
    }))
}
