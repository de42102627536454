//! Imports: a file with conversations as an upload, in the formats of `loom import`.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    sync::atomic::AtomicBool,
};

use axum::{
    Json,
    body::Body as RequestBody,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use serde::Deserialize;
use tempfile::TempDir;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    interchange::{self, Format, ImportOptions, Imported, InterchangeError},
    ops::{Actor, OpsError},
    serve::{
        blocking_body::{BodyReader, is_too_long, read_body},
        caller::AdminCaller,
        error::{ApiError, Result},
        extractors::Params,
        state::AppState,
    },
    store::StoreError,
    tools::Tool,
    types::first_words,
};

/// Maximum characters of a file's name in the report.
const MAX_NAME_CHARS: usize = 100;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(import_file))
}

/// File to import.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ImportParams {
    /// Format, such as `loomtree`, `claude-code`, `chatgpt` or `openai-chat` [default: detected].
    format: Option<String>,
    /// True to read and count only.
    #[serde(default)]
    dry_run: bool,
    /// Name of the file, for the report.
    name: Option<String>,
}

/// Imports the conversations of a file, which is the body of the request: text, a database of another program, or the zip
/// archive of a data export. What is known already is skipped, so an upload can
/// be repeated. Items that cannot be read are in the report with their place. A file can name agents, sessions and
/// documents, so this needs a token of scope admin for the whole file.
#[utoipa::path(post, path = "/imports", tag = "trees", params(ImportParams), request_body(content = String, description = "The file", content_type = "application/octet-stream"), responses((status = OK, body = Imported)))]
async fn import_file(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    headers: HeaderMap,
    Params(params): Params<ImportParams>,
    body: RequestBody,
) -> Result<Json<Imported>> {
    caller.require_whole_file()?;
    let max_bytes = state.settings.limits.import_bytes;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > max_bytes) {
        return Err(too_large(max_bytes));
    }
    let format = params.format.as_deref().filter(|name| *name != "auto");
    if let Some(name) = format.filter(|name| Format::of_name(name).is_none()) {
        return Err(ApiError::invalid(format!("{name:?} is none of: auto, {}", Format::names().join(", "))));
    }
    let options = ImportOptions::default().dry_run(params.dry_run).max_unpacked(max_bytes);
    let options = options.format(format.and_then(Format::of_name));
    let name = first_words(params.name.as_deref().unwrap_or("the upload"), MAX_NAME_CHARS);
    let imported = read_body(body, max_bytes, move |reader| {
        let actor = state.actor_for(&caller, Tool::Respond)?;
        let mut input = BufReader::with_capacity(64 << 10, reader);
        let imported = import_upload(&actor, options, &name, &mut input).map_err(|error| match error {
            InterchangeError::Io(error) => read_error(&error, max_bytes),
            InterchangeError::Ops(OpsError::Store(StoreError::CannotOpen { cause, .. })) => {
                ApiError::invalid(format!("{name} cannot be read: {cause}"))
            }
            other => other.into(),
        })?;
        if !imported.is_dry_run {
            state.metrics.appends.inc_by(imported.nodes);
        }
        Ok(imported)
    });
    Ok(Json(imported.await?))
}

/// Imports an upload. Archives and databases cannot be read as streams, so they are first written to a temporary file.
fn import_upload(
    actor: &Actor,
    options: ImportOptions,
    name: &str,
    input: &mut BufReader<BodyReader>,
) -> Result<Imported, InterchangeError> {
    let head = input.fill_buf()?;
    if head.starts_with(interchange::ZIP_MAGIC) {
        // The file has no name, so it ends with the request, even if the server is killed.
        let mut file = tempfile::tempfile()?;
        io::copy(input, &mut file)?;
        return interchange::import_zip(actor, options, name, file, &mut |_| {}, &AtomicBool::new(false));
    }
    if head.starts_with(interchange::SQLITE_MAGIC) {
        let folder = private_folder()?;
        let path = folder.path().join("upload.db");
        io::copy(input, &mut File::create_new(&path)?)?;
        return interchange::import_database(actor, options, name, &path);
    }
    interchange::import_with(actor, options, name, input, &mut |_| {})
}

/// Creates a temporary folder that only this user can read. It is deleted when dropped.
fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("loom-upload-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir()
}

fn read_error(error: &io::Error, max_bytes: u64) -> ApiError {
    if is_too_long(error) { too_large(max_bytes) } else { ApiError::invalid(format!("reading the upload: {error}")) }
}

fn too_large(max_bytes: u64) -> ApiError {
    let message = format!("an upload has at most {max_bytes} bytes, also after unpacking");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).hint(
        "`loom serve --max-import BYTES` raises the limit; what was imported stays, and an import can be repeated",
    )
}
