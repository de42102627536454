-- Sessions that expire, by their expiry time: the clean-up task looks for those that have expired and were not ended.
-- Cost: one pass over the sessions, far fewer than nodes.
CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE active = 1 AND expires_at IS NOT NULL;
