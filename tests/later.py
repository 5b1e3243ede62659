"""A list that is made when a test first looks into it, so that workers without that test do not make it."""

from collections.abc import Sequence
from functools import cached_property


class Later(Sequence):
    """The list that `make(*arguments)` returns."""

    def __init__(self, make, *arguments):
        self._make, self._arguments = make, arguments

    @cached_property
    def _made(self):
        return self._make(*self._arguments)

    def __getitem__(self, at):
        return self._made[at]

    def __len__(self):
        return len(self._made)

    def __eq__(self, other):
        return list(self) == other
