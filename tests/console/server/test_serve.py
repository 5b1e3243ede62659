"""What `inferact serve` tells Streamlit, and what it tells the person who starts it."""

import json
import logging
import socket
import tomllib
from pathlib import Path

import httpx
import pytest

from console.cli import run_command
from console.errors import BadInput, Refused
from console.server import serve
from console.server.site import is_loopback, site_at
from console.settings import settings
from tests.signing_in import signed_in

ROOT = Path(__file__).resolve().parents[3]


HERE = site_at("127.0.0.1", 8501, None)


def test_every_setting_reaches_streamlit_by_its_name():
    options = serve.options(site_at("0.0.0.0", 8600, "https://console.example"))
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert (options["server.address"], options["server.port"]) == ("0.0.0.0", 8600)
    assert "console.example" in options["server.allowedHosts"]
    assert options["runner.postScriptGC"] is False
    assert options["theme.dark.backgroundColor"] == config["theme"]["dark"]["backgroundColor"]
    sections = {name.split(".")[0] for name in options}
    assert set(config) <= sections


def test_a_settings_file_in_the_working_directory_changes_nothing(serve_from):
    """The console ran with the agent API of a foreign file before."""
    folder = serve_from.folder / ".streamlit"
    folder.mkdir()
    (folder / "config.toml").write_text("[server]\nenableAgentApi = true\n[theme]\nprimaryColor = 'red'\n")
    with serve_from() as server:
        said = httpx.post(f"{server.url}/_stcore/agent/interact", json={}, headers={"Origin": server.url})
        assert said.status_code == 401
        cookies = {f"inferact_{server.port}": signed_in()}
        said = httpx.post(
            f"{server.url}/_stcore/agent/interact", json={}, headers={"Origin": server.url}, cookies=cookies
        )
        assert said.status_code in (403, 404, 405)


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (HERE, "http://127.0.0.1:8501/api/v1 (a token each: inferact agent add NAME)"),
        (site_at("::1", 8501, None), "http://[::1]:8501/api/v1 (a token each: inferact agent add NAME)"),
        (
            site_at("0.0.0.0", 8501, "http://a.example"),
            "http://a.example/api/v1 (a token each: inferact agent add NAME)",
        ),
    ],
)
def test_the_start_says_how_agents_get_in(site, said):
    assert serve.api_address(site) == said


def test_the_start_names_a_token_of_the_settings_without_its_text(monkeypatch):
    monkeypatch.setenv("INFERACT_API_TOKEN", "a-token-of-24-characters")
    settings.cache_clear()
    assert serve.api_address(HERE).endswith("also the token of INFERACT_API_TOKEN)")


def test_what_the_server_says_never_holds_the_token_of_a_link(shared, api, capsys):
    """And while it runs, its address is the one of every link."""
    assert run_command(["person", "invite", "Ada", "--json"]) == 0
    link = json.loads(capsys.readouterr().out)["link"]
    assert link.startswith(f"{shared.url}/invite/")
    token = link.rpartition("/")[2]
    for path in (f"/invite/{token}", f"/invite/{token}x/%00", f"/?key={token}", f"/participate?invitation={token}"):
        httpx.get(shared.url + path)
        httpx.post(shared.url + path, content=b"name=%ff", headers={"Origin": "http://elsewhere.example"})
    with socket.create_connection(("127.0.0.1", shared.port)) as raw:
        raw.sendall(f"GET /invite/{token} HTTP/1.1\r\nbroken\r\n\r\n".encode())
        raw.recv(4096)
    assert token not in shared.said()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("GET /invite/abc-_9?next=/", "GET /invite/…?next=/"),
        ("?key=abc&x=1", "?key=…&x=1"),
        ("/participate?a=1&invitation=abc 9", "/participate?a=1&invitation=… 9"),
        ("Bearer agent_abcdefghijklmnop", "Bearer …"),
        ("said agent_abcdefghijklmnop", "said agent_…"),
        ("agent_support is fine", "agent_support is fine"),
    ],
)
def test_a_log_line_shows_an_address_without_its_token(said, shown, caplog):
    make = logging.getLogRecordFactory()
    serve.mask_tokens_in_logs()
    try:
        logging.getLogger("a.library").warning("%s", said)
        try:
            raise ValueError(said)
        except ValueError:
            logging.getLogger("a.library").exception("It failed.")
    finally:
        logging.setLogRecordFactory(make)
    line, failed = caplog.text.splitlines()[0], caplog.text.splitlines()[-1]
    assert line.endswith(shown)
    assert failed == f"ValueError: {shown}"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "console.example"])
def test_beyond_this_machine_the_address_has_to_be_stated(host):
    with pytest.raises(Refused, match="Add --public-url"):
        site_at(host, 8501, None)


@pytest.mark.parametrize(
    ("stated", "base", "secure"),
    [
        ("https://Console.Example", "https://console.example", True),
        ("https://console.example:443/", "https://console.example", True),
        ("http://10.0.0.5:8501", "http://10.0.0.5:8501", False),
        ("https://[2001:db8::1]:9000", "https://[2001:db8::1]:9000", True),
        ("https://console.example/Tools/inferact/", "https://console.example/Tools/inferact", True),
    ],
)
def test_links_cookies_and_hosts_come_from_the_stated_address(stated, base, secure):
    site = site_at("0.0.0.0", 8501, stated)
    assert (site.base, site.is_secure) == (base, secure)
    origin = base.removesuffix(site.path)
    assert origin in site.origins
    assert origin.partition("//")[2] in site.hosts
    assert "127.0.0.1:8501" in site.hosts


@pytest.mark.parametrize(
    "stated", ["console.example", "ftp://a", "https://a/con sole", "https://a/../b", "https://", "https://a:b", "x y"]
)
def test_an_address_that_is_none_is_refused(stated):
    with pytest.raises(BadInput, match="for example https"):
        site_at("0.0.0.0", 8501, stated)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "::1", "[::1]"])
def test_an_address_of_this_machine_is_known(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "console.example", "", "localhost.example"])
def test_any_other_address_is_not(host):
    assert not is_loopback(host)
