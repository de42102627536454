//! Map of a whole tree, area by area: what is drawn of an area at its level of detail. The cost depends on the pixels of
//! the area; see [`crate::serve::map_area`].

use std::collections::HashMap;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::window::ids;
use crate::{
    exec::{AuthorNames, outline::OutlineReader},
    id::{AgentId, NodeId, TreeId},
    recall::cut_at,
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Params, Route},
        map_area::{MapArea, MapPoint},
        shape_cache::TreeShape,
        state::AppState,
    },
    session,
    store::{MapNode, Snapshot},
    types::{AuthorType, EdgeKind, Node, one_line},
};

/// Nodes of an area whose text is sent, at most.
const MAX_TEXTS: usize = 400;
/// Pixels of a row from which on texts are sent.
const TEXT_PIXELS: f64 = 14.0;
/// Bytes of a node's text.
const TEXT_BYTES: usize = 80;
/// Nodes that a request marks, at most.
const MAX_HITS: usize = 100;
/// Edges from a note to the message that it belongs to, at most.
const MAX_SIDE_STEPS: usize = 64;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(map)).routes(routes!(map_node))
}

/// Area of a map. A column is a depth; a row is a leaf, in the order of the outline.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MapParams {
    /// First column [default: 0].
    left: Option<f64>,
    /// Last column [default: the deepest].
    right: Option<f64>,
    /// First row [default: 0].
    top: Option<f64>,
    /// Last row [default: the last leaf].
    bottom: Option<f64>,
    /// Width of the whole map in pixels, at most 1e9 [default: 800].
    width: Option<f64>,
    /// Height of the whole map in pixels, at most 1e9 [default: 600].
    height: Option<f64>,
    /// Node at the cursor.
    #[param(value_type = Option<String>)]
    cursor: Option<NodeId>,
    /// Nodes to mark, such as hits of a search, at most 100, separated by commas.
    #[serde(default)]
    hits: String,
}

/// Author of nodes.
#[derive(Serialize, ToSchema)]
struct MapAuthor {
    name: String,
    author_type: AuthorType,
    /// Reference of the model that wrote the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

/// Node that is drawn by itself.
#[derive(Serialize, ToSchema)]
struct DrawnNode {
    id: NodeId,
    column: u32,
    /// Twice the row.
    y: u32,
    /// Index of the author.
    author: usize,
    /// Nodes of its branch, itself included.
    nodes: u32,
    /// Number of continuations, if there are several.
    branches: bool,
    /// Beginning of the text of a leaf, if there is room.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Drawing of an area of a map. Rows of positions are doubled, so that they are whole numbers.
#[derive(Serialize, ToSchema)]
struct MapAnswer {
    /// Columns of the whole map.
    columns: u32,
    /// Rows of the whole map.
    rows: u32,
    /// Nodes of the whole map.
    nodes: usize,
    /// True if the tree has changed since the shape of the map was read.
    stale: bool,
    authors: Vec<MapAuthor>,
    /// Runs of nodes without a branch: first column, last column, row, column and row of the branch point before, nodes
    /// of the branch, index of the author.
    #[schema(value_type = Vec<Vec<u32>>)]
    runs: Vec<[u32; 7]>,
    /// Branches drawn as one: first column, last column, first row, last row, column and row of the branch point before,
    /// nodes, index of the author of the first.
    #[schema(value_type = Vec<Vec<u32>>)]
    clusters: Vec<[u32; 8]>,
    /// Nodes that are drawn one by one.
    drawn: Vec<DrawnNode>,
    /// Path from the root to the cursor: column and row of each of its branch points and of its end.
    #[schema(value_type = Vec<Vec<u32>>)]
    path: Vec<MapPoint>,
    /// Column and row of each node to mark that the map shows.
    #[schema(value_type = Vec<Vec<u32>>)]
    hits: Vec<MapPoint>,
    /// Column and row of bookmarked nodes.
    #[schema(value_type = Vec<Vec<u32>>)]
    bookmarks: Vec<MapPoint>,
}

/// Returns what is drawn of an area of a tree's map: the whole map by default.
#[utoipa::path(get, path = "/trees/{tree}/map", tag = "trees", params(("tree" = String, Path), MapParams), responses((status = OK, body = MapAnswer)))]
async fn map(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(params): Params<MapParams>,
) -> Result<Json<MapAnswer>> {
    state
        .read(move |state| {
            let tree = state.tree(&caller, &tree)?.id;
            let snapshot = state.loom().snapshot()?;
            let (shape, stale) = state.shapes.get(&*snapshot, tree)?;
            let names = AuthorNames::read(&*snapshot, state.agent(&caller, None)?.id())?;
            let reader = MapReader { snapshot: &*snapshot, shape: &shape, names: &names, tree };
            Ok(Json(reader.answer(&params, stale)?))
        })
        .await
}

/// Reader of one map.
struct MapReader<'a> {
    snapshot: &'a dyn Snapshot,
    shape: &'a TreeShape,
    names: &'a AuthorNames,
    tree: TreeId,
}

/// Authors in the order of their first use.
#[derive(Default)]
struct AuthorList {
    found: HashMap<(AgentId, AuthorType, Option<String>), u32>,
    list: Vec<MapAuthor>,
}

impl AuthorList {
    fn index(&mut self, names: &AuthorNames, node: &MapNode) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let envelope = node.envelope.as_deref().filter(|_| node.author_type == AuthorType::Model);
        let model = envelope.and_then(session::model_name);
        *self.found.entry((node.author, node.author_type, model.clone())).or_insert_with(|| {
            let name = names.name(node.author).to_owned();
            self.list.push(MapAuthor { name, author_type: node.author_type, model });
            next
        })
    }
}

impl MapReader<'_> {
    fn answer(&self, params: &MapParams, stale: bool) -> Result<MapAnswer> {
        let shape = self.shape;
        let (columns, rows) = match shape.len() {
            0 => (0, 0),
            _ => (shape.deepest(0) + 1, shape.leaves(0)),
        };
        let area = area(params, columns, rows)?;
        let items = area.items(shape);
        let mut authors = AuthorList::default();
        let first = items.runs.iter().map(|run| run.first).chain(items.clusters.iter().map(|one| one.first));
        let numbers: Vec<u32> = first.chain(items.nodes.iter().copied()).collect();
        let seqs: Vec<u64> = numbers.iter().map(|node| shape.seq(*node)).collect();
        let mut found = Vec::with_capacity(numbers.len());
        for node in self.snapshot.map_nodes(&seqs)? {
            found.push(node.map(|node| (node.id, authors.index(self.names, &node))));
        }
        let author = |at: usize| found.get(at).copied().flatten().map_or(0, |(_, author)| author);
        let runs = items.runs.iter().enumerate().map(|(at, run)| {
            let [x, y] = run.from;
            [shape.depth(run.first), run.last_depth, shape.middle(run.first), x, y, shape.nodes(run.first), author(at)]
        });
        let clusters = items.clusters.iter().enumerate().map(|(at, one)| {
            let [x, y] = one.from;
            let (left, rows) = (shape.depth(one.first), [2 * one.rows[0], 2 * one.rows[1]]);
            [left, one.deepest, rows[0], rows[1], x, y, one.nodes, author(items.runs.len() + at)]
        });
        let texts = if area.row_pixels >= TEXT_PIXELS { self.texts(&items.nodes)? } else { HashMap::new() };
        let before = items.runs.len() + items.clusters.len();
        let drawn = items.nodes.iter().zip(&found[before..]).filter_map(|(node, found)| {
            let (id, author) = (*found)?;
            Some(DrawnNode {
                id,
                column: shape.depth(*node),
                y: shape.middle(*node),
                author: author as usize,
                nodes: shape.nodes(*node),
                branches: shape.nodes(*node) > 1 && shape.run_end(*node) == *node,
                text: texts.get(&shape.seq(*node)).cloned(),
            })
        });
        let (runs, clusters, drawn) = (runs.collect(), clusters.collect(), drawn.collect());
        Ok(MapAnswer {
            columns,
            rows,
            nodes: shape.len(),
            stale,
            authors: authors.list,
            runs,
            clusters,
            drawn,
            path: self.path(params.cursor, &area)?,
            hits: self.hits(&params.hits)?,
            bookmarks: shape.bookmarks.iter().map(|node| self.point(*node)).collect(),
        })
    }

    fn point(&self, node: u32) -> MapPoint {
        [self.shape.depth(node), self.shape.middle(node)]
    }

    /// Returns the beginnings of the leaves among some nodes, by sequence number.
    fn texts(&self, nodes: &[u32]) -> Result<HashMap<u64, String>> {
        let leaves = nodes.iter().filter(|node| self.shape.nodes(**node) == 1).take(MAX_TEXTS);
        let seqs: Vec<u64> = leaves.map(|node| self.shape.seq(*node)).collect();
        let folds = std::collections::HashSet::new();
        let outline = OutlineReader { snapshot: self.snapshot, versions: &[], folds: &folds, hoist: None };
        let mut texts = HashMap::with_capacity(seqs.len());
        for node in self.snapshot.nodes_at(&seqs)? {
            texts.insert(node.seq, beginning(&outline.selected_version(&node)?));
        }
        Ok(texts)
    }

    /// Returns the number of the place that a node belongs to; the nearest one above it, if the map has not got it yet.
    fn number(&self, id: NodeId) -> Result<Option<u32>> {
        let mut node = self.snapshot.node(id)?.filter(|node| node.tree == self.tree);
        for _ in 0..MAX_SIDE_STEPS {
            let Some(at) = node else { return Ok(None) };
            if let Some(number) = self.shape.find(at.seq) {
                return Ok(Some(number));
            }
            let original = at.version_of.or(at.edited_from).filter(|_| at.kind == EdgeKind::Version);
            node = original.or(at.parent).map(|id| self.snapshot.node(id)).transpose()?.flatten();
        }
        Ok(None)
    }

    /// Returns the branch points from the root to the cursor, without those that are within a pixel of the one before.
    fn path(&self, cursor: Option<NodeId>, area: &MapArea) -> Result<Vec<MapPoint>> {
        let Some(mut node) = cursor.map(|id| self.number(id)).transpose()?.flatten() else { return Ok(Vec::new()) };
        let mut path = vec![self.point(node)];
        let mut last = path[0];
        while let Some(parent) = self.shape.parent(node) {
            let here = self.point(parent);
            let [x, y] = [last[0].abs_diff(here[0]), last[1].abs_diff(here[1])];
            let is_near = f64::from(x) * area.column_pixels < 1.0 && f64::from(y) / 2.0 * area.row_pixels < 1.0;
            let is_run = self.shape.nodes(parent) == self.shape.nodes(node) + 1;
            if self.shape.parent(parent).is_none() || !(is_run || is_near) {
                path.push(here);
                last = here;
            }
            node = parent;
        }
        path.reverse();
        Ok(path)
    }

    fn hits(&self, list: &str) -> Result<Vec<MapPoint>> {
        let hits = ids(list)?;
        if hits.len() > MAX_HITS {
            return Err(ApiError::invalid(format!("a map marks at most {MAX_HITS} nodes")));
        }
        let mut points = Vec::with_capacity(hits.len());
        for hit in hits {
            points.extend(self.number(hit)?.map(|number| self.point(number)));
        }
        Ok(points)
    }
}

/// Returns the area of a request.
fn area(params: &MapParams, columns: u32, rows: u32) -> Result<MapArea> {
    let (columns, rows) = (f64::from(columns.max(1)), f64::from(rows.max(1)));
    let (width, height) = (params.width.unwrap_or(800.0), params.height.unwrap_or(600.0));
    let area = MapArea {
        left: params.left.unwrap_or(0.0),
        right: params.right.unwrap_or(columns),
        top: params.top.unwrap_or(0.0),
        bottom: params.bottom.unwrap_or(rows),
        column_pixels: width / columns,
        row_pixels: height / rows,
    };
    let sizes = [width, height].iter().all(|size| (1.0..=1e9).contains(size));
    let edges = [area.left, area.right, area.top, area.bottom].iter().all(|edge| edge.is_finite());
    if sizes && edges { Ok(area) } else { Err(ApiError::invalid("the area or the size of the map is out of range")) }
}

/// Returns the beginning of a node's text, in one line.
fn beginning(node: &Node) -> String {
    cut_at(&one_line(cut_at(node.content.trim_start(), TEXT_BYTES * 2)), TEXT_BYTES).to_owned()
}

/// Position on a map.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MapPosition {
    column: u32,
    row: u32,
}

/// Node at a position of a map.
#[derive(Serialize, ToSchema)]
struct MapNodeAnswer {
    id: NodeId,
    local_id: String,
    author: String,
    author_type: AuthorType,
    /// Beginning of the text, in one line.
    text: String,
    column: u32,
    /// Twice the row.
    y: u32,
    /// Nodes of its branch, itself included.
    nodes: u32,
    /// Leaves of its branch.
    leaves: u32,
}

/// Returns the node at a position of a tree's map: the node at that depth whose branch contains the row, or the last one
/// before it.
#[utoipa::path(get, path = "/trees/{tree}/map/node", tag = "trees", params(("tree" = String, Path), MapPosition), responses((status = OK, body = MapNodeAnswer)))]
async fn map_node(
    State(state): State<AppState>,
    caller: Caller,
    Route(tree): Route<String>,
    Params(position): Params<MapPosition>,
) -> Result<Json<MapNodeAnswer>> {
    state
        .read(move |state| {
            let tree = state.tree(&caller, &tree)?.id;
            let snapshot = state.loom().snapshot()?;
            let (shape, _) = state.shapes.get(&*snapshot, tree)?;
            let missing = || ApiError::not_found("node", format!("{}:{}", position.column, position.row));
            let number = shape.at(position.column, position.row).ok_or_else(missing)?;
            let place = snapshot.nodes_at(&[shape.seq(number)])?.pop().ok_or_else(missing)?;
            let folds = std::collections::HashSet::new();
            let outline = OutlineReader { snapshot: &*snapshot, versions: &[], folds: &folds, hoist: None };
            let node = outline.selected_version(&place)?;
            let names = AuthorNames::read(&*snapshot, state.agent(&caller, None)?.id())?;
            Ok(Json(MapNodeAnswer {
                id: node.id,
                local_id: node.local.to_string(),
                author: names.name(node.author).to_owned(),
                author_type: node.author_type,
                text: beginning(&node),
                column: shape.depth(number),
                y: shape.middle(number),
                nodes: shape.nodes(number),
                leaves: shape.leaves(number),
            }))
        })
        .await
}
