-- Results of a tool, the newest first, wherever they are: the index by tool and session has them in the order of sessions, so
-- that the last ten anywhere were all of them, sorted.
-- Cost: an entry for each result of a tool.
CREATE INDEX nodes_tool_newest ON nodes (tool_name) WHERE tool_name IS NOT NULL;
