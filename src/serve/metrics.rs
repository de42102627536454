//! Metrics in the text format of Prometheus.

use std::{sync::atomic::AtomicI64, time::Duration};

use axum::http::Method;
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use crate::types::SessionCounts;

type Labels = Vec<(&'static str, String)>;

/// Counters of the server.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Histogram,
    /// Open streams of events and of generations.
    streams: Gauge<i64, AtomicI64>,
    /// Nodes that requests appended.
    pub(super) appends: Counter,
    tokens: Family<Labels, Counter>,
    /// Calls that the proxy could not record.
    pub(super) unrecorded: Counter,
    sessions: Family<Labels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("loom");
        let (requests, tokens) = (Family::<Labels, Counter>::default(), Family::<Labels, Counter>::default());
        let seconds = Histogram::new(exponential_buckets(0.000_1, 4.0, 10));
        let streams = Gauge::default();
        let (appends, unrecorded) = (Counter::default(), Counter::default());
        registry.register("requests", "Requests by route, method and status", requests.clone());
        registry.register_with_unit("request", "Time until the answer's header", Unit::Seconds, seconds.clone());
        registry.register("open_streams", "Open streams of events and generations", streams.clone());
        registry.register("appends", "Nodes that requests appended", appends.clone());
        registry.register("model_tokens", "Tokens that models reported, by direction", tokens.clone());
        registry.register("proxy_unrecorded", "Calls that the proxy could not record", unrecorded.clone());
        let sessions = Family::<Labels, Gauge>::default();
        registry.register("sessions", "Sessions by state: active, ended, expired", sessions.clone());
        Self { sessions, registry, requests, seconds, streams, appends, tokens, unrecorded }
    }
}

/// Counts an open stream while it lives.
pub(super) struct OpenStream(Gauge<i64, AtomicI64>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Counts an open stream of events or of a generation until the result is dropped.
    pub(super) fn open_stream(&self) -> OpenStream {
        self.streams.inc();
        OpenStream(self.streams.clone())
    }

    /// Counts an answered request. `route` is the pattern of the path, so that ids make no labels, nor does a method that no
    /// route has.
    pub(super) fn answered(&self, route: &str, method: &Method, status: u16, took: Duration) {
        let known =
            [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD, Method::OPTIONS];
        let method = if known.contains(method) { method.as_str() } else { "other" };
        let labels = vec![("route", route.to_owned()), ("method", method.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts the tokens of a model's reply.
    pub(super) fn used(&self, input: u64, output: u64) {
        for (direction, count) in [("input", input), ("output", output)] {
            self.tokens.get_or_create(&vec![("direction", direction.to_owned())]).inc_by(count);
        }
    }

    /// Sets the numbers of sessions.
    pub(super) fn set_sessions(&self, counts: SessionCounts) {
        for (state, count) in [("active", counts.active), ("ended", counts.ended), ("expired", counts.expired)] {
            let gauge = self.sessions.get_or_create(&vec![("state", state.to_owned())]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Encodes all metrics.
    pub(super) fn encode(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => {
                tracing::error!(%error, "the metrics cannot be encoded");
                String::new()
            }
        }
    }
}
