-- Sessions that are found again: the state register of each (kept from its turns by rules, and made again from them),
-- what was recorded in it on purpose, its model, its work item, and two views in the shape that outside tools expect.
-- What an agent recorded before stood in a column of sessions, which goes; the program makes registers of all once this
-- has run.
-- Cost: the sessions are written anew; every turn of a person or tool is read once.

-- What belongs to an item is seen by sessions of that item only. Its trees are its own.
ALTER TABLE trees ADD COLUMN project TEXT;
ALTER TABLE trees ADD COLUMN external_ref TEXT;

ALTER TABLE sessions ADD COLUMN text_id TEXT;            -- the ULID in letters, for those who have SQL only
ALTER TABLE sessions ADD COLUMN model TEXT;              -- the model that spoke in it last
ALTER TABLE sessions ADD COLUMN project TEXT;
ALTER TABLE sessions ADD COLUMN external_ref TEXT;
ALTER TABLE sessions ADD COLUMN focus INTEGER REFERENCES nodes;         -- the newest message of a person
ALTER TABLE sessions ADD COLUMN since INTEGER NOT NULL DEFAULT 0;       -- the turn after which the register begins
CREATE INDEX sessions_item ON sessions (external_ref, project, last_active_at) WHERE external_ref IS NOT NULL;

-- 10 letters of the 48 bits of time, and 8 of each 40 bits of the rest.
WITH RECURSIVE
    part (session, place, hex, letters) AS (
        SELECT id, 0, substr(hex(ulid), 1, 12), 10 FROM sessions
        UNION ALL SELECT id, 1, substr(hex(ulid), 13, 10), 8 FROM sessions
        UNION ALL SELECT id, 2, substr(hex(ulid), 23, 10), 8 FROM sessions),
    read (session, place, hex, letters, number) AS (
        SELECT session, place, hex, letters, 0 FROM part
        UNION ALL
        SELECT session, place, substr(hex, 2), letters,
            number * 16 + instr('0123456789ABCDEF', substr(hex, 1, 1)) - 1
        FROM read WHERE hex <> ''),
    said (session, place, number, letters, text) AS (
        SELECT session, place, number, letters, '' FROM read WHERE hex = ''
        UNION ALL
        SELECT session, place, number >> 5, letters - 1,
            substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (number & 31) + 1, 1) || text
        FROM said WHERE letters > 0)
UPDATE sessions SET text_id =
    (SELECT text FROM said WHERE session = sessions.id AND place = 0 AND letters = 0)
    || (SELECT text FROM said WHERE session = sessions.id AND place = 1 AND letters = 0)
    || (SELECT text FROM said WHERE session = sessions.id AND place = 2 AND letters = 0);
CREATE UNIQUE INDEX sessions_text_id ON sessions (text_id);

-- A row for each session of which there is something to say; apart from the session, which every turn writes.
CREATE TABLE registers (
    session INTEGER PRIMARY KEY REFERENCES sessions,
    rules   INTEGER NOT NULL,          -- which rules it was kept by; 0: several
    state   TEXT NOT NULL              -- JSON
) STRICT;
INSERT INTO registers (session, rules, state) SELECT id, 0, state FROM sessions WHERE state IS NOT NULL;
ALTER TABLE sessions DROP COLUMN state;

CREATE TABLE records (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions,
    turn    INTEGER NOT NULL,          -- the session's newest when it was recorded
    kind    INTEGER NOT NULL,
    content TEXT NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1))
) STRICT;
CREATE INDEX records_session ON records (session, turn, id);

CREATE VIEW conversation_turns AS
SELECT n.seq AS id, s.text_id AS session_id, n.turn AS turn_number,
    CASE n.author_type WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' WHEN 2 THEN 'tool' ELSE 'system' END AS role,
    n.content, n.tool_calls, n.tool_call_id, n.tool_name,
    coalesce(n.tokens, (length(n.content) + 3) / 4) AS token_count,
    strftime('%Y-%m-%d %H:%M:%f', n.created_at / 1000.0, 'unixepoch') AS created_at
FROM sessions s JOIN nodes n ON n.session = s.id;

CREATE VIEW cowork_sessions AS
SELECT s.text_id AS id, s.workspace AS workspace_path, coalesce(s.model, a.model, a.name) AS model_name,
    nullif(trim(coalesce(a.system_prompt, '') || char(10, 10) || coalesce(t.system_context, ''), char(10)), '')
        AS system_prompt,
    strftime('%Y-%m-%d %H:%M:%f', s.started_at / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%d %H:%M:%f', s.last_active_at / 1000.0, 'unixepoch') AS last_active_at,
    s.total_tokens, s.turn_count, r.state AS session_state, s.active AS is_active
FROM sessions s JOIN agents a ON a.id = s.agent JOIN trees t ON t.id = s.tree
    LEFT JOIN registers r ON r.session = s.id;
