"""A small wiki over HTTP that speaks the Action API of a stock MediaWiki: page extracts, redirects, and text search.

Written from replies of Debian's MediaWiki 1.39 with TextExtracts. It holds the pages of the embedded encyclopedia.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from console.environments.hotpotqa.almanac import embedded_corpus

SEVERAL = "Mercury may refer to:\nMercury (planet)\nMercury (element)"


class Wiki(BaseHTTPRequestHandler):
    """The replies; `failures` are sent first, each a status with its headers and text."""

    asked, agents, failures, extra = [], [], [], {}

    def log_message(self, *_):
        """Print nothing."""

    def do_GET(self):
        address = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.asked.append(given)
        self.agents.append(self.headers["user-agent"])
        if self.failures:
            status, text, headers = self.failures.pop(0)
            self._send(status, text, headers)
        elif address.path == "/w/api.php":
            self._send(200, json.dumps(self._search(given) if given.get("list") else self._extract(given)))
        else:
            self._send(404, "not found")

    def _send(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _extract(self, given):
        title, query = given["titles"].replace("_", " ").strip(), {}
        title = title[:1].upper() + title[1:]
        if any(mark in title for mark in "[]{}<>"):
            page = {"title": title, "invalidreason": "The requested page title contains invalid characters."}
            return {"batchcomplete": True, "query": {"pages": [{**page, "invalid": True}]}}
        if title == "Old Mill":
            query["redirects"] = [{"from": title, "to": next(iter(embedded_corpus().pages))}]
            title = query["redirects"][0]["to"]
        found = self._pages().get(title)
        page = {"pageid": 7, "ns": 0, "title": title, "extract": found} if found else {"ns": 0, "title": title}
        query["pages"] = [page if found else {**page, "missing": True}]
        return {"batchcomplete": True, "query": query}

    def _search(self, given):
        words = given["srsearch"].lower().split()
        hits = [name for name, text in self._pages().items() if all(one in f"{name} {text}".lower() for one in words)]
        rows = [{"ns": 0, "title": name, "pageid": number} for number, name in enumerate(hits[: int(given["srlimit"])])]
        return {"batchcomplete": True, "query": {"searchinfo": {"totalhits": len(hits)}, "search": rows}}

    def _pages(self):
        pages = {page.title: "\n\n\n== Facts ==\n".join(_halves(page)) for page in embedded_corpus().pages.values()}
        return {**pages, "Mercury": SEVERAL, **self.extra}


def _halves(page):
    return [" ".join(page.sentences[:4]), " ".join(page.sentences[4:])]


@contextmanager
def serving_wiki():
    """Yield the address of the wiki's folder, and the class whose attributes tell and set what happens."""
    kind = type("OneWiki", (Wiki,), {"asked": [], "agents": [], "failures": [], "extra": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/w", kind
    finally:
        server.shutdown()
        server.server_close()
