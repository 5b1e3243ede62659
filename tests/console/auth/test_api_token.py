"""The token of the API, and the secrets that the console keeps."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.auth import api_token
from console.auth.kept_secrets import kept_secret
from console.errors import BadInput
from console.settings import settings


@pytest.fixture
def token_of_settings(monkeypatch):
    """A function that sets the token of the settings."""

    def put(text):
        monkeypatch.setenv("INFERACT_API_TOKEN", text)
        settings.cache_clear()

    return put


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "::1", "[::1]"])
def test_an_address_of_this_machine_is_known(host):
    assert api_token.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "console.example", "", None, "localhost.example"])
def test_any_other_address_is_not(host):
    assert not api_token.is_loopback(host)


def test_without_a_token_no_text_is_it(data_dir):
    assert (api_token.token(), api_token.whereabouts()) == (None, None)
    assert not any(map(api_token.is_token, ("", "None", "x")))
    assert not (data_dir / "api.token").exists()


def test_the_token_that_an_earlier_console_kept_counts(data_dir):
    made = kept_secret("api.token")
    assert api_token.whereabouts() == str(data_dir / "api.token")
    assert stat.S_IMODE((data_dir / "api.token").stat().st_mode) == 0o600
    assert api_token.is_token(made)
    assert not any(map(api_token.is_token, ("", made[:-1], made + "x", made.upper(), "ü")))
    (data_dir / "api.token").write_text("\n")
    assert not api_token.is_token("")


def test_the_token_of_the_settings_comes_first(data_dir, token_of_settings):
    token_of_settings("a-token-of-24-characters")
    assert api_token.token() == "a-token-of-24-characters"
    assert api_token.whereabouts() == "INFERACT_API_TOKEN"
    assert not (data_dir / "api.token").exists()
    assert "a-token-of" not in repr(settings())


def test_a_short_token_protects_nothing_and_is_refused(token_of_settings):
    token_of_settings("x" * 15)
    with pytest.raises(BadInput, match="at least 16 characters"):
        api_token.token()
    token_of_settings("x" * 16)
    assert api_token.is_token("x" * 16)


def test_many_that_ask_at_once_get_the_same_whole_secret(data_dir):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(kept_secret, ["some.secret"] * 64))
    assert len(found) == 1
    assert len(found.pop()) >= 32
    assert sorted(path.name for path in data_dir.iterdir()) == ["console.db", "some.secret"]


def test_a_secret_and_the_folder_made_for_it_are_their_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(tmp_path / "new"))
    settings.cache_clear()
    before = os.umask(0)
    try:
        kept_secret("some.secret")
    finally:
        os.umask(before)
        settings.cache_clear()
    made = (tmp_path / "new", tmp_path / "new" / "some.secret")
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700, 0o600]
