"""Data files are read into their shapes, and refused with a sentence where they say something else."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from console.errors import UnreadableFile
from console.trajectory.strict_yaml import Words, read_data


class Finish(StrEnum):
    MATT = "matt"
    GLOSSY = "glossy"


@dataclass(frozen=True)
class Tile:
    name: str
    sides: tuple[float, float]
    finish: Finish = Finish.MATT
    colours: Words = frozenset()


def read(tmp_path, text):
    file = tmp_path / "tiles.yaml"
    file.write_text(text, "utf-8")
    return read_data(file, tuple[Tile, ...])


def test_rows_become_their_shape(tmp_path):
    tiles = read(tmp_path, "- {name: hall, sides: [1.5, 2.0], finish: glossy, colours: no off red}\n")
    assert tiles == (Tile("hall", (1.5, 2.0), Finish.GLOSSY, frozenset({"no", "off", "red"})),)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("sides: [1.5]", "the table, line 1, column 16: [1].sides[2]: is missing. Add this field."),
        ("sides: [1.5, two]", "[1].sides[2]: must be a number, not 'two'."),
        ("sides: [1.5, 2.0], finish: rough", "[1].finish: must be 'matt' or 'glossy', not 'rough'."),
        ("sides: [1.5, 2.0], colours: [red]", "[1].colours: must be a single text."),
        ("sides: [1.5, 2.0], colour: red", "line 1, column 35: [1].colour: unknown field. Did you mean colours?"),
        ("finish: matt", "[1].sides: is missing. Add this field."),
        ("sides: [1.5, 2.0], name: stairs", "line 1, column 35: invalid YAML, duplicate key 'name'"),
    ],
)
def test_another_shape_is_refused_with_a_sentence(tmp_path, row, sentence):
    with pytest.raises(UnreadableFile, match=r"^tiles\.yaml: ") as refused:
        read(tmp_path, f"- {{name: hall, {row}}}\n")
    assert sentence in str(refused.value)
