"""A purchase: the options that the shop offered, the last choices, and the text read about the chosen product.

A purchase is derived from the pages in order, including pages to which the agent went back. A click makes a choice, and
`[[x]]` on a page shows a choice. Every page of a product counts as read, even if other products were opened in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from console.environments.acts import Act
from console.trajectory.terms import Term, TermKind, lowered, mentions, words

PRICE_SHOWN = re.compile(
    r"\bprice:?\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?)(?:\s?(?:to|-)\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?))?", re.IGNORECASE
)
OPTIONS_SHOWN = re.compile(
    r"^[ \t]*([A-Za-z][\w &/.'()-]{0,40}?)[ \t]*:?[ \t]*((?:\[{1,2}[^\[\]\n]{1,120}\]{1,2}[ \t]?)+)$", re.MULTILINE
)
_VALUE = re.compile(r"(\[\[)?\[?([^\[\]\n]+)\]{1,2}")
_LISTED = re.compile(r"\[(\w{8,12})\][ \t]*\n([^\n\[]*(?:\n[^\n\[]*)?)")
_RECORD = re.compile(r"\s*(?:\{|\[\s*[{\"])")
_SUB_PAGES = ("description", "features", "reviews", "attributes")
_MOST_TEXT = 50_000
EXACT = frozenset({TermKind.SIZE, TermKind.QUANTITY, TermKind.NUMBER, TermKind.ATTRIBUTE})
"""Kinds of terms that a product must match exactly."""
_NUMERIC = frozenset({TermKind.SIZE, TermKind.QUANTITY, TermKind.NUMBER})
LEFT_OUT = frozenset({TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.PRICE, TermKind.NEGATION})
"""Kinds of terms that a product's page need not mention."""
_TASTES = re.compile(r"colou?r|flavou?r|scent|pattern|material|taste", re.IGNORECASE)
BUYS = re.compile(r"\b(?:buy|purchase|check ?out|place_order)", re.IGNORECASE)
COLOUR_GROUP = re.compile(r"colou?r", re.IGNORECASE)
_GENERIC_WORDS = """
color colour size style flavor scent type model product item name pack set count price pair kind looking look
good nice great best quality high low new home use easy easily free shipping purchase order thing something
interested prefer preferred ideally needed required available include including come made make work works used
perfect suitable option options preferably certain would also want needs different brand hey hi please aren't
isn't doesn't don't won't ones kinds sort sorts bit lot lots types guy girl dollar dollars money budget shown
show me find contain contains allow allows let lets quantity amount number give gives having using like able
fabric material texture finish extra measures width height containing favor
colored coloured trying match matches wear wears wearing
"""
GENERIC = frozenset(_GENERIC_WORDS.split())
"""Words that requests and pages of every shop use."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A group of options: the option that the user asked for, and the last chosen option; "" if there is none."""

    name: str
    options: tuple[str, ...]
    asked: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Purchase:
    """The price range, choices, texts read and offered (in lower case), and unopened sub-pages.

    `steps` are the steps that show a page of the product.
    """

    low: float
    high: float
    choices: tuple[Choice, ...]
    unopened: tuple[str, ...]
    read: str
    offered: str
    steps: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Product:
    texts: list[str] = field(default_factory=list)
    page: str = ""
    chosen: dict[str, str] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    steps: set[int] = field(default_factory=set)
    searches: int = 0

    def show(self, page: str) -> None:
        """Add the product's own page; double brackets mark chosen options."""
        self.page = page
        self.texts.append(OPTIONS_SHOWN.sub("", page))
        for name, values in _groups(page):
            if shown := [value for value, is_chosen in values if is_chosen]:
                self.chosen[name] = shown[-1]


def find_purchase(acts: Sequence[Act], instruction: str, stated: Sequence[Term]) -> Purchase | None:
    """Return the purchase of the product opened last, or None; ignore the instruction, which shops repeat on pages."""
    products: dict[str, _Product] = {}
    listed: dict[str, str] = {}
    at, searches = "", 0
    for act in acts:
        shown = act.observation[:_MOST_TEXT].replace(instruction.strip() or "\0", "")
        if act.talks or _RECORD.match(shown):
            continue
        pressed = lowered(act.argument)
        prices = [] if act.failed else list(PRICE_SHOWN.finditer(shown))
        if len(prices) == 1:
            at = at if at and (pressed in _SUB_PAGES or pressed.startswith(("<", "prev"))) else pressed
            product = products.setdefault(at, _Product(searches=searches))
            if product.searches != searches:
                # A new search forgets what was chosen before it.
                product.searches, product.chosen = searches, {}
            product.show(shown)
            product.steps.add(act.step)
        elif found := _LISTED.findall(shown):
            listed |= {lowered(key): text for key, text in found}
            searches += pressed == "back to search" or act.name == "search"
        elif at in products:
            _press(products[at], act, pressed, shown)
    return _made(products[at], listed.get(at, ""), stated) if at in products else None


def _press(product: _Product, act: Act, pressed: str, shown: str) -> None:
    group = next((name for name, values in _groups(product.page) if pressed in (lowered(v) for v, _ in values)), None)
    if act.failed:
        return
    if group is not None:
        product.chosen[group] = act.argument
    else:
        product.texts.append(shown[:20_000])
        product.opened.add(pressed)
        product.steps.add(act.step)


def _made(product: _Product, listed: str, stated: Sequence[Term]) -> Purchase:
    price = next(PRICE_SHOWN.finditer(product.page))
    prices = [float(figure.replace(",", "")) for figure in price.groups() if figure]
    groups = [(name, tuple(value for value, _ in values)) for name, values in _groups(product.page)]
    title = lowered("\n".join([listed, *product.texts]))
    pressed = {name: lowered(product.chosen.get(name, "")) for name, _ in groups}
    chosen = [next((one for one in options if lowered(one) == pressed[name]), "") for name, options in groups]
    choices = tuple(_choice(*group, one, stated, title) for group, one in zip(groups, chosen, strict=True))
    return Purchase(
        low=min(prices),
        high=max(prices),
        choices=choices,
        unopened=tuple(
            name for name in _SUB_PAGES if f"[{name}]" in lowered(product.page) and name not in product.opened
        ),
        read="\n".join([title, *(lowered(choice.chosen) for choice in choices)]),
        offered=lowered("\n".join(f"{name} {' ; '.join(options)}" for name, options in groups)),
        steps=frozenset(product.steps),
    )


def _groups(page: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Return (name, [(option, whether the page shows it as chosen)]) of each group of options on a page."""
    return [
        (match[1].strip(), [(value.strip(), bool(double)) for double, value in _VALUE.findall(match[2])])
        for match in OPTIONS_SHOWN.finditer(page)
    ]


def _choice(name: str, options: tuple[str, ...], chosen: str, stated: Sequence[Term], title: str) -> Choice:
    """Return the choice in a group, with the option that the user clearly asked for.

    The requested option states a size, quantity, colour or material of the request, or only words that do not name the
    product; no other option matches as well.
    """
    fits = {option: _fit(name, option, stated, title) for option in options}
    best = max(options, key=lambda option: fits[option], default="")
    if not best or fits[best][0] <= 0:
        return Choice(name, options, "", chosen)
    if chosen and fits[chosen][0] + 1 >= fits[best][0]:
        return Choice(name, options, chosen, chosen)
    ties = [option for option in options if fits[option] == fits[best]]
    return Choice(name, options, best if len(ties) == 1 else "", chosen)


def _fit(name: str, option: str, stated: Sequence[Term], title: str) -> tuple[float, float]:
    """Return the number of stated terms in the option (exact kinds count twice) and minus the number of other words."""
    text, own = lowered(option), [word for word in words(option) if word not in GENERIC]
    said = [term for term in stated if _belongs(term, name) and mentions(term, text)]
    said = [term for term in said if term.kind in EXACT or not all(word in title for word in words(term.text))]
    extra = len(set(own) - {word for term in said for word in words(term.text)})
    tasty = bool(COLOUR_GROUP.search(name))
    exact = any(term.kind in _NUMERIC or (term.kind in EXACT and (tasty or not extra)) for term in said)
    whole = bool(own) and not extra and not all(word in title for word in own)
    told = sum(2.0 if term.kind in EXACT else 1.0 for term in said) if exact or whole else 0.0
    return told, -float(extra)


def _belongs(term: Term, group: str) -> bool:
    """Return whether a term can be a value of the option group; for example, a weight cannot be a flavour."""
    return term.kind not in LEFT_OUT and not (term.kind in _NUMERIC and _TASTES.search(group))


def list_wanted_terms(stated: Iterable[Term]) -> list[Term]:
    """Return the terms that a product's page should mention, without duplicates and words that every shop uses."""
    telling = [term for term in stated if term.kind not in LEFT_OUT and not set(words(term.text)) <= GENERIC]
    telling = [term for term in telling if term.kind is not TermKind.WORD or len(term.text.strip()) > 3]
    return list({lowered(term.text): term for term in reversed(telling)}.values())[::-1]
