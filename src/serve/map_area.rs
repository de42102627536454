//! Part of a tree's map at a level of detail: runs of nodes, and clusters of branches that are too small to be drawn one
//! by one. Its size depends on the pixels of the area, not on the size of the tree.

use std::collections::HashSet;

use super::shape_cache::TreeShape;

/// Height below which branches are drawn together, in pixels.
const MIN_BRANCH_PIXELS: f64 = 3.0;
/// Runs and clusters of one area, at most. With more, larger branches are drawn together.
const MAX_ITEMS: usize = 4_000;
/// Runs shorter than this are drawn as part of the run before.
const MIN_RUN_PIXELS: f64 = 1.0;
/// Nodes of one area that are drawn one by one, at most.
const MAX_NODES: usize = 1_500;
/// Pixels of a column and a row from which on nodes are drawn one by one.
const NODE_PIXELS: [f64; 2] = [9.0, 6.0];

/// Area of a map. A column is a depth; a row is a leaf, in the order of the outline.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapArea {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) column_pixels: f64,
    pub(super) row_pixels: f64,
}

/// Position: a depth, and twice a row.
pub(super) type MapPoint = [u32; 2];

/// Nodes without a branch in between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MapRun {
    pub(super) first: u32,
    /// Depth of the last node.
    pub(super) last_depth: u32,
    /// Branch point that it continues; for the root itself.
    pub(super) from: MapPoint,
}

/// Branches drawn as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MapCluster {
    pub(super) first: u32,
    pub(super) deepest: u32,
    /// Rows of its branches.
    pub(super) rows: [u32; 2],
    pub(super) nodes: u32,
    pub(super) from: MapPoint,
}

/// Things to draw of an area.
#[derive(Debug, Default)]
pub(super) struct MapItems {
    pub(super) runs: Vec<MapRun>,
    pub(super) clusters: Vec<MapCluster>,
    /// Nodes that are drawn one by one.
    pub(super) nodes: Vec<u32>,
}

impl MapArea {
    /// Returns what is drawn of a tree.
    pub(super) fn items(&self, shape: &TreeShape) -> MapItems {
        let mut least = MIN_BRANCH_PIXELS;
        loop {
            let mut walk = AreaWalk { area: self, shape, least, items: MapItems::default(), cells: HashSet::new() };
            if shape.len() == 0 || walk.walk() || least > 1e9 {
                walk.find_nodes();
                return walk.items;
            }
            least *= 2.0;
        }
    }

    fn shows_rows(&self, first: f64, last: f64) -> bool {
        last >= self.top && first <= self.bottom
    }

    /// Square of a few pixels that contains a point.
    fn cell(&self, column: u32, row: u32, pixels: f64) -> (i64, i64) {
        #[allow(clippy::cast_possible_truncation)] // a position in pixels
        let cell = |at: f64| (at / pixels).floor() as i64;
        (cell(f64::from(column) * self.column_pixels), cell(f64::from(row) * self.row_pixels))
    }
}

struct AreaWalk<'a> {
    area: &'a MapArea,
    shape: &'a TreeShape,
    /// Height below which branches are drawn together, in pixels.
    least: f64,
    items: MapItems,
    /// Places of clusters that are smaller than a few pixels: one is drawn at each.
    cells: HashSet<(i64, i64)>,
}

impl AreaWalk<'_> {
    /// Collects runs and clusters. Returns false if there are too many.
    fn walk(&mut self) -> bool {
        let shape = self.shape;
        let mut open = vec![(0, [0, shape.middle(0)])];
        while let Some((first, from)) = open.pop() {
            let last = shape.run_end(first);
            let end = [shape.depth(last), shape.middle(last)];
            let is_leaf = shape.nodes(last) == 1;
            let x = f64::from(end[0] - from[0]) * self.area.column_pixels;
            let y = f64::from(end[1].abs_diff(from[1])) / 2.0 * self.area.row_pixels;
            let is_hidden = !is_leaf && first > 0 && x < MIN_RUN_PIXELS && y < MIN_RUN_PIXELS;
            if !is_hidden && self.shows(from, end) {
                self.items.runs.push(MapRun { first, last_depth: end[0], from });
            }
            if !is_leaf && f64::from(end[0]) <= self.area.right {
                self.branches(last, if is_hidden { from } else { end }, &mut open);
            }
            if self.items.runs.len() + self.items.clusters.len() > MAX_ITEMS {
                return false;
            }
        }
        true
    }

    fn shows(&self, from: MapPoint, end: MapPoint) -> bool {
        let (first, last) = (from[1].min(end[1]), from[1].max(end[1]));
        f64::from(end[0]) >= self.area.left
            && f64::from(from[0]) <= self.area.right
            && self.area.shows_rows(f64::from(first) / 2.0, f64::from(last) / 2.0)
    }

    /// Visits the branches of a branch point: large ones are walked later, small ones drawn together.
    fn branches(&mut self, point: u32, from: MapPoint, open: &mut Vec<(u32, MapPoint)>) {
        let shape = self.shape;
        let mut cluster: Option<MapCluster> = None;
        let (mut child, end) = (point + 1, shape.end(point));
        while child < end {
            let (branch, first) = (child, shape.row(child));
            let last = first + shape.leaves(branch);
            child = shape.end(branch);
            if !self.area.shows_rows(f64::from(first), f64::from(last)) {
                self.add(cluster.take());
                continue;
            }
            if f64::from(last - first) * self.area.row_pixels >= self.least {
                self.add(cluster.take());
                open.push((branch, from));
                continue;
            }
            let (deepest, nodes) = (shape.deepest(branch), shape.nodes(branch));
            let joined = match cluster {
                Some(one) => MapCluster {
                    rows: [one.rows[0], last],
                    deepest: one.deepest.max(deepest),
                    nodes: one.nodes + nodes,
                    ..one
                },
                None => MapCluster { first: branch, deepest, rows: [first, last], nodes, from },
            };
            cluster = Some(joined);
            if f64::from(last - joined.rows[0]) * self.area.row_pixels >= self.least {
                self.add(cluster.take());
            }
        }
        self.add(cluster);
    }

    fn add(&mut self, cluster: Option<MapCluster>) {
        let Some(cluster) = cluster else { return };
        let depth = self.shape.depth(cluster.first);
        if f64::from(cluster.deepest) < self.area.left || f64::from(cluster.from[0]) > self.area.right {
            return;
        }
        let width = f64::from(cluster.deepest - depth) * self.area.column_pixels;
        let height = f64::from(cluster.rows[1] - cluster.rows[0]) * self.area.row_pixels;
        let is_small = width < self.least && height < self.least;
        if !is_small || self.cells.insert(self.area.cell(depth, cluster.rows[0], self.least)) {
            self.items.clusters.push(cluster);
        }
    }

    /// Collects the nodes of the runs, if there is room for each.
    fn find_nodes(&mut self) {
        let area = self.area;
        if area.column_pixels < NODE_PIXELS[0] || area.row_pixels < NODE_PIXELS[1] {
            return;
        }
        for run in &self.items.runs {
            let row = f64::from(self.shape.middle(run.first)) / 2.0;
            if !area.shows_rows(row, row) {
                continue;
            }
            let depth = self.shape.depth(run.first);
            for offset in 0..=run.last_depth - depth {
                let column = f64::from(depth + offset);
                if column >= area.left && column <= area.right && self.items.nodes.len() < MAX_NODES {
                    self.items.nodes.push(run.first + offset);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ShapeRow;

    /// Complete tree with three branches at each node.
    fn ternary(levels: u32) -> TreeShape {
        let mut rows = vec![ShapeRow { seq: 1, parent: None, depth: 0 }];
        let (mut above, mut seq) = (vec![1_u64], 1);
        for depth in 1..=levels {
            let mut level = Vec::new();
            for parent in above {
                for _ in 0..3 {
                    seq += 1;
                    rows.push(ShapeRow { seq, parent: Some(parent), depth });
                    level.push(seq);
                }
            }
            above = level;
        }
        TreeShape::new(&rows)
    }

    fn whole(shape: &TreeShape, width: f64, height: f64) -> MapArea {
        let (right, bottom) = (f64::from(shape.deepest(0)), f64::from(shape.leaves(0)));
        MapArea { left: 0.0, right, top: 0.0, bottom, column_pixels: width / right, row_pixels: height / bottom }
    }

    #[test]
    fn every_node_is_drawn_or_counted_once() {
        let shape = ternary(8);
        let items = whole(&shape, 900.0, 600.0).items(&shape);
        assert!(items.nodes.is_empty() && !items.clusters.is_empty());
        let drawn: u32 = items.runs.iter().map(|run| run.last_depth - shape.depth(run.first) + 1).sum();
        let counted: u32 = items.clusters.iter().map(|cluster| cluster.nodes).sum();
        assert_eq!((drawn + counted) as usize, shape.len());
    }

    #[test]
    fn large_trees_cost_what_is_visible() {
        let shape = ternary(11);
        for (width, height) in [(900.0, 600.0), (4_000.0, 2_000.0), (90_000.0, 1e6)] {
            let items = whole(&shape, width, height).items(&shape);
            assert!(items.runs.len() + items.clusters.len() <= MAX_ITEMS);
            assert!(items.nodes.len() <= MAX_NODES);
        }
        let near =
            MapArea { left: 8.0, right: 12.0, top: 1_000.0, bottom: 1_030.0, column_pixels: 60.0, row_pixels: 20.0 };
        let items = near.items(&shape);
        assert!(items.clusters.is_empty() && items.nodes.len() > 40 && items.runs.len() < 80, "{items:?}");
    }

    #[test]
    fn a_long_chain_with_a_leaf_at_each_node_stays_small() {
        let mut rows = vec![ShapeRow { seq: 1, parent: None, depth: 0 }];
        for depth in 1..20_000_u32 {
            let parent = Some(u64::from(depth) * 2 - 1);
            rows.extend([0, 1].map(|more| ShapeRow { seq: u64::from(depth) * 2 + more, parent, depth }));
        }
        let shape = TreeShape::new(&rows);
        let items = whole(&shape, 900.0, 600.0).items(&shape);
        assert!(items.runs.len() + items.clusters.len() < 2_500, "{} {}", items.runs.len(), items.clusters.len());
    }
}
