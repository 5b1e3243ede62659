"""What people read is plain English: the countable part of its rules."""

from pathlib import Path

import pytest

from tests.words import READ, ROOT, list_violations


@pytest.mark.parametrize("name", READ)
def test_no_text_breaks_a_countable_rule(name):
    found = list(list_violations([ROOT / name]))
    assert not found, "\n".join(found[:40])


@pytest.mark.parametrize(
    "source",
    [
        'def load():\n    """Loads the run."""\n',
        'def load():\n    """The run, None where there is none."""\n',
        'def load():\n    """Return the run that whoever asked may see."""\n',
        'print("This is no valid run name here.")\n',
        f'print("{"A sentence " + "of far too many words " * 5}.")\n',
        "# Housekeeping comes first.\n",
    ],
)
def test_each_kind_of_violation_is_seen(source, tmp_path):
    file = Path(tmp_path / "room.py")
    file.write_text(source)
    assert list(list_violations([file]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", '<p>{{ _("People come in by a link of their own.") }}</p>\n'),
        ("data.yaml", "wrong: It buys another thing or option than the user asked for.\n"),
    ],
)
def test_templates_and_data_are_read(name, content, tmp_path):
    file = Path(tmp_path / name)
    file.write_text(content)
    assert list(list_violations([file]))


@pytest.mark.parametrize(
    "content",
    [
        "The link works once. It keeps this browser signed in.\n",
        "| run | what it does |\n|---|---|\n| `start` | This works once. |\n",
        f"- {'One `long code` of far too many words ' * 5}.\n",
    ],
)
def test_each_sentence_of_the_handbook_is_short_and_names_its_subject(content, tmp_path):
    file = tmp_path / "handbook" / "reviewer.md"
    file.parent.mkdir()
    file.write_text(content)
    assert list(list_violations([file]))
    file.write_text("The link works once. This link keeps the browser signed in..\n")
    assert not list(list_violations([file]))


def test_plain_text_passes(tmp_path):
    file = Path(tmp_path / "room.py")
    file.write_text('def load():\n    """Return the run, or None."""\n\n\nprint("Choose another name, please.")\n')
    assert not list(list_violations([file]))
