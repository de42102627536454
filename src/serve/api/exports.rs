//! Exports: a tree as a download, in the formats of `loom export`.

use std::io::{self, Write};

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::NodeId,
    interchange::{
        export::{self, ExportFormat, ExportOptions, ExportReport, LeafChoice, markdown},
        jsonl,
    },
    serve::{
        blocking_body::written_body,
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Params, Route},
        state::AppState,
    },
    types::Tree,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(export_tree)).routes(routes!(export_report))
}

/// Form and content of an export.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ExportParams {
    /// `jsonl` (can be imported again), `markdown` and `prose` (the path to `node`), `openai-chat`, `sharegpt`, `preference`,
    /// `openai-preference`, `dot`, `mermaid` or `html` [default: jsonl].
    #[serde(default)]
    format: Option<String>,
    /// Only the path to this node.
    #[param(value_type = Option<String>)]
    node: Option<NodeId>,
    /// True for the conversations that end at bookmarked nodes only.
    #[serde(default)]
    bookmarked: bool,
    /// Kinds that are left out otherwise, separated by commas: pruned, excluded, thoughts.
    #[serde(default)]
    include: String,
}

/// Form of an export.
#[derive(Debug, Clone, Copy)]
enum ExportKind {
    Lossless,
    Markdown,
    Prose,
    Training(ExportFormat),
}

impl ExportParams {
    fn kind(&self) -> Result<ExportKind> {
        let name = self.format.as_deref().unwrap_or("jsonl");
        match name {
            "jsonl" => Ok(ExportKind::Lossless),
            "markdown" => Ok(ExportKind::Markdown),
            "prose" => Ok(ExportKind::Prose),
            _ => {
                let known = ExportFormat::NAMES.iter().find(|(known, _)| *known == name);
                let names: Vec<&str> = ExportFormat::NAMES.iter().map(|(name, _)| *name).collect();
                known.map(|(_, format)| ExportKind::Training(*format)).ok_or_else(|| {
                    let others = names.join(", ");
                    ApiError::invalid(format!("{name:?} is none of: jsonl, markdown, prose, {others}"))
                })
            }
        }
    }

    fn options(&self) -> Result<ExportOptions> {
        let leaves = match self.node {
            Some(node) => LeafChoice::One(node),
            None if self.bookmarked => LeafChoice::Bookmarked,
            None => LeafChoice::All,
        };
        let mut options = ExportOptions::default().leaves(leaves);
        for kind in self.include.split(',').map(str::trim).filter(|kind| !kind.is_empty()) {
            options = match kind {
                "pruned" => options.pruned(true),
                "excluded" => options.excluded(true),
                "thoughts" => options.thoughts(true),
                _ => return Err(ApiError::invalid(format!("{kind:?} is none of: pruned, excluded, thoughts"))),
            };
        }
        Ok(options)
    }
}

impl ExportKind {
    /// Returns the media type and the extension of a file.
    const fn media(self) -> (&'static str, &'static str) {
        match self {
            Self::Markdown => ("text/markdown; charset=utf-8", "md"),
            Self::Prose => ("text/plain; charset=utf-8", "txt"),
            Self::Training(ExportFormat::Dot) => ("text/vnd.graphviz; charset=utf-8", "dot"),
            Self::Training(ExportFormat::Mermaid) => ("text/plain; charset=utf-8", "mmd"),
            Self::Training(ExportFormat::Html) => ("text/html; charset=utf-8", "html"),
            Self::Lossless | Self::Training(_) => ("application/x-ndjson", "jsonl"),
        }
    }
}

/// Writes an export of a tree. A token of a project gets neither documents nor the settings of agents.
fn write(
    state: &AppState,
    caller: &Caller,
    tree: &Tree,
    (kind, options): (ExportKind, ExportOptions),
    out: &mut dyn Write,
) -> Result<ExportReport> {
    let snapshot = state.loom().snapshot()?;
    let node = match options.leaves {
        LeafChoice::One(node) => Some(state.node(caller, node)?),
        _ => None,
    };
    if let Some(node) = node.as_ref().filter(|node| node.tree != tree.id) {
        return Err(ApiError::not_found("node", node.id));
    }
    let reader = state.thought_reader(caller)?;
    let with_thoughts = matches!(kind, ExportKind::Lossless) || options.thoughts;
    if with_thoughts && reader.0.is_some() {
        return Err(ApiError::scope("this export has the thoughts of all agents; the token is limited to one agent"));
    }
    match kind {
        ExportKind::Lossless if node.is_some() || options.leaves == LeafChoice::Bookmarked => {
            Err(ApiError::invalid("jsonl is a whole tree; leave out node and bookmarked"))
        }
        ExportKind::Lossless => {
            let export = if caller.project.is_some() { jsonl::export_trees } else { jsonl::export };
            let written = export(&*snapshot, &[tree.id], out)?.nodes;
            Ok(ExportReport { written, ..ExportReport::default() })
        }
        ExportKind::Markdown | ExportKind::Prose => {
            let node = node.ok_or_else(|| ApiError::invalid("markdown and prose are a path; name its last node"))?;
            let mut path = snapshot.path_back(node.id, &[], 0)?;
            reader.retain_readable(&mut path);
            let mut report = ExportReport::default();
            report.retain(&mut path, options);
            let text = match kind {
                ExportKind::Prose => markdown::prose(&path, tree.mode),
                _ => markdown::path(&path, &snapshot.agents()?),
            };
            out.write_all(text.as_bytes()).map_err(ApiError::internal)?;
            Ok(report)
        }
        ExportKind::Training(format) => Ok(export::write(&*snapshot, tree.id, format, options, out)?),
    }
}

/// Exports a tree as a download. `POST /imports` restores the format `jsonl` exactly. With a token of a project, it holds
/// no documents and no settings of agents.
#[utoipa::path(get, path = "/trees/{tree}/export", tag = "trees", params(("tree" = String, Path), ExportParams), responses((status = OK, description = "The file", content((String = "application/x-ndjson"), (String = "text/markdown"), (String = "text/plain"), (String = "text/vnd.graphviz"), (String = "text/html")))))]
async fn export_tree(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(params): Params<ExportParams>,
) -> Result<Response> {
    let form = (params.kind()?, params.options()?);
    let slot = state.rates.open_stream(&caller)?;
    let asker = caller.clone();
    let tree = state.run(move |state| state.tree(&asker, &tree)).await?;
    let (media, extension) = form.0.media();
    // The lossless export and those for training are files of one folder.
    let form_name = match form.0 {
        ExportKind::Training(_) => {
            params.format.filter(|name| name != extension).map(|name| format!("{name}.")).unwrap_or_default()
        }
        _ => String::new(),
    };
    let name = format!("attachment; filename=\"{}.{form_name}{extension}\"", tree.id);
    let body = written_body(move |out| {
        let _slot = slot;
        write(&state, &caller, &tree, form, out).map(drop)
    })
    .await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(ApiError::internal)?),
        // A browser that shows the file runs nothing of it as this origin.
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ),
    ];
    Ok((headers, body).into_response())
}

/// Counts what an export would write and leave out. `jsonl` leaves nothing out.
#[utoipa::path(get, path = "/trees/{tree}/export/report", tag = "trees", params(("tree" = String, Path), ExportParams), responses((status = OK, body = ExportReport)))]
async fn export_report(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(params): Params<ExportParams>,
) -> Result<Json<ExportReport>> {
    let form = (params.kind()?, params.options()?);
    state
        .run(move |state| {
            let tree = state.tree(&caller, &tree)?;
            Ok(Json(write(state, &caller, &tree, form, &mut io::sink())?))
        })
        .await
}
