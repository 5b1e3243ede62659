"""The Inbox, the sign-in and what a reviewer may open."""

from console import runs
from console.auth import people
from console.database import now_ms, reading, writing
from console.review import inbox
from tests.signing_in import invitation, signed_in


def test_without_a_session_no_page_opens_and_one_sentence_says_how(open_page, kettles):
    at = open_page("inbox", role=None)
    assert [title.value for title in at.title] == ["InferAct Console"]
    assert "`inferact serve` prints the first one" in at.markdown[0].value
    assert not at.text_input
    assert not at.button


def test_a_tab_believes_no_name_and_no_made_up_token(open_page, kettles):
    for state in ({"identity": {"name": "Ada", "role": "researcher"}}, {"session": "made-up"}, {"session": "Ada"}):
        at = open_page("inbox", role=None)
        for name, value in state.items():
            at.session_state[name] = value
        at.run()
        assert [title.value for title in at.title] == ["InferAct Console"]


def test_a_link_opens_one_tab_where_the_server_has_no_routes_of_its_own(open_page, words, kettles):
    key = invitation()
    at = open_page("inbox", role=None, key=key)
    at.text_input(key="name").input("Rae")
    at.button(key="start").click().run()
    assert [title.value for title in at.title] == ["Inbox"]
    assert at.button(key="sign-out").label == "Rae · sign out"
    again = open_page("inbox", role=None, key=key)
    assert "cannot be used" in words(again)


def test_a_link_asks_for_a_name_that_is_free(open_page, words, kettles):
    signed_in("Ada")
    at = open_page("inbox", role=None, key=invitation())
    for name, said in (("", "Enter a name"), (" ADA ", "called Ada here already")):
        at.text_input(key="name").input(name)
        at.button(key="start").click().run()
        assert said in words(at)


def test_signing_out_ends_the_session_in_every_tab(open_page, kettles):
    at = open_page("review")
    other = open_page("review", role=None)
    other.session_state["session"] = at.session_state["session"]
    other.run()
    assert other.button(key="sign-out")
    at.button(key="sign-out").click().run()
    for tab in (at, other.run()):
        assert [title.value for title in tab.title] == ["InferAct Console"]


def test_who_is_disabled_meanwhile_decides_nothing(open_page, kettles):
    at = open_page("review", role="reviewer")
    approve = next(button.key for button in at.button if (button.key or "").startswith("approve-"))
    with writing() as session:
        people.disable(session, people.person_of(session, "Ada"), now_ms())
    at.session_state["shown_ms"] = 0
    at.button(key=approve).click().run()
    assert [title.value for title in at.title] == ["InferAct Console"]
    with reading() as session:
        assert inbox.my_decisions(session, runs.get(session, "kettles"), "Ada")[0] == 0


def test_a_reviewer_is_told_that_a_page_is_the_researchers(open_page, words, kettles):
    at = open_page("not_for_reviewers", role="reviewer")
    assert "signed in as a reviewer" in words(at)


def test_the_tour_is_put_away_by_one_click(open_page, words, kettles):
    at = open_page("inbox")
    assert "One key decides" in words(at)
    at.button(key="tour-done").click().run()
    assert "One key decides" not in words(at)


def test_what_waits_stands_with_its_reason_and_the_budget(open_page, words, kettles):
    page_text = words(open_page("inbox"))
    assert "waiting" in page_text
    assert "The user set a limit of 30.00" in page_text
    assert "of 3, 3 left" in page_text
    assert "halted" in page_text
