-- The whole model, as in the SQLite migrations up to 0022. Differences: ids are uuids; numbers of nodes and of journal
-- entries are made of the number of the writing transaction, so that several servers need no common counter; a key inside
-- a tree begins with the tree, so that the tables are distributed by tree. Tables of what belongs to no tree (agents,
-- documents, sessions and what belongs to a session, sources, settings) are reference tables: docs/scale.md names them.
-- No trigger, sequence, enum type or deferred constraint. Rights make nodes and journal immutable: see the operators' guide.
-- `seq` in other tables orders rows as SQLite's row numbers do. Cost: none, it starts an empty database.

CREATE TABLE settings (
    name  text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE agents (
    id            uuid PRIMARY KEY,
    seq           bigint NOT NULL,
    name          text NOT NULL CHECK (name <> ''),
    kind          bigint NOT NULL CHECK (kind IN (0, 1)),
    model         text,
    system_prompt text,
    temperature   double precision,
    max_tokens    bigint,
    stop          text NOT NULL DEFAULT '[]',
    permissions   bigint NOT NULL,
    created_at    bigint NOT NULL,
    removed       boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX agents_name ON agents (name) WHERE NOT removed;

CREATE TABLE trees (
    id             uuid PRIMARY KEY,
    seq            bigint NOT NULL,
    title          text,
    description    text,
    mode           bigint NOT NULL CHECK (mode IN (0, 1)),
    system_context text,
    created_at     bigint NOT NULL,
    archived_at    bigint,
    project        text,
    external_ref   text
);
CREATE INDEX trees_item ON trees (external_ref) WHERE external_ref IS NOT NULL;

-- What changes with every node. A writer locks its row; `last_node` and `last_journal` are the tree's newest numbers.
CREATE TABLE tree_state (
    tree          uuid PRIMARY KEY REFERENCES trees,
    nodes         bigint NOT NULL DEFAULT 0,
    messages      bigint NOT NULL DEFAULT 0,
    leaves        bigint NOT NULL DEFAULT 0,
    branch_points bigint NOT NULL DEFAULT 0,
    max_depth     bigint NOT NULL DEFAULT 0,
    updated_at    bigint NOT NULL,
    last_node     bigint NOT NULL DEFAULT 0,
    last_journal  bigint NOT NULL DEFAULT 0
);
CREATE INDEX tree_state_updated ON tree_state (updated_at);

CREATE TABLE sessions (
    id             uuid PRIMARY KEY,
    seq            bigint NOT NULL,
    workspace      text NOT NULL,
    agent          uuid NOT NULL,
    tree           uuid NOT NULL,
    position       bigint,             -- a node of the tree
    versions       text NOT NULL DEFAULT '[]',
    started_at     bigint NOT NULL,
    last_active_at bigint NOT NULL,
    expires_at     bigint,
    turn_count     bigint NOT NULL DEFAULT 0,
    person_turns   bigint NOT NULL DEFAULT 0,
    total_tokens   bigint NOT NULL DEFAULT 0,
    active         boolean NOT NULL DEFAULT true,
    metadata       text NOT NULL DEFAULT '{}',
    delegated_by   uuid,
    model          text,
    project        text,
    external_ref   text,
    focus          uuid,               -- the newest message of a person
    since          bigint NOT NULL DEFAULT 0
);
CREATE INDEX sessions_workspace ON sessions (workspace, last_active_at);
CREATE INDEX sessions_active ON sessions (last_active_at);
CREATE INDEX sessions_tree ON sessions (tree, last_active_at);
CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE active AND expires_at IS NOT NULL;
CREATE INDEX sessions_delegated ON sessions (delegated_by) WHERE delegated_by IS NOT NULL;
CREATE INDEX sessions_item ON sessions (external_ref, project, last_active_at) WHERE external_ref IS NOT NULL;

CREATE TABLE nodes (
    tree         uuid NOT NULL,
    seq          bigint NOT NULL,
    id           uuid NOT NULL,
    local_id     text COLLATE "C" NOT NULL,
    parent       bigint,
    depth        bigint NOT NULL,
    kind         bigint NOT NULL CHECK (kind BETWEEN 0 AND 6),
    author       uuid NOT NULL,
    author_type  bigint NOT NULL CHECK (author_type BETWEEN 0 AND 3),
    role         bigint CHECK (role BETWEEN 0 AND 3),
    created_at   bigint NOT NULL,
    hash         bytea NOT NULL,
    session      uuid,
    turn         bigint,
    edited_from  bigint,
    version_of   bigint,
    tokens       bigint,
    interrupted  boolean NOT NULL DEFAULT false,
    purged_at    bigint,
    tool_call_id text,
    tool_name    text,
    tool_calls   text,
    metadata     text,
    content      text NOT NULL,
    raw          text,
    PRIMARY KEY (tree, seq),
    UNIQUE (tree, id),
    UNIQUE (tree, local_id),
    FOREIGN KEY (tree, parent) REFERENCES nodes (tree, seq),
    CHECK ((parent IS NULL) = (depth = 0)),
    CHECK (parent < seq),
    CHECK (edited_from < seq),
    CHECK (version_of < seq),
    CHECK ((session IS NULL) = (turn IS NULL))
);
CREATE INDEX nodes_id ON nodes (id);
CREATE INDEX nodes_seq ON nodes (seq);
CREATE INDEX nodes_parent ON nodes (tree, parent, seq);
CREATE INDEX nodes_depth ON nodes (tree, depth);
CREATE INDEX nodes_turn ON nodes (session, turn) WHERE session IS NOT NULL;
CREATE INDEX nodes_version ON nodes (tree, version_of) WHERE version_of IS NOT NULL;
CREATE INDEX nodes_edited ON nodes (tree, edited_from) WHERE edited_from IS NOT NULL;
CREATE INDEX nodes_tool ON nodes (tool_name, seq) WHERE tool_name IS NOT NULL;

CREATE TABLE node_state (
    tree          uuid NOT NULL,
    node          bigint NOT NULL,
    continuations bigint NOT NULL DEFAULT 0,
    annotations   bigint NOT NULL DEFAULT 0,
    links         bigint NOT NULL DEFAULT 0,
    versions      bigint NOT NULL DEFAULT 0,
    bookmarked    boolean NOT NULL DEFAULT false,
    hidden_by     bigint,
    excluded      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tree, node)
);
CREATE INDEX node_state_hidden ON node_state (tree, hidden_by) WHERE hidden_by IS NOT NULL;

CREATE TABLE bookmarks (
    tree       uuid NOT NULL,
    node       bigint NOT NULL,
    label      text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tree, node)
);

CREATE TABLE documents (
    id         uuid PRIMARY KEY,
    seq        bigint NOT NULL,
    name       text COLLATE "C" NOT NULL CHECK (name <> ''),
    created_at bigint NOT NULL,
    removed    boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX documents_name ON documents (name) WHERE NOT removed;

CREATE TABLE document_versions (
    document   uuid NOT NULL REFERENCES documents,
    version    bigint NOT NULL CHECK (version > 0),
    author     uuid NOT NULL,
    created_at bigint NOT NULL,
    content    text NOT NULL,
    PRIMARY KEY (document, version)
);

-- `tree` is that of the source.
CREATE TABLE links (
    tree            uuid NOT NULL,
    id              uuid NOT NULL,
    seq             bigint NOT NULL,
    source          bigint NOT NULL,
    target_node     uuid,
    target_tree     uuid,
    target_document uuid,
    section         text,
    note            text,
    author          uuid NOT NULL,
    created_at      bigint NOT NULL,
    removed         boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tree, id)
);
CREATE INDEX links_id ON links (id);
CREATE INDEX links_source ON links (tree, source);
CREATE INDEX links_target ON links (target_node) WHERE target_node IS NOT NULL;

CREATE TABLE provenance (
    tree     uuid NOT NULL,
    node     bigint NOT NULL,
    envelope bytea NOT NULL,
    PRIMARY KEY (tree, node)
);

CREATE TABLE sources (
    source text COLLATE "C" PRIMARY KEY,
    tree   uuid NOT NULL,
    node   bigint NOT NULL
);
CREATE INDEX sources_node ON sources (tree, node);

-- Entries of no tree have the nil uuid.
CREATE TABLE journal (
    tree    uuid NOT NULL,
    seq     bigint NOT NULL,
    grp     bigint NOT NULL,           -- the first entry of the operation
    at      bigint NOT NULL,
    agent   uuid NOT NULL,
    session uuid,
    op      bigint NOT NULL,
    change  bigint NOT NULL,
    node    bigint,
    undo    text,
    target  bigint,
    PRIMARY KEY (tree, seq)
);
CREATE INDEX journal_seq ON journal (seq);

CREATE TABLE pins (
    tree      uuid NOT NULL,
    agent     uuid NOT NULL,
    seq       bigint NOT NULL,
    node      uuid,
    document  uuid,
    section   text,
    pinned_at bigint NOT NULL,
    PRIMARY KEY (tree, agent, seq)
);

CREATE TABLE stashes (
    tree       uuid NOT NULL,
    agent      uuid NOT NULL,
    result     boolean NOT NULL,       -- labels of results are apart
    label      text COLLATE "C" NOT NULL CHECK (label <> ''),
    seq        bigint NOT NULL,
    kind       bigint NOT NULL CHECK (kind BETWEEN 0 AND 3),
    node       uuid,
    content    text,
    tokens     bigint NOT NULL,
    stashed_at bigint NOT NULL,
    PRIMARY KEY (tree, agent, result, label)
);

CREATE TABLE actions (
    tree  uuid NOT NULL,
    agent uuid NOT NULL,
    seq   bigint NOT NULL,
    at    bigint NOT NULL,
    after bigint NOT NULL,
    tool  text NOT NULL,
    about text,
    PRIMARY KEY (tree, agent, seq)
);

CREATE TABLE leases (
    tree       uuid NOT NULL,
    node       bigint NOT NULL,
    agent      uuid NOT NULL,
    session    uuid,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tree, node)
);

CREATE TABLE delegation_events (
    tree       uuid NOT NULL,
    delegation bigint NOT NULL,
    number     bigint NOT NULL CHECK (number > 0),
    at         bigint NOT NULL,
    event      text NOT NULL,
    PRIMARY KEY (tree, delegation, number)
);
CREATE INDEX delegations_newest ON delegation_events (delegation);

-- The subject is a node (kind 0), a document (1) or a tree (2).
CREATE TABLE summaries (
    kind    bigint NOT NULL CHECK (kind BETWEEN 0 AND 2),
    subject uuid NOT NULL,
    made_of bigint NOT NULL,
    model   text NOT NULL,
    made_at bigint NOT NULL,
    content text NOT NULL CHECK (content <> ''),
    PRIMARY KEY (kind, subject)
);

CREATE TABLE registers (
    session uuid PRIMARY KEY,
    rules   bigint NOT NULL,
    state   text NOT NULL
);

CREATE TABLE records (
    session uuid NOT NULL,
    seq     bigint NOT NULL,
    turn    bigint NOT NULL,
    kind    bigint NOT NULL,
    content text NOT NULL,
    removed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (session, seq)
);
CREATE INDEX records_seq ON records (seq);

CREATE TABLE received_turns (
    session uuid NOT NULL,
    turn    bigint NOT NULL CHECK (turn > 0),
    tree    uuid NOT NULL,
    node    bigint NOT NULL,
    PRIMARY KEY (session, turn)
);
CREATE INDEX received_turns_node ON received_turns (tree, node, session);

CREATE TABLE system_prompts (
    session uuid NOT NULL,
    turn    bigint NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (session, turn)
);

CREATE TABLE cursors (
    session uuid PRIMARY KEY,
    node    uuid NOT NULL,
    seen_at bigint NOT NULL
);

CREATE TABLE todos (
    session      uuid NOT NULL,
    id           uuid NOT NULL,
    seq          bigint NOT NULL,
    turn         bigint NOT NULL,
    made_in      bigint NOT NULL,
    number       bigint NOT NULL CHECK (number > 0),
    place        bigint NOT NULL,
    title        text NOT NULL,
    context      text NOT NULL,
    criteria     text NOT NULL,
    agent_type   text,
    status       bigint NOT NULL CHECK (status BETWEEN 0 AND 3),
    outcome      text,
    created_at   bigint NOT NULL,
    started_at   bigint,
    completed_at bigint,
    PRIMARY KEY (session, id)
);
CREATE INDEX todos_id ON todos (id);
CREATE INDEX todos_plan ON todos (session, turn, place);

CREATE TABLE estimates (
    model     text PRIMARY KEY,
    estimated bigint NOT NULL,
    reported  bigint NOT NULL
);
