"""Recruiting platforms: the parameters of their links and return addresses; to add a platform, add a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from console.trajectory.strict_yaml import read_data


@dataclass(frozen=True, slots=True)
class Platform:
    """A recruiting platform as described in its documentation (`source`).

    `person` is the URL parameter with the person's id; `beside` lists the other parameters. A parameter value in
    `preview` marks a visitor who only previews the study. `link` is the end of a study's link on the platform, with the
    platform's own placeholders. `hosts` are the hosts to which people may return.
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
