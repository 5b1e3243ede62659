"""Every page by axe-core: no violation of WCAG 2.2 A and AA, nor of axe's best practices, nor of its own policy."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from console import runs
from console.auth import agents
from console.database import now_ms, writing
from console.detection import batch
from console.gate import Gate
from console.runs import ingest
from console.studies.design.yaml_file import change_design, example, parse
from console.studies.sessions import lifecycle
from tests.browser.screens import LISTEN
from tests.browser.studying import come_in, is_over, opened_study, shown, take_a_step
from tests.browser.walking import until
from tests.logs import purchase, stuck, write_log
from tests.signing_in import cookie, invitation, signed_in

TITLES = {
    "inbox": "Inbox",
    "review?run=kettles": "Review",
    "answers?run=kettles": "My reviews",
    "ratings": "Rate answers",
    "trajectories?run=kettles": "Trajectories",
    "runs?run=kettles": "Runs",
    "detectors?run=kettles": "Detectors",
    "studies?study=pilot": "Studies",
    "export?run=kettles": "Export",
    "people": "People",
    "notices": "Notices",
    "help": "Help",
}
FURTHER = {
    "trajectories?run=kettles&id=1": "Trajectories",
    "runs?run=desk": "Runs",
    "studies": "Studies",
    "help?chapter=figures": "Help",
    "help?chapter=data": "Help",
}
APP = Path(__file__).parents[2] / "streamlit_app.py"
OF_A_STUDY, TWICE = {"participate", "study"}, {"home"}
STRANGERS = ("sign-in", "invite/{token}", "sessions", "join")
REVIEWERS = (*STRANGERS, "inbox", "review?run=kettles", "answers?run=kettles", "people", "notices", "help")
MAIN = ("inbox", "review?run=kettles", "answers?run=kettles", "people", "help")
FEW = {path: title for path, title in TITLES.items() if path in MAIN}


@pytest.fixture
def desk(serve, tmp_path):
    """(address, a researcher's session, an invitation, a study) of a console with a log, a gate, an agent, studies."""
    records = [purchase(n, wrong=n < 4) for n in range(6)]
    ingest.import_file(write_log(tmp_path / "k.jsonl", *records, stuck(6)), "kettles", "auto", lambda _: None)
    runs.set_budget("kettles", "5")
    batch.detect("kettles", ["rules", "random"])
    Gate("desk", "full-validation", undo_s=0).ask("Refund order 12.", [], "refund_order({})", task_id="a")
    with ThreadPoolExecutor(1) as aside:
        pilot = change_design(parse(example(), "The example"), name="pilot", tasks=1, trials=1)
        aside.submit(lifecycle.create, pilot, now_ms()).result()
    with writing() as session:
        agents.add(session, "bot", now_ms())
    study = opened_study(
        name="people", tasks=1, trials=1, participants={"human": 9}, practice=1, demographics=[AGE],
        questionnaires={"after": ["trust"]}, confidence=3,
        debriefing={"question": "Anything else?", "text": "## Why\n\nWe look at **how** people decide."},
    )  # fmt: skip
    return serve(), signed_in("Grace"), invitation(), study


AGE = {"key": "age", "question": "Age?", "choices": ["young", "old"], "required": True}
THEMES, WIDTHS = ("light", "dark"), (390, 768, 1280)


ASKED = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}
AXE = Axe()


def faults(page, asked=ASKED):
    """What axe finds on the page, Streamlit's own parts included: `rule: where`."""
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))} {node['html'][:200]} {node['failureSummary']}"
        for rule in AXE.run(page, options=asked).response["violations"]
        for node in rule["nodes"]
    ]


def open_all(page, desk, settled, titles):
    """Opens one page after the other, and yields its address once it stands."""
    address, token, invited, _study = desk
    for path in STRANGERS[: None if len(titles) > len(FEW) else 1]:
        page.goto(f"{address}/{path.format(token=invited)}")
        page.get_by_role("heading").first.wait_for()
        yield path
    page.context.add_cookies([cookie(address, token)])
    for path, title in titles.items():
        page.goto(f"{address}/{path}")
        until(page, "wanted => document.title.includes(wanted)", f"{title} · InferAct Console")
        page.locator("h1, .ia-task").first.wait_for()
        settled(page, quiet_ms=100)
        yield path


def faults_in(page, themes):
    """What axe finds in each theme, in one load of the page: it follows what the browser prefers.

    Only colours differ between themes.
    """
    found = []
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(100)
        found += [f"{theme}: {fault}" for fault in faults(page, ASKED if theme == themes[0] else COLOURS)]
    return found


# A drawn table is a stop of Tab, and axe finds no fault with a canvas that has no name.
NAMELESS = """[...document.querySelectorAll("canvas[tabindex='0'], .js-plotly-plot")]
    .filter(one => !one.closest("[aria-label]"))
    .map(one => `without a name: ${one.closest("[class*='st-key-']")?.className}`)"""


def broken(page):
    """What the page has tried against its own content policy, nameless tables, and whether it is empty or broken."""
    found = page.evaluate("window.violations") + page.evaluate(NAMELESS)
    if not page.locator("[data-testid=stMain], main").first.inner_text().strip():
        found.append("it is empty")
    return found + ["an exception"] * page.locator("[data-testid=stException]").count()


def overflows(page):
    """The narrow windows in which the page would have to be scrolled sideways: 200 % of 1280 px, and of 640 px."""
    found, size = [], page.viewport_size
    for width in (640, 320):
        page.set_viewport_size({"width": width, "height": size["height"] // 2})
        page.wait_for_timeout(150)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
            found.append(f"at {width} px it scrolls sideways")
    page.set_viewport_size(size)
    return found


def study_faults(page, desk, settled, themes):
    """What axe finds at each stage of a participant's way, from the link to the code."""
    address, _token, _invited, study = desk
    found, seen = {}, []
    page.goto(f"{address}/participate?join={study.join_code}")
    page.get_by_role("heading").first.wait_for()
    found["the link"] = faults_in(page, themes)
    come_in(page, settled, address, study)
    while not seen or not is_over(seen[-1]):
        stage = shown(page, settled)
        if stage not in seen:
            found[stage] = faults_in(page, themes) + overflows(page)
        take_a_step(page, settled)
        seen.append(stage)
    return found


def refuse(visited):
    """Fails with every fault by its page."""
    lines = [f"{path}: {fault}" for path, found in visited.items() for fault in found]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("titles", [FEW, pytest.param(TITLES, marks=pytest.mark.at_length)], ids=["few", "all"])
def test_axe_finds_nothing_on_any_page_and_none_breaks_its_policy(desk, open_page, settled, titles):
    page = open_page()
    page.add_init_script(LISTEN)
    visited = {}
    for path in open_all(page, desk, settled, titles):
        themes = THEMES if path in ("inbox", "review?run=kettles") else THEMES[:1]
        visited[path] = broken(page) + faults_in(page, themes) + (overflows(page) if path in REVIEWERS else [])
        if path.startswith("review"):
            assert keys(page)["approve-"] == "A"
            assert keys(page)["previous-"] == "K ArrowLeft"
            assert page.locator("[role=status][aria-live=polite]").count()
    refuse(visited)
    pages = set(re.findall(r'url_path="([\w-]+)"', APP.read_text()))
    assert pages == {path.partition("?")[0] for path in TITLES} | OF_A_STUDY | TWICE


def keys(page):
    """The keys that a screen reader is told of each button of the decision bar, by how its name begins."""
    page.locator("[aria-keyshortcuts]").first.wait_for()
    return page.evaluate("""Object.fromEntries([...document.querySelectorAll('[aria-keyshortcuts]')].map(each =>
        [each.closest("[class*='st-key-']").className.match(/st-key-([a-z]+-)/)?.[1],
         each.getAttribute("aria-keyshortcuts")]))""")


@pytest.mark.at_length
@pytest.mark.parametrize(("path", "name"), [("runs", "Logs"), ("studies?new=1", "Design file (YAML)")])
def test_a_field_for_files_has_a_name_and_nothing_beside_it_is_a_fault(serve, open_page, settled, path, name):
    page, address = open_page(), serve()
    page.context.add_cookies([cookie(address, signed_in("Grace"))])
    page.goto(f"{address}/{path}")
    page.locator("h1").wait_for()
    settled(page)
    if path != "runs":
        page.get_by_role("tab", name="YAML").click()
    page.get_by_role("group", name=name, exact=True).wait_for()
    settled(page)
    assert faults(page) == []


@pytest.mark.at_length
def test_axe_finds_nothing_on_the_way_through_a_study(desk, open_page, settled):
    refuse(study_faults(open_page(), desk, settled, THEMES))


@pytest.mark.at_length
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_in_any_width_and_theme(desk, open_page, settled, width, theme):
    page = open_page(width=width, height=800, theme=theme)
    visited = {path: faults(page) for path in open_all(page, desk, settled, TITLES | FURTHER)}
    visited |= study_faults(page, desk, settled, [theme])
    print(f"{width} px, {theme}: {len(visited)} pages, {sum(map(len, visited.values()))} faults")
    refuse(visited)
