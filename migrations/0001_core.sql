-- The whole model: trees, nodes, agents, sessions, documents, links, bookmarks, the journal.
--
-- Rows are keyed by integers; every entity also has its ULID (16 bytes). Times are milliseconds since 1970.
-- Words that are stored as numbers (kind, author_type, mode, op …) are listed in src/model. What is said once is
-- never changed: the triggers below refuse it, whoever holds the file. Foreign keys of the tables that an append
-- writes are checked at the commit, for the reason given at nodes_insert. Cost: none, it starts an empty file.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    id            INTEGER PRIMARY KEY,
    ulid          BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    name          TEXT NOT NULL CHECK (name <> ''),
    kind          INTEGER NOT NULL CHECK (kind IN (0, 1)),
    model         TEXT,
    system_prompt TEXT,
    temperature   REAL,
    max_tokens    INTEGER,
    stop          TEXT NOT NULL DEFAULT '[]',
    permissions   INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    removed       INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX agents_name ON agents (name) WHERE removed = 0;

CREATE TABLE trees (
    id             INTEGER PRIMARY KEY,
    ulid           BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    title          TEXT,               -- NULL: the first words of the root
    description    TEXT,
    mode           INTEGER NOT NULL CHECK (mode IN (0, 1)),
    system_context TEXT,
    summary        TEXT,
    created_at     INTEGER NOT NULL,
    archived_at    INTEGER
) STRICT;

-- What changes with every node, apart from the words, so that an append does not rewrite a long system prompt.
CREATE TABLE tree_state (
    tree          INTEGER PRIMARY KEY REFERENCES trees,
    nodes         INTEGER NOT NULL DEFAULT 0,
    leaves        INTEGER NOT NULL DEFAULT 0,
    branch_points INTEGER NOT NULL DEFAULT 0,
    max_depth     INTEGER NOT NULL DEFAULT 0,
    updated_at    INTEGER NOT NULL,
    last_journal  INTEGER NOT NULL DEFAULT 0   -- the head of the tree's chain through journal.previous
) STRICT;

CREATE TABLE sessions (
    id             INTEGER PRIMARY KEY,
    ulid           BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    workspace      TEXT NOT NULL,
    agent          INTEGER NOT NULL REFERENCES agents,
    tree           INTEGER NOT NULL REFERENCES trees,
    position       INTEGER REFERENCES nodes,
    versions       TEXT NOT NULL DEFAULT '[]',
    started_at     INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    expires_at     INTEGER,
    turn_count     INTEGER NOT NULL DEFAULT 0,
    total_tokens   INTEGER NOT NULL DEFAULT 0,
    state          TEXT,
    active         INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
    metadata       TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX sessions_workspace ON sessions (workspace, active, last_active_at);

CREATE TABLE nodes (
    seq          INTEGER PRIMARY KEY,
    ulid         BLOB NOT NULL UNIQUE,
    tree         INTEGER NOT NULL REFERENCES trees DEFERRABLE INITIALLY DEFERRED,
    local_id     TEXT NOT NULL,
    parent       INTEGER,
    depth        INTEGER NOT NULL,
    kind         INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 6),
    author       INTEGER NOT NULL REFERENCES agents DEFERRABLE INITIALLY DEFERRED,
    author_type  INTEGER NOT NULL CHECK (author_type BETWEEN 0 AND 3),
    created_at   INTEGER NOT NULL,
    hash         BLOB NOT NULL,
    session      INTEGER REFERENCES sessions DEFERRABLE INITIALLY DEFERRED,
    turn         INTEGER,
    edited_from  INTEGER,
    version_of   INTEGER,
    tokens       INTEGER,
    interrupted  INTEGER NOT NULL DEFAULT 0 CHECK (interrupted IN (0, 1)),
    purged_at    INTEGER,
    tool_call_id TEXT,
    tool_name    TEXT,
    tool_calls   TEXT,
    metadata     TEXT,
    content      TEXT NOT NULL,
    raw          TEXT,
    CHECK ((parent IS NULL) = (depth = 0)),
    CHECK (parent < seq),              -- no cycle is possible
    CHECK (edited_from < seq),
    CHECK (version_of < seq),
    CHECK ((session IS NULL) = (turn IS NULL))
) STRICT;
CREATE UNIQUE INDEX nodes_local ON nodes (tree, local_id);
-- Children of a node, and by its order also a tree's deepest nodes.
CREATE INDEX nodes_parent ON nodes (tree, depth, parent);
CREATE UNIQUE INDEX nodes_root ON nodes (tree) WHERE parent IS NULL;
CREATE UNIQUE INDEX nodes_turn ON nodes (session, turn) WHERE session IS NOT NULL;
CREATE INDEX nodes_version ON nodes (version_of) WHERE version_of IS NOT NULL;
-- First halves of splits, by what was split.
CREATE INDEX nodes_half ON nodes (edited_from) WHERE kind = 6 AND version_of IS NULL;

-- FAIL rather than ABORT, and no function in a CHECK of this table: either would make SQLite copy every page that an
-- insert touches, to be able to take the statement back, though nothing is written before this runs. The second rule
-- is for "INSERT OR REPLACE", which would delete the old row without asking the delete trigger.
CREATE TRIGGER nodes_insert BEFORE INSERT ON nodes BEGIN
    SELECT RAISE(FAIL, 'a parent is a node of the same tree, one edge above')
    WHERE NEW.parent IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM nodes WHERE seq = NEW.parent AND tree = NEW.tree AND depth = NEW.depth - 1
    );
    SELECT RAISE(FAIL, 'a node with this id, turn or place is there already')
    WHERE EXISTS (SELECT 1 FROM nodes WHERE ulid = NEW.ulid)
       OR EXISTS (SELECT 1 FROM nodes WHERE tree = NEW.tree AND local_id = NEW.local_id)
       OR EXISTS (SELECT 1 FROM nodes WHERE seq = NEW.seq)
       OR EXISTS (SELECT 1 FROM nodes WHERE session = NEW.session AND turn = NEW.turn)
       OR NEW.parent IS NULL AND EXISTS (SELECT 1 FROM nodes WHERE tree = NEW.tree AND parent IS NULL);
END;
CREATE TRIGGER nodes_delete BEFORE DELETE ON nodes BEGIN
    SELECT RAISE(ABORT, 'a node is never deleted');
END;
-- The one update: a purge leaves a tombstone, whose words are gone and whose place and hash stay.
CREATE TRIGGER nodes_update BEFORE UPDATE ON nodes
WHEN NOT (
    OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL
    AND NEW.content = '' AND NEW.raw IS NULL AND NEW.metadata IS NULL
    AND NEW.tool_calls IS NULL AND NEW.tool_call_id IS NULL AND NEW.tool_name IS NULL
    AND NEW.seq = OLD.seq AND NEW.ulid = OLD.ulid AND NEW.tree = OLD.tree AND NEW.local_id = OLD.local_id
    AND NEW.parent IS OLD.parent AND NEW.depth = OLD.depth AND NEW.kind = OLD.kind
    AND NEW.author = OLD.author AND NEW.author_type = OLD.author_type AND NEW.created_at = OLD.created_at
    AND NEW.hash = OLD.hash AND NEW.session IS OLD.session AND NEW.turn IS OLD.turn
    AND NEW.edited_from IS OLD.edited_from AND NEW.version_of IS OLD.version_of
    AND NEW.tokens IS OLD.tokens AND NEW.interrupted = OLD.interrupted
) BEGIN
    SELECT RAISE(ABORT, 'a node is never changed');
END;

-- What changes about a node. A node without a row has zeroes. The counts are derived and can be rebuilt; hidden_by and
-- excluded are not. continuations and annotations count children hidden by the same as the node; versions counts all
-- that ever were.
CREATE TABLE node_state (
    node          INTEGER PRIMARY KEY REFERENCES nodes DEFERRABLE INITIALLY DEFERRED,
    continuations INTEGER NOT NULL DEFAULT 0,
    annotations   INTEGER NOT NULL DEFAULT 0,
    links         INTEGER NOT NULL DEFAULT 0,
    versions      INTEGER NOT NULL DEFAULT 0,
    bookmarked    INTEGER NOT NULL DEFAULT 0,
    hidden_by     INTEGER,             -- the node whose pruning hides this one
    excluded      INTEGER NOT NULL DEFAULT 0 CHECK (excluded IN (0, 1))
) STRICT;

CREATE TABLE bookmarks (
    node       INTEGER PRIMARY KEY REFERENCES nodes,
    tree       INTEGER NOT NULL REFERENCES trees,
    label      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX bookmarks_tree ON bookmarks (tree, node);

CREATE TABLE documents (
    id         INTEGER PRIMARY KEY,
    ulid       BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    name       TEXT NOT NULL CHECK (name <> ''),
    summary    TEXT,
    created_at INTEGER NOT NULL,
    removed    INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX documents_name ON documents (name) WHERE removed = 0;

CREATE TABLE document_versions (
    document   INTEGER NOT NULL REFERENCES documents,
    version    INTEGER NOT NULL CHECK (version > 0),
    author     INTEGER NOT NULL REFERENCES agents,
    created_at INTEGER NOT NULL,
    content    TEXT NOT NULL,
    PRIMARY KEY (document, version)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER document_versions_update BEFORE UPDATE ON document_versions BEGIN
    SELECT RAISE(ABORT, 'a version is never changed');
END;
CREATE TRIGGER document_versions_delete BEFORE DELETE ON document_versions BEGIN
    SELECT RAISE(ABORT, 'a version is never deleted');
END;
CREATE TRIGGER document_versions_replace BEFORE INSERT ON document_versions
WHEN EXISTS (SELECT 1 FROM document_versions WHERE document = NEW.document AND version = NEW.version) BEGIN
    SELECT RAISE(ABORT, 'a version with this number is there already');
END;

CREATE TABLE links (
    id              INTEGER PRIMARY KEY,
    ulid            BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    source          INTEGER NOT NULL REFERENCES nodes,
    target_node     INTEGER REFERENCES nodes,
    target_tree     INTEGER REFERENCES trees,
    target_document INTEGER REFERENCES documents,
    section         TEXT,
    note            TEXT,
    author          INTEGER NOT NULL REFERENCES agents,
    created_at      INTEGER NOT NULL,
    removed         INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
    CHECK ((target_node IS NOT NULL) + (target_tree IS NOT NULL) + (target_document IS NOT NULL) = 1)
) STRICT;
CREATE INDEX links_source ON links (source);
CREATE INDEX links_target ON links (target_node) WHERE target_node IS NOT NULL;

-- The provider's response envelope of a generated node, deflated.
CREATE TABLE provenance (
    node     INTEGER PRIMARY KEY REFERENCES nodes,
    envelope BLOB NOT NULL
) STRICT;

-- Where imported nodes came from; the same source never comes in twice.
CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    node   INTEGER NOT NULL REFERENCES nodes
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_node ON sources (node);

-- Its numbers of agents, sessions, trees and nodes are looked up in the same transaction and nothing is ever deleted,
-- so no foreign key checks them again: that would be four look-ups an append.
CREATE TABLE journal (
    seq      INTEGER PRIMARY KEY,
    grp      INTEGER,                  -- the first entry of the operation; NULL: this one
    at       INTEGER NOT NULL,
    agent    INTEGER NOT NULL,
    session  INTEGER,
    tree     INTEGER,
    op       INTEGER NOT NULL,
    change   INTEGER NOT NULL,
    node     INTEGER,
    undo     TEXT,                     -- the mutation that takes this change back, where the change does not tell
    target   INTEGER,                  -- of an undo or redo: the group it takes back
    previous INTEGER,                  -- the entry before this one in the same tree, or among those of no tree
    CHECK (grp < seq),
    CHECK (previous < seq)
) STRICT;
CREATE TRIGGER journal_delete BEFORE DELETE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is never shortened');
END;
-- A purge empties what an undo would have needed; nothing else about an entry ever changes.
CREATE TRIGGER journal_update BEFORE UPDATE ON journal
WHEN NOT (
    NEW.undo IS NULL AND NEW.seq = OLD.seq AND NEW.grp IS OLD.grp AND NEW.at = OLD.at
    AND NEW.agent = OLD.agent AND NEW.session IS OLD.session AND NEW.tree IS OLD.tree
    AND NEW.op = OLD.op AND NEW.change = OLD.change AND NEW.node IS OLD.node
    AND NEW.target IS OLD.target AND NEW.previous IS OLD.previous
) BEGIN
    SELECT RAISE(ABORT, 'the journal is never changed');
END;
CREATE TRIGGER trees_fixed BEFORE UPDATE OF id, ulid, mode, created_at ON trees BEGIN
    SELECT RAISE(ABORT, 'a tree keeps its id, mode and time');
END;
CREATE TRIGGER trees_delete BEFORE DELETE ON trees BEGIN
    SELECT RAISE(ABORT, 'a tree is never deleted');
END;
CREATE TRIGGER trees_replace BEFORE INSERT ON trees
WHEN EXISTS (SELECT 1 FROM trees WHERE id = NEW.id OR ulid = NEW.ulid) BEGIN
    SELECT RAISE(ABORT, 'a tree with this id is there already');
END;
CREATE TRIGGER agents_fixed BEFORE UPDATE OF id, ulid, kind, created_at ON agents BEGIN
    SELECT RAISE(ABORT, 'an agent keeps its id, kind and time');
END;
CREATE TRIGGER agents_delete BEFORE DELETE ON agents BEGIN
    SELECT RAISE(ABORT, 'an agent is never deleted');
END;
CREATE TRIGGER agents_replace BEFORE INSERT ON agents
WHEN EXISTS (SELECT 1 FROM agents WHERE id = NEW.id OR ulid = NEW.ulid OR name = NEW.name AND removed + NEW.removed = 0) BEGIN
    SELECT RAISE(ABORT, 'an agent with this id or name is there already');
END;
