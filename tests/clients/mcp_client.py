"""Judges `loom mcp` by the official Python client: `python tests/clients/mcp_client.py PROGRAM`.

Both kinds of connection list and call everything; the client validates structured results by their schemas. Then several
clients write into one file at once, and every acknowledged node must be there.
"""

import os
import asyncio
import subprocess
import sys
import tempfile
import time

from mcp import Client, StdioServerParameters

CLIENTS = 8
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0


def loom(program, database, *arguments):
    return subprocess.run([program, "--db", database, *arguments], check=True, capture_output=True, text=True).stdout


def parameters(program, database, folder, *arguments):
    return StdioServerParameters(command=program, args=["mcp", "--db", database, *arguments], cwd=folder)


def text(result):
    return result.content[0].text


async def use_everything(program, database, folder, mode):
    started = time.monotonic()
    async with Client(parameters(program, database, folder), mode=mode) as client:
        tools = (await client.list_tools()).tools
        print(f"{mode}: {len(tools)} tools after {time.monotonic() - started:.3f} s, revision {client.protocol_version}")
        assert [tool.name for tool in tools][0] == "loom" and len(tools) == 6, tools
        progress = []

        async def on_progress(done, total, message):
            progress.append((done, total))

        lines = ["→ view root", '→ respond "A light blinked."', "→ no such thing"]
        result = await client.call_tool("loom", {"lines": lines}, progress_callback=on_progress)
        assert not result.is_error and "The harbour was empty." in text(result), result
        session = result.structured_content["session"]
        for name, arguments in [
            ("conversation_recall", {"action": "search", "query": "light", "scope": "all"}),
            ("create_todo", {"items": [{"title": "count the lights"}], "session": session}),
            ("list_todo", {}),
            ("complete_todo", {"todo": 1, "outcome": "nine", "session": session}),
        ]:
            result = await client.call_tool(name, arguments)
            assert not result.is_error and result.structured_content["session"], (name, result)
        refused = await client.call_tool("delegate_task", {"goal": "count"})
        assert refused.is_error and "delegate" in text(refused), refused
        resources = (await client.list_resources()).resources
        read = await client.read_resource(resources[0].uri)
        assert "The harbour was empty." in read.contents[0].text, read
        assert len((await client.list_resource_templates()).resource_templates) == 3
        prompts = (await client.list_prompts()).prompts
        assert {prompt.name for prompt in prompts} == {"resume", "branch_review"}, prompts
        prompt = await client.get_prompt("resume", {})
        assert "The harbour was empty." in prompt.messages[0].content.text, prompt
        assert progress and progress[0] == (1.0, 3.0), progress


async def consent(program, database, folder, mode):
    from mcp.types import ElicitResult

    asked = []

    async def allow(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async with Client(parameters(program, database, folder), mode=mode, elicitation_callback=allow) as client:
        result = await client.call_tool("delegate_task", {"goal": "count the lights"})
        assert not result.is_error and text(result).startswith("✓ delegated"), result
        assert "delegate" in asked[0], asked
    print(f"{mode}: the user was asked: {asked[0].splitlines()[0]}")


async def write(program, database, folder, number, until):
    """Writes until the time is up. Returns the acknowledged texts and the longest call."""
    acknowledged, longest = [], 0.0
    async with Client(parameters(program, database, folder), mode="auto") as client:
        while time.monotonic() < until:
            words = f"client {number} wrote {len(acknowledged)}"
            begun = time.monotonic()
            result = await client.call_tool("loom", {"lines": [f'→ respond "{words}"']})
            longest = max(longest, time.monotonic() - begun)
            assert not result.is_error, text(result)
            acknowledged.append(words)
    return acknowledged, longest


async def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("legacy", "auto"):
            database = f"{folder}/{mode}.db"
            new = [program, "--db", database, "new", "The harbour was empty."]
            subprocess.run(new, check=True, cwd=folder, capture_output=True)
            await use_everything(program, database, folder, mode)
            await consent(program, database, folder, mode)
        until = time.monotonic() + SECONDS
        done = await asyncio.gather(*(write(program, database, folder, number, until) for number in range(CLIENTS)))
        acknowledged = {words for texts, _ in done for words in texts}
        exported = loom(program, database, "export")
        lost = [words for words in acknowledged if words not in exported]
        assert not lost, lost
        longest = max(longest for _, longest in done)
        print(f"{CLIENTS} clients, {SECONDS:.0f} s: {len(acknowledged)} acknowledged, none lost, longest call {longest:.2f} s")


asyncio.run(main())
