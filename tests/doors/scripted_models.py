"""A model endpoint that plays a script, in the protocols of Anthropic, OpenAI and Gemini.

The first answer holds the calls of the script; an answer to their results is a text. `results` holds the results that
the program has sent back to the model. The calls are shell commands of a coding agent, or `function`: the end of a
tool's name, and its arguments.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CODEX_SHELLS = ("shell_command", "exec_command", "shell")
USED = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class ScriptedModel:
    """An endpoint on loopback whose model wants to make these calls, in one message, and then ends."""

    def __init__(self, commands=(), function=None):
        self.commands, self.function, self.results, self.requests = commands, function, {}, []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def wanted(self, names, shells, describe):
        """The calls as (name, arguments) if the request offers their tools and nothing has run."""
        if self.results:
            return []
        if self.function is not None:
            ending, given = self.function
            return [(name, given) for name in names if name and name.endswith(ending)][:1]
        shell = next((name for name in shells if name in names), None)
        return [] if shell is None else [(shell, describe(shell, command)) for command in self.commands]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        self._send("application/json", json.dumps({"models": [], "data": []}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        model, path = self.server.model, self.path.partition("?")[0]
        model.requests.append((path, asked))
        if path.endswith("/messages"):
            self._events(_claude(model, asked))
        elif path.endswith("/chat/completions"):
            self._complete(*_openai_chat(model, asked), asked.get("stream"))
        elif path.endswith("/responses") and asked.get("stream"):
            self._events(_codex(model, asked))
        elif path.endswith("/responses"):
            *_, (_, last) = _codex(model, asked)
            self._send("application/json", json.dumps(last["response"]))
        elif ":streamGenerateContent" in path:
            self._events([(None, answer) for answer in _gemini(model, asked)])
        elif ":generateContent" in path:
            self._send("application/json", json.dumps(_gemini(model, asked)[0]))
        else:
            self._send("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}))

    def _events(self, events):
        lines = [f"event: {name}\n" * (name is not None) + f"data: {json.dumps(data)}\n\n" for name, data in events]
        self._send("text/event-stream", "".join(lines))

    def _complete(self, said, reason, is_streamed):
        """Send an answer of Chat Completions, whole or as events."""
        kept = {
            "id": "c1",
            "created": 1,
            "model": "scripted",
            "object": "chat.completion" + ".chunk" * bool(is_streamed),
        }
        used = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "delta" if is_streamed else "message": said, "finish_reason": reason}
        answer = {**kept, "choices": [choice], "usage": used}
        if is_streamed:
            self._send("text/event-stream", f"data: {json.dumps(answer)}\n\ndata: [DONE]\n\n")
        else:
            self._send("application/json", json.dumps(answer))

    def _send(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _claude(model, asked):
    for message in asked["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool_result":
                model.results[part["tool_use_id"]] = json.dumps(part["content"])
    names = [tool.get("name") for tool in asked.get("tools") or ()]
    calls = model.wanted(names, ["Bash"], lambda _, command: {"command": command, "description": "A step"})
    yield "message_start", {"type": "message_start", "message": {
        "id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}  # fmt: skip
    for number, (name, given) in enumerate(calls):
        begun = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        yield from _block(number, begun, {"type": "input_json_delta", "partial_json": json.dumps(given)})
    if not calls:
        yield from _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Finished."})
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 2}}
    yield "message_stop", {"type": "message_stop"}


def _block(number, begun, delta):
    yield "content_block_start", {"type": "content_block_start", "index": number, "content_block": begun}
    yield "content_block_delta", {"type": "content_block_delta", "index": number, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": number}


def _codex(model, asked):
    for item in asked["input"] if isinstance(asked["input"], list) else ():
        if item.get("type", "").endswith("call_output"):
            model.results[item["call_id"]] = json.dumps(item["output"])
    names = [tool.get("name") for tool in asked.get("tools") or ()]
    yield "response.created", {"type": "response.created", "response": {"id": "r1"}}
    items = [
        {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": name,
         "arguments": json.dumps(given), "status": "completed"}
        for number, (name, given) in enumerate(model.wanted(names, CODEX_SHELLS, _describe_shell))
    ]  # fmt: skip
    text = {"type": "output_text", "text": "Finished.", "annotations": []}
    message = {"type": "message", "role": "assistant", "id": "msg1", "content": [text], "status": "completed"}
    for item in items or [message]:
        yield "response.output_item.done", {"type": "response.output_item.done", "item": item}
    used = USED | {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "r1", "object": "response", "created_at": 1, "model": "scripted", "status": "completed"}
    response |= {"output": items or [message], "usage": used, "tools": [], "tool_choice": "auto"}
    yield "response.completed", {"type": "response.completed", "response": response | {"parallel_tool_calls": True}}


def _describe_shell(shell, command):
    key = "cmd" if shell == "exec_command" else "command"
    return {key: ["bash", "-lc", command] if shell == "shell" else command}


def _openai_chat(model, asked):
    """(message, reason of its end) in Chat Completions."""
    for message in asked["messages"]:
        if message["role"] == "tool":
            model.results[message["tool_call_id"]] = json.dumps(message["content"])
    names = [tool["function"]["name"] for tool in asked.get("tools") or ()]
    calls = [
        {"index": number, "id": f"call_{number}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(given)}}
        for number, (name, given) in enumerate(model.wanted(names, (), _describe_shell))
    ]  # fmt: skip
    if calls:
        return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    return {"role": "assistant", "content": "Finished."}, "stop"


def _gemini(model, asked):
    for content in asked.get("contents") or ():
        for part in content.get("parts") or ():
            if "functionResponse" in part:
                answer = part["functionResponse"]
                model.results[answer.get("id") or len(model.results)] = json.dumps(answer["response"])
    names = [one.get("name") for tool in asked.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    calls = model.wanted(names, ["run_shell_command"], lambda _, command: {"command": command, "description": "A step"})
    parts = [{"functionCall": {"name": name, "args": given}} for name, given in calls] or [{"text": "Finished."}]
    content = {"role": "model", "parts": parts}
    used = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": used}]
