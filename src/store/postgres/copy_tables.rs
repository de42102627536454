//! The tables of a file as rows of PostgreSQL: for each column its type there, and the expression that reads it here.

/// A table that is copied.
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    /// Column, type and expression.
    pub(super) columns: &'static [(&'static str, &'static str, &'static str)],
    /// Tables of the query.
    from: &'static str,
    /// Ascending number of a row; `None`: the rows are numbered in the order of the table.
    pub(super) key: Option<&'static str>,
}

impl CopiedTable {
    /// The query of the rows after `?1`, at most `?2`. The first column is the key.
    pub(super) fn select(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|(_, _, expression)| *expression).collect();
        let columns = columns.join(", ");
        match self.key {
            Some(key) => format!("SELECT {key}, {columns} FROM {} WHERE {key} > ?1 ORDER BY {key} LIMIT ?2", self.from),
            None => format!("SELECT 0, {columns} FROM {} ORDER BY 2, 3, 4 LIMIT ?2 OFFSET ?1", self.from),
        }
    }

    /// The statement that inserts rows, given as one list of texts for each column.
    pub(super) fn insert(&self) -> String {
        let list = |each: &dyn Fn(usize, &str, &str) -> String| {
            let parts = (1..).zip(self.columns).map(|(number, (name, kind, _))| each(number, name, kind));
            parts.collect::<Vec<_>>().join(", ")
        };
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM unnest({}) r ({})",
            self.name,
            list(&|_, name, _| name.to_owned()),
            list(&|_, name, kind| format!("r.{name}::{kind}")),
            list(&|number, _, _| format!("${number}::text[]")),
            list(&|_, name, _| name.to_owned()),
        )
    }
}

macro_rules! table {
    ($name:literal, $from:literal, $key:expr, $($column:ident $kind:ident = $expression:literal),+ $(,)?) => {
        CopiedTable {
            name: $name,
            columns: &[$((stringify!($column), stringify!($kind), $expression)),+],
            from: $from,
            key: $key,
        }
    };
}

/// All tables but those of derived data, in an order in which references are there before.
pub(super) const TABLES: &[CopiedTable] = &[
    table!("agents", "agents a", Some("a.id"), id uuid = "a.ulid", seq bigint = "a.id", name text = "a.name",
        kind bigint = "a.kind", model text = "a.model", system_prompt text = "a.system_prompt",
        temperature float8 = "a.temperature", max_tokens bigint = "a.max_tokens", stop text = "a.stop",
        permissions bigint = "a.permissions", created_at bigint = "a.created_at", removed boolean = "a.removed"),
    table!("trees", "trees t", Some("t.id"), id uuid = "t.ulid", seq bigint = "t.id", title text = "t.title",
        description text = "t.description", mode bigint = "t.mode", system_context text = "t.system_context",
        created_at bigint = "t.created_at", archived_at bigint = "t.archived_at", project text = "t.project",
        external_ref text = "t.external_ref"),
    table!("tree_state", "tree_state s JOIN trees t ON t.id = s.tree", Some("s.tree"), tree uuid = "t.ulid",
        nodes bigint = "s.nodes", messages bigint = "s.messages", leaves bigint = "s.leaves",
        branch_points bigint = "s.branch_points", max_depth bigint = "s.max_depth", updated_at bigint = "s.updated_at",
        last_node bigint = "(SELECT coalesce(max(n.seq), 0) FROM nodes n WHERE n.tree = s.tree)",
        last_journal bigint = "s.last_journal"),
    table!("sessions", "sessions s JOIN agents a ON a.id = s.agent JOIN trees t ON t.id = s.tree
            LEFT JOIN sessions d ON d.id = s.delegated_by LEFT JOIN nodes f ON f.seq = s.focus", Some("s.id"),
        id uuid = "s.ulid", seq bigint = "s.id", workspace text = "s.workspace", agent uuid = "a.ulid", tree uuid = "t.ulid",
        position bigint = "s.position", versions text = "s.versions", started_at bigint = "s.started_at",
        last_active_at bigint = "s.last_active_at", expires_at bigint = "s.expires_at", turn_count bigint = "s.turn_count",
        person_turns bigint = "s.person_turns", total_tokens bigint = "s.total_tokens", active boolean = "s.active",
        metadata text = "s.metadata", delegated_by uuid = "d.ulid", model text = "s.model", project text = "s.project",
        external_ref text = "s.external_ref", focus uuid = "f.ulid", since bigint = "s.since"),
    table!("nodes", "nodes n JOIN trees t ON t.id = n.tree JOIN agents a ON a.id = n.author
            LEFT JOIN sessions s ON s.id = n.session", Some("n.seq"),
        tree uuid = "t.ulid", seq bigint = "n.seq", id uuid = "n.ulid", local_id text = "n.local_id",
        parent bigint = "n.parent", depth bigint = "n.depth", kind bigint = "n.kind", author uuid = "a.ulid",
        author_type bigint = "n.author_type", role bigint = "n.role", created_at bigint = "n.created_at",
        hash bytea = "n.hash", session uuid = "s.ulid", turn bigint = "n.turn", edited_from bigint = "n.edited_from",
        version_of bigint = "n.version_of", tokens bigint = "n.tokens", interrupted boolean = "n.interrupted",
        purged_at bigint = "n.purged_at", tool_call_id text = "n.tool_call_id", tool_name text = "n.tool_name",
        tool_calls text = "n.tool_calls", metadata text = "n.metadata", content text = "n.content", raw text = "n.raw"),
    table!("node_state", "node_state s JOIN nodes n ON n.seq = s.node JOIN trees t ON t.id = n.tree", Some("s.node"),
        tree uuid = "t.ulid", node bigint = "s.node", continuations bigint = "s.continuations",
        annotations bigint = "s.annotations", links bigint = "s.links", versions bigint = "s.versions",
        bookmarked boolean = "s.bookmarked", hidden_by bigint = "s.hidden_by", excluded boolean = "s.excluded"),
    table!("bookmarks", "bookmarks b JOIN trees t ON t.id = b.tree", Some("b.node"), tree uuid = "t.ulid",
        node bigint = "b.node", label text = "b.label", created_at bigint = "b.created_at"),
    table!("documents", "documents d", Some("d.id"), id uuid = "d.ulid", seq bigint = "d.id", name text = "d.name",
        created_at bigint = "d.created_at", removed boolean = "d.removed"),
    table!("document_versions", "document_versions v JOIN documents d ON d.id = v.document JOIN agents a ON a.id = v.author",
        None, document uuid = "d.ulid", version bigint = "v.version", author uuid = "a.ulid",
        created_at bigint = "v.created_at", content text = "v.content"),
    table!("links", "links l JOIN nodes n ON n.seq = l.source JOIN trees t ON t.id = n.tree JOIN agents a ON a.id = l.author
            LEFT JOIN nodes tn ON tn.seq = l.target_node LEFT JOIN trees tt ON tt.id = l.target_tree
            LEFT JOIN documents td ON td.id = l.target_document", Some("l.id"),
        tree uuid = "t.ulid", id uuid = "l.ulid", seq bigint = "l.id", source bigint = "l.source",
        target_node uuid = "tn.ulid", target_tree uuid = "tt.ulid", target_document uuid = "td.ulid",
        section text = "l.section", note text = "l.note", author uuid = "a.ulid", created_at bigint = "l.created_at",
        removed boolean = "l.removed"),
    table!("provenance", "provenance p JOIN nodes n ON n.seq = p.node JOIN trees t ON t.id = n.tree", Some("p.node"),
        tree uuid = "t.ulid", node bigint = "p.node", envelope bytea = "p.envelope"),
    table!("sources", "sources o JOIN nodes n ON n.seq = o.node JOIN trees t ON t.id = n.tree", None,
        source text = "o.source", tree uuid = "t.ulid", node bigint = "o.node"),
    table!("journal", "journal j JOIN agents a ON a.id = j.agent LEFT JOIN sessions s ON s.id = j.session
            LEFT JOIN trees t ON t.id = j.tree", Some("j.seq"),
        tree uuid = "coalesce(t.ulid, x'00000000000000000000000000000000')", seq bigint = "j.seq",
        grp bigint = "coalesce(j.grp, j.seq)", at bigint = "j.at", agent uuid = "a.ulid", session uuid = "s.ulid",
        op bigint = "j.op", change bigint = "j.change", node bigint = "j.node", undo text = "j.undo",
        target bigint = "j.target"),
    table!("pins", "pins p JOIN trees t ON t.id = p.tree JOIN agents a ON a.id = p.agent LEFT JOIN nodes n ON n.seq = p.node
            LEFT JOIN documents d ON d.id = p.document", Some("p.id"),
        tree uuid = "t.ulid", agent uuid = "a.ulid", seq bigint = "p.id", node uuid = "n.ulid", document uuid = "d.ulid",
        section text = "p.section", pinned_at bigint = "p.pinned_at"),
    table!("stashes", "stashes s JOIN trees t ON t.id = s.tree JOIN agents a ON a.id = s.agent LEFT JOIN nodes n ON n.seq = s.node",
        Some("s.id"), tree uuid = "t.ulid", agent uuid = "a.ulid", result boolean = "s.kind = 3", label text = "s.label",
        seq bigint = "s.id", kind bigint = "s.kind", node uuid = "n.ulid", content text = "s.content",
        tokens bigint = "s.tokens", stashed_at bigint = "s.stashed_at"),
    table!("actions", "actions c JOIN trees t ON t.id = c.tree JOIN agents a ON a.id = c.agent", Some("c.id"),
        tree uuid = "t.ulid", agent uuid = "a.ulid", seq bigint = "c.id", at bigint = "c.at", after bigint = "c.after",
        tool text = "c.tool", about text = "c.about"),
    table!("delegation_events", "delegation_events e JOIN nodes n ON n.seq = e.delegation JOIN trees t ON t.id = n.tree", None,
        tree uuid = "t.ulid", delegation bigint = "e.delegation", number bigint = "e.number", at bigint = "e.at",
        event text = "e.event"),
    table!("summaries", "summaries s LEFT JOIN nodes n ON n.seq = s.node LEFT JOIN documents d ON d.id = s.document
            LEFT JOIN trees t ON t.id = s.tree", Some("s.id"),
        kind bigint = "CASE WHEN s.node IS NOT NULL THEN 0 WHEN s.document IS NOT NULL THEN 1 ELSE 2 END",
        subject uuid = "coalesce(n.ulid, d.ulid, t.ulid)", made_of bigint = "s.made_of", model text = "s.model",
        made_at bigint = "s.made_at", content text = "s.content"),
    table!("registers", "registers r JOIN sessions s ON s.id = r.session", Some("r.session"), session uuid = "s.ulid",
        rules bigint = "r.rules", state text = "r.state"),
    table!("records", "records r JOIN sessions s ON s.id = r.session", Some("r.id"), session uuid = "s.ulid",
        seq bigint = "r.id", turn bigint = "r.turn", kind bigint = "r.kind", content text = "r.content",
        removed boolean = "r.removed"),
    table!("received_turns", "received_turns r JOIN sessions s ON s.id = r.session JOIN nodes n ON n.seq = r.node
            JOIN trees t ON t.id = n.tree", None,
        session uuid = "s.ulid", turn bigint = "r.turn", tree uuid = "t.ulid", node bigint = "r.node"),
    table!("system_prompts", "system_prompts p JOIN sessions s ON s.id = p.session", None, session uuid = "s.ulid",
        turn bigint = "p.turn", content text = "p.content"),
    table!("cursors", "cursors c JOIN sessions s ON s.id = c.session JOIN nodes n ON n.seq = c.node", Some("c.session"),
        session uuid = "s.ulid", node uuid = "n.ulid", seen_at bigint = "c.seen_at"),
    table!("todos", "todos d JOIN sessions s ON s.id = d.session", Some("d.id"), session uuid = "s.ulid", id uuid = "d.ulid",
        seq bigint = "d.id", turn bigint = "d.turn", made_in bigint = "d.made_in", number bigint = "d.number",
        place bigint = "d.place", title text = "d.title", context text = "d.context", criteria text = "d.criteria",
        agent_type text = "d.agent_type", status bigint = "d.status", outcome text = "d.outcome",
        created_at bigint = "d.created_at", started_at bigint = "d.started_at", completed_at bigint = "d.completed_at"),
    table!("estimates", "estimates e", None, model text = "e.model", estimated bigint = "e.estimated",
        reported bigint = "e.reported"),
];
