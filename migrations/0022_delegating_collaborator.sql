-- The default collaborator may delegate; each plan still needs the user's approval. A collaborator whose profile was ever
-- changed keeps its permissions, even if it equals the former default now.
-- Cost: one pass over the journal.
UPDATE agents SET permissions = permissions | 128
WHERE ulid = x'00000000000000000000000000000002' AND name = 'collaborator' AND kind = 1 AND permissions = 31
    AND model IS NULL AND system_prompt IS NULL AND temperature IS NULL AND max_tokens IS NULL AND stop = '[]'
    AND removed = 0
    AND NOT EXISTS (
        SELECT 1 FROM journal
        WHERE change IN (16, 17) AND (undo IS NULL OR instr(undo, '"00000000000000000000000002"'))
    );
