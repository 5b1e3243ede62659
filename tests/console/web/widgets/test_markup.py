"""Untrusted text stays text."""

import re
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from console.trajectory.terms import terms
from console.web.widgets import markup
from console.web.widgets.markup import fold_long_text, mark_names, mark_terms, plain

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=http://example.invalid/x onerror=alert(1)>",
    "</pre></details><h1>approved</h1>",
    "![x](http://example.invalid/x.png) <style>*{display:none}</style>",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "\"' onmouseover='x'",
    "<!-- comment --> <!DOCTYPE html> <![CDATA[x]]>",
    "\ufdd0<b>\ufdd1",
]


@given(st.text() | st.sampled_from(HOSTILE))
@example("a\nb\tc  d\r\ne")
def test_plain_text_reads_back_as_it_was(parse, text):
    page = parse(plain(text))
    hidden = {tag for tag, _ in page.elements}
    assert hidden <= {"span"}
    assert "\n" not in plain(text)
    if not hidden:
        assert page.text == text.replace("\r\n", "\n")


def test_characters_that_hide_or_reorder_are_shown_by_name(parse):
    page = parse(plain("pay \u202eevil\u202c a\u200bb \x1b[31m \x00 \ud800 \U000e0041"))
    for name in ("U+202E", "U+202C", "U+200B", "U+001B", "U+0000", "U+D800", "U+E0041"):
        assert name in page.within("ia-odd")
    plain("\ud800").encode("utf-8")


def test_line_breaks_and_blanks_survive(parse):
    assert parse(plain("a\n\n   b\t c")).text == "a\n\n   b\t c"


@given(st.text(max_size=400) | st.sampled_from(HOSTILE))
def test_marking_adds_marks_and_changes_nothing(parse, text):
    stated = terms("a white shade of 66 x 66 inches, price lower than 30 dollars")
    assert parse(mark_terms(text, stated)).text == parse(plain(text)).text
    assert parse(mark_terms(text, stated)).tags <= {"mark", "span"}


def test_terms_are_marked_where_they_occur(parse):
    stated = terms("a white shade of 66 x 66 inches")
    page = parse(mark_terms("WHITE roller shades, 66x66 inches", stated))
    assert page.marked == ["WHITE", "shades", "66x66 inches"]


def test_short_texts_stand_open_and_long_ones_are_folded_whole(parse):
    assert "details" not in parse(fold_long_text("You have clicked white.", (), "ia-obs")).tags
    text = "first words " + "x" * 400 + " last words"
    page = parse(fold_long_text(text, (), "ia-obs"))
    assert "details" in page.tags
    first_words = page.text.removesuffix(text)
    assert first_words.endswith("…")
    assert len(first_words) <= 160
    assert text in page.text
    assert "details" in parse(fold_long_text("a\nb\nc\nd", (), "ia-obs")).tags


@pytest.mark.parametrize(
    ("sentence", "command"),
    [
        ("Stop the run first: inferact run stop 'a b'. Then delete it.", "inferact run stop 'a b'"),
        ("Judge this run, or run: inferact detect shop.v2 --method rules", "inferact detect shop.v2 --method rules"),
        ("Use a copy (inferact study create FILE --name COPY), or repeat.", "inferact study create FILE --name COPY"),
        ("The plan of `inferact` is <b>here</b>.", "inferact"),
        ("The tool inferact is <b>here</b>.", ""),
    ],
)
def test_a_command_within_a_sentence_is_marked(parse, sentence, command):
    page = parse(mark_names(sentence))
    assert page.text == sentence.replace("`", "")
    assert re.findall("<code>(.*?)</code>", mark_names(sentence)) == ([escape(command)] if command else [])


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
