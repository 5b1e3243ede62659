"""WebShop: search a shop, choose options, buy. The embedded edition is a small shop of invented products."""

from console.environments.environment import Environment
from console.environments.webshop.tasks import tasks
from console.environments.webshop.world import GO_BACK, INVALID, Shop

WEBSHOP = Environment(
    "webshop",
    "WebShop",
    critical=("click[Buy Now]",),
    terminal=("click[Buy Now]",),
    not_executed=(INVALID,),
    step_cap=15,
    tasks=tasks,
    start=Shop,
    replayable=True,
    verbs=("search", "click"),
    back=GO_BACK,
)
