-- Figures of a session: its turns as a person counts them, tokens as providers reported them, and the system prompts that
-- were sent. `turn_count` remains the number of the newest turn; the view shows the messages of people. The program sums
-- the tokens anew once this has run.
-- Cost: one pass over the nodes of sessions and their envelopes.

-- Messages of people, own and received, since the newest reset.
ALTER TABLE sessions ADD COLUMN person_turns INTEGER NOT NULL DEFAULT 0;

-- A row whenever it changed: the agent's and the tree's prompt and the instructions, without the state.
CREATE TABLE system_prompts (
    session INTEGER NOT NULL REFERENCES sessions,
    turn    INTEGER NOT NULL,          -- the session's newest when it was first sent
    content TEXT NOT NULL,
    row_sum INTEGER,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

DROP TRIGGER sessions_inserted;
DROP TRIGGER sessions_updated;
CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN
    UPDATE sessions SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.workspace, NEW.agent, NEW.tree, NEW.position,
        NEW.versions, NEW.started_at, NEW.last_active_at, NEW.expires_at, NEW.turn_count, NEW.total_tokens,
        NEW.active, NEW.metadata, NEW.delegated_by, NEW.text_id, NEW.model, NEW.project, NEW.external_ref,
        NEW.focus, NEW.since, NEW.person_turns) WHERE id = NEW.id;
END;
-- A turn changes the other columns, and its statements set the checksum.
CREATE TRIGGER sessions_updated
AFTER UPDATE OF ulid, workspace, agent, tree, versions, started_at, expires_at, active, metadata, delegated_by, text_id,
    model, project, external_ref, since ON sessions WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE sessions SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.workspace, NEW.agent, NEW.tree, NEW.position,
        NEW.versions, NEW.started_at, NEW.last_active_at, NEW.expires_at, NEW.turn_count, NEW.total_tokens,
        NEW.active, NEW.metadata, NEW.delegated_by, NEW.text_id, NEW.model, NEW.project, NEW.external_ref,
        NEW.focus, NEW.since, NEW.person_turns) WHERE id = NEW.id;
END;

DROP VIEW cowork_sessions;
CREATE VIEW cowork_sessions AS
SELECT s.text_id AS id, s.workspace AS workspace_path, coalesce(s.model, a.model, a.name) AS model_name,
    coalesce(
        (SELECT content FROM system_prompts WHERE session = s.id ORDER BY turn DESC LIMIT 1),
        nullif(trim(coalesce(a.system_prompt, '') || char(10, 10) || coalesce(t.system_context, ''), char(10)), '')
    ) AS system_prompt,
    strftime('%Y-%m-%d %H:%M:%f', s.started_at / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%d %H:%M:%f', s.last_active_at / 1000.0, 'unixepoch') AS last_active_at,
    s.total_tokens, s.person_turns AS turn_count,
    json_set(
        json_remove(coalesce(r.state, '{}'), '$.failing'),
        '$.current_focus', (
            SELECT substr(trim(substr(words, 1, instr(words || char(10), char(10)) - 1)), 1, 100)
            FROM (SELECT ltrim(content, char(9, 10, 13, 32)) AS words FROM nodes WHERE seq = s.focus)),
        '$.todos', json((
            SELECT json_object('done', count(*) FILTER (WHERE status = 2), 'open', count(*) FILTER (WHERE status < 2))
            FROM todos WHERE session = s.id))
    ) AS session_state,
    s.active AS is_active
FROM sessions s JOIN agents a ON a.id = s.agent JOIN trees t ON t.id = s.tree
    LEFT JOIN registers r ON r.session = s.id;
