"""What must not be told of a participant's items: seeding, attention checks, detectors; planted leaks of each kind."""

from __future__ import annotations

import numpy as np

from tests.blindness import hashed, p_of_flags, told


def own_items(rows: list[dict]) -> list[dict]:
    """The rows without attention checks, whose text says what they are."""
    return [row for row in rows if row["purpose"] != "attention"]


def is_seeded(row: dict) -> bool:
    """Whether the item is seeded."""
    return bool(row["purpose"])


def judge_seeded(rows: list[dict], **more) -> float:
    """p for telling seeded items from the study's own with the same verdicts and right answers in the same round.

    Rounds and studies differ in how many of their own items they show, so items are compared within a round alone. A
    task keeps its label in all rounds.
    """
    return told(
        rows, is_seeded, group=lambda row: row["study"],
        stratum=lambda row: (row["study"], row["person"], row["round"], row["cell"]),
        block=lambda row: (row["study"], row["cell"][0]), unit=lambda row: (row["study"], row["task"]), **more,
    )  # fmt: skip


def judge_attention(rows: list[dict], **more) -> float:
    """p for telling attention checks by ids, meter and place: their text states what to do, and sizes go with it."""
    return told(
        [row | {"words": hashed("x")} for row in rows], lambda row: row["purpose"] == "attention",
        group=lambda row: (row["study"], row["person"]),
        stratum=lambda row: (row["study"], row["person"], row["round"]),
        unit=lambda row: (row["study"], row["person"], row["round"], row["numbers"][5]), drop=(2, 3, 6), **more,
    )  # fmt: skip


def judge_detector(rows: list[dict], **more) -> float:
    """p for telling which detector chose an action; place, meter and the neutral names are left out.

    Only items at one place of their round are compared: a detector's scores decide the order, and a round's second page
    offers to undo the first decision, which the first page cannot.
    """
    within = rows[0]["kind"] == "appendix-f"
    first = [row for row in rows if row["round"][1] == 1 and not row["purpose"]]
    return told(
        first, lambda row: row["arm"]["detector"] == "rules", group=lambda row: row["study"],
        stratum=lambda row: (row["study"], row["task"], row["arm"]["feedback"], row["numbers"][5]),
        block=lambda row: (row["study"], row["person"], row["arm"]["feedback"]) if within else row["study"],
        unit=lambda row: (row["person"], row["round"][0]), drop=(4, 5, 7), **more,
    )  # fmt: skip


def rounds(rows: list[dict]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(flagged, seeded) of each item of each round, without halted trials."""
    found: dict[tuple, list[tuple[bool, bool]]] = {}
    for row in rows:
        if row["here"][0] != "halted":
            key = (row["study"], row["person"], row["round"])
            found.setdefault(key, []).append((bool(row["here"][1]), is_seeded(row)))
    return [tuple(np.array(column, float) for column in zip(*items, strict=True)) for items in found.values()]


def planted(own: list[dict], blind: list[dict]) -> dict[str, float]:
    """p of each planted leak: each must be found."""

    def numbers(at: int, change) -> list[dict]:
        return [row | {"numbers": [*row["numbers"][:at], change(row), *row["numbers"][at + 1 :]]} for row in own]

    def saying(words: str) -> list[dict]:
        return [row | {"words": row["words"] + is_seeded(row) * hashed(words)} for row in own]

    rng = np.random.default_rng(5)
    correlated = [(rng.random(len(seeded)) < 0.5 + 0.2 * (seeded - 0.5), seeded) for _, seeded in rounds(own)]
    return {
        "meter": judge_seeded(numbers(4, lambda row: row["numbers"][4] + is_seeded(row))),
        "id": judge_seeded(numbers(0, lambda row: row["item"] % 7 + 10 * is_seeded(row))),
        "size": judge_seeded(numbers(3, lambda row: row["numbers"][3] + 2_000 * is_seeded(row))),
        "order": judge_seeded(numbers(5, lambda row: row["numbers"][5] + 6 * is_seeded(row))),
        "time": judge_seeded(numbers(6, lambda row: row["numbers"][6] * (1 + is_seeded(row)))),
        "word": judge_seeded(saying("probe")),
        "address": judge_seeded(saying("/media/7.css")),
        "flags": p_of_flags(correlated),
        "detector": judge_detector(blind, leak=lambda row: row["arm"]["detector"] == "rules"),
    }
