//! Extractors whose rejections have the server's error shape, and pages of lists.

use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::{HeaderMap, request::Parts};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeOwned},
};
use utoipa::{IntoParams, ToSchema};

use super::error::ApiError;

/// Largest page of a list.
const MAX_PAGE: u32 = 1_000;

/// JSON body of a request.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let Json(body) = Json::<T>::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// Query parameters of a request.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(params) = Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(params))
    }
}

/// Parameters of the path.
pub(super) struct Route<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Route<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(route) = Path::<T>::from_request_parts(parts, state).await?;
        Ok(Self(route))
    }
}

/// Returns the number of the last event that a reconnecting client has: of the header `Last-Event-ID`, else `after`.
pub(super) fn last_event(headers: &HeaderMap, after: Option<u64>) -> Result<Option<u64>, ApiError> {
    let Some(id) = headers.get("last-event-id").filter(|id| !id.is_empty()) else { return Ok(after) };
    let number = id.to_str().ok().and_then(|id| id.parse().ok());
    number.map(Some).ok_or_else(|| ApiError::invalid("Last-Event-ID is no number of an event"))
}

/// Position and size of a page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageParams {
    /// Cursor of the previous page's `next`.
    after: Option<String>,
    /// Number of entries, 1 to 1000 [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    #[serde(default, deserialize_with = "limit_up_to::<MAX_PAGE, _>")]
    limit: Option<u32>,
}

/// Reads a number of entries from 1 to `MOST`.
pub(super) fn limit_up_to<'de, const MOST: u32, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let limit = Option::<u32>::deserialize(from)?;
    match limit {
        Some(limit) if !(1..=MOST).contains(&limit) => {
            Err(de::Error::custom(format!("limit is not between 1 and {MOST}")))
        }
        limit => Ok(limit),
    }
}

impl PageParams {
    /// Returns the number of entries.
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(100) as usize
    }

    /// Returns the number of entries to read for a page and its cursor.
    pub(super) fn read_limit(&self) -> u32 {
        self.limit.unwrap_or(100) + 1
    }

    /// Returns the number of entries that the first page and its cursor need; 0: all, for a page after another one.
    pub(super) fn first_limit(&self) -> u32 {
        if self.after.is_none() { self.read_limit() } else { 0 }
    }

    /// Returns the cursor as a number; 0 without one.
    pub(super) fn after_number(&self) -> Result<u64, ApiError> {
        let Some(after) = &self.after else { return Ok(0) };
        after.parse().map_err(|_| ApiError::invalid(format!("{after:?} is no cursor")))
    }

    /// Returns the page of a complete list. The cursor is an entry's key.
    pub(super) fn cut<T>(&self, entries: Vec<T>, key: impl Fn(&T) -> String) -> Result<Page<T>, ApiError> {
        let start = match &self.after {
            None => 0,
            Some(after) => match entries.iter().position(|entry| key(entry) == *after) {
                Some(at) => at + 1,
                None => return Err(ApiError::invalid(format!("{after:?} is no cursor of this list"))),
            },
        };
        let more = entries.len() > start + self.limit();
        let data: Vec<T> = entries.into_iter().skip(start).take(self.limit()).collect();
        let next = data.last().filter(|_| more).map(key);
        Ok(Page { data, next })
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Page<T> {
    /// Entries.
    pub(super) data: Vec<T>,
    /// Cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page of at most `limit` of the entries. Another page follows if there are more.
    pub(super) fn of(mut entries: Vec<T>, limit: usize, key: impl Fn(&T) -> String) -> Self {
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(key);
        Self { data: entries, next }
    }
}
