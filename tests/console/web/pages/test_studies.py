"""The Studies page: a design by its form and by YAML, what it would make, the study that it becomes."""

import pytest
import yaml

from console.database import reading
from console.studies.design import Design
from console.studies.design.yaml_file import dump, example, load
from console.studies.sessions import lifecycle


@pytest.fixture
def new_study(open_page):
    """The page of a new study, its form named as asked."""

    def show(name="pilot"):
        at = open_page("studies", new="1")
        field(at, "Name").set_value(name).run()
        return at

    return show


BACK = "https://app.prolific.com/submissions/complete?cc="
RECRUITING = {
    "platform": "prolific",
    "by_invitation": True,
    "completion_url": BACK + "DONE",
    "screen_out_url": BACK + "OUT",
    "return_url": "https://lab.example/back",
    "screen_out_code": "OUT-1",
    "hosts": ["lab.example", "school.example"],
    "bonus": {"currency": "EUR", "per_right": "0.05", "most": "2.5", "if_excluded": True},
}


def field(at, label):
    """The one widget of that label."""
    (found,) = [one for kind in (at.text_input, at.number_input, at.text_area) for one in kind if one.label == label]
    return found


def click(at, label):
    """Presses the button of that label."""
    (button,) = [found for found in at.button if found.label == label]
    button.click().run()


def stored(name):
    """The design of the study of that name, as it is in the database."""
    with reading() as session:
        return lifecycle.design_of(lifecycle.get(session, name))


def test_without_a_study_the_page_begins_with_a_design(open_page):
    at = open_page("studies")
    assert any("No studies yet" in text.value for text in at.text)
    assert field(at, "Name").value == ""
    assert [button.disabled for button in at.button if button.label == "Create study"] == [True]


def test_the_form_makes_the_design_that_the_example_is(new_study):
    at = new_study()
    click(at, "Create study")
    assert stored("pilot") == load(example())


@pytest.mark.at_length
def test_what_stands_in_the_form_is_what_is_created(new_study, words):
    at = new_study("quick")
    field(at, "Tasks per condition").set_value(3)
    field(at, "Trials per task").set_value(2)
    field(at, "Inspections").set_value("60%")
    field(at, "People").set_value(2)
    at.multiselect[0].set_value(["rules"])
    at.run()
    share = "at most 60% of the first trial's completed trajectories inspected per trial;"
    assert any(share in text.value for text in at.text)
    field(at, "Inspections").set_value("2").run()
    said = "2 conditions, 4 participants, 3 tasks in each, 2 trials, at most 2 inspections per trial;"
    assert any(text.value.startswith(said) for text in at.text)
    click(at, "Create study")
    assert "Created quick." in words(at)
    made = stored("quick")
    assert (made.tasks, made.trials, made.budget, made.participants.human) == (3, 2, "2", 2)
    assert made.factors == {"score": ("shown", "hidden")}


def test_a_wrong_field_is_told_where_it_stands(new_study, words):
    at = new_study()
    field(at, "Inspections").set_value("half").run()
    assert "budget: must be a whole number such as 10 or a percentage such as 50%" in words(at)
    assert not [button for button in at.button if button.label == "Create study"]


@pytest.mark.at_length
def test_a_name_that_is_taken_is_refused(new_study, words):
    click(new_study(), "Create study")
    at = new_study()
    click(at, "Create study")
    assert "There is already a study named" in words(at)


@pytest.mark.at_length
def test_yaml_put_into_the_form_comes_out_the_same(new_study):
    at = new_study()
    given = yaml.safe_load(example()) | {
        "name": "from-yaml",
        "comparison": "between",
        "factors": {},
        "estimands": {"measure": "gain", "equivalence": 0.95, "alpha": 0.25},
        "conditions": [{"name": "plain", "levels": {"feedback": "binary"}}, {"name": "rich", "levels": {}}],
        "demographics": [
            {"key": "age", "question": "How old?", "kind": "number", "required": True},
            {
                "key": "use",
                "question": "How often?",
                "choices": ["never", "daily"],
                "required": True,
                "screens_out": ["never"],
                "quotas": {"daily": 3},
            },
        ],
        "pilot": {"people": 2, "stop_above": {"withdrawn": 0.25, "minutes": 45.5}},
        "quiz": {
            "questions": [{"key": "who", "question": "Who reads it?", "choices": ["agent", "user"], "right": "agent"}],
            "tries": 3,
        },
        "consent": {"text": "You **agree**.\n", "version": "1.2", "withdrawal": "anonymise"},
        "language": "de",
        "confidence": 5,
        "interaction_trace": True,
        "instruments": [{"name": "own", "title": "Own", "items": [{"key": "a", "question": "A?"}]}],
        "questionnaires": {"after": ["own"]},
        "debriefing": {"question": "What did you go by?", "text": "Some items\nhad a known answer."},
        "exclusions": {"failed_attention": 0, "known_right": 0.55, "median_seconds": 2.5},
        "recruiting": RECRUITING,
    }
    assert set(given) == set(Design.model_fields), "each field of a design is tried"
    at.session_state["design_tab"] = "YAML"
    at.run()
    field(at, "or paste the YAML").set_value(yaml.safe_dump(given)).run()
    click(at, "Load design")
    at.session_state["design_tab"] = "Form"
    at.run()
    assert field(at, "Name").value == "from-yaml"
    click(at, "Create study")
    assert stored("from-yaml") == load(yaml.safe_dump(given))


@pytest.mark.at_length
def test_conditions_that_are_spelt_out_begin_with_those_that_the_factors_made(new_study):
    at = new_study()
    (spelt,) = [toggle for toggle in at.toggle if toggle.label == "List each condition"]
    spelt.set_value(True).run()
    click(at, "Create study")
    made = stored("pilot")
    assert not made.factors
    assert [one.model_dump() for one in made.conditions] == [
        {"name": f"{detector}-{score}", "levels": {"detector": detector, "score": score}}
        for detector in ("rules", "random")
        for score in ("shown", "hidden")
    ]


@pytest.mark.at_length
def test_putting_nothing_into_the_form_says_what_to_do(new_study, words):
    at = new_study()
    at.session_state["design_tab"] = "YAML"
    at.run()
    click(at, "Load design")
    assert "No design given. Choose a file or paste a design, then load it." in words(at)


@pytest.mark.at_length
def test_yaml_that_is_wrong_is_refused_in_a_sentence(new_study, words):
    at = new_study()
    at.session_state["design_tab"] = "YAML"
    at.run()
    field(at, "or paste the YAML").set_value(
        "name: pilot\nsource: {actor: scripted, environment: webshop}\ntask: 3\n"
    ).run()
    click(at, "Load design")
    assert "line 3, column 1: task: unknown field. Did you mean tasks?" in words(at)


def test_the_design_of_a_study_is_there_as_yaml_allocation_and_preregistration(new_study, open_page):
    click(new_study(), "Create study")
    at = open_page("studies", study="pilot", section="design")
    assert [button.label for button in at.get("download_button")] == [
        "Download YAML",
        "Allocation (CSV)",
        "Preregistration",
    ]
    assert at.dataframe[0].value["Participant"].tolist() == ["P01", "P02", "P03", "P04", "P05", "P06"]
    at.session_state["preregistration"] = True
    at.run()
    assert any("Fingerprint of design and allocation" in code.value for code in at.code)
    assert any(code.value.strip() == dump(stored("pilot")).strip() for code in at.code)


@pytest.mark.at_length
def test_power_is_estimated_for_each_number_of_participants(new_study, words):
    at = new_study()
    at.session_state["power"] = True
    at.run()
    at.text_input(key="power-n").set_value("2, 40")
    at.number_input(key="power-runs").set_value(50)
    at.number_input(key="power-effect").set_value(0.4)
    click(at, "Estimate power")
    assert "40 participants reach 0.80" in " ".join(text.value for text in at.text)
    at.text_input(key="power-n").set_value("many")
    click(at, "Estimate power")
    assert "is not a list of numbers" in words(at)
