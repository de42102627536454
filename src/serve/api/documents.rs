//! Documents: list, read, write, revert. Tokens of a project cannot reach them.

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    markdown_tokens::{self, MarkdownToken},
    ops::DocumentEdit,
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    store::Receipt,
    tools::Tool,
    types::{Document, DocumentVersion},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_documents, create_document))
        .routes(routes!(read_document, write_document, remove_document))
        .routes(routes!(revert_document))
}

/// Lists documents by name.
#[utoipa::path(get, path = "/documents", tag = "documents", params(PageParams), responses((status = OK, body = Page<Document>)))]
async fn list_documents(
    State(state): State<AppState>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Document>>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            state.actor_for(&caller, Tool::Read)?;
            let mut documents = state.loom().snapshot()?.documents()?;
            documents.retain(|document| !document.removed);
            Ok(Json(page.cut(documents, |document| document.name.clone())?))
        })
        .await
}

/// A document to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewDocumentBody {
    /// Name, unique in the file.
    name: String,
    /// Markdown text.
    content: String,
}

/// A document and one of its versions.
#[derive(Serialize, ToSchema)]
struct DocumentAnswer {
    document: Document,
    version: DocumentVersion,
    /// Text of the version as Markdown tokens.
    markdown: Vec<MarkdownToken>,
    /// Bytes at the end of the text that `markdown` leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// Creates a document.
#[utoipa::path(post, path = "/documents", tag = "documents", request_body = NewDocumentBody, responses((status = CREATED, body = DocumentAnswer)))]
async fn create_document(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<NewDocumentBody>,
) -> Result<(StatusCode, Json<DocumentAnswer>)> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            state.actor_for(&caller, Tool::Write)?.create_document(&body.name, &body.content)?;
            Ok((StatusCode::CREATED, Json(document_answer(state, &body.name, 0)?)))
        })
        .await
}

/// Version of a document.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct VersionParams {
    /// Number of the version [default: the newest].
    version: Option<u64>,
}

/// Returns a document with its text.
#[utoipa::path(get, path = "/documents/{name}", tag = "documents", params(("name" = String, Path), VersionParams), responses((status = OK, body = DocumentAnswer)))]
async fn read_document(
    State(state): State<AppState>,
    caller: Caller,
    Route(name): Route<String>,
    Params(params): Params<VersionParams>,
) -> Result<Json<DocumentAnswer>> {
    caller.require_whole_file()?;
    if params.version == Some(0) {
        return Err(ApiError::invalid("versions count from 1"));
    }
    state
        .run(move |state| {
            state.actor_for(&caller, Tool::Read)?;
            Ok(Json(document_answer(state, &name, params.version.unwrap_or(0))?))
        })
        .await
}

fn document_answer(state: &AppState, name: &str, version: u64) -> Result<DocumentAnswer> {
    let document = state.loom().document(name)?;
    let found = state.loom().snapshot()?.document_version(document.id, version)?;
    let version = found.ok_or_else(|| ApiError::not_found("version", version))?;
    let (markdown, left_out) = markdown_tokens::tokens(&version.content);
    Ok(DocumentAnswer { document, version, markdown, left_out: Some(left_out).filter(|left_out| *left_out > 0) })
}

/// A change of a document.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum DocumentBody {
    /// Replaces the whole text.
    Whole {
        /// New text.
        content: String,
    },
    /// Adds text at the end.
    Append {
        /// Added text.
        content: String,
    },
    /// Adds text at the start.
    Prepend {
        /// Added text.
        content: String,
    },
    /// Replaces the body of a section.
    Section {
        /// Title of the section.
        section: String,
        /// New body.
        content: String,
    },
}

/// Version that a change was made from.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct BaseParams {
    /// Number of the version that the caller has read. If there is a later one, the answer is 409 and nothing changes.
    base: Option<u64>,
}

/// Writes a new version of a document.
#[utoipa::path(patch, path = "/documents/{name}", tag = "documents", params(("name" = String, Path), BaseParams), request_body = DocumentBody, responses((status = OK, body = DocumentAnswer)))]
async fn write_document(
    State(state): State<AppState>,
    caller: Caller,
    Route(name): Route<String>,
    Params(params): Params<BaseParams>,
    Body(body): Body<DocumentBody>,
) -> Result<Json<DocumentAnswer>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let edit = match body {
                DocumentBody::Whole { content } => DocumentEdit::Whole(content),
                DocumentBody::Append { content } => DocumentEdit::Append(content),
                DocumentBody::Prepend { content } => DocumentEdit::AtStart(content),
                DocumentBody::Section { section, content } => DocumentEdit::Replace { section, body: content },
            };
            let document = state.loom().document(&name)?;
            let actor = state.actor_for(&caller, Tool::Write)?;
            match params.base {
                Some(base) => actor.write_document_from(document.id, base, &edit)?,
                None => actor.write_document(document.id, &edit)?,
            };
            Ok(Json(document_answer(state, &name, 0)?))
        })
        .await
}

/// Removes a document from the lists. Its versions stay, and undo lists it again.
#[utoipa::path(delete, path = "/documents/{name}", tag = "documents", params(("name" = String, Path)), responses((status = OK, body = Receipt)))]
async fn remove_document(
    State(state): State<AppState>,
    caller: Caller,
    Route(name): Route<String>,
) -> Result<Json<Receipt>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let document = state.loom().document(&name)?;
            Ok(Json(state.actor_for(&caller, Tool::Write)?.remove_document(document.id)?))
        })
        .await
}

/// An earlier version.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RevertBody {
    /// Number of the version whose text becomes the newest.
    version: u64,
}

/// Makes the text of an earlier version the newest.
#[utoipa::path(post, path = "/documents/{name}/revert", tag = "documents", params(("name" = String, Path)), request_body = RevertBody, responses((status = OK, body = DocumentAnswer)))]
async fn revert_document(
    State(state): State<AppState>,
    caller: Caller,
    Route(name): Route<String>,
    Body(body): Body<RevertBody>,
) -> Result<Json<DocumentAnswer>> {
    caller.require_whole_file()?;
    state
        .run(move |state| {
            let document = state.loom().document(&name)?;
            state.actor_for(&caller, Tool::Write)?.revert_document(document.id, body.version)?;
            Ok(Json(document_answer(state, &name, 0)?))
        })
        .await
}
