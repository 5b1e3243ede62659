"""Presets: ready designs for research questions of the field, one YAML file for each; add a file to add a preset.

A file contains a `title`, a description in `about`, and the `design`. The file may replace fields of the design in two
cases: `simulated` if only simulated reviewers take part, and `with_model` if the detectors use a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from console.errors import Unknown
from console.studies.design.model import Design
from console.studies.design.yaml_file import change_design
from console.trajectory.strict_yaml import read_data

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Preset:
    """A named design with its research question."""

    name: str
    title: str
    about: str
    design: Design
    simulated: Fields = field(default_factory=dict)
    with_model: Fields = field(default_factory=dict)

    def designed(self, *, simulated: bool = False, with_model: bool = False, **fields: Any) -> Design:
        """Return the design with these fields changed; raise BadInput if the changed design is invalid."""
        given = (self.with_model if with_model else {}) | (self.simulated if simulated else {}) | fields
        return change_design(self.design, **given)


@lru_cache(maxsize=1)
def presets() -> dict[str, Preset]:
    """Return all presets by name; the name is the file name without its suffix."""
    found = sorted(one.name for one in files(__package__).iterdir() if one.name.endswith(".yaml"))
    return {one.name: one for one in (_read(name.removesuffix(".yaml")) for name in found)}


def preset(name: str) -> Preset:
    """Return the preset with this name; if there is none, raise Unknown with the list of presets."""
    if name not in presets():
        raise Unknown("preset", name, presets())
    return presets()[name]


def _read(name: str) -> Preset:
    file = read_data(files(__package__).joinpath(f"{name}.yaml"), Fields)
    file["design"] = Design.model_validate({"name": name, **file["design"]})
    file["about"] = file["about"].strip()
    return Preset(name=name, **file)
