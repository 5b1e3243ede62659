"""An address that no page has is named as such, and a link leads back; pages keep their addresses."""

import re

import pytest

from console.web.handbook import CHAPTERS
from tests.signing_in import let_in


@pytest.mark.at_length
def test_an_unknown_address_is_named_and_leads_back(data_dir, serve, open_page, settled):
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/a/b")
    page.get_by_role("heading", name="Page not found").wait_for()
    page.goto(f"{address}/reviews-of-mine")
    page.get_by_role("heading", name="Page not found").wait_for()
    settled(page)
    assert page.get_by_role("dialog").count() == 0
    assert page.title().startswith("Page not found")
    page.get_by_role("link", name="Open the Inbox").click()
    page.get_by_role("heading", name="Page not found").wait_for(state="detached")
    page.wait_for_url(re.compile(f"{address}/(inbox)?$"))
    page.goto(f"{address}/answers")
    page.get_by_role("button", name="sign out").wait_for()
    settled(page)
    assert page.get_by_role("heading", name="Page not found").count() == 0


@pytest.mark.at_length
def test_a_lost_connection_is_said_in_words_of_the_console(data_dir, serve, open_page, settled):
    page = open_page()
    with serve.until_closed(None) as address:
        let_in(page, address, role="reviewer")
        page.goto(f"{address}/inbox")
        page.get_by_text("Nothing to review yet").wait_for()
        settled(page)
    page.get_by_text("The connection is lost.").wait_for(timeout=60_000)
    assert "Streamlit" not in page.get_by_role("dialog").inner_text()


@pytest.mark.at_length
def test_each_line_of_a_chapters_contents_leads_to_its_heading(data_dir, serve, open_page, settled):
    address, page = serve(), open_page()
    let_in(page, address)
    for chapter in CHAPTERS:
        page.goto(f"{address}/help?chapter={chapter}")
        page.locator(".st-key-ia-handbook h2").last.wait_for()
        settled(page)
        lines = page.locator(".ia-contents a")
        lines.last.wait_for(state="attached")
        assert lines.all_inner_texts() == page.locator(".st-key-ia-handbook h2").all_inner_texts()
        targets = [line.get_attribute("href")[1:] for line in lines.all()]
        assert targets == [head.get_attribute("id") for head in page.locator(".st-key-ia-handbook h2").all()]
