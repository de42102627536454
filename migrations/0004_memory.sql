-- Operational memory: what an agent keeps at hand in a tree. Pins and stashes; what it last did that the tree's journal
-- does not tell (looking, documents); results that were too long to be shown at once.
-- Cost: none for what is there. Actions and results are bounded for each agent and tree; the rest is let go by hand.
CREATE TABLE pins (
    id        INTEGER PRIMARY KEY,
    agent     INTEGER NOT NULL REFERENCES agents,
    tree      INTEGER NOT NULL REFERENCES trees,
    node      INTEGER REFERENCES nodes,
    document  INTEGER REFERENCES documents,
    section   TEXT,
    pinned_at INTEGER NOT NULL,
    CHECK ((node IS NULL) <> (document IS NULL)),
    CHECK (section IS NULL OR document IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX pins_once ON pins (agent, tree, coalesce(node, 0), coalesce(document, 0), coalesce(section, ''));

CREATE TABLE stashes (
    id         INTEGER PRIMARY KEY,
    agent      INTEGER NOT NULL REFERENCES agents,
    tree       INTEGER NOT NULL REFERENCES trees,
    label      TEXT NOT NULL CHECK (label <> ''),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),  -- words, a node's words, a summary, a result
    node       INTEGER REFERENCES nodes,                       -- whose words they are
    content    TEXT,
    tokens     INTEGER NOT NULL,
    stashed_at INTEGER NOT NULL,
    CHECK ((kind = 1) = (node IS NOT NULL)),
    CHECK ((kind = 1) = (content IS NULL))
) STRICT;
-- Results have labels of their own, so that none takes a stash's place.
CREATE UNIQUE INDEX stashes_label ON stashes (agent, tree, kind = 3, label);

CREATE TABLE actions (
    id    INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL REFERENCES agents,
    tree  INTEGER NOT NULL REFERENCES trees,
    at    INTEGER NOT NULL,
    after INTEGER NOT NULL,            -- the journal's last entry then
    tool  TEXT NOT NULL,
    about TEXT                         -- a short id or a document's name
) STRICT;
CREATE INDEX actions_of ON actions (agent, tree, id);
