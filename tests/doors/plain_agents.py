"""Agents without a framework, which call the gate themselves."""

import asyncio

from agent_bench import transfer


def plain(bench):
    """The three lines of README, call by call."""
    gate, messages = bench.gate, []
    for call in bench.calls:
        decision = gate.check(bench.task, [], call, task_id=bench.task)
        if decision.approved:
            result = transfer(**decision.arguments)
            gate.done(decision, result)
            messages.append(f"{decision.message} {result}")
        else:
            messages.append(decision.message)
    return messages


def side_by_side(bench):
    """`acheck_many`: the calls of one message together."""

    async def work():
        asked = [{"task": bench.task, "steps": [], "action": call, "task_id": bench.task} for call in bench.calls]
        decided = await bench.gate.acheck_many(asked)
        return [(one, transfer(**one.arguments) if one.approved else "") for one in decided]

    return [f"{one.message} {result}" for one, result in asyncio.run(work())]
