//! Events: the journal as server-sent events. The id of an event is its number in the journal, so a client that
//! reconnects with the last id misses nothing.

use std::collections::HashSet;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response, sse::Event},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::ServerSentEvent;
use crate::{
    id::TreeId,
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        event_stream::{self, ClientEvents, EventSource},
        extractors::{Params, last_event},
        journal_tail::JournalTail,
        state::AppState,
    },
    store::JournalFilter,
    types::{JournalEntry, Op},
};

/// Journal entries that a stream reads at once.
const BATCH: u32 = 512;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(events))
}

/// Start of a stream.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct EventParams {
    /// Number of the last known journal entry [default: the newest]. `Last-Event-ID` has precedence.
    after: Option<u64>,
    /// Only changes of this tree.
    #[param(value_type = Option<String>)]
    tree: Option<TreeId>,
}

/// Streams changes of all processes. Events are `change` with a journal entry, `resync` after a purge (read again what
/// is shown), and `bye` when the server stops.
#[utoipa::path(get, path = "/events", tag = "events", params(EventParams), responses((status = OK, description = "Server-sent events", content_type = "text/event-stream", body = ServerSentEvent)))]
async fn events(
    State(state): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<Response> {
    if let Some(tree) = params.tree {
        let caller = caller.clone();
        state.run(move |state| state.tree(&caller, &tree.to_string())).await?;
    }
    let slot = state.rates.open_stream(&caller)?;
    let newest = state.journal.borrow().seq;
    let after = last_event(&headers, params.after)?.unwrap_or(newest);
    let mut reader = EventReader {
        journal: state.journal.clone(),
        events: ClientEvents::new(state, caller, slot),
        tree: params.tree,
        after,
        visible: HashSet::new(),
    };
    // A number above the newest belongs to another file, or to one that was restored from a backup.
    if after > newest {
        reader.after = newest;
        reader.events.push(Event::default().event("resync").id(newest.to_string()).data("{}"));
    }
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))];
    Ok((unbuffered, event_stream::from_source(reader)).into_response())
}

/// Reads the journal for one client. It holds at most one batch of entries, however slow the client is.
struct EventReader {
    events: ClientEvents,
    journal: tokio::sync::watch::Receiver<JournalTail>,
    tree: Option<TreeId>,
    after: u64,
    /// Trees that the caller may see, as far as they were looked up.
    visible: HashSet<TreeId>,
}

impl EventSource for EventReader {
    fn events(&mut self) -> &mut ClientEvents {
        &mut self.events
    }

    async fn read(&mut self) -> Option<()> {
        if self.journal.borrow_and_update().seq > self.after {
            let read = self.fill().await;
            return read.inspect_err(|error| tracing::warn!(error = error.message(), "an event stream ended")).ok();
        }
        let ClientEvents { state, caller, .. } = &self.events;
        tokio::select! {
            () = state.shutdown.cancelled() => self.events.say_bye(),
            () = state.revoked(caller) => return None,
            changed = self.journal.changed() => changed.ok()?,
        }
        Some(())
    }
}

impl EventReader {
    /// Puts the next entries into the queue: those of the tail that all streams share, else a page of the store.
    async fn fill(&mut self) -> Result<()> {
        let tail = self.journal.borrow().clone();
        let shared: Option<Vec<_>> = tail.after(self.after).map(Iterator::collect);
        if let Some(entries) = shared {
            self.after = tail.seq;
            for (entry, json) in entries {
                self.push(entry, json).await?;
            }
            return Ok(());
        }
        let after = self.after;
        let entries = self
            .events
            .state
            .run(move |state| {
                let filter = JournalFilter { after, limit: BATCH, oldest_first: true, ..JournalFilter::default() };
                Ok(state.loom().snapshot()?.journal(filter)?)
            })
            .await?;
        // Numbers without an entry are skipped, so that the stream continues.
        self.after = entries.last().map_or(tail.seq.max(after), |entry| entry.seq);
        for entry in entries {
            self.push(&entry, &serde_json::to_string(&entry).map_err(ApiError::internal)?).await?;
        }
        Ok(())
    }

    /// Puts the events of an entry into the queue, if the caller may see it.
    async fn push(&mut self, entry: &JournalEntry, json: &str) -> Result<()> {
        if !self.shows(entry).await? {
            return Ok(());
        }
        let seq = entry.seq.to_string();
        if entry.op == Op::Purge {
            self.events.push(Event::default().event("resync").id(seq.clone()).data("{}"));
        }
        self.events.push(Event::default().event("change").id(seq).data(json));
        Ok(())
    }

    async fn shows(&mut self, entry: &JournalEntry) -> Result<bool> {
        if self.tree.is_some_and(|tree| entry.tree != Some(tree)) {
            return Ok(false);
        }
        let Some(tree) = entry.tree else { return Ok(self.events.caller.project.is_none()) };
        if self.events.caller.project.is_none() {
            return Ok(true);
        }
        if self.visible.contains(&tree) {
            return Ok(true);
        }
        let caller = self.events.caller.clone();
        let visible = self
            .events
            .state
            .run(move |state| Ok(state.loom().snapshot()?.tree(tree)?.is_some_and(|tree| caller.can_see(&tree))))
            .await?;
        // A tree that is not visible may come to the project later.
        if visible {
            self.visible.insert(tree);
        }
        Ok(visible)
    }
}
