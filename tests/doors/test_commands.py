"""Every command: whether it reads, changes or decides, and the mark that it leaves; `ways_in.yaml` says which."""

import typer

from console.cli import app
from tests.contract.recorded import walk
from tests.doors import table


def test_every_command_stands_in_the_table():
    found = table.commands_of(app)
    assert table.without_row(found, "commands") == []


def test_a_command_that_is_added_without_a_row_is_named():
    more = typer.Typer()
    more.add_typer(app)
    more.command("backdoor")(lambda: None)
    said = table.without_row(table.commands_of(more), "commands")
    assert [sentence for sentence in said if sentence.startswith("'backdoor' has no row")]


def test_each_command_leaves_the_mark_that_the_table_says():
    assert walk().marks == table.TABLE["commands"]
