"""Design files: what works is read back as it was; what does not is one sentence with the field and what to do."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import BadInput
from console.studies.design import Design, conditions
from console.studies.design.yaml_file import dump, example, load

START = "name: s\nsource: {environment: webshop}\n"


def test_the_example_works_as_it_is():
    found = load(example())
    assert len(conditions(found)) == 4
    assert found.participants.human == 4
    assert load(dump(found)) == found


def test_the_example_mentions_every_field():
    named = example()
    assert all(f"{field}:" in named for field in Design.model_fields if field != "conditions")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected `field: value` lines; `inferact study example` prints a design that works."),
        ("- a", "expected `field: value` lines"),
        ("name: s", "line 1, column 1: source: is missing. Add this field."),
        (START + "taks: 3", "line 3, column 1: taks: unknown field. Did you mean tasks?"),
        (START + '"ta\\nsks": 3', "line 3, column 1: 'ta\\nsks': unknown field"),
        (START + "tasks: many", "line 3, column 1: tasks: must be a whole number, not 'many'."),
        (START + "trials: 0", "trials: must be 1 or more, not '0'."),
        (START + "order: any", "order: must be 'latin-square', 'random' or 'fixed', not 'any'."),
        (START + "participants:\n  human: -1", "line 4, column 3: participants.human: must be 0 or more, not '-1'."),
        (START + "participants: {noisy: [{false_acept: 1}]}", "participants.noisy[1].false_acept: unknown field"),
        (START + "factors: {score: [dim]}", "factors: score has no level 'dim'. Use shown, hidden."),
        (START + "factors: [score]", "factors: must be fields, one per line, not a list."),
        (START + "demographics: [{key: A, question: b}]", "demographics[1].key: must be lower-case letters"),
        (START + "break_minutes: nan", "break_minutes: must be a number, not 'nan'."),
        (START + "budget: 1.5", "budget: must be a whole number such as 10 or a percentage such as 50%."),
        (START + "trials: 0\ntasks: 0", "tasks: must be 1 or more, not '0'. (1 more after that.)"),
        (START + "name: t", "line 3, column 1: invalid YAML, duplicate key 'name'. Correct this place."),
        ("name:\nsource: {environment: w}", "name: must be text, not nothing."),
        ("a: &a [*a]", "line 1, column 4: invalid YAML, an alias repeats too much"),
        ("a: [", "line 1, column 5: "),
        ("[" * 5_000, "the YAML is nested too deeply"),
        ("\0", "invalid YAML text"),
        ("? [a]\n: b", "a field's name is not text"),
        ("a" * 200_001, "has more than 200,000 characters"),
    ],
    ids=lambda text: text[:40],
)
def test_an_error_is_one_sentence(text, said):
    with pytest.raises(BadInput) as refused:
        load(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_short_text_that_unfolds_endlessly_is_refused_at_once():
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 12))
    with pytest.raises(BadInput, match="repeats too much"):
        load(bomb)


def test_a_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "pilot.yaml"
    with pytest.raises(BadInput, match=r"pilot\.yaml cannot be read"):
        load(path)
    path.write_text(START + "tasks: x\n")
    with pytest.raises(BadInput, match=r"pilot\.yaml, line 3, column 1: tasks: "):
        load(path)
    path.write_bytes(b"name: \xff")
    with pytest.raises(BadInput, match="UTF-8"):
        load(path)


def test_words_that_yaml_would_turn_into_something_else_stay_words():
    found = load(START.replace("s\n", "2024\n", 1) + "instructions: no\nbudget: 10\n")
    assert (found.name, found.instructions, found.budget) == ("2024", "no", "10")


FIELDS = [*Design.model_fields, "nonsense"]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(FIELDS))
NAMES = st.sampled_from([*FIELDS, "human", "noisy", "score", "text"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from([*FIELDS, "human", "noisy", "score", "text"]), st.text()), inner, max_size=3
        ),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_whatever_the_fields_hold_there_is_a_design_or_a_sentence(fields):
    text = yaml.safe_dump({"name": "s", "source": {"environment": "w"}, **fields}, allow_unicode=True)
    _design_or_sentence(text)


@settings(deadline=None)
@given(st.one_of(st.text(), st.text(alphabet="abn:-[]{}&*!|>?%#'\" \n\t")))
def test_whatever_the_text_there_is_a_design_or_a_sentence(text):
    _design_or_sentence(text)


@settings(deadline=None)
@given(st.text(min_size=1), st.text(), st.lists(st.sampled_from(["shown", "hidden"]), min_size=1, unique=True))
def test_a_design_is_read_back_as_it_was_written(question, words, levels):
    found = Design(
        name="s",
        source={"actor": "replay", "run": words or "r"},
        instructions=words,
        factors={"score": levels},
        demographics=[{"key": "a", "question": question, "kind": "text"}],
    )
    assert load(dump(found)) == found


def _design_or_sentence(text):
    said = ""
    try:
        load(text)
    except BadInput as refused:
        said = str(refused)
    assert not said or (said.startswith("The design") and said.endswith((".", ")", "?")) and "\n" not in said)
