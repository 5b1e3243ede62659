"""Data files are read into their shapes, and refused with a sentence where they say something else."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from console.errors import UnreadableFile
from console.trajectory.data_files import read_data


class Finish(StrEnum):
    MATT = "matt"
    GLOSSY = "glossy"


@dataclass(frozen=True)
class Tile:
    name: str
    sides: tuple[float, float]
    finish: Finish = Finish.MATT
    colours: frozenset[str] = frozenset()


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
        ("sides: [1.5]", "the table, 1, sides is [1.5]; give a list of 2"),
        ("sides: [1.5, 2]", "the table, 1, sides, 2 is 2; give a number with a point"),
        ("sides: [1.5, 2.0], finish: rough", "'rough' is not a valid Finish"),
        ("sides: [1.5, 2.0], colours: [red]", "the table, 1, colours is ['red']; give words in one text"),
        ("sides: [1.5, 2.0], colour: red", "the table, 1 has the unknown field 'colour'"),
        ("finish: matt", "the table, 1 has no field 'sides'; give it"),
    ],
)
def test_another_shape_is_refused_with_a_sentence(tmp_path, row, sentence):
    with pytest.raises(UnreadableFile, match=r"^tiles\.yaml: ") as refused:
        read(tmp_path, f"- {{name: hall, {row}}}\n")
    assert sentence in str(refused.value)
