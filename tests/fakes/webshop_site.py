"""A small shop over HTTP that speaks the original site's contract: its addresses, forms, links, ids and classes.

It sells the embedded catalogue. Written from the contract (the table of addresses), not from the adapter; `python -m
tests.fakes.webshop_site --port N` serves it as a program of its own, so that it can be killed.
"""

import argparse
import ast
import html
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote

from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.tasks import goal_of, reward, tasks
from console.environments.webshop.world import list_sub_page_texts, search

GOALS = tasks(11, 40)
PER_PAGE = 10


class Site(BaseHTTPRequestHandler):
    """The pages; a session is remembered by its name, as the original does."""

    protocol_version = "HTTP/1.1"
    sessions, bought = {}, []
    price_word = "price lower than"

    def log_message(self, *_):
        """Print nothing."""

    def do_GET(self):
        self._answer()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        query = parse_qs(body, keep_blank_values=True).get("search_query")
        if query is not None:
            name = self.path.strip("/")
            words = str(query[0].lower().split(" "))
            self.send_response(302)
            self.send_header("location", f"/search_results/{name}/{quote(words)}/1")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self._answer()

    def _answer(self):
        parts = [unquote(part) for part in self.path.lstrip("/").split("/")]
        try:
            page = getattr(self, f"_{parts[0]}", None)
            text = page(*parts[1:]) if page else self._start(*parts)
        except Exception:
            self._send(500, "Internal Server Error")
            return
        self._send(200, text)

    def _send(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _shell(self, name, *parts):
        words = html.escape(self._goal(name).instruction).replace("price lower than", self.price_word)
        head = f'<div id="instruction-text" class="i"><h4>Instruction:<br>{words}</h4></div>'
        return f"<!DOCTYPE html><html><body><div class='container'>{head}{''.join(parts)}</div></body></html>"

    def _goal(self, name):
        return self.sessions[name]

    def _start(self, name):
        self.sessions[name] = GOALS[int(name.split("_")[-1])] if name.startswith("fixed") else GOALS[0]
        box = '<input type="text" name="search_query" id="search_input" placeholder="Search...">'
        return self._shell(name, form(f"/{name}", "Search", box))

    def _search_results(self, name, words, number):
        listed = ast.literal_eval(words) if words.startswith("[") else words.split()
        found, number = search(" ".join(listed)), int(number)
        parts = [back(name), f"<h3>Page {number} (Total results: {len(found)})</h3>"]
        here = f"/search_results/{name}/{quote(words)}"
        parts += [form(f"{here}/{number - 1}", "&lt; Prev")] if number > 1 else []
        parts.append(form(f"{here}/{number + 1}", "Next &gt;"))
        for asin in found[(number - 1) * PER_PAGE : number * PER_PAGE]:
            product = catalogue()[asin]
            target = f"/item_page/{name}/{asin}/{quote(words)}/{number}/{quote('{}')}"
            parts.append(f"""<div class="list-group-item"><!-- <h5 class="product-category">hidden</h5> -->
                <h4><a class="product-link" href="{target}">{asin}</a></h4>
                <h4 class="product-title">{html.escape(product.title)}</h4>
                <h5 class="product-price">${product.price:.2f}</h5></div>""")
        return self._shell(name, *parts)

    def _item_page(self, name, asin, words, number, chosen):
        product, chosen = catalogue()[asin], ast.literal_eval(chosen)
        where = f"{name}/{asin}/{quote(words)}/{number}"
        parts = [back(name), form(f"/search_results/{name}/{quote(words)}/{number}", "&lt; Prev")]
        for option, values in product.options.items():
            parts.append(f"<h4>{option}</h4><div>")
            for value in values:
                target = f"/item_page/{where}/{quote(str(chosen | {option: value}))}"
                parts.append(f'<input type="radio" name="{option}" value="{html.escape(value)}" data-url="{target}">')
            parts.append("</div>")
        parts.append(f"<h2>{html.escape(product.title)}</h2><h4>Price: ${product.price:.2f}</h4><h4>Rating: N.A.</h4>")
        for page in ("Description", "Features", "Reviews"):
            parts.append(form(f"/item_sub_page/{where}/{page}/{quote(str(chosen))}", page))
        parts.append(form(f"/done/{name}/{asin}/{quote(str(chosen))}", "Buy Now", css="btn purchase"))
        return self._shell(name, *parts)

    def _item_sub_page(self, name, asin, words, number, page, chosen):
        texts = [html.escape(text) for text in list_sub_page_texts(catalogue()[asin], page)]
        target = f"/item_page/{name}/{asin}/{quote(words)}/{number}/{quote(chosen)}"
        body = "".join(f"<p class='product-info'>{text}</p>" for text in texts)
        return self._shell(name, back(name), form(target, "&lt; Prev"), body)

    def _done(self, name, asin, chosen):
        score = reward(goal_of(self._goal(name).gold), catalogue()[asin], ast.literal_eval(chosen))
        self.bought.append((name, asin))
        secret = f"<div id='goal-asin' style='display:none'><pre>{self._goal(name).gold['asin']}</pre></div>"
        told = f"<div id='reward'><h3>Your score</h3><pre>{score}</pre></div>"
        return f"<html><body><h1>Thank you for shopping with us!</h1>{secret}{told}</body></html>"


def form(action, text, more="", css="btn btn-primary"):
    """A form with one button."""
    return f'<form method="post" action="{action}">{more}<button type="submit" class="{css}">{text}</button></form>'


def back(name):
    """The button to the search page."""
    return form(f"/{name}", "Back to Search")


@contextmanager
def serving_shop():
    """The shop in a thread of this process: yields its address and the class that counts what was bought."""
    kind = type("OneSite", (Site,), {"sessions": {}, "bought": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", kind
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def main():
    """Serves until it is killed, and prints its address."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    asked = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), Site)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
