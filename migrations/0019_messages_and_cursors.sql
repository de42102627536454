-- Messages of a tree, counted like its nodes: visible roots and continuations, without tool results, thoughts and notes.
-- And where people are while they only walk: the cursor of each of their screens, which no journal entry holds.
-- Cost: one pass over the nodes.
ALTER TABLE tree_state ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
UPDATE tree_state SET messages = (
    SELECT count(*) FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
    WHERE n.tree = tree_state.tree AND n.kind = 0 AND s.hidden_by IS NULL
        AND n.seq > ifnull((SELECT g.last FROM staged_nodes g WHERE g.first <= n.seq ORDER BY g.first DESC LIMIT 1), 0)
);

CREATE TABLE cursors (
    session INTEGER PRIMARY KEY REFERENCES sessions,
    node    INTEGER NOT NULL REFERENCES nodes,
    seen_at INTEGER NOT NULL
) STRICT;
