"""What `rules` tells people, on recorded logs: a judged sample, and a matcher of its own over every checkpoint."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from console.detection.detectors.rules import MOST_SENTENCES, RANKS_ONLY, RULES
from console.environments import ENVIRONMENTS
from console.review.presentation import checkpoint_presentation
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory.checkpoints import checkpoints

SHARED = Path(__file__).resolve().parents[6] / "shared" / "data"
LOGS = {
    "webshop": ["webshop/react_webshop_run_000-249.txt"],
    "hotpotqa": [
        "reflexion/reflexion/100_questions_5_trials.txt",
        "reflexion/reflexion/50_sample_react_reflect_correct.txt",
    ],
    "tau-bench": [
        "tau-bench/gpt-4o-airline.even.json",
        "tau-bench/grok-4-1-fast-reasoning-retail.even.json",
        "tau-bench/grok-4-fast-non-reasoning-retail.even.json",
        "tau-bench/react-grok-4-fast-reasoning-airline.even.json",
    ],
    "rjudge": ["rjudge/rjudge.even.jsonl"],
    "alfworld": ["alfworld/expert_traj.jsonl"],
}
JUDGED = yaml.safe_load(Path(__file__).with_name("judged_sentences.yaml").read_text())
OF_TABLES = ("No requirement is ", "Nothing could be checked", "This action only reads", "Not checked: ")
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded logs are not beside the checkout")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def recorded():
    """(file, trajectory, checkpoint, sentences) of every critical action in the logs, by their kind."""
    found = {}
    for kind, files in LOGS.items():
        for name in files:
            records = [one.trajectory for one in read_log(SHARED / name)[1] if isinstance(one, Found)]
            for record in records:
                facts = ENVIRONMENTS[record.environment]
                points = [] if record.carried_over else checkpoints(record, facts.critical, ends=facts.ends)
                for point in points:
                    said = RULES.judge(point, 0).rationale.splitlines()
                    found.setdefault(kind, []).append((Path(name).name, record, point, said))
    return found


@pytest.mark.at_length
@pytest.mark.parametrize("kind", LOGS)
def test_the_judged_sentences_are_those_that_are_said_and_their_shares_hold(recorded, kind):
    classes = Counter()
    for file, record, point, said in recorded[kind]:
        at = digest(f"{file}|{record.task_id}|{record.trial}|{point.index}")
        if at in JUDGED[kind]:
            judged = {entry[:16]: entry[16] for entry in JUDGED[kind][at].split()}
            found = {digest(line.removeprefix(RANKS_ONLY)) for line in said if not line.startswith(OF_TABLES)}
            assert found <= set(judged), "other sentences are said: judge them anew"
            classes.update(judged[sentence] for sentence in found)
    assert classes["p"] / classes.total() >= 0.75
    assert classes["f"] == 0
    assert classes["m"] / classes.total() <= 0.03


def squeezed(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


@pytest.mark.at_length
def test_nothing_that_stands_on_the_chosen_product_is_called_unseen(recorded):
    """The matcher knows no terms: it looks for the letters and figures of what is quoted, run together."""
    for _, record, point, said in recorded["webshop"]:
        pages, at = {}, ""
        for step in point.steps:
            if pressed := re.match(r"click\[(b0\w{8})\]", step.action.lower()):
                at = pressed[1]
            if at and step.action.startswith("click") and "Total results" not in step.observation:
                pages[at] = pages.get(at, "") + " | " + step.observation.replace(record.instruction, "")
        shown = squeezed(pages.get(at, ""))
        for sentence in said:
            if sentence.startswith("The chosen page does not show"):
                quoted = re.findall(r'"([^"]{4,})"(?=[,.]| and \d)', sentence)
                # A figure within another one is another figure.
                unseen = [text for text in quoted if not text[0].isdigit() and not text[-1].isdigit()]
                assert not [text for text in unseen if squeezed(text) and squeezed(text) in shown], record.task_id


@pytest.mark.at_length
def test_an_answer_that_is_called_only_listed_is_in_that_list_and_on_no_page(recorded):
    """The matcher knows no pages: what a search found is everything but a list of similar titles."""
    told = 0
    for _, record, point, said in recorded["hotpotqa"]:
        for answer, step in re.findall(r'"([^"]+)" occurs only in the list of titles of step (\d+);', "\n".join(said)):
            shown = [squeezed(step.observation) for step in point.steps]
            listed = [at for at, step in enumerate(point.steps) if step.observation.startswith("Could not find [")]
            assert squeezed(answer) in shown[int(step) - 1]
            assert int(step) - 1 in listed, record.task_id
            pages = [text for at, text in enumerate(shown) if at not in listed]
            assert not any(squeezed(answer) in text for text in pages), record.task_id
            told += 1
    assert told >= 3


@pytest.mark.at_length
@pytest.mark.parametrize("kind", LOGS)
def test_no_mark_and_no_sentence_contradicts_another(recorded, kind):
    for _, record, point, said in recorded[kind]:
        shown = checkpoint_presentation(point)
        groups = [{term.text.lower() for term in group} for group in (shown.found, shown.offered, shown.missing)]
        assert sum(map(len, groups)) == len(set().union(*groups))
        assert len(said) <= MOST_SENTENCES
        assert len(set(said)) == len(said)
        unseen = {
            text.lower()
            for line in said
            if line.startswith("The chosen page does not show")
            for text in re.findall(r'"([^"]+)"', line)
        }
        assert not unseen & (groups[0] | groups[1]), record.task_id
