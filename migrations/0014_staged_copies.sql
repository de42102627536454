-- A copy of a large branch is written in slices, so that other writers continue meanwhile. Its nodes are listed here by row
-- number until the last transaction makes all of them visible at once; no query returns a listed node. Where the process dies
-- before that, the next writer that opens the file deletes them: the only nodes that may be deleted.
-- Cost: none.

CREATE TABLE staged_nodes (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL CHECK (last >= first),
    copy  BLOB NOT NULL,               -- the ULID of the copy's root
    after INTEGER NOT NULL             -- the journal's last entry when the copy began
) STRICT;

DROP TRIGGER nodes_delete;
CREATE TRIGGER nodes_delete BEFORE DELETE ON nodes
WHEN NOT EXISTS (SELECT 1 FROM staged_nodes WHERE OLD.seq BETWEEN first AND last) BEGIN
    SELECT RAISE(ABORT, 'a node is never deleted');
END;
