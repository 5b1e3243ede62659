"""The database of the settings: what a write survives."""

import pytest

from console.database import writing


@pytest.mark.parametrize(("asked", "synchronous"), [({}, 2), ({"durable": True}, 2), ({"durable": False}, 1)])
def test_a_write_survives_a_power_cut_unless_told_that_it_need_not(data_dir, asked, synchronous):
    with writing(**asked) as session:
        assert session.connection().exec_driver_sql("PRAGMA synchronous").scalar() == synchronous
