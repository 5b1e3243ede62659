"""HTML as a browser's parser sees it."""

from html.parser import HTMLParser

import pytest

VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """The elements with their attributes, the text, and the text by class."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open, self.unbalanced = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        classes = [name for _, css in self.open for name in css.split()]
        self.texts.append((data, classes, self.open[-1][0] if self.open else ""))

    def handle_comment(self, data):
        self.elements.append(("comment", {}))

    def handle_decl(self, decl):
        self.elements.append(("declaration", {}))

    @property
    def text(self):
        """All text, in the order of reading."""
        return "".join(data for data, _, _ in self.texts)

    @property
    def tags(self):
        """The names of the elements."""
        return {tag for tag, _ in self.elements}

    @property
    def attributes(self):
        """All attributes as (element, name, value)."""
        return [(tag, name, value) for tag, attrs in self.elements for name, value in attrs.items()]

    @property
    def marked(self):
        """The marked texts."""
        return [data for data, _, tag in self.texts if tag == "mark"]

    def within(self, css):
        """The text inside elements of that class."""
        return "".join(data for data, classes, _ in self.texts if css in classes)


@pytest.fixture(scope="session")
def parse():
    """A function from HTML to what a parser makes of it."""
    return Page
