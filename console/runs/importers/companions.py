"""Files that lie beside logs and hold no trajectory: what each of them is, and why there is nothing to review in it."""

from __future__ import annotations

from console.runs.importers.parts.json_records import base_of, outline

_COMPANIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (".name", ".memory", ".is_success"),
        "this lists which environments were solved and what the agent remembered, but no actions, so there is nothing "
        "to review; import the log of the run itself",
    ),
    (
        (".task", ".session_idx", ".key"),
        "these are WebShop tasks with their gold items (fixed100), without any actions; import the log of a run",
    ),
    (
        (".question", ".answer", ".supporting_facts"),
        "these are HotPotQA questions with their answers, without any actions; import the log of a run",
    ),
    (
        (".goal", ".gamefile"),
        "these are ALFWorld task sentences without any actions; keep them beside expert_traj.jsonl and import that",
    ),
    (
        (".category", ".rationale"),
        "these are comments on the failures of another file's runs, without their steps; import the result file",
    ),
)
_SENTENCES = "this is a list of texts, such as WebShop's human goals, without any actions; import the log of a run"


def companion_sentence(head: bytes) -> str | None:
    """Why the file has nothing to review in it, or None where it is no known companion."""
    paths = outline(head)
    if "[]" in paths and not any(path != "[]" for path in paths):
        return _SENTENCES
    return next((sentence for marks, sentence in _COMPANIONS if base_of(paths, marks) is not None), None)
