"""Blindness: does anything that a participant's browser receives tell a seeded item, an attention check or a condition?

Participants of every preset work on a served console. Most of them are websocket clients that read the frames of each
item's first render, in order; some are Chromium, whose frames and addresses are read the same way. A classifier with a
permutation test then tries to tell what must not be told, and has to find a planted leak of each kind.

`blindness.py [--quick] [--people N] [--chromium N] [--keep FILE]` prints its result as JSON in the last line.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import httpx  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from console.database import now_ms, review_queue  # noqa: E402
from console.errors import BadInput  # noqa: E402
from console.review import decisions  # noqa: E402
from console.studies.design.instruments import answers_to  # noqa: E402
from console.studies.design.presets import preset  # noqa: E402
from console.studies.sessions import answering, joining, lifecycle, steps  # noqa: E402
from storage import tables  # noqa: E402
from tests.benchmarks.leaks import (  # noqa: E402
    judge_attention,
    judge_detector,
    judge_seeded,
    own_items,
    planted,
    rounds,
)
from tests.blindness import cell, hashed, p_of_flags, read_frames  # noqa: E402
from tests.serving import serving  # noqa: E402

SMALL = {"undo_seconds": 0, "break_minutes": 0}
KINDS = {
    "score-shown": {"tasks": 4, "trials": 1},
    "score-shown, budget": {"tasks": 4, "trials": 2, "budget": "2"},
    "false-alarms": {"tasks": 10},
    "appendix-f": {"tasks": 3, "trials": 1, "score_hidden": True},
    "words-or-binary": {"tasks": 4, "trials": 2},
}
"""The presets, with fewer tasks; the score of compared detectors is hidden, since it differs by the detector."""
SHARES = {"score-shown": 0.3, "score-shown, budget": 0.15, "false-alarms": 0.2, "appendix-f": 0.15,
          "words-or-binary": 0.2}  # fmt: skip
PEOPLE, CHROMIUM, OF_ONE_STUDY, BROWSER_RETRIES = 200, 20, 8, 5
FORBIDDEN = ("known-good", "known-bad", "full-validation", "gold_answer", "join_code", "P01 in")
OVER = ("finished", "withdrawn", "declined", "screened_out", "paused")
_KEY = re.compile(r"\$\$ID-[0-9a-f]{32}-(.+)")
_LABELS = re.compile(r"Item \d+|Part \d+ of \d+|Detector [A-Z]")


@dataclass
class Seen:
    """The rows of all items that were shown, by kind of study, and how many people received them."""

    rows: dict[str, list[dict]] = field(default_factory=dict)
    people: int = 0
    browsers: int = 0

    def add(self, kind: str, walks: list[tuple[list[dict], bool]]) -> None:
        """Keep the rows of the participants of a kind, each with whether it was a browser."""
        for rows, browser in walks:
            self.rows.setdefault(kind, []).extend(rows)
            self.people += 1
            self.browsers += browser

    @property
    def named(self) -> int:
        """How often a page held a word that nobody may see."""
        return sum(row["named"] for rows in self.rows.values() for row in rows)


def main() -> None:
    """Walk the studies, judge what was received, and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="24 participants, no browser; nothing is judged")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--chromium", type=int, default=CHROMIUM, help="how many of them are Chromium")
    parser.add_argument("--keep", type=Path, help="store what was received in this file; if it exists, judge it again")
    given = parser.parse_args()
    people, chromium = (24, 0) if given.quick else (given.people, given.chromium)
    started = time.perf_counter()
    if given.keep and given.keep.exists():
        seen = pickle.loads(given.keep.read_bytes())
    else:
        seen = walk_all(people, chromium, started)
    if given.keep:
        given.keep.write_bytes(pickle.dumps(seen))
    figures, goals = judge(seen)
    figures |= {"people": seen.people, "browsers": seen.browsers, "words_told": seen.named}
    figures["minutes"] = round((time.perf_counter() - started) / 60, 1)
    goals |= {"words_told": ["<=", 0], "people": [">=", people], "browsers": [">=", chromium], "minutes": ["<=", 60]}
    if given.quick:
        goals = {name: goals[name] for name in ("words_told", "people")}
    met = all(figures[name] <= at if way == "<=" else figures[name] >= at for name, (way, at) in goals.items())
    print(json.dumps({"benchmark": "blindness", "figures": figures, "goals": goals, "met": met}))


def walk_all(people: int, chromium: int, started: float) -> Seen:
    """Let the participants of every kind work; each kind has a console of its own."""
    seen = Seen()
    with ProcessPoolExecutor(len(KINDS), get_context("spawn")) as pool:
        jobs = {
            kind: pool.submit(walk_kind, kind, round(people * share), round(chromium * share))
            for kind, share in SHARES.items()
        }
        for kind, job in jobs.items():
            seen.add(kind, job.result())
            print(f"{kind}: {len(seen.rows[kind])} items, {time.perf_counter() - started:.0f} s", flush=True)
    return seen


def walk_kind(kind: str, people: int, browsers: int) -> list[tuple[list[dict], bool]]:
    """Let the participants of one kind of study work on a served console; the last ones are Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFERACT_DATA_DIR"] = folder
        walks: list[tuple[list[dict], bool]] = []
        with serving(Path(folder)) as server:
            # Studies of one seed have the same tasks: a classifier would know those of another kind by heart.
            seed, left = 100 * list(KINDS).index(kind), people
            while left:
                seed, study = make(kind, seed, OF_ONE_STUDY)
                for _ in range(min(OF_ONE_STUDY, left)):
                    person, by_browser = joining.join(study.join_code), left <= browsers
                    left -= 1
                    try:
                        walks.append(((browse if by_browser else walk)(server, kind, seed, person), by_browser))
                    except Exception:
                        # Whoever did not come to the end is missing among the people, which are counted.
                        traceback.print_exc()
                print(f"{kind}, seed {seed}: {sum(len(rows) for rows, _ in walks)} items", flush=True)
                seed += 1
        return walks


def make(kind: str, seed: int, people: int) -> tuple[int, tables.Study]:
    """Make and open the next study of a kind whose tasks leave enough known items; return its seed."""
    name, changes = kind.partition(",")[0], {**SMALL, **KINDS[kind]}
    while True:
        try:
            design = preset(name).design
            factors = {**design.factors, **({"score": ("hidden",)} if changes.get("score_hidden") else {})}
            more = {key: value for key, value in changes.items() if key != "score_hidden"}
            fields = {"name": f"s {kind[-6:]} {seed}".replace(",", ""), "seed": seed, "factors": factors}
            made = preset(name).designed(**fields, **more, participants={"human": people})
            study = lifecycle.create(made, now_ms())
            return seed, lifecycle.open_study(study.name)
        except BadInput as refusal:
            if "outside the study's own tasks" not in str(refusal):
                raise
            seed += 1


def walk(server, kind: str, seed: int, person: joining.Joined, *, presses: bool = True) -> list[dict]:
    """The rows of a websocket client, which presses the page's buttons, or has each item decided after one render."""
    rows: list[dict] = []
    with visiting(server, person.secret) as client:
        pressed: list[tuple[str, str, object]] = []
        while True:
            frames, took = client.run(pressed)
            place, pressed = steps.find_position(person.id), []
            if place.kind in OVER:
                return rows
            if place.kind in ("review", "probe"):
                # A press that came too early renders the item again; the first render counts.
                if not rows or rows[-1]["item"] != place.claim.item_id:
                    rows.append(row_of(kind, seed, place, *read_frames(frames, took), rows))
                rejects = place.claim.item_id % 4 > 0
                if presses:
                    pressed = press(frames, rejects=rejects)
                else:
                    answer(place, rejects=rejects)
            elif place.kind == "practice":
                answer(place)
            else:
                go_on(person.id, place)


@contextmanager
def visiting(server, secret: str) -> Iterator[Client]:
    """A websocket that a participant's browser would open."""
    arrived = httpx.get(f"{server.url}/participate?me={secret}", follow_redirects=False, trust_env=False)
    headers = {"Cookie": arrived.headers["set-cookie"].split(";")[0]}
    address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
    more = {"origin": server.url, "subprotocols": ["streamlit"], "max_size": None, "proxy": None}
    with connect(address, additional_headers=headers, **more) as socket:
        yield Client(socket)


class Client:
    """A browser's websocket, without the browser."""

    def __init__(self, socket) -> None:
        self._socket = socket

    def run(self, pressed: list[tuple[str, str, object]]) -> tuple[list[ForwardMsg], float]:
        """The frames of a run of the page with these states of widgets, and the seconds until its end."""
        message, frames = BackMsg(), []
        message.rerun_script.page_name = "participate"
        message.rerun_script.widget_states.SetInParent()
        for widget, kind, value in pressed:
            state = message.rerun_script.widget_states.widgets.add()
            state.id = widget
            setattr(state, kind, value)
        began = time.perf_counter()
        self._socket.send(message.SerializeToString())
        while True:
            frame = ForwardMsg()
            frame.ParseFromString(self._socket.recv(timeout=300))
            frames.append(frame)
            if frame.WhichOneof("type") == "script_finished" and frame.script_finished == 0:
                return frames, time.perf_counter() - began


def press(frames: list[ForwardMsg], *, rejects: bool) -> list[tuple[str, str, object]]:
    """The states of the page's widgets after the feedback is typed and a decision pressed."""
    elements = [frame.delta.new_element for frame in frames if frame.WhichOneof("type") == "delta"]
    fields = [one.text_area.id for one in elements if one.WhichOneof("type") == "text_area"]
    buttons = {_KEY.match(one.button.id)[1].split("-")[0]: one.button.id
               for one in elements if one.WhichOneof("type") == "button"}  # fmt: skip
    key = "submit" if "submit" in buttons else "reject" if rejects else "approve"
    words = [(name, "string_value", "look again") for name in fields]
    if "whole" in buttons:
        return [(buttons["whole"], "trigger_value", True)]
    return [*(words if key != "approve" else []), (buttons[key], "trigger_value", True)]


def row_of(kind: str, seed: int, place, text: str, numbers: list[float], before: list[dict]) -> dict:
    """What is known of an item that is shown, and what was received; the last number is the move of the meter."""
    checked = place.probe is not None and place.probe.purpose == "attention"
    # The task of an attention check has no outcome; the check states the right decision.
    key, here = ("attention", ("check", True, place.probe.expected)) if checked else cell(place.claim.item_id)
    round_ = (place.condition, place.trial)
    earlier = [row for row in before if row["round"] == round_]
    past = [row["here"] for row in before if row["task"] == key and row["round"][0] == place.condition]
    arm = json.loads(place.assignment.levels)
    blind = kind in ("false-alarms", "appendix-f")
    return {
        "kind": kind, "study": (kind, seed), "person": place.participant.code, "task": key, "here": here,
        "cell": (*past, here), "round": round_, "words": hashed(_LABELS.sub("", text) if blind else text),
        "numbers": [*numbers, earlier[-1]["numbers"][4] - numbers[4] if earlier else 1],
        "purpose": str(place.probe.purpose) if place.probe else "", "arm": arm, "item": place.claim.item_id,
        "named": sum(word in text for word in FORBIDDEN),
    }  # fmt: skip


def answer(place, *, rejects: bool = True) -> None:
    """Decide on an item without its page."""
    what = "respond" if place.claim.kind == "halted" else "reject" if rejects else "approve"
    words = "" if what == "approve" or place.run.feedback_mode == "binary" else "look again"
    given = decisions.ReviewDecision(what, words)
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, given, now_ms())


def go_on(person: int, place) -> None:
    """Take the step that a stage between items asks for."""
    match place.kind:
        case "consent":
            joining.consent(person, True)
        case "instructions":
            joining.finish_instructions(person)
        case "practice_answer":
            steps.acknowledge(person)
        case "break":
            steps.end_break(person)
        case "introduction":
            steps.begin(person)
        case "questionnaire":
            given = {item.key: (answers_to(place.instrument, item) or ("words",))[0] for item in place.instrument.items}
            answering.fill_in(person, place.instrument.name, given)
        case _:
            steps.hand_over(person)


def browse(server, kind: str, seed: int, person: joining.Joined) -> list[dict]:
    """The rows of a participant in Chromium, from the frames that the browser received since its last decision."""
    from playwright.sync_api import sync_playwright

    from tests.benchmarks.study import QUIET, settled
    from tests.browser.studying import is_over, shown, take_a_step

    rows: list[dict] = []
    came: list[bytes | str] = []
    late = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(240_000)
        page.on("websocket", lambda socket: socket.on("framereceived", lambda payload: came.append(payload)))
        page.on("request", lambda request: came.append(re.sub(r":\d+", "", request.url)))
        page.goto(f"{server.url}/participate?me={person.secret}")
        began = time.perf_counter()
        while not is_over(stage := shown(page, settled)):
            if stage == "item" and not page.get_by_text("Practice decisions do not count").count():
                place = steps.find_position(person.id)
                if not rows or rows[-1]["item"] != place.claim.item_id:
                    rows.append(row_of(kind, seed, place, *received_in(came, began), rows))
                came.clear()
            key = "a" if rows and rows[-1]["item"] % 4 == 0 else "x"
            began = time.perf_counter()
            try:
                take_a_step(page, settled, "look again", key)
            except AssertionError:
                # A busy machine lost a key press: the stage is taken again, as a person would.
                if (late := late + 1) > BROWSER_RETRIES:
                    raise
            if stage != "item":
                came.clear()
        browser.close()
    return rows


def received_in(came: list[bytes | str], began: float) -> tuple[str, list[float]]:
    """The text and the numbers of what a browser received since then."""
    frames = [parsed(one) for one in came if isinstance(one, bytes)]
    text, numbers = read_frames([one for one in frames if one], time.perf_counter() - began)
    return " ".join([text, *(one for one in came if isinstance(one, str))]), numbers


def parsed(payload: bytes) -> ForwardMsg | None:
    """A frame, or None if the bytes are none."""
    frame = ForwardMsg()
    try:
        frame.ParseFromString(payload)
    except Exception:
        return None
    return frame


def judge(seen: Seen) -> tuple[dict[str, float], dict[str, list]]:
    """p of each thing that must not be told, after Holm, and of the planted leaks."""
    seeded = [row for kind, rows in seen.rows.items() if kind.startswith("score-shown") for row in rows]
    own = own_items(seeded)
    checks = [row for rows in seen.rows.values() for row in rows if row["round"][1] == 1]
    true = {
        "seeded": judge_seeded(own),
        "flags": p_of_flags(rounds(own)),
        "attention": judge_attention([row for row in checks if not row["kind"].startswith("appendix")]),
        "detector_between": judge_detector(seen.rows["false-alarms"]),
        "detector_within": judge_detector(seen.rows["appendix-f"]),
    }
    figures = {f"p_{name}": round(p, 4) for name, p in true.items()}
    figures |= {f"items_{kind}".replace(", ", "_"): float(len(rows)) for kind, rows in seen.rows.items()}
    ordered = sorted(true.values())
    figures["least_after_holm"] = min(1.0, max(p * (len(ordered) - at) for at, p in enumerate(ordered[:1])))
    goals: dict[str, list] = {"least_after_holm": [">=", 0.05]}
    for name, p in planted(own, seen.rows["false-alarms"]).items():
        figures[f"planted_{name}"] = round(p, 4)
        goals[f"planted_{name}"] = ["<=", 0.05]
    return figures, goals


if __name__ == "__main__":
    main()
