"""`moving_console.py PORT`: the console; at each line of its standard input it moves to the data directory named there.

It answers each line with `moved`. So all browser tests can share one server, whose first pages take seconds to come,
while each test has a data directory of its own.
"""

import os
import sys
import threading

import streamlit as st

from console.server.serve import serve
from console.server.site import site_at
from console.settings import settings


def follow(orders, answers):
    """Moves as often as it is told to."""
    for order in orders:
        os.environ["INFERACT_DATA_DIR"] = order.strip()
        settings.cache_clear()
        st.cache_data.clear()
        st.cache_resource.clear()
        print("moved", file=answers, flush=True)


def main():
    """Serves until it is ended."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=follow, args=(sys.stdin, answers), daemon=True).start()
    serve(site_at("127.0.0.1", int(sys.argv[1]), None))


if __name__ == "__main__":
    main()
