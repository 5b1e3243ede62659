"""What every agent of the contract has: its question, its folder, and a tool that writes down each call."""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path()


@dataclass(frozen=True)
class Bench:
    """One question: the user's request, and the calls that the model wants to make in one message."""

    task: str
    calls: list
    url: str
    token: str
    run: str
    deadline_s: float
    folder: Path

    @property
    def gate(self):
        """A gate on the served console."""
        # A shell command of this file runs without the client.
        from inferact_client import Gate

        return Gate(self.run, url=self.url, token=self.token, deadline_s=self.deadline_s)


def open_bench(asked):
    """The bench of a question; this process is the agent that a test interrupts or kills."""
    global FOLDER
    FOLDER = Path(asked["folder"])
    (FOLDER / "agent.pid").write_text(str(os.getpid()))
    return Bench(**{**asked, "folder": FOLDER})


def transfer(to: str, amount: int) -> str:
    """Transfer an amount to a person."""
    return execute(FOLDER, to, amount)


def execute(folder, to, amount):
    """Write down the transfer; if the folder holds the file `kills`, kill the agent then, once."""
    with (folder / "executed.jsonl").open("a") as log:
        log.write(json.dumps({"to": to, "amount": amount, "at_ms": time.time_ns() // 1_000_000}) + "\n")
    if (folder / "kills").exists():
        (folder / "kills").unlink()
        os.kill(int((folder / "agent.pid").read_text()), signal.SIGKILL)
    return f"Sent {amount} to {to}."


if __name__ == "__main__":
    # The shell command of agents that have no tool of their own: `python agent_bench.py FOLDER ada 5`.
    print(execute(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
