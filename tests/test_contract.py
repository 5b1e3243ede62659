"""What the outside relies on stays: commands, their JSON, files' columns, tables, the API and the settings."""

import json

import pytest

from tests.contract.recorded import FOLDER, recorded

PINNED = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
ENTRIES = [(name, entry) for name, entries in PINNED.items() for entry in entries]


@pytest.fixture(scope="module")
def now():
    """Everything as it is now, of a database that the commands have filled."""
    return recorded()


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=[f"{name}: {entry}" for name, entry in ENTRIES])
def test_it_is_as_it_was(name, entry, now):
    found = now[name].get(entry, "gone")
    assert json.dumps(found) == json.dumps(PINNED[name][entry]), "added to? python -m tests.contract.recorded"


def test_nothing_is_left_unpinned(now):
    assert {name: list(entries) for name, entries in now.items()} == {name: list(PINNED[name]) for name in now}
