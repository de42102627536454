-- Statistics for plans that are kept for any tree, whatever the sizes of the trees that are there. PostgreSQL counts on a
-- hundred nodes and entries a tree, so that it does not walk the numbers of all trees and filter those of one. What is joined
-- by tree and node it finds by both, since it believes that all of it is in one tree. Takes effect with the next ANALYZE.
-- Cost: none.

ALTER TABLE nodes ALTER COLUMN tree SET (n_distinct = -0.01);
ALTER TABLE journal ALTER COLUMN tree SET (n_distinct = -0.01);
ALTER TABLE node_state ALTER COLUMN tree SET (n_distinct = 1);
ALTER TABLE passages ALTER COLUMN tree SET (n_distinct = 1);
ALTER TABLE provenance ALTER COLUMN tree SET (n_distinct = 1);
