"""A log format whose files begin with SEAM and hold one line a trial."""

from console.errors import SeamRefused
from console.runs.importers.records import Found, Importer
from console.trajectory import Step, Trajectory


def recognises(path, head):
    """Whether the file begins with the word."""
    return head.startswith(b"SEAM")


def read(path, progress=None):
    """One trajectory a line; a line that says `refuse` is refused."""
    for number, line in enumerate(path.read_text().splitlines()[1:], 2):
        if line == "refuse":
            raise SeamRefused("The seam is closed; open it.")
        yield Found(number, Trajectory(line, "seam-world", f"pull {line}", (Step("", f"pull[{line}]", "pulled"),)))


ENTRY = Importer("seam-log", "Seam log", read, recognises=recognises)
