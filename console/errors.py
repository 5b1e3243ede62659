"""The errors of the console."""

import re


class ConsoleError(Exception):
    """The request failed."""

    exit_code = 1


class BadInput(ConsoleError):
    """The input cannot be used as it is."""

    exit_code = 2


_ENDLESS = re.compile(r"(\S{120})\S{80,}")
"""Names in a damaged log have no limit; a sentence shows their beginning."""


class UnreadableFile(BadInput):
    """A file cannot be read as a trajectory log.

    `line` counts from 1; None means the whole file. `reason` is a sentence with its period.
    """

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        reason = _ENDLESS.sub(r"\1…", reason).encode(errors="replace").decode()
        reason = reason if reason.rstrip().endswith((".", "!", "?", "…")) else f"{reason}."
        self.path, self.reason, self.line = path, reason, line
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}")


class Unknown(BadInput):
    """No object of that kind has that name or id."""

    def __init__(self, what: str, name: object, known: object = (), *, by: str = "", advice: str = "") -> None:
        key = f"with {by or 'id'} {name}" if by or isinstance(name, int) else f"named {name!r}"
        names = ", ".join(str(k) for k in known) if isinstance(known, (list, tuple, dict, set)) else str(known)
        super().__init__(f"No {what} {key}." + (f" Known: {names}." if names else f" {advice}" if advice else ""))


class Refused(ConsoleError):
    """This request is not possible in the current state. Reload the page, then try again."""


class TooMany(Refused):
    """An agent has reached a limit. Send the same request again later."""
