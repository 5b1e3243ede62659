"""Fragments that run again when the database changes: how often, with many open tabs."""

import pytest

from console.web.live_fragments import share_pause


@pytest.mark.parametrize(("tabs", "pause_s"), [(1, 0.5), (5, 0.5), (20, 2.0), (50, 5.0)])
def test_all_tabs_together_draw_a_shared_fragment_ten_times_a_second(tabs, pause_s):
    assert share_pause(0.5, tabs) == pause_s
