"""What every test starts from: a data directory of its own, and the shared real logs where they are present.

And how the run is laid out: which piece of work goes first, and what took longest.
"""

import compileall
import gc
import importlib.metadata
import multiprocessing
import os

# As the command line does, before numpy is imported: small matrices are computed by one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import shutil
import ssl
import sys
import tempfile
from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType

import _hypothesis_globals
import pytest
from _pytest.assertion import rewrite
from hypothesis import settings, strategies
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import constants_from_module
from sqlalchemy import Engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from storage.engine import close
from storage.migrations import migrate
from tests import postgres
from tests.at_home import at_home

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parents[1] / "shared" / "data"

ON_A_DATABASE = {"auth", "browser", "cli", "detection", "gate", "review", "runs", "studies", "trials", "web"}

# The longest pieces of work, those that are so at length last; nothing waits for them at the end.
FIRST = (
    "browser 0",
    "browser 1",
    "tests/test_contract.py",
    "tests/doors/test_ways_in.py",
    "tests/console/web/studies/test_results.py",
    "tests/console/client/test_hook.py",
    "tests/test_seams.py",
    "tests/test_house.py",
    "tests/console/studies/report/test_report.py",
    "tests/console/web/pages/test_review.py",
    "tests/console/server/test_http_client.py",
    "tests/console/studies/sessions/test_steps.py",
    "tests/console/web/pages/test_runs.py",
    "tests/console/server/api/test_checks.py",
    "tests/storage/test_restore.py",
    "tests/console/web/pages/test_participate.py",
    "tests/test_plugins.py",
    "tests/storage/test_queue_answering.py",
    "tests/console/server/test_worker.py",
    "tests/test_words.py",
    "tests/console/gate/policy/test_deciding.py",
    "tests/console/server/test_serve.py",
    "tests/console/gate/test_wait.py",
    "tests/storage/test_queue_claiming.py",
    "tests/console/studies/sessions/test_withdrawal.py",
    "tests/console/server/test_notices.py",
    "tests/test_packaging.py",
    "tests/console/web/pages/test_detectors.py",
    "tests/console/detection/detectors/rules/test_rules.py",
    "tests/storage/test_queue_machine.py",
    "tests/console/environments/browser/test_world.py",
    "tests/console/studies/sessions/test_meter.py",
    "tests/console/studies/report/test_analysis_plain.py",
    "tests/storage/test_histories.py",
    "tests/storage/test_restore_drill.py",
    "tests/console/web/test_handbook.py",
    "tests/console/studies/sessions/test_simulated.py",
    "tests/console/web/review/test_boundary.py",
    "tests/console/trials/test_killing.py",
    "tests/console/gate/test_processes.py",
    "tests/storage/test_processes.py",
)

# Both look at the same run of every command.
ONE_WALK = ("tests/doors/test_commands.py", "tests/test_contract.py")

# The browser tests of one worker; those of the other need a server of small apps besides.
BROWSER_0 = ("test_accessibility", "test_arrivals", "test_study")

# Tests start a hundred processes; each would compile the console anew if none may keep what it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test speaks TLS, and reading the world's authorities takes each of a thousand model clients 17 ms; here are none,
# and all clients of a process share one context.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
ssl.create_default_context = cache(ssl.create_default_context)

# What is installed stays as it is, and each `doctor` reads the files of every package.
importlib.metadata.packages_distributions = cache(importlib.metadata.packages_distributions)

# Between two tests a thread that an earlier page left behind reads the settings; it must not find the developer's data.
BETWEEN = Path(tempfile.gettempdir()) / f"inferact-between-tests-{os.getpid()}"
os.environ["INFERACT_DATA_DIR"] = str(BETWEEN)

# Garbage is looked for seldom, and not among the tens of thousands of things that stay: it took a fifth of the time.
gc.set_threshold(50_000, 20, 100)

# Six thousand small databases are made, written and removed; in memory that takes a tenth of what a disk takes.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30 and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Every test has a database, so an engine, of its own: what SQLAlchemy compiled for one file does for every other.
SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))
SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)
COMPILED = LRUCache(2_000)
event.listen(Engine, "engine_connect", lambda connection: vars(connection.engine).update(_compiled_cache=COMPILED))

NUMBERS = count()

# Each run draws the same examples in CI; `pytest --hypothesis-profile=long` draws twenty times as many.
settings.register_profile("the house", max_examples=25, deadline=None)
settings.register_profile("long", settings.get_profile("the house"), max_examples=500)
settings.load_profile("the house")

# Among its examples are constants of the loaded modules. Those of the tests are left out: with them the examples would
# depend on the worker, and each worker would read five hundred files more.
ROOMS = tuple(f"{TESTS.parent / room}{os.sep}" for room in ("console", "storage"))
providers.is_local_module_file = lambda path: path.startswith(ROOMS)


@pytest.fixture
def tmp_path(tmp_path):
    """A folder whose path no earlier test of this process had: pytest uses the name of a removed folder again."""
    path = tmp_path / str(next(NUMBERS))
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def data_dir(tmp_path):
    """An empty data directory; every INFERACT_ setting of the developer's own shell is put aside."""
    with at_home(tmp_path / "data") as folder:
        yield folder


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """The file of a database in which nothing has happened."""
    path = tmp_path_factory.mktemp("empty") / "console.db"
    migrate(f"sqlite:///{path}")
    close(f"sqlite:///{path}")
    return path


@pytest.fixture(autouse=True)
def migrated(request, data_dir, empty_database):
    """Rooms whose tests nearly all have a database get a copy of an empty one: ten times as fast as making it."""
    if ON_A_DATABASE & set(request.path.relative_to(TESTS).parts[:2]):
        data_dir.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(empty_database, data_dir / "console.db")


@pytest.fixture
def shared_data():
    """A function from a file's name to its path among the shared real logs; skips where it is missing."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"the shared log {name} is not on this machine")
        return path

    return find


def pytest_configure(config):
    """One PostgreSQL server for the run, if the developer named none; the workers inherit its folder.

    All is compiled once before the workers start: in a new copy each of them would compile it, for nine seconds.
    """
    if not hasattr(config, "workerinput"):
        config.own_postgres = postgres.make_folder()
        if config.getoption("numprocesses", None):
            fork = multiprocessing.get_context("fork")
            compilers = [fork.Process(target=_compile, args=(config, half)) for half in (0, 1)]
            for compiler in compilers:
                compiler.start()
            for compiler in compilers:
                compiler.join()


def _compile(config, half):
    """Compile half of what is newer than what was compiled of it: the console as Python does, tests as pytest does.

    The constants from which Hypothesis makes examples are kept beside it, as each worker would look for them.
    """
    # Hypothesis warns of what is drawn before the tests begin. It takes three seconds to list all characters.
    _hypothesis_globals.in_initialization = 0
    if half:
        strategies.text().validate()
    for room in ("console", "storage", "tests"):
        for path in sorted((TESTS.parent / room).rglob("*.py"))[half::2]:
            if path.name != "conftest.py" and not path.name.startswith("test_"):
                compileall.compile_file(path, quiet=2)
                _keep_constants(path)
                continue
            compiled = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
            if rewrite.try_makedirs(compiled.parent) and rewrite._read_pyc(path, compiled) is None:
                stat, code = rewrite._rewrite_test(path, config)
                rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, compiled)


def _keep_constants(path):
    """Let Hypothesis keep the constants of a module of the console; to read them again takes a tenth of the time."""
    if str(path).startswith(ROOMS):
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        constants_from_module(module)


def pytest_unconfigure(config):
    shutil.rmtree(BETWEEN, ignore_errors=True)
    if folder := getattr(config, "own_postgres", None):
        postgres.stop(folder)


def pytest_collection_finish():
    """Whatever the imports and the collection made stays; the search for garbage leaves it out."""
    gc.freeze()


def pytest_make_parametrize_id(val, argname):
    """Bytes stand in no id: archives hold the time, and workers that collect different tests end the run."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Two workers run the browser tests, which mostly wait for a page; others go by file."""
    from xdist.scheduler import LoadScopeScheduling

    class LongestFirst(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0].replace(*ONE_WALK)
            if file.startswith("tests/browser/"):
                return f"browser {int(not Path(file).name.startswith(BROWSER_0))}"
            return file

        def _assign_work_unit(self, node):
            for scope in reversed(FIRST):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return LongestFirst(config, log)


def pytest_terminal_summary(terminalreporter):
    """The counts of the house, where they were taken, and the ten files that took longest."""
    seconds, counts = Counter(), []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration") and hasattr(report, "nodeid"):
                seconds[report.nodeid.split("::")[0]] += report.duration
                counts += [text for name, text in report.user_properties if name == "count" and report.when == "call"]
    if counts:
        terminalreporter.section("the house", "=")
        terminalreporter.write_line("\n".join(counts))
    terminalreporter.section("slowest ten files", "=")
    for file, took in seconds.most_common(10):
        terminalreporter.write_line(f"{took:7.1f}s  {file}")
