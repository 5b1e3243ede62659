"""Files and batches of the test endpoint: each line of an uploaded file is answered by the endpoint's own script."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.wire import http

_LINES = re.compile(rb"^\{.*\}\r?$", re.MULTILINE)


@dataclass
class Batches:
    """What was uploaded and ordered. A batch is done at the `patience`-th look at it, or `fails` with that status."""

    files: dict[str, bytes] = field(default_factory=dict)
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    patience: int = 1
    fails: str = ""

    def take(self, path: str, body: bytes, endpoint: Any) -> bytes:
        """The response to one request of the files or batches API."""
        parts = path.split("?")[0].split("/v1/")[1].split("/")
        if parts[0] == "files" and len(parts) == 1:
            name = f"file-{len(self.files)}"
            self.files[name] = b"\n".join(_LINES.findall(body))
            return _json({"id": name, "object": "file", "purpose": "batch", "bytes": 1, "created_at": 0,
                          "filename": "x.jsonl", "status": "processed"})  # fmt: skip
        if parts[0] == "files":
            return http(200, self.files[parts[1]])
        if len(parts) == 1:
            return _json(self._order(json.loads(body)))
        return _json(self._looked_at(parts[1], endpoint))

    def _order(self, asked: dict[str, Any]) -> dict[str, Any]:
        order = {
            "id": f"batch_{len(self.orders)}",
            "object": "batch",
            "created_at": 0,
            "status": "validating",
            "looks": 0,
        }
        self.orders[order["id"]] = order | asked
        return self.orders[order["id"]]

    def _looked_at(self, name: str, endpoint: Any) -> dict[str, Any]:
        order = self.orders[name]
        order["looks"] += 1
        if order["looks"] < self.patience:
            order["status"] = "in_progress"
        elif self.fails:
            order |= {"status": self.fails, "errors": {"data": [{"message": "the file is too large"}]}}
        elif order["status"] != "completed":
            order |= {"status": "completed"} | self._answered(name, order, endpoint)
        return order

    def _answered(self, name: str, order: dict[str, Any], endpoint: Any) -> dict[str, str]:
        good, bad = [], []
        for line in self.files[order["input_file_id"]].splitlines():
            asked = json.loads(line)
            ask = endpoint.asked(asked["url"], {}, asked["body"])
            whole, _ = endpoint.response(ask, endpoint.script(ask))
            head, _, body = whole.partition(b"\r\n\r\n")
            status = int(head.split()[1])
            told = {"custom_id": asked["custom_id"], "response": {"status_code": status, "body": json.loads(body)}}
            (good if status == 200 else bad).append(json.dumps(told).encode())
        found = {}
        for kind, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                found[kind] = f"{name}-{kind}"
                self.files[found[kind]] = b"\n".join(lines)
        return found


def _json(document: dict[str, Any]) -> bytes:
    return http(200, json.dumps(document).encode())
