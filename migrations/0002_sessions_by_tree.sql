-- Sessions of a tree: an export asks for them, and a tree that many agents worked in has many among all others.
-- Cost: one pass over the sessions, far fewer than nodes.
CREATE INDEX sessions_tree ON sessions (tree, last_active_at);
