-- Words to search by. An index of what nodes say, filled by the program from their content (src/model/words has the
-- rules), and what ranking asks of a hit. Everything here is derived: a rebuild makes it anew. The newest nodes are not
-- in it yet (recall_state.indexed says how far it goes); they are read as they are.
-- Cost: every node's content is read once, about 30 µs each; the file grows by about a third of its words.

-- Words come normalised, with spaces between them: the tokenizer has only to cut.
CREATE VIRTUAL TABLE recall_words USING fts5 (
    words, content = '', columnsize = 0, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE recall_terms USING fts5vocab (recall_words, instance);

-- A passage's id is its node's number × 256 + its place there. A node without words has one all the same.
CREATE TABLE recall_passages (
    id      INTEGER PRIMARY KEY,
    tree    INTEGER NOT NULL,
    session INTEGER,
    author  INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    sitting INTEGER NOT NULL,          -- the first node of what was said on end before it
    words   INTEGER NOT NULL
) STRICT;

CREATE TABLE recall_state (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    indexed  INTEGER NOT NULL,         -- the last node that is in the index
    rules    INTEGER NOT NULL,         -- by which words were cut
    passages INTEGER NOT NULL,
    words    INTEGER NOT NULL
) STRICT;
INSERT INTO recall_state (id, indexed, rules, passages, words) VALUES (1, 0, 0, 0, 0);

-- Results of a tool, by session and newest first.
CREATE INDEX nodes_tool ON nodes (tool_name, session) WHERE tool_name IS NOT NULL;
