"""A user study from the link to the code: several browsers at once, by keyboard, on one server.

Full: 4 participants, within, a Latin square of 4 conditions x 25 tasks, trials 0 to 3. Counts what must be 0: faults of
the allocation, words on a page that nobody may see, answers and drafts that were lost, budgets overdrawn.

Usage: python tests/benchmarks/study.py [--quick] [--tasks N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
CANARY = "gold-canary-4711"
NAMES = ("arm-zebra", "arm-heron", "arm-otter", "arm-lemur")
LEVELS = (
    {"feedback": "nl", "score": "shown"},
    {"feedback": "binary", "score": "shown"},
    {"feedback": "nl", "score": "hidden", "explanation": "hidden"},
    {"feedback": "binary", "score": "hidden", "explanation": "hidden"},
)
# Blocks of tasks are spread evenly over positions in twice as many participants only.
PROMISED = ("condition at position", "condition with tasks", "condition after condition")
FORBIDDEN = (CANARY, *NAMES, "known-good", "known-bad", "Your score", "pilot P")


@dataclass
class Walk:
    """What one browser did and saw."""

    answers: int = 0
    pages: int = 0
    leaks: int = 0
    lost_drafts: int = 0
    stages: list[str] = field(default_factory=list)


def settled(page, *, quiet_ms: int = 40) -> None:
    """Waits until the page shows the end of its script's run."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(quiet_ms)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def walk(address: str, code: str, words: str, others: tuple[str, ...]) -> Walk:
    """One participant from the link to the completion code, their tab closed once in the middle."""
    from playwright.sync_api import sync_playwright

    from tests.browser.studying import ITEM, come_in, is_over, item_id, shown, take_a_step

    done = Walk()
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        context = playwright.chromium.launch(executable_path=path, args=QUIET).new_context()
        page = context.new_page()
        page.set_default_timeout(120_000)
        come_in(page, settled, address, None, f"{address}/participate?join={code}")
        while not is_over(stage := shown(page, settled)):
            if stage != "item":
                hide_a_canary()
            look(page, done, others)
            if stage == "item" and done.answers == 3 and "closed" not in done.stages:
                page = close_and_come_back(context, page, address, done)
                done.stages.append("closed")
            key = "a" if page.locator(ITEM).count() and int(item_id(page), 16) % 4 == 0 else "x"
            done.stages.append(take_a_step(page, settled, words, key))
            done.answers += stage == "item"
        look(page, done, others)
    return done


def look(page, done: Walk, others: tuple[str, ...]) -> None:
    """Searches the page for what must not stand in it."""
    html = page.content().split("decision-bar")[0]
    done.pages += 1
    done.leaks += any(word in html for word in (*FORBIDDEN, *others))


def close_and_come_back(context, page, address: str, done: Walk):
    """Half a sentence, the tab closed, another one opened: the same item with the same words, or it is lost."""
    from tests.browser.studying import item_id, shown

    before, field = item_id(page), page.get_by_role("textbox", name="Feedback to the agent")
    writes = field.count() > 0
    if writes:
        field.press_sequentially("half a sent")
        page.get_by_text("Draft saved").wait_for()
    page.close()
    again = context.new_page()
    again.set_default_timeout(120_000)
    again.goto(f"{address}/participate")
    same = shown(again, settled) == "item" and item_id(again) == before
    kept = not writes or again.get_by_role("textbox", name="Feedback to the agent").input_value() == "half a sent"
    done.lost_drafts += not (same and kept)
    return again


def hide_a_canary() -> None:
    """Puts a word that nobody may see beside the gold of every task."""
    import orjson
    from sqlmodel import select

    from console.database import writing
    from storage import tables

    with writing() as session:
        for task in session.exec(select(tables.Task).where(~tables.Task.gold.contains(CANARY))):
            task.gold = orjson.dumps({**orjson.loads(task.gold), "note": CANARY}).decode()


def design(quick: bool, tasks: int | None = None):
    """The reference study, or a small one of the same kind, with so many tasks per condition."""
    from console.studies.design import Design

    count = 2 if quick else 4
    return Design.model_validate(
        {
            "name": "pilot",
            "source": {"actor": "scripted", "environment": "webshop"},
            "tasks": tasks or (3 if quick else 25),
            "trials": 2 if quick else 4,
            "budget": "2" if quick else "50%",
            "comparison": "within",
            "order": "latin-square",
            "conditions": [
                {"name": name, "levels": levels} for name, levels in zip(NAMES[:count], LEVELS[:count], strict=True)
            ],
            "participants": {"human": count},
            "consent": {"text": "We study how people review agents."},
            "instructions": "Take your time.",
            "practice": 1,
            "checks": {"attention": 1, "known_good": 1, "known_bad": 1},
            "undo_seconds": 1,
        }
    )


def allocation_faults() -> int:
    """How far the stored allocation is from what its design promises to be even."""
    from console.database import reading
    from console.studies.design.allocation import balance
    from console.studies.sessions import lifecycle

    with reading() as session:
        places = lifecycle.list_places(session, lifecycle.get(session, "pilot"))
    return sum(tally.most - tally.least for tally in balance(places) if tally.what in PROMISED)


def stored() -> tuple[Counter[str], int, int]:
    """Standing answers by reviewer, budgets overdrawn, and conditions that are not done."""
    from sqlmodel import select

    from console.database import reading
    from storage import tables

    with reading() as session:
        rows = session.exec(select(tables.Decision.reviewer).where(tables.Decision.superseded.is_(False))).all()
        budgets = session.exec(select(tables.Budget)).all()
        parts = session.exec(select(tables.Assignment)).all()
    over = sum(budget.cap is not None and budget.used > budget.cap for budget in budgets)
    return Counter(rows), over, sum(part.status != "done" for part in parts)


def figures(quick: bool, tasks: int | None) -> dict[str, float]:
    """Runs the study and counts."""
    from console.database import now_ms
    from console.studies.sessions import lifecycle
    from tests.serving import serving

    study = lifecycle.create(design(quick, tasks), now_ms())
    lifecycle.open_study(study.name)
    people = 2 if quick else 4
    words = [f"words of number {number}, nobody else's" for number in range(people)]
    started = time.perf_counter()
    with serving(Path(os.environ["INFERACT_DATA_DIR"])) as server, get_context("spawn").Pool(people) as pool:
        jobs = [(server.url, study.join_code, own, tuple(other for other in words if other != own)) for own in words]
        walks = pool.starmap(walk, jobs)
    seconds = time.perf_counter() - started
    answers, overdrawn, unfinished = stored()
    made = sum(one.answers for one in walks)
    print(f"{people} browsers, {made} answers in {seconds:.0f} s, {sum(one.pages for one in walks)} pages looked at")
    return {
        "allocation_faults": allocation_faults(),
        "leaks": sum(one.leaks for one in walks),
        "lost_decisions": made - answers.total(),
        "lost_drafts": sum(one.lost_drafts for one in walks),
        "budgets_overdrawn": overdrawn,
        "conditions_unfinished": unfinished,
        "decisions": made,
        "seconds_per_decision": round(people * seconds / max(made, 1), 2),
    }


def verdict(found: dict[str, float]) -> dict[str, object]:
    """The line of JSON that outside checks read."""
    none = ("allocation_faults", "leaks", "lost_decisions", "lost_drafts", "budgets_overdrawn", "conditions_unfinished")
    goals: dict[str, list[object]] = {name: ["<=", 0] for name in none} | {"decisions": [">=", 1]}
    met = found["lost_decisions"] == 0 and found["decisions"] >= 1 and all(found[name] <= 0 for name in none)
    return {"benchmark": "study", "figures": found, "goals": goals, "met": met}


def main() -> None:
    """Runs the study in a folder of its own and prints the verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 people, 2 conditions x 3 tasks, 2 trials")
    parser.add_argument("--tasks", type=int, help="tasks per condition; 25 in the reference study")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFERACT_DATA_DIR"] = folder
        print(json.dumps(verdict(figures(options.quick, options.tasks))))


if __name__ == "__main__":
    main()
