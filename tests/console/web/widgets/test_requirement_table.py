"""The requirement table on the Review page: one table in place of three lists, with quotes that lead to steps."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language import speaking
from console.review.line_corrections import key_of
from console.review.plain_text import digest_shown_text, format_presentation
from console.review.presentation import Flag, checkpoint_presentation
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.trajectory.requirements import (
    Line,
    QuotePlace,
    Requirement,
    RequirementKind,
    RequirementTable,
    Standing,
    verify,
)
from console.trajectory.requirements.sentences import explain_table
from console.web.widgets.trajectory_view import presentation_html
from tests.quotes import find_quote

SEEN = Checkpoint(
    environment="generic",
    instruction="Refund at most 40 euros of order 13 to Anna. Do not touch order 14. Was the lamp returned?",
    opening="Refunds need a receipt.",
    steps=(Step("", "get({})", "order 13: lamp <b>39</b>, Anna, R-7"), Step("", "respond({})", "By mail, please.")),
    index=2,
    kind=CheckpointKind.ACTION,
    action='refund({"order": 14, "amount": 139, "to": "Anna"})',
)


def line(kind, asked, standing, shown="", step=3, place=QuotePlace.REQUEST, about=""):
    where = QuotePlace.ACTION if step == 3 else QuotePlace.OBSERVATION
    evidence = find_quote(SEEN, shown, where, step) if shown else None
    stated = find_quote(SEEN, asked, place, 2 if place is QuotePlace.OBSERVATION else None)
    return Line(Requirement(kind, about, asked, stated), standing, evidence)


LINES = (
    line(RequirementKind.RECIPIENT, "Anna", Standing.MET, "Anna", 1),
    line(RequirementKind.PERMISSION, "need a receipt", Standing.MET, "R-7", 1, QuotePlace.POLICY),
    line(RequirementKind.THING, "Refund", Standing.MET, "refund"),
    line(RequirementKind.ATTRIBUTE, "lamp", Standing.MET, "lamp <b>39</b>", 1),
    line(RequirementKind.LIMIT, "at most 40 euros", Standing.BROKEN, '"amount": 139', about="Anna"),
    line(RequirementKind.PROHIBITION, "Do not touch order 14", Standing.BROKEN, '"order": 14'),
    line(RequirementKind.QUESTION, "Was the lamp returned?", Standing.NOT_SHOWN),
    line(RequirementKind.OPTION, "By mail", Standing.CANNOT_TELL, place=QuotePlace.OBSERVATION),
)
TABLE = verify(SEEN, LINES, replies=(2,))
FLAG = Flag("requirements", 0.9, 0.5, (*explain_table(TABLE, 3).splitlines(), "A word of the gate."))


def drawn(table=TABLE, **changes):
    shown = checkpoint_presentation(SEEN, flag=FLAG)
    return presentation_html(replace(shown, requirements=table, **changes))


def rows(html):
    return [re.sub("<[^>]*>", "|", row) for row in re.findall(r"<tr class=.*?</tr>", html)]


def test_broken_lines_come_first_and_many_met_ones_are_folded():
    html = drawn()
    standings = re.findall(r'class="ia-standing">([^<]*)<', html)
    assert standings == ["violated", "violated", "not confirmed", "unclear", "met", "met", "met", "met"]
    assert html.index("ia-folded-met") < html.index(">met<")
    assert "4 met" in html
    few = drawn(verify(SEEN, LINES[2:], replies=(2,)))
    assert "ia-folded-met" not in few


def test_each_line_has_both_quotes_and_a_link_to_a_step_of_the_page():
    html = drawn()
    limit = next(row for row in rows(html) if "at most 40 euros" in row)
    for words in ("limit", "for “Anna”", "“&quot;amount&quot;: 139”", "this action"):
        assert words in limit
    anchors = set(re.findall(r' id="([^"]*)"', html))
    links = re.findall(r'class="ia-tostep" href="#([^"]*)"', html)
    assert len(links) == 7
    assert set(links) <= anchors
    assert "from the agent&#x27;s instructions" in next(row for row in rows(html) if "need a receipt" in row)
    assert "step 2" in next(row for row in rows(html) if "By mail" in row)


def test_it_stands_in_place_of_the_lists_of_terms_sources_and_reasons(parse):
    with_table, without = parse(drawn()), parse(drawn(None))
    assert "found" in without.within("ia-terms")
    assert without.within("ia-origin")
    assert "The user ruled out" in without.within("ia-reasons")
    assert with_table.within("ia-origin") == without.within("ia-origin")
    assert not with_table.within("ia-terms")
    assert not with_table.within("ia-linefold ")
    assert with_table.within("ia-reasons") == "A word of the gate."
    assert with_table.marked[:3] == ["Refund", "at most 40 euros", "Anna"]


def test_an_offered_option_says_that_it_was_not_chosen_and_a_kind_of_object_is_not_named():
    table = RequirementTable((line(RequirementKind.OPTION, "order 13", Standing.BROKEN, "order 13", 1, about="task"),))
    html = drawn(table)
    (row,) = rows(html)
    assert re.search(
        r'offered, not chosen <span class="ia-one-line">· <a class="ia-tostep"[^>]*>step 1</a></span>', html
    )
    assert "for “task”" not in row
    assert explain_table(table, 3) == (
        "The user asked for “order 13”; step 1 offers “order 13”, which the agent did not choose."
    )


def test_a_corrected_line_is_struck_through_and_no_longer_marked(parse):
    html = drawn(corrected=frozenset({key_of(LINES[4])}))
    assert "at most 40 euros" not in parse(html).marked
    (row,) = re.findall(r'<tr class="ia-broken ia-corrected">.*?</tr>', html)
    assert 'aria-pressed="true"' in row
    assert ">Undo<" in row


def test_a_table_in_which_nothing_could_be_checked_says_so():
    unclear = verify(SEEN, [LINES[7]], replies=(2,))
    assert "Nothing could be checked, because the steps do not show whether any requirement is met." in drawn(unclear)
    assert "Nothing could be checked, because no part of the request could be" in drawn(RequirementTable())
    assert "3 requirements are not listed" in drawn(replace(TABLE, dropped=3))


def test_the_german_page_has_german_words_around_the_same_quotes():
    with speaking("de"):
        html = drawn()
    words = re.sub(r"“[^”]*”|„[^“]*“", "", " ".join(rows(html)))
    for english in (
        "broken",
        "unclear",
        "not confirmed",
        "this action",
        "Mark as not requested",
        "limit",
        "instructions",
    ):
        assert english not in words
    assert "at most 40 euros" in html


def test_the_terminal_and_the_digest_hold_the_lines():
    shown = replace(checkpoint_presentation(SEEN, flag=FLAG), requirements=TABLE)
    text = " ".join(format_presentation(shown).split())
    assert "2 violated · 1 not confirmed · 1 unclear · 4 met" in text
    assert 'violated: The user ruled out “Do not touch order 14”; this action contains “"order": 14”.' in text
    assert digest_shown_text(shown) != digest_shown_text(replace(shown, requirements=None))


TEXT = st.text(min_size=1, max_size=30) | st.sampled_from(["<script>", "</td><b>", "\u202eabc", '"><i x="'])


@given(TEXT, TEXT, TEXT, st.sampled_from(Standing), st.sampled_from(RequirementKind))
def test_no_quote_becomes_an_element(parse, asked, shown, about, standing, kind):
    seen = replace(SEEN, instruction=f"x {asked} y", action=f"z {shown}")
    stated, evidence = find_quote(seen, asked), find_quote(seen, shown, QuotePlace.ACTION, 3)
    table = verify(seen, [Line(Requirement(kind, about, asked, stated), standing, evidence)] if stated else [])
    html = presentation_html(replace(checkpoint_presentation(seen), requirements=table))
    page = parse(html)
    assert not page.tags & {"script", "b", "i", "comment"} or "<b>" in SEEN.steps[0].observation
    assert not page.tags & {"script", "i", "comment"}
    assert page.unbalanced == []
    assert page.open == []
    assert "\n" not in html


@pytest.mark.parametrize("standing", Standing)
def test_every_standing_has_a_sentence_without_an_end_in_the_middle(standing):
    shown = "139" if standing in (Standing.MET, Standing.BROKEN) else ""
    for kind in RequirementKind:
        told = explain_table(RequirementTable((line(kind, "Anna", standing, shown),)), 3)
        assert len(told.splitlines()) == 1
        assert told.endswith(".")
        assert "{" not in told
