"""One style sheet for the application, and every class that the presentation of a trajectory uses is in it."""

import re

from streamlit.testing.v1 import AppTest

from console.web.widgets import markup

SCRIPT = """
from console.web.widgets.messages import show_empty_state
from console.web.widgets.markup import show_html, style_sheets
show_html(style_sheets("page"))
show_empty_state("Nothing waits", "Import a <b>log</b>.")
"""


def test_the_styles_load_once_and_bring_nothing_from_elsewhere():
    app = AppTest.from_string(SCRIPT).run()
    assert not app.exception
    css = markup.style_sheets("page", "lists", "rows", "presentation", "timeline", "study", "loop", "figures")
    assert not re.search(r"url\(|@import|https?:", css)
    assert css.count("{") == css.count("}")


def test_an_empty_state_says_what_to_do_next():
    app = AppTest.from_string(SCRIPT).run()
    drawn = [block.proto.body for block in app.get("html")]
    assert any("Nothing waits" in body and "&lt;b&gt;log" in body for body in drawn)
