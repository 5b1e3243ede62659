"""Claude Agent SDK: `ClaudeAgentOptions(hooks=hooks(gate))`.

The hooks answer like `inferact-hook`: an exception, a timeout and an answer that the program rejects block the call.
The task is the user's latest prompt; its id is the session and the prompt's number. The transcript gives the steps.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from claude_agent_sdk import HookMatcher

from inferact_client.gate import Gate
from inferact_client.hook.answers import answer
from inferact_client.hook.hosts import HOSTS

_HOST = HOSTS["claude"]
_GRACE_S = 30.0


def hooks(gate: Gate) -> dict[Any, list[HookMatcher]]:
    """Return the hooks that ask before each call and record its result."""

    async def respond(event: Any, _tool_use_id: str | None, _context: Any) -> Any:
        stop = threading.Event()
        try:
            said = await asyncio.to_thread(answer, _HOST, event, gate, gate.deadline_s, stop)
        finally:
            # Withdraw the check of a call that the program has given up.
            stop.set()
        return dict(said.out or {})

    asking = HookMatcher(hooks=[respond], timeout=gate.deadline_s + _GRACE_S, on_failure="block")
    noting = {event: [HookMatcher(hooks=[respond], timeout=_GRACE_S)] for event in (*_HOST.after, _HOST.prompt)}
    return {_HOST.before: [asking], **noting}
