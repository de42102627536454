-- Search: the words of nodes, and their embeddings. Derived data; `loom rebuild` makes the words anew.
-- Nodes are indexed in batches, in transactions of their own; a search reads the few nodes after `search_state.indexed`
-- itself. A row of `words` holds the occurrences of a term in the nodes of a tree and a batch.
-- Cost: none for an empty database, else about 50 µs a node.

CREATE TABLE search_state (
    name     text PRIMARY KEY,
    indexed  bigint NOT NULL,          -- all nodes up to this number are indexed
    rules    bigint NOT NULL,          -- version of the tokenizer
    nodes    bigint NOT NULL,
    passages bigint NOT NULL,
    words    bigint NOT NULL
);
INSERT INTO search_state VALUES ('words', 0, 0, 0, 0, 0);

CREATE TABLE passages (
    tree  uuid NOT NULL,
    node  bigint NOT NULL,
    burst bigint NOT NULL,             -- first node of its burst: messages without a gap of two hours
    words bigint[] NOT NULL,           -- length of each passage
    place bigint NOT NULL,             -- number of the node in the index, from 1 without gaps
    PRIMARY KEY (tree, node)
);

CREATE TABLE words (
    tree     uuid NOT NULL,
    term     text COLLATE "C" NOT NULL,
    block    bigint NOT NULL,          -- the batch: its last node
    postings bytea NOT NULL,
    PRIMARY KEY (tree, term, block)
);
CREATE INDEX words_term ON words (term, block);

CREATE TABLE vectors (
    tree   uuid NOT NULL,
    node   bigint NOT NULL,
    model  text COLLATE "C" NOT NULL,
    vector bytea NOT NULL,
    code   bit varying NOT NULL,       -- sign bits
    PRIMARY KEY (tree, node, model)
);
CREATE INDEX vectors_model ON vectors (model, node);

CREATE TABLE embedded_ranges (
    model text COLLATE "C" PRIMARY KEY,
    first bigint NOT NULL,
    last  bigint NOT NULL
);
