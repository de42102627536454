"""Records calls of OpenAI's and Anthropic's clients by the proxy of the HTTP server, against an upstream with fixed replies.

Checks that the clients receive the upstream's bytes, and that the proxy stores trees, in which an edited message is a branch.

Usage: proxy.py LOOM
"""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from anthropic import Anthropic
from loom_server import get, serving
from openai import OpenAI


def events(*data, named=False):
    """Returns server-sent events, with irregular white space that a proxy must not change."""
    name = (lambda event: f"event: {event['type']}\n") if named else (lambda event: "")
    return "".join(f"{name(event)}data:  {json.dumps(event)}\n\n" for event in data)


def openai_chat(request):
    text = f"answer {len(request['messages'])}"
    if not request.get("stream"):
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}, indent=3)
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    parts = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in (text[:3], text[3:])]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return events(*({**chunk, "choices": [part]} for part in [*parts, end])) + "data: [DONE]\n\n"


def anthropic_messages(request):
    text = f"answer {len(request['messages'])}"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
    if not request.get("stream"):
        return json.dumps({**message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}, indent=1)
    delta = lambda part: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        delta(text[:3]),
        delta(text[3:]),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
        named=True,
    )


def openai_responses(request):
    text = "a response"
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    if not request.get("stream"):
        return json.dumps(response, indent=2)
    place = {"item_id": "m1", "output_index": 0, "content_index": 0}
    return events(
        {"type": "response.created", "sequence_number": 0, "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
        {"type": "response.content_part.added", "sequence_number": 2, "part": {**part, "text": ""}, **place},
        {"type": "response.output_text.delta", "sequence_number": 3, "delta": text, "logprobs": [], **place},
        {"type": "response.completed", "sequence_number": 4, "response": response},
        named=True,
    )


REPLIES = {"/v1/chat/completions": openai_chat, "/v1/responses": openai_responses, "/v1/messages": anthropic_messages}


class Upstream(BaseHTTPRequestHandler):
    """Answers each request by its path; keeps the bytes and the keys that arrived."""

    bodies: list = []
    keys: set = set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(body)
        self.keys.add(self.headers.get("authorization") or self.headers.get("x-api-key"))
        request = json.loads(body)
        reply = REPLIES[self.path.split("?")[0]](request).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if request.get("stream") else "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        for at in range(0, len(reply), 37):  # pieces that end inside of events
            self.wfile.write(reply[at : at + 37])
            self.wfile.flush()

    def log_message(self, *_):
        pass


def raw(url, body):
    """Sends bytes. Returns the bytes of the answer."""
    request = urllib.request.Request(url, body, {"content-type": "application/json", "authorization": "Bearer sk-raw"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def trees(url, count):
    """Returns nodes and leaves of each tree, as soon as there are so many nodes in all: recording follows the answer."""
    for _ in range(100):
        found = [(tree["nodes"], tree["leaves"]) for tree in get(f"{url}/api/v1/trees")["data"]]
        if sum(nodes for nodes, _ in found) >= count:
            break
        time.sleep(0.05)
    return sorted(found)


def talk(ask, earlier=()):
    """Asks twice, then with the second question edited: a branch."""
    count = len(earlier)
    first = ask([*earlier, {"role": "user", "content": "one"}])
    turns = [*earlier, {"role": "user", "content": "one"}, {"role": "assistant", "content": first}]
    second = ask([*turns, {"role": "user", "content": "two"}])
    edited = ask([*turns, {"role": "user", "content": "two, but shorter"}])
    expected = (f"answer {count + 1}", f"answer {count + 3}", f"answer {count + 3}")
    assert (first, second, edited) == expected, (first, second, edited)


def main():
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{upstream.server_port}"
    with serving("--openai-upstream", base, "--anthropic-upstream", base) as url:
        proxy = f"{url}/proxy/openai/v1"
        for path in ("chat/completions", "responses"):
            for stream in (False, True):
                body = json.dumps({"model": "m", "messages": [], "input": "x", "stream": stream}, indent=4).encode()
                assert raw(f"{proxy}/{path}", body) == raw(f"{base}/v1/{path}", body)
                assert Upstream.bodies[-2:] == [body, body]
        body = b'{"model": "m",  "max_tokens": 9, "messages": [{"role": "user", "content": "raw"}], "stream": true}'
        assert raw(f"{url}/proxy/anthropic/v1/messages", body) == raw(f"{base}/v1/messages", body)
    with serving("--openai-upstream", base, "--anthropic-upstream", base) as url:
        openai = OpenAI(base_url=f"{url}/proxy/openai/v1", api_key="sk-openai", max_retries=0, _strict_response_validation=True)
        talk(lambda turns: openai.chat.completions.create(model="m", messages=turns).choices[0].message.content)
        assert trees(url, 6) == [(6, 2)], trees(url, 6)

        def streamed(turns):
            chunks = openai.chat.completions.create(model="m", messages=turns, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

        talk(streamed, [{"role": "user", "content": "stream"}, {"role": "assistant", "content": "ok"}])
        assert trees(url, 14) == [(6, 2), (8, 2)], trees(url, 14)
        assert openai.responses.create(model="m", input="hello").output_text == "a response"
        with openai.responses.stream(model="m", input="hello again") as stream:
            assert stream.get_final_response().output_text == "a response"
        anthropic = Anthropic(base_url=f"{url}/proxy/anthropic", api_key="sk-anthropic", max_retries=0, _strict_response_validation=True)
        ask = lambda turns: anthropic.messages.create(model="m", max_tokens=9, messages=turns, system="Be brief.")
        talk(lambda turns: ask(turns).content[0].text, [{"role": "user", "content": "good morning"}, {"role": "assistant", "content": "ok"}])
        with anthropic.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "stream it"}]) as stream:
            assert "".join(stream.text_stream) == "answer 1"
        assert trees(url, 28) == [(2, 1), (2, 1), (2, 1), (6, 2), (8, 2), (8, 2)], trees(url, 28)
    assert {"Bearer sk-openai", "Bearer sk-anthropic"} <= Upstream.keys, Upstream.keys


main()
