-- An edit keeps the role of what it rewords: whose words a node holds in the conversation is stored apart from what kind of
-- author wrote it, where the two differ. Existing edits take the role of the node that they were edited from, through edits
-- of edits. From here on new nodes have a hash of version 2, which begins with its version and covers a node's role,
-- author type, time, raw content, tool fields, metadata and links too; older nodes keep theirs.
-- Cost: one pass over the nodes.

ALTER TABLE nodes ADD COLUMN role INTEGER CHECK (role BETWEEN 0 AND 3);   -- NULL: the author type

DROP TRIGGER nodes_update;
UPDATE nodes SET role = nullif((
    WITH RECURSIVE origin (author_type, edited_from) AS (
        SELECT o.author_type, o.edited_from FROM nodes o WHERE o.seq = nodes.edited_from
        UNION ALL
        SELECT o.author_type, o.edited_from FROM origin JOIN nodes o ON o.seq = origin.edited_from)
    SELECT author_type FROM origin WHERE edited_from IS NULL), author_type)
WHERE edited_from IS NOT NULL;

-- The one update: see 0001.
CREATE TRIGGER nodes_update BEFORE UPDATE ON nodes
WHEN NOT (
    OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL
    AND NEW.content = '' AND NEW.raw IS NULL AND NEW.metadata IS NULL
    AND NEW.tool_calls IS NULL AND NEW.tool_call_id IS NULL AND NEW.tool_name IS NULL
    AND NEW.seq = OLD.seq AND NEW.ulid = OLD.ulid AND NEW.tree = OLD.tree AND NEW.local_id = OLD.local_id
    AND NEW.parent IS OLD.parent AND NEW.depth = OLD.depth AND NEW.kind = OLD.kind
    AND NEW.author = OLD.author AND NEW.author_type = OLD.author_type AND NEW.created_at = OLD.created_at
    AND NEW.hash = OLD.hash AND NEW.session IS OLD.session AND NEW.turn IS OLD.turn
    AND NEW.edited_from IS OLD.edited_from AND NEW.version_of IS OLD.version_of
    AND NEW.tokens IS OLD.tokens AND NEW.interrupted = OLD.interrupted AND NEW.role IS OLD.role
) BEGIN
    SELECT RAISE(ABORT, 'a node is never changed');
END;

DROP VIEW conversation_turns;
CREATE VIEW conversation_turns AS
SELECT n.seq AS id, s.text_id AS session_id, n.turn AS turn_number,
    CASE coalesce(n.role, n.author_type) WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' WHEN 2 THEN 'tool' ELSE 'system' END AS role,
    n.content, n.tool_calls, n.tool_call_id, n.tool_name,
    coalesce(n.tokens, (length(n.content) + 3) / 4) AS token_count,
    strftime('%Y-%m-%d %H:%M:%f', n.created_at / 1000.0, 'unixepoch') AS created_at
FROM sessions s JOIN nodes n ON n.session = s.id;
