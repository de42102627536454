//! Imports: a file with conversations as an upload, in the formats of `loom import`.

use std::io::{self, BufRead as _, BufReader};

use axum::{
    Json,
    body::Body as RequestBody,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::changes::require_permission;
use crate::{
    archive::{self, ArchiveError, Format, ImportOptions, Imported},
    serve::{
        access::Caller,
        body_io::{BodyReader, is_too_long, read_body},
        error::{ApiError, Result},
        extract::Params,
        state::AppState,
        token::TokenScope,
    },
    tools::Tool,
    types::first_words,
};

/// Maximum characters of a file's name in the report.
const MAX_NAME_CHARS: usize = 100;

/// First bytes of files that cannot be read as a stream.
const PACKED: [(&[u8], &str); 2] = [(b"PK\x03\x04", "an archive"), (b"SQLite format 3\0", "a database")];

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(import_file))
}

/// File to import.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ImportParams {
    /// Format, such as `loomtree`, `claude-code`, `chatgpt` or `openai-chat` [default: detected].
    format: Option<String>,
    /// True to read and count only.
    #[serde(default)]
    dry_run: bool,
    /// Name of the file, for the report.
    name: Option<String>,
}

/// Imports the conversations of a file, which is the body of the request. What is known already is skipped, so an upload can
/// be repeated. Items that cannot be read are in the report with their place. A file can name agents, sessions and
/// documents, so this needs a token of scope admin for the whole file.
#[utoipa::path(post, path = "/imports", tag = "trees", params(ImportParams), request_body(content = String, description = "The file", content_type = "application/octet-stream"), responses((status = OK, body = Imported)))]
async fn import_file(
    State(state): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    Params(params): Params<ImportParams>,
    body: RequestBody,
) -> Result<Json<Imported>> {
    caller.require(TokenScope::Admin)?;
    caller.require_whole_file()?;
    let max_bytes = state.settings.limits.import_bytes;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > max_bytes) {
        return Err(too_large(max_bytes));
    }
    let format = params.format.as_deref().filter(|name| *name != "auto");
    if let Some(name) = format.filter(|name| Format::of_name(name).is_none_or(Format::is_database)) {
        let names: Vec<&str> = Format::ALL.iter().filter(|format| !format.is_database()).map(|f| f.as_str()).collect();
        return Err(ApiError::invalid(format!("{name:?} is none of: auto, {}", names.join(", "))));
    }
    let options = ImportOptions::default().dry_run(params.dry_run).format(format.and_then(Format::of_name));
    let name = first_words(params.name.as_deref().unwrap_or("the upload"), MAX_NAME_CHARS);
    let imported = read_body(body, max_bytes, move |reader| {
        let actor = require_permission(&state, &caller, Tool::Respond)?;
        let mut input = BufReader::with_capacity(64 << 10, reader);
        check_magic(&mut input, max_bytes)?;
        let imported = archive::import_with(&actor, options, &name, &mut input, &mut |_| {});
        let imported = imported.map_err(|error| match error {
            ArchiveError::Io(error) => read_error(&error, max_bytes),
            other => other.into(),
        })?;
        if !imported.is_dry_run {
            state.metrics.appends.inc_by(imported.nodes);
        }
        Ok(imported)
    });
    Ok(Json(imported.await?))
}

/// Refuses files that cannot be read as a stream.
fn check_magic(input: &mut BufReader<BodyReader>, max_bytes: u64) -> Result<()> {
    let head = input.fill_buf().map_err(|error| read_error(&error, max_bytes))?;
    match PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
        None => Ok(()),
        Some((_, what)) => {
            let message = format!("the upload is {what}");
            let error = ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message);
            Err(error.hint("send the JSON files in it, or import it with `loom import`"))
        }
    }
}

fn read_error(error: &io::Error, max_bytes: u64) -> ApiError {
    if is_too_long(error) { too_large(max_bytes) } else { ApiError::invalid(format!("reading the upload: {error}")) }
}

fn too_large(max_bytes: u64) -> ApiError {
    let message = format!("an upload has at most {max_bytes} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).hint(
        "`loom serve --max-import BYTES` raises the limit; what was imported stays, and an import can be repeated",
    )
}
