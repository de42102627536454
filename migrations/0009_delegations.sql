-- Delegated work: what happened in each delegation, in order, as events that name nodes and sessions; the words are nodes.
-- And which session delegated what another one does, so that its cost is counted and nobody takes it for a conversation.
-- Cost: a column without a value in each session; nothing is written anew.
CREATE TABLE delegation_events (
    delegation INTEGER NOT NULL REFERENCES nodes,
    number     INTEGER NOT NULL CHECK (number > 0),
    at         INTEGER NOT NULL,
    event      TEXT NOT NULL,
    PRIMARY KEY (delegation, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER delegation_events_update BEFORE UPDATE ON delegation_events BEGIN
    SELECT RAISE(ABORT, 'an event is never changed');
END;
CREATE TRIGGER delegation_events_delete BEFORE DELETE ON delegation_events BEGIN
    SELECT RAISE(ABORT, 'an event is never deleted');
END;

ALTER TABLE sessions ADD COLUMN delegated_by INTEGER REFERENCES sessions;
CREATE INDEX sessions_delegated ON sessions (delegated_by) WHERE delegated_by IS NOT NULL;
