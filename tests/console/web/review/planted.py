"""A copy of the console whose parts of the Review page fail on demand, and a reviewer who decides there all the same.

Run with the folder of the copy: `python planted.py COPY DATA`. Each line of JSON that it prints is one part.
"""

import ast
import json
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
HOUSE = ("console", "storage", "prompts", "streamlit_app.py")
PARTS = [
    "console/review/blinding.py:build_review_view",
    "console/review/blinding.py:list_remedies",
    "console/review/presentation.py:checkpoint_presentation",
    "console/review/inbox.py:count_my_reviews",
    "console/review/inbox.py:list_waiting_agents",
    "console/review/decision_details.py:get_judging",
    "console/review/decision_details.py:list_reasons",
    "console/review/plain_text.py:digest_shown_text",
    "console/review/plain_text.py:is_clipped",
    "console/web/review/actions.py:flash_html",
    "console/web/review/actions.py:mark_shown",
    "console/web/review/actions.py:show_unsent_feedback",
    "console/web/review/after_last.py:show_trial_result",
    "console/web/review/colleagues.py:buttons",
    "console/web/review/colleagues.py:notes_html",
    "console/web/review/decision_bar.py:_keys",
    "console/web/review/decision_bar.py:_more",
    "console/web/review/decision_bar.py:_reasons",
    "console/web/review/decision_bar.py:_withheld",
    "console/web/review/decision_bar.py:_words_field",
    "console/web/review/decision_bar.py:_show_claim_time",
    "console/web/review/drafts.py:save_previous_feedback",
    "console/web/review/drafts.py:field_keys",
    "console/web/review/edit_form.py:edit_form",
    "console/web/review/edit_form.py:_show_change",
    "console/web/review/edit_form.py:_show_remedies",
    "console/web/review/shortcuts.py:help_button",
    "console/web/widgets/arrival_watch.py:_show_arrivals",
    "console/web/widgets/changes.py:change_html",
    "console/web/widgets/hotkeys.py:hotkeys",
    "console/web/widgets/status.py:status_line_html",
    "console/web/widgets/timeline.py:timeline_rows",
    "console/web/widgets/trajectory_view.py:show_presentation",
    "console/web/widgets/trajectory_view.py:_about",
    "console/web/widgets/trial_history.py:earlier_trials_html",
    "console/web/widgets/whole_texts.py:show_whole_texts",
    "console/review/decision_details.py:list_questions",
    "console/review/resolution.py:is_judgement_only",
    "console/web/review/actions.py:show_gone_item",
    "console/web/review/drafts.py:find_put_aside",
    "console/web/review/item_parts.py:_stamp_gone",
    "console/web/review/line_corrections.py:watch_corrections",
    "console/web/review/question_fields.py:show_questions",
    "console/web/review/step_marks.py:_mount",
    "console/web/review/worked_item.py:show_first",
    "console/web/waiting_agents.py:_show_agents",
    "console/web/widgets/browser.py:show_further_steps",
    "console/web/widgets/status.py:count_down",
]
DECIDES = ["approve", "reject", "edit", "skip", "reject"]


def copied(folder):
    """Makes the copy; each named function raises an error while the environment names it."""
    for name in HOUSE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for part in PARTS:
        path, name = part.split(":")
        file = folder / path
        tree = ast.parse(file.read_text())
        node = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
        lines = file.read_text().splitlines(keepends=True)
        at = node.body[1] if isinstance(node.body[0], ast.Expr) and len(node.body) > 1 else node.body[0]
        fault = f'if __import__("os").environ.get("PLANTED") == {part!r}: raise RuntimeError("planted")\n'
        lines.insert(at.lineno - 1, " " * at.col_offset + fault)
        file.write_text("".join(lines))
    return folder


def main(copy, parts):
    """Opens an item with each part failing, and decides it; prints what came of it."""
    from sqlmodel import select, update
    from streamlit.testing.v1 import AppTest

    import console
    from console.database import reading, writing
    from console.gate import Gate
    from storage import tables
    from tests.signing_in import signed_in

    assert Path(console.__file__).is_relative_to(copy)
    call = {"name": "refund_order", "arguments": {"amount": 20.0, "order": 1}}
    for number, part in enumerate(parts):
        run = f"run-{number}"
        for order in range(4):
            call["arguments"]["order"] = order
            Gate(run, "full-validation", undo_s=0).ask(f"Refund order {order}.", [], call, task_id=f"t{order}")
        with writing() as session:
            # These agents send no heartbeat, and a slow walk must not end their wait.
            session.execute(update(tables.Ask).values(beats=False))
        os.environ["PLANTED"] = part
        at = AppTest.from_file(str(copy / "streamlit_app.py"), default_timeout=120)
        at.session_state["session"] = signed_in(f"Ada{number}", "reviewer")
        at.query_params["run"] = run
        at.switch_page("console/web/pages/review.py").run()
        told, done = [], []
        for wanted in DECIDES:
            done.append(decide(at, wanted, told))
        with reading() as session:
            item, decision = tables.Item, tables.Decision
            ran = select(decision.decision).join(item, item.id == decision.item_id).join(tables.Run)
            found = session.exec(ran.where(tables.Run.name == run).order_by(decision.id)).all()
        os.environ["PLANTED"] = ""
        row = {"part": part, "decided": list(found), "pressed": done, "told": sorted(set(told))}
        print(json.dumps(row), flush=True)


def read(at):
    """Returns which parts the page says it cannot show, and whether it crashed."""
    texts = " ".join(str(element.proto.body) for element in at.get("html"))
    return re.findall(r"This part cannot be shown: ([^.]+)\.", texts) + ["crash"] * bool(at.exception)


def decide(at, wanted, told):
    """Presses the button of one decision of the item that is shown, as a person does; returns whether it was there."""
    told += read(at)
    at.session_state["shown_ms"] = 0
    button = next((one for one in at.button if (one.key or "").startswith(f"{wanted}-")), None)
    if button is None or button.disabled:
        return False
    button.click().run()
    told += read(at)
    if wanted != "edit":
        return True
    field = next((one for one in [*at.text_input, *at.text_area] if (one.key or "").startswith("field-")), None)
    if field is None:
        # The form failed: reject what the form was opened for.
        at.session_state["shown_ms"] = 0
        next(one for one in at.button if (one.key or "").startswith("reject-")).click().run()
        return True
    field.set_value("10").run()
    at.session_state["shown_ms"] = 0
    send = next((one for one in at.button if (one.key or "").startswith("submit-")), None)
    send = send or next(one for one in at.button if (one.key or "").startswith("reject-"))
    send.click().run()
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or PARTS)
