"""A preference survives a reload of the page."""

import pytest


@pytest.mark.at_length
def test_the_cookie_is_kept_strict(app, open_page):
    page = open_page(app("cookie"))
    page.wait_for_selector(".st-key-set button")
    assert page.inner_text(".st-key-seen") == "none"
    page.click(".st-key-set button")
    page.wait_for_function("document.cookie.includes('ia_test')")
    (cookie,) = [each for each in page.context.cookies() if each["name"] == "ia_test"]
    assert (cookie["value"], cookie["sameSite"]) == ("dark.keys-1", "Strict")
    page.reload()
    page.wait_for_selector(".st-key-seen >> text=dark.keys-1")
