from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

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

_NodeRef: TypeAlias = Node | str
_SessionRef: TypeAlias = Session | str
_TreeRef: TypeAlias = Tree | str
_Place: TypeAlias = Node | Session | str
_Role: TypeAlias = Literal["human", "user", "model", "assistant", "tool", "system", "developer"]
_Mode: TypeAlias = Literal["dialogue", "buffer"]
_Model: TypeAlias = str | Callable[[Any], str | Iterable[str] | AsyncIterable[str] | Awaitable[str | Iterable[str]]]

__version__: str

class LoomError(Exception):
    """A call failed. Only `continue_` may have saved some of its replies."""

class NotFound(LoomError):
    """No tree, node, session or agent has the given id or name."""

class Ambiguous(LoomError):
    """The given text names several trees or nodes."""

class Conflict(LoomError):
    """Another change came first, or the change was made already."""

class SessionEnded(LoomError):
    """The session has ended; nothing is appended at its position."""

class ModelError(LoomError):
    """A model gave no reply."""

def open(path: str | PathLike[str]) -> Loom:
    """Opens a file, and creates it if it is missing."""

@final
class Loom:
    """An open file of trees. It may be used from every thread, and several processes may open one file."""

    @property
    def file(self) -> Path: ...
    def close(self) -> None: ...
    def __enter__(self) -> Loom: ...
    def __exit__(self, *_error: object) -> None: ...
    def new_tree(
        self,
        root: str = "",
        *,
        title: str | None = None,
        description: str | None = None,
        mode: _Mode = "dialogue",
        system: str | None = None,
        role: _Role | str | None = None,
        metadata: Any = None,
        by: str = "owner",
    ) -> Tree: ...
    def trees(self, *, archived: bool = False, limit: int = 0) -> list[Tree]: ...
    def tree(self, tree: _TreeRef) -> Tree: ...
    def archive(self, tree: _TreeRef, *, by: str = "owner") -> None: ...
    def node(self, node: _NodeRef, tree: _TreeRef | None = None) -> Node: ...
    def find_source(self, source: str) -> Node | None: ...
    def nodes(self, tree: _TreeRef, *, after: int = 0, limit: int = 1000) -> list[Node]: ...
    def children(
        self, node: _NodeRef, *, kind: str | None = None, pruned: bool = False, limit: int = 0
    ) -> list[Node]: ...
    def path(self, to: _Place, *, limit: int = 0, active: bool = False) -> list[Node]: ...
    def path_metadata_json(self, to: _Place, *, limit: int = 0) -> str: ...
    def path_metadata(self, to: _Place, key: str, *, limit: int = 0, active: bool = False) -> list[Any]: ...
    def position(
        self, session: _SessionRef, *, kind: str | None = None, active: bool = False
    ) -> tuple[Node | None, list[Node]]: ...
    def leaf(self, node: _NodeRef) -> Node: ...
    def append(
        self,
        parent: _Place,
        content: str,
        *,
        role: _Role | str | None = None,
        kind: str | None = None,
        metadata: Any = None,
        session: _SessionRef | None = None,
        keep_position: bool = False,
        by: str = "owner",
    ) -> Node: ...
    def submit(
        self,
        parent: _Place,
        drafts: Sequence[Draft],
        *,
        session: _SessionRef | None = None,
        keep_position: bool = False,
        here: bool = False,
        by: str = "owner",
    ) -> Pending: ...
    def submit_here(
        self, chains: Sequence[tuple[_SessionRef, Sequence[Draft]]], *, by: str = "owner"
    ) -> list[Pending]: ...
    def edit(self, node: _NodeRef, content: str, *, by: str = "owner") -> Node: ...
    def annotate(self, node: _NodeRef, note: str, *, by: str = "owner") -> Node: ...
    def bookmark(self, node: _NodeRef, label: str | None, *, by: str = "owner") -> None: ...
    def prune(self, node: _NodeRef, *, last: bool = False, by: str = "owner") -> int: ...
    def restore(self, node: _NodeRef, *, by: str = "owner") -> int: ...
    def undo(self, tree: _TreeRef, *, by: str = "owner") -> None: ...
    def purge(
        self, *, trees: Sequence[_TreeRef] = ..., nodes: Sequence[_NodeRef] = ..., by: str = "owner"
    ) -> None: ...
    def continue_(
        self,
        node: _NodeRef,
        model: _Model,
        n: int = 1,
        *,
        by: str = "subject",
        instruction: str | None = None,
        window: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stop: Sequence[str] = ...,
        on_text: Callable[[int, str], object] | None = None,
    ) -> list[Node]: ...
    def context(self, node: _NodeRef, *, by: str = "subject", window: int | None = None) -> Context: ...
    def recall(
        self,
        query: str,
        *,
        tree: _TreeRef | None = None,
        session: _SessionRef | None = None,
        by: str | None = None,
        path_to: _NodeRef | None = None,
        below: _NodeRef | None = None,
        exact: bool = False,
        by_time: bool = False,
        limit: int = 20,
    ) -> Recall: ...
    def run(self, lines: Sequence[str], at: _Place, *, by: str = "collaborator") -> list[Reply]: ...
    def events(self, after: int | None = None) -> Events: ...
    def start_session(
        self,
        tree: _TreeRef,
        workspace: str,
        *,
        position: _NodeRef | None = None,
        metadata: Mapping[str, str] | None = None,
        by: str = "owner",
    ) -> Session: ...
    def find_or_start_session(
        self,
        workspace: str,
        *,
        metadata: Mapping[str, str] | None = None,
        tree: _TreeRef | None = None,
        title: str | None = None,
        role: _Role | str | None = None,
        root_metadata: Any = None,
        by: str = "owner",
    ) -> Session: ...
    def session(self, session: _SessionRef) -> Session: ...
    def sessions(
        self, *, workspace: str | None = None, tree: _TreeRef | None = None, active: bool = True, limit: int = 0
    ) -> list[Session]: ...
    def switch(self, session: _SessionRef, node: _NodeRef, *, by: str = "owner") -> None: ...
    def end_session(self, session: _SessionRef, *, by: str = "owner") -> None: ...
    def export(
        self,
        path: str | PathLike[str] | None = None,
        *,
        trees: Sequence[_TreeRef] | None = None,
        format: str = "loomtree",
    ) -> bytes | None: ...
    def import_file(
        self, path: str | PathLike[str], *, format: str | None = None, dry_run: bool = False, by: str = "owner"
    ) -> dict[str, Any]: ...
    def verify(self) -> list[str]: ...

@final
class Node:
    """A node as it was when it was read: one message, note or tool result."""

    @property
    def id(self) -> str: ...
    @property
    def local_id(self) -> str: ...
    @property
    def tree_id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def author_id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def raw(self) -> str | None: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def depth(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def session_id(self) -> str | None: ...
    @property
    def turn(self) -> int | None: ...
    @property
    def hash(self) -> str: ...
    @property
    def metadata(self) -> Any: ...
    @property
    def metadata_json(self) -> str | None: ...
    @property
    def tool_calls(self) -> Any: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def pruned_by(self) -> str | None: ...
    @property
    def purged(self) -> bool: ...
    @property
    def bookmark(self) -> str | None: ...
    @property
    def continuations(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Tree:
    """A tree as it was when it was read."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def root_id(self) -> str | None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def branches(self) -> int: ...
    @property
    def archived(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Session:
    """A session as it was when it was read: an agent at a position of a tree."""

    @property
    def id(self) -> str: ...
    @property
    def tree_id(self) -> str: ...
    @property
    def position_id(self) -> str | None: ...
    @property
    def workspace(self) -> str: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    @property
    def turns(self) -> int: ...
    @property
    def active(self) -> bool: ...

@final
class Draft:
    """A node to append."""

    def __new__(
        cls,
        content: str,
        *,
        role: _Role | str | None = None,
        kind: str | None = None,
        metadata: Any = None,
        tool_calls: Any = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        tokens: int | None = None,
        source: str | None = None,
    ) -> Draft: ...

@final
class Pending:
    """A queued change. It is committed whether or not a program waits for it."""

    @property
    def node_ids(self) -> list[str]: ...
    def wait(self) -> list[str]: ...
    def poll(self, micros: int) -> bool: ...
    def notify(self, done: Callable[[list[str] | None, BaseException | None], object]) -> None: ...

@final
class Event:
    """An entry of the journal: one change of the file."""

    @property
    def seq(self) -> int: ...
    @property
    def op(self) -> str: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def tree_id(self) -> str | None: ...
    @property
    def node_id(self) -> str | None: ...
    @property
    def at(self) -> datetime: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Events(Iterator[Event]):
    """An iterator over the changes of every process, in the order of their commits. It waits for the next change."""

    def read(self, timeout: float = 0.0) -> list[Event]: ...
    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...

@final
class Context:
    """A prompt that a model would be sent."""

    @property
    def messages(self) -> list[dict[str, Any]] | None: ...
    @property
    def text(self) -> str | None: ...
    @property
    def report(self) -> dict[str, Any]: ...

@final
class Hit:
    """A node that a search found."""

    @property
    def node(self) -> Node: ...
    @property
    def score(self) -> float: ...
    @property
    def exact(self) -> bool: ...
    @property
    def before(self) -> Node | None: ...
    @property
    def after(self) -> Node | None: ...

@final
class Recall:
    """The result of a search."""

    @property
    def hits(self) -> list[Hit]: ...
    @property
    def near(self) -> list[Hit]: ...
    @property
    def absent(self) -> list[str]: ...

@final
class Reply:
    """The result of an arrow line."""

    @property
    def ok(self) -> bool: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def code(self) -> str | None: ...
    @property
    def text(self) -> str: ...
