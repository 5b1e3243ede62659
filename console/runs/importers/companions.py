"""Files that lie beside logs and hold no trajectory: what each of them is, and why there is nothing to review in it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from console.runs.importers.parts.json_records import base_of, outline
from console.trajectory.data_files import read_data


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """A file that lies beside logs: the paths that tell it, and why there is nothing to review in it."""

    marks: tuple[str, ...]
    sentence: str


_COMPANIONS = read_data(files(__package__) / "companions.yaml", tuple[CompanionFile, ...])
_SENTENCES = "this is a list of texts, such as WebShop's human goals, without any actions; import the log of a run"


def companion_sentence(head: bytes) -> str | None:
    """Why the file has nothing to review in it, or None where it is no known companion."""
    paths = outline(head)
    if "[]" in paths and not any(path != "[]" for path in paths):
        return _SENTENCES
    return next((one.sentence for one in _COMPANIONS if base_of(paths, one.marks) is not None), None)
