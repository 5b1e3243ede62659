"""Baseline Actors of the papers: ReAct without examples, and Plan+Act, which has no remedies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from console.actors import introspective, react
from console.actors.replies import with_chosen_model

REACT_0_SHOT = replace(
    react.REACT,
    name="react-0-shot",
    title="ReAct without examples",
    act=with_chosen_model(partial(react.act, has_examples=False)),
    description="asks a model, which gets no examples",
)
PLAN_ACT = replace(
    introspective.INTROSPECTIVE,
    name="plan-act",
    title="Plan+Act",
    act=with_chosen_model(partial(introspective.act, doubts=False)),
    description="asks a model, which plans, acts and revises a plan that is used up",
)
"""The introspective Actor without remedies and without going back, as in the comparison of Devil's Advocate."""
