"""Running Alembic's steps over our own connection, so that a whole upgrade is one transaction."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from storage.engine import sqlite_path
from storage.errors import NewerSchema, StorageError
from storage.migrations import alone_with


def upgrade(url: str, target: str = "head") -> None:
    """Runs the steps that are missing up to `target`; waits for another process that is doing so."""
    config = configuration()
    with alone_with(url) as connection:
        _refuse_newer(connection, ScriptDirectory.from_config(config), url)
        config.attributes["connection"] = connection
        command.upgrade(config, target)
        if connection.dialect.name == "sqlite":
            _refuse_dangling(connection)


def configuration() -> Config:
    """Alembic's configuration, made here because an installed console has no alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _refuse_newer(connection: Connection, scripts: ScriptDirectory, url: str) -> None:
    known = {script.revision for script in scripts.walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        where = sqlite_path(url) or "The database"
        raise NewerSchema(f"{where} was written by a newer console (schema {found}); upgrade the console to open it.")


def _refuse_dangling(connection: Connection) -> None:
    dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchone()
    if dangling is not None:
        raise StorageError(f"Upgrading left table {dangling[0]!r} pointing at missing rows; the file is as it was.")
