"""A study in a database of its own, its design and its tidy tables."""

import pytest

from console.studies.design.model import Design, TaskSource
from tests.study_rows import every_table, found, read_tables, study_file

__all__ = ["design", "every_table", "found", "read_tables", "study_file"]


@pytest.fixture
def design():
    """The design of the study, with a title that is no harmless text."""
    return Design(
        name="pilot",
        source=TaskSource(actor="scripted", environment="webshop"),
        tasks=2,
        trials=3,
        budget="3",
        seed=7,
        factors={"score": ("shown", "hidden")},
        instructions="Read </script><script>alert(1)</script> & decide.",
    )
