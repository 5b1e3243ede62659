"""A plan that was learnt in the office, and a run that went by it."""

import pytest

from console.actors import autoplan
from console.llm import LLM, ClientOptions
from console.trials import engine, start
from console.trials.planning import training
from console.trials.planning.training import Training
from console.trials.start import ActorAndEnvironments
from tests.console.actors.talking import Scripted, acting
from tests.console.trials.worlds import office
from tests.fakes.endpoint import serving


@pytest.fixture
def learnt(data_dir):
    """A function that learns a plan by a script and plays so many other tasks by it; only letter 4 and 6 are done."""

    def go(name="house", asked=None, tests=3, update="1. read the number <from E1>"):
        letters = {"thought": ["I send."], "wording": ["send 4", "send 4"], "formalizer": [_sent]}
        script = Scripted(**letters, sum_up=["S"], flaw=["F"], revision=["R"], update=[update])
        asked = asked or Training("office", batch=2, iterations=2, pool=4)
        with serving(script) as endpoint:
            cast = ActorAndEnvironments(acting(autoplan, endpoint), {"office": office()})
            llm = LLM("test", ClientOptions(base_url=endpoint.url))
            training.train_plan(name, asked, actor_and_environments=cast, llm=llm)
            if tests:
                fields = {"plan": name, "feedback_mode": "none", "seed": asked.seed}
                start.start_run(f"{name} test", {"office": tests}, actor_and_environments=cast, **fields)
                engine.resume(f"{name} test", actor_and_environments=cast)

    return go


def _sent(ask):
    return "send 4"
