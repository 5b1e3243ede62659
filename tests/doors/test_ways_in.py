"""Every adversary at every way into a console that really listens; `ways_in.yaml` says what each is answered."""

import http.client
import json
import secrets
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.routing import Route

from console.auth import sessions
from console.database import now_ms, reading
from console.gate import Gate
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.server.api.routes import API
from console.settings import settings
from console.trajectory import Label
from storage import tables
from tests.at_home import at_home
from tests.doors import table
from tests.doors.adversaries import API_TOKEN, Site, headers_of, study_code
from tests.doors.streamlit_socket import Refused, Tab
from tests.serving import serving
from tests.signing_in import invitation, signed_in
from tests.sweeps import sweep
from tests.verdicts import a_run, judge

ROUTES, API_ROUTES, PAGES = table.TABLE["routes"], table.TABLE["api"], table.TABLE["pages"]
ADVERSARIES = [name for members in table.GROUPS.values() for name in members]
ROLES = table.GROUPS["signed in"]


class Console:
    """The running console, a check that waits in it, and the routes that it answers."""

    def __init__(self, server, app_routes, code, another):
        self.server, self.site, self.app_routes, self.code = server, Site(server.port), app_routes, code
        self.another = another
        self.its_agent = server.client.headers["Authorization"]

    def new_check(self):
        """The id of a check that its agent waits for."""
        return self.server.client.post("/checks", json=self.question()).json()["check_id"]

    def question(self):
        """A check that asks a person."""
        action = {"name": "pay", "arguments": {"amount": 1}}
        return {
            "run": "bot",
            "task": "Pay.",
            "task_id": secrets.token_hex(4),
            "steps": [],
            "action": action,
            "detector": "full-validation",
        }


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    data = tmp_path_factory.mktemp("doors") / "data"
    with at_home(data), serving(data, INFERACT_API_TOKEN=API_TOKEN) as server:
        routes = tmp_path_factory.mktemp("routes") / "routes.json"
        listing = table.start_listing(routes)
        Gate("desk", "full-validation", reviews_per_item=3, undo_s=0).ask(
            "Refund order 12.", [], "refund_order({})", task_id="a"
        )
        signed_in("Zoe")
        with reading() as session:
            (theirs,) = sessions.open_sessions(session, now_ms(), "Zoe")
        yield Console(server, table.listed(listing, routes), study_code(places=2 * len(ADVERSARIES)), theirs.id)


@pytest.fixture(autouse=True)
def same_database(console, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(console.server.data))
    settings.cache_clear()


def headers(console, adversary):
    if adversary == "its agent":
        return {"Host": console.site.host, "Authorization": console.its_agent}
    return headers_of(adversary, console.site)


def address(console, path, check_id):
    """The path with something that is there in its slots, as far as a stranger may know of it."""
    slots = {"{token}": invitation() if "{token}" in path else "", "{check_id}": check_id, "{a page}": "review"}
    slots |= {"{file}": "x.js", "{path}": "x/y.js", "{session_id}": "a", "{file_id}": "0" * 56}
    for slot, value in slots.items():
        path = path.replace(slot, value)
    return path


def body(console, way):
    """What a request of that way sends."""
    if way == "POST /api/v1/checks":
        return json.dumps(console.question())
    if way.startswith("POST /api"):
        return json.dumps({"observation": "done"})
    return (
        urlencode({"name": secrets.token_hex(4), "code": console.code, "id": console.another})
        if way.startswith("POST")
        else None
    )


def answers(console, adversary, ways):
    """The status that the adversary is answered at each way."""
    shown, found = headers(console, adversary), {}
    check_id = console.new_check()
    connection = http.client.HTTPConnection("127.0.0.1", console.site.port, timeout=30)
    for way in ways:
        method, _, path = way.partition(" ")
        if method == "WEBSOCKET":
            found[way] = socket_status(console, shown)
            continue
        more = {"Accept": "text/html"} if "{a page}" in path else {}
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
        where = address(console, path, check_id)
        # Whoever signs out or ends a session here would be nobody in the next line.
        own = headers(console, adversary) if path == "/sign-out" else shown
        connection.request("GET" if method == "ANY" else method, where, body(console, way), own | more | kind)
        answer = connection.getresponse()
        answer.read()
        found[way] = answer.status
    connection.close()
    return found


def socket_status(console, shown):
    try:
        with Tab(console.site.port, shown):
            return 101
    except Refused as refused:
        return refused.args[0]


def test_every_way_that_the_code_has_stands_in_the_table(console):
    assert table.without_row(table.routes_of(console.app_routes), "routes") == []
    assert table.without_row(table.routes_of_api(console.app_routes, API), "api") == []


def test_a_way_that_is_added_without_a_row_is_named(console):
    more = [*console.app_routes, (["GET", "HEAD"], "/backdoor")]
    (said,) = table.without_row(table.routes_of(more), "routes")
    assert said.startswith("'GET /backdoor' has no row in tests/doors/ways_in.yaml, routes")
    api = FastAPI(
        openapi_url=None, routes=[*API.routes, Route("/api/v1/decisions", lambda request: None, methods=["POST"])]
    )
    (said,) = table.without_row(table.routes_of_api(console.app_routes, api), "api")
    assert said.startswith("'POST /api/v1/decisions' has no row")
    (said,) = table.without_row([*PAGES, "backdoor"], "pages")
    assert said.startswith("'backdoor' has no row in tests/doors/ways_in.yaml, pages")
    (said,) = table.without_row([way for way in ROUTES if way != "GET /join"], "routes")
    assert said.startswith("'GET /join' in tests/doors/ways_in.yaml, routes is no way in any more")


@sweep("adversary", ADVERSARIES, kept=6)
def test_everybody_is_answered_as_the_table_says(console, adversary):
    assert answers(console, adversary, ROUTES) == {way: table.expected(row, adversary) for way, row in ROUTES.items()}


@sweep("adversary", [*ADVERSARIES, "its agent"], kept=6)
def test_the_api_answers_as_the_table_says(console, adversary):
    wanted = {way: table.expected(row, adversary) for way, row in API_ROUTES.items()}
    assert answers(console, adversary, API_ROUTES) == wanted


def test_every_page_of_every_role_stands_in_the_table(console):
    found = {}
    for role in ROLES:
        with Tab(console.site.port, headers(console, role)) as tab:
            found[role] = list(tab.open().pages)
    assert table.without_row({page for pages in found.values() for page in pages}, "pages") == []
    assert {role: {page for page, row in PAGES.items() if role in row} - set(found[role]) for role in ROLES} == {
        role: set() for role in ROLES
    }


@sweep("role", ROLES, kept=2)
def test_each_page_shows_each_role_what_the_table_says(console, role):
    with Tab(console.site.port, headers(console, role)) as tab:
        for page, row in PAGES.items():
            if role in row:
                assert row[role] in tab.open(page, run="desk").words, page


@pytest.mark.parametrize("role", ["reviewer", "participant"])
def test_a_page_of_others_has_nothing_to_press_or_to_fetch(console, role):
    with Tab(console.site.port, headers(console, "researcher")) as tab:
        theirs = tab.open("export", run="desk")
    with Tab(console.site.port, headers(console, role)) as tab:
        for page, row in PAGES.items():
            if "is for researchers" in row.get(role, "") or "not part of the study" in row.get(role, ""):
                shown = tab.open(page, run="desk")
                assert (set(shown.buttons) - {"sign-out", "agents-open"}, shown.deferred) == (set(), {})
        pressed = tab.press(next(iter(theirs.buttons.values())))
        assert not pressed.deferred


def test_a_file_that_a_page_made_opens_as_the_table_says(console):
    (row,) = table.TABLE["downloads"].values()
    with Tab(console.site.port, headers(console, "researcher")) as tab:
        path = tab.file_of(tab.open("export", run="desk").deferred["download"])
        assert path.startswith("/media/")
        found = {}
        for adversary in ADVERSARIES:
            connection = http.client.HTTPConnection("127.0.0.1", console.site.port, timeout=30)
            connection.request("GET", path, headers=headers(console, adversary))
            found[adversary] = connection.getresponse().status
            connection.close()
    assert found == {adversary: table.expected(row, adversary) for adversary in ADVERSARIES}


@sweep("role", ROLES, kept=1)
def test_a_made_up_download_makes_no_file(console, role):
    with Tab(console.site.port, headers(console, role)) as tab:
        tab.open()
        with pytest.raises(Refused, match="file"):
            tab.file_of("0" * 32)


def test_a_download_of_study_results_is_recorded_before_it_leaves(console):
    code = study_code(places=1)
    with reading() as session:
        study = session.exec(select(tables.Study).where(tables.Study.join_code == code)).one().name
    with Tab(console.site.port, headers(console, "researcher")) as tab:
        files = tab.open("studies", study=study, section="report").deferred
        assert httpx.get(f"{console.site.origin}{tab.file_of(files['tables-zip'])}").status_code == 401
    with reading() as session:
        event = audit_trail.list_entries(session, AuditFilter(kind="study exported"))[0]
    said = audit_trail.entry_sentence(event)
    assert said == f"Sam exported “{study}-tables.zip” of the study “{study}”, in the browser."


@pytest.mark.at_length
@sweep(
    ("button", "file"),
    [("scores-csv", "scores.csv"), ("chart-score-histogram-rules-html", "score-histogram-rules.html")],
    kept=1,
)
def test_a_download_of_the_detectors_page_is_recorded_before_it_leaves(console, button, file):
    run_name = a_run(f"shop-{secrets.token_hex(4)}", [Label.MISALIGNED, Label.ALIGNED] * 2)
    judge(run_name, "rules", [0.9, 0.2, 0.8, 0.6])
    with Tab(console.site.port, headers(console, "researcher")) as tab:
        tab.file_of(tab.open("detectors", run=run_name).deferred[button])
    with reading() as session:
        event = audit_trail.list_entries(session, AuditFilter(kind="exported"))[0]
    said = audit_trail.entry_sentence(event)
    assert said == f"Sam exported the file “{run_name}-{file}” of “{run_name}”, in the browser."


def test_a_download_of_the_audit_is_recorded_and_stands_in_it(console):
    with Tab(console.site.port, headers(console, "researcher")) as tab:
        path = tab.file_of(tab.open("export", run="desk").deferred["audit_download"])
        file = httpx.get(f"{console.site.origin}{path}", headers=headers(console, "researcher"))
    with reading() as session:
        event = audit_trail.list_entries(session, AuditFilter(kind="exported"))[0]
    assert audit_trail.entry_sentence(event) == "Sam exported the file “audit.csv”, in the browser."
    assert audit_trail.entry_sentence(event) in file.text


def test_the_link_that_serve_prints_is_recorded(console):
    with reading() as session:
        (event,) = audit_trail.list_entries(session, AuditFilter(kind="person invited"))
    assert (event.door, event.after) == ("cli", "admin,researcher,reviewer")
    assert audit_trail.entry_sentence(event).endswith(
        "invited the first person who opens the link, on the command line."
    )
