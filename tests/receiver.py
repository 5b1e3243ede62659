"""A server that webhooks are sent to."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HANG = 0
"""In place of a status: the server says nothing until it is closed, and then hangs up."""


class Receiver:
    """A server that keeps what it is sent and answers as it is told to, the last answer again and again."""

    def __init__(self):
        self.got, self.answers, self.answering = [], [200], threading.Event()
        self.answering.set()
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, dict(self.headers.items()), body))
                outer.answering.wait(30)
                status = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if status == HANG:
                    outer.closing.wait(30)
                    self.close_connection = True
                    return
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def do_GET(self):
                outer.got.append((self.path, {}, b""))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"


@contextmanager
def receiving():
    """A receiver at work."""
    found = Receiver()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield found
    finally:
        found.closing.set()
        found.server.shutdown()
        found.server.server_close()
