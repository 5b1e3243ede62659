"""Platforms that people are recruited on: what their links carry and where people go back to; one file each.

A new one is one YAML file beside this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from console.trajectory.data_files import read_data


@dataclass(frozen=True, slots=True)
class Platform:
    """A recruiting platform as its documentation (`source`) describes it.

    `person` is the URL parameter that names the person, `beside` come with it; where one of the values `preview` is
    given, somebody only looks. `link` is what a study's link ends in there, with the platform's own placeholders;
    people may be sent back to `hosts`.
    """

    title: str
    source: str
    person: str
    beside: tuple[str, ...] = ()
    preview: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    link: str = ""


PLATFORMS: Mapping[str, Platform] = {
    file.name.removesuffix(".yaml"): read_data(file, Platform)
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name)
    if file.name.endswith(".yaml")
}
