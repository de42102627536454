-- Rows that nothing else in the file vouches for have a checksum of their columns (`row_sum`; the function is the program's),
-- so that `verify` finds damage in them: names, labels, times, permissions, the data of
-- an undo. A node's checksum leaves out the content, which its hash covers. Statements that write many rows set the checksum;
-- triggers set it for the others. A purge may empty error messages in the events of a delegation, which can quote a node.
-- Cost: every node and every entry of the journal is written anew, about 10 s for a million.

ALTER TABLE agents ADD COLUMN row_sum INTEGER;
ALTER TABLE trees ADD COLUMN row_sum INTEGER;
ALTER TABLE sessions ADD COLUMN row_sum INTEGER;
ALTER TABLE nodes ADD COLUMN row_sum INTEGER;
ALTER TABLE bookmarks ADD COLUMN row_sum INTEGER;
ALTER TABLE documents ADD COLUMN row_sum INTEGER;
ALTER TABLE document_versions ADD COLUMN row_sum INTEGER;
ALTER TABLE links ADD COLUMN row_sum INTEGER;
ALTER TABLE provenance ADD COLUMN row_sum INTEGER;
ALTER TABLE sources ADD COLUMN row_sum INTEGER;
ALTER TABLE journal ADD COLUMN row_sum INTEGER;
ALTER TABLE pins ADD COLUMN row_sum INTEGER;
ALTER TABLE stashes ADD COLUMN row_sum INTEGER;
ALTER TABLE actions ADD COLUMN row_sum INTEGER;
ALTER TABLE records ADD COLUMN row_sum INTEGER;
ALTER TABLE todos ADD COLUMN row_sum INTEGER;
ALTER TABLE delegation_events ADD COLUMN row_sum INTEGER;
ALTER TABLE vectors ADD COLUMN row_sum INTEGER;
ALTER TABLE leases ADD COLUMN row_sum INTEGER;
ALTER TABLE summaries ADD COLUMN row_sum INTEGER;
ALTER TABLE estimates ADD COLUMN row_sum INTEGER;

DROP TRIGGER nodes_update;
DROP TRIGGER journal_update;
DROP TRIGGER document_versions_update;
DROP TRIGGER delegation_events_update;

UPDATE agents SET row_sum = row_sum(id, ulid, name, kind, model, system_prompt, temperature, max_tokens, stop,
    permissions, created_at, removed);
UPDATE trees SET row_sum = row_sum(id, ulid, title, description, mode, system_context, created_at, archived_at,
    project, external_ref);
UPDATE sessions SET row_sum = row_sum(id, ulid, workspace, agent, tree, position, versions, started_at,
    last_active_at, expires_at, turn_count, total_tokens, active, metadata, delegated_by, text_id, model, project,
    external_ref, focus, since);
UPDATE nodes SET row_sum = row_sum(seq, ulid, tree, local_id, parent, depth, kind, author, author_type,
    created_at, hash, session, turn, edited_from, version_of, tokens, interrupted, purged_at, tool_call_id,
    tool_name, tool_calls, metadata, raw, role);
UPDATE bookmarks SET row_sum = row_sum(node, tree, label, created_at);
UPDATE documents SET row_sum = row_sum(id, ulid, name, created_at, removed);
UPDATE document_versions SET row_sum = row_sum(document, version, author, created_at, content);
UPDATE links SET row_sum = row_sum(id, ulid, source, target_node, target_tree, target_document, section, note,
    author, created_at, removed);
UPDATE provenance SET row_sum = row_sum(node, envelope);
UPDATE sources SET row_sum = row_sum(source, node);
UPDATE journal SET row_sum = row_sum(seq, grp, at, agent, session, tree, op, change, node, undo, target,
    previous);
UPDATE pins SET row_sum = row_sum(id, agent, tree, node, document, section, pinned_at);
UPDATE stashes SET row_sum = row_sum(id, agent, tree, label, kind, node, content, tokens, stashed_at);
UPDATE actions SET row_sum = row_sum(id, agent, tree, at, after, tool, about);
UPDATE records SET row_sum = row_sum(id, session, turn, kind, content, removed);
UPDATE todos SET row_sum = row_sum(id, ulid, session, turn, made_in, number, place, title, context, criteria,
    agent_type, status, outcome, created_at, started_at, completed_at);
UPDATE delegation_events SET row_sum = row_sum(delegation, number, at, event);
UPDATE vectors SET row_sum = row_sum(model, node, vector);
UPDATE leases SET row_sum = row_sum(node, agent, session, expires_at);
UPDATE summaries SET row_sum = row_sum(id, node, document, tree, made_of, model, made_at, content);
UPDATE estimates SET row_sum = row_sum(model, estimated, reported);

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
CREATE TRIGGER journal_update BEFORE UPDATE ON journal
WHEN NOT (
    NEW.undo IS NULL AND NEW.seq = OLD.seq AND NEW.grp IS OLD.grp AND NEW.at = OLD.at
    AND NEW.agent = OLD.agent AND NEW.session IS OLD.session AND NEW.tree IS OLD.tree
    AND NEW.op = OLD.op AND NEW.change = OLD.change AND NEW.node IS OLD.node
    AND NEW.target IS OLD.target AND NEW.previous IS OLD.previous
) BEGIN
    SELECT RAISE(ABORT, 'the journal is never changed');
END;
CREATE TRIGGER document_versions_update BEFORE UPDATE ON document_versions BEGIN
    SELECT RAISE(ABORT, 'a version is never changed');
END;
CREATE TRIGGER delegation_events_update BEFORE UPDATE ON delegation_events
WHEN NOT (
    NEW.delegation = OLD.delegation AND NEW.number = OLD.number AND NEW.at = OLD.at
    AND NEW.event = json_replace(OLD.event, '$.why', '')
) BEGIN
    SELECT RAISE(ABORT, 'an event is never changed');
END;

CREATE TRIGGER agents_inserted AFTER INSERT ON agents BEGIN
    UPDATE agents SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.name, NEW.kind, NEW.model, NEW.system_prompt,
        NEW.temperature, NEW.max_tokens, NEW.stop, NEW.permissions, NEW.created_at, NEW.removed) WHERE id = NEW.id;
END;
CREATE TRIGGER agents_updated AFTER UPDATE ON agents WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE agents SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.name, NEW.kind, NEW.model, NEW.system_prompt,
        NEW.temperature, NEW.max_tokens, NEW.stop, NEW.permissions, NEW.created_at, NEW.removed) WHERE id = NEW.id;
END;
CREATE TRIGGER trees_inserted AFTER INSERT ON trees BEGIN
    UPDATE trees SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.title, NEW.description, NEW.mode,
        NEW.system_context, NEW.created_at, NEW.archived_at, NEW.project, NEW.external_ref) WHERE id = NEW.id;
END;
CREATE TRIGGER trees_updated AFTER UPDATE ON trees WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE trees SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.title, NEW.description, NEW.mode,
        NEW.system_context, NEW.created_at, NEW.archived_at, NEW.project, NEW.external_ref) WHERE id = NEW.id;
END;
CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN
    UPDATE sessions SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.workspace, NEW.agent, NEW.tree, NEW.position,
        NEW.versions, NEW.started_at, NEW.last_active_at, NEW.expires_at, NEW.turn_count, NEW.total_tokens,
        NEW.active, NEW.metadata, NEW.delegated_by, NEW.text_id, NEW.model, NEW.project, NEW.external_ref,
        NEW.focus, NEW.since) WHERE id = NEW.id;
END;
-- A turn changes the other columns, and its statements set the checksum.
CREATE TRIGGER sessions_updated
AFTER UPDATE OF ulid, workspace, agent, tree, versions, started_at, expires_at, active, metadata, delegated_by, text_id,
    model, project, external_ref, since ON sessions WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE sessions SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.workspace, NEW.agent, NEW.tree, NEW.position,
        NEW.versions, NEW.started_at, NEW.last_active_at, NEW.expires_at, NEW.turn_count, NEW.total_tokens,
        NEW.active, NEW.metadata, NEW.delegated_by, NEW.text_id, NEW.model, NEW.project, NEW.external_ref,
        NEW.focus, NEW.since) WHERE id = NEW.id;
END;
CREATE TRIGGER bookmarks_inserted AFTER INSERT ON bookmarks BEGIN
    UPDATE bookmarks SET row_sum = row_sum(NEW.node, NEW.tree, NEW.label, NEW.created_at) WHERE node = NEW.node;
END;
CREATE TRIGGER bookmarks_updated AFTER UPDATE ON bookmarks WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE bookmarks SET row_sum = row_sum(NEW.node, NEW.tree, NEW.label, NEW.created_at) WHERE node = NEW.node;
END;
CREATE TRIGGER documents_inserted AFTER INSERT ON documents BEGIN
    UPDATE documents SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.name, NEW.created_at, NEW.removed) WHERE id =
        NEW.id;
END;
CREATE TRIGGER documents_updated AFTER UPDATE ON documents WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE documents SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.name, NEW.created_at, NEW.removed) WHERE id =
        NEW.id;
END;
CREATE TRIGGER links_inserted AFTER INSERT ON links BEGIN
    UPDATE links SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.source, NEW.target_node, NEW.target_tree,
        NEW.target_document, NEW.section, NEW.note, NEW.author, NEW.created_at, NEW.removed) WHERE id = NEW.id;
END;
CREATE TRIGGER links_updated AFTER UPDATE ON links WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE links SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.source, NEW.target_node, NEW.target_tree,
        NEW.target_document, NEW.section, NEW.note, NEW.author, NEW.created_at, NEW.removed) WHERE id = NEW.id;
END;
CREATE TRIGGER pins_inserted AFTER INSERT ON pins BEGIN
    UPDATE pins SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.node, NEW.document, NEW.section,
        NEW.pinned_at) WHERE id = NEW.id;
END;
CREATE TRIGGER pins_updated AFTER UPDATE ON pins WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE pins SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.node, NEW.document, NEW.section,
        NEW.pinned_at) WHERE id = NEW.id;
END;
CREATE TRIGGER stashes_inserted AFTER INSERT ON stashes BEGIN
    UPDATE stashes SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.label, NEW.kind, NEW.node,
        NEW.content, NEW.tokens, NEW.stashed_at) WHERE id = NEW.id;
END;
CREATE TRIGGER stashes_updated AFTER UPDATE ON stashes WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE stashes SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.label, NEW.kind, NEW.node,
        NEW.content, NEW.tokens, NEW.stashed_at) WHERE id = NEW.id;
END;
CREATE TRIGGER actions_inserted AFTER INSERT ON actions BEGIN
    UPDATE actions SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.at, NEW.after, NEW.tool, NEW.about)
        WHERE id = NEW.id;
END;
CREATE TRIGGER actions_updated AFTER UPDATE ON actions WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE actions SET row_sum = row_sum(NEW.id, NEW.agent, NEW.tree, NEW.at, NEW.after, NEW.tool, NEW.about)
        WHERE id = NEW.id;
END;
CREATE TRIGGER records_inserted AFTER INSERT ON records BEGIN
    UPDATE records SET row_sum = row_sum(NEW.id, NEW.session, NEW.turn, NEW.kind, NEW.content, NEW.removed)
        WHERE id = NEW.id;
END;
CREATE TRIGGER records_updated AFTER UPDATE ON records WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE records SET row_sum = row_sum(NEW.id, NEW.session, NEW.turn, NEW.kind, NEW.content, NEW.removed)
        WHERE id = NEW.id;
END;
CREATE TRIGGER todos_inserted AFTER INSERT ON todos BEGIN
    UPDATE todos SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.session, NEW.turn, NEW.made_in, NEW.number,
        NEW.place, NEW.title, NEW.context, NEW.criteria, NEW.agent_type, NEW.status, NEW.outcome, NEW.created_at,
        NEW.started_at, NEW.completed_at) WHERE id = NEW.id;
END;
CREATE TRIGGER todos_updated AFTER UPDATE ON todos WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE todos SET row_sum = row_sum(NEW.id, NEW.ulid, NEW.session, NEW.turn, NEW.made_in, NEW.number,
        NEW.place, NEW.title, NEW.context, NEW.criteria, NEW.agent_type, NEW.status, NEW.outcome, NEW.created_at,
        NEW.started_at, NEW.completed_at) WHERE id = NEW.id;
END;
CREATE TRIGGER leases_inserted AFTER INSERT ON leases BEGIN
    UPDATE leases SET row_sum = row_sum(NEW.node, NEW.agent, NEW.session, NEW.expires_at) WHERE node = NEW.node;
END;
CREATE TRIGGER leases_updated AFTER UPDATE ON leases WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE leases SET row_sum = row_sum(NEW.node, NEW.agent, NEW.session, NEW.expires_at) WHERE node = NEW.node;
END;
CREATE TRIGGER summaries_inserted AFTER INSERT ON summaries BEGIN
    UPDATE summaries SET row_sum = row_sum(NEW.id, NEW.node, NEW.document, NEW.tree, NEW.made_of, NEW.model,
        NEW.made_at, NEW.content) WHERE id = NEW.id;
END;
CREATE TRIGGER summaries_updated AFTER UPDATE ON summaries WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE summaries SET row_sum = row_sum(NEW.id, NEW.node, NEW.document, NEW.tree, NEW.made_of, NEW.model,
        NEW.made_at, NEW.content) WHERE id = NEW.id;
END;
CREATE TRIGGER estimates_inserted AFTER INSERT ON estimates BEGIN
    UPDATE estimates SET row_sum = row_sum(NEW.model, NEW.estimated, NEW.reported) WHERE model = NEW.model;
END;
CREATE TRIGGER estimates_updated AFTER UPDATE ON estimates WHEN NEW.row_sum IS OLD.row_sum BEGIN
    UPDATE estimates SET row_sum = row_sum(NEW.model, NEW.estimated, NEW.reported) WHERE model = NEW.model;
END;
