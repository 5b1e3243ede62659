"""Presets: designs that answer a question of the field, each a YAML file here; to add one, add a file.

A file states a `title`, what it is `about`, the `design`, and what takes its fields' places in two cases: `simulated`
where nobody but simulated reviewers takes part, `with_model` where its detectors ask a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from console.errors import Unknown
from console.studies.design.model import Design
from console.studies.design.yaml_file import changed, parse


@dataclass(frozen=True, slots=True)
class Preset:
    """A design under its name, with the question that it is for."""

    name: str
    title: str
    about: str
    design: Design
    simulated: dict[str, Any]
    with_model: dict[str, Any]

    def designed(self, *, simulated: bool = False, with_model: bool = False, **fields: Any) -> Design:
        """The design with these fields changed; raises BadInput as `load` does."""
        given = (self.with_model if with_model else {}) | (self.simulated if simulated else {}) | fields
        return changed(self.design, **given)


@lru_cache(maxsize=1)
def presets() -> dict[str, Preset]:
    """Every preset by its name, which is its file's."""
    found = sorted(one.name for one in files(__package__).iterdir() if one.name.endswith(".yaml"))
    return {one.name: one for one in (_read(name.removesuffix(".yaml")) for name in found)}


def preset(name: str) -> Preset:
    """The preset of that name; raises Unknown, naming those there are."""
    if name not in presets():
        raise Unknown("preset", name, presets())
    return presets()[name]


def _read(name: str) -> Preset:
    held = yaml.safe_load(files(__package__).joinpath(f"{name}.yaml").read_text("utf-8"))
    design = parse(yaml.safe_dump({"name": name, **held["design"]}), f"The preset {name}")
    return Preset(
        name, held["title"], held["about"].strip(), design, held.get("simulated", {}), held.get("with_model", {})
    )
