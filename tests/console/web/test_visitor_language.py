"""A page comes in the language that its visitor chose, and goes on in it."""


def test_the_chosen_language_is_that_of_every_page_that_follows(open_page):
    at = open_page("help")
    assert [title.value for title in at.title] == ["Help"]
    at.button(key="language-de").click().run()
    assert [title.value for title in at.title] == ["Hilfe"]
    at.run()
    assert [title.value for title in at.title] == ["Hilfe"]
    at.button(key="language-en").click().run()
    assert [title.value for title in at.title] == ["Help"]


def test_a_page_that_exists_in_english_only_has_no_german_word_and_the_others_stay_german(open_page, words, kettles):
    at = open_page("help")
    at.button(key="language-de").click().run()
    for page, title in (
        ("runs", "Runs"),
        ("trajectories", "Trajectories"),
        ("people", "Personen"),
        ("export", "Export"),
    ):
        at.switch_page(f"console/web/pages/{page}.py").run()
        assert [found.value for found in at.title] == [title]
        assert at.button(key="sign-out").label == f"Ada · {'Abmelden' if page == 'people' else 'Sign out'}"
        if page == "people":
            assert {"Konten", "Agenten"} <= {found.value for found in at.header}
            assert "Prüfung, Forschung" in words(at) or "Forschung" in words(at)
        else:
            assert at.selectbox(key="run_picker").label == "Run"
    at.switch_page("console/web/pages/trajectories.py")
    at.query_params["id"] = "1"
    assert "Critical action" in words(at.run()) or "critical action" in words(at)


def test_who_may_not_open_an_english_page_reads_why_in_german(open_page, words):
    at = open_page("help", role="reviewer")
    at.button(key="language-de").click().run()
    at.switch_page("console/web/pages/refused.py")
    assert at.button(key="sign-out").label == "Ada · Abmelden"
