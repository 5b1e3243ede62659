"""Every page by axe-core: no violation of WCAG 2.2 A and AA, nor of axe's best practices."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from console.auth import agents
from console.database import now_ms, writing
from console.detection import batch
from console.gate import Gate
from console.runs import ingest
from console.studies.design.yaml_file import changed, example, parse
from console.studies.sessions import lifecycle
from tests.logs import purchase, stuck, write_log
from tests.signing_in import cookie, invitation

TITLES = {
    "home": "Inbox",
    "review?run=kettles": "Review",
    "answers?run=kettles": "My answers",
    "trajectories?run=kettles": "Trajectories",
    "runs?run=kettles": "Runs",
    "detectors?run=kettles": "Detectors",
    "studies?study=pilot": "Studies",
    "export?run=kettles": "Export",
    "people": "People",
    "help": "Help",
}
FURTHER = {
    "trajectories?run=kettles&id=1": "Trajectories",
    "runs?run=desk": "Runs",
    "studies": "Studies",
    "help?chapter=figures": "Help",
    "help?chapter=data": "Help",
}
STRANGERS = ("sign-in", "invite/{token}", "sessions", "join")


@pytest.fixture
def desk(furnished, tmp_path):
    """(address, a researcher's session, an invitation) of a console with a log, a gate, an agent and a study."""
    found = []

    def fill():
        records = [purchase(n, wrong=n < 4) for n in range(6)]
        ingest.import_file(write_log(tmp_path / "k.jsonl", *records, stuck(6)), "kettles", "auto", lambda _: None)
        ingest.set_budget("kettles", "5")
        batch.detect("kettles", ["rules", "random"])
        Gate("desk", "full-validation", undo_s=0).ask("Refund order 12.", [], "refund_order({})", task_id="a")
        lifecycle.create(changed(parse(example(), "The example"), name="pilot", tasks=2), now_ms())
        with writing() as session:
            agents.add(session, "bot", now_ms())
        found.append(invitation())

    return (*furnished(fill), *found)


def faults(page):
    """What axe finds on the page, Streamlit's own parts included: `rule: where`."""
    asked = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))} {node['html'][:200]} {node['failureSummary']}"
        for rule in Axe().run(page, options=asked).response["violations"]
        for node in rule["nodes"]
    ]


def open_all(page, desk, settled, titles):
    """Opens one page after the other, and yields its address once it stands."""
    address, token, invited = desk
    for path in STRANGERS:
        page.goto(f"{address}/{path.format(token=invited)}")
        page.get_by_role("heading").first.wait_for()
        yield path
    page.context.add_cookies([cookie(address, token)])
    for path, title in titles.items():
        page.goto(f"{address}/{path}")
        page.wait_for_function("wanted => document.title.includes(wanted)", arg=f"{title} · InferAct Console")
        page.locator("h1, .ia-task").first.wait_for()
        settled(page, quiet_ms=250)
        yield path


def test_axe_finds_nothing_on_any_page(desk, open_page, settled):
    page = open_page()
    assert {path: found for path in open_all(page, desk, settled, TITLES) if (found := faults(page))} == {}


@pytest.mark.at_length
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_axe_finds_nothing_in_any_width_and_theme(desk, open_page, settled, width, theme):
    page = open_page(width=width, height=800, theme=theme)
    assert {path: found for path in open_all(page, desk, settled, TITLES | FURTHER) if (found := faults(page))} == {}
