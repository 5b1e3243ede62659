"""WebShop: search a shop, choose options, buy.

The embedded edition is a small shop of invented products. A task with the option `webshop` runs at a WebShop site.
"""

from console.environments.environment import Environment, TaskSpec, World
from console.environments.webshop.site import SITE, ShopSite
from console.environments.webshop.tasks import tasks
from console.environments.webshop.world import GO_BACK, INVALID, Shop


def start(task: TaskSpec) -> World:
    """Return the world of a task: the task's site, or the embedded shop."""
    return ShopSite(task) if SITE in task.options else Shop(task)


WEBSHOP = Environment(
    "webshop",
    "WebShop",
    critical=("click[Buy Now]",),
    terminal=("click[Buy Now]",),
    not_executed=(INVALID,),
    step_cap=15,
    tasks=tasks,
    start=start,
    replayable=True,
    verbs=("search", "click"),
    back=GO_BACK,
    is_in_process=lambda task: SITE not in task.options,
)
