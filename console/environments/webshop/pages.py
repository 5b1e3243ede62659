"""WebShop pages as text, laid out as ReAct's agent reads them: buttons in brackets, one line each.

They stand apart from the shop, which moves between pages: here is only how each one reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.environments.webshop.catalogue import Product, catalogue

SUB_PAGES = ("Description", "Features", "Reviews")


def start_page(instruction: str) -> str:
    """The search page with what the user asked."""
    return f"\nWebshop \nInstruction:  \n{instruction} \n[Search] \n"


def results_page(asins: Sequence[str], number: int, total: int) -> str:
    """A page of results; [< Prev] from the second page on, [Next >] always, as in the original."""
    lines = ["", "[Back to Search]", f"Page {number} (Total results: {total})"]
    lines += ["[< Prev]"] if number > 1 else []
    lines.append("[Next >]")
    for asin in asins:
        product = catalogue()[asin]
        lines += [f"[{asin}]", product.title, f"${product.price:.2f}"]
    return _text(lines)


def item_page(product: Product, chosen: Mapping[str, str]) -> str:
    """An item with its options; a chosen one has double brackets."""
    lines = ["", "[Back to Search]", "[< Prev]"]
    lines += [_options(name, values, chosen.get(name)) for name, values in product.options.items()]
    lines += [product.title, f"Price: ${product.price:.2f}", "Rating: N.A."]
    lines += [f"[{name}]" for name in SUB_PAGES]
    return _text([*lines, "[Buy Now]"])


def sub_page(product: Product, name: str) -> str:
    """The sub-page behind [Description], [Features] or [Reviews]."""
    texts = {"Description": [product.description], "Features": [*product.features], "Reviews": ["No reviews yet."]}
    return _text(["", "[Back to Search]", "[< Prev]", *texts[name]])


def _options(name: str, values: Sequence[str], chosen: str | None) -> str:
    return f"{name} " + "".join(f"[[{value}]]" if value == chosen else f"[{value}]" for value in values)


def _text(lines: Sequence[str]) -> str:
    return " \n".join(lines).lstrip(" ") + " \n"
