"""Recruiting: where people come from, where they are sent when they are done, and what they are paid beside."""

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


class Bonus(DesignPart):
    """A bonus on top of what the platform pays: so much for each right decision, up to `most`."""

    currency: str = Field(default="GBP", pattern=r"^[A-Z]{3}$")
    per_right: Money = Decimal(0)
    most: Money = Decimal(10)
    if_excluded: bool = False
    """Whether those whom an exclusion rule leaves out get it too."""

    def of(self, right: int, excluded: bool) -> Decimal:
        """The bonus for so many right decisions, in hundredths, halves rounded up."""
        earned = Decimal(0) if excluded and not self.if_excluded else min(self.per_right * right, self.most)
        return earned.quantize(_CENT, ROUND_HALF_UP)


class Recruiting(DesignPart):
    """How people come: by the study's code, by links that open one place each, or by a platform with its ids.

    `screen_out_url` is for whom an answer keeps out, `return_url` for who declines the consent or withdraws. In each,
    `{outside_id}` stands for the id that the person came with, `{code}` for their own completion code.
    """

    platform: str | None = None
    by_invitation: bool = False
    completion_url: str = ""
    screen_out_url: str = ""
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
        """What is known of the platform, None without one."""
        return PLATFORMS[self.platform] if self.platform else None

    def way_back(self, url: str, outside_id: str, code: str) -> str | None:
        """Where somebody is sent; None where the address needs an id that this browser does not hold."""
        if not url or ("{outside_id}" in url and not outside_id):
            return None
        filled = url.replace("{outside_id}", quote(outside_id, safe=""))
        return filled.replace("{code}", quote(code, safe=""))


def outside_id_in(platform: Platform, given: Mapping[str, str]) -> str:
    """The person's id among the parameters of an address; empty where there is none, or they only look."""
    if set(given.values()) & {*platform.preview}:
        return ""
    return given.get(platform.person, "").strip()


def _refuse_elsewhere(name: str, url: str, allowed: tuple[str, ...]) -> None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOCAL)) or "@" in parts.netloc:
        raise ValueError(f"{name} must be an https address")
    if "{" in parts.netloc or host not in allowed:
        known = f" (allowed are {', '.join(allowed)})" if allowed else ""
        raise ValueError(f"{name} leads to {host or 'nowhere'}{known}; name that host under `hosts` if it is meant")
