"""No text of a reviewer's or participant's page stands outside the catalogue."""

import ast
import re
from pathlib import Path

import pytest

from tests.catalogue import KEYWORDS, ROOT

WEB = ROOT / "console" / "web"
ROOMS = (
    *sorted((WEB / "review").glob("*.py")),
    *sorted((WEB / "participant").glob("*.py")),
    *sorted((WEB / "widgets").rglob("*.py")),
    *(
        WEB / "pages" / f"{page}.py"
        for page in ("review", "inbox", "answers", "ratings", "help", "participate", "people", "notices", "refused")
    ),
    *(ROOT / "console" / "studies" / "sessions" / f"{module}.py" for module in ("steps", "answering")),
    *(ROOT / "console" / "studies" / "sessions" / f"{module}.py" for module in ("joining", "position", "withdrawal")),
    *(WEB / f"{module}.py" for module in ("sign_in", "run_picker", "visitor_language")),
    *(ROOT / "console" / "auth" / f"{module}.py" for module in ("people", "invitations", "sessions")),
    *sorted((ROOT / "console" / "server" / "sign_in").glob("*.py")),
    *(
        ROOT / "console" / "review" / f"{module}.py"
        for module in ("feedback_outcomes", "resolution", "decisions", "edits")
    ),
    *(
        ROOT / "console" / "review" / f"{module}.py"
        for module in ("edit_fields", "inbox", "decision_details", "blinding")
    ),
)

ALLOWED = {
    # Pages and parts of them that only researchers open.
    "console/web/widgets/chart.py": "researchers' charts",
    "console/web/widgets/tables.py": "researchers' tables",
    "console/web/widgets/trial_history.py": {"lineage_html", "_lineage_trial", "_memory", "_answer"},
    # Never drawn.
    "console/auth/sessions.py": {"<module>"},  # names of browsers
    "console/server/sign_in/participants.py": {"take_events", "show_consent", "_consent"},  # to a script; a file's name
    "console/web/sign_in.py": {"_accept"},  # the name of a session's browser
    "console/web/review/worked_item.py": {"<module>"},  # an agent's record, which is never translated
    "console/web/widgets/browser.py": {"set_cookie"},
    "console/studies/sessions/joining.py": {"invite"},  # told to researchers
    "console/review/inbox.py": {"explain_empty_queue"},  # told to researchers
    "console/studies/sessions/steps.py": {"<module>"},  # the kind of an event
    "console/studies/sessions/withdrawal.py": {"withdraw"},  # told to whoever made the mistake
    "console/auth/people.py": {"as_roles", "change_group"},  # told to operators
    "console/server/sign_in/organisation.py": {"provider", "on_the_way", "_client", "NotLetIn"},  # told to operators
    "console/server/sign_in/sign_in_pages.py": {"_whoami"},  # an answer to a script
    # Told to researchers and to agents.
    "console/review/decision_details.py": {
        "_place",  # to the agent
        *("set_reasons", "_check", "parse_question", "set_questions", "describe_marks", "list_marks"),
    },
    # What is wrong with an agent's own schema is told to agents.
    "console/review/edits.py": {"check_tool_schema", "_check_cost", "_fits_pattern", "_bounded"},
}
"""Files, or functions in them, whose texts are not in the catalogue, and why."""

NAMES = re.compile(r"InferAct Console|`inferact \w+`")
TAG, ATTRIBUTE = re.compile(r"<[^<>]*>"), re.compile(r"[\w-]+=\"[^\"]*\"?")
DRAWS = {"title", "header", "subheader", "caption", "button", "key_button", "text", "write", "text_input", "text_area"}
DRAWS |= {"toggle", "selectbox", "radio", "checkbox", "pills", "popover", "segmented_control", "markdown", "dialog"}
VALUE = "\x00"
NOT_READ = {"compile", "strftime", "record", "count_wrong", "warning", "exception", "Unknown"}
"""What is called with words that no person reads on a page, or only who types an address: patterns, audit log, logs."""


def _text(node):
    """The text of a literal, with a sign in place of each value in it; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(each.value if isinstance(each, ast.Constant) else VALUE for each in node.values)
    return None


def _is_drawn(text, node, parent):
    """Whether a person would read words of the literal."""
    text = NAMES.sub("", text)
    if re.search("[“”„]", text):
        return True
    if "<" in text or '="' in text:
        return bool(re.search(r"[^\W\d_]{2}", re.sub(r"&\w+;", "", ATTRIBUTE.sub("", TAG.sub("", text)))))
    if re.search(r"[^\W\d_]+[,:;.…]? [^\W\d_]", text):
        return not all(word.startswith(("ia-", VALUE)) for word in text.split())
    draws = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in DRAWS
    said = draws and (
        node is (parent.args or [None])[0] or any(k.value is node and k.arg == "label" for k in parent.keywords)
    )
    return bool(said and re.search(r"[^\W\d_]{2}", text.replace(VALUE, "")))


def _literals(path):
    """(function, line, text) of each literal that somebody would read and that no catalogue can have."""
    tree = ast.parse(path.read_text("utf-8"))

    def walk(node, function, parent):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name if function == "<module>" else function
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in NOT_READ:
            return
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["StrEnum"]:
            return  # drawn by name: `_names` of tests/catalogue.py
        text = _text(node)
        if text is not None and _is_drawn(text, node, parent):
            yield function, node.lineno, text.replace(VALUE, "{}")
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
                yield from walk(child, function, node)

    yield from walk(tree, "<module>", None)


def _outside(path):
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), ())
    if isinstance(allowed, str):
        return []
    return [f"{path.name}:{line} {text[:90]!r}" for function, line, text in _literals(path) if function not in allowed]


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.relative_to(ROOT / "console").as_posix())
def test_every_text_goes_through_the_catalogue(path):
    assert _outside(path) == []


def test_a_text_outside_the_catalogue_is_found(tmp_path):
    page = tmp_path / "page.py"
    page.write_text(
        'st.title("Inbox")\nst.button(f"Review next ({count} waiting)")\nst.html(f"<p>{x}</p><b>wrong</b>")\n'
        'show("Two words")\nst.title(_("Inbox"))\nst.html(f\'<p class="ia-x">{plain(_("Two words"))}</p>\')\n'
    )
    assert [line for _function, line, _text in _literals(page)] == [1, 2, 3, 4]


TEMPLATES = sorted((ROOT / "console" / "server" / "sign_in" / "templates").glob("*.html"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_says_a_word_itself(template: Path):
    left = re.sub(
        r"{{.*?}}|{% block width %}.*?{% endblock %}|{%.*?%}|<pre>.*?</pre>|<[^<>]*>", "", template.read_text("utf-8")
    )
    assert re.findall(r"[^\W\d_]{2,}", NAMES.sub("", left).replace("·", "")) == []
