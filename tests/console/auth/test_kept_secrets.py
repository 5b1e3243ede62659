"""The token of the settings, and the secrets that the console keeps."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.auth import agents
from console.auth.kept_secrets import load_secret
from console.database import reading
from console.errors import BadInput
from console.settings import settings


@pytest.fixture
def token_of_settings(monkeypatch):
    """A function that sets the token of the settings."""

    def put(text):
        monkeypatch.setenv("INFERACT_API_TOKEN", text)
        settings.cache_clear()

    return put


def known(text):
    with reading() as session:
        agent = agents.find_by_token(session, text)
    return agent is not None and agent.name == agents.API_AGENT


def test_without_a_token_in_the_settings_no_text_is_it(data_dir):
    assert agents.settings_token() is None
    assert not any(map(known, ("", "None", "x")))


def test_the_token_of_the_settings_is_known_and_printed_nowhere(token_of_settings):
    token_of_settings("a-token-of-24-characters")
    assert known("a-token-of-24-characters")
    assert not any(map(known, ("", "a-token-of-24-character", "A-TOKEN-OF-24-CHARACTERS", "ü")))
    assert "a-token-of" not in repr(settings())


def test_a_short_token_protects_nothing_and_is_refused(token_of_settings):
    token_of_settings("x" * 15)
    with pytest.raises(BadInput, match="at least 16 characters"):
        agents.settings_token()
    token_of_settings("x" * 16)
    assert known("x" * 16)


def test_many_that_ask_at_once_get_the_same_whole_secret(data_dir):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(load_secret, ["some.secret"] * 64))
    assert len(found) == 1
    assert len(found.pop()) >= 32
    assert sorted(path.name for path in data_dir.iterdir()) == ["console.db", "some.secret"]


def test_a_secret_and_the_folder_made_for_it_are_their_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(tmp_path / "new"))
    settings.cache_clear()
    before = os.umask(0)
    try:
        load_secret("some.secret")
    finally:
        os.umask(before)
        settings.cache_clear()
    made = (tmp_path / "new", tmp_path / "new" / "some.secret")
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700, 0o600]
