"""The pages as ReAct's agent reads them."""

import re
from dataclasses import replace

import pytest

from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.search import search
from console.environments.webshop.world import item_page, results_page, start_page, sub_page


@pytest.fixture
def mug():
    """An item with two options."""
    some = next(iter(catalogue().values()))
    options = {"color": ("teal", "black"), "size": ("12 oz", "20 oz")}
    return replace(
        some, title="Solplo Mug", price=7.5, options=options, features=("Round", "Blue"), description="A mug."
    )


def lines(page):
    """The lines without the blanks at their ends."""
    return [line.strip() for line in page.strip().splitlines()]


def shape(line):
    """A line with everything put aside that differs from product to product."""
    if line.startswith("[B0"):
        return "[ASIN]"
    line = re.sub(r"\d+(\.\d+)?", "0", line)
    return line if line[:1] in "[$" or re.match(r"Page|Price|Rating", line) else "TEXT"


def test_an_item_page_has_options_title_price_and_buttons_in_this_order(mug):
    assert lines(item_page(mug, {"size": "20 oz"})) == [
        "[Back to Search]",
        "[< Prev]",
        "color [teal][black]",
        "size [12 oz][[20 oz]]",
        "Solplo Mug",
        "Price: $7.50",
        "Rating: N.A.",
        "[Description]",
        "[Features]",
        "[Reviews]",
        "[Buy Now]",
    ]


def test_sub_pages_have_their_text_and_the_ways_back(mug):
    assert lines(sub_page(mug, "Features")) == ["[Back to Search]", "[< Prev]", "Round", "Blue"]
    assert lines(sub_page(mug, "Description"))[2:] == ["A mug."]
    assert lines(sub_page(mug, "Reviews"))[2:] == ["No reviews yet."]


def test_only_later_result_pages_lead_back():
    assert lines(results_page([], 1, 0)) == ["[Back to Search]", "Page 1 (Total results: 0)", "[Next >]"]
    assert lines(results_page([], 2, 14))[1:3] == ["Page 2 (Total results: 14)", "[< Prev]"]


def test_the_start_page_has_the_instruction_and_the_search_button():
    assert lines(start_page("i need a mug")) == ["Webshop", "Instruction:", "i need a mug", "[Search]"]


def test_pages_have_the_shape_of_those_in_a_real_log(shared_data):
    log = shared_data("webshop/react_webshop_run_000-249.txt").read_text("utf-8")
    results = re.search(r"Observation: \n(\[Back to Search\] \nPage 1 .*?)\n\nAction", log, re.DOTALL)[1]
    item = re.search(r"Observation: \n(\[Back to Search\] \n\[< Prev\] .*?)\n\nAction", log, re.DOTALL)[1]
    product = next(iter(catalogue().values()))
    ours = results_page(search(product.title)[:3], 1, 50)
    assert [shape(line) for line in lines(ours)] == [shape(line) for line in lines(results)]
    one_option = replace(product, options={"color": ("black",)})
    assert [shape(line) for line in lines(item_page(one_option, {}))] == [shape(line) for line in lines(item)]
