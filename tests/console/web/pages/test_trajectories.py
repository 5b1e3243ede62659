"""The Trajectories page: narrowing the list, opening one."""

import re
from dataclasses import replace

from console.database import reading
from console.runs import ingest
from tests.console.runs.importers.samples import PNG, SAMPLES
from tests.logs import purchase, stuck, write_log
from tests.sweeps import sweep


def listed(at):
    """The rows of the list, each by the titles of the columns."""
    shown = "".join(str(element.proto.body) for element in at.get("html"))
    (table,) = re.findall(r'aria-label="Trajectories".*?</table>', shown, re.DOTALL)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def column(at, title):
    return [row[title] for row in listed(at)]


def test_columns_are_plain_words_and_each_task_is_a_link(open_page, kettles):
    first = listed(open_page("trajectories"))[0]
    assert [*first] == ["Task", "Outcome", "Gold label", "Trial", "Steps", "Task ID", "ID"]
    id = first["ID"]
    assert f'<a href="trajectories?run=kettles&amp;id={id}" data-item="{id}">i want a' in first["Task"]


def test_a_long_task_ends_with_an_ellipsis(open_page, tmp_path):
    long = replace(stuck(1), instruction="a kettle " * 60)
    ingest.import_file(write_log(tmp_path / "long.jsonl", long), "long", "auto", lambda _: None)
    (task,) = column(open_page("trajectories"), "Task")
    assert task.endswith("…</a>")


def test_search_outcome_label_and_trial_narrow_the_list(open_page, words, kettles):
    at = open_page("trajectories")
    assert len(listed(at)) == 6
    at.multiselect(key="outcomes").set_value(["failed"]).run()
    assert set(column(at, "Outcome")) == {"failed"}
    at.text_input(key="search").input("green kettle").run()
    assert column(at, "Task ID") == ["kettle-0"]
    at.multiselect(key="labels").set_value(["aligned"]).run()
    assert "No matching trajectories" in words(at)
    at.multiselect(key="outcomes").set_value([])
    at.multiselect(key="labels").set_value(["none"])
    at.text_input(key="search").input("").run()
    assert column(at, "Outcome") == ["halted"]
    at.number_input(key="trial").set_value(3).run()
    assert "No matching trajectories" in words(at)


def test_words_of_an_action_are_found_and_only_where_they_are_looked_for(open_page, words, kettles):
    at = open_page("trajectories")
    at.text_input(key="search").input("B0000001").run()
    assert column(at, "Task ID") == ["kettle-1"]
    at.selectbox(key="place").set_value("thoughts").run()
    assert "No matching trajectories" in words(at)


def test_the_filters_live_in_the_address(open_page, kettles):
    at = open_page("trajectories", run=kettles, search="kettle", place="task", outcomes="failed", labels="misaligned")
    assert (at.text_input(key="search").value, at.multiselect(key="outcomes").value) == ("kettle", ["failed"])
    assert set(column(at, "Outcome")) == {"failed"}
    assert len(listed(open_page("trajectories", outcomes="no such outcome", trial="x"))) == 6


@sweep(("asked", "shown"), [("2", "kettle-50"), ("1000", "kettle-100"), ("0", "kettle-0"), ("x", "kettle-0")], kept=2)
def test_a_page_of_the_address_is_opened_and_one_beyond_the_last_is_the_last(open_page, tmp_path, asked, shown):
    log = write_log(tmp_path / "many.jsonl", *(purchase(number, wrong=False) for number in range(120)))
    ingest.import_file(log, "many", "auto", lambda _: None)
    at = open_page("trajectories", run="many", page=asked)
    assert column(at, "Task ID")[0] == shown


def test_an_address_opens_a_record_in_place_of_the_list(open_page, words, kettles):
    with reading() as session:
        first = session.connection().exec_driver_sql("select min(id) from trajectory").scalar()
    at = open_page("trajectories", run=kettles)
    at.query_params["id"] = str(first)
    at.run()
    assert 'aria-label="Trajectories"' not in words(at)
    assert [title.value for title in at.title] == [f"Trajectory {first}"]
    assert "i want a <mark" in words(at)
    assert "Outcome" in words(at)
    at.button(key="back").click().run()
    assert len(listed(at)) == 6


def test_a_judged_record_shows_the_requirement_table_as_review_does(open_page, words, kettles):
    with reading() as session:
        first = session.connection().exec_driver_sql("select min(id) from trajectory").scalar()
    at = open_page("trajectories", run=kettles, id=str(first))
    shown = words(at)
    (table,) = re.findall(r'<table class="ia-lines">.*?</table>', shown, re.DOTALL)
    statuses = re.findall(r'class="ia-standing">([^<]+)<', shown)
    assert statuses[0] == "violated"
    assert "price lower than 30.00 dollars" in table
    # Below the table, the request's terms are not listed once more.
    assert 'class="ia-terms"' not in shown
    assert re.search(r'<a class="ia-tostep" href="#[\w-]+">step 2</a>', shown)


def test_an_unknown_record_is_told_in_a_sentence(open_page, words, kettles):
    at = open_page("trajectories")
    at.query_params["id"] = "4711"
    at.run()
    assert "with id 4711. Choose one from the list." in words(at)


def test_a_record_of_another_run_is_not_shown_under_this_one(open_page, words, kettles, tmp_path):
    ingest.import_file(write_log(tmp_path / "mugs.jsonl", stuck(9)), "mugs", "auto", lambda _: None)
    with reading() as session:
        theirs = session.connection().exec_driver_sql("select max(id) from trajectory").scalar()
    at = open_page("trajectories", run=kettles)
    at.query_params["id"] = str(theirs)
    at.run()
    assert f"No trajectory of run kettles with id {theirs}. The trajectory belongs to run mugs." in words(at)
    assert "Outcome" not in words(at)
    assert at.selectbox(key="run_picker").value == kettles
    at.button(key="own-run").click().run()
    assert "Outcome" in words(at)
    assert at.selectbox(key="run_picker").value == "mugs"
    at.selectbox(key="run_picker").set_value(kettles).run()
    assert len(listed(at)) == 6


@sweep("asked", ["\u00b2", "9" * 30, "-1"], kept=1)
def test_what_is_no_id_shows_the_list(open_page, kettles, asked):
    at = open_page("trajectories", run=kettles)
    at.query_params["id"] = asked
    at.run()
    assert len(listed(at)) == 6


def test_without_a_run_it_says_what_to_do(open_page, words):
    at = open_page("trajectories")
    assert "No trajectories yet" in words(at)
    assert "Open Runs" in [link.proto.label for link in at.get("page_link")]


def test_pictures_stand_beneath_the_steps_and_each_step_says_who_acted(open_page, words, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(SAMPLES["openai-messages"].content)
    ingest.import_file(log, "shown", "auto", lambda _: None)
    with reading() as session:
        first = session.connection().exec_driver_sql("select min(id) from trajectory").scalar()
    at = open_page("trajectories", run="shown")
    at.query_params["id"] = str(first)
    at.run()
    drawn = words(at)
    assert f'src="data:image/png;base64,{PNG}"' in drawn
    assert "What the agent saw first: [image, 1 kB, png]" in drawn
    assert '<span class="ia-speaker">clerk</span>' in drawn
