"""A sign-in survives a reload of the page, until it is taken back."""


def test_the_cookie_is_kept_strict_and_deleted(app, open_page, settled):
    page = open_page(app("cookie"))
    page.wait_for_selector(".st-key-set button")
    assert page.inner_text(".st-key-seen") == "none"
    page.click(".st-key-set button")
    page.wait_for_function("document.cookie.includes('ia_test')")
    (cookie,) = [each for each in page.context.cookies() if each["name"] == "ia_test"]
    assert (cookie["value"], cookie["sameSite"]) == ("ada.signed-1", "Strict")
    page.reload()
    page.wait_for_selector(".st-key-seen >> text=ada.signed-1")
    settled(page)
    page.click(".st-key-delete button")
    page.wait_for_function("!document.cookie.includes('ia_test')")
    page.reload()
    page.wait_for_selector(".st-key-seen >> text=none")
