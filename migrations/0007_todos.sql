-- Plans of turns: what an agent means to do in a turn, and what became of each item. An item is never deleted, and keeps
-- its number; what became of it is said once. A purge of the session or its tree empties the words.
-- Cost: none for what is there. A plan has a few dozen rows.
CREATE TABLE todos (
    id           INTEGER PRIMARY KEY,
    ulid         BLOB NOT NULL UNIQUE CHECK (length(ulid) = 16),
    session      INTEGER NOT NULL REFERENCES sessions,
    turn         INTEGER NOT NULL,     -- in whose plan it stands: the turn's first node in the session; 0: by hand
    made_in      INTEGER NOT NULL,     -- the turn in which it was made
    number       INTEGER NOT NULL CHECK (number > 0),  -- what it is called in that plan
    place        INTEGER NOT NULL,     -- where it stands in that plan, from 1
    title        TEXT NOT NULL,
    context      TEXT NOT NULL,
    criteria     TEXT NOT NULL,
    agent_type   TEXT,
    status       INTEGER NOT NULL CHECK (status BETWEEN 0 AND 3),  -- pending, in progress, completed, cancelled
    outcome      TEXT,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER,
    CHECK ((status >= 2) = (completed_at IS NOT NULL)),
    CHECK ((status >= 2) = (outcome IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX todos_plan ON todos (session, turn, number);
CREATE TRIGGER todos_delete BEFORE DELETE ON todos BEGIN
    SELECT RAISE(ABORT, 'an item of a plan is never deleted');
END;
CREATE TRIGGER todos_replace BEFORE INSERT ON todos
WHEN EXISTS (SELECT 1 FROM todos WHERE id = NEW.id OR ulid = NEW.ulid) BEGIN
    SELECT RAISE(ABORT, 'an item with this id is there already');
END;
