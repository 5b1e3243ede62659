"""The policy is made from the page that is installed and the host that was asked for."""

import base64
import hashlib

import pytest

from console.server.content_security import content_policy, inline_script_hashes


def _sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_only_scripts_that_stand_in_the_page_itself_are_hashed():
    page = """<head><script>let a = "&amp;" < 1</script><script src="./app.js"></script><style>b {}</style>
    <script type="module">\n  c()\n</script></head>"""
    assert inline_script_hashes(page) == [_sha256('let a = "&amp;" < 1'), _sha256("\n  c()\n")]


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "console.example", "[::1]:8501"])
def test_the_host_s_own_sockets_are_allowed(host):
    assert f"connect-src 'self' ws://{host} wss://{host};" in content_policy([], host)


@pytest.mark.parametrize("host", ["", "a; script-src *", "a b", "x'y", "*", "ä.example\n"])
def test_a_host_that_is_none_adds_nothing(host):
    policy = content_policy(["abc="], host)
    assert "connect-src 'self';" in policy
    assert policy.count("script-src") == 1
    assert "script-src 'self' blob: 'wasm-unsafe-eval' 'sha256-abc=';" in policy
