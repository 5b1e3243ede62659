"""Serves the pages of a script as `inferact serve` does those of the console: `python serving.py SCRIPT PORT`."""

import sys
from pathlib import Path

from console.server.serve import serve
from console.server.site import Site

serve(Site("127.0.0.1", int(sys.argv[2])), Path(sys.argv[1]))
