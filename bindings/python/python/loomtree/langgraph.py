"""A checkpointer for LangGraph, which stores threads as trees.

>>> from loomtree.langgraph import LoomSaver
>>> graph = builder.compile(checkpointer=LoomSaver("trees.db"))

A checkpoint is a node under its parent, so a run from an earlier checkpoint is a branch. The node's text is the newest
message of the state, for readers and searches; its metadata holds what changed since the parent. An unchanged channel
is stored once, with the checkpoint that changed it.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import re
import threading
from binascii import a2b_base64, b2a_base64
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, cast
from urllib.parse import quote, unquote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

import loomtree

from ._async_commits import committed, submit

__all__ = ["LoomSaver"]

_WORKSPACE = "langgraph/"
#: Recent checkpoints whose stored form is remembered, so that the next one is written without reading its parent.
_CACHED = 256
#: Nodes whose values are remembered for later checkpoints that refer to them.
_HELD = 32
#: Nodes of one read of a whole tree.
_PAGE = 1000
#: The beginning of a checkpoint's metadata, from which its id and namespace are read without parsing the rest.
_HEAD = re.compile(r'\{"id":("(?:[^"\\]|\\.)*"),"ns":("(?:[^"\\]|\\.)*"),')

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Stored = dict[str, Any]
#: Submits a change, in the way that suits a thread or an event loop.
Submit = Callable[..., loomtree.Pending]


class LoomSaver(BaseCheckpointSaver[int]):
    """A checkpointer that stores threads as trees, for synchronous and asynchronous graphs.

    Several threads may use one saver, and several processes one file. Two processes that run the same thread at the same
    time write two branches; the newest checkpoint is the one that was written last.
    """

    def __init__(
        self, loom: loomtree.Loom | str | os.PathLike[str], *, serde: SerializerProtocol | None = None
    ) -> None:
        """Uses an open file, or opens the file at a path."""
        super().__init__(serde=serde)
        self.loom = loom if isinstance(loom, loomtree.Loom) else loomtree.open(loom)
        self._sessions: dict[tuple[str, str], loomtree.Session] = {}
        self._newest: dict[str, str] = {}
        self._cache: dict[tuple[str, str, str], tuple[str, Stored]] = {}
        #: Values by the node that holds them. A node never changes; a purge by this saver clears them.
        self._held: dict[str, dict[str, tuple[str, bytes]]] = {}
        #: Notes that hold the values of purged nodes, by node and channel.
        self._moved: dict[tuple[str, str], str] = {}
        self._wait: Submit = partial(self.loom.submit, here=True)
        self._await: Submit = partial(submit, self.loom)
        #: Writes that came before their checkpoint, which LangGraph stores on another thread.
        self._early: dict[tuple[str, str, str], builtins.list[loomtree.Draft]] = {}
        self._lock = threading.RLock()

    # Threads and nodes

    def _session(self, thread: str, ns: str) -> loomtree.Session | None:
        """Returns the session of a namespace, whose position is the newest checkpoint."""
        session = self._sessions.get((thread, ns))
        if session is None:
            found = self.loom.sessions(workspace=_workspace(thread, ns), limit=1)
            if not found:
                return None
            session = self._sessions[thread, ns] = found[0]
        return session

    def _begin(self, thread: str, ns: str) -> loomtree.Session:
        """Returns the session of a namespace. The first one of a thread begins the tree."""
        with self._lock:
            session = self._session(thread, ns)
            if session is None:
                session = self._sessions[thread, ns] = self.loom.find_or_start_session(
                    _workspace(thread, ns),
                    tree=self._begin(thread, "").tree_id if ns else None,
                    title=thread,
                    role="system",
                    root_metadata={"langgraph": thread},
                )
            return session

    def _threads(self) -> Iterator[tuple[str, str, loomtree.Session]]:
        for session in self.loom.sessions():
            if session.workspace.startswith(_WORKSPACE):
                thread, _, ns = session.workspace.removeprefix(_WORKSPACE).partition("/")
                yield unquote(thread), unquote(ns), session

    def _remember(self, tree: str, node: str, stored: Stored) -> None:
        with self._lock:
            if len(self._cache) >= _CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[tree, stored["ns"], stored["id"]] = node, stored

    def _find(self, tree: str, ns: str, checkpoint: str) -> tuple[str, Stored] | None:
        """Returns the node of a checkpoint and its stored form."""
        found = self._cache.get((tree, ns, checkpoint))
        if found is None:
            node = self.loom.find_source(_source(tree, ns, checkpoint))
            if node is None or node.purged or node.metadata_json is None:
                return None
            found = node.id, cast(Stored, json.loads(node.metadata_json))
            self._remember(tree, *found)
        return found

    def _nodes(self, tree: str) -> Iterator[loomtree.Node]:
        after = 0
        while nodes := self.loom.nodes(tree, after=after, limit=_PAGE):
            yield from nodes
            after = nodes[-1].seq

    def _checkpoints(self, tree: str, ns: str | None) -> builtins.list[tuple[str, str, loomtree.Node]]:
        """Returns id, namespace and node of all checkpoints of a tree, the newest first."""
        found = []
        for node in self._nodes(tree):
            if node.kind == "continuation" and not node.purged and (head := _HEAD.match(node.metadata_json or "")):
                checkpoint, own = json.loads(head[1]), json.loads(head[2])
                if ns is None or own == ns:
                    found.append((checkpoint, own, node))
        found.sort(key=lambda entry: entry[0], reverse=True)
        return found

    # Values

    def _dump(self, value: Any) -> builtins.list[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, b2a_base64(data, newline=False).decode()]

    def _load(self, stored: builtins.list[str]) -> Any:
        return self.serde.loads_typed((stored[0], a2b_base64(stored[1])))

    def _changes(
        self, checkpoint: Checkpoint, new_versions: ChannelVersions, parent: tuple[str, Stored] | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the values to store, and for each other channel the node that holds its value."""
        values, refs = {}, {}
        known = {}
        if parent is not None:
            node, stored = parent
            known = stored["refs"] | {channel: [value[0], node] for channel, value in stored["values"].items()}
        versions = checkpoint["channel_versions"]
        for channel, value in checkpoint["channel_values"].items():
            ref = known.get(channel)
            if ref is not None and channel not in new_versions and ref[0] == versions.get(channel):
                refs[channel] = [ref[0], self._moved.get((ref[1], channel), ref[1])]
            else:
                values[channel] = [versions.get(channel), *self._dump(value)]
        return values, refs

    def _values(self, node: str, stored: Stored) -> dict[str, Any]:
        """Reads the values of all channels of a checkpoint."""
        values = {channel: self._load(value[1:]) for channel, value in stored["values"].items()}
        for channel, (version, holder) in stored["refs"].items():
            holder = self._holder(node, channel, version, holder)
            values[channel] = self.serde.loads_typed(self._held_by(holder)[channel])
        return values

    def _holder(self, node: str, channel: str, version: Any, holder: str) -> str:
        """Returns the node that holds a value of a checkpoint. If `holder` was purged, it is a note of the checkpoint or of one
        above it."""
        moved = self._moved.get((holder, channel), holder)
        if channel in self._held_by(moved):
            return moved
        at: str | None = node
        while at is not None:
            for note in self.loom.children(at, kind="tool"):
                value = (note.metadata or {}).get("values", {}).get(channel)
                if value is not None and value[0] == version:
                    self._moved[holder, channel] = note.id
                    return note.id
            at = self.loom.node(at).parent_id
        raise KeyError(f"the value of {channel!r} was removed")

    def _held_by(self, node: str) -> dict[str, tuple[str, bytes]]:
        """Returns the serialized values that a node holds."""
        values = self._held.get(node)
        if values is None:
            stored = (self.loom.node(node).metadata or {}).get("values", {})
            values = {channel: (value[1], a2b_base64(value[2])) for channel, value in stored.items()}
            with self._lock:
                if len(self._held) >= _HELD:
                    del self._held[next(iter(self._held))]
                self._held[node] = values
        return values

    def _tuple(
        self, thread: str, node: str, stored: Stored, notes: Sequence[loomtree.Node] | None = None
    ) -> CheckpointTuple:
        if notes is None:
            notes = self.loom.children(node, kind="tool")
        children = [json.loads(child.metadata_json or "{}") for child in notes]
        writes: dict[tuple[str, int], tuple[tuple[Any, ...], PendingWrite]] = {}
        for child in children:
            for index, channel, *value in child.get("writes", ()):
                key = (child["task"], index)
                # A special write replaces an earlier one; a repeated task does not write again.
                if index < 0 or key not in writes:
                    order = writes_sort_key(child["path"], *key)
                    writes[key] = order, (child["task"], channel, self._load(value))
        checkpoint = self._load(stored["checkpoint"])
        checkpoint["channel_values"] = self._values(node, stored)
        parent = stored["parent"]
        return CheckpointTuple(
            _config(thread, stored["ns"], stored["id"]),
            checkpoint,
            stored["metadata"],
            _config(thread, stored["ns"], parent) if parent else None,
            [write for _, write in sorted(writes.values(), key=lambda entry: entry[0])],
        )

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint with its writes, the newest if the configuration names none."""
        thread, ns = _thread(config)
        session = self._session(thread, ns)
        if session is None:
            return None
        if checkpoint := get_checkpoint_id(config):
            found = self._find(session.tree_id, ns, checkpoint)
            return self._tuple(thread, *found) if found else None
        try:
            newest, notes = self.loom.position(session, kind="tool", active=True)
        except loomtree.SessionEnded:
            self._forget()  # another process deleted the thread
            return self.get_tuple(config)
        if newest is None or newest.purged or not _HEAD.match(newest.metadata_json or ""):
            return None
        return self._tuple(thread, newest.id, json.loads(newest.metadata_json or ""), notes)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Lists checkpoints, the newest first. It reads the whole thread, or without a configuration all threads."""
        ns, only, end = None, None, get_checkpoint_id(before) if before else None
        if config is None:
            roots = [(thread, session) for thread, ns_, session in self._threads() if not ns_]
        else:
            thread, only = str(config["configurable"]["thread_id"]), get_checkpoint_id(config)
            ns = config["configurable"].get("checkpoint_ns")
            session = self._session(thread, "")
            roots = [(thread, session)] if session else []
        found = [(*entry, thread) for thread, session in roots for entry in self._checkpoints(session.tree_id, ns)]
        found.sort(key=lambda entry: entry[0], reverse=True)
        number = 0
        for checkpoint, _, node, thread in found:
            if limit is not None and number >= limit:
                return
            if (only and checkpoint != only) or (end and checkpoint >= end):
                continue
            stored = json.loads(node.metadata_json or "")
            if filter and any(stored["metadata"].get(key) != value for key, value in filter.items()):
                continue
            number += 1
            yield self._tuple(thread, node.id, stored)

    # Writing

    def _submit(
        self,
        send: Submit,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> builtins.list[loomtree.Pending]:
        thread, ns = _thread(config)
        session = self._begin(thread, ns)
        before = get_checkpoint_id(config)
        parent = self._find(session.tree_id, ns, before) if before else None
        values, refs = self._changes(checkpoint, new_versions, parent)
        rest = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        stored: Stored = {
            "id": checkpoint["id"],
            "ns": ns,
            "parent": before,
            "metadata": get_checkpoint_metadata(config, metadata),
            "checkpoint": self._dump(rest),
            "values": values,
            "refs": refs,
        }
        text, role = _newest_message(checkpoint, new_versions)
        return self._append(send, session, parent[0] if parent else self._root(session), stored, text, role)

    def _append(
        self, send: Submit, session: loomtree.Session, parent: str, stored: Stored, text: str, role: str
    ) -> builtins.list[loomtree.Pending]:
        newest = self._newest.get(session.id)
        if newest is None:
            last = self.loom.path(session, limit=1)
            head = _HEAD.match(last[0].metadata_json or "") if last else None
            newest = json.loads(head[1]) if head else ""
        older = stored["id"] < newest
        self._newest[session.id] = max(stored["id"], newest)
        draft = loomtree.Draft(
            text, role=role, metadata=_json(stored), source=_source(session.tree_id, stored["ns"], stored["id"])
        )
        pending = send(parent, [draft], session=session, keep_position=older)
        node = pending.node_ids[0]
        with self._lock:
            self._remember(session.tree_id, node, stored)
            early = self._early.pop((session.tree_id, stored["ns"], stored["id"]), ())
        return [pending, *(send(node, [writes], session=session) for writes in early)]

    def _root(self, session: loomtree.Session) -> str:
        return cast(str, self.loom.tree(session.tree_id).root_id)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint. It is on disk when the call returns."""
        for pending in self._submit(self._wait, config, checkpoint, metadata, new_versions):
            pending.wait()
        return _config(*_thread(config), checkpoint["id"])

    def _submit_writes(
        self, send: Submit, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> loomtree.Pending | None:
        thread, ns = _thread(config)
        checkpoint = config["configurable"]["checkpoint_id"]
        session = self._begin(thread, ns)
        rows = [
            [WRITES_IDX_MAP.get(channel, index), channel, *self._dump(value)]
            for index, (channel, value) in enumerate(writes)
        ]
        metadata = _json({"task": task_id, "path": task_path, "writes": rows})
        draft = loomtree.Draft("", role="tool", kind="tool", metadata=metadata)
        with self._lock:
            found = self._find(session.tree_id, ns, checkpoint)
            if found is None:
                self._early.setdefault((session.tree_id, ns, checkpoint), []).append(draft)
                return None
        return send(found[0], [draft], session=session)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task wrote after a checkpoint."""
        pending = self._submit_writes(self._wait, config, writes, task_id, task_path)
        if pending is not None:
            pending.wait()

    # Deleting and copying

    def delete_thread(self, thread_id: str) -> None:
        """Removes the content of a thread for good. It rewrites the file, so its time grows with the file."""
        session = self._session(str(thread_id), "")
        if session is not None:
            for other in self.loom.sessions(tree=session.tree_id):
                self.loom.end_session(other)
            self.loom.archive(session.tree_id)
            self._forget()
            self.loom.purge(trees=[session.tree_id])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs for good, in all threads."""
        runs = set(run_ids)
        for _, ns, session in list(self._threads()) if runs else []:
            if not ns:
                gone = [
                    node
                    for _, _, node in self._checkpoints(session.tree_id, None)
                    if json.loads(node.metadata_json or "")["metadata"].get("run_id") in runs
                ]
                self._remove(session.tree_id, gone)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes the checkpoints of threads for good: all, or (`keep_latest`) all but the newest of each namespace.

        Checkpoints from which the newest rebuilds a `DeltaChannel` are kept.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}")
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
            elif session := self._session(str(thread), ""):
                checkpoints = self._checkpoints(session.tree_id, None)
                kept: set[str] = set()
                for ns in {ns for _, ns, _ in checkpoints}:
                    kept |= self._needed({key: node for key, own, node in checkpoints if own == ns})
                self._remove(session.tree_id, [node for key, _, node in checkpoints if key not in kept])

    def _needed(self, checkpoints: dict[str, loomtree.Node]) -> set[str]:
        """Returns the newest checkpoint of a namespace, and those above it that hold its delta channels."""
        newest = max(checkpoints)
        stored = json.loads(checkpoints[newest].metadata_json or "")
        kept, missing = {newest}, set(stored["metadata"].get("counters_since_delta_snapshot") or ())
        while missing := missing - stored["values"].keys() - stored["refs"].keys():
            if stored["parent"] not in checkpoints:
                break
            kept.add(stored["parent"])
            stored = json.loads(checkpoints[stored["parent"]].metadata_json or "")
        return kept

    def _remove(self, tree: str, gone: Collection[loomtree.Node]) -> None:
        """Purges checkpoints with their writes. Values that others refer to move to those."""
        if not gone:
            return
        notes = [child for node in gone for child in self.loom.children(node, kind="tool")]
        purged = {node.id for node in [*gone, *notes]}
        left = [entry for entry in self._checkpoints(tree, None) if entry[2].id not in purged]
        for _, _, node in left:
            values = {}
            for channel, (version, holder) in json.loads(node.metadata_json or "")["refs"].items():
                holder = self._holder(node.id, channel, version, holder)
                if holder in purged:
                    values[channel] = (self.loom.node(holder).metadata or {})["values"][channel]
            if values:
                draft = loomtree.Draft("", role="tool", kind="tool", metadata=_json({"values": values}))
                self.loom.submit(node, [draft]).wait()
        self._forget()
        self.loom.purge(nodes=[*gone, *notes])
        for session in self.loom.sessions(tree=tree):
            if session.position_id in purged:
                ns = unquote(session.workspace.removeprefix(_WORKSPACE).partition("/")[2])
                own = [node.id for _, space, node in left if space == ns]
                self.loom.switch(session, own[0] if own else self._root(session))

    def _forget(self) -> None:
        self._sessions.clear()
        self._newest.clear()
        self._cache.clear()
        self._held.clear()
        self._moved.clear()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread, with their writes, to another thread."""
        source = self._session(str(source_thread_id), "")
        if source is None:
            return
        copies: dict[str, str] = {}
        for node in self._nodes(source.tree_id):
            if node.purged or node.metadata_json is None or node.parent_id is None:
                continue
            stored = json.loads(node.metadata_json)
            parent = copies.get(node.parent_id)
            if node.kind == "tool" and parent is not None:
                draft = loomtree.Draft("", role="tool", kind="tool", metadata=node.metadata_json)
                self.loom.submit(parent, [draft]).wait()
            elif "ns" in stored:
                target = self._begin(str(target_thread_id), stored["ns"])
                stored["refs"] = {
                    channel: [version, copies.get(holder, holder)] for channel, (version, holder) in stored["refs"].items()
                }
                pending, *_ = self._append(self._wait, target, parent or self._root(target), stored, node.content, node.role)
                copies[node.id] = pending.wait()[0]

    # The same for asynchronous graphs

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint with its writes, as `get_tuple` does."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Lists checkpoints, as `list` does."""
        entries = self.list(config, filter=filter, before=before, limit=limit)
        while (entry := await asyncio.to_thread(next, entries, None)) is not None:
            yield entry

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint, as `put` does, without holding the event loop."""
        for pending in self._submit(self._await, config, checkpoint, metadata, new_versions):
            await committed(pending)
        return _config(*_thread(config), checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task wrote, as `put_writes` does, without holding the event loop."""
        pending = self._submit_writes(self._await, config, writes, task_id, task_path)
        if pending is not None:
            await committed(pending)

    async def adelete_thread(self, thread_id: str) -> None:
        """Removes a thread, as `delete_thread` does."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs, as `delete_for_runs` does."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes checkpoints of threads, as `prune` does."""
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread, as `copy_thread` does."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)


def _workspace(thread: str, ns: str) -> str:
    return f"{_WORKSPACE}{quote(thread, safe='')}/{quote(ns, safe='')}"


def _source(tree: str, ns: str, checkpoint: str) -> str:
    return f"{_WORKSPACE}{tree}/{quote(ns, safe='')}/{checkpoint}"


def _thread(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns", "")


def _config(thread: str, ns: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}


def _newest_message(checkpoint: Checkpoint, new_versions: ChannelVersions) -> tuple[str, str]:
    """Returns text and role of the last message, if the messages changed."""
    messages = checkpoint["channel_values"].get("messages") if "messages" in new_versions else None
    if not isinstance(messages, list) or not messages:
        return "", "system"
    message = messages[-1]
    if not isinstance(message, dict) and not hasattr(message, "__dict__"):
        return "", "system"
    fields = message if isinstance(message, dict) else vars(message)
    content, kind = fields.get("content"), fields.get("type") or fields.get("role")
    if isinstance(content, list):
        content = "\n\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    roles = {"human": "human", "user": "human", "ai": "model", "assistant": "model", "tool": "tool"}
    return content if isinstance(content, str) else "", roles.get(str(kind), "system")
