"""A browser world: pages as their accessibility tree, with names of elements that actions use.

The pages and the tasks come from a folder: `tasks.yaml` beside HTML files, which the world serves to its own browser.

Chromium shows a folder of pages and reaches nothing else. The world answers a sent form with the page at the form's
address and keeps its fields. Only a critical action can send data: if the script of a page sends data after another
action, nothing is sent. Clock and random numbers of pages are fixed, so that repeated actions show the same pages.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from console.environments.environment import TaskSpec, World
from console.errors import BadInput, UnreadableFile
from console.trajectory.checkpoints import is_critical, is_thought
from console.trajectory.strict_yaml import read_yaml

TASKS = "tasks.yaml"
FOLDER, START, CRITICAL = "folder", "start", "critical"
"""The options of a task: its folder, its first page, and the patterns of the buttons that may send data."""


@dataclass(frozen=True, slots=True)
class PageGoal:
    """The conditions of success; an empty condition always holds.

    `sent` is the address of a form that was sent with these `fields`. `url` is the address of the last page, and `text`
    a text on this page. `answer` is compared without case.
    """

    sent: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    text: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PageTask:
    """A task: an instruction, the first page, and the conditions of success."""

    id: str
    instruction: str
    success: PageGoal
    start: str = "index.html"


@dataclass(frozen=True, slots=True)
class PageTasks:
    """The content of `tasks.yaml`; `critical` names buttons beside those that send a form."""

    tasks: Sequence[PageTask]
    critical: Sequence[str] = ()


def read_page_tasks(folder: str) -> PageTasks:
    """Return the tasks of a folder; raise UnreadableFile if its tasks.yaml is missing or invalid."""
    path = Path(folder).expanduser().absolute() / TASKS
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as missing:
        raise UnreadableFile(str(path), "a folder of pages needs this file. Write the file") from missing
    return read_yaml(text, PageTasks, str(path))


def list_page_tasks(folder: str, seed: int, count: int) -> list[TaskSpec]:
    """Return the first tasks of a folder; raise BadInput if the folder has too few."""
    found = read_page_tasks(folder)
    if count > len(found.tasks):
        raise BadInput(f"{folder} has {len(found.tasks)} tasks. Use --tasks {len(found.tasks)} or fewer.")
    where = {FOLDER: str(Path(folder).expanduser().absolute()), CRITICAL: list(found.critical)}
    return [
        TaskSpec(one.id, "browser", one.instruction, {"success": asdict(one.success)}, {**where, START: one.start})
        for one in found.tasks[:count]
    ]


def is_reached(goal: Mapping[str, Any], seen: Mapping[str, Any], sent: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Return whether a task's conditions hold; `seen` has the last page's url and text, and the answer."""
    wanted = [goal["url"] in ("", seen["url"]), _squeeze(goal["text"]) in _squeeze(seen["text"])]
    wanted.append(not goal["answer"] or _squeeze(goal["answer"]).lower() == _squeeze(seen["answer"]).lower())
    fields = goal["fields"].items()
    wanted.append(not goal["sent"] or any(to == goal["sent"] and fields <= form.items() for to, form in sent))
    return all(wanted)


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


SUBMISSION, GO_BACK = "click[submit-*]", "go_back"
INVALID = "Invalid action."
_SITE = "http://pages.invalid/"
_CALL = re.compile(r"(click|scroll|goto|note_down|answer)\[(.*)\]", re.DOTALL)
_TYPE = re.compile(r"type\[([^\[\]]*)\]\[(.*)\]", re.DOTALL)
_LOOKS, _PAUSE_MS = 60, 50
_LINES = 60
"""The number of lines of a page that are shown at a time."""
_ACTED_ON = frozenset({"button", "checkbox", "combobox", "link", "menuitem", "radio", "searchbox", "slider"})
_ACTED_ON |= {"spinbutton", "switch", "tab", "textbox"}
_SILENT = frozenset({"generic", "none", "InlineTextBox", "RootWebArea", "LineBreak", "ListMarker", "MenuListPopup"})
_ALONE = [
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-preconnect",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
]
"""Chromium's options against connections that bypass the request handlers, such as connections opened in advance."""
_FIXED = """
  let seed = 1; Math.random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
  const then = 1700000000000, RealDate = Date;
  Date = class extends RealDate { constructor(...given) { given.length ? super(...given) : super(then); } };
  Date.now = () => then; window.open = url => { location.href = url; };
"""
_SENDS = """function() {
  const form = this.form, isSubmit = ['submit', 'image'].includes(this.type);
  return !!form && isSubmit && (this.getAttribute('formmethod') || form.method).toLowerCase() === 'post'; }"""
_PRESS = "function() { this.removeAttribute('target'); this.scrollIntoView(); this.click(); return true; }"
_FILL = """function(text) {
  this.focus();
  if (this.tagName === 'SELECT') {
    const found = [...this.options].find(one => one.text.trim() === text);
    if (!found) return false;
    this.value = found.value;
  } else if ('value' in this) {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this), 'value').set.call(this, text);
  } else if (this.isContentEditable) { this.textContent = text; } else return false;
  for (const kind of ['input', 'change']) this.dispatchEvent(new Event(kind, {bubbles: true}));
  return true; }"""


class BrowserWorld(World):
    """The world of one task in a folder of pages, in a Chromium of its own."""

    def __init__(self, task: TaskSpec) -> None:
        self._task, self._folder = task, Path(str(task.options[FOLDER])).resolve()
        self._patterns = (SUBMISSION, *task.options[CRITICAL])
        self._playwright: Any = None

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Open the first page in a new browser; raise BadInput if Playwright or Chromium is missing."""
        self.close()
        self._sent: list[tuple[str, dict[str, str]]] = []
        self._told: list[str] = []
        self._named: dict[str, int] = {}
        self._may_send, self._success, self._top = False, False, 0
        self._answer: str | None = None
        self._playwright, browser = _launch()
        view = {"viewport": {"width": 1280, "height": 900}, "service_workers": "block"}
        context = browser.new_context(locale="en-GB", timezone_id="UTC", **view)
        context.add_init_script(_FIXED)
        context.route("**/*", self._serve)
        context.route_web_socket("**/*", lambda socket: socket.close())
        self._page = context.new_page()
        context.on("page", lambda other: other.close())
        self._page.on("dialog", self._reply)
        self._devtools = context.new_cdp_session(self._page)
        self._open(str(self._task.options[START]))
        return self._show(), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action; an impossible action returns an explanation and changes nothing."""
        action = action.strip()
        self._may_send, self._told = is_critical(action, self._patterns), []
        told = "The task has been answered." if self._answer is not None else self._run(action)
        info = self._info()
        return "\n".join([*self._told, told]), info["score"], self._answer is not None, False, info

    def close(self) -> None:
        """Close the browser."""
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            playwright.stop()

    def _info(self) -> dict[str, Any]:
        return {"success": self._success, "score": float(self._success)}

    def _run(self, action: str) -> str:
        if is_thought(action):
            return "OK."
        if action == GO_BACK:
            return self._show() if self._page.go_back() else f"{INVALID} This is the first page."
        if typed := _TYPE.fullmatch(action):
            return self._act_on(typed[1], _FILL, " ".join(typed[2].splitlines()))
        call = _CALL.fullmatch(action)
        if call is None:
            return f"{INVALID} Use click, type, scroll, goto, go_back, note_down or answer in their exact form."
        name, argument = call[1], call[2].strip()
        if name == "note_down":
            return "Noted."
        if name == "answer":
            return self._end(argument)
        if name == "click":
            return self._act_on(argument, _PRESS)
        if name == "goto":
            return self._show() if self._open(argument) else f"{INVALID} {argument} is not a page of this site."
        if argument not in ("up", "down"):
            return f"{INVALID} Scroll up or down."
        return self._show(self._top + (_LINES if argument == "down" else -_LINES))

    def _end(self, answer: str) -> str:
        self._answer = answer
        seen = {"url": self._address(self._page.url), "text": self._page.inner_text("body"), "answer": answer}
        self._success = is_reached(self._task.gold["success"], seen, self._sent)
        return "The answer was given."

    def _open(self, address: str) -> bool:
        url = urljoin(_SITE, address)
        if not url.startswith(_SITE):
            return False
        self._page.goto(url)
        return True

    def _act_on(self, name: str, function: str, *given: str) -> str:
        node = self._named.get(name)
        if node is None:
            return f"{INVALID} This page has no element {name!r}."
        before = self._page.url
        if self._call(node, function, *given) is not True:
            return f"{INVALID} {name!r} cannot be filled with this text."
        return self._show(self._top, before)

    def _call(self, node: int, function: str, *given: str) -> Any:
        found = self._devtools.send("DOM.resolveNode", {"backendNodeId": node})["object"]["objectId"]
        asked = {"functionDeclaration": function, "objectId": found, "arguments": [{"value": one} for one in given]}
        return self._devtools.send("Runtime.callFunctionOn", {**asked, "returnByValue": True})["result"].get("value")

    def _show(self, top: int = 0, before: str | None = None) -> str:
        """Return the page's title, address and tree from line `top` on; from the first if `before` is another page."""
        lines = self._read_settled_tree()
        top = 0 if before not in (None, self._page.url) else top
        self._top = max(0, min(top, (len(lines) - 1) // _LINES * _LINES))
        shown = lines[self._top : self._top + _LINES]
        head = f"Page: {self._page.title()} ({self._address(self._page.url)})"
        if len(lines) > _LINES:
            head += f"\nLines {self._top + 1} to {self._top + len(shown)} of {len(lines)}; scroll for the others."
        return "\n".join([head, *shown])

    def _read_settled_tree(self) -> list[str]:
        """Return the lines of the tree when two looks agree, and remember the names of its elements."""
        lines: list[str] = []
        for _ in range(_LOOKS):
            self._page.wait_for_timeout(_PAUSE_MS)
            self._page.wait_for_load_state()
            before, self._named = lines, {}
            lines = list(self._describe())
            if lines and lines == before:
                break
        return lines

    def _describe(self) -> Iterator[str]:
        nodes = self._devtools.send("Accessibility.getFullAXTree")["nodes"]
        by_id, used, last = {one["nodeId"]: one for one in nodes}, Counter[str](), [""]

        def walk(node: dict[str, Any], depth: int, parent: str) -> Iterator[str]:
            role, name = (" ".join(str(node.get(key, {}).get("value", "")).split()) for key in ("role", "name"))
            is_shown = not node.get("ignored") and role not in _SILENT and (name or role in _ACTED_ON)
            # Chromium leaves out the label beside an element or repeats it, as it happens.
            if is_shown and not (role == "StaticText" and (name in parent or name == last[0])):
                last[0] = name if role in _ACTED_ON else ""
                yield "  " * depth + self._line(node, role, name, used)
                depth += 1
            for child in node.get("childIds", ()):
                if child in by_id:
                    yield from walk(by_id[child], depth, name if is_shown else parent)

        yield from walk(nodes[0], 0, "")

    def _line(self, node: Mapping[str, Any], role: str, name: str, used: Counter[str]) -> str:
        if role not in _ACTED_ON:
            return name if role == "StaticText" else f"{role}: {name}"
        backend = node["backendDOMNodeId"]
        kind = "submit" if role == "button" and self._call(backend, _SENDS) else role
        plain = "-".join([kind, *re.findall(r"[^\W_]+", name.lower())])[:60]
        used[plain] += 1
        label = plain if used[plain] == 1 else f"{plain}-{used[plain]}"
        self._named[label] = backend
        states = [str(one["name"]) for one in node.get("properties", ()) if one["value"].get("value") in (True, "true")]
        told = [one for one in states if one in ("checked", "selected", "disabled", "expanded", "pressed", "required")]
        value = str(node.get("value", {}).get("value", ""))
        return " ".join([f"[{label}]", name, *([f"= {value}"] if value else []), *(f"({one})" for one in told)]).strip()

    def _address(self, url: str) -> str:
        return url.removeprefix(_SITE).partition("#")[0] or "index.html"

    def _reply(self, dialog: Any) -> None:
        confirmed = self._may_send or dialog.type == "alert"
        self._told.append(f'The page said: "{dialog.message}" It was {"confirmed" if confirmed else "declined"}.')
        dialog.accept() if confirmed else dialog.dismiss()

    def _serve(self, route: Any) -> None:
        """Serve a request from the folder. Refuse other sites, and any data unless a critical action sends them."""
        request = route.request
        address, is_reading = unquote(urlsplit(request.url).path.lstrip("/")), request.method in ("GET", "HEAD")
        if not request.url.startswith(_SITE) or not (is_reading or self._may_send):
            if request.url.startswith(_SITE):
                self._told.append(
                    "The page tried to send data. No critical pattern names this action, so nothing was sent."
                )
            route.abort()
            return
        if not is_reading:
            self._sent.append((address, dict(parse_qsl(request.post_data or "", keep_blank_values=True))))
        path = (self._folder / (address or "index.html")).resolve()
        if path.is_file() and path.is_relative_to(self._folder) and path.suffix not in (".yaml", ".yml"):
            route.fulfill(path=str(path))
        else:
            route.fulfill(status=404, content_type="text/html", body="<title>Not found</title><p>No such page.</p>")


def _launch() -> tuple[Any, Any]:
    """Return a running Playwright and its Chromium."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        started = import_module("playwright.sync_api").sync_playwright().start()
    except ImportError as missing:
        raise BadInput(
            "The browser world needs Playwright and Chromium. Run: pip install 'inferact-console[browser]'"
        ) from missing
    try:
        return started, started.chromium.launch(executable_path=path, args=_ALONE)
    except Exception as failed:
        started.stop()
        raise BadInput("Chromium cannot start. Run: playwright install chromium") from failed
