"""The shelf of Actors."""

import pytest

from console.actors import ACTORS, actor
from console.errors import Unknown


def test_each_actor_stands_under_its_own_name():
    assert all(name == found.name and found.title for name, found in ACTORS.items())


def test_an_unknown_actor_is_named_with_those_there_are():
    with pytest.raises(Unknown, match="scripted"):
        actor("psychic")
