-- Arrow commands as tool calls. From here on a reply stores them in tool_calls, each with an id, and their results name it.
-- A node is never changed, so for older replies the view makes the calls from the results, whose metadata holds the command,
-- and takes the id of the result for the id of the call. The program indexes the words of calls anew once this has run.
-- Cost: if any node has calls or results of tools, every node's text is read once, about 30 µs each.
DROP VIEW conversation_turns;
CREATE VIEW conversation_turns AS
SELECT n.seq AS id, s.text_id AS session_id, t.turn AS turn_number,
    CASE coalesce(n.role, n.author_type) WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' WHEN 2 THEN 'tool' ELSE 'system' END
        AS role,
    n.content,
    CASE WHEN n.tool_calls IS NOT NULL OR n.author_type <> 1 THEN n.tool_calls ELSE (
        SELECT nullif(json_group_array(json_object(
            'id', 'call_' || r.local_id, 'name', r.tool_name, 'arguments', coalesce(r.metadata ->> 'arguments', '{}'),
            'line', r.metadata ->> 'command')), '[]')
        FROM (SELECT local_id, tool_name, metadata FROM nodes
              WHERE tree = n.tree AND depth = n.depth + 1 AND parent = n.seq AND kind = 4 AND tool_call_id IS NULL
                  AND metadata ->> 'command' IS NOT NULL
              ORDER BY seq) r) END AS tool_calls,
    CASE WHEN n.tool_call_id IS NULL AND n.kind = 4 AND n.metadata ->> 'command' IS NOT NULL THEN 'call_' || n.local_id
        ELSE n.tool_call_id END AS tool_call_id,
    n.tool_name,
    coalesce(n.tokens, (length(n.content) + 3) / 4) AS token_count,
    strftime('%Y-%m-%d %H:%M:%f', n.created_at / 1000.0, 'unixepoch') AS created_at
FROM (SELECT session, turn, seq AS node FROM nodes WHERE session IS NOT NULL
      UNION ALL SELECT session, turn, node FROM received_turns) t
    JOIN sessions s ON s.id = t.session JOIN nodes n ON n.seq = t.node;
