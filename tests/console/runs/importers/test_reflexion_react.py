"""Reflexion's text logs: headers, sections, reflections, records listed twice, records without steps."""

import pytest

from console.errors import UnreadableFile
from console.runs.importers.records import Duplicate, Found
from console.runs.importers.reflexion_react import task_id_of


def header(trial: int, correct: int, incorrect: int, halted: int) -> str:
    summary = f"Trial summary: Correct: {correct}, Incorrect: {incorrect}, Halted: {halted}"
    return f"\n{'#' * 40}\nBEGIN TRIAL {trial}\n{summary}\n{'#' * 39}\n"


def section(name: str, *records: str) -> str:
    return f"------------- BEGIN {name} AGENTS -------------\n\n" + "".join(records)


def record(question: str, *steps: tuple[str, str, str], answer: str = "Mole", again: str = "") -> str:
    lines = [f"Question: {question}{again}"]
    for number, (thought, action, observation) in enumerate(steps, 1):
        lines += [f"Thought {number}: {thought}", f"Action {number}: {action}", f"Observation {number}: {observation}"]
    return "\n".join([*lines, f"Correct answer: {answer}"]) + "\n\n"


LOOK = ("I look it up.", "Search[town]", "A town on a river.\nIt has two bridges.")
RIGHT = ("I know it.", "Finish[Mole]", "Answer is CORRECT")
WRONG = ("I know it.", "Finish[Wey]", "Answer is INCORRECT")
AGAIN = (
    "You have attempted to answer following question before and failed. The following reflection(s) give a plan."
    "\nReflections:\n- I was too quick.\n- I should look at the map,\nthen answer."
)


def test_steps_keep_their_lines_and_gold_stays_apart(write, trajectories):
    (found,) = trajectories(write("log", section("INCORRECT", record("Which river?", LOOK, WRONG))))
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [LOOK, WRONG]
    assert found.instruction == "Which river?"
    assert found.task_id == task_id_of(" Which river? ")
    assert (found.environment, found.trial) == ("hotpotqa", 0)
    assert (found.outcome, found.label) == ("failed", "misaligned")
    assert found.gold == {"label": "misaligned", "answer": "Mole"}
    assert found.critical_action == "Finish[Wey]"


@pytest.mark.parametrize("end", ["?", "? ", '"', "r"])
def test_the_question_ends_where_the_reminder_begins(write, trajectories, end):
    (found,) = trajectories(write("log", section("CORRECT", record(f"Which river{end}", RIGHT, again=AGAIN))))
    assert found.instruction == f"Which river{end}".strip()
    assert found.memory == ("I was too quick.", "I should look at the map,\nthen answer.")
    assert found.task_id == task_id_of(f"Which river{end}")


def test_reflections_may_stand_before_the_question(write, trajectories):
    prompt = (
        "Solve a question answering task with interleaving steps.\n\n" + AGAIN.partition("\n")[0] + "\nReflections:\n"
    )
    log = section("CORRECT", prompt + "- I was too quick.\n\n" + record("Which river?", RIGHT))
    (found,) = trajectories(write("log", log))
    assert (found.instruction, found.opening, found.memory) == ("Which river?", "", ("I was too quick.",))


def test_an_earlier_trial_quoted_in_the_prompt_is_memory_not_steps(write, trajectories):
    quoted = (
        "You have attempted to answer the following question before and failed. Below is the last trial."
        "\nPrevious trial:\nQuestion: Which river?\nThought 1: Hm.\nAction 1: Finish[Wey]\n(END PREVIOUS TRIAL)\n"
    )
    log = section("CORRECT", record("Which river?", LOOK, RIGHT, again=quoted))
    (found,) = trajectories(write("log", log))
    assert found.instruction == "Which river?"
    assert len(found.steps) == 2
    assert found.memory == ("Question: Which river?\nThought 1: Hm.\nAction 1: Finish[Wey]",)


def test_numbered_words_inside_an_observation_stay_there(write, trajectories):
    tricky = ("Hm.", "Search[film]", "A film.\nAction 9: the sequel\nThought 1: a song")
    (found,) = trajectories(write("log", section("CORRECT", record("Which film?", tricky, RIGHT))))
    assert [step.observation for step in found.steps] == [tricky[2], RIGHT[2]]


def test_a_halted_record_has_no_label(write, trajectories):
    (found,) = trajectories(write("log", section("HALTED", record("Which river?", LOOK))))
    assert (found.outcome, found.label, found.critical_action) == ("halted", None, None)
    assert found.gold == {"answer": "Mole"}


def test_trials_count_from_zero_and_carried_over_records_are_marked(write, trajectories):
    log = header(1, 1, 1, 0) + section("CORRECT", record("A?", RIGHT)) + section("INCORRECT", record("B?", WRONG))
    log += header(2, 2, 0, 0) + section("CORRECT", record("A?", RIGHT), record("B?", LOOK, RIGHT, again=AGAIN))
    found = trajectories(write("log", log))
    told = [(t.instruction, t.trial, t.carried_over) for t in found]
    assert told == [("A?", 0, False), ("B?", 0, False), ("A?", 1, True), ("B?", 1, False)]


def test_trials_may_be_listed_in_any_order(write, trajectories):
    log = "".join(header(n, 1, 0, 0) + section("CORRECT", record("A?", RIGHT)) for n in (2, 1, 3))
    assert [(t.trial, t.carried_over) for t in trajectories(write("log", log))] == [(1, False), (0, False), (2, True)]


def test_headers_are_matched_loosely(write, trajectories):
    log = header(1, 1, 0, 1) + section("CORRECT", record("A?", RIGHT)) + section("HALTED", record("B?", LOOK))
    loose = log.replace("------------- BEGIN", "---  BEGIN").replace("#" * 40, "##########").replace("\n\n", "\n\n\n\n")
    plain, other = trajectories(write("log", log)), trajectories(write("log", loose))
    assert [t.content_digest() for t in plain] == [t.content_digest() for t in other]


@pytest.mark.parametrize("order", [("INCORRECT", "HALTED"), ("HALTED", "INCORRECT")])
def test_a_question_listed_twice_is_imported_once_and_finished_beats_halted(write, entries, order):
    records = {"INCORRECT": record("A?", LOOK, WRONG), "HALTED": record("A?", LOOK, WRONG)}
    found = entries(write("log", "".join(section(name, records[name]) for name in order)))
    (kept,) = [entry.trajectory for entry in found if isinstance(entry, Found)]
    (other,) = [entry for entry in found if isinstance(entry, Duplicate)]
    assert kept.outcome == "failed"
    assert "twice" in other.reason
    assert other.line != kept.source["line"]


def test_halted_records_listed_first_all_come(write, trajectories):
    log = section("HALTED", record("A?", LOOK), record("B?", LOOK)) + section("CORRECT", record("C?", RIGHT))
    assert {(t.instruction, t.outcome) for t in trajectories(write("log", log))} == {
        ("A?", "halted"),
        ("B?", "halted"),
        ("C?", "succeeded"),
    }


def test_a_record_without_steps_is_an_error_and_carried_over_if_it_was_solved(write, trajectories):
    log = header(1, 1, 0, 1) + section("CORRECT", record("A?", RIGHT)) + section("HALTED", record("B?"))
    log += header(2, 1, 1, 0) + section("CORRECT", record("A?")) + section("INCORRECT", record("B?", WRONG))
    log += header(3, 1, 1, 0) + section("CORRECT", record("A?")) + section("INCORRECT", record("B?"))
    found = {(t.instruction, t.trial): t for t in trajectories(write("log", log))}
    assert len(found) == 6
    empty = [found["B?", 0], found["A?", 1], found["A?", 2], found["B?", 2]]
    assert all((t.outcome, t.label) == ("error", None) for t in empty)
    assert [t.carried_over for t in empty] == [False, True, True, False]


def test_records_without_sections_are_labelled_by_their_last_observation(write, trajectories):
    log = record("A?", RIGHT) + record("B?", WRONG) + record("C?", LOOK)
    assert [t.outcome for t in trajectories(write("log", log))] == ["succeeded", "failed", "finished"]


def test_a_log_that_never_names_the_correct_answer_is_read(write, trajectories):
    log = section("CORRECT", record("A?", RIGHT), record("B?", LOOK, RIGHT)).replace("Correct answer: Mole\n", "")
    found = trajectories(write("log", log))
    assert [(t.instruction, len(t.steps), t.gold) for t in found] == [
        ("A?", 1, {"label": "aligned"}),
        ("B?", 2, {"label": "aligned"}),
    ]


def test_a_record_in_the_middle_without_its_end_is_refused(write, entries):
    log = section(
        "CORRECT", record("A?", RIGHT), record("B?", RIGHT).replace("Correct answer: Mole\n", ""), record("C?")
    )
    with pytest.raises(UnreadableFile, match='no line "Correct answer:"') as refused:
        entries(write("log", log))
    assert refused.value.line == log[: log.index("Question: C?")].count("\n") + 1


def test_a_log_cut_between_two_records_is_refused_by_its_own_header(write, entries):
    log = header(1, 3, 0, 0) + section("CORRECT", record("A?", RIGHT), record("B?", RIGHT))
    with pytest.raises(UnreadableFile, match="lists 2 of the 3 records"):
        entries(write("log", log))


def test_records_without_numbers_and_with_a_context(write, trajectories):
    log = "\n".join(
        [
            "Relevant Context: The town lies on the Mole.",
            "Question: Which river?",
            "Thought: Let me think.",
            "Action: Finish[Mole]",
            "Observation: Answer is CORRECT",
            "Correct answer: Mole\n\n",
        ]
    )
    first, second = trajectories(write("log", section("CORRECT", log, log.replace("river", "stream"))))
    assert first.opening == second.opening == "Relevant Context: The town lies on the Mole."
    assert [step.action for step in first.steps] == ["Finish[Mole]"]
    assert first.label == "aligned"


def test_records_that_waited_for_better_ones_come_whole_in_every_trial(write, trajectories):
    halted = section("HALTED", record("A?", LOOK, again=AGAIN), record("B?", LOOK), record("C?", LOOK, LOOK))
    log = header(1, 1, 0, 3) + halted + section("CORRECT", record("B?", LOOK, RIGHT))
    log += header(2, 1, 0, 3) + halted + section("CORRECT", record("C?", RIGHT))
    found = {(t.instruction, t.trial): t for t in trajectories(write("log", log))}
    assert len(found) == 6
    assert [(found[question, 0].outcome, len(found[question, 0].steps)) for question in ("A?", "B?", "C?")] == [
        ("halted", 1),
        ("succeeded", 2),
        ("halted", 2),
    ]
    assert (found["A?", 1].memory, found["A?", 1].gold) == (found["A?", 0].memory, {"answer": "Mole"})
    assert [found[question, 1].carried_over for question in ("A?", "B?", "C?")] == [True, False, False]
    assert found["A?", 0].source["line"] < found["C?", 0].source["line"] < found["A?", 1].source["line"]
