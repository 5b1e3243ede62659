"""What every test starts from: a data directory of its own, and the shared real logs where they are present."""

from pathlib import Path

import pytest

from tests.at_home import at_home

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def data_dir(tmp_path):
    """An empty data directory; every INFERACT_ setting of the developer's own shell is put aside."""
    with at_home(tmp_path / "data") as folder:
        yield folder


@pytest.fixture
def shared_data():
    """A function from a file's name to its path among the shared real logs; skips where it is missing."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"the shared log {name} is not on this machine")
        return path

    return find


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One worker runs all browser tests, so that two cores are not shared by several browsers; others go by file."""
    from xdist.scheduler import LoadScopeScheduling

    class OneBrowser(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "browser" if nodeid.startswith("tests/browser/") else nodeid.split("::")[0]

        def _assign_work_unit(self, node):
            # The longest piece of work goes first, so that nothing waits for it at the end.
            if "browser" in self.workqueue:
                self.workqueue.move_to_end("browser", last=False)
            super()._assign_work_unit(node)

    return OneBrowser(config, log)
