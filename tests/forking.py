"""Commands of the console and programs of tests, in processes forked from one that has imported the console already.

What is left out is the start of Python and the imports, which cost two seconds of processor time each; a test of those
starts `python -m console.cli` itself.
"""

import multiprocessing
import os
import runpy
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "console.cli.serve",
        "console.server.api.routes",
        "console.server.content_security",
        "console.server.guard",
        "console.server.sign_in.sign_in_pages",
        "console.server.webhooks",
        "console.web.review.actions",
        "console.web.runs.forms",
        "console.web.streamlit_internals",
        "anyio._backends._asyncio",
        "h11",
        "pandas",
        "pyarrow",
        "streamlit.web.server.starlette",
        "tests.forking",
        "uvicorn.loops.auto",
        "websockets.asyncio.server",
    ]
)


class Forked:
    """A running command or program, as `subprocess.Popen` shows it; it ends with this process at the latest."""

    def __init__(self, arguments, *, cwd, env, output, program=None):
        given = (program and str(program), list(map(str, arguments)), str(cwd), dict(env), str(output))
        self._process = _FORKING.Process(target=_run, args=given, daemon=True)
        with _without_main():
            self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self._process.is_alive():
            raise TimeoutError(f"process {self.pid} did not end within {timeout} s")
        return self._process.exitcode

    def send_signal(self, number):
        if self._process.is_alive():
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


@contextmanager
def _without_main():
    """The new process would run the main module again, and Streamlit's tests put the page there that they run."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _run(program, arguments, cwd, env, output):
    """In the forked process: everything that a new one is given, then the command or the program."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    with Path(output).open("ab") as into:
        os.dup2(into.fileno(), 1)
        os.dup2(into.fileno(), 2)
    sys.stdout.reconfigure(line_buffering=True)
    sys.argv = [program or "inferact", *arguments]
    if program:
        runpy.run_path(program, run_name="__main__")
        return

    from console.cli import main

    main()
