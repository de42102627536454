-- The two views for those who read by SQL, as in a file: turns of sessions, and sessions. Cost: none.

-- A ULID as text: 26 digits of five bits each.
CREATE FUNCTION loom_ulid(id uuid) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substring(bits FROM 5 * i + 1 FOR 5)::int + 1, 1), '' ORDER BY i)
    FROM (SELECT B'00' || ('x' || replace(id::text, '-', ''))::bit(128) AS bits) b, generate_series(0, 25) i
$$;

CREATE FUNCTION loom_time(millis bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT to_char(timestamp 'epoch' + millis * interval '1 millisecond', 'YYYY-MM-DD HH24:MI:SS.MS')
$$;

CREATE VIEW conversation_turns AS
SELECT n.seq AS id, loom_ulid(t.session) AS session_id, t.turn AS turn_number,
    CASE coalesce(n.role, n.author_type) WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' WHEN 2 THEN 'tool' ELSE 'system' END
        AS role,
    n.content,
    CASE WHEN n.tool_calls IS NOT NULL OR n.author_type <> 1 THEN n.tool_calls ELSE (
        SELECT json_agg(json_build_object(
            'id', 'call_' || r.local_id, 'name', r.tool_name, 'arguments', coalesce(r.metadata::json ->> 'arguments', '{}'),
            'line', r.metadata::json ->> 'command') ORDER BY r.seq)::text
        FROM nodes r
        WHERE r.tree = n.tree AND r.parent = n.seq AND r.kind = 4 AND r.tool_call_id IS NULL
            AND r.metadata::json ->> 'command' IS NOT NULL) END AS tool_calls,
    CASE WHEN n.tool_call_id IS NULL AND n.kind = 4 AND n.metadata::json ->> 'command' IS NOT NULL
        THEN 'call_' || n.local_id ELSE n.tool_call_id END AS tool_call_id,
    n.tool_name,
    coalesce(n.tokens, (length(n.content) + 3) / 4) AS token_count,
    loom_time(n.created_at) AS created_at
FROM (SELECT session, turn, tree, seq AS node FROM nodes WHERE session IS NOT NULL
      UNION ALL SELECT session, turn, tree, node FROM received_turns) t
    JOIN nodes n ON n.tree = t.tree AND n.seq = t.node;

CREATE VIEW cowork_sessions AS
SELECT loom_ulid(s.id) AS id, s.workspace AS workspace_path, coalesce(s.model, a.model, a.name) AS model_name,
    coalesce(
        (SELECT content FROM system_prompts WHERE session = s.id ORDER BY turn DESC LIMIT 1),
        nullif(trim(E'\n' FROM coalesce(a.system_prompt, '') || E'\n\n' || coalesce(t.system_context, '')), '')
    ) AS system_prompt,
    loom_time(s.started_at) AS started_at,
    loom_time(s.last_active_at) AS last_active_at,
    s.total_tokens, s.person_turns AS turn_count,
    (coalesce(r.state, '{}')::jsonb - 'failing' || jsonb_build_object(
        'current_focus', (
            SELECT left(trim(split_part(ltrim(content, E'\t\n\r '), E'\n', 1)), 100) FROM nodes WHERE id = s.focus),
        'todos', (
            SELECT jsonb_build_object('done', count(*) FILTER (WHERE status = 2), 'open', count(*) FILTER (WHERE status < 2))
            FROM todos WHERE session = s.id)
    ))::text AS session_state,
    s.active AS is_active
FROM sessions s JOIN agents a ON a.id = s.agent JOIN trees t ON t.id = s.tree LEFT JOIN registers r ON r.session = s.id;
