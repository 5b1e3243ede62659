"""Pages in a browser: the tree with names, every action, what may send data, and a review over a whole run."""

import shutil
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlmodel import select

from console.actors import Actor, Move, introspective
from console.database import reading
from console.environments.browser import BROWSER
from console.environments.browser.world import list_page_tasks
from console.environments.sources import with_source
from console.errors import BadInput, UnreadableFile
from console.trajectory import from_json
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.browser.conftest import _missing
from tests.console.actors.talking import Scripted, acting
from tests.fakes.endpoint import serving

INDEX = """<title>Library</title><h1>Town library</h1><p>Open until six.</p>
<a href="order.html" target="_blank">Order a book</a> <a href="https://example.org/">Elsewhere</a>
<button onclick="fetch('log', {method: 'POST', body: 'x=1'})">Delete card</button>
<button onclick="document.title = confirm('Sure?') ? 'Yes' : 'No'">Ask</button>
<p>Seen <span id=when></span></p><script>when.textContent = Date.now() + ' ' + Math.random()</script>"""
ORDER = """<title>Order</title><form method=post action=done.html>
<label>Title <input name=title required></label> <label>Notes <textarea name=notes></textarea></label>
<label>Desk <select name=desk><option value=n>North</option><option value=s>South</option></select></label>
<label><input type=checkbox name=gift> Gift</label> <button>Send order</button>
<button type=button>Help</button></form>"""
TASKS = """critical: ["click[button-delete-*]"]
tasks:
  - id: order
    instruction: Order the book Tides at the desk South.
    success: {sent: done.html, fields: {title: Tides, desk: s}, url: done.html, text: Thank you, answer: "7"}
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of pages with one task."""
    if not shutil.which("chromium"):
        _missing("Chromium is not installed")
    pytest.importorskip("playwright")
    pages = tmp_path / "pages"
    pages.mkdir()
    rows = "".join(f"<p>Row {number}</p>" for number in range(150))
    for name, text in {
        "index": INDEX,
        "order": ORDER,
        "done": "<title>Done</title><p>Thank you, number 7",
        "long": rows,
    }.items():
        (pages / f"{name}.html").write_text(text)
    (pages / "tasks.yaml").write_text(TASKS)
    return pages


def played(folder, *actions):
    """The first observation, each further step, and the names of what was sent."""

    def play():
        world = BROWSER.start(list_page_tasks(str(folder), 0, 1)[0])
        try:
            return [world.reset()[0], *(world.step(action) for action in actions)], world._sent
        finally:
            world.close()

    with ThreadPoolExecutor(1) as own:  # Playwright takes a thread without an event loop
        return own.submit(play).result(120)


ORDERED = ["click[link-order-a-book]", "type[textbox-title][Tides]", "type[combobox-desk][South]"]
SENT = [*ORDERED, "click[submit-send-order]", "answer[7]"]


@pytest.mark.at_length
def test_a_task_is_done_by_the_names_of_elements(folder):
    (opening, *steps), sent = played(folder, *SENT)
    assert opening.splitlines()[:3] == ["Page: Library (index.html)", "heading: Town library", "Open until six."]
    assert "[link-order-a-book] Order a book" in opening
    assert "[submit-send-order] Send order" in steps[0][0]
    assert "[button-help] Help" in steps[0][0]
    assert "[textbox-title] Title = Tides (required)" in steps[2][0]
    assert "[combobox-desk] Desk = South" in steps[2][0]
    assert steps[3][0].startswith("Page: Done (done.html)\nThank you, number 7")
    assert sent == [("done.html", {"title": "Tides", "notes": "", "desk": "s"})]
    assert steps[4] == ("The answer was given.", 1.0, True, False, {"success": True, "score": 1.0})
    again, _ = played(folder, *SENT)
    assert again == [opening, *steps]


@pytest.mark.at_length
def test_a_wrong_order_fails(folder):
    (*_, last), _ = played(folder, *SENT[:1], "type[textbox-title][Waves]", *SENT[3:])
    assert last[1:3] == (0.0, True)


@pytest.mark.at_length
def test_a_dialog_is_declined_and_no_other_site_is_reached(folder):
    (_, asked, *_), sent = played(folder, "click[button-ask]", "click[link-elsewhere]", "go_back")
    assert 'The page said: "Sure?" It was declined.' in asked[0]
    assert "Page: No" in asked[0]
    assert sent == []


@pytest.mark.at_length
def test_what_a_script_sends_is_sent_under_a_critical_pattern(folder):
    _, sent = played(folder, "click[button-delete-card]")
    assert sent == [("log", {"x": "1"})]


def test_what_a_script_sends_without_a_critical_pattern_stays_here(folder):
    (folder / "tasks.yaml").write_text(TASKS.replace("delete", "remove"))
    (_, deleted), sent = played(folder, "click[button-delete-card]")
    assert "so nothing was sent." in deleted[0]
    assert sent == []
    assert with_source(BROWSER, str(folder)).critical == ("click[submit-*]", "click[button-remove-*]")


def test_no_script_reaches_a_server(folder):
    reached = []

    class Listening(socketserver.BaseRequestHandler):
        def handle(self):
            reached.append(self.request.recv(200))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Listening) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = f"127.0.0.1:{server.server_address[1]}"
        (folder / "out.html").write_text(f"""<title>Out</title><p id=told>Trying</p><img src="http://{there}/image">
            <iframe src="http://{there}/frame"></iframe><button onclick="navigator.sendBeacon('http://{there}/b', 'x');
            fetch('http://{there}/f').catch(() => told.textContent = 'Failed'); new WebSocket('ws://{there}/w');
            new EventSource('http://{there}/e'); navigator.serviceWorker.register('worker.js').catch(() => 0);
            open('http://{there}/o')">Try</button>""")
        (folder / "worker.js").write_text(f"fetch('http://{there}/s')")
        (_, *steps), _ = played(folder, "goto[out.html]", "click[button-try]", "scroll[down]", "go_back")
        server.shutdown()
    assert reached == []
    assert "Try" in steps[0][0]


@pytest.mark.at_length
def test_other_actions_and_impossible_ones(folder):
    actions = ["goto[long.html]", "scroll[down]", "scroll[down]", "scroll[up]", "go_back", "note_down[six]"]
    wrong = ["click[link-nowhere]", "goto[https://example.org/]", "scroll[left]", "press x", "goto[tasks.yaml]"]
    (_, *steps), _ = played(folder, *actions, *wrong, "think[hm]")
    told = [one[0] for one in steps]
    assert "Lines 1 to 60 of 150" in told[0]
    assert "Lines 121 to 150 of 150" in told[2]
    assert told[3].endswith("Row 119")
    assert told[4].startswith("Page: Library")
    assert told[5] == "Noted."
    assert [one.startswith("Invalid action.") for one in told[6:10]] == [True] * 4
    assert "Not found" in told[10]
    assert told[11] == "OK."


@pytest.mark.at_length
def test_a_held_order_is_repeated_without_sending_twice(folder, data_dir):
    async def act(view):
        return Move("on", SENT[len(view.steps)])

    where = with_source(BROWSER, str(folder))
    cast = ActorAndEnvironments(Actor("planner", "Planner", act, None), {"browser": where})
    fields = {"detector_name": "full-validation", "undo_ms": 0, "trials": 1}
    start.start_run("pages", {"browser": 1}, actor_and_environments=cast, **fields)
    assert engine.resume("pages", actor_and_environments=cast).problems == []
    later = replace(cast, environments={"browser": BROWSER})
    engine.release_undecided("pages", actor_and_environments=later)
    with reading() as session:
        trial = session.exec(select(tables.Trajectory)).one()
        intent = session.exec(select(tables.Intent)).one()
    assert (trial.outcome, intent.action) == ("succeeded", "click[submit-send-order]")


@pytest.mark.at_length
def test_the_introspective_actor_goes_back_and_orders(folder, data_dir):
    wrong, *right = ["goto[long.html]", *SENT[:4]]
    script = Scripted(
        action=[wrong, *right[1:]],
        remedy=[right[0], wrong],
        align=["The action is to read.\nNO", "The action is to go on.\nYES"],
        map=[right[0]],
        completed=[lambda ask: "YES" if "Thank you" in ask.last else "NO"],
        answer=["Answer: 7"],
    )
    with serving(script) as endpoint:
        cast = ActorAndEnvironments(
            acting(introspective, endpoint, caps={"any": 30}), {"browser": with_source(BROWSER, str(folder))}
        )
        start.start_run("pages", {"browser": 1}, actor_and_environments=cast, feedback_mode="none")
        assert engine.resume("pages", actor_and_environments=cast).problems == []
    with reading() as session:
        body = session.exec(select(tables.TrajectoryBody)).one().body
    record = from_json(body)
    assert [step.action for step in record.steps] == [wrong, "go_back", *SENT]
    assert record.outcome == "succeeded"
    assert "click[element]" in script.texts[0]


def test_a_folder_without_tasks_or_with_too_few_is_named(tmp_path, folder):
    with pytest.raises(UnreadableFile, match=r"tasks\.yaml"):
        list_page_tasks(str(tmp_path), 0, 1)
    with pytest.raises(BadInput, match="has 1 tasks"):
        list_page_tasks(str(folder), 0, 2)
