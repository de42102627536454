"""Sessions of the OpenAI Agents SDK, stored as trees.

>>> from agents import Agent, Runner
>>> from loomtree.openai_agents import LoomSession
>>> session = LoomSession("customer-17", "trees.db")
>>> await Runner.run(agent, "Hello", session=session)

Each item is a node whose metadata holds the item. Branches share their common history; nothing is copied. `loom` shows
the conversations, `loom recall` searches them, and `loom serve` offers them as conversations of the Responses API.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import loomtree

from ._async_commits import append

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

__all__ = ["LoomSession"]

_WORKSPACE = "openai-agents/"
_BRANCH = "branch"
_ROOT = {"loom.conversation": True}
#: Items that are read on the event loop; more are read on another thread.
_INLINE_ITEMS = 1000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Item = dict[str, Any]


class LoomSession:
    """Conversation history for the OpenAI Agents SDK, with branches.

    It implements the SDK's protocol `Session`: `get_items`, `add_items`, `pop_item` and `clear_session`. Several
    processes may use one session at the same time: their items form one chain.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        loom: loomtree.Loom | str | os.PathLike[str] = "trees.db",
        *,
        branch: str = "main",
        session_settings: SessionSettings | None = None,
    ) -> None:
        """Opens a session by its id, in an open file or a file at a path."""
        self.session_id = session_id
        self.session_settings = session_settings
        self._owns_loom = not isinstance(loom, loomtree.Loom)
        self.loom = loom if isinstance(loom, loomtree.Loom) else loomtree.open(loom)
        self.branch = branch
        self._session: loomtree.Session | None = None

    def close(self) -> None:
        """Closes the file if this session opened it. A `Loom` that was given stays open."""
        if self._owns_loom:
            self.loom.close()

    @property
    def _workspace(self) -> str:
        return _WORKSPACE + self.session_id

    def _find(self, branch: str) -> loomtree.Session | None:
        for session in self.loom.sessions(workspace=self._workspace):
            if session.metadata.get(_BRANCH) == branch:
                return session
        return None

    def _current(self) -> loomtree.Session | None:
        """Returns the session of the branch; `None` before its first item."""
        if self._session is None:
            self._session = self._find(self.branch)
        return self._session

    def _begin(self) -> loomtree.Session:
        """Returns the session of the branch, in a new tree if there is none."""
        session = self._current()
        if session is None:
            session = self._session = self.loom.find_or_start_session(
                self._workspace,
                metadata=_metadata(self.branch),
                title=self.session_id,
                role="system",
                root_metadata=_ROOT,
            )
        return session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items of the branch in order, or the last `limit` of them."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        if limit is not None and limit <= _INLINE_ITEMS:
            return self._read(limit)
        return await asyncio.to_thread(self._read, limit)

    def _read(self, limit: int | None) -> list[Any]:
        while (session := self._current()) is not None:
            try:
                # The root is no item. It is among the last nodes only if there are fewer items.
                return self.loom.path_metadata(session, "item", limit=limit or 0, active=True)
            except loomtree.SessionEnded:
                self._session = None  # another handle cleared the session
        return []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items to the branch in one commit. Returns when they are on disk."""
        if not items:
            return
        drafts = [_draft(item) for item in items]
        try:
            await append(self.loom, self._begin(), drafts)
        except loomtree.SessionEnded:
            self._session = None  # another handle cleared the session
            await append(self.loom, self._begin(), drafts)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the last item from the branch and returns it; `None` if there is none.

        The node is hidden, or left to the other branches that continue it.
        """
        return await asyncio.to_thread(self._pop)

    def _pop(self) -> Any:
        while (session := self._current()) is not None:
            try:
                return self._pop_from(session)
            except loomtree.SessionEnded:
                self._session = None  # another handle cleared the session
            except loomtree.Conflict:
                pass  # another handle popped this item, or added one after it
        return None

    def _pop_from(self, session: loomtree.Session) -> Any:
        last = self.loom.path(session, limit=1, active=True)[0]
        if last.parent_id is None:
            return None
        shared = any(
            other.position_id == last.id and other.id != session.id
            for other in self.loom.sessions(workspace=self._workspace)
        )
        if last.continuations or shared:
            self.loom.switch(session, last.parent_id)
        else:
            self.loom.prune(last, last=True)
        return (last.metadata or {}).get("item")

    async def clear_session(self) -> None:
        """Removes all items and branches. The tree is archived; `erase` removes its content for good."""
        await asyncio.to_thread(self._clear)

    def _clear(self) -> None:
        for session in self.loom.sessions(workspace=self._workspace):
            self.loom.end_session(session)
            self.loom.archive(session.tree_id)
        self._session, self.branch = None, "main"

    async def erase(self) -> None:
        """Removes the content of all items for good, also of those that were cleared. It rewrites the file."""

        def erase() -> None:
            trees = {session.tree_id for session in self.loom.sessions(workspace=self._workspace, active=False)}
            self._clear()
            if trees:
                self.loom.purge(trees=sorted(trees))

        await asyncio.to_thread(erase)

    async def create_branch(self, name: str, *, turn: int | None = None) -> None:
        """Creates a branch and switches to it: at the end of the current one, or before its user message number `turn`, from 1."""
        await asyncio.to_thread(self._create_branch, name, turn)

    def _create_branch(self, name: str, turn: int | None) -> None:
        if self._find(name) is not None:
            raise ValueError(f"there is a branch {name!r}")
        session = self._begin()
        path = self.loom.path(session)
        position = path[-1]
        if turn is not None:
            messages = [at for at, node in enumerate(path) if at > 0 and node.role == "human"]
            if not 1 <= turn <= len(messages):
                raise ValueError(f"the branch has {len(messages)} user messages")
            position = path[messages[turn - 1] - 1]
        self._session = self.loom.start_session(
            session.tree_id, self._workspace, position=position.id, metadata=_metadata(name)
        )
        self.branch = name

    async def switch_branch(self, name: str) -> None:
        """Switches to an existing branch."""
        session = await asyncio.to_thread(self._find, name)
        if session is None:
            raise ValueError(f"there is no branch {name!r}")
        self._session, self.branch = session, name

    async def list_branches(self) -> list[str]:
        """Returns the names of the branches, the oldest first."""
        sessions = await asyncio.to_thread(lambda: self.loom.sessions(workspace=self._workspace))
        return [session.metadata[_BRANCH] for session in sorted(sessions, key=lambda session: session.id)]

    async def delete_branch(self, name: str) -> None:
        """Removes a branch from the list. Its nodes remain in the tree."""
        if name == self.branch:
            raise ValueError("the current branch cannot be deleted")
        session = await asyncio.to_thread(self._find, name)
        if session is None:
            raise ValueError(f"there is no branch {name!r}")
        await asyncio.to_thread(self.loom.end_session, session)


def _metadata(branch: str) -> dict[str, str]:
    return {_BRANCH: branch, "loom.conversation": "1"}


def _draft(item: Any) -> loomtree.Draft:
    """Returns the node of an item: its text for readers and searches, and the item as metadata."""
    metadata = _encode({"item": item})
    kind = item.get("type", "message")
    if kind == "message":
        return loomtree.Draft(_text(item.get("content")), role=item.get("role", "user"), metadata=metadata)
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        calls = [{"id": item.get("call_id"), "type": "function", "function": function}]
        return loomtree.Draft("", role="assistant", tool_calls=calls, metadata=metadata)
    if kind == "function_call_output":
        return loomtree.Draft(_text(item.get("output")), role="tool", tool_call_id=item.get("call_id"), metadata=metadata)
    text = _text(item.get("summary")) if kind == "reasoning" else f"[{kind}]"
    return loomtree.Draft(text, role="assistant", metadata=metadata)


def _text(content: Any) -> str:
    """Returns the text of a content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (part if isinstance(part, str) else part.get("text") for part in content)
        return "\n\n".join(text for text in texts if isinstance(text, str))
    return ""
