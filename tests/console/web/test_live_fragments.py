"""Fragments that run again when the database changes: how often, with many open tabs."""

from streamlit.proto.ClientState_pb2 import ClientState

from console.web import live_fragments
from console.web.live_fragments import SHARED_A_ROUND, choose_due


def watch(not_before_s, **others):
    return live_fragments._Watch(ClientState(), len, (), 0, 0.5, 0, not_before_s, **others)


def test_tabs_take_turns_with_a_shared_fragment():
    tabs = [watch(1.0, is_shared=True) for _ in range(50)]
    seen = []
    for turn in range(50 // SHARED_A_ROUND):
        for one in choose_due(tabs, 100.0):
            seen.append(id(one))
            one.is_stale, one.asked_s = False, 100.0 + turn
    assert sorted(seen) == sorted(map(id, tabs))
    assert choose_due(tabs, 100.0) == []


def test_tabs_whose_lines_stay_the_same_leave_their_turn_to_others():
    tabs, seen = [watch(float(number), is_shared=True) for number in range(20)], set()
    # The database changes before each round, and no fragment runs again.
    for turn in range(20 // SHARED_A_ROUND):
        for one in choose_due(tabs, 100.0):
            seen.add(id(one))
            one.asked_s = 100.0 + turn
    assert len(seen) == 20


def test_a_fragment_of_one_tab_never_waits_for_its_turn():
    own = [watch(1.0) for _ in range(50)]
    assert choose_due([*own, watch(2.0)], 1.5) == own
