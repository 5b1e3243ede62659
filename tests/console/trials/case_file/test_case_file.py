"""The case file of a run: what it accounts for, and which changes its checks find."""

import html
import re
from contextlib import nullcontext

import pytest
from sqlalchemy import text
from sqlmodel import select

from console.auth.audit_log import By, Door
from console.cli import run_command
from console.database import database_url, now_ms, reading, writing
from console.errors import UnreadableFile
from console.gate import Gate
from console.gate.policy import policy_store
from console.trials.case_file import check_case_file, gather, make_case_file, write_case_file
from storage import tables
from storage.chain_copy import ChainCopy, check_copy
from storage.engine import close
from storage.tables import DecisionKind
from tests import postgres
from tests.case_files import change_chain, read_chain
from tests.overseen import decide, queue
from tests.sweeps import sweep
from tests.verdicts import a_run, judge


@pytest.fixture
def page(tmp_path):
    """The path of the case file of a run in which Zoë approved one action and rejected two, and one is undecided."""
    a_run("shop", [None] * 4)
    judge("shop", "rules", [0.9, 0.8, 0.7, 0.6])
    run = queue("shop", "rules")
    decide(run, [DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.REJECT], reviewer="Zoë <script>")
    path = tmp_path / "shop.html"
    write_case_file(database_url(), "shop", path, now_ms())
    return path


def problems(path):
    with reading() as session:
        return check_case_file(session, path).problems


def test_the_first_page_counts_what_the_tables_hold(page):
    with reading() as session:
        events = session.execute(text("SELECT count(*) FROM event WHERE kind <> 'case file written'")).scalar_one()
    said = html.unescape(page.read_text("utf-8"))
    assert "Reviewers made 3 current decisions: 2 rejected, 1 approved. Escalations: 0." in said
    assert "Items without a decision: 0 expired, 1 pending." in said
    assert f"The audit log has {events} event" in said
    assert "A check of the whole database found no change to them." in said


def test_a_section_without_rows_says_so_and_commands_are_marked(page):
    said = page.read_text("utf-8")
    assert '<p>The policy allowed these checks at once.</p>\n<p class="quiet">None.</p>' in said
    assert "<code>inferact case-file check FILE</code> also compares" in said


def test_a_case_file_taken_from_a_page_names_its_author_and_passes_its_check(page, tmp_path):
    taken = tmp_path / "taken.html"
    taken.write_bytes(make_case_file(database_url(), "shop", now_ms(), By("Ada", Door.BROWSER)))
    with reading() as session:
        found = check_case_file(session, taken)
    assert (found.problems, found.written[:2]) == ((), ("shop", "Ada"))


def test_each_decision_has_a_row_and_untrusted_text_is_escaped(page):
    said = page.read_text("utf-8")
    with reading() as session:
        made = session.exec(select(tables.Decision)).all()
    case = gather(database_url(), "shop", now_ms())
    (rows,) = [section.rows for section in case.sections if section.title == "Decisions"]
    assert [(row[1], row[-2]) for row in rows] == [(one.item_id, one.decision) for one in made]
    assert "Zoë &lt;script&gt;" in said
    assert "Zoë <script>" not in said


def test_an_unchanged_file_has_no_problem_and_is_told_with_its_author(page):
    assert problems(page) == ()
    with reading() as session:
        found = check_case_file(session, page)
    assert found.written[0] == "shop"
    assert run_command(["case-file", "check", str(page)]) == 0


def test_a_change_of_the_visible_text_is_found_by_the_digest(page):
    page.write_text(page.read_text("utf-8").replace("2 rejected, 1 approved", "3 approved"), "utf-8")
    (problem,) = problems(page)
    assert "no case file with this digest" in problem


def _in_content(copy):
    next(iter(copy["contents"].values()))[2] = "eve"


def _in_link(copy):
    copy["links"][1][1] += 1


def _removed(copy):
    del copy["links"][1]


def _cut(copy):
    del copy["links"][-1]


def _swapped(copy):
    copy["links"][0], copy["links"][1] = copy["links"][1], copy["links"][0]


def _without_content(copy):
    del copy["contents"][next(iter(copy["contents"]))]


@sweep("change", [_in_content, _in_link, _removed, _cut, _swapped, _without_content], kept=2)
def test_a_change_of_the_log_in_the_file_is_found_without_the_database(page, change):
    change_chain(page, change)
    assert check_copy(ChainCopy.from_json(read_chain(page)))
    assert len(problems(page)) >= 2


def test_a_change_in_the_database_is_found_by_a_file_of_before(page):
    with writing() as session:
        session.execute(text("UPDATE event_link SET hash = 'f' || substr(hash, 2) WHERE chain > 0"))
    assert any("was rewritten since" in problem for problem in problems(page))


@pytest.mark.parametrize("content", ["no page", '<script type="application/json" id="chain">{"end": 1}</script>'])
def test_another_file_is_refused_with_what_to_do(tmp_path, content, page):
    path = tmp_path / "other.html"
    path.write_text(content, "utf-8")
    with pytest.raises(UnreadableFile, match="inferact case-file write"):
        problems(path)


@pytest.mark.parametrize("server", ["sqlite", "postgresql"])
def test_a_gate_has_a_case_file_on_both_databases(tmp_path, server):
    made = postgres.database() if server == "postgresql" else nullcontext(f"sqlite:///{tmp_path / 'gate.db'}")
    with made as url:
        with writing(url) as session:
            policy_store.save(session, None, "{default: allow, rules: [{pattern: pay*, then: ask}]}", "ada", 0)
        gate = Gate("shop-bot", undo_s=0, url=url)
        assert gate.check(task="Pay the <b> bill.", steps=[], action="look[1]").approved
        gate.ask("Pay the <b> bill.", [], "pay[1]", task_id="t")
        path = tmp_path / "gate.html"
        write_case_file(url, "shop-bot", path, now_ms())
        with reading(url) as session:
            assert check_case_file(session, path).problems == ()
        close(url)
    said = html.unescape(path.read_text("utf-8"))
    assert "shop-bot is the run of a gate with 1 trajectory" in said
    assert "Items without a decision: 0 expired, 1 pending." in said
    assert "The policy allowed 1 check without asking a person." in said
    assert '<th scope="col">paused at an action</th>' in said
    # A sentence has a width at which a phone can show it.
    assert re.search('<td class="long">[^<]* created the run', said)
