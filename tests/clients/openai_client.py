"""Uses the HTTP server with OpenAI's client, which validates every answer strictly.

Usage: openai_client.py LOOM
"""

from loom_server import get, serving
from openai import NotFoundError, OpenAI, UnprocessableEntityError

MODEL = "scripted:words"


def conversations(client):
    conversation = client.conversations.create(
        metadata={"topic": "boats"}, items=[{"type": "message", "role": "user", "content": "hello"}]
    )
    assert conversation.metadata == {"topic": "boats"}
    assert client.conversations.retrieve(conversation.id).id == conversation.id
    updated = client.conversations.update(conversation.id, metadata={"topic": "ships"})
    assert updated.metadata == {"topic": "ships"}
    texts = [f"message {number}" for number in range(7)]
    items = [{"type": "message", "role": "user", "content": text} for text in texts]
    assert len(client.conversations.items.create(conversation.id, items=items).data) == 7
    pages = client.conversations.items.list(conversation.id, order="asc", limit=3)
    assert len(pages.data) == 3 and pages.has_more
    listed = list(pages)
    assert [item.content[0].text for item in listed] == ["hello", *texts]
    newest = client.conversations.items.list(conversation.id, limit=1).data[0]
    assert newest.id == listed[-1].id
    assert client.conversations.items.retrieve(listed[3].id, conversation_id=conversation.id) == listed[3]
    client.conversations.items.delete(listed[-1].id, conversation_id=conversation.id)
    assert len(list(client.conversations.items.list(conversation.id))) == 7
    response = client.responses.create(model=MODEL, input="go on", conversation=conversation.id)
    assert response.conversation.id == conversation.id
    assert len(list(client.conversations.items.list(conversation.id))) == 9
    assert client.conversations.delete(conversation.id).deleted
    missing(lambda: client.conversations.retrieve(conversation.id))


def responses(client, url):
    first = client.responses.create(model=MODEL, input="one", instructions="Answer briefly.")
    assert first.status == "completed" and first.output_text and first.usage.output_tokens > 0
    again = client.responses.retrieve(first.id)
    assert again.output == first.output and again.instructions == "Answer briefly."
    branches = [client.responses.create(model=MODEL, input=word, previous_response_id=first.id) for word in ("a", "b")]
    for branch in branches:
        inputs = list(client.responses.input_items.list(branch.id, order="asc", limit=2))
        assert [item.role for item in inputs] == ["user", "assistant", "user"]
    assert max(tree["leaves"] for tree in get(f"{url}/api/v1/trees")["data"]) == 2
    client.responses.delete(first.id)
    missing(lambda: client.responses.retrieve(first.id))


def streams(client):
    live = list(client.responses.create(model=MODEL, input="hi", stream=True))
    assert live[0].type == "response.created" and live[-1].type == "response.completed"
    assert [event.sequence_number for event in live] == list(range(live[0].sequence_number, live[0].sequence_number + len(live)))
    words = "".join(event.delta for event in live if event.type == "response.output_text.delta")
    assert words == live[-1].response.output_text
    place = live[4].sequence_number
    resumed = list(client.responses.retrieve(live[0].response.id, stream=True, starting_after=place))
    assert resumed == live[5:]
    with client.responses.stream(model=MODEL, input="hi") as stream:
        assert stream.get_final_response().output_text
    started = client.responses.create(model=MODEL, input="long", background=True)
    assert started.status in ("queued", "in_progress")
    assert client.responses.cancel(started.id).status in ("cancelled", "completed")


def tool_calls(client):
    call = {"type": "function_call", "call_id": "c1", "name": "depth", "arguments": '{"place":"bay"}'}
    result = {"type": "function_call_output", "call_id": "c1", "output": "9 fathoms"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    question = {"role": "user", "content": "How deep is the bay?"}
    tool = {"type": "function", "name": "depth", "parameters": {"type": "object"}, "strict": False}
    response = client.responses.create(model=MODEL, input=[question, reasoning, call, result], tools=[tool])
    kept = list(client.responses.input_items.list(response.id, order="asc"))
    assert [item.type for item in kept] == ["message", "reasoning", "function_call", "function_call_output"]
    assert (kept[1].encrypted_content, kept[2].arguments, kept[3].output) == ("opaque", call["arguments"], "9 fathoms")


def chat(client):
    messages = [{"role": "user", "content": "one"}]
    reply = client.chat.completions.create(model=MODEL, messages=messages)
    assert reply.choices[0].finish_reason == "stop" and reply.usage.total_tokens > 0
    chunks = list(client.chat.completions.create(model=MODEL, messages=messages, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage.completion_tokens > 0
    several = client.chat.completions.create(model=MODEL, messages=messages, n=3)
    assert [choice.index for choice in several.choices] == [0, 1, 2]
    listed = [model.id for model in client.models.list()]
    retrieved = client.models.retrieve(listed[0]).id
    assert retrieved == listed[0], (listed, retrieved)


def errors(client):
    missing(lambda: client.responses.create(model=MODEL, input="x", previous_response_id="resp_none"))
    missing(lambda: client.models.retrieve("no such model"))
    for call in (
        lambda: client.responses.create(model=MODEL, input="x", previous_response_id="resp_a", conversation="conv_b"),
        lambda: client.chat.completions.create(model=MODEL, messages=[]),
    ):
        try:
            call()
        except (NotFoundError, UnprocessableEntityError) as error:
            assert error.message
        else:
            raise AssertionError("no error")


def missing(call):
    """Asserts that a call answers 404."""
    try:
        call()
    except NotFoundError:
        return
    raise AssertionError("found")


with serving() as url:
    openai = OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, _strict_response_validation=True)
    conversations(openai)
    responses(openai, url)
    streams(openai)
    tool_calls(openai)
    chat(openai)
    errors(openai)
