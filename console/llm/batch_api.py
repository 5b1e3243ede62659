"""The Batch API: files of requests that many endpoints process later at a lower price.

Files beside the cache of replies store open batches, so that another process can fetch the replies. Until a reply
arrives, its call raises Deferred.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from console.llm.cache import Replies
from console.llm.endpoint import BatchState, Connection, Endpoint
from console.llm.errors import Deferred, ModelError, RequestRejected
from console.llm.messages import PROBE, Reply, Request, read_reply
from console.llm.refusals import CHAT, find_refused_parameter
from console.llm.transport import ONE_CHOICE, Limits, Transport

_MOST_REQUESTS, _MOST_BYTES = 40_000, 150_000_000
"""Maximum number of requests and of bytes in one batch, below the limits of the large providers."""
_KEPT = "batch "


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A posted batch: its id, endpoint and model, and the keys of its requests."""

    id: str
    endpoint: str
    model: str
    keys: tuple[str, ...]


@dataclass(slots=True)
class BatchQueue:
    """The open batches and waiting requests of a cache folder; `errors` holds the errors of failed requests by key."""

    folder: Path
    waiting: dict[str, Request] = field(default_factory=dict)
    errors: dict[str, ModelError] = field(default_factory=dict)
    endpoint: Endpoint | None = None
    replies: Replies = field(init=False)

    def __post_init__(self) -> None:
        self.replies = Replies(self.folder)

    def transport(self, endpoint: Endpoint, limits: Limits) -> Transport:
        """Return a transport that returns replies of fetched batches and defers all other calls."""
        self.endpoint = endpoint
        return _Deferring(endpoint, limits, self)

    def under_way(self) -> list[UnderWay]:
        """List the posted batches without fetched replies."""
        files = sorted(self.folder.glob("batch-*.json"))
        found = [orjson.loads(file.read_bytes()) for file in files]
        return [UnderWay(**one | {"keys": tuple(one["keys"])}) for one in found]

    async def post(self) -> int:
        """Post the waiting requests that are not in a batch, and return their number; raise ModelError on failure."""
        if self.endpoint is None:
            return 0
        sent = {key for batch in self.under_way() for key in batch.keys}
        waiting = {key: request for key, request in self.waiting.items() if key not in sent}
        self.waiting.clear()
        connection = self.endpoint.connect()
        try:
            for model in sorted({request.model for request in waiting.values()}):
                without = await self._learnt(model)
                mine = {key: request for key, request in waiting.items() if request.model == model}
                for content, keys in _parts(mine, without):
                    id = await connection.post_batch(content, "responses" if CHAT in without else CHAT)
                    _write(self._file(id), asdict(UnderWay(id, self.endpoint.name, model, keys)))
        finally:
            await connection.close()
        return len(waiting)

    async def collect(self, endpoint: Endpoint) -> list[BatchState]:
        """Store the replies of completed batches and return the states of open batches; raise ModelError on failure."""
        self.endpoint, states = endpoint, []
        here = [batch for batch in self.under_way() if batch.endpoint == endpoint.name]
        if not here:
            return []
        connection = endpoint.connect()
        try:
            for batch in here:
                state = await connection.batch(batch.id)
                if state.is_over:
                    await self._take(connection, batch, state)
                else:
                    states.append(state)
        finally:
            await connection.close()
        return states

    async def _take(self, connection: Connection, batch: UnderWay, state: BatchState) -> None:
        found = 0
        for name in state.files:
            for line in (await connection.file(name)).splitlines():
                if line.strip():
                    self._keep(batch, orjson.loads(line))
                    found += 1
        self._file(batch.id).unlink(missing_ok=True)
        if not found and state.problem:
            raise RequestRejected(f"The batch {batch.id} at {batch.endpoint} ended as {state.status}: {state.problem}")

    def _keep(self, batch: UnderWay, line: Mapping[str, Any]) -> None:
        """Store the reply in this line; if the line contains an error, store the rejected parameter or the error."""
        key, response = line["custom_id"], line.get("response") or {}
        status, body = int(response.get("status_code") or 0), response.get("body") or {}
        if status == 200:
            try:
                self.replies.put(_KEPT + key, read_reply(orjson.dumps(body), batch.model))
            except ModelError as failure:
                self.errors[key] = failure
            return
        told = body.get("error") or line.get("error") or {}
        message = str(told.get("message") if isinstance(told, dict) else told)
        sent = dict.fromkeys(("messages", *_PROBED), 1)
        parameter = find_refused_parameter(status, message, told.get("param") if isinstance(told, dict) else None, sent)
        if parameter and parameter not in self.without(batch.model):
            self._learn(batch.model, {parameter})
        else:
            self.errors[key] = RequestRejected(f"{batch.endpoint} answered {status}: {message}")

    def without(self, model: str) -> frozenset[str]:
        """Return the parameters that the endpoint does not accept for this model."""
        file = self._lacks(model)
        return frozenset(orjson.loads(file.read_bytes())) if file.is_file() else frozenset()

    async def _learnt(self, model: str) -> frozenset[str]:
        """Return the rejected parameters; find these once with ordinary requests, because a batch may take a day."""
        if self.endpoint is not None and not self._lacks(model).is_file():
            asking = Transport(self.endpoint, Limits(1, 120.0, 120.0, 2))
            schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
            chat = (PROBE,)
            await asking.exchange(Request(model, chat, 0.0, 64, 2, True, 5, 0))
            await asking.exchange(Request(model, chat, 0.0, 64, schema=schema))
            await asking.aclose()
            self._learn(model, asking.without)
        return self.without(model)

    def _learn(self, model: str, names: frozenset[str] | set[str]) -> None:
        also = ONE_CHOICE if CHAT in names else ()
        _write(self._lacks(model), sorted({*self.without(model), *names, *also}))

    def _file(self, id: str) -> Path:
        return self.folder / f"batch-{hashlib.sha256(id.encode()).hexdigest()[:16]}.json"

    def _lacks(self, model: str) -> Path:
        where = f"{self.endpoint.name if self.endpoint else ''} {model}"
        return self.folder / f"lacks-{hashlib.sha256(where.encode()).hexdigest()[:16]}.json"


_PROBED_WORDS = (
    "temperature max_tokens max_completion_tokens n logprobs top_logprobs seed response_format reasoning_effort"
)
_PROBED = tuple(_PROBED_WORDS.split())


class _Deferring(Transport):
    """A transport of a BatchQueue that returns fetched replies and defers all other calls."""

    def __init__(self, endpoint: Endpoint, limits: Limits, batches: BatchQueue) -> None:
        super().__init__(endpoint, limits)
        self._batches = batches

    async def exchange(self, request: Request) -> Reply:
        """Return the reply from a batch; raise Deferred if the reply has not arrived, or raise this request's error."""
        key = request.key(self.endpoint.name)
        self.without |= self._batches.without(request.model) & {"n"}
        if key in self._batches.errors:
            raise self._batches.errors[key]
        kept = self._batches.replies.get(_KEPT + key)
        if kept is None:
            self._batches.waiting[key] = request
            raise Deferred(f"The request to {request.model} is in a batch that is not finished yet.")
        self.tally.requests += 1
        self.lacking |= request.left_out(self._batches.without(request.model))
        return kept


def _parts(requests: Mapping[str, Request], without: frozenset[str]) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Split the requests into files within the size limit of a batch; yield (content, keys) of each file."""
    url = "/v1/responses" if CHAT in without else f"/v1/{CHAT}"
    lines: list[bytes] = []
    keys: list[str] = []
    size = 0
    for key, request in requests.items():
        body = request.body(without)
        line = orjson.dumps({"custom_id": key, "method": "POST", "url": url, "body": body})
        if keys and (len(keys) == _MOST_REQUESTS or size + len(line) > _MOST_BYTES):
            yield b"\n".join(lines), tuple(keys)
            lines, keys, size = [], [], 0
        lines.append(line)
        keys.append(key)
        size += len(line)
    if keys:
        yield b"\n".join(lines), tuple(keys)


def _write(file: Path, document: object) -> None:
    draft = file.with_suffix(".part")
    draft.write_bytes(orjson.dumps(document))
    draft.replace(file)
