"""The review queue against raw sqlite3 running the same statements, in the same run, ledger and slots included.

`python tests/benchmarks/queue.py [--quick]`; the last line is the result as JSON. Every figure is the median over
rounds of two measurements made one right after the other, in a random order.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Prints the figures and whether the goals are met."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from queue_rounds import run

    run(quick="--quick" in sys.argv[1:])


def stand_aside() -> None:
    """Puts the standard library's `queue` in this module's place."""
    path = Path(sysconfig.get_path("stdlib")) / "queue.py"
    spec = importlib.util.spec_from_file_location("queue", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is missing")
    sys.modules["queue"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["queue"])


if __name__ == "__main__":
    main()
elif __name__ == "queue":
    # Python looks into the folder of a script first, so every benchmark here would find this file instead.
    stand_aside()
