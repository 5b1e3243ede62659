"""The Inbox, the sign-in and what a reviewer may open."""


def test_without_a_sign_in_every_address_asks_for_a_name(open_page, kettles):
    at = open_page("inbox", role=None)
    assert [field.label for field in at.text_input] == ["Your name"]
    at.text_input(key="name").input("Rae")
    at.button[0].click().run()
    assert [title.value for title in at.title] == ["Inbox"]


def test_a_name_is_needed(open_page, words, kettles):
    at = open_page("inbox", role=None)
    at.button[0].click().run()
    assert "ia-problem" in words(at)


def test_a_wrong_key_says_so(open_page, words, kettles):
    at = open_page("inbox", role=None, key="wrong")
    at.text_input(key="name").input("Rae")
    at.button[0].click().run()
    assert "That is not the researcher" in words(at)


def test_signing_out_leads_back_to_the_sign_in(open_page, kettles):
    at = open_page("review")
    at.button(key="sign-out").click().run()
    assert [field.label for field in at.text_input] == ["Your name"]


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
