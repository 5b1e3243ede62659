"""The text of the shop's pages as an agent reads them, and the reader of the original site's HTML.

The reader depends on the ids and classes of the site's elements, and on its forms and links. The done page also
contains the hidden goal, but only the score is read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

BACK, PREVIOUS, NEXT, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_TOTAL = re.compile(r"Page (\d+) \(Total results: (\d+)\)")


def start_text(instruction: str) -> str:
    """Return the search page with the user's request."""
    return f"\nWebshop \nInstruction:  \n{instruction} \n[Search] \n"


def results_text(rows: Sequence[tuple[str, str, str]], number: int, total: int) -> str:
    """Return a page of results from (ASIN, title, price); [< Prev] appears from the second page on."""
    lines = ["", f"[{BACK}]", f"Page {number} (Total results: {total})"]
    lines += [f"[{PREVIOUS}]"] if number > 1 else []
    lines.append(f"[{NEXT}]")
    for asin, title, price in rows:
        lines += [f"[{asin}]", title, price]
    return _text(lines)


def item_text(
    options: Mapping[str, Sequence[str]], chosen: Mapping[str, str], facts: Sequence[str], sub_pages: Sequence[str]
) -> str:
    """Return the page of an item with its options; chosen options have double brackets."""
    lines = ["", f"[{BACK}]", f"[{PREVIOUS}]"]
    lines += [_options(name, values, chosen.get(name)) for name, values in options.items()]
    return _text([*lines, *facts, *(f"[{name}]" for name in sub_pages), f"[{BUY}]"])


def sub_text(texts: Sequence[str]) -> str:
    """Return a sub-page of an item, such as its description."""
    return _text(["", f"[{BACK}]", f"[{PREVIOUS}]", *texts])


def _options(name: str, values: Sequence[str], chosen: str | None) -> str:
    return f"{name} " + "".join(f"[[{value}]]" if value == chosen else f"[{value}]" for value in values)


def _text(lines: Sequence[str]) -> str:
    return " \n".join(lines).lstrip(" ") + " \n"


@dataclass(slots=True)
class Element:
    """An element of a page with its attributes, its parent, and its children: elements and texts in order."""

    tag: str
    attributes: Mapping[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The visible text, with single blanks."""
        parts = [one if isinstance(one, str) else one.text for one in self.children]
        return " ".join(" ".join(parts).split())

    def find_all(self, tag: str = "", *, css: str = "", id: str = "") -> list[Element]:
        """Return the elements below with this tag, class and id, in order."""
        found: list[Element] = []
        for one in self.children:
            if isinstance(one, Element):
                classes = one.attributes.get("class", "").split()
                if tag in ("", one.tag) and (not css or css in classes) and id in ("", one.attributes.get("id", "")):
                    found.append(one)
                found += one.find_all(tag, css=css, id=id)
        return found

    def find(self, tag: str = "", *, css: str = "", id: str = "") -> Element | None:
        """Return the first element below with this tag, class and id, or None."""
        return next(iter(self.find_all(tag, css=css, id=id)), None)

    def find_form(self) -> Element | None:
        """Return the form that contains this element, or None."""
        above = self.parent
        while above is not None and above.tag != "form":
            above = above.parent
        return above


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self._open = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs}, self._open)
        self._open.children.append(made)
        if tag not in _VOID:
            self._open = made

    def handle_endtag(self, tag: str) -> None:
        above: Element | None = self._open
        while above is not None and above.tag != tag:
            above = above.parent
        if above is not None and above.parent is not None:
            self._open = above.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)


def read_html(text: str) -> Element:
    """Return the root of a page; comments are left out, and unclosed elements end with their parent."""
    reader = _Reader()
    reader.feed(text)
    return reader.root


def read_instruction(page: Element) -> str:
    """Return the user's request, or "" if the page does not show it."""
    above = page.find(id="instruction-text")
    heading = above.find("h4") if above else None
    return heading.text.removeprefix("Instruction:").strip() if heading else ""


def read_chosen(url: str) -> dict[str, str]:
    """Return the chosen options, which only the address of an item's page contains."""
    last = unquote(urlsplit(url).path).rsplit("/", 1)[-1]
    try:
        found = ast.literal_eval(last)
    except (ValueError, SyntaxError):
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def list_buttons(page: Element) -> dict[str, Element]:
    """Return the form of each button inside a form, by the button's text."""
    buttons = ((button.text, button.find_form()) for button in page.find_all(css="btn"))
    return {text: form for text, form in buttons if form is not None}


def list_options(page: Element) -> dict[str, dict[str, str]]:
    """Return the addresses of an item's choices by option name and value."""
    found: dict[str, dict[str, str]] = {}
    for radio in page.find_all("input"):
        if radio.attributes.get("type") == "radio":
            value, address = radio.attributes.get("value", ""), radio.attributes.get("data-url", "")
            found.setdefault(radio.attributes.get("name", ""), {})[value] = address
    return found


def read_results(page: Element) -> tuple[int, int, list[tuple[str, str, str]]] | None:
    """Return the number, the total and the (ASIN, title, price) rows of a results page, or None for any other page."""
    heading = _TOTAL.search(page.text)
    if heading is None:
        return None
    links, titles, prices = (page.find_all(css=f"product-{part}") for part in ("link", "title", "price"))
    rows = [(a.text, b.text, c.text) for a, b, c in zip(links, titles, prices, strict=True)]
    return int(heading[1]), int(heading[2]), rows


def list_texts(page: Element) -> list[str]:
    """Return the paragraphs of a sub-page that are outside forms and outside the user's request."""
    found = []
    for one in page.find_all("p"):
        above = one.parent
        while above is not None and above.attributes.get("id") != "instruction-text":
            above = above.parent
        if above is None and one.find_form() is None and one.text:
            found.append(one.text)
    return found


def read_score(page: Element) -> float | None:
    """Return the score of a purchase, or None if this is not the done page."""
    above = page.find(id="reward")
    score = above.find("pre") if above else None
    return float(score.text) if score else None
