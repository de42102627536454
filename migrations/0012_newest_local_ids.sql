-- Local ids are random: in a large file each append changed another page of their index, which was a third of what it cost
-- at a million nodes. Those of the newest nodes now stand in a small table; thousands of them at a time are moved into the large
-- one, in its order, by the program. Both are derived from the nodes, and a rebuild makes them anew. What hangs on a node is
-- listed with its kind, so that continuations are found and counted without reading them.
-- Cost: the place of every node is read and sorted twice, about 4 s for a million.

CREATE TABLE local_ids_kept (
    local_id TEXT NOT NULL,
    tree     INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    PRIMARY KEY (local_id, tree)
) STRICT, WITHOUT ROWID;
CREATE TABLE local_ids_newest (
    local_id TEXT NOT NULL,
    tree     INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    PRIMARY KEY (local_id, tree)
) STRICT, WITHOUT ROWID;
CREATE VIEW local_ids (local_id, tree, node) AS
    SELECT local_id, tree, node FROM local_ids_kept UNION ALL SELECT local_id, tree, node FROM local_ids_newest;
INSERT INTO local_ids_kept SELECT local_id, tree, seq FROM nodes ORDER BY local_id, tree;
DROP INDEX nodes_local;

DROP INDEX nodes_parent;
CREATE INDEX nodes_parent ON nodes (tree, depth, parent, kind);

-- FAIL rather than ABORT, and no function: see 0001. The second rule is for "INSERT OR REPLACE", see 0003.
DROP TRIGGER nodes_insert;
CREATE TRIGGER nodes_insert BEFORE INSERT ON nodes BEGIN
    SELECT RAISE(FAIL, 'a parent is a node of the same tree, one edge above')
    WHERE NEW.parent IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM nodes WHERE seq = NEW.parent AND tree = NEW.tree AND depth = NEW.depth - 1
    );
    SELECT RAISE(FAIL, 'a node with this id, turn or place is there already')
    WHERE EXISTS (SELECT 1 FROM nodes WHERE ulid = NEW.ulid)
       OR EXISTS (SELECT 1 FROM local_ids_newest WHERE local_id = NEW.local_id AND tree = NEW.tree)
       OR EXISTS (SELECT 1 FROM local_ids_kept WHERE local_id = NEW.local_id AND tree = NEW.tree)
       OR NEW.seq >= 0 AND EXISTS (SELECT 1 FROM nodes WHERE seq = NEW.seq)
       OR NEW.session IS NOT NULL AND EXISTS (SELECT 1 FROM nodes WHERE session = NEW.session AND turn = NEW.turn)
       OR NEW.parent IS NULL AND EXISTS (SELECT 1 FROM nodes WHERE tree = NEW.tree AND depth = 0);
END;
CREATE TRIGGER nodes_inserted AFTER INSERT ON nodes BEGIN
    INSERT OR FAIL INTO local_ids_newest VALUES (NEW.local_id, NEW.tree, NEW.seq);
END;
