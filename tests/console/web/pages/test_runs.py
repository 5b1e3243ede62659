"""The Runs page: what its forms do, and what they say where they refuse."""

from dataclasses import replace

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.runs import ingest
from console.runs.status import run_status, run_summary
from console.settings import settings
from console.trajectory import Outcome, Step, Trajectory
from storage.tables import RunKind
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.logs import purchase, write_log


def shown_tables(at):
    return [table.value for table in at.dataframe]


@pytest.fixture
def status():
    """A function from a run's name to its status."""

    def read(name):
        with reading() as session:
            return run_status(session, runs.get(session, name))

    return read


def test_an_empty_console_says_what_to_do(open_page, words):
    assert "No runs yet" in words(open_page("runs"))


def test_a_dropped_log_becomes_a_run_with_a_report(open_page, words, status):
    at = open_page("runs")
    log = "".join(purchase(n, wrong=True).to_json() + "\n" for n in range(3)).encode()
    at.file_uploader(key="logs").upload("shop.jsonl", log)
    at.text_input(key="into_run").input("shop")
    click(at, "Import logs")
    assert "3 imported" in words(at)
    assert status("shop")["trials"][0]["tasks"] == 3


def test_a_damaged_log_is_refused_in_a_sentence(open_page, words):
    at = open_page("runs")
    at.file_uploader(key="logs").upload("shop.jsonl", b'{"task_id": "1", "steps": [}\n')
    click(at, "Import logs")
    assert "shop.jsonl" in words(at)
    assert "ia-problem" in words(at)
    assert "/" not in words(at).split("ia-problem")[1].split("shop.jsonl")[0]


def test_import_without_a_file_is_refused(open_page, words):
    at = open_page("runs")
    click(at, "Import logs")
    assert "No file selected. Choose a file, then import again." in words(at)


def test_without_an_outcome_in_the_log_nothing_is_counted_as_solved(open_page, words, tmp_path):
    paused = replace(purchase(0, wrong=True), outcome=Outcome.PAUSED, gold={})
    ingest.import_file(write_log(tmp_path / "paused.jsonl", paused), "paused", "auto", lambda _: None)
    said = words(open_page("runs"))
    assert "this run does not record outcomes" in said
    assert "<dt>attempts</dt>" in said
    assert "<dt>solved</dt>" not in said


def test_a_run_opens_with_its_loop_and_one_point_is_a_sentence(open_page, words, kettles):
    at = open_page("runs")
    assert "<h3>Trial 0</h3>" in words(at)
    assert "<b>3 items pending</b>" in words(at)
    assert "<b>Beyond budget:</b> 1 item, oldest of all" in words(at)
    assert "<b>Beyond budget:</b> 1 item" in words(at)
    assert "No inspections used yet" in words(at)
    assert "Trial 0: **2 of 6 tasks** solved." in words(at)
    assert "<dt>solved</dt>" in words(at)
    assert "All trials of this run ended before any review here" in words(at)
    with reading() as session:
        decisions.claim_next_item(review_queue(), session, runs.get(session, "kettles"), "Ada", now_ms())
    at = open_page("runs", run="kettles")
    assert "Trial 0: 1 of 3 inspections used." in words(at)
    assert "Ada (0 decisions, 1 claimed)" in words(at)
    assert not at.get("plotly_chart")


@pytest.mark.at_length
def test_judging_again_under_another_threshold(open_page, words, kettles):
    at = open_page("runs")
    at.number_input(key="threshold").set_value(0.9)
    click(at, "Judge this run")
    assert "rules: 5 checkpoints" in words(at)


def test_the_budget_is_set_and_shown(open_page, words, kettles, status):
    at = open_page("runs")
    at.text_input(key="budget").input("1")
    click(at, "Save budget")
    assert "Every trial of kettles has 1 inspection." in words(at)
    at.text_input(key="budget").input("50%")
    click(at, "Save budget")
    assert "Every trial of kettles has 3 inspections." in words(at)
    assert status("kettles")["trials"][0]["budget"]["cap"] == 3


def test_a_budget_that_is_none_is_refused_in_words(open_page, words, kettles):
    at = open_page("runs")
    at.text_input(key="budget").input("plenty")
    click(at, "Save budget")
    assert "&#x27;plenty&#x27; is not a valid budget" in words(at)


def test_critical_patterns_are_saved(open_page, words, kettles):
    at = open_page("runs")
    (field,) = [area for area in at.text_area if area.key.startswith("patterns-")]
    field.input("click[Buy Now]\nclick[Pay*")
    click(at, "Save patterns")
    assert "Judge the run again" in words(at)
    with reading() as session:
        assert runs.patterns(runs.get(session, "kettles")) == ["click[Buy Now]", "click[Pay*"]


@pytest.mark.at_length
def test_a_replay_starts_and_goes_on(open_page, words, kettles, status):
    at = open_page("runs")
    at.text_input(key="replay_budget").input("2")
    click(at, "Start replay")
    assert "kettles-replay replays kettles" in words(at)
    assert status("kettles-replay")["trials"][0]["budget"]["cap"] == 2
    assert "the next trial of each task with feedback." in words(at)
    at.button(key="next_trial").click().run()
    assert "0 decisions delivered" in words(at)


@pytest.mark.at_length
def test_a_decision_that_can_still_be_taken_back_is_spoken_of(open_page, words, kettles):
    at = open_page("runs")
    click(at, "Start replay")
    with reading() as session:
        run = runs.get(session, "kettles-replay")
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
    decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision("approve"), now_ms() + 60_000)
    at.button(key="next_trial").click().run()
    assert "1 decision can still be undone; it is delivered at " in words(at)


def test_agents_start_and_try_again(open_page, words, status):
    at = open_page("runs")
    at.text_input(key="live_name").input("shop-live")
    at.selectbox(key="live_environment").set_value("webshop")
    at.number_input(key="live_tasks").set_value(3)
    click(at, "Start agents")
    assert "shop-live: the first trial is done" in words(at)
    assert status("shop-live")["trials"][0]["tasks"] == 3
    assert any("Solved, held back" in table.columns for table in shown_tables(at))
    at.button(key="next_trial").click().run()
    assert "decisions delivered" in words(at)
    with reading() as session:
        assert runs.get(session, "shop-live").kind == RunKind.LIVE


def test_a_name_that_is_taken_is_refused(open_page, words, kettles):
    at = open_page("runs")
    at.text_input(key="live_name").input("kettles")
    click(at, "Start agents")
    assert "ia-problem" in words(at)
    assert "kettles" in words(at).split("ia-problem")[1]


def click(at, label):
    """Presses the button of that label."""
    (button,) = [found for found in at.button if found.label == label]
    button.click().run()


@pytest.mark.at_length
def test_allowed_checks_of_a_gate_are_listed_and_filtered_by_rule(open_page, words):
    gate = Gate("bot", undo_s=0)
    gate.open()
    assert "No stored check was allowed without a review." in words(open_page("runs"))
    with writing() as session:
        text = "rules: [{name: looks, tool: look, then: allow}, {name: finds, tool: find, then: allow}]"
        policy_store.save(session, runs.get(session, "bot"), text, "ada", 0)
    for action in ("look[1]", "find[1]", "look[2]"):
        assert gate.check("t", [], action).approved
    at = open_page("runs")
    (field,) = [box for box in at.selectbox if box.label == "Rule"]
    assert field.options == ["All rules", "finds", "looks"]

    def listed():
        (found,) = [frame.value for frame in at.dataframe if "Agent" in frame.value.columns]
        return list(zip(found["Tool"], found["Rule"], strict=True))

    assert listed() == [("look", "looks"), ("find", "finds"), ("look", "looks")]
    field.select("finds").run()
    assert listed() == [("find", "finds")]


def test_the_policy_of_a_gate_is_shown_checked_and_saved(open_page, words):
    Gate("bot", critical=["refund_*"]).open()
    at = open_page("runs")
    assert "An action that no rule matches asks a person." in at.text[0].value
    (field,) = [area for area in at.text_area if area.key.startswith("policy-")]
    field.input("default: ask\nrules: 1\n")
    click(at, "Save policy")
    assert "line 2, column 1: rules: must be a list" in words(at)
    (field,) = [area for area in at.text_area if area.key.startswith("policy-")]
    field.input("default: deny\n")
    click(at, "Save policy")
    assert at.code[0].value.splitlines()[1:3] == ["-default: ask", "-rules:"]
    assert "+default: deny" in at.code[0].value
    assert "Saved as version 2" not in words(at)
    click(at, "Save policy")
    assert "Saved as version 2" in words(at)
    assert "An action that no rule matches is denied." in at.text[0].value
    (field,) = [area for area in at.text_area if area.key.startswith("policy-")]
    field.input(
        "mode: shadow\nrollout: 12.5%\nrules:\n- {tool: a, then: allow}\n- then: judge\n  deadline: 60\n  doors: cli\n"
    )
    click(at, "Check policy")
    assert "2 rules, then ask: it can be saved after an earlier version." in words(at)
    click(at, "Save policy")
    last = "An action that only the last rule matches is judged by the detector."
    shadow = "In shadow mode the policy records its result and stops no action."
    assert f"{last} {shadow} Its rollout percentage is 12.5% of the tasks." in at.text[0].value
    assert "<td>within 60 s, through cli</td>" in words(at)


def type_policy(at, text):
    """Types the text into the field of the policy."""
    (field,) = [area for area in at.text_area if area.key.startswith("policy-")]
    field.input(text)


def test_a_policy_is_edited_with_the_same_warnings_and_only_what_was_shown_is_stored(open_page, words):
    Gate("bot").open()
    at = open_page("runs")
    type_policy(at, "default: ask\nrules:\n- {tool: get_*, then: allow}\n- {tool: get_key, then: deny}\n")
    click(at, "Check policy")
    assert "allows (get_*) before" in at.warning[0].value
    type_policy(at, "default: allow\n")
    click(at, "Save policy")
    assert "Saved" not in words(at)
    assert "+default: allow" in at.code[0].value
    with writing() as session:
        policy_store.save(session, runs.get(session, "bot"), "default: deny", "Ada", now_ms())
    click(at, "Save policy")
    assert "Saved as" not in words(at)
    with reading() as session:
        assert policy_store.list_versions(session, runs.get(session, "bot"))[0].text == "default: deny"


@pytest.mark.at_length
def test_earlier_versions_are_listed_compared_and_returned_to_in_one_step(open_page, words):
    Gate("bot").open()
    with writing() as session:
        for text in ("default: deny", "default: judge"):
            policy_store.save(session, runs.get(session, "bot"), text, "Ada", now_ms())
    at = open_page("runs")
    (versions,) = [table.value for table in at.dataframe if "Stored (UTC)" in table.value]
    assert list(versions["Version"]) == [3, 2, 1]
    assert list(versions["Author"])[:2] == ["Ada", "Ada"]
    assert [one.value for one in at.code] == ["@@ -1 +1 @@\n-default: judge\n+default: deny"]
    click(at, "Return to version 2")
    assert "Saved as version 4" in words(at)
    assert "An action that no rule matches is denied." in at.text[0].value
    with reading() as session:
        newest = policy_store.list_versions(session, runs.get(session, "bot"))[0]
    assert (newest.version, newest.text) == (4, "default: deny")


def test_checks_that_expired_without_a_decision_are_a_warning(open_page):
    Gate("bot", "full-validation", poll_s=0.01).check("buy", [], "buy[1]", timeout_s=0.05)
    at = open_page("runs")
    said = [warning.value for warning in at.warning]
    trials = next(frame.value for frame in at.dataframe if "Expired" in frame.value)
    assert "Waiting for a decision" not in trials
    assert list(trials["Paused at an action"]) == [1]
    assert "1 check expired without a decision in the last 7 days, so no action ran." in said


def test_a_pattern_that_could_not_be_applied_to_a_call_is_named(open_page, words, tmp_path):
    steps = tuple(Step("", action, "done") for action in ("transfer(total() + 1)", "transfer(amount=5)"))
    ingest.import_file(
        write_log(tmp_path / "log.jsonl", Trajectory("t", "generic", "pay", steps)), "bank", "auto", lambda _: None
    )
    with writing() as session:
        runs.set_patterns(session, runs.get(session, "bank"), ["transfer.amount=*", "look.at=*"], now_ms())
    said = words(open_page("runs", run="bank"))
    assert "Could not apply transfer.amount=* to 1 call: the arguments cannot be read." in said
    assert "look.at" not in said.partition("Could not apply")[2].partition(":")[0]


@pytest.mark.at_length
def test_a_log_in_which_nothing_is_critical_is_no_dead_end(open_page, words, status):
    at = open_page("runs")
    log = Trajectory("a", "generic", "pay", (Step("", 'get_bill({"id":1})', "9"), Step("", 'pay_bill({"id":1})', "ok")))
    at.file_uploader(key="logs").upload("bills.jsonl", log.to_json().encode())
    at.text_input(key="into_run").input("bills")
    click(at, "Import logs")
    assert "No action of bills counts as critical; this one looks critical: pay_bill (1 time)." in words(at)
    at.button(key="accept_candidates").click().run()
    assert "counts as critical" not in words(at)
    with reading() as session:
        assert runs.patterns(runs.get(session, "bills")) == ["pay_bill"]


@pytest.mark.at_length
def test_a_run_is_renamed_tagged_archived_and_deleted(open_page, words, kettles):
    at = open_page("runs")
    heads = [head.value for head in at.subheader]
    assert heads[-5:] == ["Name and tags", "Imports", "Archive", "Legal hold", "Delete"]
    with reading() as session:
        number = runs.get(session, kettles).id
    at.text_input(key=f"rename-{number}").input("pots")
    at.text_input(key=f"tags-{number}").input("pilot v2")
    click(at, "Save details")
    with reading() as session:
        assert run_summary(session, runs.get(session, "pots"))["tags"] == ["pilot", "v2"]
    at.button(key="archive_run").click().run()
    assert "&#x27;pots&#x27; has 4 pending items. Decide all pending items first." in words(at)
    at.text_input(key=f"delete-{number}").input("pot")
    click(at, "Delete this run")
    assert "Type the run&#x27;s name exactly" in words(at)
    at.text_input(key=f"hold-{number}").input("Case 12")
    click(at, "Place hold")
    assert "pots is on legal hold." in words(at)
    assert "Delete this run" not in [button.label for button in at.button]
    click(at, "Release hold")
    at.text_input(key=f"delete-{number}").input("pots")
    click(at, "Delete this run")
    assert "Deleted pots: 6 trajectories, 4 items, 0 decisions, 5 verdicts." in words(at)


@pytest.mark.at_length
def test_agents_are_stopped_and_may_continue(open_page, words):
    gate = Gate("bot", "full-validation", undo_s=0)
    waiting = gate.ask("Refund order 1.", [], "refund(1)")
    at = open_page("runs", run="bot")
    at.button(key="stop_run").click().run()
    assert "Stopped bot and withdrew 1 pending check. No action of its agents may begin." in words(at)
    assert [one.value for one in at.warning] == [
        "This run is stopped: its pending actions get no review. To let its agents continue, open Maintenance."
    ]
    assert waiting.look().reason == "cancelled"
    at.button(key="continue_run").click().run()
    assert "The agents of bot may continue." in words(at)
    assert not at.warning
    assert gate.ask("Refund order 2.", [], "refund(2)", task_id="2").look() is None


@pytest.mark.at_length
def test_a_row_of_all_runs_opens_the_run(open_page, kettles, tmp_path):
    log = write_log(tmp_path / "log.jsonl", Trajectory("t", "generic", "pay", (Step("", "pay()", "done"),)))
    ingest.import_file(log, "bank", "auto", lambda _: None)
    at = open_page("runs", run=kettles)
    names = next(table.value["Run"].tolist() for table in at.dataframe if "Environments" in table.value)
    at.session_state["runs-0"] = {"selection": {"rows": [names.index("bank")], "columns": [], "cells": []}}
    at.run()
    assert at.query_params["run"] == at.selectbox(key="run_picker").value == "bank"


@pytest.mark.at_length
def test_an_import_is_undone_on_the_page(open_page, words, kettles, status):
    at = open_page("runs")
    at.button(key="undo_import").click().run()
    assert "Deleted 6 trajectories of kettles." in words(at)
    assert status(kettles)["trials"] == []


@pytest.mark.at_length
def test_fewer_patterns_say_what_left_the_queue(open_page, words, kettles):
    at = open_page("runs")
    with reading() as session:
        number = runs.get(session, kettles).id
    at.text_area(key=f"patterns-{number}").set_value("refund_*")
    click(at, "Save patterns")
    assert "items left the queue because no pattern matches any longer" in words(at)


def test_models_are_asked_only_after_their_cost_was_told(open_page, words, kettles, monkeypatch):
    with serving(rule) as endpoint:
        for name, value in {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "k", "INFERACT_MODEL": "m"}.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        at = open_page("runs")
        at.multiselect(key="methods").set_value(["rules", "direct"])
        click(at, "Judge this run")
        assert "price unknown" in " ".join(text.value for text in at.text)
        counted = endpoint.requests
        click(at, "Cancel")
        assert not [text for text in at.text if "price unknown" in text.value]
        click(at, "Judge this run")
        click(at, "Judge with models")
        assert "direct: " in words(at)
        assert endpoint.requests > counted


def test_without_a_model_the_page_names_the_setting_and_no_option_of_a_command(open_page, words, kettles):
    at = open_page("runs")
    at.multiselect(key="methods").set_value(["direct"])
    click(at, "Judge this run")
    assert "INFERACT_MODEL" in words(at)
    assert "--model" not in words(at)


def test_the_list_of_runs_counts_items_beyond_the_budget_apart(open_page, kettles):
    (table,) = [frame.value for frame in open_page("runs").dataframe if "Environments" in frame.value]
    assert (list(table["Pending"]), list(table["Beyond budget"])) == ([3], [1])
    assert list(table)[-3:] == ["Pending", "Beyond budget", "Tags"]
