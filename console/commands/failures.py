"""What the command line says of failures that are nobody's refusal: the disk, the database, a setting."""

from __future__ import annotations

import sqlite3

from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from console.settings import Settings

EXPECTED = (OSError, sqlite3.Error, DBAPIError, ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValidationError)
"""Errors of the surroundings; any other is a fault of ours and shows its traceback."""


def sentence(failure: BaseException) -> tuple[str, int] | None:
    """One sentence and the exit code, or None where the surroundings are not to blame."""
    match failure:
        case ValidationError(title=Settings.__name__):
            name = "_".join(["INFERACT", *(str(part).upper() for part in failure.errors()[0]["loc"])])
            return f"The setting {name} cannot be used: {failure.errors()[0]['msg']}.", 2
        case ArgumentError() | NoSuchModuleError():
            return "INFERACT_DATABASE_URL names no known kind of database; use sqlite:///FILE or postgresql://...", 2
        case ModuleNotFoundError(name="psycopg" | "psycopg2"):
            return "PostgreSQL needs its driver; install it: pip install psycopg[binary]", 1
        case DBAPIError() | sqlite3.Error():
            cause = getattr(failure, "orig", failure)
            return f"The database did not take it ({cause}); that change is undone, what was stored before is kept", 1
        case OSError():
            where = f"{failure.filename}: " if failure.filename else ""
            return f"{where}{failure.strerror or failure}; choose another place, or mend its rights or room.", 1
    return None
