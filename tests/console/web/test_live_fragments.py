"""Fragments that run again when the database changes: how often, with many open tabs."""

from streamlit.proto.ClientState_pb2 import ClientState

from console.web import live_fragments
from console.web.live_fragments import SHARED_A_ROUND, choose_due


def watch(not_before_s, **others):
    return live_fragments._Watch(ClientState(), len, (), 0, 0.5, 0, not_before_s, **others)


def test_tabs_take_turns_with_a_shared_fragment():
    tabs = [watch(float(number), is_shared=True) for number in reversed(range(50))]
    seen = []
    for _ in range(50 // SHARED_A_ROUND):
        for one in choose_due(tabs, 100.0):
            seen.append(one.not_before_s)
            one.is_stale = False
    assert seen == [float(number) for number in range(50)]
    assert choose_due(tabs, 100.0) == []


def test_a_fragment_of_one_tab_never_waits_for_its_turn():
    own = [watch(1.0) for _ in range(50)]
    assert choose_due([*own, watch(2.0)], 1.5) == own
