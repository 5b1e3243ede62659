"""The sheet in a real browser: it fits, it is inert, it keeps what the reader opened."""

import pytest

from tests.browser.walking import until

pytestmark = pytest.mark.at_length

RIGHTMOST = "Math.max(...[...document.querySelectorAll('.ia-sheet *')].map(e => e.getBoundingClientRect().right))"


@pytest.fixture
def sheet(app, open_page, settled):
    """A function that opens the page of one item in a size and theme."""

    def show(**look):
        page = open_page(app("sheet"), **look)
        page.wait_for_selector(".ia-sheet")
        page.wait_for_selector(".st-key-approve-1 button")
        settled(page)
        return page

    return show


def top(page, css):
    return page.evaluate("css => document.querySelector(css).getBoundingClientRect().top", css)


def test_everything_above_the_steps_fits_a_laptop(sheet):
    page = sheet(width=1280, height=720)
    assert top(page, ".ia-timeline") < top(page, ".st-key-decision-bar")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(sheet, settled, theme):
    page = sheet(width=360, height=800, theme=theme)
    for width in (360, 390, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("innerWidth") == width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(RIGHTMOST) <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_out_from_their_ground(sheet, theme):
    page = sheet(theme=theme)
    for css in (".ia-task", ".ia-action", ".ia-terms", ".ia-stamp", ".ia-flag h2", ".ia-block h2", ".ia-chip.ia-miss"):
        assert contrast(page, css) >= 4.5, css


def test_untrusted_text_is_inert(sheet):
    page = sheet()
    last = page.text_content(".ia-step[data-n='30']")
    assert "<img src=http://example.invalid/y" in last
    assert ":red[x] $x$" in last
    assert page.query_selector(".ia-sheet img") is None
    assert page.title() != "hit"


def test_what_was_unfolded_stays_open_until_the_next_item(sheet, settled):
    page = sheet()
    for number in (2, 20):
        # A step unfolds from when it has its toggle.
        page.wait_for_selector(f".ia-step[data-n='{number}'] .ia-toggle")
        page.click(f".ia-step[data-n='{number}'] .ia-obs")
    assert page.locator(".ia-open").count() == 2
    page.click(".st-key-again button")
    settled(page, quiet_ms=250)
    until(page, "document.querySelectorAll('.ia-open').length === 2")
    page.click(".st-key-approve-1 button")
    page.wait_for_selector(".ia-task >> text=item 2")
    page.wait_for_selector("#ia-last")
    assert page.locator(".ia-open").count() == 0


def test_the_link_leads_to_the_last_step_on_the_same_page(sheet):
    page = sheet()
    page.click(".ia-jump")
    page.wait_for_function("document.querySelector('#ia-last').getBoundingClientRect().top < innerHeight")
    assert len(page.context.pages) == 1
    assert top(page, "#ia-last") < top(page, ".st-key-decision-bar")


def contrast(page, css):
    """The WCAG contrast ratio of an element's words against what is painted behind them."""
    return page.evaluate(
        """css => {
          const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true})
          const over = (colour, ground) => {
            canvas.fillStyle = ground; canvas.fillRect(0, 0, 1, 1)
            canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1)
            const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data
            return `rgb(${r},${g},${b})`
          }
          const light = colour => {
            const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4
            const parts = colour.match(/\\d+/g).map(v => linear(v / 255))
            return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2]
          }
          const element = document.querySelector(css)
          const chain = []
          for (let each = element; each; each = each.parentElement) {
            chain.unshift(getComputedStyle(each).backgroundColor)
          }
          const ground = chain.reduce((below, colour) => over(colour, below), 'white')
          const words = light(over(getComputedStyle(element).color, ground)), behind = light(ground)
          return (Math.max(words, behind) + .05) / (Math.min(words, behind) + .05)
        }""",
        css,
    )
