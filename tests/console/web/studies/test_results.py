"""The results of a study on its page: what each part says, its tables and files, what is said where there are none."""

import re
import shutil
import subprocess
import sys

import pytest
from sqlmodel import select

from console.database import database_url, now_ms, reading, writing
from console.studies import results
from console.studies.analysis import ANALYSES, computations
from console.studies.design import Design, allocate
from console.studies.design.instruments import shelf
from console.studies.sessions import lifecycle, simulated
from storage import tables
from storage.backup import backup
from tests.study_rows import fill, third_condition
from tests.sweeps import sweep

DESIGN = Design(
    name="small",
    source={"actor": "scripted", "environment": "webshop"},
    tasks=3,
    trials=2,
    budget="2",
    seed=3,
    factors={"score": ("shown", "hidden")},
    participants={"human": 2, "noisy": 1},
    checks={"known_good": 1, "known_bad": 1},
    undo_seconds=0,
    exclusions={"decisions": 1},
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the study of this file is kept once it has been played."""
    return tmp_path_factory.mktemp("study") / "console.db"


@pytest.fixture
def played(kept, data_dir):
    """A study played to its end, by stand-ins where people would sit."""
    if kept.exists():
        shutil.copy(kept, data_dir / "console.db")
    else:
        lifecycle.create(DESIGN, now_ms())
        lifecycle.open_study("small")
        simulated.simulate("small", all_places=True)
        _as_people()
        backup(database_url(), kept)
    return "small"


def _as_people():
    """Turns what a dry run made of people's places into people again, who have filled in a questionnaire."""
    seats = {place.code for place in allocate(DESIGN, [f"t{n}" for n in range(6)]) if place.kind == "human"}
    with writing() as session:
        for one in session.exec(select(tables.Participant)):
            one.kind = "human" if one.code in seats else one.kind
            session.add(one)
            whose = {"study_id": one.study_id, "participant_id": one.id, "at_ms": now_ms()}
            for item in shelf()["sus"].items if one.code in seats else ():
                kept = {"moment": "after", "instrument": "sus", "item": item.key, "answer": "3"}
                session.add(tables.QuestionnaireAnswer(**whose, **kept))


@pytest.fixture
def part(open_page, played):
    """A function from the name of a part to the page that shows it."""
    return lambda name: open_page("studies", study=played, section="results", part=name)


def sentences(at):
    return " ".join(each.proto.body for each in at.get("html") if "ia-finding" in each.proto.body)


def frames():
    with reading() as session:
        return results.frames(session, lifecycle.get(session, "small").id)


@pytest.mark.at_length
def test_before_anything_is_decided_it_says_so(open_page, words):
    lifecycle.create(DESIGN, now_ms())
    at = open_page("studies", study="small", section="results")
    assert "No results yet" in words(at)
    assert "conditions done <b>0 of 6</b>" in words(at)


def test_the_mean_time_stands_beside_the_decisions_of_people(part, words):
    (head,) = re.findall(r"decisions by people <b>(\d+)</b>, <b>(\d+) s</b> each on average", words(part("people")))
    decided = frames()["decisions"].query("purpose == '' and annotator_kind == 'human'")
    assert [int(cell) for cell in head] == [len(decided), round(decided["lead_time_ms"].astype(float).mean() / 1_000)]


@pytest.mark.at_length
def test_success_is_told_as_the_paper_prints_it(part, words):
    at = part("success")
    rows = re.findall(r'<th scope="row">([\w-]+)</th>(.*?)</tr>', words(at))
    shown = {name: re.findall(r"<td[^>]*>([\d.]+) ± ([\d.]+)", cells) for name, cells in rows}
    assert list(shown) == ["hidden", "shown", *[name for name in shown if name not in ("hidden", "shown")]]
    table = computations()["success"](frames())
    table = table[(table["reviewers"] == "people") & (table["count"] == "undecided run")]
    for row in table.itertuples():
        assert shown[row.condition][row.trial] == (f"{100 * row.mean:.1f}", f"{100 * row.sd:.1f}")
    assert "mean ± SD over 2 participants" in sentences(at)
    assert "In the paper, with people: 33.0% at trial 0 and 34.3 to 50.3% at trial 3" in sentences(at)


@pytest.mark.at_length
def test_simulated_reviewers_are_shown_apart(part):
    at = part("success")
    before = sentences(at)
    at.segmented_control(key="success-whose").set_value("simulated").run()
    assert sentences(at) != before
    assert at.segmented_control(key="success-whose").options == ["people", "simulated"]


@sweep("name", list(ANALYSES))
def test_every_part_says_something_and_offers_its_tables(part, words, name):
    at = part(name)
    said = sentences(at)
    assert len(said.split()) > 6
    assert not re.search(r"\bnan\b|None|NaN", said)
    assert at.get("download_button")


@pytest.mark.at_length
def test_a_table_shows_the_chosen_reviewers_of_its_analysis(part):
    at = part("pace")
    whole = computations()["pace"](frames())
    people = whole[whole["reviewers"] == "people"]
    shown = at.dataframe[0].value
    assert shown["figure"].tolist() == people["figure"].tolist()
    assert shown["value"].tolist() == pytest.approx(people["value"].tolist(), nan_ok=True, abs=1e-8)
    assert "Table (CSV)" in [button.label for button in at.get("download_button")]


@pytest.mark.at_length
def test_a_figure_that_is_undefined_says_why_below_its_table(part, words):
    at = part("agreement")
    notes = re.search(r'<ol class="ia-notes">(.*?)</ol>', words(at))[1]
    assert "kappa" in notes
    assert at.dataframe[0].value["note"].str.fullmatch(r"\d*").all()


@pytest.mark.at_length
def test_a_pair_of_conditions_that_nobody_did_both_of_is_not_estimable(open_page, words):
    with writing() as session:
        fill(session)
        third_condition(session)
    at = open_page("studies", study="pilot", section="results", part="effects")
    assert "Not estimable: no participant answered in both." in words(at)
    at.segmented_control(key="effects-of").set_value("right decisions").run()
    assert "rules-hidden minus rules-third is not estimable: no participant answered in both." in sentences(at)


@pytest.mark.at_length
def test_a_further_decision_shows_at_the_next_look(open_page, words):
    lifecycle.create(DESIGN, now_ms())
    lifecycle.open_study("small")
    at = open_page("studies", study="small", section="results")
    assert "No results yet" in words(at)
    simulated.simulate("small")
    at.run()
    assert "by simulated reviewers <b>" in words(at)
    assert "No results yet" not in words(at)


@pytest.mark.at_length
def test_the_oversight_part_shows_one_participant_s_run(part, words):
    at = part("oversight")
    at.selectbox(key="study-participant").set_value("P02").run()
    assert "The charts below show only P02." in words(at)
    assert "inspections" in sentences(at)


@pytest.mark.at_length
def test_the_report_is_made_when_asked(open_page, played, words):
    at = open_page("studies", study=played, section="report")
    assert "Download report (zip)" not in [button.label for button in at.get("download_button")]
    at.button(key="make-report").click().run(timeout=240)
    assert "Download report (zip)" in [button.label for button in at.get("download_button")]


@pytest.mark.at_length
def test_counting_success_loads_no_library_of_models():
    code = (
        "import sys, pandas as pd, console.web.studies.sections\n"
        "from console.studies.analysis import computations\n"
        "row = {'annotator_kind': 'human', 'condition': 'a', 'trial': 0, 'tasks': 4, 'solved_held': 1, 'closed': 1}\n"
        "rows = [{**row, 'participant': name, 'solved_paper': n} for n, name in enumerate('pqr')]\n"
        "print(len(computations()['success']({'success': pd.DataFrame(rows)})))\n"
        "print({name.partition('.')[0] for name in sys.modules} & {'statsmodels', 'sklearn', 'krippendorff'})\n"
        "print({'scipy.stats', 'scipy.optimize'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["2", "set()", "set()"]
