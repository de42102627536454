-- An append opens fewer indexes: what the rules of an insert ask is asked only where it can be so, and a tree's root is
-- found as its node of depth 0, of which there is one. Local ids come first in their index, where they tell more than
-- the tree and are compared faster. From here on a node whose only child is as visible as itself needs no row in
-- node_state. Cost: one pass over the nodes for the index.

DROP INDEX nodes_root;
DROP INDEX nodes_local;
CREATE UNIQUE INDEX nodes_local ON nodes (local_id, tree);

-- FAIL rather than ABORT, and no function: see 0001. The second rule is for "INSERT OR REPLACE", which would delete the
-- old row without asking the delete trigger; a seq that is not given is negative here.
DROP TRIGGER nodes_insert;
CREATE TRIGGER nodes_insert BEFORE INSERT ON nodes BEGIN
    SELECT RAISE(FAIL, 'a parent is a node of the same tree, one edge above')
    WHERE NEW.parent IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM nodes WHERE seq = NEW.parent AND tree = NEW.tree AND depth = NEW.depth - 1
    );
    SELECT RAISE(FAIL, 'a node with this id, turn or place is there already')
    WHERE EXISTS (SELECT 1 FROM nodes WHERE ulid = NEW.ulid)
       OR EXISTS (SELECT 1 FROM nodes WHERE local_id = NEW.local_id AND tree = NEW.tree)
       OR NEW.seq >= 0 AND EXISTS (SELECT 1 FROM nodes WHERE seq = NEW.seq)
       OR NEW.session IS NOT NULL AND EXISTS (SELECT 1 FROM nodes WHERE session = NEW.session AND turn = NEW.turn)
       OR NEW.parent IS NULL AND EXISTS (SELECT 1 FROM nodes WHERE tree = NEW.tree AND depth = 0);
END;
