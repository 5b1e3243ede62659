"""Asks about payments one after the other and prints how many were let run: limited.py URL RUN NAME COUNT OUT."""

import sys
from pathlib import Path

from console.gate import Gate, GateDecision

_, url, run, name, count, out = sys.argv
gate = Gate(run, undo_s=0, poll_s=0.01, url=url, agent="bot")
allowed = 0
for number in range(int(count)):
    answer = gate.ask("Pay the bills.", [], f'pay({{"bill": "{name}-{number}", "amount": 10}})', task_id="bills")
    allowed += isinstance(answer, GateDecision) and answer.approved
Path(out).write_text(str(allowed))
