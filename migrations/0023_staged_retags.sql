-- A large branch is pruned or restored in slices, so that other writers continue meanwhile. Its nodes first get a negative mark
-- in hidden_by. A row here says what a mark stands for: the former value until the last transaction of the change sets the new
-- one, which hides or shows all nodes at once. Afterwards the nodes get the value itself, also in slices, and the row goes.
-- Where the process dies, the row keeps its meaning and the next writer that opens the file replaces the mark.
-- Cost: none.

CREATE TABLE retags (
    mark      INTEGER PRIMARY KEY CHECK (mark < 0),
    hidden_by INTEGER,                 -- NULL: visible
    root      BLOB NOT NULL            -- the ULID of the branch's root, which names the lock of the change
) STRICT;
