"""Storage and execution engine for branching conversations with language models, in one SQLite file.

>>> import tempfile, loomtree
>>> folder = tempfile.TemporaryDirectory()
>>> loom = loomtree.open(f"{folder.name}/trees.db")
>>> tree = loom.new_tree("Where could it begin?")
>>> replies = loom.continue_(tree.root_id, lambda messages: "At the harbour.", n=2)
>>> [node.content for node in loom.path(replies[1])]
['Where could it begin?', 'At the harbour.']

Every message is an immutable node of a tree. `Loom` is an open file; its methods append, branch, search and assemble
prompts. Each method releases the GIL while it works, and each returns when its change is on disk.

`loomtree.openai_agents` has a session for the OpenAI Agents SDK, `loomtree.langgraph` a checkpointer for LangGraph.
"""

from ._loomtree import (
    Ambiguous,
    Conflict,
    Context,
    Draft,
    Event,
    Events,
    Hit,
    Loom,
    LoomError,
    ModelError,
    Node,
    NotFound,
    Pending,
    Recall,
    Reply,
    Session,
    SessionEnded,
    Tree,
    __version__,
    open,
)

__all__ = [
    "Ambiguous",
    "Conflict",
    "Context",
    "Draft",
    "Event",
    "Events",
    "Hit",
    "Loom",
    "LoomError",
    "ModelError",
    "Node",
    "NotFound",
    "Pending",
    "Recall",
    "Reply",
    "Session",
    "SessionEnded",
    "Tree",
    "__version__",
    "open",
]
