"""A model endpoint that plays a script, in the protocols of Claude Code, Codex and Gemini CLI.

The first answer holds the calls of the script; an answer to their results is a text. `results` holds the results that
the program has sent back to the model.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELLS = {"claude": "Bash", "codex": ("shell_command", "exec_command", "shell"), "gemini": "run_shell_command"}


class ScriptedModel:
    """An endpoint on loopback whose model wants to run these shell commands, in one message, and then ends."""

    def __init__(self, commands):
        self.commands, self.results, self.requests = commands, {}, []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


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
        elif path.endswith("/responses"):
            self._events(_codex(model, asked))
        elif ":streamGenerateContent" in path:
            self._events([(None, answer) for answer in _gemini(model, asked)])
        elif ":generateContent" in path:
            self._send("application/json", json.dumps(_gemini(model, asked)[0]))
        else:
            self._send("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}))

    def _events(self, events):
        lines = [f"event: {name}\n" * (name is not None) + f"data: {json.dumps(data)}\n\n" for name, data in events]
        self._send("text/event-stream", "".join(lines))

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
    calls = [] if model.results or "Bash" not in names else list(enumerate(model.commands))
    yield "message_start", {"type": "message_start", "message": {
        "id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}  # fmt: skip
    for number, command in calls:
        begun = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
        given = json.dumps({"command": command, "description": "A step"})
        yield from _block(number, begun, {"type": "input_json_delta", "partial_json": given})
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
    for item in asked["input"]:
        if item.get("type", "").endswith("call_output"):
            model.results[item["call_id"]] = json.dumps(item["output"])
    names = [tool.get("name") for tool in asked.get("tools") or ()]
    shell = next((name for name in SHELLS["codex"] if name in names), None)
    yield "response.created", {"type": "response.created", "response": {"id": "r1"}}
    if shell is None or model.results:
        text = {"type": "output_text", "text": "Finished."}
        message = {"type": "message", "role": "assistant", "id": "msg1", "content": [text]}
        yield "response.output_item.done", {"type": "response.output_item.done", "item": message}
    else:
        for number, command in enumerate(model.commands):
            key = "cmd" if shell == "exec_command" else "command"
            given = {key: ["bash", "-lc", command] if shell == "shell" else command}
            call = {"type": "function_call", "id": f"fc{number}", "call_id": f"call_{number}", "name": shell}
            call["arguments"] = json.dumps(given)
            yield "response.output_item.done", {"type": "response.output_item.done", "item": call}
    used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    used |= {"input_tokens_details": None, "output_tokens_details": None}
    yield "response.completed", {"type": "response.completed", "response": {"id": "r1", "usage": used}}


def _gemini(model, asked):
    for content in asked.get("contents") or ():
        for part in content.get("parts") or ():
            if "functionResponse" in part:
                answer = part["functionResponse"]
                model.results[answer.get("id") or len(model.results)] = json.dumps(answer["response"])
    names = [one.get("name") for tool in asked.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    parts = [{"text": "Finished."}]
    if SHELLS["gemini"] in names and not model.results:
        parts = [
            {"functionCall": {"name": SHELLS["gemini"], "args": {"command": command, "description": "A step"}}}
            for command in model.commands
        ]
    content = {"role": "model", "parts": parts}
    used = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": used}]
