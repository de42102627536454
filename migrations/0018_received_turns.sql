-- Turns of a session whose nodes another session appended: messages of people that the session's agent received when it
-- began to answer. So a conversation is one session, in whichever interface its messages were written.
-- Cost: none; existing sessions receive the messages with their next answer.
CREATE TABLE received_turns (
    session INTEGER NOT NULL REFERENCES sessions,
    turn    INTEGER NOT NULL CHECK (turn > 0),
    node    INTEGER NOT NULL REFERENCES nodes,
    row_sum INTEGER,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX received_turns_node ON received_turns (node, session);
CREATE TRIGGER received_turns_update BEFORE UPDATE ON received_turns BEGIN
    SELECT RAISE(ABORT, 'a turn is never changed');
END;
CREATE TRIGGER received_turns_delete BEFORE DELETE ON received_turns BEGIN
    SELECT RAISE(ABORT, 'a turn is never removed');
END;

DROP VIEW conversation_turns;
CREATE VIEW conversation_turns AS
SELECT n.seq AS id, s.text_id AS session_id, t.turn AS turn_number,
    CASE coalesce(n.role, n.author_type) WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' WHEN 2 THEN 'tool' ELSE 'system' END
        AS role,
    n.content, n.tool_calls, n.tool_call_id, n.tool_name,
    coalesce(n.tokens, (length(n.content) + 3) / 4) AS token_count,
    strftime('%Y-%m-%d %H:%M:%f', n.created_at / 1000.0, 'unixepoch') AS created_at
FROM (SELECT session, turn, seq AS node FROM nodes WHERE session IS NOT NULL
      UNION ALL SELECT session, turn, node FROM received_turns) t
    JOIN sessions s ON s.id = t.session JOIN nodes n ON n.seq = t.node;
