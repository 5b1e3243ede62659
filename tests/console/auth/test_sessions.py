"""Sessions: which browser they are in, and how long they last."""

import pytest

from console.auth import sessions

KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {KHTML} Chrome/131.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {KHTML} Chrome/131.0.0.0 Safari/537.36", "Chrome on ChromeOS"),
        (f"Mozilla/5.0 (Windows NT 10.0) {KHTML} Chrome/131.0 Safari/537.36 Edg/131.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0) {KHTML} Chrome/130.0 Safari/537.36 OPR/115.0", "Opera on Windows"),
        (f"Mozilla/5.0 (Linux; Android 10; K) {KHTML} Chrome/131.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on macOS"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) Version/17.6 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) CriOS/131.0 Mobile Safari/604.1", "Chrome on iPad"),
        ("curl/8.5.0", "unknown browser"),
        ("", "unknown browser"),
    ],
)
def test_a_browser_is_named_as_people_call_it(user_agent, words):
    assert sessions.browser_in_words(user_agent) == words
