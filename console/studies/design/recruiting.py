"""Recruiting: the source of participants, their return addresses, and their bonus."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, field_validator, model_validator

from console.studies.design.part import DesignPart
from console.studies.design.platforms import PLATFORMS, Platform

Money = Annotated[Decimal, Field(ge=0, le=10_000, decimal_places=4)]

_LOCAL = ("127.0.0.1", "localhost")
_CENT = Decimal("0.01")
_UNFILLED = frozenset("{}[]<>%$")
"""The characters of placeholders, which no platform uses in ids."""


class Bonus(DesignPart):
    """A bonus in addition to the platform's payment: an amount per correct decision, up to the limit `most`."""

    currency: str = Field(default="GBP", pattern=r"^[A-Z]{3}$")
    per_right: Money = Decimal(0)
    most: Money = Decimal(10)
    if_excluded: bool = False
    """Whether people excluded by a rule also get the bonus."""

    def of(self, right: int, excluded: bool) -> Decimal:
        """Return the bonus for this number of correct decisions, in hundredths; halves are rounded up."""
        earned = Decimal(0) if excluded and not self.if_excluded else min(self.per_right * right, self.most)
        return earned.quantize(_CENT, ROUND_HALF_UP)


class Recruiting(DesignPart):
    """The ways to join: with the study's code, with single-use links, or from a platform with its ids.

    `screen_out_url` is for people who are screened out by an answer, a full quota or the quiz; `screen_out_code` is
    shown to them, for platforms that take a code. `return_url` is for people who decline the consent or withdraw. In
    the addresses, `{outside_id}` is replaced by the person's id on the platform, and `{code}` by the completion or
    screen-out code.
    """

    platform: str | None = None
    by_invitation: bool = False
    completion_url: str = ""
    screen_out_url: str = ""
    screen_out_code: str = Field(default="", pattern=r"^[A-Za-z0-9-]{0,40}$")
    return_url: str = ""
    hosts: tuple[str, ...] = ()
    bonus: Bonus | None = None

    @field_validator("platform")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and name not in PLATFORMS:
            raise ValueError(f"must be {', '.join(PLATFORMS)} or left out, not {name[:40]!r}")
        return name

    @model_validator(mode="after")
    def _allowed(self) -> Self:
        allowed = (*(self.of_platform.hosts if self.of_platform else ()), *self.hosts)
        for name in ("completion_url", "screen_out_url", "return_url"):
            if url := getattr(self, name):
                _refuse_elsewhere(name, url, allowed)
        return self

    @property
    def of_platform(self) -> Platform | None:
        """The platform, or None if people do not come from a platform."""
        return PLATFORMS[self.platform] if self.platform else None

    def way_back(self, url: str, outside_id: str, code: str) -> str | None:
        """Return the return address, or None if it needs an id that is unknown in this browser."""
        if not url or ("{outside_id}" in url and not outside_id):
            return None
        filled = url.replace("{outside_id}", quote(outside_id, safe=""))
        return filled.replace("{code}", quote(code, safe=""))


def outside_id_in(platform: Platform, given: Mapping[str, str]) -> str:
    """Return the person's id from the URL parameters.

    Return an empty id if the id is missing or a parameter marks a preview. Placeholders that the platform did not fill
    in, such as `{{%PROLIFIC_PID%}}`, count as missing.
    """
    person = given.get(platform.person, "").strip()
    if set(given.values()) & {*platform.preview} or set(person) & _UNFILLED:
        return ""
    return person


def _refuse_elsewhere(name: str, url: str, allowed: tuple[str, ...]) -> None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOCAL)) or "@" in parts.netloc:
        raise ValueError(f"{name} must be an https address with a host")
    if "{" in parts.netloc or host not in allowed:
        known = f" (allowed: {', '.join(allowed)})" if allowed else ""
        raise ValueError(f"the host of {name}, {host}, is not allowed{known}. Add the host to `hosts`")
