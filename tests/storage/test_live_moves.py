"""Backups, drills and copies of a database at which processes go on working: nothing acknowledged is missing."""

import json
import subprocess
import sys
import time

import pytest
from sqlalchemy import text

from storage.backup import backup, restore
from storage.check import chain_end, check
from storage.engine import close, reading
from storage.errors import StorageError
from storage.queue import Queue
from tests import postgres
from tests.postgres import BOTH, NEEDED
from tests.storage.histories import finish, judge, now_ms, playing, read_acts

SOUND = {"acts", "snapshots"}


def read_keys(url):
    with reading(url) as session:
        return {key for (key,) in session.connection().execute(text("SELECT submit_key FROM decision"))}


def drill(copy, into):
    """The keys of the decisions in a backup that is restored there and checked."""
    restore(into, copy)
    assert check(into) == []
    keys = read_keys(into)
    close(into)
    return keys


@pytest.mark.at_length
@BOTH
def test_each_backup_of_a_busy_database_is_restored_whole(url, stock, tmp_path):
    stock(url, 400)
    made = []
    with playing(Queue(url), tmp_path, 4, 3.0):
        for number in range(6):
            time.sleep(0.2)
            made.append((now_ms(), backup(url, tmp_path / f"{number}.backup")))
            close(url)
    for started, copy in made:
        if url.startswith("sqlite"):
            keys = drill(copy, f"sqlite:///{copy.with_suffix('.db')}")
        else:
            with postgres.database() as other:
                keys = drill(copy, other)
        acts = [one for one in read_acts(tmp_path) if one["act"] == "decide"]
        assert {one["key"] for one in acts if one.get("found") and one["ended"] < started} <= keys
        assert keys <= {one["key"] for one in acts}
    assert keys
    finish(Queue(url), tmp_path)
    assert {*judge(url, tmp_path)} == SOUND


def copy_by_command(source, target, home):
    """The digests of the copied tables and the end of the audit log, as `inferact db copy` prints them."""
    command = [sys.executable, "-m", "console.cli", "db", "copy", source, target, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env={"INFERACT_DATA_DIR": str(home)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.at_length
@NEEDED
def test_a_live_project_moves_to_a_server_and_back(url, stock, tmp_path):
    stock(url, 300)
    places = [tmp_path / name for name in ("at home", "on the server")]
    for place in places:
        place.mkdir()
    with playing(Queue(url), places[0], 4, 1.0):
        pass
    with postgres.database() as server:
        copy_by_command(url, server, tmp_path)
        assert chain_end(url) == chain_end(server)
        with playing(Queue(server), places[1], 4, 1.0):
            pass
        finish(Queue(server), places[1])
        assert {*judge(server, places[1])} == SOUND
        back = f"sqlite:///{tmp_path / 'back.db'}"
        again = copy_by_command(server, back, tmp_path)
        assert chain_end(server) == chain_end(back)
    assert check(back) == []
    kept = {one["key"] for place in places for one in read_acts(place) if one["act"] == "decide" and one.get("found")}
    assert kept <= read_keys(back)
    third = copy_by_command(back, f"sqlite:///{tmp_path / 'third.db'}", tmp_path)
    changed = {"event", "event_link", "chain_end"}
    digests = [{one["name"]: one["digest"] for one in copied["tables"]} for copied in (again, third)]
    assert {name for name in digests[0] if digests[0][name] != digests[1][name]} <= changed


@NEEDED
def test_a_server_without_the_tables_has_nothing_to_back_up(tmp_path):
    with pytest.raises(StorageError, match="does not exist"):
        backup(postgres._address(), tmp_path / "copy.db")
