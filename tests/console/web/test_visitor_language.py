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
