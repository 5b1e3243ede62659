"""The boundary around each part of a review page: if a part fails, the page names the part and keeps the decisions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from console.language import _, gettext_noop
from console.web.widgets.messages import show_problem
from storage.errors import StorageError

T = TypeVar("T")

STATUS = gettext_noop("status line")
MESSAGES = gettext_noop("messages and notes")
ITEM = gettext_noop("task, action and steps")
FURTHER = gettext_noop("further steps")
EARLIER = gettext_noop("earlier trials")
LINES = gettext_noop("corrections of requirement lines")
EDIT = gettext_noop("edit form")
REMEDIES = gettext_noop("alternatives of the agent")
WHOLE = gettext_noop("button for the full action")
WORDS = gettext_noop("feedback field")
REASONS = gettext_noop("reasons")
MARKS = gettext_noop("marks on steps")
QUESTIONS = gettext_noop("questions")
TERMS = gettext_noop("rules for the review")
SHORTCUTS = gettext_noop("shortcuts")
CLAIM_TIME = gettext_noop("claim time")
MORE = gettext_noop("further decisions")
ARRIVALS = gettext_noop("number of pending items")

_log = logging.getLogger(__name__)


def draw_part(part: str, draw: Callable[[], T], otherwise: T) -> T:
    """Draw a part of the page and return its result; if it fails, draw its name and return `otherwise`.

    Raise errors of the database, because they concern the whole page.
    """
    try:
        return draw()
    except (StorageError, DBAPIError):
        raise
    except Exception:
        log_failure(part)
        failed = _("This part cannot be shown: {part}. You can still decide the item. The server log has the cause.")
        show_problem(failed.format(part=_(part)))
        return otherwise


def log_failure(part: str) -> None:
    """Write the current exception to the server log, with the name of the part that failed."""
    _log.exception("A part of the review page failed: %s", part)
