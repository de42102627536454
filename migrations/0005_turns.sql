-- What turns of models need beside the conversation: who is continuing which position (leases), sentences that stand for
-- something longer (summaries), how a model's own count of tokens compares with the estimate (estimates). None of it is
-- in the journal: it says nothing that was said, and there is nothing to undo. The columns for summaries of trees and
-- documents, which nothing ever wrote, make room for the table.
-- Cost: the trees and documents are written anew without their column, a few words each; nodes are not touched.

-- At most one a position. One that has run out is as good as gone, and goes when the next one is taken.
CREATE TABLE leases (
    node       INTEGER PRIMARY KEY REFERENCES nodes,
    agent      INTEGER NOT NULL REFERENCES agents,   -- who generates
    session    INTEGER REFERENCES sessions,          -- on whose behalf
    expires_at INTEGER NOT NULL
) STRICT;

-- Views: each can be made again from what it is of, for money. A purge of that takes it away.
CREATE TABLE summaries (
    id       INTEGER PRIMARY KEY,
    node     INTEGER UNIQUE REFERENCES nodes,
    document INTEGER UNIQUE REFERENCES documents,
    tree     INTEGER UNIQUE REFERENCES trees,
    made_of  INTEGER NOT NULL,         -- the document's version, the tree's number of nodes; 0 of a node, which never changes
    model    TEXT NOT NULL,            -- who wrote it
    made_at  INTEGER NOT NULL,
    content  TEXT NOT NULL CHECK (content <> ''),
    CHECK ((node IS NOT NULL) + (document IS NOT NULL) + (tree IS NOT NULL) = 1)
) STRICT;
ALTER TABLE trees DROP COLUMN summary;
ALTER TABLE documents DROP COLUMN summary;

-- Sums over a model's last prompts.
CREATE TABLE estimates (
    model     TEXT PRIMARY KEY,
    estimated INTEGER NOT NULL,
    reported  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
