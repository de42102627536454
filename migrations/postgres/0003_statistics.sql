-- Statistics for plans that are kept for any tree, whatever the sizes of the trees that are there. PostgreSQL assumes a hundred
-- nodes and entries a tree, so it reads those of a tree by the key of the tree instead of filtering the rows of all trees. What
-- is joined by tree and node it finds by both, since it assumes that all of it is in one tree.
-- Cost: a sample of 30,000 rows of each table is read.

ALTER TABLE nodes ALTER COLUMN tree SET (n_distinct = -0.01);
ALTER TABLE journal ALTER COLUMN tree SET (n_distinct = -0.01);
ALTER TABLE node_state ALTER COLUMN tree SET (n_distinct = 1);
ALTER TABLE passages ALTER COLUMN tree SET (n_distinct = 1);
ALTER TABLE provenance ALTER COLUMN tree SET (n_distinct = 1);
ANALYZE nodes, journal, node_state, passages, provenance;
