"""Are the supporting sentences of questions reached through search and lookup in a MediaWiki site?

`python tests/benchmarks/wikipedia.py FILE@URL` takes a question file in HotPotQA's format and a site with its pages;
the last line is the result as JSON. A sentence is reached if the observations of `Search[title]`, and of `Lookup` with
the first words of each of its parts, contain all of its parts.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.environments.hotpotqa import HOTPOTQA
from console.environments.hotpotqa.corpus import split_sentences
from console.environments.hotpotqa.tasks import tasks_from_file
from console.environments.sources import with_source

MOST_RESULTS = 9


def is_reached(world, fact):
    """Whether a search for the page, and lookups if necessary, show the whole sentence."""
    seen = squeezed(world.step(f"Search[{fact['title']}]")[0])
    for part in map(squeezed, split_sentences(fact["sentence"])):
        for _ in range(MOST_RESULTS):
            if part in seen:
                break
            seen += squeezed(world.step(f"Lookup[{part[:40]}]")[0])
        else:
            return False
    return True


def squeezed(text):
    """The text with single blanks."""
    return " ".join(text.split())


def main():
    """Prints the questions that are not reached, and the result as one JSON line; ends with 1 if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", metavar="FILE@URL")
    source, began = parser.parse_args().source, time.perf_counter()
    count = len(tasks_from_file(source.partition("@http")[0]))
    tasks = with_source(HOTPOTQA, source).tasks(0, count)
    missed = [
        (task.task_id, fact["title"])
        for task in tasks
        for fact in task.gold["supporting_facts"]
        if not is_reached(HOTPOTQA.start(task), fact)
    ]
    for task_id, title in missed:
        print(task_id, title)
    reached = count - len({task_id for task_id, _ in missed})
    result = {"benchmark": "wikipedia", "questions": count, "reached": reached}
    print(json.dumps(result | {"seconds": round(time.perf_counter() - began, 1)}))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
