"""The client alone: what it brings to an agent's environment, what its import costs, and what a check costs.

`python -m tests.benchmarks.client_alone [--quick]`; the last line is the result as JSON. pip installs the client from
its folder into an empty environment. The import, up to a gate on a served console, is compared with `import httpx`, and
a check that a rule allows with a request that the same server answers with 404, in pairs of processor time.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from inferact_client import Gate

from console.database import writing
from console.gate.policy import policy_store
from console.settings import settings
from tests.benchmarks.measure import median_of, report, spend
from tests.serving import new_agent, serving

ROOT = Path(__file__).resolve().parents[2]
GOALS = {
    "requirements": ["<=", 1],
    "megabytes_of_ours": ["<", 1.0],
    "import_vs_httpx": ["<=", 1.3],
    "check_vs_404": ["<=", 2.5],
}
USE = "from inferact_client import Gate; Gate('bot', url='http://127.0.0.1:1', token='t')"
TIMED = "import sys, time; began = time.process_time(); exec(sys.argv[1]); print(time.process_time() - began)"
STEPS = [("look[shelf]", "a shelf with many things on it")] * 8
AT_ONCE = 12


def main():
    """Print the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer pairs, under a minute")
    pairs = 15 if parser.parse_args().quick else 61
    with tempfile.TemporaryDirectory() as folder:
        figures = {**install(Path(folder), pairs), "check_vs_404": compare_check(Path(folder) / "data", pairs)}
    report("client_alone", figures, GOALS)


def install(folder, pairs):
    """Return what pip brings, the size of our files, and the time of the import."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python, env = venv / "bin" / "python", {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = partial(subprocess.run, check=True, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    run([str(python), "-m", "pip", "-q", "--disable-pip-version-check", "install", str(ROOT / "console" / "client")])
    code = "import importlib.metadata as m; import json; print(json.dumps([[d.name, d.version, d.requires or [], "
    code += (
        "sum(f.locate().stat().st_size for f in d.files if '__pycache__' not in str(f))] for d in m.distributions()]))"
    )
    found = {
        name: rest
        for name, *rest in json.loads(run([str(python), "-c", code]).stdout)
        if name not in ("pip", "setuptools")
    }
    own = found.pop("inferact-client")
    print(
        f"installed beside inferact-client {own[0]}: "
        + ", ".join(f"{name} {rest[0]}" for name, rest in sorted(found.items()))
    )
    took = partial(lambda code: float(run([str(python), "-c", TIMED, code]).stdout))
    ratios = [
        (took(USE), took("import httpx")) if n % 2 else (took("import httpx"), took(USE))[::-1]
        for n in range(pairs + 1)
    ]
    return {
        "requirements": sum("extra ==" not in needed for needed in own[1]),
        "megabytes_of_ours": own[2] / 1e6,
        "import_vs_httpx": median_of([ours / floor for ours, floor in ratios[1:]]),
    }


def compare_check(data, rounds):
    """Return the processor time of client and server for a check that a rule allows, in units of a 404."""
    os.environ["INFERACT_DATA_DIR"] = str(data)
    settings.cache_clear()
    numbers = itertools.count()
    with serving(data) as server:
        with writing() as session:
            policy_store.save(session, None, "default: ask\nrules: [{tool: look, then: allow}]", "bench", 1)
        gate = Gate("open", url=server.url, token=new_agent(data, "bench"))

        def check():
            decision = gate.check("Look.", STEPS, "look[1]", task_id=str(next(numbers)))
            assert decision.approved, decision

        def repeat(request):
            for _ in range(AT_ONCE):
                request()

        kinds = [partial(repeat, check), partial(repeat, partial(server.client.get, "nothing"))]
        found = []
        for number in range(rounds + 1):
            order = kinds if number % 2 else kinds[::-1]
            spent = [spend(kind, server=server.process.pid).processor for kind in order]
            found.append(spent if number % 2 else spent[::-1])
        assert server.client.get("nothing").status_code == 404
        gate.close()
    return median_of([ours / floor for ours, floor in found[1:]])


if __name__ == "__main__":
    main()
